//! Linking by calls up into the library (`java.lang.invoke.MethodHandleNatives`).

use super::types;
use crate::java::fields::{self, F};
use crate::java::objects;
use crate::loading::call::call_static;
use crate::loading::{
    allocate, boxes, constraints, errors, holders, initialize, member, resolve, strings,
};
use crate::machine::JavaThread;
use crate::runtime::method::Intrinsic;
use crate::runtime::{Handle, JResult, KlassRef, MethodRef, Throw};
use classfile::symbol::Symbol;
use classfile::{BasicType, CpEntry, FieldType, ref_kind};
use gc::object::{ObjectRef, RootSlot};
use parking_lot::MutexGuard;
use std::sync::atomic::Ordering;

/// An `ldc` of String, Class, MethodHandle, MethodType or dynamic constant of reference type.
pub fn resolve_object(t: &JavaThread, holder: KlassRef, index: u16) -> JResult<ObjectRef> {
    let instance = holder.inst();
    match instance.file.constant_pool.entry(index) {
        CpEntry::Class { .. } => {
            let klass = resolve::resolve_class(t, holder, index)?;
            Ok(t.mirror(klass))
        }
        CpEntry::String { utf8, .. } => {
            let slot = instance.pool.object(index);
            if slot.is_null() {
                let string = strings::intern_modified_utf8(t, utf8.bytes())?;
                t.store_root(slot, string);
            }
            Ok(t.load_root(slot))
        }
        _ => resolve_constant(t, holder, index),
    }
}

/// Resolves a MethodHandle, MethodType or Dynamic constant (JVMS 5.4.3.5, 5.4.3.6) and keeps the result in the
/// pool's object slot; primitives of dynamic constants come boxed. A safepoint.
pub fn resolve_constant(t: &JavaThread, holder: KlassRef, index: u16) -> JResult<ObjectRef> {
    let pool = &holder.inst().pool;
    let slot = pool.object(index);
    if !slot.is_null() {
        return Ok(t.load_root(slot));
    }
    if pool.is_null(index) {
        return Ok(ObjectRef::NULL);
    }
    if let Some(error) = pool.error(index as u32).filter(|slot| !slot.is_null()) {
        return Err(errors::throw_again(t, error));
    }
    let value = match holder.inst().file.constant_pool.entry(index) {
        CpEntry::MethodType { descriptor } => types::method_type(t, holder, descriptor),
        CpEntry::MethodHandle { kind, index } => method_handle(t, holder, kind, index),
        CpEntry::Dynamic { .. } => dynamic_constant(t, holder, index),
        other => panic!("constant {index} of {holder:?} is {other:?}"),
    };
    // The first result counts, be it a failure, when several threads resolve, or when a bootstrap method resolves the
    // same constant.
    let publishing = holder.inst().init_lock.lock();
    let is_resolved = || !slot.is_null() || pool.is_null(index);
    match value {
        Ok(value) if !is_resolved() => {
            if let Some(error) = pool.error(index as u32).filter(|slot| !slot.is_null()) {
                drop(publishing);
                return Err(errors::throw_again(t, error));
            }
            if value.is_null() {
                pool.set_null(index);
            }
            t.store_root(slot, value);
        }
        Err(thrown) if errors::pending_is(t, "java/lang/LinkageError") => {
            if !is_resolved() {
                let kept = pool.error_slot(index as u32, &holder.holder.roots);
                return Err(keep_first(t, kept, publishing, thrown));
            }
            t.take_pending(thrown);
        }
        Err(thrown) => return Err(thrown),
        Ok(_) => {}
    }
    Ok(t.load_root(slot))
}

/// Keeps a failure for good, unless another thread had one before: then the earlier one is thrown.
fn keep_first(
    t: &JavaThread,
    kept: &RootSlot,
    publishing: MutexGuard<'_, ()>,
    thrown: Throw,
) -> Throw {
    if kept.is_null() {
        t.store_root(kept, t.pending.get());
        return thrown;
    }
    drop(publishing);
    t.take_pending(thrown);
    errors::throw_again(t, kept)
}

