//! Paths and locks for the JDK's C code.

use crate::ffi::entry::Env;
use crate::ffi::types::{jint, jstring};
use crate::loading::strings;
use libc::{c_char, c_void};
use parking_lot::RawMutex;
use parking_lot::lock_api::RawMutex as _;

/// Paths need no cleaning here.
#[unsafe(no_mangle)]
extern "C" fn JVM_NativePath(path: *mut c_char) -> *mut c_char {
    path
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetTemporaryDirectory(env: Env) -> jstring {
    env.enter(|t| strings::from_str(t, "/tmp"))
}

/// A lock that libzip holds while it reads a file; its users are in the safe state.
#[unsafe(no_mangle)]
extern "C" fn JVM_RawMonitorCreate() -> *mut c_void {
    Box::into_raw(Box::new(RawMutex::INIT)).cast()
}

#[unsafe(no_mangle)]
extern "C" fn JVM_RawMonitorDestroy(monitor: *mut c_void) {
    // SAFETY: made by `JVM_RawMonitorCreate`, and not used any more.
    drop(unsafe { Box::from_raw(monitor.cast::<RawMutex>()) });
}

#[unsafe(no_mangle)]
extern "C" fn JVM_RawMonitorEnter(monitor: *mut c_void) -> jint {
    // SAFETY: made by `JVM_RawMonitorCreate`.
    unsafe { (*monitor.cast::<RawMutex>()).lock() };
    0
}

#[unsafe(no_mangle)]
extern "C" fn JVM_RawMonitorExit(monitor: *mut c_void) {
    // SAFETY: made by `JVM_RawMonitorCreate`, and held by the caller.
    unsafe { (*monitor.cast::<RawMutex>()).unlock() }
}
