//! Tables that are as long as the heap is large, and cost memory only where they are used.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
use swap::{PAGE_BYTES, Reservation};

/// Types that are valid when all bytes are 0, and need no drop.
pub trait Plain: private::Sealed {}

impl Plain for u32 {}
impl Plain for AtomicU8 {}
impl Plain for AtomicU32 {}
impl Plain for AtomicU64 {}

mod private {
    use super::{AtomicU8, AtomicU32, AtomicU64};

    pub trait Sealed {}

    impl Sealed for u32 {}
    impl Sealed for AtomicU8 {}
    impl Sealed for AtomicU32 {}
    impl Sealed for AtomicU64 {}
}

/// A table of elements that are 0 at first. The system gives a page at the first touch, and does not count the others,
/// as it would those of a `Vec`: it refuses one that is larger than all memory.
pub struct Zeroed<T> {
    memory: Reservation,
    count: usize,
    elements: PhantomData<T>,
}

impl<T: Plain> Zeroed<T> {
    /// Ends the process if there are not enough addresses: the heap has some hundred times as many.
    pub fn new(count: usize) -> Zeroed<T> {
        let bytes = count * size_of::<T>();
        let memory = Reservation::new(bytes.max(1), PAGE_BYTES).unwrap_or_else(|error| {
            base::die(format_args!(
                "cannot reserve {bytes} bytes for a collector's tables: {error}"
            ))
        });
        Zeroed { memory, count, elements: PhantomData }
    }
}

impl<T> Zeroed<T> {
    /// How much memory it takes now. Slow, for figures.
    pub fn resident_bytes(&self) -> usize {
        self.memory.resident_bytes()
    }
}

impl<T: Plain> Deref for Zeroed<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the reservation has room for this number of elements, is aligned to a page, zero at first, and lives
        // as long as the table; zeros are valid (`Plain`).
        unsafe { std::slice::from_raw_parts(self.memory.base() as *const T, self.count) }
    }
}

impl<T: Plain> DerefMut for Zeroed<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and no other thread has the table.
        unsafe { std::slice::from_raw_parts_mut(self.memory.base() as *mut T, self.count) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_all_memory_can_be_had_and_is_zero() {
        let mut table = Zeroed::<u32>::new(1 << 38);
        assert_eq!((table.len(), table[0], table[(1 << 38) - 1]), (1 << 38, 0, 0));
        table[1 << 37] = 7;
        assert_eq!(table[1 << 37], 7);
        assert!(Zeroed::<AtomicU64>::new(0).is_empty());
    }
}
