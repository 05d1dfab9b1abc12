//! The allocation bits of one tablet, and how entries change hands.
//!
//! Four parties touch a word of bits: threads that *claim* it to allocate from it, threads that
//! *retire* entries that they did not use, the cycle that *snapshots* it (world stopped, nothing claimed)
//! and the cycle that
//! *reclaims* dead entries. A set bit means "in use or claimed". An entry is only ever handed to
//! one party because each of them changes only bits that are its own: a claim sets bits that were
//! clear, a retirement clears bits of that claim, reclamation clears bits that the snapshot had and
//! no mark.

use super::{EntryClaim, TABLET_WORDS, TabletId};
use crate::object::sync::{AtomicU64, Ordering};

/// The allocation bits of one tablet. Local memory; any thread.
pub struct Tablet {
    /// A set bit is an entry in use or claimed. Changed by all four parties with read-modify-write operations; AcqRel,
    /// so that a thread that gets a bit after another one sees what the other did with the entry.
    bits: [AtomicU64; TABLET_WORDS],
}

impl Tablet {
    pub fn new() -> Tablet {
        Tablet { bits: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    /// Claims the free entries of the first word at or after `from` that has any. Returns them, and
    /// the word.
    pub fn claim(&self, id: TabletId, from: usize) -> Option<(EntryClaim, usize)> {
        (from..TABLET_WORDS).find_map(|word| {
            let free = self.claim_word(word);
            (free != 0).then(|| (EntryClaim::new(id, word, free), word))
        })
    }

    fn claim_word(&self, word: usize) -> u64 {
        if self.bits[word].load(Ordering::Relaxed) == u64::MAX {
            return 0;
        }
        !self.bits[word].fetch_or(u64::MAX, Ordering::AcqRel)
    }

    /// Takes one single entry out of the table, for good.
    pub fn reserve(&self, number: usize) {
        let before = self.bits[number / 64].fetch_or(1 << (number % 64), Ordering::AcqRel);
        assert!(before & 1 << (number % 64) == 0, "entry {number} reserved twice");
    }

    /// Gives back entries that [`claim`](Self::claim) handed out and that were not used.
    pub fn retire(&self, claim: &EntryClaim) {
        let before = self.bits[claim.word()].fetch_and(!claim.free(), Ordering::AcqRel);
        assert!(before & claim.free() == claim.free(), "entries retired that were free");
    }

    /// The bits of one word.
    pub fn word(&self, word: usize) -> u64 {
        self.bits[word].load(Ordering::Acquire)
    }

    /// The bits of all words.
    pub fn words(&self) -> [u64; TABLET_WORDS] {
        std::array::from_fn(|word| self.word(word))
    }

    /// Frees entries whose objects died: `dead` are bits that were set when the cycle took its
    /// snapshot.
    pub fn reclaim(&self, word: usize, dead: u64) {
        let before = self.bits[word].fetch_and(!dead, Ordering::AcqRel);
        assert!(
            before & dead == dead,
            "dead entries of word {word} were free: {before:#x} {dead:#x}"
        );
    }

    pub fn is_allocated(&self, number: usize) -> bool {
        self.word(number / 64) & 1 << (number % 64) != 0
    }

    /// Number of entries in use or claimed.
    pub fn used(&self) -> usize {
        (0..TABLET_WORDS).map(|w| self.word(w).count_ones() as usize).sum()
    }
}

impl Default for Tablet {
    fn default() -> Self {
        Tablet::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::hit::TABLET_ENTRIES;

    #[test]
    fn every_entry_is_handed_out_once_and_comes_back() {
        let tablet = Tablet::new();
        tablet.reserve(0);
        let mut seen = vec![false; TABLET_ENTRIES];
        let mut from = 0;
        while let Some((mut claim, word)) = tablet.claim(TabletId(3), from) {
            from = word;
            while let Some(entry) = claim.take() {
                assert_eq!(entry.tablet(), TabletId(3));
                assert!(!std::mem::replace(&mut seen[entry.in_tablet()], true));
            }
        }
        assert_eq!(seen.iter().filter(|s| **s).count(), TABLET_ENTRIES - 1);
        assert_eq!(tablet.used(), TABLET_ENTRIES);
        tablet.reclaim(1, u64::MAX);
        let (mut claim, word) = tablet.claim(TabletId(3), 0).unwrap();
        assert_eq!(word, 1);
        claim.take().unwrap();
        tablet.retire(&claim);
        assert_eq!(tablet.used(), TABLET_ENTRIES - 63);
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;

    /// Two claimers with a retirement and a reclamation beside them: no entry is held by two, none
    /// is lost.
    #[test]
    fn an_entry_has_one_holder() {
        loom::model(|| {
            let tablet = Arc::new(Tablet::new());
            let full = TABLET_WORDS - 1;
            tablet.bits[full].store(0b1111, Ordering::Relaxed);
            let other = {
                let tablet = tablet.clone();
                loom::thread::spawn(move || {
                    let free = tablet.claim_word(full);
                    let mut claim = EntryClaim::new(TabletId(0), full, free);
                    let mine = claim.take();
                    tablet.retire(&claim);
                    mine
                })
            };
            tablet.reclaim(full, 0b0110);
            let free = tablet.claim_word(full);
            let mut claim = EntryClaim::new(TabletId(0), full, free);
            let mine = claim.take();
            tablet.retire(&claim);
            let theirs = other.join().unwrap();
            assert!(mine != theirs || mine.is_none(), "{mine:?} handed out twice");
            let held = [mine, theirs].iter().flatten().fold(0, |b, e| b | 1u64 << (e.0 % 64));
            assert_eq!(tablet.word(full), 0b1001 | held);
        });
    }
}
