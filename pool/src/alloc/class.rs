//! Size classes: which blocks there are, and how many of them a slab has.

/// One class of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Class {
    /// Of a block: a multiple of 8, and of 16 from 64 on.
    pub bytes: u64,
    /// How many a slab has.
    pub blocks: u32,
    /// 2^44 divided by `bytes`, rounded up.
    reciprocal: u64,
}

/// Bytes of a small slab, as a power of two.
pub(super) const SMALL_SHIFT: u32 = 15;

/// Bytes of a medium slab, as a power of two: 8 blocks of the largest class.
pub(super) const MEDIUM_SHIFT: u32 = 19;

/// Bytes of a large slab, as a power of two: 8 blocks of the largest class.
pub(super) const LARGE_SHIFT: u32 = 22;

/// The largest small block.
pub(super) const SMALL_MAX: u64 = 1 << 10;

/// The largest medium block.
pub(super) const MEDIUM_MAX: u64 = 64 << 10;

/// The largest large block.
pub(super) const LARGE_MAX: u64 = 512 << 10;

/// Huge blocks have whole numbers of this, as a power of two.
pub(super) const GRANULE_SHIFT: u32 = 18;

const GRANULE_BYTES: u64 = 1 << GRANULE_SHIFT;

/// Classes of one heap at most.
pub(super) const CLASSES_MAX: usize = 24;

/// Every 8 bytes up to 64, then four steps to each power of two.
pub(super) const SMALL: [Class; 24] = small();

/// Four steps to each power of two.
pub(super) const MEDIUM: [Class; 24] = stepped_classes(10, MEDIUM_SHIFT);

/// The same above `MEDIUM_MAX`.
pub(super) const LARGE: [Class; 12] = stepped_classes(16, LARGE_SHIFT);

const _: () = assert!(SMALL.len() <= CLASSES_MAX && MEDIUM.len() <= CLASSES_MAX);
const _: () = assert!(SMALL[23].bytes == SMALL_MAX && MEDIUM[23].bytes == MEDIUM_MAX);
const _: () = assert!(LARGE[11].bytes == LARGE_MAX);

const RECIPROCAL_SHIFT: u32 = 44;

impl Class {
    pub(super) const fn new(bytes: u64, slab_shift: u32) -> Class {
        let reciprocal = (1u64 << RECIPROCAL_SHIFT).div_ceil(bytes);
        Class { bytes, blocks: ((1 << slab_shift) / bytes) as u32, reciprocal }
    }

    /// The number of the block that begins at this distance from the beginning of its slab. `None`: none does.
    #[inline(always)]
    pub(super) fn block_at(&self, distance: u64) -> Option<u32> {
        // Exact: distances have 22 bits, and the reciprocal is too large by less than 2^19 / bytes.
        let block = (distance * self.reciprocal) >> RECIPROCAL_SHIFT;
        let is_block = block * self.bytes == distance && block < u64::from(self.blocks);
        is_block.then_some(block as u32)
    }
}

/// The smallest class of `SMALL` that has this many bytes. `None`: there is none.
#[inline(always)]
pub(crate) fn small_class(bytes: u64) -> Option<usize> {
    SMALL_CLASSES.get(bytes.div_ceil(8) as usize).map(|class| usize::from(*class))
}

/// By size, in words of 8 bytes.
const SMALL_CLASSES: [u8; SMALL_MAX as usize / 8 + 1] = {
    let mut classes = [0; SMALL_MAX as usize / 8 + 1];
    let (mut words, mut class) = (0, 0);
    while words < classes.len() {
        if SMALL[class].bytes < 8 * words as u64 {
            class += 1;
        }
        classes[words] = class as u8;
        words += 1;
    }
    classes
};

/// The smallest class of `MEDIUM` or `LARGE`. `bytes` is above the maximum of the kind before, and at most its own.
pub(super) fn stepped_class(bytes: u64) -> usize {
    step(bytes) - step(if bytes <= MEDIUM_MAX { SMALL_MAX + 1 } else { MEDIUM_MAX + 1 })
}

