//! The JNI function table.

/// `const struct JNINativeInterface_ *`
pub fn functions() -> *const libc::c_void {
    std::ptr::null()
}
