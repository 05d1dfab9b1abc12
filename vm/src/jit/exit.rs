//! Side exits: from compiled code into the interpreter.
//!
//! The frames of the exit are built on the Java stack above the top frame, outermost first, as the interpreter would
//! have left them; the interpreter then runs until the outermost one returns, and its result is what the compiled
//! function returns. Meanwhile the compiled frame stands for nothing: its safepoint at the exit has no frames and no
//! roots.

use super::body::{ExitFrame, Reason, SideExit, Word};
use super::policy;
use crate::classfile::bytecode::op;
use crate::interpreter::frame::{ENTRY, FRAME_SLOTS, Frame, LOCKED};
use crate::interpreter::{fault, monitors, quick, run, unwind};
use crate::runtime::{JavaThread, MethodRef, Throw};
use crate::threads;
use gc::object::ObjectRef;
use std::sync::atomic::Ordering;

/// Goes on in the interpreter with what compiled code has left in `area`. Returns the result word of the outermost
/// frame, or anything with an exception pending. A safepoint.
///
/// # Safety
/// Called by compiled code, which has filled the area for the exit.
pub unsafe extern "C" fn exit(t: &JavaThread, exit: &SideExit, area: *const u64) -> u64 {
    let taken = exit.taken.load(Ordering::Relaxed).saturating_add(1);
    exit.taken.store(taken, Ordering::Relaxed);
    policy::exit_taken(t, exit, taken);
    // SAFETY: the code that has called filled the area for this exit; the frames are made of what verified code had.
    unsafe {
        let Some(frame) = push_frames(t, exit, area) else {
            overflow(t, exit, area);
            return 0;
        };
        let frame = match exit.reason {
            Reason::Pending => match unwind::to_handler(t, frame) {
                Some(handler_frame) => handler_frame,
                None => return 0,
            },
            _ => frame,
        };
        run::run(t, frame).unwrap_or(0)
    }
}

/// Pushes all frames of the exit; the innermost one becomes the top frame. `None` when the Java stack is full.
/// No safepoint.
///
/// # Safety
/// The area was filled for the exit.
unsafe fn push_frames(t: &JavaThread, exit: &SideExit, area: *const u64) -> Option<*mut Frame> {
    let top = t.top_frame.get();
    // SAFETY: the top frame is this thread's and has its `sp` saved.
    let base = if top.is_null() { t.java_stack.base() } else { unsafe { (*top).sp } };
    let slots = |frame: &ExitFrame| {
        frame.method.max_locals as usize + FRAME_SLOTS + frame.method.max_stack as usize + 2
    };
    let end = base.wrapping_add(exit.frames.iter().map(slots).sum());
    if end > t.java_stack.limit() {
        return None;
    }
    let (mut previous, mut locals) = (top, base);
    let mut resume = 0;
    for (depth, state) in exit.frames.iter().enumerate() {
        let flags = if depth == 0 { ENTRY } else { 0 };
        // SAFETY: below the limit, checked above, all slots are the thread's own.
        let frame = unsafe { push_frame(t, state, area, locals, previous) };
        // SAFETY: just written.
        unsafe {
            (*frame).flags |= flags;
            (*frame).resume = resume;
            locals = (*frame).sp;
        }
        resume = call_length(state.method, state.bci);
        previous = frame;
    }
    t.top_frame.set(previous);
    Some(previous)
}

/// # Safety
/// From `locals` on there is room for the frame.
unsafe fn push_frame(
    t: &JavaThread,
    state: &ExitFrame,
    area: *const u64,
    locals: *mut u64,
    previous: *mut Frame,
) -> *mut Frame {
    let method = state.method;
    if quick::code_of(method).is_null() {
        quick::prepare(method);
    }
    let code = quick::code_of(method);
    let frame = locals.wrapping_add(method.max_locals as usize).cast::<Frame>();
    let stack = frame.cast::<u64>().wrapping_add(FRAME_SLOTS);
    assert!(state.locals.len() <= method.max_locals as usize, "locals of {method:?}");
    assert!(state.stack.len() <= method.max_stack as usize + 2, "operands of {method:?}");
    let method_lock = state.method_lock.map(|word| reference(word, area));
    // SAFETY: by the contract; the area has the words that the exit names.
    unsafe {
        for slot in 0..method.max_locals as usize {
            let word = state.locals.get(slot).copied().unwrap_or(Word::Dead);
            *locals.add(slot) = value(word, area);
        }
        for (slot, word) in state.stack.iter().enumerate() {
            *stack.add(slot) = value(*word, area);
        }
        frame.write(Frame {
            method,
            previous,
            pc: code.add(state.bci as usize),
            sp: stack.add(state.stack.len()),
            locals,
            sites: quick::sites_of(code),
            lock: method_lock.unwrap_or(ObjectRef::NULL),
            flags: if method_lock.is_some() { LOCKED } else { 0 },
            resume: 0,
        });
    }
    for word in &state.locks {
        monitors::adopt(t, frame, reference(*word, area));
    }
    frame
}

/// The Java stack has no room for the frames: they end with a `StackOverflowError`, and give up their locks.
fn overflow(t: &JavaThread, exit: &SideExit, area: *const u64) {
    let _scope = t.scope();
    let words = exit.frames.iter().flat_map(|frame| frame.method_lock.iter().chain(&frame.locks));
    let locks: Vec<_> = words.map(|word| t.root(reference(*word, area))).collect();
    t.pending.set(ObjectRef::NULL);
    let thrown: Throw = fault::stack_overflow(t);
    let error = t.root(t.take_pending(thrown));
    for lock in locks.iter().rev() {
        if threads::monitor_exit(t, lock.get()).is_err() {
            t.pending.set(ObjectRef::NULL);
        }
    }
    t.pending.set(error.get());
}

/// Bytes of a call instruction.
fn call_length(method: MethodRef, bci: u16) -> u32 {
    let code = &method.code().expect("a compiled method").bytecode;
    match code[bci as usize] {
        op::INVOKEINTERFACE | op::INVOKEDYNAMIC => 5,
        _ => 3,
    }
}

fn value(word: Word, area: *const u64) -> u64 {
    match word {
        Word::Dead => 0,
        // SAFETY: the code filled the words that the exit names.
        Word::Area(index) => unsafe { *area.add(index as usize) },
        Word::Constant(value) => value,
    }
}

fn reference(word: Word, area: *const u64) -> ObjectRef {
    ObjectRef::from_address(value(word, area) as usize)
}
