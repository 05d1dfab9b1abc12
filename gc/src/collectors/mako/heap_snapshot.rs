//! The objects of a moment, read from the servers while the program changes them: for heap dumps.
//!
//! The end of a cycle is a good moment: entries of dead objects are free, so the entries in use name what lives, and a
//! minor collection gives the young objects theirs. In the pause the dirty pages are written, and the allocation bits
//! of tablets are copied; then the pager keeps the pages as they are ([`swap::PageSnapshot`]). The rest is done beside
//! the program: entries are read, for where objects begin, and regions, one after the other. Nothing is fetched to
//! local memory.
//!
//! No cycle begins meanwhile: agents would move objects on the servers, past the pager.

use super::{Mako, SLOT_BYTES};
use crate::core::inspection::HeapSnapshot;
use crate::hit::{EntryWidth, HitGeometry, TABLET_ENTRIES, TABLET_WORDS, TabletId};
use crate::memory::mark_bitmap::MarkBitmap;
use crate::memory::region::RegionUse;
use crate::object::geometry::RegionId;
use crate::object::{OBJECT_BYTES_MIN, ObjectRef};
use crate::threads::mutator::WorldStopped;
use std::fs::File;
use std::io;
use std::sync::Arc;
use swap::{PAGE_BYTES, PageRange, PageSnapshot};

/// What is needed of the moment.
struct Moment {
    pages: PageSnapshot,
    /// Tablets in use with their allocation bits, in the order of their numbers.
    tablets: Vec<(TabletId, [u64; TABLET_WORDS])>,
    /// Regions in use, with the bytes from their starts that objects have; of a humongous object the first one.
    regions: Vec<(RegionId, usize)>,
    mako: HeldCycles,
}

/// A collector that begins no cycle.
struct HeldCycles(Arc<Mako>);

impl Drop for HeldCycles {
    fn drop(&mut self) {
        self.0.control.release();
    }
}

impl Mako {
    /// As [`Collector::snapshot`](crate::core::collector::Collector::snapshot).
    pub(super) fn snapshot_heap(
        &self,
        world: &WorldStopped,
        file: File,
    ) -> Option<Box<dyn HeapSnapshot>> {
        if !self.collect_young(world, None).is_empty() {
            // They have no entries.
            return None;
        }
        let entries = &self.shared.entries;
        let mut used = self.retire_all(world).used().to_vec();
        used.sort_unstable();
        let bits = |id: TabletId| (id, entries.tablet(id).words());
        let tablets: Vec<_> = used.into_iter().map(bits).collect();
        let has_objects = |usage| matches!(usage, RegionUse::Objects | RegionUse::HumongousStart);
        let regions = self.core.regions.iter().filter(|(_, region)| has_objects(region.usage()));
        let regions: Vec<_> = regions.map(|(id, region)| (id, region.top())).collect();
        let ranges = regions.iter().map(|(id, top)| self.pages_of(*id, *top));
        let ranges = ranges.chain(tablets.iter().map(|(id, _)| entries.geometry.tablet_pages(*id)));
        let pages = self.shared.pager().snapshot(&ranges.collect::<Vec<_>>(), file)?;
        let mako = self.me.upgrade().expect("the collector's thread has it");
        self.control.hold();
        Some(Box::new(Moment { pages, tablets, regions, mako: HeldCycles(mako) }))
    }

    fn pages_of(&self, region: RegionId, bytes: usize) -> PageRange {
        PageRange::of_bytes(self.shared.entries.geometry.region_offset(region), bytes)
    }
}

impl HeapSnapshot for Moment {
    fn slot_bytes(&self) -> usize {
        SLOT_BYTES
    }

    fn show(&mut self, show: &mut dyn FnMut(ObjectRef)) -> io::Result<()> {
        let starts = self.find_starts()?;
        let mako = &self.mako.0;
        let core = &mako.core;
        for (region, top) in &self.regions {
            let start = core.geometry.region_start(*region);
            let end = start + (*top).min(core.geometry.region_bytes());
            let Some(mut object) = starts.next_marked(start, end) else { continue };
            let words = self.pages.read(mako.pages_of(*region, *top))?;
            let copy = words.as_ptr().expose_provenance();
            loop {
                let shown = ObjectRef::from_address(copy + (object - start));
                let bytes = core.layout_of(shown).object_bytes(shown, SLOT_BYTES);
                assert!(
                    object + bytes <= start + top,
                    "an object of {bytes} bytes at {} of {region:?}, which ends at {top}",
                    object - start
                );
                show(shown);
                match starts.next_marked(object + OBJECT_BYTES_MIN, end) {
                    Some(next) => object = next,
                    None => break,
                }
            }
        }
        Ok(())
    }
}

impl Moment {
    /// Where objects begin: what entries in use name.
    fn find_starts(&mut self) -> io::Result<MarkBitmap> {
        let core = &self.mako.0.core;
        let geometry = &self.mako.0.shared.entries.geometry;
        let starts = MarkBitmap::new(&core.geometry);
        let is_next = |a: &(TabletId, _), b: &(TabletId, _)| a.0.0 + 1 == b.0.0;
        for group in self.tablets.chunk_by(is_next).flat_map(|group| group.chunks(READ_TOGETHER)) {
            let pages = geometry.tablet_pages(group[0].0);
            let words = self.pages.read(PageRange::new(pages.start, pages.count * group.len()))?;
            let words_each = pages.bytes() / size_of::<u64>();
            for ((_, bits), words) in group.iter().zip(words.chunks(words_each)) {
                for number in (0..TABLET_ENTRIES).filter(|n| bits[n / 64] >> (n % 64) & 1 != 0) {
                    // One that is claimed and names nothing yet is of a young object that died.
                    if let Some(offset) = geometry.offset_of(place(geometry, words, number)) {
                        starts.mark_alone(ObjectRef::from_address(core.geometry.base + offset));
                    }
                }
            }
        }
        Ok(starts)
    }
}

/// The entry with a number in words of a tablet.
fn place(geometry: &HitGeometry, words: &[u64], number: usize) -> u64 {
    match geometry.width() {
        EntryWidth::Wide => words[number],
        // Two to a word, in the order of memory.
        EntryWidth::Narrow => words[number / 2] >> (number % 2 * 32) & u64::from(u32::MAX),
    }
}

/// Tablets that are read together.
const READ_TOGETHER: usize = 64;

const _: () = assert!((TABLET_ENTRIES * 4).is_multiple_of(PAGE_BYTES), "tablets are whole pages");
