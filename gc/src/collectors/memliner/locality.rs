//! Whether an object is in local memory.

use super::stamps::{Stamps, stamp_bits};
use crate::core::heap_core::HeapCore;
use crate::object::{HEADER_BYTES, ObjectRef};
use crate::options::Estimator;
use std::sync::Arc;
use swap::{PAGE_BYTES, Pager, ThreadClass};

/// The estimator that was chosen.
pub struct Locality {
    core: Arc<HeapCore>,
    estimator: Estimator,
    stamps: Stamps,
}

impl Locality {
    pub fn new(core: Arc<HeapCore>) -> Locality {
        let estimator = match core.space.pager() {
            Some(_) => core.options.memliner.estimator,
            None => Estimator::None,
        };
        let options = &core.options.memliner;
        let stamps = Stamps::new(options.epoch_bits, options.epochs_max);
        Locality { core, estimator, stamps }
    }

    /// Whether to look at an object of the snapshot now is likely to cause no fault. Reads its header only if that is
    /// in local memory.
    #[inline]
    pub fn is_local(&self, object: ObjectRef, stamp: u8) -> bool {
        match self.estimator {
            Estimator::None => true,
            Estimator::Residency => self.is_here(object),
            Estimator::Epoch => self.stamps.is_recent(stamp, self.epoch()),
        }
    }

    /// Whether the estimator is not the pager itself, and its answer differs from the pager's.
    pub fn is_mistaken(&self, object: ObjectRef, is_local: bool) -> bool {
        self.estimator == Estimator::Epoch && self.is_here(object) != is_local
    }

    /// The pager's epoch; 0 for ever without far memory.
    pub fn epoch(&self) -> u64 {
        self.core.space.pager().map_or(0, |pager| pager.epoch())
    }

    /// Faults of the program so far that fetched a page, perhaps with others.
    pub fn fetched(&self) -> u64 {
        self.core.space.pager().map_or(0, |pager| pager.fetch_faults(ThreadClass::Mutator))
    }

    /// Whether objects near a touched one are explored even if they are remote.
    #[inline]
    pub fn explores_remote(&self) -> bool {
        self.core.options.memliner.explore_remote
    }

    /// Whether to look at an object that the program has just used is likely to cause no fault. Where references say
    /// when they were used, that one says so; only the pager knows better.
    #[inline]
    pub fn is_touched_local(&self, object: ObjectRef) -> bool {
        self.estimator != Estimator::Residency || self.is_here(object)
    }

    /// The stamp of references that are used now.
    pub fn stamp(&self) -> u64 {
        stamp_bits(self.stamps.stamp(self.epoch()))
    }

    fn is_here(&self, object: ObjectRef) -> bool {
        self.core.space.pager().is_none_or(|pager| self.is_resident(pager, object))
    }

    /// All pages of the object that have slots, of a large one some: a tracer that scans it reads them in order, and
    /// the pages of readahead are not resident yet. A page that was never touched counts as remote: its state is
    /// unknown.
    fn is_resident(&self, pager: &Pager, object: ObjectRef) -> bool {
        has_header_here(pager, object)
            && (!self.core.layout_of(object).has_slots()
                || self.are_pages_here(pager, object, PAGES_MAX))
    }

    /// Whether up to `most` pages of an object behind its first one are in local memory. Its header is.
    fn are_pages_here(&self, pager: &Pager, object: ObjectRef, most: usize) -> bool {
        let start = object.address();
        let last = start
            + self.core.layout_of(object).object_bytes(object, self.core.slot_width.bytes())
            - 1;
        let first_page = start & !(PAGE_BYTES - 1);
        let mut behind = (first_page..=last).step_by(PAGE_BYTES).skip(1).take(most);
        behind.all(|address| is_page_here(pager, address))
    }

    /// Whether all pages of an object are in local memory: then to copy it now causes no fault. The pager is asked,
    /// with any estimator. Without far memory all are.
    pub fn is_all_here(&self, object: ObjectRef) -> bool {
        self.core.space.pager().is_none_or(|pager| {
            has_header_here(pager, object) && self.are_pages_here(pager, object, usize::MAX)
        })
    }

    /// Percent of the heap that are free.
    pub fn free_percent(&self) -> usize {
        self.core.regions.free_count() * 100 / self.core.geometry.regions
    }
}

/// Whether an object's header and array length are in local memory.
fn has_header_here(pager: &Pager, object: ObjectRef) -> bool {
    let (start, end) = (object.address(), object.address() + HEADER_BYTES);
    is_page_here(pager, start)
        && (start / PAGE_BYTES == end / PAGE_BYTES || is_page_here(pager, end))
}

fn is_page_here(pager: &Pager, address: usize) -> bool {
    let page = pager.page_of(std::ptr::without_provenance(address));
    pager.is_resident(page.expect("an object of the heap"))
}

/// Further pages of an object for which the pager is asked.
const PAGES_MAX: usize = 16;