/// Links a call of `MethodHandle.invokeExact`, `invoke` or a `VarHandle` accessor: returns the adapter, whose
/// appendix is then in the pool's object slot of `index`. A safepoint.
pub fn link_method(
    t: &JavaThread,
    holder: KlassRef,
    index: u16,
    resolved: MethodRef,
) -> JResult<MethodRef> {
    let entry = holder.inst().pool.entry(index);
    if let Some(adapter) = entry.method() {
        return Ok(adapter);
    }
    let _scope = t.scope();
    let descriptor = descriptor_at(holder, index);
    let ty = t.root(types::method_type(t, holder, descriptor)?);
    let name = t.root(objects::interned(t, resolved.name())?);
    let natives = natives(t)?;
    let appendix = t.root(types::result_box(t)?);
    let arguments = [
        word(t.mirror(holder)),
        ref_kind::INVOKE_VIRTUAL as u64,
        word(t.mirror(resolved.holder)),
        word(name.get()),
        word(ty.get()),
        word(appendix.get()),
    ];
    let member = call_static(t, natives, "linkMethod", LINK_METHOD, &arguments)?;
    let adapter = adapter_of(t, member)?;
    holders::depend(t, holder.holder, adapter.holder);
    let _publishing = holder.inst().init_lock.lock();
    if let Some(first) = entry.method() {
        return Ok(first);
    }
    t.store_root(holder.inst().pool.object(index), t.load_element(appendix.get(), 0));
    entry.set_method(adapter);
    Ok(adapter)
}

/// Links a call site of a method's class. A failure is kept and thrown again (JVMS 5.4.3.6). A safepoint.
pub fn link_call_site(t: &JavaThread, method: MethodRef, number: u32) -> JResult<()> {
    let holder = method.holder;
    let sites = holder.inst().call_sites.get().expect("numbered when the code was prepared");
    let site = &sites[number as usize];
    if site.adapter.load(Ordering::Acquire) != 0 {
        return Ok(());
    }
    if !site.error.is_null() {
        return Err(errors::throw_again(t, site.error));
    }
    let _scope = t.scope();
    let appendix = t.root(ObjectRef::NULL);
    let adapter = bootstrap_call_site(t, holder, site.pool_index, appendix);
    let adapter = adapter.map_err(|thrown| wrap(t, thrown));
    // The first result counts, be it a failure.
    let publishing = holder.inst().init_lock.lock();
    let is_linked = site.adapter.load(Ordering::Acquire) != 0;
    let adapter = match adapter {
        Ok(adapter) => adapter,
        Err(thrown) if !errors::pending_is(t, "java/lang/LinkageError") => return Err(thrown),
        Err(thrown) if is_linked => {
            t.take_pending(thrown);
            return Ok(());
        }
        Err(thrown) => return Err(keep_first(t, site.error, publishing, thrown)),
    };
    if !is_linked {
        if !site.error.is_null() {
            drop(publishing);
            return Err(errors::throw_again(t, site.error));
        }
        t.store_root(site.appendix, appendix.get());
        // The library may have given the appendix another form meanwhile.
        let _hold = t.vm.unloading.hold();
        let number = |method: Option<MethodRef>| match method {
            Some(method) if holders::depend(t, holder.holder, method.holder) => {
                std::ptr::from_ref(method) as usize
            }
            _ => 0,
        };
        site.constructor.store(number(constructor_of(t, appendix.get())), Ordering::Relaxed);
        site.target.store(number(target_of(t, appendix.get())), Ordering::Relaxed);
        let is_kept = holders::depend(t, holder.holder, adapter.holder);
        assert!(is_kept, "{adapter:?} was unloaded while it is linked");
        site.adapter.store(std::ptr::from_ref(adapter) as usize, Ordering::Release);
    }
    Ok(())
}

/// The constructor that a site calls whose appendix is this: where the target of a `ConstantCallSite` is a handle of a
/// constructor, as lambdas that capture have it. No safepoint.
fn constructor_of(t: &JavaThread, appendix: ObjectRef) -> Option<MethodRef> {
    if appendix.is_null() {
        return None;
    }
    let klass = t.klass_of(appendix);
    let is_constructor = klass.name.bytes() == b"java/lang/invoke/DirectMethodHandle$Constructor"
        && std::ptr::eq(klass.loader, t.vm.boot_loader);
    if !is_constructor {
        return None;
    }
    let member = fields::get_ref(t, appendix, F::HandleInitMethod);
    member::method_of(t, member).filter(|method| method.is_initializer())
}

/// The method that calling a site's appendix leads to, if it is a method handle. No safepoint.
fn target_of(t: &JavaThread, appendix: ObjectRef) -> Option<MethodRef> {
    let is_handle = !appendix.is_null()
        && t.klass_of(appendix).is_subtype_of(t.vm.known.classes.method_handle());
    if is_handle { member::form_entry(t, appendix) } else { None }
}

