//! The entries that were in use when a cycle began, and those of them that were found alive.

use super::allocation::State;
use super::entries::Entries;
use crate::hit::{EntryIndex, TABLET_WORDS, Tablet, TabletId};
use std::ops::DerefMut;

/// The tablets of one cycle.
pub struct Snapshot {
    tablets: Vec<TabletSnapshot>,
    /// By tablet: its place in `tablets`.
    places: Vec<u32>,
    /// All servers have received it.
    is_written: bool,
}

/// One tablet of a snapshot.
pub struct TabletSnapshot {
    pub id: TabletId,
    /// Entries that were in use. Entries that were allocated later are alive in this cycle.
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

/// Allocation bits that belong to a snapshot and are not in it yet. Protected by the allocator's lock.
///
/// When the pause that takes a snapshot begins all claims are retired, and from then on bits change only when
/// entries are claimed. So the pause copies nothing: a thread that claims entries of a tablet first saves its bits,
/// and the cycle copies those of the other tablets beside the program.
pub struct Pending {
    /// Number of the snapshot that is being taken, or was last.
    number: u32,
    is_taking: bool,
    /// By tablet: the last snapshot that has its bits.
    copied_for: Vec<u32>,
    /// Bits of the pause, of tablets from which entries have been claimed since.
    saved: Vec<(TabletId, [u64; TABLET_WORDS])>,
}

impl Pending {
    pub fn new(tablets: usize) -> Pending {
        Pending { number: 0, is_taking: false, copied_for: vec![0; tablets], saved: Vec::new() }
    }

    /// The bits of now are those of the snapshot. World stopped, all entry buffers retired.
    pub fn begin(&mut self) {
        // Numbers wrap after 2^32 cycles; by then no tablet has one so old that it would be taken for the same.
        self.number = self.number.wrapping_add(1);
        self.is_taking = true;
    }

    /// Entries of this tablet are about to be claimed.
    #[inline]
    pub fn save(&mut self, id: TabletId, tablet: &Tablet) {
        if self.is_taking && self.is_first(id) {
            self.saved.push((id, tablet.words()));
        }
    }

    /// The bits of a tablet in the snapshot; `None` if they have been saved.
    fn copy(&mut self, id: TabletId, tablet: &Tablet) -> Option<[u64; TABLET_WORDS]> {
        self.is_first(id).then(|| tablet.words())
    }

    /// The snapshot is complete, or is given up. Returns the saved bits.
    pub fn end(&mut self) -> Vec<(TabletId, [u64; TABLET_WORDS])> {
        self.is_taking = false;
        std::mem::take(&mut self.saved)
    }

    fn is_first(&mut self, id: TabletId) -> bool {
        std::mem::replace(&mut self.copied_for[id.0 as usize], self.number) != self.number
    }
}

impl Snapshot {
    /// How much memory it takes.
    pub fn bytes(&self) -> usize {
        self.tablets.capacity() * size_of::<TabletSnapshot>() + size_of_val(&*self.places)
    }

    /// After the pause in which [`Pending::begin`] was called, beside the program. Includes tablets that were in use
    /// in the cycle before, so that the servers' bits of them are overwritten. Takes the memory of the snapshot
    /// before. `lock` is the allocator's.
    pub fn take<G: DerefMut<Target = State>>(
        entries: &Entries,
        lock: impl Fn() -> G,
        before: Option<Snapshot>,
    ) -> Snapshot {
        let used = lock().used().to_vec();
        let mut snapshot = Snapshot::of(entries.geometry.tablets(), used, before);
        for tablets in snapshot.tablets.chunks_mut(COPIED_TOGETHER) {
            let mut state = lock();
            for tablet in tablets {
                let copied = state.pending.copy(tablet.id, entries.tablet(tablet.id));
                tablet.allocated = copied.unwrap_or([0; TABLET_WORDS]);
            }
        }
        let saved = lock().pending.end();
        for (id, allocated) in saved {
            match snapshot.tablets.get_mut(snapshot.places[id.0 as usize] as usize) {
                Some(tablet) => tablet.allocated = allocated,
                None => assert_eq!(allocated, [0; TABLET_WORDS], "{id:?} was not in use"),
            }
        }
        // The null entry names no object.
        snapshot.tablets[0].allocated[0] &= !1;
        snapshot
    }

