//! Native libraries of Java code.

use crate::ffi::entry::enter_current;
use crate::ffi::types::*;
use crate::loading::errors;
use libc::{c_char, c_void};
use std::ffi::CStr;

/// `dlopen`. With `throw`, failure is an `UnsatisfiedLinkError` of the current thread.
#[unsafe(no_mangle)]
extern "C" fn JVM_LoadLibrary(name: *const c_char, throw: jboolean) -> *mut c_void {
    // Initializers of the library run here, in the safe state: they may call back.
    // SAFETY: the caller passes a C string; dlerror's text is copied before this thread's next call of a dl
    // function.
    let (handle, error) = unsafe {
        let handle = libc::dlopen(name, libc::RTLD_LAZY);
        let error = if handle.is_null() { libc::dlerror() } else { std::ptr::null_mut() };
        let text = if error.is_null() { None } else { Some(CStr::from_ptr(error)) };
        (handle, text.map(|text| text.to_string_lossy().into_owned()))
    };
    if handle.is_null() && throw != 0 {
        // SAFETY: as above.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let message = format!("{name}: {}", error.unwrap_or_default());
        enter_current(|t| errors::fail::<()>(t, "java/lang/UnsatisfiedLinkError", &message));
    }
    handle
}

#[unsafe(no_mangle)]
extern "C" fn JVM_UnloadLibrary(handle: *mut c_void) {
    // SAFETY: the handle came from `JVM_LoadLibrary`, and no code of the library runs any more.
    unsafe { libc::dlclose(handle) };
}

#[unsafe(no_mangle)]
extern "C" fn JVM_FindLibraryEntry(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: a handle of `JVM_LoadLibrary`, and a C string.
    unsafe { libc::dlsym(handle, name) }
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsSupportedJNIVersion(version: jint) -> jboolean {
    let known = [
        JNI_VERSION_1_1,
        JNI_VERSION_1_2,
        JNI_VERSION_1_4,
        JNI_VERSION_1_6,
        JNI_VERSION_1_8,
        JNI_VERSION_9,
        JNI_VERSION_10,
    ];
    known.contains(&version) as jboolean
}