/// Which kind of block is handed out for this many bytes, from 0 on, and how many bytes it has.
#[inline(always)]
pub(crate) fn size_of_block(bytes: u64) -> (usize, u64) {
    match small_class(bytes) {
        Some(class) => (0, SMALL[class].bytes),
        None if bytes <= MEDIUM_MAX => (1, MEDIUM[stepped_class(bytes)].bytes),
        None if bytes <= LARGE_MAX => (2, LARGE[stepped_class(bytes)].bytes),
        None => (3, bytes.next_multiple_of(GRANULE_BYTES)),
    }
}

/// How many steps there are below this size, four to each power of two.
fn step(bytes: u64) -> usize {
    let last = bytes - 1;
    let power = last.ilog2();
    (power * 4) as usize + (last >> (power - 2) & 3) as usize
}

const fn small() -> [Class; 24] {
    let mut classes = [Class::new(8, SMALL_SHIFT); 24];
    let mut n = 0;
    while n < 24 {
        let bytes = if n < 8 { 8 * (n as u64 + 1) } else { stepped(6, n - 8) };
        classes[n] = Class::new(bytes, SMALL_SHIFT);
        n += 1;
    }
    classes
}

const fn stepped_classes<const N: usize>(power: usize, slab_shift: u32) -> [Class; N] {
    let mut classes = [Class::new(1 << power, slab_shift); N];
    let mut n = 0;
    while n < N {
        classes[n] = Class::new(stepped(power, n), slab_shift);
        n += 1;
    }
    classes
}

/// The size `n` steps above the one that follows two to this power.
const fn stepped(power: usize, n: usize) -> u64 {
    let power = power + n / 4;
    (1 << power) + (n as u64 % 4 + 1) * (1 << (power - 2))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_size_gets_the_smallest_class_that_holds_it() {
        let check = |bytes: u64, class: usize, classes: &[Class]| {
            assert!(classes[class].bytes >= bytes, "{bytes}");
            assert!(class == 0 || classes[class - 1].bytes < bytes.max(1), "{bytes}");
        };
        for bytes in 0..=SMALL_MAX {
            check(bytes, small_class(bytes).unwrap(), &SMALL);
        }
        for bytes in [SMALL_MAX + 1, u64::MAX - 7, u64::MAX] {
            assert_eq!(small_class(bytes), None);
        }
        for bytes in SMALL_MAX + 1..=LARGE_MAX {
            check(bytes, stepped_class(bytes), if bytes <= MEDIUM_MAX { &MEDIUM } else { &LARGE });
        }
    }

    #[test]
    fn a_quarter_of_a_block_is_wasted_at_most() {
        for pair in SMALL[8..].windows(2).chain(MEDIUM.windows(2)).chain(LARGE.windows(2)) {
            assert!(pair[1].bytes * 4 <= pair[0].bytes * 5, "{pair:?}");
        }
    }

    #[test]
    fn blocks_are_found_at_their_beginning_only() {
        let kinds =
            [(&SMALL[..], SMALL_SHIFT), (&MEDIUM[..], MEDIUM_SHIFT), (&LARGE[..], LARGE_SHIFT)];
        for (classes, shift) in kinds {
            for class in classes {
                for block in 0..class.blocks {
                    let distance = u64::from(block) * class.bytes;
                    assert_eq!(class.block_at(distance), Some(block), "{class:?}");
                    assert!(class.bytes == 8 || class.block_at(distance + 8).is_none());
                    assert_eq!(class.block_at(distance + class.bytes - 1), None);
                }
                assert_eq!(class.block_at(u64::from(class.blocks) * class.bytes), None);
                assert!(u64::from(class.blocks) * class.bytes <= 1 << shift);
            }
        }
    }
}
