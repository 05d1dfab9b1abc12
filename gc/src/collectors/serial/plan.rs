//! The new addresses of live objects. See the essay in the parent module.

use crate::core::heap_core::HeapCore;
use crate::memory::mark_bitmap::{BYTES_PER_WORD, MarkBitmap};
use crate::memory::region::RegionUse;
use crate::memory::zeroed::Zeroed;
use crate::object::geometry::{Geometry, RegionId};
use crate::object::{OBJECT_BYTES_MIN, ObjectRef};
use std::sync::atomic::Ordering;

/// The new address of every live object.
pub(super) struct Plan<'a> {
    core: &'a HeapCore,
    /// Width of reference slots.
    slot_bytes: usize,
    bitmap: &'a MarkBitmap,
    prefix: &'a [u32],
    /// By region.
    moves: Vec<Option<Move>>,
    /// Target regions in order, with the bytes that they will hold.
    pub targets: Vec<(RegionId, usize)>,
    /// Humongous objects that move, by first region, in the order in which they must: old and new place.
    pub humongous: Vec<(RegionId, RegionId)>,
}

/// How the objects of one region move: the first `split_words` live words, and the objects in them, to
/// consecutive addresses from `first` on, the others from `second` on.
#[derive(Clone, Copy, Debug)]
struct Move {
    split_words: u32,
    first: usize,
    second: usize,
}

impl<'a> Plan<'a> {
    /// Plans for the regions for which `moves` says so. The bitmap is complete; fills `prefix` and the
    /// regions' live bytes.
    pub fn new(
        core: &'a HeapCore,
        slot_bytes: usize,
        bitmap: &'a MarkBitmap,
        prefix: &'a mut [u32],
        moves: impl Fn(RegionId) -> bool,
    ) -> Plan<'a> {
        count_live(core, bitmap, prefix);
        let sources: Vec<RegionId> = core.geometry.all_regions().filter(|id| moves(*id)).collect();
        let mut plan = Plan {
            core,
            slot_bytes,
            bitmap,
            prefix,
            moves: vec![None; core.geometry.regions],
            targets: Vec::new(),
            humongous: Vec::new(),
        };
        let sequence = plan.target_sequence(&sources);
        // Objects are copied there before the regions are taken. The sources themselves are committed, and suffice.
        let mut targets = sequence.into_iter().filter(|id| core.regions.commit(*id));
        for source in sources {
            plan.place(source, &mut targets);
        }
        plan
    }

    /// Plans to pack humongous objects at the top of the heap (under zeal: to put them anywhere else), so that
    /// the free regions are adjacent. After all other objects have their places.
    pub fn place_humongous(&mut self) {
        let core = self.core;
        let mut is_free: Vec<bool> = core.regions.iter().map(|(id, _)| self.is_left(id)).collect();
        self.targets.iter().for_each(|(id, _)| is_free[id.index()] = false);
        for (id, region) in core.regions.iter().rev() {
            let is_start = region.usage() == RegionUse::HumongousStart;
            if !is_start || region.is_pinned() || region.live_bytes() == 0 {
                continue;
            }
            let count = region.top().div_ceil(core.geometry.region_bytes());
            let own = id.index()..id.index() + count;
            let mut place = None;
            if core.options.zeal() {
                place = highest_run(&is_free, count);
            }
            is_free[own.clone()].fill(true);
            let place = place.or_else(|| highest_run(&is_free, count)).expect("its own, at least");
            is_free[place..place + count].fill(false);
            if place != own.start {
                let place = RegionId(place as u32);
                let first = core.geometry.region_start(place);
                self.moves[own.start] = Some(Move { split_words: u32::MAX, first, second: 0 });
                self.humongous.push((id, place));
            }
        }
    }

    /// Whether a region holds nothing after the compaction, unless it is a target.
    fn is_left(&self, id: RegionId) -> bool {
        let region = self.core.regions.region(id);
        match region.usage() {
            RegionUse::Free => true,
            RegionUse::Objects => self.is_moving(id),
            RegionUse::HumongousStart => region.live_bytes() == 0 && !region.is_pinned(),
            // It belongs to the start before it.
            RegionUse::HumongousRest => self.is_left(RegionId(id.0 - 1)),
            RegionUse::Reserved | RegionUse::Young => false,
        }
    }

    /// Whether the objects of a region have new addresses (which may be the old ones).
    pub fn is_moving(&self, region: RegionId) -> bool {
        self.moves[region.index()].is_some()
    }

    /// The new address of a live object.
    #[inline]
    pub fn forward(&self, object: ObjectRef) -> ObjectRef {
        debug_assert!(self.bitmap.is_marked(object), "{object:?} is dead");
        let Some(to) = &self.moves[self.core.geometry.region_of(object).index()] else {
            return object;
        };
        let (word, bits) = self.bitmap.bits_before(object.address());
        let live = self.prefix[word] + bits.count_ones();
        ObjectRef::from_address(match live.checked_sub(to.split_words) {
            None => to.first + live as usize * 8,
            Some(rest) => to.second + rest as usize * 8,
        })
    }

    /// Calls `f` with each live object of a region, ascending, and its size.
    pub fn for_each_live(&self, region: RegionId, mut f: impl FnMut(ObjectRef, usize)) {
        let start = self.core.geometry.region_start(region);
        let top = self.core.regions.region(region).top();
        let end = start + top.min(self.core.geometry.region_bytes());
        let mut at = start;
        while let Some(address) = self.bitmap.next_marked(at, end) {
            let object = ObjectRef::from_address(address);
            let bytes = self.object_bytes(object);
            at = address + bytes;
            f(object, bytes);
        }
    }

    #[inline]
    fn object_bytes(&self, object: ObjectRef) -> usize {
        self.core.layout_of(object).object_bytes(object, self.slot_bytes)
    }

    /// Regions that objects may move to, ascending.
    fn target_sequence(&self, sources: &[RegionId]) -> Vec<RegionId> {
        let mut free = self.core.regions.free_regions();
        free.reverse();
        // Targets end up more than half full, since no object is larger than half a region.
        if self.core.options.zeal() && free.len() >= 2 * sources.len() {
            return free;
        }
        free.extend_from_slice(sources);
        free.sort_unstable();
        free
    }

    /// Appends the live objects of `source` to those that are placed already.
    fn place(&mut self, source: RegionId, targets: &mut impl Iterator<Item = RegionId>) {
        let geometry = &self.core.geometry;
        let live = self.core.regions.region(source).live_bytes();
        if live == 0 {
            self.moves[source.index()] = Some(Move { split_words: 0, first: 0, second: 0 });
            return;
        }
        let (room, first) = match self.targets.last() {
            Some((id, used)) => (geometry.region_bytes() - used, geometry.region_start(*id) + used),
            None => (0, 0),
        };
        let here = if live <= room { live } else { self.prefix_that_fits(source, room) };
        let mut second = 0;
        if here > 0 {
            self.targets.last_mut().expect("there was room in it").1 += here;
        }
        if here < live {
            let id = targets.next().expect("targets never run ahead of sources");
            second = geometry.region_start(id);
            self.targets.push((id, live - here));
        }
        let split_words = (here / 8) as u32;
        self.moves[source.index()] = Some(Move { split_words, first, second });
    }

    /// Bytes of the longest prefix of a region's live objects that fits into `room` bytes.
    fn prefix_that_fits(&self, source: RegionId, room: usize) -> usize {
        if room < OBJECT_BYTES_MIN {
            return 0;
        }
        let start = self.core.geometry.region_start(source);
        let end = start + self.core.regions.region(source).top();
        let (mut at, mut fits) = (start, 0);
        while let Some(address) = self.bitmap.next_marked(at, end) {
            let bytes = self.object_bytes(ObjectRef::from_address(address));
            if fits + bytes > room {
                break;
            }
            fits += bytes;
            at = address + bytes;
        }
        fits
    }
}

