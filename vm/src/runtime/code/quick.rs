//! Quick code: the interpreter's private copy of a method's bytecode.
//!
//! It has the same bcis as the class file's code. Instructions that name a constant are rewritten, when they
//! have been resolved, to an internal instruction whose 16-bit operand (now in native byte order) is a field
//! offset or the number of the instruction's [`Site`]. The original is always in `info.code`.
//!
//! Several threads may rewrite one instruction at a time: they all write the same operand first and the same
//! opcode last (release). The interpreter reads the opcode (acquire) before the operand, and takes operands
//! of instructions that are not yet quick from the original code, so that it never sees half a rewrite.

use crate::runtime::pool::CallSite;
use crate::runtime::{KlassRef, Method, MethodRef};
use classfile::BasicType;
use classfile::bytecode::{Instructions, op};
use gc::object::{KLASS_ID_MAX, KlassId};
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

/// Internal opcodes: those behind the last official one.
pub mod internal {
    use classfile::bytecode::op::LAST;
    /// `getfield` by the field's type; the operand is its offset.
    pub const GETFIELD_BYTE: u8 = LAST + 1;
    pub const GETFIELD_CHAR: u8 = LAST + 2;
    pub const GETFIELD_SHORT: u8 = LAST + 3;
    pub const GETFIELD_INT: u8 = LAST + 4;
    pub const GETFIELD_LONG: u8 = LAST + 5;
    pub const GETFIELD_REF: u8 = LAST + 6;
    /// `putfield` of fields that are not volatile; the operand is the offset.
    pub const PUTFIELD_BYTE: u8 = LAST + 7;
    pub const PUTFIELD_SHORT: u8 = LAST + 8;
    pub const PUTFIELD_INT: u8 = LAST + 9;
    pub const PUTFIELD_LONG: u8 = LAST + 10;
    pub const PUTFIELD_REF: u8 = LAST + 11;
    /// The operand is a site: class and offset.
    pub const GETSTATIC_INT: u8 = LAST + 12;
    pub const GETSTATIC_LONG: u8 = LAST + 13;
    pub const GETSTATIC_REF: u8 = LAST + 14;
    pub const PUTSTATIC_INT: u8 = LAST + 15;
    pub const PUTSTATIC_LONG: u8 = LAST + 16;
    pub const PUTSTATIC_REF: u8 = LAST + 17;
    /// Calls; the operand is a site: resolved method and [`super::CallShape`].
    pub const INVOKE_STATIC: u8 = LAST + 18;
    /// Receiver not null, no selection: `invokespecial`, final and private methods.
    pub const INVOKE_DIRECT: u8 = LAST + 19;
    /// Through the vtable.
    pub const INVOKE_VIRTUAL: u8 = LAST + 20;
    /// Selected by class, remembered per thread.
    pub const INVOKE_INTERFACE: u8 = LAST + 21;
    /// `MethodHandle.invokeBasic`.
    pub const INVOKE_BASIC: u8 = LAST + 22;
    /// `MethodHandle.linkToStatic` and its like.
    pub const INVOKE_LINK_TO: u8 = LAST + 23;
    /// Linked signature-polymorphic call: adapter in the site, appendix in the pool.
    pub const INVOKE_ADAPTER: u8 = LAST + 24;
    /// The operand, 32 bits wide, is the number of the call site in the class.
    pub const INVOKE_DYNAMIC: u8 = LAST + 25;
    /// The operand is a site: the class.
    pub const NEW: u8 = LAST + 26;
    pub const ANEWARRAY: u8 = LAST + 27;
    pub const CHECKCAST: u8 = LAST + 28;
    pub const INSTANCEOF: u8 = LAST + 29;
    pub const PUTFIELD_BOOL: u8 = LAST + 30;
    /// Statics of types smaller than int; the site has the type too.
    pub const GETSTATIC_SMALL: u8 = LAST + 31;
    pub const PUTSTATIC_SMALL: u8 = LAST + 32;
    /// `Reference.referent`: the running collection must keep its value alive.
    pub const GETFIELD_REFERENT: u8 = LAST + 33;
    /// `return` from the constructor of `Object`: the object may be finalizable from now on. The quick code has it from
    /// the start.
    pub const RETURN_CONSTRUCTED: u8 = LAST + 34;
}