fn bootstrap_call_site(
    t: &JavaThread,
    holder: KlassRef,
    index: u16,
    appendix: Handle,
) -> JResult<MethodRef> {
    let bootstrap = bootstrap_arguments(t, holder, index)?;
    let ty = t.root(types::method_type(t, holder, descriptor_at(holder, index))?);
    let natives = natives(t)?;
    let result = t.root(types::result_box(t)?);
    let arguments = [
        word(t.mirror(holder)),
        index as u64,
        word(bootstrap.method.get()),
        word(bootstrap.name.get()),
        word(ty.get()),
        word(bootstrap.arguments.get()),
        word(result.get()),
    ];
    let member = call_static(t, natives, "linkCallSite", LINK_CALL_SITE, &arguments)?;
    let adapter = adapter_of(t, member)?;
    appendix.set(t.load_element(result.get(), 0));
    Ok(adapter)
}

fn dynamic_constant(t: &JavaThread, holder: KlassRef, index: u16) -> JResult<ObjectRef> {
    let _scope = t.scope();
    let value = bootstrap_constant(t, holder, index).map_err(|thrown| wrap(t, thrown))?;
    Ok(value)
}

fn bootstrap_constant(t: &JavaThread, holder: KlassRef, index: u16) -> JResult<ObjectRef> {
    let bootstrap = bootstrap_arguments(t, holder, index)?;
    let descriptor = descriptor_at(holder, index);
    let ty = FieldType::parse(descriptor.bytes()).expect("a checked descriptor");
    let klass = types::class_of(t, holder, ty)?;
    let natives = natives(t)?;
    let arguments = [
        word(t.mirror(holder)),
        index as u64,
        word(bootstrap.method.get()),
        word(bootstrap.name.get()),
        word(t.mirror(klass)),
        word(bootstrap.arguments.get()),
    ];
    let value = call_static(t, natives, "linkDynamicConstant", LINK_CONSTANT, &arguments)?;
    Ok(ObjectRef::from_address(value as usize))
}

/// The parts from which a call site or dynamic constant is made; handles of the caller's scope.
struct Bootstrap {
    method: Handle,
    name: Handle,
    /// Null for none, the argument itself for one, else an `Object[]`.
    arguments: Handle,
}

fn bootstrap_arguments(t: &JavaThread, holder: KlassRef, index: u16) -> JResult<Bootstrap> {
    let file = &holder.inst().file;
    let dynamic = file.constant_pool.dynamic(index).expect("a dynamic constant");
    let bootstrap = &file.bootstrap_methods[dynamic.bootstrap_index as usize];
    let method = t.root(resolve_object(t, holder, bootstrap.method_ref)?);
    let count = bootstrap.arguments.len();
    let arguments = match count {
        0 => ObjectRef::NULL,
        _ => {
            let array = allocate::new_array(t, t.vm.known.object_array(), count as i32)?;
            let array = t.root(array);
            for (at, argument) in bootstrap.arguments.iter().enumerate() {
                let value = boxed_constant(t, holder, *argument)?;
                t.store_element(array.get(), at, value);
            }
            let first = t.load_element(array.get(), 0);
            let is_single = count == 1 && !first.is_null() && !t.klass_of(first).is_array();
            if is_single { first } else { array.get() }
        }
    };
    let arguments = t.root(arguments);
    let name = t.root(objects::interned(t, dynamic.name)?);
    Ok(Bootstrap { method, name, arguments })
}

/// A loadable constant as an object. A safepoint.
pub fn boxed_constant(t: &JavaThread, holder: KlassRef, index: u16) -> JResult<ObjectRef> {
    match holder.inst().file.constant_pool.entry(index) {
        CpEntry::Integer(value) => boxes::wrap(t, BasicType::Int, value as u32 as u64),
        CpEntry::Float(bits) => boxes::wrap(t, BasicType::Float, bits as u64),
        CpEntry::Long(value) => boxes::wrap(t, BasicType::Long, value as u64),
        CpEntry::Double(bits) => boxes::wrap(t, BasicType::Double, bits),
        _ => resolve_object(t, holder, index),
    }
}

