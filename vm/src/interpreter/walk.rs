//! Walking a thread's frames from the innermost one outwards, across native code.

use super::frame::Frame;
use super::monitors::held_by;
use crate::runtime::{JavaThread, MethodRef};
use gc::object::ObjectRef;

/// A frame on a thread's stack.
#[derive(Clone, Copy)]
pub struct Visited<'t> {
    pub frame: &'t Frame,
    /// End of the live part of the operand stack: where the next inner frame begins, or the frame's own `sp`.
    pub(super) limit: *mut u64,
}

/// The frames of the current thread, or of one that is stopped. Valid until the thread runs Java code.
pub fn frames(t: &JavaThread) -> impl Iterator<Item = Visited<'_>> {
    let mut at = t.top_frame.get();
    let mut inner_locals = None;
    std::iter::from_fn(move || {
        // SAFETY: frames are linked down to null, and stay while the thread does not return from them.
        let frame = unsafe { at.as_ref() }?;
        let limit = inner_locals.unwrap_or(frame.sp);
        inner_locals = Some(frame.locals);
        at = frame.previous;
        Some(Visited { frame, limit })
    })
}

impl<'t> Visited<'t> {
    pub fn method(&self) -> MethodRef {
        self.frame.method
    }

    /// `None` for native methods.
    pub fn bci(&self) -> Option<u16> {
        self.frame.bci()
    }

    pub fn is_native(&self) -> bool {
        self.frame.is_native()
    }

    /// Source line, where the class file says it.
    pub fn line(&self) -> Option<u16> {
        self.method().code()?.line_number(self.bci()?)
    }

    /// A slot of the arguments and locals. Dead or foreign where the method has not stored it.
    pub fn local(&self, slot: usize) -> u64 {
        assert!(slot < self.method().max_locals.max(self.method().argument_slots) as usize);
        // SAFETY: inside the frame's locals.
        unsafe { *self.frame.locals.add(slot) }
    }

    /// Slots of the operand stack, from its bottom; those that a callee has taken as its arguments are not
    /// among them. Empty for native methods.
    pub fn operands(&self) -> &'t [u64] {
        if self.is_native() {
            return &[];
        }
        let base = self.frame.stack_base();
        let count = (self.limit as usize).saturating_sub(base as usize) / 8;
        // SAFETY: from the frame's stack base up to its live end.
        unsafe { std::slice::from_raw_parts(base, count) }
    }

    /// What the frame holds locked, the last first: `synchronized` blocks, then the method itself.
    pub fn locked(&self, t: &JavaThread) -> Vec<ObjectRef> {
        let mut objects = held_by(t, self.frame);
        if !self.frame.lock.is_null() {
            objects.push(self.frame.lock);
        }
        objects
    }
}
