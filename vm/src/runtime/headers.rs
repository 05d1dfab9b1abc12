//! Where fields and elements begin, which is the VM's choice: the heap's own part of a header has 8 bytes
//! (`gc/src/object/mod.rs`).
//!
//! | | first field | elements of at most 4 bytes | of 8 |
//! |---|---|---|---|
//! | `-XX:+UseCompactObjectHeaders` (JEP 519) | 8 | 12 | 16 |
//! | `-XX:-UseCompactObjectHeaders`, as in HotSpot 17 | 12 | 16 | 16 |
//!
//! It is one for a process, as VMs are.

use gc::object::HEADER_BYTES;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Before the first class is created.
pub fn set_compact(is_compact: bool) {
    FIRST_FIELD.store(if is_compact { HEADER_BYTES } else { LARGE }, Ordering::Relaxed);
}

/// Byte offset of the first field of an object whose class has one. Any thread.
#[inline(always)]
pub fn first_field() -> usize {
    FIRST_FIELD.load(Ordering::Relaxed)
}

/// Byte offset of the first element of an array, whose elements have 1, 2, 4 or 8 bytes. Any thread.
#[inline(always)]
pub fn array_base(element_bytes: usize) -> usize {
    match element_bytes {
        8 => WIDE_BASE,
        _ => first_field() + size_of::<u32>(),
    }
}

static FIRST_FIELD: AtomicUsize = AtomicUsize::new(HEADER_BYTES);
const LARGE: usize = 12;
const WIDE_BASE: usize = 16;
