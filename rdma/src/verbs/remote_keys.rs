//! The VM's knowledge of a server's registered memory.
//!
//! A server registers its segment in blocks of [`BLOCK_BYTES`], each when it is first asked for, because registered
//! memory is pinned: a whole segment is as long as the far space, of which a server owns a part. A block stays
//! registered as long as the session, so a key that is known once is right for ever.

use std::sync::atomic::{AtomicU64, Ordering};

/// The keys of one segment's blocks.
pub struct RemoteKeys(Box<[AtomicU64]>);

impl RemoteKeys {
    /// None is known.
    pub fn new(segment_bytes: u64) -> RemoteKeys {
        let blocks = segment_bytes.div_ceil(BLOCK_BYTES);
        RemoteKeys((0..blocks).map(|_| AtomicU64::new(0)).collect())
    }

    /// The key of a block that is inside.
    pub fn of(&self, block: u64) -> Option<u32> {
        // Relaxed: a key is a number, and nothing depends on when it is seen.
        let word = self.0[block as usize].load(Ordering::Relaxed);
        (word & KNOWN != 0).then_some(word as u32)
    }

    /// From now on it is known.
    pub fn learn(&self, block: u64, key: u32) {
        self.0[block as usize].store(KNOWN | u64::from(key), Ordering::Relaxed);
    }
}

/// As long as the smallest usual region: a server owns whole blocks. Twice as long ones pin twice the memory in
/// small heaps, and save every second registration, of which each costs as much as ten pages.
pub const BLOCK_BYTES: u64 = 256 << 10;
/// Set in a word that holds a key.
const KNOWN: u64 = 1 << 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_unknown_until_it_is_learnt() {
        let keys = RemoteKeys::new(3 * BLOCK_BYTES + 4096);
        assert!((0..4).all(|block| keys.of(block).is_none()));
        keys.learn(3, 0);
        keys.learn(1, u32::MAX);
        assert_eq!([keys.of(0), keys.of(1), keys.of(3)], [None, Some(u32::MAX), Some(0)]);
    }
}
