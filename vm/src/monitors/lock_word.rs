//! The lock word of an object's header.
//!
//! ```text
//!  31                                2 1 0
//! +-----------------------------------+---+
//! | identity hash, 0 = none yet       |0 0|  free
//! +-----------------------------------+---+
//! | identity hash, 0 = none yet       |0 1|  locked by the thread that has it on its lock stack
//! +-----------------------------------+---+
//! | index in the monitor table        |1 0|  inflated: lock and hash are in a `Monitor`
//! +-----------------------------------+---+
//! ```
//!
//! Every change is a compare-and-set, and a thread whose compare-and-set fails reads the word again. A free word
//! becomes locked by its locker, a locked one free by its owner. Any thread may add a hash, or inflate. An inflated
//! word stays inflated until its monitor is retired.

/// The decoded lock word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockWord {
    Free { hash: u32 },
    Locked { hash: u32 },
    Inflated { index: u32 },
}

impl LockWord {
    #[inline]
    pub const fn decode(word: u32) -> LockWord {
        let value = word >> STATE_BITS;
        match word & STATE_MASK {
            FREE => LockWord::Free { hash: value },
            LOCKED => LockWord::Locked { hash: value },
            _ => LockWord::Inflated { index: value },
        }
    }

    #[inline]
    pub const fn encode(self) -> u32 {
        match self {
            LockWord::Free { hash } => hash << STATE_BITS | FREE,
            LockWord::Locked { hash } => hash << STATE_BITS | LOCKED,
            LockWord::Inflated { index } => index << STATE_BITS | INFLATED,
        }
    }
}

/// Identity hashes are between 1 and this.
pub const HASH_MAX: u32 = u32::MAX >> STATE_BITS;
pub const STATE_BITS: u32 = 2;
pub const STATE_MASK: u32 = 3;
/// The states. A new object's word is 0: free, without a hash.
pub const FREE: u32 = 0;
pub const LOCKED: u32 = 1;
pub const INFLATED: u32 = 2;

const _: () = assert!(LockWord::Free { hash: 0 }.encode() == 0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for value in [0, 1, HASH_MAX] {
            let words = [
                LockWord::Free { hash: value },
                LockWord::Locked { hash: value },
                LockWord::Inflated { index: value },
            ];
            for word in words {
                assert_eq!(LockWord::decode(word.encode()), word);
            }
        }
        assert_eq!(
            LockWord::Free { hash: 5 }.encode() | LOCKED,
            LockWord::Locked { hash: 5 }.encode()
        );
    }
}