/// Resolution state of one instruction. Written value first, then the opcode that makes it readable.
#[derive(Default)]
#[repr(C)]
pub struct Site {
    /// Address of a `Klass` or `Method`.
    pointer: AtomicUsize,
    /// Offset and letter of the type, or a [`CallShape`].
    extra: AtomicU64,
    /// Classes met here: two ids, and how often it was another one. Interpreter threads write, compiler threads read.
    ///
    /// ```text
    ///  63      40 39       20 19        0
    /// +----------+-----------+-----------+
    /// | others   | second id | first id  |
    /// +----------+-----------+-----------+
    /// ```
    ///
    /// Of a call of a method handle: the method that it called last, and how often it was another one than before.
    ///
    /// ```text
    ///  63       40 39      20 19      0
    /// +-----------+----------+---------+
    /// | changes   | slot + 1 | class   |
    /// +-----------+----------+---------+
    /// ```
    seen: AtomicU64,
}

/// Classes that an instruction has met.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Receivers {
    pub first: Option<KlassId>,
    pub second: Option<KlassId>,
    /// How often it was none of them.
    pub others: u32,
}

/// How a call instruction calls.
#[derive(Clone, Copy)]
pub struct CallShape(u64);

impl CallShape {
    pub fn new(argument_slots: u16, length: u8, vtable_index: u32) -> CallShape {
        CallShape(argument_slots as u64 | (length as u64) << 16 | (vtable_index as u64) << 32)
    }

    /// Receiver and appendix included.
    #[inline(always)]
    pub fn argument_slots(self) -> usize {
        self.0 as u16 as usize
    }

    /// Bytes of the instruction.
    #[inline(always)]
    pub fn length(self) -> u32 {
        (self.0 >> 16) as u8 as u32
    }

    #[inline(always)]
    pub fn vtable_index(self) -> usize {
        (self.0 >> 32) as usize
    }
}

impl Receivers {
    /// All of them, when there were few: no others.
    pub fn few(self) -> impl Iterator<Item = KlassId> {
        let all = [self.first, self.second];
        all.into_iter().flatten().filter(move |_| self.others == 0)
    }
}

impl Site {
    pub fn set_klass(&self, klass: KlassRef, extra: u64) {
        self.extra.store(extra, Ordering::Relaxed);
        self.pointer.store(std::ptr::from_ref(klass) as usize, Ordering::Release);
    }

    pub fn set_method(&self, method: MethodRef, shape: CallShape) {
        self.extra.store(shape.0, Ordering::Relaxed);
        self.pointer.store(std::ptr::from_ref(method) as usize, Ordering::Release);
    }

    /// # Safety
    /// `set_klass` was called: the opcode says so.
    #[inline(always)]
    pub unsafe fn klass(&self) -> KlassRef {
        // SAFETY: by the contract; classes live as long as the VM.
        unsafe { &*(self.pointer.load(Ordering::Relaxed) as *const crate::runtime::Klass) }
    }

    /// # Safety
    /// `set_method` was called: the opcode says so.
    #[inline(always)]
    pub unsafe fn method(&self) -> MethodRef {
        // SAFETY: by the contract; methods live as long as the VM.
        unsafe { &*(self.pointer.load(Ordering::Relaxed) as *const crate::runtime::Method) }
    }

    #[inline(always)]
    pub fn offset(&self) -> usize {
        self.extra.load(Ordering::Relaxed) as u32 as usize
    }

    /// Of a static field: its type.
    pub fn basic_type(&self) -> BasicType {
        let letter = (self.extra.load(Ordering::Relaxed) >> 32) as u8;
        BasicType::from_letter(letter).expect("the letter of a type")
    }

    #[inline(always)]
    pub fn shape(&self) -> CallShape {
        CallShape(self.extra.load(Ordering::Relaxed))
    }

    /// Remembers the class of a receiver, or of an object that was cast.
    #[inline(always)]
    pub fn see(&self, klass: KlassId) {
        let seen = self.seen.load(Ordering::Relaxed);
        if seen & SEEN_MASK != klass.0 as u64 {
            self.see_another(seen, klass);
        }
    }

