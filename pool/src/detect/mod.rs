//! Detectable compare-and-swap: whether the change of a client that is dead took place.
//!
//! A client may die between its compare-and-swap and the next instruction. Then the word may be changed, and be
//! changed again by others since. Whether it was must be known to finish the client's operation neither twice nor not
//! at all.
//!
//! 1. **Announce.** The client writes what it is about to do into its [`Intent`], under the next one of its eras.
//! 2. **Vouch.** The word's tag names the client and the era of its last change. A client that is about to replace the
//!    tag of another first notes that it has seen it, in its own row of a matrix: `notes[own][other] = era`.
//! 3. **Exchange.** Value and tag change together, from what was seen.
//! 4. **Acknowledge.** When all that the change brings with it is written, the intent is closed.
//!
//! So the open change of a dead client took place if the word has its tag, or if somebody noted it. Recovery reads the
//! word *first*, then the notes: one who removes the tag in between has noted it before.
//!
//! Invariants:
//!
//! * An era of a client is used for one change, and never again, also by the next holder of its identity: the intent
//!   keeps counting. Eras have 54 bits. Narrower ones come back, and an old note would vouch for a change that did not
//!   take place.
//! * A note has one writer, the client of its row. Notes only grow.
//! * A note is written before the tag is gone, and the exchange that removes the tag releases it.
//! * An exchange that fails changed nothing: its era is in no word, and it is acknowledged as it is.
//!
//! The idea is that of detectable CAS (Attiya, Ben-Baruch, Hendler, PODC 2018), in the form that cxlalloc gives it in
//! its section 3.4.2; there tags have 16 bits of version and share 8 bytes with the value.

mod intent;
mod word;

pub use intent::Change;
pub(crate) use intent::{Intent, Open};
#[cfg(not(loom))]
pub(crate) use word::is_supported;
pub(crate) use word::{CLIENTS_MAX, ERA_MAX};
pub use word::{Marked, Tag, Word};

use crate::PoolError;
use crate::crash::crash_point;
use crate::flaw::flawed;
use crate::sync::{AtomicU64, Ordering};
use intent::Intents;

/// Intents and notes of all clients. Nothing blocks. A method that is given a client is for its holder alone, or for
/// its recoverer once the holder is dead; different clients do not disturb each other.
#[derive(Clone, Copy)]
pub(crate) struct Detector<'a> {
    intents: Intents<'a>,
    /// Row by row: `notes[own * stride + other]` is the highest era of `other` that `own` has replaced.
    notes: &'a [AtomicU64],
    #[cfg(test)]
    flaw: Option<crate::flaw::Flaw>,
}

impl<'a> Detector<'a> {
    /// Intents by identity, and as many notes as their square.
    pub(crate) fn new(intents: &'a [Intent], notes: &'a [AtomicU64]) -> Detector<'a> {
        assert_eq!(notes.len(), intents.len() * intents.len());
        Detector {
            intents: Intents { all: intents },
            notes,
            #[cfg(test)]
            flaw: None,
        }
    }

    /// For tests: as after that many changes of the client.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn skip_to(&self, client: u16, era: u64) {
        self.intents.skip_to(client, era);
    }

    #[cfg(test)]
    pub(crate) fn with_flaw(mut self, flaw: Option<crate::flaw::Flaw>) -> Self {
        self.flaw = flaw;
        self
    }

    /// Changes the word from what the client has seen, or says what it has instead. After a success the client
    /// finishes what belongs to the change, and acknowledges the era.
    pub(crate) fn exchange(
        &self,
        client: u16,
        word: &Word,
        seen: Marked,
        value: u64,
        change: &Change,
    ) -> Result<Result<u64, Marked>, PoolError> {
        let era = self.intents.announce(client, change)?;
        let next = Marked { value, tag: Tag::new(client, self.width(era)) };
        let is_late = flawed!(self, LateVouching);
        if !is_late && !flawed!(self, NoVouching) {
            self.vouch(client, seen.tag);
        }
        crash_point!("detect.vouched");
        let exchanged = word.compare_exchange(seen, next);
        if is_late {
            self.vouch(client, seen.tag);
        }
        match exchanged {
            Ok(()) => {
                crash_point!("detect.exchanged");
                Ok(Ok(era))
            }
            Err(other) => {
                self.acknowledge(client, era);
                Ok(Err(other))
            }
        }
    }

    /// Closes the change of this era. All that belongs to it was written before.
    pub(crate) fn acknowledge(&self, client: u16, era: u64) {
        self.intents.acknowledge(client, era);
        crash_point!("detect.acknowledged");
    }

    /// How many changes were announced under an identity, over all its leases.
    pub(crate) fn announced(&self, client: u16) -> u64 {
        self.intents.announced(client)
    }

    /// What a dead client left open.
    pub(crate) fn open(&self, client: u16) -> Option<Open> {
        self.intents.open(client)
    }

    /// Whether the open change of a dead client took place; `word` is its target.
    pub(crate) fn has_happened(&self, client: u16, era: u64, word: &Word) -> bool {
        let era = self.width(era);
        let is_marked = || word.load().tag == Tag::new(client, era);
        if flawed!(self, NotesFirst) {
            return self.is_noted(client, era) || is_marked();
        }
        is_marked() || self.is_noted(client, era)
    }

    fn vouch(&self, client: u16, seen: Tag) {
        if seen.client() == 0 || seen.client() == client {
            return;
        }
        // A tag that no client of this pool can have: the word is damaged, and nobody asks about it.
        let Some(note) = self.note(client, seen.client()) else { return };
        // Its only writer is this client. The exchange releases it.
        if note.load(Ordering::Relaxed) < seen.era() {
            note.store(seen.era(), Ordering::Relaxed);
        }
    }

    fn is_noted(&self, client: u16, era: u64) -> bool {
        let others = 1..self.intents.all.len() as u16;
        let mut notes = others.filter_map(|other| self.note(other, client));
        notes.any(|note| note.load(Ordering::Relaxed) >= era)
    }

    fn note(&self, own: u16, other: u16) -> Option<&AtomicU64> {
        let stride = self.intents.all.len();
        let is_client = usize::from(other) < stride;
        is_client.then(|| &self.notes[usize::from(own) * stride + usize::from(other)])
    }

    fn width(&self, era: u64) -> u64 {
        if flawed!(self, NarrowEras) { era % 16 } else { era }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
