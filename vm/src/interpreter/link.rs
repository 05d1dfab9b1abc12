//! Instructions that name constants: the interpreter loop's actions on the first execution of one.
//!
//! Most functions resolve the constant, rewrite the instruction, and let the loop execute it again. If the quick
//! form does not apply (yet), they return the action for this execution alone. All expect the frame saved, and
//! are safepoints unless they say otherwise.

use super::fault::Fault;
use crate::frames::frame::Frame;
use crate::invoke;
use crate::loading::resolve::{self, Invoke};
use crate::loading::{allocate, arrays, boxes, errors, initialize, link};
use crate::machine::JavaThread;
use crate::runtime::code::quick::{CallShape, Site, internal as quick, rewrite};
use crate::runtime::method::{Intrinsic, NOT_VIRTUAL};
use crate::runtime::slots::{get, put};
use crate::runtime::{FieldRef, JResult, KlassRef, MethodRef};
use classfile::bytecode::op;
use classfile::{BasicType, CpEntry, MethodDescriptor};
use gc::object::ObjectRef;
use std::sync::atomic::{Ordering, fence};

/// The 16-bit operand of the current instruction, as the class file has it.
///
/// # Safety
/// The frame is interpreted, its `pc` saved, at an instruction with such an operand.
unsafe fn pool_index(frame: *mut Frame) -> u16 {
    // SAFETY: by the contract.
    let frame = unsafe { &*frame };
    let bci = frame.bci().expect("an interpreted frame") as usize;
    let code = &frame.method.code().expect("an interpreted method").bytecode;
    u16::from_be_bytes([code[bci + 1], code[bci + 2]])
}

/// The site of the current instruction, which is one that has a site, and is not quick yet.
///
/// # Safety
/// As `pool_index`.
unsafe fn site_of(frame: *mut Frame) -> &'static Site {
    // SAFETY: the operand became the site's number when the quick code was made.
    unsafe { &*(*frame).sites.add((*frame).pc.add(1).cast::<u16>().read_unaligned() as usize) }
}

/// The slot value of a constant for `ldc`, `ldc_w`, `ldc2_w`.
#[inline(never)]
pub fn constant(t: &JavaThread, frame: *mut Frame, index: u16) -> JResult<u64> {
    // SAFETY: the loop's frame.
    let holder = unsafe { (*frame).method.holder };
    let instance = holder.inst();
    Ok(match instance.file.constant_pool.entry(index) {
        CpEntry::Integer(value) => value as u32 as u64,
        CpEntry::Float(bits) => bits as u64,
        CpEntry::Long(value) => value as u64,
        CpEntry::Double(bits) => bits,
        CpEntry::Class { .. } => {
            let klass = match instance.pool.entry(index).klass() {
                Some(klass) => klass,
                None => resolve::resolve_class(t, holder, index)?,
            };
            t.mirror(klass).address() as u64
        }
        CpEntry::Dynamic { .. } => return dynamic_constant(t, holder, index),
        _ => {
            let known = t.load_root(instance.pool.object(index));
            if known.is_null() {
                invoke::resolve_object(t, holder, index)?.address() as u64
            } else {
                known.address() as u64
            }
        }
    })
}

/// The value of a dynamic constant; primitive ones are unboxed.
fn dynamic_constant(t: &JavaThread, holder: KlassRef, index: u16) -> JResult<u64> {
    let value = invoke::resolve_constant(t, holder, index)?;
    let descriptor = holder.inst().file.constant_pool.descriptor(index).expect("a checked pool");
    let ty = BasicType::from_letter(descriptor.bytes()[0]).expect("a checked descriptor");
    Ok(match ty.is_reference() {
        true => value.address() as u64,
        false => boxes::unwrap(t, value).expect("linkage checked the type").1,
    })
}

