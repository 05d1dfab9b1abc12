//! What was in use when a cycle began, and what of it was found alive.

use super::allocation::State;
use super::entries::Entries;
use crate::hit::{EntryIndex, TABLET_WORDS, TabletId};

/// The tablets of one cycle.
pub struct Snapshot {
    tablets: Vec<TabletSnapshot>,
    /// By tablet: its place in `tablets`.
    places: Vec<u32>,
    /// All servers have been told of it.
    is_written: bool,
}

/// One tablet of a snapshot.
pub struct TabletSnapshot {
    pub id: TabletId,
    /// Entries that were in use. What was allocated later is alive in this cycle.
    pub allocated: [u64; TABLET_WORDS],
    /// Entries whose objects tracing reached; meaningful after tracing.
    pub marked: [u64; TABLET_WORDS],
}

impl Default for TabletSnapshot {
    fn default() -> TabletSnapshot {
        let [allocated, marked] = [[0; TABLET_WORDS]; 2];
        TabletSnapshot { id: TabletId(0), allocated, marked }
    }
}

impl Snapshot {
    /// World stopped, all entry buffers retired. Includes tablets that were in use in the cycle before, so that what
    /// the servers have of them is overwritten. Takes the memory of the snapshot before: new memory would be cleared in
    /// the pause.
    pub fn take(entries: &Entries, state: &State, before: Option<Snapshot>) -> Snapshot {
        let before = before.unwrap_or_else(|| Snapshot {
            tablets: Vec::new(),
            places: vec![NONE; entries.geometry.tablets()],
            is_written: true,
        });
        let was_used = |t: usize| {
            let tablet = before.tablets.get(before.places[t] as usize);
            // A server that was not told of it may have what was in use a cycle earlier.
            tablet.is_some_and(|t| !before.is_written || t.allocated != [0; TABLET_WORDS])
        };
        let is_in = |t: &usize| *t == 0 || state.is_used[*t] || was_used(*t);
        let ids: Vec<usize> = (0..before.places.len()).filter(is_in).collect();
        let Snapshot { mut tablets, mut places, .. } = before;
        places.fill(NONE);
        tablets.resize_with(ids.len(), TabletSnapshot::default);
        for (place, (t, tablet)) in ids.into_iter().zip(&mut tablets).enumerate() {
            places[t] = place as u32;
            tablet.id = TabletId(t as u32);
            let bits = entries.tablet(tablet.id);
            tablet.allocated = std::array::from_fn(|word| bits.word(word));
            tablet.marked = [0; TABLET_WORDS];
        }
        // The null entry names no object.
        tablets[0].allocated[0] &= !1;
        Snapshot { tablets, places, is_written: false }
    }

    /// Notes that all servers have been told of it.
    pub fn set_written(&mut self) {
        self.is_written = true;
    }

    pub fn tablets(&self) -> &[TabletSnapshot] {
        &self.tablets
    }

    pub fn tablets_mut(&mut self) -> &mut [TabletSnapshot] {
        &mut self.tablets
    }

    /// Whether the object of an entry is alive: marked, or newer than the snapshot.
    pub fn is_live(&self, entry: EntryIndex) -> bool {
        let Some(tablet) = self.tablets.get(self.places[entry.tablet().0 as usize] as usize) else {
            return true;
        };
        let (word, bit) = (entry.in_tablet() / 64, 1 << (entry.in_tablet() % 64));
        tablet.allocated[word] & bit == 0 || tablet.marked[word] & bit != 0
    }

    /// Whether tracing reached the object of an entry of this snapshot. The entry may be anything.
    pub fn is_marked(&self, entry: EntryIndex) -> bool {
        let place = self.places.get(entry.tablet().0 as usize);
        let Some(tablet) = place.and_then(|place| self.tablets.get(*place as usize)) else {
            return false;
        };
        let (word, bit) = (entry.in_tablet() / 64, 1 << (entry.in_tablet() % 64));
        tablet.allocated[word] & tablet.marked[word] & bit != 0
    }

    /// The entries of a tablet whose objects tracing reached.
    pub fn marked(&self, id: TabletId) -> impl Iterator<Item = EntryIndex> + '_ {
        let tablet = self.tablets.get(self.places[id.0 as usize] as usize);
        let words = tablet.into_iter().flat_map(|t| t.marked.iter().zip(&t.allocated));
        words.enumerate().flat_map(move |(word, (marked, allocated))| {
            let bits = marked & allocated;
            let set = (0..64).filter(move |bit| bits >> bit & 1 != 0);
            set.map(move |bit| id.entry(word * 64 + bit))
        })
    }

    /// Gives the entries of dead objects back.
    pub fn reclaim(&self, entries: &Entries) -> usize {
        let mut count = 0;
        for tablet in &self.tablets {
            let bits = entries.tablet(tablet.id);
            for word in 0..TABLET_WORDS {
                let dead = tablet.allocated[word] & !tablet.marked[word];
                if dead != 0 {
                    bits.reclaim(word, dead);
                    count += dead.count_ones() as usize;
                }
            }
        }
        count
    }
}

const NONE: u32 = u32::MAX;
