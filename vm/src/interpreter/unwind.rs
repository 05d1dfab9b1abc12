//! From a thrown exception to its handler.

use super::monitors;
use crate::frames::frame::{DROPS_RESULT, ENTRY, Frame, LOCKED, MONITORS, REPLACED};
use crate::loading::resolve;
use crate::machine::JavaThread;
use crate::runtime::code::quick::code_of;
use crate::runtime::{JResult, KlassRef, MethodRef, Throw};
use classfile::ExceptionHandler;
use gc::object::ObjectRef;

/// Finds the handler of the pending exception, beginning at the top frame, no further than the entry frame of the
/// present loop. Frames without one are popped. Returns the handler's frame, ready to continue, with the exception on
/// its stack; or `None` when the exception leaves the entry frame, which is popped too. A safepoint.
///
/// # Safety
/// `frame` is the top frame of the thread, saved.
#[cold]
#[inline(never)]
pub unsafe fn to_handler(t: &JavaThread, frame: *mut Frame) -> Option<*mut Frame> {
    let mut frame = frame;
    // SAFETY: frames down to the entry frame are interpreted and the thread's own.
    unsafe {
        loop {
            // The operands are dead, and parts of them may have been the locals of a callee.
            (*frame).sp = (*frame).stack_base();
            // Code that has replaced the frame has found no handler in the method.
            if (*frame).flags & REPLACED == 0
                && let Some(handler) = find_handler(t, &*frame)
            {
                let exception = t.take_pending(Throw::PENDING);
                *(*frame).sp = exception.address() as u64;
                (*frame).sp = (*frame).sp.add(1);
                (*frame).pc = code_of((*frame).method).add(handler as usize);
                return Some(frame);
            }
            monitors::release_at_throw(t, frame);
            t.top_frame.set((*frame).previous);
            if (*frame).flags & ENTRY != 0 {
                return None;
            }
            frame = (*frame).previous;
        }
    }
}

/// Pops a frame that compiled code has replaced, as a return instruction does with this result. `Err`: the method ends
/// with an exception instead, and the frame is still on the stack.
///
/// # Safety
/// `frame` is the top frame, and replaced; `value` is a result of its method.
pub unsafe fn return_for_code(t: &JavaThread, frame: *mut Frame, value: u64) -> JResult<Returned> {
    // SAFETY: by the contract; the caller of a frame that is no entry frame is interpreted, and stands at a call.
    unsafe {
        let method = (*frame).method;
        let mut value = value;
        if (*frame).flags & (LOCKED | MONITORS) != 0 {
            let _scope = t.scope();
            let is_reference = method.return_type.is_reference();
            let kept = is_reference.then(|| t.root(ObjectRef::from_address(value as usize)));
            monitors::release_at_return(t, frame)?;
            if let Some(kept) = kept {
                value = kept.get().address() as u64;
            }
        }
        let caller = (*frame).previous;
        t.top_frame.set(caller);
        if (*frame).flags & ENTRY != 0 {
            return Ok(Returned::ToNative(value));
        }
        let sp = (*frame).locals;
        *sp = value;
        let is_dropped = (*frame).flags & DROPS_RESULT != 0;
        let slots = if is_dropped { 0 } else { method.return_type.slots() };
        (*caller).sp = sp.add(slots as usize);
        (*caller).pc = (*caller).pc.add((*frame).resume as usize);
        Ok(Returned::ToFrame(caller))
    }
}

/// The target of a method's return.
pub enum Returned {
    /// The frame is ready to continue.
    ToFrame(*mut Frame),
    /// Out of the interpreter's loop, with this value.
    ToNative(u64),
}

/// The handler's bci. An exception in resolving a catch type takes the place of the pending one.
fn find_handler(t: &JavaThread, frame: &Frame) -> Option<u16> {
    let (method, bci) = (frame.method, frame.bci().expect("an interpreted frame"));
    let is_handler = |entry: &&ExceptionHandler| {
        entry.catch_type == 0 || catches(t, method.holder, entry).unwrap_or(false)
    };
    entries_at(method, bci).find(is_handler).map(|entry| entry.handler_pc)
}

/// The entries of a method's exception table that an instruction is under, in their order.
fn entries_at(method: MethodRef, bci: u16) -> impl Iterator<Item = &'static ExceptionHandler> {
    let table = &method.code().expect("a method with bytecode").exception_table;
    table.iter().filter(move |entry| (entry.start_pc..entry.end_pc).contains(&bci))
}

/// Whether a method would perhaps handle the pending exception if it came from an instruction: not, if no entry is for
/// that instruction, or only such for other types. No safepoint.
pub fn may_catch(t: &JavaThread, method: MethodRef, bci: u16) -> bool {
    let thrown = t.klass_of(t.pending.get());
    let pool = &method.holder.inst().pool;
    let is_of = |entry: &ExceptionHandler| match entry.catch_type {
        0 => true,
        index => match pool.entry(index).klass() {
            Some(target) => thrown.is_subtype_of(target),
            None => has_name_of(thrown, method.holder, entry),
        },
    };
    entries_at(method, bci).any(is_of)
}

/// Whether the entry's type is one of the pending exception's.
fn catches(t: &JavaThread, holder: KlassRef, entry: &ExceptionHandler) -> JResult<bool> {
    let known = holder.inst().pool.entry(entry.catch_type).klass();
    let target = match known {
        Some(klass) => klass,
        // Nothing is loaded for nothing: there may be no room left on the stack for a loader.
        None if !has_name_of(t.klass_of(t.pending.get()), holder, entry) => return Ok(false),
        None => {
            let _scope = t.scope();
            let exception = t.root(t.take_pending(Throw::PENDING));
            let target = resolve::resolve_class(t, holder, entry.catch_type)?;
            let _: Throw = t.throw_object(exception.get());
            target
        }
    };
    Ok(t.klass_of(t.pending.get()).is_subtype_of(target))
}

/// Whether the class of an exception, or a superclass, has the name of the entry's type, which is not resolved yet. If
/// none has, it is none of that type.
fn has_name_of(thrown: KlassRef, holder: KlassRef, entry: &ExceptionHandler) -> bool {
    let name = holder.inst().file.constant_pool.class_name(entry.catch_type);
    std::iter::successors(Some(thrown), |klass| klass.super_klass).any(|k| Some(k.name) == name)
}
