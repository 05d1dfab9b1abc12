//! One word of each thread.
//!
//! Rust's thread-local variables ask the dynamic linker where they are, which may allocate the first time in a thread.
//! This one has a fixed place beside the thread's registers: a library that is preloaded may have one (the model
//! *initial exec*). It is 0 in a new thread.

use std::arch::{asm, global_asm};

global_asm!(
    ".section .tbss, \"awT\", @nobits",
    ".balign 8",
    ".globl farheap_malloc_thread",
    ".hidden farheap_malloc_thread",
    ".type farheap_malloc_thread, @object",
    ".size farheap_malloc_thread, 8",
    "farheap_malloc_thread:",
    ".zero 8",
    ".text",
);

/// The word.
#[inline(always)]
pub fn word() -> usize {
    let value;
    // SAFETY: the dynamic linker has filled the entry of the table with the distance of the word, which is aligned,
    // from the thread's own base.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + farheap_malloc_thread@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) value,
            options(nostack, readonly, preserves_flags),
        );
    }
    value
}

/// Changes the word.
#[inline(always)]
pub fn set_word(value: usize) {
    // SAFETY: as above; only this thread has the word.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + farheap_malloc_thread@GOTTPOFF]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _,
            in(reg) value,
            options(nostack, preserves_flags),
        );
    }
}

/// A number that no other thread has while this one lives.
pub fn number() -> usize {
    let value;
    // SAFETY: the first word of a thread's control block is its own address (the ABI for x86-64).
    unsafe {
        asm!("mov {0}, qword ptr fs:[0]", out(reg) value, options(nostack, readonly, preserves_flags));
    }
    value
}