/// A `MethodHandle` constant; `index` is its member reference.
fn method_handle(t: &JavaThread, holder: KlassRef, kind: u8, index: u16) -> JResult<ObjectRef> {
    let _scope = t.scope();
    let member = holder.inst().file.constant_pool.member(index).expect("a member reference");
    let referenced = resolve::resolve_class(t, holder, member.class_index)?;
    let ty = if kind <= ref_kind::PUT_STATIC {
        let ty = FieldType::parse(member.descriptor.bytes()).expect("a checked descriptor");
        let klass = types::class_of(t, holder, ty)?;
        t.mirror(klass)
    } else {
        types::method_type(t, holder, member.descriptor)?
    };
    let ty = t.root(ty);
    check_kind(t, holder, referenced, kind, member.is_interface, member.name, member.descriptor)?;
    let name = t.root(objects::interned(t, member.name)?);
    let natives = natives(t)?;
    let arguments = [
        word(t.mirror(holder)),
        kind as u64,
        word(t.mirror(referenced)),
        word(name.get()),
        word(ty.get()),
    ];
    let handle = call_static(t, natives, "linkMethodHandleConstant", LINK_HANDLE, &arguments)?;
    Ok(ObjectRef::from_address(handle as usize))
}

/// A reference through the wrong kind of constant is an error that the library would not see, and a violated
/// loading constraint one that it would disguise.
fn check_kind(
    t: &JavaThread,
    holder: KlassRef,
    referenced: KlassRef,
    kind: u8,
    is_interface: bool,
    name: Symbol,
    descriptor: Symbol,
) -> JResult<()> {
    if kind <= ref_kind::PUT_STATIC {
        return match referenced.find_field(name, descriptor) {
            Some(field) => constraints::check_field(t, holder, field),
            None => Ok(()),
        };
    }
    let found = match kind {
        ref_kind::INVOKE_STATIC | ref_kind::INVOKE_SPECIAL => {
            Some(resolve::lookup_method(t, referenced, name, descriptor, is_interface)?)
        }
        _ => resolve::find_method_anywhere(t, referenced, name, descriptor),
    };
    match found {
        Some(method) if method.intrinsic == Intrinsic::None => {
            constraints::check_method(t, holder, referenced, method)
        }
        _ => Ok(()),
    }
}

/// The adapter that a member name stands for, ready to be called. Its class lives until the current scope ends.
fn adapter_of(t: &JavaThread, member: u64) -> JResult<MethodRef> {
    // The library may keep the method's class by a soft reference only.
    let member = t.root(ObjectRef::from_address(member as usize)).get();
    let method = match member.is_null() {
        true => None,
        false => member::method_of(t, member),
    };
    let Some(adapter) = method.filter(|method| method.is_static()) else {
        let message = "linkage produced no adapter method";
        return errors::fail(t, "java/lang/LinkageError", message);
    };
    initialize::initialize(t, adapter.holder)?;
    Ok(adapter)
}

/// Exceptions of bootstrap methods that are no errors become the cause of a `BootstrapMethodError`.
fn wrap(t: &JavaThread, thrown: Throw) -> Throw {
    if errors::pending_is(t, "java/lang/Error") {
        return thrown;
    }
    let _scope = t.scope();
    let cause = t.root(t.take_pending(thrown));
    errors::throw_with_cause(t, "java/lang/BootstrapMethodError", None, cause)
}

fn natives(t: &JavaThread) -> JResult<KlassRef> {
    let natives = t.vm.known.classes.method_handle_natives();
    initialize::initialize(t, natives)?;
    Ok(natives)
}

fn descriptor_at(holder: KlassRef, index: u16) -> Symbol {
    holder.inst().file.constant_pool.descriptor(index).expect("a checked pool")
}

fn word(object: ObjectRef) -> u64 {
    object.address() as u64
}

// Descriptors of the library's methods.
const LINK_METHOD: &str = concat!(
    "(Ljava/lang/Class;ILjava/lang/Class;Ljava/lang/String;Ljava/lang/Object;[Ljava/lang/Object;)",
    "Ljava/lang/invoke/MemberName;"
);
const LINK_CALL_SITE: &str = concat!(
    "(Ljava/lang/Object;ILjava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;",
    "Ljava/lang/Object;[Ljava/lang/Object;)Ljava/lang/invoke/MemberName;"
);
const LINK_CONSTANT: &str = concat!(
    "(Ljava/lang/Object;ILjava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;",
    "Ljava/lang/Object;)Ljava/lang/Object;"
);
const LINK_HANDLE: &str = concat!(
    "(Ljava/lang/Class;ILjava/lang/Class;Ljava/lang/String;Ljava/lang/Object;)",
    "Ljava/lang/invoke/MethodHandle;"
);
