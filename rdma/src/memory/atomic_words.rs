//! Copies in which no 8-byte word ever tears.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes of a word.
pub const WORD_BYTES: usize = 8;

/// Copies words one by one, each with one atomic load and one atomic store. Async-signal-safe.
///
/// # Safety
/// Both pointers are aligned to 8 and valid for `words` words; any other access to the memory
/// meanwhile is atomic, or comes from outside this program (another process, compiled Java code,
/// the kernel).
pub unsafe fn copy_words(from: *const u64, into: *mut u64, words: usize) {
    debug_assert!((from.addr() | into.addr()).is_multiple_of(WORD_BYTES));
    for i in 0..words {
        // SAFETY: i < words, and the caller vouches for that many aligned words on both sides.
        unsafe {
            let word = AtomicU64::from_ptr(from.add(i).cast_mut()).load(Relaxed);
            AtomicU64::from_ptr(into.add(i)).store(word, Relaxed);
        }
    }
}

/// The bytes of words, in the machine's order.
pub(crate) fn as_bytes(words: &[u64]) -> &[u8] {
    // SAFETY: the same memory, for as long; bytes need no alignment, and every byte is initialised.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

/// The bytes of words, in the machine's order.
pub(crate) fn as_bytes_mut(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: as above, exclusively; every pattern of bits is a word.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}
