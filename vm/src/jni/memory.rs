//! Buffers of the C heap that hold copies for native code, freed by it through a `Release...` function.

/// A copy of `bytes` with `padding` zero bytes behind; null when there is no memory.
pub fn copy(bytes: &[u8], padding: usize) -> *mut u8 {
    // SAFETY: malloc of a non-zero size, filled within its bounds.
    unsafe {
        let memory = libc::malloc((bytes.len() + padding).max(1)).cast::<u8>();
        if !memory.is_null() {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len());
            std::ptr::write_bytes(memory.add(bytes.len()), 0, padding);
        }
        memory
    }
}

/// Frees the memory that `copy` returned.
///
/// # Safety
/// `memory` is null or comes from `copy`, and is not used any more.
pub unsafe fn free(memory: *const u8) {
    // SAFETY: the caller's promise.
    unsafe { libc::free(memory.cast_mut().cast()) }
}