/// The highest index at which `count` elements are true.
fn highest_run(is_free: &[bool], count: usize) -> Option<usize> {
    let mut run = 0;
    (0..is_free.len()).rev().find(|i| {
        run = if is_free[*i] { run + 1 } else { 0 };
        run == count
    })
}

/// The table that [`Plan::new`] fills: one count for each word of the bitmap.
pub(in crate::collectors) fn prefix_table(geometry: &Geometry) -> Zeroed<u32> {
    Zeroed::new(geometry.heap_bytes() / BYTES_PER_WORD)
}

fn count_live(core: &HeapCore, bitmap: &MarkBitmap, prefix: &mut [u32]) {
    let per_region = core.geometry.region_bytes() / BYTES_PER_WORD;
    for (id, region) in core.regions.iter() {
        match region.usage() {
            RegionUse::Free => continue,
            RegionUse::HumongousRest => {
                region.set_live_bytes(0);
                continue;
            }
            _ => {}
        }
        let from = id.index() * per_region;
        let mut live = 0;
        for (word, before) in bitmap.region_words(id).iter().zip(&mut prefix[from..]) {
            *before = live;
            live += word.load(Ordering::Relaxed).count_ones();
        }
        let is_humongous = region.usage() == RegionUse::HumongousStart && live > 0;
        region.set_live_bytes(if is_humongous { region.top() } else { live as usize * 8 });
    }
}