/// Resolves the field of the current instruction. `None`: the instruction is quick now. `Some`: it cannot be
/// made quick (volatile, or its class is still being initialized).
///
/// # Safety
/// The frame is the loop's, saved, at a field instruction.
#[cold]
#[inline(never)]
pub unsafe fn field(t: &JavaThread, frame: *mut Frame, opcode: u8) -> JResult<Option<FieldRef>> {
    let is_static = matches!(opcode, op::GETSTATIC | op::PUTSTATIC);
    let is_put = matches!(opcode, op::PUTSTATIC | op::PUTFIELD);
    // SAFETY: the loop's frame, at a field instruction.
    let (method, index) = unsafe { ((*frame).method, pool_index(frame)) };
    let writer = is_put.then_some(method);
    let field = resolve::resolve_field(t, method.holder, index, is_static, writer)?;
    if is_static {
        initialize::initialize(t, field.holder)?;
    }
    if is_put && field.is_volatile() || is_static && !field.holder.is_initialized() {
        return Ok(Some(field));
    }
    let Some(quick) = quick_form(opcode, field.ty) else { return Ok(Some(field)) };
    if is_static {
        // SAFETY: as above.
        unsafe {
            let extra = field.offset as u64 | (field.ty.letter() as u64) << 32;
            site_of(frame).set_klass(field.holder, extra);
            rewrite((*frame).pc, quick, None);
        }
        return Ok(None);
    }
    let is_referent = field.holder == t.vm.known.classes.reference()
        && field.offset as usize == t.vm.known.fields.reference_referent();
    let quick = if is_referent && !is_put { quick::GETFIELD_REFERENT } else { quick };
    let Ok(offset) = u16::try_from(field.offset) else { return Ok(Some(field)) };
    // SAFETY: as above.
    unsafe { rewrite((*frame).pc, quick, Some(offset)) };
    Ok(None)
}

fn quick_form(opcode: u8, ty: BasicType) -> Option<u8> {
    use BasicType::*;
    Some(match (opcode, ty) {
        (op::GETFIELD, Boolean | Byte) => quick::GETFIELD_BYTE,
        (op::GETFIELD, Char) => quick::GETFIELD_CHAR,
        (op::GETFIELD, Short) => quick::GETFIELD_SHORT,
        (op::GETFIELD, Int | Float) => quick::GETFIELD_INT,
        (op::GETFIELD, Long | Double) => quick::GETFIELD_LONG,
        (op::GETFIELD, _) => quick::GETFIELD_REF,
        (op::PUTFIELD, Boolean) => quick::PUTFIELD_BOOL,
        (op::PUTFIELD, Byte) => quick::PUTFIELD_BYTE,
        (op::PUTFIELD, Char | Short) => quick::PUTFIELD_SHORT,
        (op::PUTFIELD, Int | Float) => quick::PUTFIELD_INT,
        (op::PUTFIELD, Long | Double) => quick::PUTFIELD_LONG,
        (op::PUTFIELD, _) => quick::PUTFIELD_REF,
        (op::GETSTATIC, Int | Float) => quick::GETSTATIC_INT,
        (op::GETSTATIC, Long | Double) => quick::GETSTATIC_LONG,
        (op::GETSTATIC, Object | Array) => quick::GETSTATIC_REF,
        (op::GETSTATIC, _) => quick::GETSTATIC_SMALL,
        (op::PUTSTATIC, Int | Float) => quick::PUTSTATIC_INT,
        (op::PUTSTATIC, Long | Double) => quick::PUTSTATIC_LONG,
        (op::PUTSTATIC, Object | Array) => quick::PUTSTATIC_REF,
        (op::PUTSTATIC, _) => quick::PUTSTATIC_SMALL,
        _ => return None,
    })
}

