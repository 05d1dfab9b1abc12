//! The lock in an object's header (`gc/src/object/mod.rs`).
//!
//! | state | value of the header, where that is the VM's |
//! |---|---|
//! | free | identity hash, 0 = none yet |
//! | locked, by the thread that has it on its lock stack | the same |
//! | inflated: lock and hash are in a `Monitor` | index in the monitor table |
//!
//! Where objects have entries, the hash is made of the entry, and a map beside the table leads from it to the monitor.
//!
//! Every change is a compare-and-set, and a thread whose compare-and-set fails reads the header again. A free object
//! becomes locked by its locker, a locked one free by its owner. Any thread may add a hash, or inflate. An inflated
//! object stays so until its monitor is retired.

use gc::object::{LOCK_MASK, LOCK_SHIFT};

/// A header's lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockState {
    Free,
    Locked,
    Inflated,
}

impl LockState {
    #[inline]
    pub const fn of(header: u64) -> LockState {
        match header as u32 & LOCK_MASK {
            0 => LockState::Free,
            LOCKED => LockState::Locked,
            _ => LockState::Inflated,
        }
    }

    /// The header with this state in place of its own.
    #[inline]
    pub const fn set(self, header: u64) -> u64 {
        let bits = match self {
            LockState::Free => 0,
            LockState::Locked => LOCKED,
            LockState::Inflated => INFLATED,
        };
        header & !(LOCK_MASK as u64) | bits as u64
    }
}

/// The value of a header.
#[inline]
pub const fn value(header: u64) -> u32 {
    (header >> 32) as u32
}

/// The header with another value.
#[inline]
pub const fn with_value(header: u64, value: u32) -> u64 {
    header & u32::MAX as u64 | (value as u64) << 32
}

/// Identity hashes are between 1 and this.
pub const HASH_MAX: u32 = i32::MAX as u32;

/// The identity hash of an object with this entry: every bit of the index counts (the finalizer of MurmurHash3).
#[inline]
pub const fn hash_of_entry(entry: u32) -> u32 {
    let mut x = entry;
    x = (x ^ x >> 16).wrapping_mul(HASH_FACTORS[0]);
    x = (x ^ x >> 13).wrapping_mul(HASH_FACTORS[1]);
    (x ^ x >> 16) & HASH_MAX
}

/// For compiled code, which does as [`hash_of_entry`].
pub const HASH_FACTORS: [u32; 2] = [0x85eb_ca6b, 0xc2b2_ae35];

/// The states in the half of a header that has them. A new object's is 0: free.
pub const LOCKED: u32 = 1 << LOCK_SHIFT;
pub const INFLATED: u32 = 2 << LOCK_SHIFT;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_and_values_leave_the_rest_alone() {
        let header = 0x1234_5678_9abc_def3;
        for state in [LockState::Free, LockState::Locked, LockState::Inflated] {
            let changed = with_value(state.set(header), 7);
            assert_eq!((LockState::of(changed), value(changed)), (state, 7));
            assert_eq!((changed ^ header) as u32 & !LOCK_MASK, 0);
        }
    }

    /// Pearson's statistic over 4,096 buckets of a million consecutive entries.
    #[test]
    fn hashes_of_entries_are_uniform() {
        const BUCKETS: usize = 4096;
        for shift in [0, 10, 19] {
            let mut counts = [0u32; BUCKETS];
            (1..=1_000_000).for_each(|entry| {
                counts[(hash_of_entry(entry) >> shift) as usize % BUCKETS] += 1;
            });
            let expected = 1e6 / BUCKETS as f64;
            let square = |count: u32| (f64::from(count) - expected).powi(2) / expected;
            let sum: f64 = counts.into_iter().map(square).sum();
            // The mean is 4,095 and the standard deviation 90.5.
            assert!((3600.0..4600.0).contains(&sum), "shift {shift}: {sum}");
        }
        assert!((1..1_000_000).all(|entry| hash_of_entry(entry) <= HASH_MAX));
    }
}