    /// A snapshot of these tablets, without any bits.
    fn of(tablets: usize, used: Vec<TabletId>, before: Option<Snapshot>) -> Snapshot {
        let Snapshot { tablets: mut list, mut places, is_written } = before.unwrap_or_else(|| {
            Snapshot { tablets: Vec::new(), places: vec![NONE; tablets], is_written: true }
        });
        // A server that has not received it may have the bits of a cycle earlier.
        let was_used = |t: &&TabletSnapshot| !is_written || t.allocated != [0; TABLET_WORDS];
        let mut ids = used;
        ids.push(TabletId(0));
        ids.extend(list.iter().filter(was_used).map(|t| t.id));
        ids.sort_unstable();
        ids.dedup();
        list.iter().for_each(|t| places[t.id.0 as usize] = NONE);
        list.resize_with(ids.len(), TabletSnapshot::default);
        for (place, (id, tablet)) in ids.into_iter().zip(&mut list).enumerate() {
            places[id.0 as usize] = place as u32;
            tablet.id = id;
            tablet.marked = [0; TABLET_WORDS];
        }
        Snapshot { tablets: list, places, is_written: false }
    }

    /// The entry names nothing yet: as if it were newer.
    pub fn exclude(&mut self, entry: EntryIndex) {
        let place = self.places[entry.tablet().0 as usize] as usize;
        if let Some(tablet) = self.tablets.get_mut(place) {
            tablet.allocated[entry.in_tablet() / 64] &= !(1 << (entry.in_tablet() % 64));
        }
    }

    /// Notes that all servers have received it.
    pub fn set_written(&mut self) {
        self.is_written = true;
    }

    pub fn tablets(&self) -> &[TabletSnapshot] {
        &self.tablets
    }

    pub fn tablets_mut(&mut self) -> &mut [TabletSnapshot] {
        &mut self.tablets
    }

    /// Notes that tracing reached the object of an entry. False if the entry is not of this snapshot.
    pub fn mark(&mut self, entry: EntryIndex) -> bool {
        let place = self.places[entry.tablet().0 as usize] as usize;
        let Some(tablet) = self.tablets.get_mut(place) else { return false };
        let (word, bit) = (entry.in_tablet() / 64, 1 << (entry.in_tablet() % 64));
        tablet.marked[word] |= bit;
        tablet.allocated[word] & bit != 0
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
/// Tablets whose bits are copied before the allocator's lock is given back: some microseconds.
const COPIED_TOGETHER: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_claimed_after_the_pause_is_not_in_the_snapshot() {
        let [first, second] = [TabletId(1), TabletId(2)];
        let tablets = [Tablet::new(), Tablet::new()];
        tablets.iter().for_each(|tablet| tablet.reserve(7));
        let mut pending = Pending::new(3);
        let claim = |pending: &mut Pending, id: TabletId| {
            let tablet = &tablets[id.0 as usize - 1];
            pending.save(id, tablet);
            tablet.claim(id, 0).unwrap();
        };
        claim(&mut pending, first);
        let before = tablets[0].words();
        pending.begin();
        claim(&mut pending, first);
        claim(&mut pending, first);
        assert_eq!(pending.copy(first, &tablets[0]), None, "it was saved");
        let copied = pending.copy(second, &tablets[1]).unwrap();
        assert_eq!(copied[0], 1 << 7);
        claim(&mut pending, second);
        assert_eq!(pending.end(), [(first, before)]);
        claim(&mut pending, second);
        assert_eq!(pending.end(), [], "no snapshot is being taken");
    }
}