/// Executes any field instruction on a resolved field. Returns the new `sp`. No safepoint.
///
/// # Safety
/// The instruction's operands are on the stack.
#[cold]
#[inline(never)]
pub unsafe fn access_field(
    t: &JavaThread,
    sp: *mut u64,
    opcode: u8,
    field: FieldRef,
) -> Result<*mut u64, Fault> {
    let slots = field.ty.slots() as usize;
    let offset = field.offset as usize;
    let is_put = matches!(opcode, op::PUTSTATIC | op::PUTFIELD);
    // SAFETY: by the contract.
    unsafe {
        let operands = if is_put { sp.sub(slots) } else { sp };
        let (object, bottom) = match opcode {
            op::GETSTATIC | op::PUTSTATIC => (t.mirror(field.holder), operands),
            _ => (ObjectRef::from_address(*operands.sub(1) as usize), operands.sub(1)),
        };
        if object.is_null() {
            return Err(Fault::NullPointer);
        }
        if is_put {
            put(t, object, offset, field.ty, *operands);
            if field.is_volatile() {
                // A later volatile load of this thread must not come before the store (JLS 17.4).
                fence(Ordering::SeqCst);
            }
            return Ok(bottom);
        }
        *bottom = get(t, object, offset, field.ty);
        Ok(bottom.add(slots))
    }
}

/// Links a call. `None`: the instruction is quick now. `Some`: call this method, this once.
///
/// # Safety
/// The frame is the loop's, saved, at a call instruction that is not `invokedynamic`.
#[cold]
#[inline(never)]
pub unsafe fn invoke(
    t: &JavaThread,
    frame: *mut Frame,
    opcode: u8,
) -> JResult<Option<(MethodRef, u32)>> {
    let (kind, length) = match opcode {
        op::INVOKEVIRTUAL => (Invoke::Virtual, 3),
        op::INVOKESPECIAL => (Invoke::Special, 3),
        op::INVOKESTATIC => (Invoke::Static, 3),
        _ => (Invoke::Interface, 5),
    };
    // SAFETY: by the contract.
    let (holder, index, pc) = unsafe { ((*frame).method.holder, pool_index(frame), (*frame).pc) };
    let resolved = resolve::resolve_method(t, holder, index, kind)?;
    // SAFETY: by the contract.
    let site = unsafe { site_of(frame) };
    let shape = |vtable_index| CallShape::new(resolved.argument_slots, length, vtable_index);
    let quick = match kind {
        _ if resolved.intrinsic != Intrinsic::None => {
            return link_polymorphic(t, frame, resolved, index).map(|()| None);
        }
        Invoke::Static => {
            initialize::initialize(t, resolved.holder)?;
            if !resolved.holder.is_initialized() {
                return Ok(Some((resolved, length as u32)));
            }
            site.set_method(resolved, shape(0));
            quick::INVOKE_STATIC
        }
        Invoke::Special => {
            site.set_method(resolved, shape(0));
            quick::INVOKE_DIRECT
        }
        Invoke::Virtual | Invoke::Interface => {
            if !resolved.holder.is_linked() {
                // It has no table yet. A class without one has no instances. SAFETY: by the contract: the
                // receiver is the lowest argument.
                let receiver = unsafe { *(*frame).sp.sub(resolved.argument_slots.into()) };
                if receiver == 0 {
                    return Err(errors::null_pointer(t));
                }
                link::link(t, resolved.holder)?;
            }
            if kind == Invoke::Interface && !resolved.holder.is_interface() {
                // SAFETY: by the contract.
                unsafe { check_implements(t, frame, resolved, index)? };
            }
            let vtable_index = resolved.vtable_index.load(Ordering::Acquire);
            if !resolved.holder.is_interface() && vtable_index != NOT_VIRTUAL {
                site.set_method(resolved, shape(vtable_index as u32));
                quick::INVOKE_VIRTUAL
            } else {
                site.set_method(resolved, shape(0));
                let is_private = resolved.flags().is_private();
                match kind {
                    Invoke::Virtual if is_private => quick::INVOKE_DIRECT,
                    _ if !resolved.holder.is_interface() => quick::INVOKE_DIRECT,
                    // The receiver's class is checked even if the method is private.
                    _ => quick::INVOKE_INTERFACE,
                }
            }
        }
    };
    // SAFETY: by the contract.
    unsafe { rewrite(pc, quick, None) };
    Ok(None)
}

