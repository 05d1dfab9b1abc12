//! Asking for memory before it is needed, so that a tracer does not wait for each object in turn.
//!
//! The objects that a tracer is about to touch lie anywhere in the heap, and in no cache. Between the moment at which
//! an address is known and that at which it is used it spends some rounds in a ring ([`Ahead`]); meanwhile the tracer
//! works on memory that is in the cache. Remote pages are not fetched: a prefetch never faults.

use crate::object::ObjectRef;

/// The prefetched items, in their order: objects, or other words that lead to them.
pub struct Ahead<T, const N: usize> {
    ring: [T; N],
    /// Where the oldest is.
    next: usize,
    count: usize,
}

impl<T: Copy + Default, const N: usize> Ahead<T, N> {
    /// Puts something in, and takes the oldest of more than `N` out; `None` as long as there are no more than `N`.
    #[inline]
    pub fn exchange(&mut self, item: T) -> Option<T> {
        if self.count < N {
            self.ring[(self.next + self.count) % N] = item;
            self.count += 1;
            return None;
        }
        let oldest = std::mem::replace(&mut self.ring[self.next], item);
        self.next = (self.next + 1) % N;
        Some(oldest)
    }

    /// Takes the oldest out.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.count = self.count.checked_sub(1)?;
        let oldest = self.ring[self.next];
        self.next = (self.next + 1) % N;
        Some(oldest)
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl<T: Copy + Default, const N: usize> Default for Ahead<T, N> {
    fn default() -> Self {
        Ahead { ring: [T::default(); N], next: 0, count: 0 }
    }
}

/// Prefetches the cache line of an address.
#[inline]
pub fn line(address: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint; no access takes place, for any address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address as *const i8);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Prefetches an object's header and first slots.
#[inline]
pub fn object(object: ObjectRef) {
    let address = object.address();
    line(address);
    if address % LINE_BYTES > LINE_BYTES / 2 {
        line(address + LINE_BYTES);
    }
}

const LINE_BYTES: usize = 64;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_comes_out_once_and_in_order() {
        let mut ahead = Ahead::<ObjectRef, 4>::default();
        let object = |i: usize| ObjectRef::from_address(i * 16);
        let mut out = Vec::new();
        for i in 1..=10 {
            let oldest = ahead.exchange(object(i));
            assert_eq!(oldest.is_none(), i <= 4);
            out.extend(oldest);
        }
        out.extend(std::iter::from_fn(|| ahead.pop()));
        assert_eq!(out, (1..=10).map(object).collect::<Vec<_>>());
        ahead.exchange(object(11));
        assert_eq!((ahead.pop(), ahead.pop()), (Some(object(11)), None));
    }
}
