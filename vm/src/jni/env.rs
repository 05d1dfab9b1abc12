//! `JNIEnv`: the function table pointer, and the way back to the thread.

use crate::runtime::JavaThread;

/// What `JNIEnv *` points to, one per thread, inside its `JavaThread`.
#[repr(C)]
pub struct JniEnv {
    /// `const struct JNINativeInterface_ *`
    pub functions: *const libc::c_void,
    /// The owning thread.
    pub thread: std::cell::Cell<*const JavaThread>,
}

impl JniEnv {
    pub fn new() -> JniEnv {
        JniEnv { functions: std::ptr::null(), thread: std::cell::Cell::new(std::ptr::null()) }
    }
}

impl Default for JniEnv {
    fn default() -> Self {
        JniEnv::new()
    }
}