    #[inline(never)]
    fn see_another(&self, seen: u64, klass: KlassId) {
        let id = klass.0 as u64;
        let new = if seen & SEEN_MASK == 0 {
            seen | id
        } else if seen >> SEEN_BITS & SEEN_MASK == 0 {
            seen | id << SEEN_BITS
        } else if seen >> SEEN_BITS & SEEN_MASK != id && seen >> (2 * SEEN_BITS) < OTHERS_MAX {
            seen + (1 << (2 * SEEN_BITS))
        } else {
            return;
        };
        // A class that another thread has written meanwhile may be lost, and is met again.
        self.seen.store(new, Ordering::Relaxed);
    }

    /// Remembers the method that a method handle has called.
    #[inline(always)]
    pub fn see_target(&self, method: MethodRef) {
        self.see_number(target(method.holder.id.0, method.slot));
    }

    #[inline(always)]
    fn see_number(&self, target: u64) {
        let seen = self.seen.load(Ordering::Relaxed);
        if seen & TARGET_MASK != target {
            let changes = seen >> (2 * SEEN_BITS);
            let changes = (changes + u64::from(seen != 0)).min(OTHERS_MAX);
            self.seen.store(target | changes << (2 * SEEN_BITS), Ordering::Relaxed);
        }
    }

    /// The method that a method handle has called here, as class and slot, if it was rarely another one.
    pub fn target(&self) -> Option<(KlassId, usize)> {
        let seen = self.seen.load(Ordering::Relaxed);
        let slot = (seen & TARGET_MASK) >> SEEN_BITS;
        let is_usual = slot > 0 && seen >> (2 * SEEN_BITS) <= CHANGES_MAX;
        is_usual.then(|| (KlassId((seen & SEEN_MASK) as u32), slot as usize - 1))
    }

    /// Forgets what was met if a class of it is gone.
    fn forget(&self, is_gone: impl Fn(KlassId) -> bool) {
        // Of a call of a method handle, the second is a slot: to forget one too many does no harm.
        let Receivers { first, second, .. } = self.receivers();
        if first.into_iter().chain(second).any(is_gone) {
            self.seen.store(0, Ordering::Relaxed);
        }
    }

    /// The classes that were met up to now.
    pub fn receivers(&self) -> Receivers {
        let seen = self.seen.load(Ordering::Relaxed);
        let id = |bits: u64| (bits & SEEN_MASK != 0).then_some(KlassId((bits & SEEN_MASK) as u32));
        Receivers {
            first: id(seen),
            second: id(seen >> SEEN_BITS),
            others: (seen >> (2 * SEEN_BITS)) as u32,
        }
    }
}

/// The number of a method in `Site::seen`; never 0.
fn target(klass: u32, slot: u32) -> u64 {
    u64::from(klass) | (u64::from(slot) + 1) << SEEN_BITS
}

const SEEN_BITS: u32 = KLASS_ID_MAX.count_ones();
const SEEN_MASK: u64 = (1 << SEEN_BITS) - 1;
const TARGET_MASK: u64 = (1 << (2 * SEEN_BITS)) - 1;
/// A method handle that has called another method more often than this will do so again.
const CHANGES_MAX: u64 = 16;
const OTHERS_MAX: u64 = (1 << (64 - 2 * SEEN_BITS)) - 1;
const _: () = assert!(KLASS_ID_MAX as u64 == SEEN_MASK);

/// Lies right before the first instruction.
#[repr(C, align(8))]
struct CodeHeader {
    sites: *mut Site,
}

/// The quick code of a prepared method.
#[inline(always)]
pub fn code_of(method: MethodRef) -> *const u8 {
    method.quick_code.load(Ordering::Acquire)
}

/// Whether a method has quick code.
pub fn is_prepared(method: MethodRef) -> bool {
    !code_of(method).is_null()
}

/// The sites of a prepared method.
///
/// # Safety
/// The method is prepared.
#[inline(always)]
pub unsafe fn sites_of(code: *const u8) -> *const Site {
    // SAFETY: `prepare` put a header before the code.
    unsafe { (*code.cast::<CodeHeader>().sub(1)).sites }
}

