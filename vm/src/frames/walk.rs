//! Walking a thread's frames from the innermost one outwards, across native and compiled code.

use super::activation::{CompiledFrame, Walk};
use super::frame::{Frame, LOCKED, REPLACED};
use crate::machine::JavaThread;
use crate::runtime::MethodRef;
use gc::object::ObjectRef;

/// A frame on a thread's stack.
#[derive(Clone, Copy)]
pub enum Visited<'t> {
    /// Of the interpreter, or of a native method.
    Frame { frame: &'t Frame },
    /// A method in compiled code: one of the places that a frame of it stands for.
    Compiled { frame: CompiledFrame, index: usize },
}

/// The frames of the current thread, or of one that is stopped. Valid until the thread runs Java code.
pub fn frames(t: &JavaThread) -> impl Iterator<Item = Visited<'_>> {
    let mut interpreted = Interpreted::new(t);
    let mut walk = Walk::new(t);
    // A compiled frame, and how many of its places are still to come.
    let mut compiled: Option<(CompiledFrame, usize)> = None;
    std::iter::from_fn(move || {
        loop {
            if let Some((frame, left)) = &mut compiled {
                if *left > 0 {
                    *left -= 1;
                    return Some(Visited::Compiled { frame: *frame, index: *left });
                }
                compiled = None;
            }
            if walk.caller_frame() == Some(interpreted.at) {
                compiled = walk.step().map(|frame| (frame, frame.place_count()));
                continue;
            }
            let (frame, _) = interpreted.next()?;
            if frame.flags & REPLACED == 0 {
                return Some(Visited::Frame { frame });
            }
        }
    })
}

/// The interpreter's frames, native ones among them; those that are replaced too.
pub(super) fn interpreted(t: &JavaThread) -> Interpreted<'_> {
    Interpreted::new(t)
}

/// Iterates over frames with the ends of their operand stacks.
pub(super) struct Interpreted<'t> {
    at: *mut Frame,
    inner_locals: Option<*mut u64>,
    _thread: &'t JavaThread,
}

impl<'t> Interpreted<'t> {
    fn new(t: &'t JavaThread) -> Interpreted<'t> {
        Interpreted { at: t.top_frame.get(), inner_locals: None, _thread: t }
    }
}

impl<'t> Iterator for Interpreted<'t> {
    type Item = (&'t Frame, *mut u64);

    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: frames are linked down to null, and stay while the thread does not return from them.
        let frame = unsafe { self.at.as_ref() }?;
        let limit = self.inner_locals.unwrap_or(frame.sp);
        self.inner_locals = Some(frame.locals);
        self.at = frame.previous;
        Some((frame, limit))
    }
}

impl<'t> Visited<'t> {
    pub fn method(&self) -> MethodRef {
        match self {
            Visited::Frame { frame } => frame.method,
            Visited::Compiled { frame, index } => frame.place(*index).method,
        }
    }

    /// `None` for native methods.
    pub fn bci(&self) -> Option<u16> {
        match self {
            Visited::Frame { frame } => frame.bci(),
            Visited::Compiled { frame, index } => Some(frame.place(*index).bci),
        }
    }

    pub fn is_native(&self) -> bool {
        self.frame().is_some_and(Frame::is_native)
    }

    /// The interpreter's frame; `None` in compiled code.
    pub fn frame(&self) -> Option<&'t Frame> {
        match self {
            Visited::Frame { frame } => Some(frame),
            Visited::Compiled { .. } => None,
        }
    }

    /// Source line, where the class file says it.
    pub fn line(&self) -> Option<u16> {
        self.method().code()?.line_number(self.bci()?)
    }

    /// A slot of the arguments and locals. Dead or foreign where the method has not stored it; compiled code has
    /// none.
    pub fn local(&self, slot: usize) -> Option<u64> {
        assert!(slot < self.method().max_locals.max(self.method().argument_slots) as usize);
        // SAFETY: inside the frame's locals.
        self.frame().map(|frame| unsafe { *frame.locals.add(slot) })
    }

    /// Whether one of the frame's arguments is this object. Compiled code answers for all references that it still
    /// needs.
    pub fn may_hold(&self, object: ObjectRef) -> bool {
        let word = object.address() as u64;
        match self {
            Visited::Frame { .. } => (0..self.method().argument_slots as usize)
                .any(|slot| self.local(slot) == Some(word)),
            Visited::Compiled { frame, .. } => frame.holds(object),
        }
    }

    /// The objects that the frame has locked, the last first: `synchronized` blocks, then the method itself.
    pub fn locked(&self, t: &JavaThread) -> Vec<ObjectRef> {
        match self {
            Visited::Compiled { frame, index } => frame.locked(*index).rev().collect(),
            Visited::Frame { frame } => {
                let mut objects = t.java_stack.held_by(*frame);
                if frame.flags & LOCKED != 0 {
                    objects.push(frame.lock);
                }
                objects
            }
        }
    }
}
