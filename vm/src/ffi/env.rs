//! `JNIEnv`: the function table pointer, the way back to the thread, and the local frames.

use crate::machine::JavaThread;
use std::cell::{Cell, RefCell};

/// The structure that `JNIEnv *` points to, one per thread, inside its `JavaThread`.
#[repr(C)]
pub struct JniEnv {
    /// `const struct JNINativeInterface_ *`
    pub functions: *const libc::c_void,
    /// The owning thread.
    pub thread: Cell<*const JavaThread>,
    /// Handles above this mark belong to the native method that runs.
    base: Cell<usize>,
    /// Marks of the local frames that it has pushed (`PushLocalFrame`), behind those of its callers.
    frames: RefCell<Vec<usize>>,
}

/// The state of a native method's caller, to be restored when the method returns.
pub struct Outer {
    base: usize,
    frames: usize,
}

impl JniEnv {
    /// With this function table.
    pub fn new(functions: *const libc::c_void) -> JniEnv {
        JniEnv {
            functions,
            thread: Cell::new(std::ptr::null()),
            base: Cell::new(0),
            frames: RefCell::default(),
        }
    }

    /// A native method begins; its handles begin at `base`.
    #[inline]
    pub fn enter_native(&self, base: usize) -> Outer {
        Outer { base: self.base.replace(base), frames: self.frames.borrow().len() }
    }

    /// It has returned; frames that it left open are dropped.
    #[inline]
    pub fn leave_native(&self, outer: Outer) {
        self.base.set(outer.base);
        let mut frames = self.frames.borrow_mut();
        if frames.len() != outer.frames {
            frames.truncate(outer.frames);
        }
    }

    /// Where the handles begin that the running native method, or its innermost local frame, may end.
    pub fn base(&self) -> usize {
        self.frames.borrow().last().copied().unwrap_or(0).max(self.base.get())
    }

    pub fn push_frame(&self, mark: usize) {
        self.frames.borrow_mut().push(mark)
    }

    pub fn pop_frame(&self) -> Option<usize> {
        self.frames.borrow_mut().pop()
    }
}