/// Makes the quick code of a method with bytecode. Several threads may do so: one copy wins.
pub fn prepare(method: MethodRef) {
    let original = &method.code().expect("a method with bytecode").bytecode;
    let block = Box::into_raw(vec![0u64; block_words(original)].into_boxed_slice());
    let code = block.cast::<u8>().wrapping_add(size_of::<CodeHeader>());
    // SAFETY: the block has room for header and code.
    unsafe { std::ptr::copy_nonoverlapping(original.as_ptr(), code, original.len()) };
    let mut sites = 0u16;
    for instruction in Instructions::new(original) {
        let Ok(instruction) = instruction else { break };
        let operand = match instruction.opcode {
            op::INVOKEDYNAMIC => {
                let number = call_site_number(method, instruction.bci);
                // SAFETY: the instruction has four operand bytes.
                unsafe { code.add(instruction.bci + 1).cast::<u32>().write_unaligned(number) };
                continue;
            }
            op::RETURN if method.is_object_initializer() => {
                // SAFETY: the instruction is in the code.
                unsafe { code.add(instruction.bci).write(internal::RETURN_CONSTRUCTED) };
                continue;
            }
            opcode if has_site(opcode) => {
                sites += 1;
                sites - 1
            }
            _ => continue,
        };
        // SAFETY: these instructions have at least two operand bytes.
        unsafe { code.add(instruction.bci + 1).cast::<u16>().write_unaligned(operand) };
    }
    let table: Box<[Site]> = (0..sites).map(|_| Site::default()).collect();
    // SAFETY: the block begins with the header.
    unsafe {
        code.cast::<CodeHeader>().sub(1).write(CodeHeader { sites: Box::into_raw(table).cast() })
    };
    let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
    let none = std::ptr::null_mut();
    if method.quick_code.compare_exchange(none, code, success, failure).is_err() {
        // SAFETY: made above, and no other thread knows it.
        unsafe { free_code(code, original) };
    }
}

/// Frees the quick code of a method, if it has any.
///
/// # Safety
/// The method is about to be freed: no frame, no code and no running compilation names it any more.
pub unsafe fn free(method: &Method) {
    let code = method.quick_code.swap(std::ptr::null_mut(), Ordering::AcqRel);
    if !code.is_null() {
        let original = &method.code().expect("a method with quick code has bytecode").bytecode;
        // SAFETY: `prepare` made the code of this bytecode; the rest is the contract.
        unsafe { free_code(code, original) };
    }
}

/// # Safety
/// `prepare` made the code of `original`, and nothing names it any more.
unsafe fn free_code(code: *mut u8, original: &[u8]) {
    let count = count_sites(original);
    let block = code.wrapping_sub(size_of::<CodeHeader>());
    // SAFETY: as `prepare` made them: the header with the sites, as many as there are such instructions, and the block.
    unsafe {
        let sites = (*block.cast::<CodeHeader>()).sites;
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(sites, count)));
        let words = block_words(original);
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(block.cast::<u64>(), words)));
    }
}

/// Words of header and quick code.
fn block_words(original: &[u8]) -> usize {
    (size_of::<CodeHeader>() + original.len()).div_ceil(8)
}

fn count_sites(original: &[u8]) -> usize {
    let instructions = Instructions::new(original).map_while(Result::ok);
    instructions.filter(|at| has_site(at.opcode)).count()
}

/// Whether an instruction has a site of its own.
fn has_site(opcode: u8) -> bool {
    let is_call = (op::INVOKEVIRTUAL..=op::INVOKEINTERFACE).contains(&opcode);
    let names_type = matches!(opcode, op::NEW | op::ANEWARRAY | op::CHECKCAST | op::INSTANCEOF);
    is_call || names_type || matches!(opcode, op::GETSTATIC | op::PUTSTATIC)
}

/// The sites of a method that have met classes which are gone begin anew to note those that they meet. The world is
/// stopped.
pub fn forget_receivers(method: MethodRef, is_gone: impl Fn(KlassId) -> bool) {
    let code = code_of(method);
    if code.is_null() {
        return;
    }
    let original = &method.code().expect("a method with quick code has bytecode").bytecode;
    let count = count_sites(original);
    // SAFETY: the method is prepared, so it has as many sites as such instructions, as long as it lives.
    let sites = unsafe { std::slice::from_raw_parts(sites_of(code), count) };
    sites.iter().for_each(|site| site.forget(&is_gone));
}

