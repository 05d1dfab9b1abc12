//! Hints that a line of memory is needed soon. They change nothing that a program can see, and never fail.

use crate::sync::AtomicU64;
use std::arch::asm;

/// The word is read soon.
#[inline(always)]
pub(crate) fn to_read(word: &AtomicU64) {
    // SAFETY: a hint about memory that is there.
    unsafe {
        asm!("prefetcht0 [{}]", in(reg) word, options(nostack, readonly, preserves_flags));
    }
}

/// The word is written soon: its line is taken from other CPUs while the program goes on.
#[inline(always)]
pub(crate) fn to_write(word: &AtomicU64) {
    // SAFETY: a hint about memory that is there; a CPU without it takes it for no operation.
    unsafe {
        asm!("prefetchw [{}]", in(reg) word, options(nostack, readonly, preserves_flags));
    }
}
