//! The hash of a key: the same in all processes, by a seed that is in the pool.

/// What a key is found by.
#[derive(Clone, Copy)]
pub(super) struct Hash(u64);

/// Odd numbers without a pattern.
const FACTORS: [u64; 3] = [0x9e37_79b9_7f4a_7c15, 0xe703_7ed1_a0b4_28db, 0x8ebc_6af0_9c88_c6e3];

/// Bits of a tag.
pub(super) const TAG_BITS: u32 = 15;

impl Hash {
    /// Each step multiplies two words to 128 bits, and folds these.
    #[inline]
    pub(super) fn of(seed: u64, key: &[u8]) -> Hash {
        let mut state = seed ^ FACTORS[0];
        let (words, last) = key.as_chunks::<8>();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        while let Some(low) = words.next() {
            state = fold(low ^ FACTORS[1], words.next().unwrap_or(0) ^ state);
        }
        if !last.is_empty() {
            let mut padded = [0; 8];
            padded[..last.len()].copy_from_slice(last);
            state = fold(u64::from_le_bytes(padded) ^ FACTORS[1], state);
        }
        Hash(fold(state ^ FACTORS[2], key.len() as u64 ^ FACTORS[1]))
    }

    /// A place among this many.
    #[inline(always)]
    pub(super) fn place(self, count: usize) -> usize {
        ((u128::from(self.0) * count as u128) >> 64) as usize
    }

    /// Bits that do not follow from the place.
    #[inline(always)]
    pub(super) fn tag(self) -> u64 {
        self.0 & ((1 << TAG_BITS) - 1)
    }
}

#[inline(always)]
fn fold(one: u64, two: u64) -> u64 {
    let product = u128::from(one) * u128::from(two);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn keys_are_spread_over_places_and_tags() {
        for seed in [0, 1, u64::MAX] {
            let (mut places, mut tags) = (vec![0; 64], HashSet::new());
            for key in 0..64_000u64 {
                let hash = Hash::of(seed, &key.to_le_bytes());
                places[hash.place(64)] += 1;
                tags.insert(hash.tag());
            }
            assert!(places.iter().all(|count| (800..1200).contains(count)), "{places:?}");
            assert!(tags.len() > 25_000, "{}", tags.len());
        }
    }

    #[test]
    fn lengths_and_seeds_make_other_hashes() {
        let zeros = [0; 100];
        let hashes: HashSet<u64> = (0..100).map(|n| Hash::of(7, &zeros[..n]).0).collect();
        assert_eq!(hashes.len(), 100);
        assert_ne!(Hash::of(1, b"key").0, Hash::of(2, b"key").0);
    }
}