/// Rewrites the instruction at `pc` of quick code.
///
/// # Safety
/// `pc` is at an instruction with two operand bytes.
pub unsafe fn rewrite(pc: *const u8, opcode: u8, operand: Option<u16>) {
    // SAFETY: quick code is only accessed atomically once published; `pc` by the contract.
    unsafe {
        if let Some(operand) = operand {
            let [low, high] = operand.to_ne_bytes();
            AtomicU8::from_ptr(pc.add(1).cast_mut()).store(low, Ordering::Relaxed);
            AtomicU8::from_ptr(pc.add(2).cast_mut()).store(high, Ordering::Relaxed);
        }
        AtomicU8::from_ptr(pc.cast_mut()).store(opcode, Ordering::Release);
    }
}

/// The number of an `invokedynamic` among those of its class, in the order of methods and bcis.
fn call_site_number(method: MethodRef, bci: usize) -> u32 {
    let sites = method.holder.inst().call_sites.get_or_init(|| number_call_sites(method.holder));
    let key = (method.slot, bci as u32);
    sites
        .binary_search_by_key(&key, |site| (site.method_slot, site.bci))
        .expect("every invokedynamic has a site") as u32
}

fn number_call_sites(holder: KlassRef) -> Box<[CallSite]> {
    let mut sites = Vec::new();
    let mut roots = holder.holder.roots.lock();
    for method in holder.methods() {
        let Some(code) = method.code() else { continue };
        for instruction in Instructions::new(&code.bytecode) {
            let Ok(instruction) = instruction else { break };
            if instruction.opcode == op::INVOKEDYNAMIC {
                let (index, bci) = (instruction.pool_index(), instruction.bci as u32);
                sites.push(CallSite::new(index, method.slot, bci, &mut roots));
            }
        }
    }
    sites.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_keep_their_parts() {
        for (slots, length, index) in [(0, 3, 0), (255, 5, 70_000), (256, 3, u32::MAX)] {
            let shape = CallShape::new(slots, length, index);
            assert_eq!(shape.argument_slots(), slots as usize);
            assert_eq!(shape.length(), length as u32);
            assert_eq!(shape.vtable_index(), index as usize);
        }
    }

    #[test]
    fn two_classes_are_remembered_and_others_counted() {
        let site = Site::default();
        assert_eq!(site.receivers(), Receivers::default());
        for id in [7, 7, KLASS_ID_MAX, 7, KLASS_ID_MAX, 3, 4] {
            site.see(KlassId(id));
        }
        let (first, second) = (Some(KlassId(7)), Some(KlassId(KLASS_ID_MAX)));
        assert_eq!(site.receivers(), Receivers { first, second, others: 2 });
    }

    #[test]
    fn a_site_that_has_met_a_class_that_is_gone_begins_anew() {
        let site = Site::default();
        [7, 8, 9].into_iter().for_each(|id| site.see(KlassId(id)));
        let met = site.receivers();
        site.forget(|klass| klass == KlassId(9));
        assert_eq!(site.receivers(), met);
        site.forget(|klass| klass == KlassId(8));
        assert_eq!(site.receivers(), Receivers::default());
    }

    #[test]
    fn targets_are_remembered_unless_they_change_often() {
        let site = Site::default();
        let (usual, other) = (target(KLASS_ID_MAX, u16::MAX.into()), target(3, 0));
        assert_eq!(site.target(), None);
        for _ in 0..100 {
            site.see_number(usual);
        }
        assert_eq!(site.target(), Some((KlassId(KLASS_ID_MAX), u16::MAX.into())));
        site.see_number(other);
        assert_eq!(site.target(), Some((KlassId(3), 0)));
        for _ in 0..CHANGES_MAX {
            site.see_number(usual);
            site.see_number(other);
        }
        assert_eq!(site.target(), None);
    }

    #[test]
    fn rewriting_leaves_the_neighbours_alone() {
        let mut code = [op::NOP, op::GETFIELD, 0, 7, op::ARETURN];
        // SAFETY: two operand bytes follow the opcode.
        unsafe { rewrite(code.as_mut_ptr().wrapping_add(1), internal::GETFIELD_REF, Some(0x1234)) };
        let [low, high] = 0x1234u16.to_ne_bytes();
        assert_eq!(code, [op::NOP, internal::GETFIELD_REF, low, high, op::ARETURN]);
    }
}
