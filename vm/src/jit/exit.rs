//! Side exits: from compiled code into the interpreter.
//!
//! The frames of the exit are built on the Java stack above the top frame, outermost first, as the interpreter would
//! have left them; the interpreter then runs until the outermost one returns, and the compiled function returns its
//! result. Meanwhile the compiled frame stands for nothing: its safepoint at the exit has no frames and no roots.
//!
//! Code that was entered at a loop gives the interpreter its frame back instead, and returns: the loop of the
//! interpreter that had entered it continues. Otherwise a loop that is entered and left again and again would pile
//! up frames.

use super::policy;
use crate::frames::frame::{DROPS_RESULT, ENTRY, FRAME_SLOTS, Frame, LOCKED, REPLACED};
use crate::interpreter::{fault, monitors, run, unwind};
use crate::machine::JavaThread;
use crate::monitors::monitor;
use crate::runtime::code::quick;
use crate::runtime::code::side_exits::{ExitFrame, Reason, SideExit, Word};
use crate::runtime::{MethodRef, Throw};
use classfile::BasicType;
use classfile::bytecode::op;
use gc::object::ObjectRef;
use std::sync::atomic::Ordering;

/// Continues in the interpreter with the state that compiled code has left in `area`. Returns the result word of the
/// outermost frame, or an undefined value with an exception pending. A safepoint.
///
/// # Safety
/// Called by compiled code, which has filled the area for the exit, and returns at once with the result.
pub unsafe extern "C" fn exit(t: &JavaThread, exit: &SideExit, area: *const u64) -> u64 {
    let taken = exit.taken.load(Ordering::Relaxed).saturating_add(1);
    exit.taken.store(taken, Ordering::Relaxed);
    policy::exit_taken(t, exit, taken);
    let code = t.vm.jit.cache.find(t.jit.exit_pc.get()).expect("an exit is left by compiled code");
    // SAFETY: the code that has called filled the area for this exit; the frames are made of the state of verified
    // code.
    unsafe {
        let states = code.body.exits.frames(exit).collect();
        let frames = Frames { t, exit, states, area };
        if code.body.osr_bci.is_some() {
            match frames.give_back() {
                Some(_) => t.jit.has_left_loop.set(true),
                None => frames.overflow(),
            }
            return 0;
        }
        let Some(frame) = frames.push() else {
            frames.overflow();
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

/// The frames of one exit.
struct Frames<'a> {
    t: &'a JavaThread,
    exit: &'a SideExit,
    /// Outermost first.
    states: Vec<ExitFrame<'a>>,
    area: *const u64,
}

impl Frames<'_> {
    /// Pushes all frames; the innermost one becomes the top frame. `None` when the Java stack is full. No safepoint.
    ///
    /// # Safety
    /// The area was filled for the exit.
    unsafe fn push(&self) -> Option<*mut Frame> {
        let top = self.t.top_frame.get();
        // SAFETY: the top frame is this thread's and has its `sp` saved.
        let base = if top.is_null() { self.t.java_stack.base() } else { unsafe { (*top).sp } };
        if !self.fit(base, &self.states) {
            return None;
        }
        let (outermost, inner) = self.states.split_first().expect("an exit has frames");
        // SAFETY: there is room.
        unsafe {
            let frame = self.push_frame(outermost, base, top);
            (*frame).flags |= ENTRY;
            Some(self.push_inner(frame, outermost, inner))
        }
    }

    /// Makes the outermost frame of the interpreter's frame that the code had replaced, and pushes the others; the
    /// innermost one becomes the top frame. `None` when the Java stack is full. No safepoint.
    ///
    /// # Safety
    /// As `push`; the code was entered from the top frame.
    unsafe fn give_back(&self) -> Option<*mut Frame> {
        let frame = self.t.top_frame.get();
        let (outermost, inner) = self.states.split_first().expect("an exit has frames");
        // SAFETY: the top frame is this thread's.
        unsafe {
            assert!((*frame).flags & REPLACED != 0 && (*frame).method == outermost.method());
            if !self.fit((*frame).stack_base().add(outermost.stack().len()), inner) {
                return None;
            }
            // The frame has kept the objects that the method has locked.
            assert!(outermost.method_lock().is_none(), "a lock taken before the loop");
            (*frame).flags &= !REPLACED;
            self.fill(frame, outermost);
            Some(self.push_inner(frame, outermost, inner))
        }
    }

    fn fit(&self, base: *mut u64, frames: &[ExitFrame<'_>]) -> bool {
        let slots = |frame: &ExitFrame<'_>| {
            let method = frame.method();
            method.max_locals as usize + FRAME_SLOTS + method.max_stack as usize + 2
        };
        base.wrapping_add(frames.iter().map(slots).sum()) <= self.t.java_stack.limit()
    }

    /// # Safety
    /// There is room for the frames inside of `frame`, which is that of `state`.
    unsafe fn push_inner(
        &self,
        frame: *mut Frame,
        state: &ExitFrame<'_>,
        inner: &[ExitFrame<'_>],
    ) -> *mut Frame {
        let (mut caller, mut caller_state) = (frame, state);
        for state in inner {
            // SAFETY: by the contract; frames that were just made.
            unsafe {
                let frame = self.push_frame(state, (*caller).sp, caller);
                (*frame).resume = call_length(caller_state.method(), caller_state.bci());
                if state.method().return_type != BasicType::Void
                    && wants_no_result(caller_state.method(), caller_state.bci())
                {
                    (*frame).flags |= DROPS_RESULT;
                }
                (caller, caller_state) = (frame, state);
            }
        }
        self.t.top_frame.set(caller);
        caller
    }

    /// # Safety
    /// From `locals` on there is room for the frame.
    unsafe fn push_frame(
        &self,
        state: &ExitFrame<'_>,
        locals: *mut u64,
        previous: *mut Frame,
    ) -> *mut Frame {
        let method = state.method();
        if quick::code_of(method).is_null() {
            quick::prepare(method);
        }
        let pc = quick::code_of(method);
        let frame = locals.wrapping_add(method.max_locals as usize).cast::<Frame>();
        let lock = state.method_lock().map(|word| self.reference(word));
        // SAFETY: by the contract; the method is prepared.
        unsafe {
            frame.write(Frame {
                method,
                previous,
                pc,
                sp: std::ptr::null_mut(),
                locals,
                sites: quick::sites_of(pc),
                lock: lock.unwrap_or(ObjectRef::NULL),
                flags: if lock.is_some() { LOCKED } else { 0 },
                resume: 0,
            });
            self.fill(frame, state);
        }
        frame
    }

    /// Sets the parts of a frame that change while a method runs.
    ///
    /// # Safety
    /// `frame` is one of the state's method, with room for its operands.
    unsafe fn fill(&self, frame: *mut Frame, state: &ExitFrame<'_>) {
        let method = state.method();
        assert!(state.locals().len() <= method.max_locals as usize, "locals of {method:?}");
        assert!(state.stack().len() <= method.max_stack as usize + 2, "operands of {method:?}");
        // SAFETY: by the contract; the area has the words that the exit names.
        unsafe {
            let (locals, stack) = ((*frame).locals, (*frame).stack_base());
            let all = state.locals().chain(std::iter::repeat(Word::Dead));
            for (slot, word) in all.take(method.max_locals as usize).enumerate() {
                *locals.add(slot) = self.value(word);
            }
            for (slot, word) in state.stack().enumerate() {
                *stack.add(slot) = self.value(word);
            }
            (*frame).sp = stack.add(state.stack().len());
            (*frame).pc = quick::code_of(method).add(state.bci() as usize);
        }
        for word in state.locks() {
            monitors::adopt(self.t, frame, self.reference(word));
        }
    }

    /// The Java stack has no room for the frames: they end, and give up their locks. An exception that none of them
    /// would have caught stays pending (one that stops a thread must not get lost); else it is a
    /// `StackOverflowError`.
    fn overflow(&self) {
        let t = self.t;
        let _scope = t.scope();
        let frames = self.states.iter();
        let words = frames.flat_map(|frame| frame.method_lock().into_iter().chain(frame.locks()));
        let locks: Vec<_> = words.map(|word| t.root(self.reference(word))).collect();
        let may_catch = |frame: &ExitFrame<'_>| unwind::may_catch(t, frame.method(), frame.bci());
        let goes_on =
            matches!(self.exit.reason, Reason::Pending) && !self.states.iter().any(may_catch);
        let thrown: Throw = if goes_on {
            Throw::PENDING
        } else {
            t.pending.set(ObjectRef::NULL);
            fault::stack_overflow(t)
        };
        let error = t.root(t.take_pending(thrown));
        for lock in locks.iter().rev() {
            // Native code may have left it before.
            _ = monitor::exit(t, lock.get());
        }
        t.pending.set(error.get());
    }

    fn value(&self, word: Word) -> u64 {
        match word {
            Word::Dead => 0,
            // SAFETY: the code filled the words that the exit names.
            Word::Area(index) => unsafe { *self.area.add(index as usize) },
            Word::Constant(value) => value,
        }
    }

    fn reference(&self, word: Word) -> ObjectRef {
        ObjectRef::from_address(self.value(word) as usize)
    }
}

/// Whether the call instruction there is of a method without a result.
fn wants_no_result(method: MethodRef, bci: u16) -> bool {
    let code = &method.code().expect("a compiled method").bytecode;
    let at = bci as usize;
    let index = u16::from_be_bytes([code[at + 1], code[at + 2]]);
    let descriptor = method.holder.inst().file.constant_pool.descriptor(index);
    descriptor.expect("a checked pool").bytes().ends_with(b")V")
}

/// Bytes of a call instruction.
fn call_length(method: MethodRef, bci: u16) -> u32 {
    let code = &method.code().expect("a compiled method").bytecode;
    match code[bci as usize] {
        op::INVOKEINTERFACE | op::INVOKEDYNAMIC => 5,
        _ => 3,
    }
}