/// `invokeinterface` of a method that the interface has from `Object`: the class of the receiver must implement the
/// interface that the instruction names (JVMS 6.5). As in HotSpot, this is checked until the instruction is linked.
///
/// # Safety
/// As `invoke`; the instruction's constant is at `index`, and the arguments of `resolved` are on the stack.
unsafe fn check_implements(
    t: &JavaThread,
    frame: *mut Frame,
    resolved: MethodRef,
    index: u16,
) -> JResult<()> {
    // SAFETY: by the contract.
    let interface = unsafe { resolve::named_class(t, (*frame).method.holder, index)? };
    // SAFETY: by the contract: the receiver is the lowest argument. Nothing moves it from here on.
    let receiver = unsafe { *(*frame).sp.sub(resolved.argument_slots.into()) };
    if receiver == 0 {
        return Err(errors::null_pointer(t));
    }
    resolve::check_implements(t, t.klass_of(ObjectRef::from_address(receiver as usize)), interface)
}

/// Links a call of a signature-polymorphic method (JVMS 2.9.3).
fn link_polymorphic(
    t: &JavaThread,
    frame: *mut Frame,
    resolved: MethodRef,
    index: u16,
) -> JResult<()> {
    // SAFETY: `invoke`'s frame.
    let (holder, site, pc) = unsafe { ((*frame).method.holder, site_of(frame), (*frame).pc) };
    let pool = &holder.inst().file.constant_pool;
    let descriptor = pool.descriptor(index).expect("a checked pool");
    let receiver = u16::from(!resolved.is_static());
    let slots = MethodDescriptor::of(descriptor).parameter_slots() as u16 + receiver;
    let quick = match resolved.intrinsic {
        Intrinsic::None => unreachable!("{resolved:?} is not signature-polymorphic"),
        Intrinsic::Generic => {
            let adapter = invoke::link_method(t, holder, index, resolved)?;
            site.set_method(adapter, CallShape::new(adapter.argument_slots, 3, 0));
            quick::INVOKE_ADAPTER
        }
        Intrinsic::InvokeBasic => {
            site.set_method(resolved, CallShape::new(slots, 3, 0));
            quick::INVOKE_BASIC
        }
        _ => {
            site.set_method(resolved, CallShape::new(slots, 3, 0));
            quick::INVOKE_LINK_TO
        }
    };
    // SAFETY: as above.
    unsafe { rewrite(pc, quick, None) };
    Ok(())
}

/// The appendix of a linked signature-polymorphic call at `pc`, may be null. No safepoint.
pub fn appendix(t: &JavaThread, frame: *mut Frame, pc: *const u8) -> ObjectRef {
    // SAFETY: the loop's frame.
    let method = unsafe { (*frame).method };
    let bci = pc as usize - crate::runtime::code::quick::code_of(method) as usize;
    let code = &method.code().expect("an interpreted method").bytecode;
    let index = u16::from_be_bytes([code[bci + 1], code[bci + 2]]);
    t.load_root(method.holder.inst().pool.object(index))
}

/// Links the `invokedynamic` of the current instruction.
///
/// # Safety
/// The frame is the loop's, saved, at an `invokedynamic`.
#[cold]
#[inline(never)]
pub unsafe fn invoke_dynamic(t: &JavaThread, frame: *mut Frame) -> JResult<()> {
    // SAFETY: by the contract.
    let (method, pc) = unsafe { ((*frame).method, (*frame).pc) };
    // SAFETY: the operand became the number when the quick code was made.
    let number = unsafe { pc.add(1).cast::<u32>().read_unaligned() };
    invoke::link_call_site(t, method, number)?;
    // SAFETY: by the contract.
    unsafe { rewrite(pc, quick::INVOKE_DYNAMIC, None) };
    Ok(())
}

/// Adapter and appendix of a linked `invokedynamic`. No safepoint.
#[inline]
pub fn call_site(t: &JavaThread, frame: *mut Frame, number: u32) -> (MethodRef, ObjectRef) {
    // SAFETY: the loop's frame.
    let holder = unsafe { (*frame).method.holder };
    let sites = holder.inst().call_sites.get().expect("numbered when the code was prepared");
    let site = &sites[number as usize];
    // SAFETY: set to a method before the instruction became quick.
    let adapter = unsafe { &*(site.adapter.load(Ordering::Acquire) as *const _) };
    (adapter, t.load_root(site.appendix))
}

