//! The lock word of an object's header.
//!
//! ```text
//!  31                                2 1 0
//! +-----------------------------------+---+
//! | identity hash, 0 = none yet       |0 0|  neutral: not locked
//! +--------------+--------------------+---+
//! | recursion 12 | thread id 18       |0 1|  thin: locked `recursion + 1` times by one thread
//! +--------------+--------------------+---+
//! | index in the monitor table        |1 0|  inflated: lock and hash are in a `Monitor`
//! +-----------------------------------+---+
//! ```
//!
//! From neutral, a word becomes thin by its locker's compare-and-set, and neutral again by its owner's. Any
//! thread may inflate it in either state, and then it stays inflated as long as the object lives. So every
//! change is a compare-and-set, and a thread whose compare-and-set fails reads the word again.

/// The decoded lock word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockWord {
    Neutral { hash: u32 },
    Thin { owner: u32, recursion: u32 },
    Inflated { index: u32 },
}

impl LockWord {
    #[inline]
    pub const fn decode(word: u32) -> LockWord {
        let value = word >> TAG_BITS;
        match word & TAG_MASK {
            NEUTRAL => LockWord::Neutral { hash: value },
            THIN => LockWord::Thin { owner: value & OWNER_MAX, recursion: value >> OWNER_BITS },
            _ => LockWord::Inflated { index: value },
        }
    }

    #[inline]
    pub const fn encode(self) -> u32 {
        match self {
            LockWord::Neutral { hash } => hash << TAG_BITS | NEUTRAL,
            LockWord::Thin { owner, recursion } => {
                (recursion << OWNER_BITS | owner) << TAG_BITS | THIN
            }
            LockWord::Inflated { index } => index << TAG_BITS | INFLATED,
        }
    }
}

/// A thin lock that `owner` has entered once.
#[inline]
pub const fn thin(owner: u32) -> u32 {
    owner << TAG_BITS | THIN
}

/// Not locked, no hash: how every object begins.
pub const FREE: u32 = 0;
pub const OWNER_MAX: u32 = (1 << OWNER_BITS) - 1;
pub const RECURSION_MAX: u32 = (1 << (32 - TAG_BITS - OWNER_BITS)) - 1;
/// Identity hashes are between 1 and this.
pub const HASH_MAX: u32 = u32::MAX >> TAG_BITS;

pub const TAG_BITS: u32 = 2;
pub const TAG_MASK: u32 = 3;
const NEUTRAL: u32 = 0;
const THIN: u32 = 1;
const INFLATED: u32 = 2;
const OWNER_BITS: u32 = 18;

const _: () = assert!(LockWord::Neutral { hash: 0 }.encode() == FREE);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        let words = [
            LockWord::Neutral { hash: 0 },
            LockWord::Neutral { hash: HASH_MAX },
            LockWord::Thin { owner: 1, recursion: 0 },
            LockWord::Thin { owner: OWNER_MAX, recursion: RECURSION_MAX },
            LockWord::Inflated { index: 0 },
            LockWord::Inflated { index: HASH_MAX },
        ];
        for word in words {
            assert_eq!(LockWord::decode(word.encode()), word);
        }
        assert_eq!(thin(7), LockWord::Thin { owner: 7, recursion: 0 }.encode());
    }
}
