//! Where pauses copy objects to: regions of one kind, and buffers in them for each worker.
//!
//! The memory taken begins and ends at card boundaries. So no card has objects of two pauses: clearing the cards
//! that were dirty when a pause began loses nothing that the pause itself has dirtied. And no card has objects
//! of two workers, as [`Starts`](super::starts::Starts) wants it.

use super::cards::CARD_BYTES;
use super::tables::{Kind, Tables};
use crate::memory::region::RegionUse;
use crate::object::geometry::RegionId;
use parking_lot::Mutex;

/// All workers take from it in pauses.
pub struct Destination {
    kind: Kind,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<RegionId>,
    /// Old regions with room behind their tops, the next one last.
    open: Vec<RegionId>,
}

impl Destination {
    pub fn new(kind: Kind) -> Destination {
        Destination { kind, state: Mutex::default() }
    }

    /// A pause begins. Young objects are always copied to fresh regions; old ones where the last pause ended.
    pub fn begin(&self, tables: &Tables) {
        let mut state = self.state.lock();
        state.open.retain(|id| !tables.moves(*id));
        state.current.take_if(|id| self.kind.is_young() || tables.moves(*id));
    }

    /// Forgets the present region, and names those with room, best first.
    pub fn reset(&self, mut open: Vec<RegionId>) {
        open.reverse();
        *self.state.lock() = State { open, ..State::default() };
    }

    /// Forgets a region that is about to be freed.
    pub fn forget(&self, region: RegionId) {
        let mut state = self.state.lock();
        state.open.retain(|id| *id != region);
        state.current.take_if(|id| *id == region);
    }

    /// Whether objects will be copied to a region next.
    pub fn is_current(&self, region: RegionId) -> bool {
        self.state.lock().current == Some(region)
    }

    /// Memory for at least `least` bytes, better `wish`: address and length, whole cards. `None` when no region is
    /// free.
    pub fn chunk(&self, tables: &Tables, least: usize, wish: usize) -> Option<(usize, usize)> {
        let core = &tables.core;
        let least = whole_cards(least);
        let mut state = self.state.lock();
        let room = |id: RegionId| core.geometry.region_bytes() - core.regions.region(id).top();
        while state.current.is_none_or(|id| room(id) < least) {
            state.current = match state.open.pop() {
                Some(id) => {
                    self.align(tables, id);
                    Some(id)
                }
                None => {
                    let id = core.regions.take(RegionUse::Objects)?;
                    tables.begin(id, self.kind);
                    Some(id)
                }
            };
        }
        let id = state.current.expect("chosen above");
        let region = core.regions.region(id);
        let (top, length) = (region.top(), whole_cards(wish).clamp(least, room(id)));
        region.set_top(top + length);
        drop(state);
        let start = core.geometry.region_start(id) + top;
        core.renew(start, length);
        Some((start, length))
    }

    /// Fills a region up to a card boundary.
    fn align(&self, tables: &Tables, id: RegionId) {
        let core = &tables.core;
        let region = core.regions.region(id);
        let start = core.geometry.region_start(id);
        let top = region.top();
        let aligned = whole_cards(top).min(core.geometry.region_bytes());
        let gap = aligned - top;
        if gap == 8 {
            // Nothing is so small; then nothing more fits into the region.
            return;
        }
        // Before the top is raised: other workers walk up to it.
        fill(tables, start + top, gap);
        region.set_top(aligned);
    }
}

/// A worker's part of a destination: objects one after the other.
#[derive(Default)]
pub struct Buffer {
    top: usize,
    end: usize,
}

impl Buffer {
    /// Room for an object: in the buffer, in a new one, or beside it.
    pub fn allocate(
        &mut self,
        tables: &Tables,
        destination: &Destination,
        bytes: usize,
    ) -> Option<usize> {
        if let Some(address) = self.bump(bytes) {
            return Some(address);
        }
        let wish = BUFFER_BYTES.min(tables.geometry().region_bytes() / 8);
        if bytes > wish / 4 {
            let (start, length) = destination.chunk(tables, bytes, bytes)?;
            fill(tables, start + bytes, length - bytes);
            return Some(start);
        }
        let (start, length) = destination.chunk(tables, bytes, wish)?;
        self.retire(tables);
        (self.top, self.end) = (start, start + length);
        self.bump(bytes)
    }

    /// Takes back an object that was allocated last, or makes it filler.
    pub fn undo(&mut self, tables: &Tables, address: usize, bytes: usize) {
        if address + bytes == self.top {
            self.top = address;
        } else {
            fill(tables, address, bytes);
        }
    }

    /// The rest becomes filler.
    pub fn retire(&mut self, tables: &Tables) {
        fill(tables, self.top, self.end - self.top);
        *self = Buffer::default();
    }

    fn bump(&mut self, bytes: usize) -> Option<usize> {
        let left = (self.end - self.top).checked_sub(bytes)?;
        // The rest must be fillable.
        if left == 8 {
            return None;
        }
        let address = self.top;
        self.top += bytes;
        Some(address)
    }
}

fn fill(tables: &Tables, address: usize, bytes: usize) {
    tables.core.fill(address, bytes);
    if bytes > 0 {
        tables.starts.note(address, bytes);
    }
}

/// Whole cards for `bytes` bytes, with no rest or one that is large enough for a filler.
fn whole_cards(bytes: usize) -> usize {
    let cards = bytes.next_multiple_of(CARD_BYTES);
    if cards - bytes == 8 { cards + CARD_BYTES } else { cards }
}

const BUFFER_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_whole_cards_can_be_filled() {
        for bytes in (16..4096).step_by(8) {
            let cards = whole_cards(bytes);
            let left = cards - bytes;
            assert!(cards.is_multiple_of(CARD_BYTES) && left != 8 && left <= CARD_BYTES + 8);
        }
    }
}