/// Selects the implementation of an interface method for the current instruction, or throws.
#[cold]
#[inline(never)]
pub fn select(t: &JavaThread, resolved: MethodRef, receiver: ObjectRef) -> JResult<MethodRef> {
    let klass = t.klass_of(receiver);
    // SAFETY: the loop's frame, saved, is the top one.
    let frame = unsafe { &*t.top_frame.get() };
    let bci = frame.bci().expect("an interpreted frame") as usize;
    let code = &frame.method.code().expect("an interpreted method").bytecode;
    let selected = match code[bci] {
        op::INVOKEVIRTUAL => resolve::select_inherited(t, resolved, klass)?,
        _ => resolve::select_interface(t, resolved, klass)?,
    };
    t.java_stack.remember_selection(resolved, klass.id, selected);
    Ok(selected)
}

/// `new`, the first time.
///
/// # Safety
/// The frame is the loop's, saved, at a `new`.
#[cold]
#[inline(never)]
pub unsafe fn new_instance(t: &JavaThread, frame: *mut Frame) -> JResult<ObjectRef> {
    // SAFETY: by the contract.
    let (holder, index) = unsafe { ((*frame).method.holder, pool_index(frame)) };
    let klass = resolve::resolve_class(t, holder, index)?;
    if klass.flags.is_abstract() || klass.flags.is_interface() || klass.instance().is_none() {
        return errors::fail(t, "java/lang/InstantiationError", &klass.java_name());
    }
    initialize::initialize(t, klass)?;
    if klass.is_initialized() {
        // SAFETY: by the contract.
        unsafe {
            site_of(frame).set_klass(klass, 0);
            rewrite((*frame).pc, quick::NEW, None);
        }
    }
    allocate::new_instance(t, klass)
}

/// Resolves the class of `checkcast`, `instanceof`, `anewarray`, and makes the instruction quick.
///
/// # Safety
/// The frame is the loop's, saved, at such an instruction.
#[cold]
#[inline(never)]
pub unsafe fn type_site(t: &JavaThread, frame: *mut Frame, opcode: u8) -> JResult<()> {
    // SAFETY: by the contract.
    let (holder, index) = unsafe { ((*frame).method.holder, pool_index(frame)) };
    let klass = resolve::resolve_class(t, holder, index)?;
    let (klass, quick) = match opcode {
        op::CHECKCAST => (klass, quick::CHECKCAST),
        op::INSTANCEOF => (klass, quick::INSTANCEOF),
        _ => (arrays::array_class(t, klass)?, quick::ANEWARRAY),
    };
    // SAFETY: by the contract.
    unsafe {
        site_of(frame).set_klass(klass, 0);
        rewrite((*frame).pc, quick, None);
    }
    Ok(())
}

/// `newarray`; the operand is the element type.
#[inline(never)]
pub fn new_primitive_array(t: &JavaThread, operand: u8, length: i32) -> JResult<ObjectRef> {
    let element = BasicType::from_newarray(operand).expect("verified code");
    allocate::new_array(t, arrays::primitive_array_class(t, element), length)
}

/// `multianewarray`; the lengths are on top of the stack.
///
/// # Safety
/// The frame is the loop's, saved, with that many ints on its stack.
#[cold]
#[inline(never)]
pub unsafe fn new_multi_array(
    t: &JavaThread,
    frame: *mut Frame,
    index: u16,
    dimensions: usize,
) -> JResult<ObjectRef> {
    // SAFETY: by the contract.
    let (holder, sp) = unsafe { ((*frame).method.holder, (*frame).sp) };
    let klass = match holder.inst().pool.entry(index).klass() {
        Some(klass) => klass,
        None => resolve::resolve_class(t, holder, index)?,
    };
    // SAFETY: by the contract.
    let lengths = unsafe { std::slice::from_raw_parts(sp.sub(dimensions), dimensions) };
    let lengths: Vec<i32> = lengths.iter().map(|slot| *slot as i32).collect();
    allocate::new_multi_array(t, klass, &lengths)
}
