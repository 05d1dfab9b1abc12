//! Whether an object is in local memory.

use super::options::Estimator;
use super::stamps::{Stamps, stamp_bits};
use crate::geometry::Geometry;
use crate::heap_core::HeapCore;
use crate::object::{HEADER_BYTES, ObjectRef};
use std::sync::Arc;
use swap::{PAGE_BYTES, Pager};

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

    /// Whether the estimator says what the pager knows better, and what it says is wrong.
    pub fn is_mistaken(&self, object: ObjectRef, is_local: bool) -> bool {
        self.estimator == Estimator::Epoch && self.is_here(object) != is_local
    }

    /// The pager's epoch; 0 for ever without far memory.
    pub fn epoch(&self) -> u64 {
        self.core.space.pager().map_or(0, |pager| pager.epoch())
    }

    /// What references get that are used now.
    pub fn stamp(&self) -> u64 {
        stamp_bits(self.stamps.stamp(self.epoch()))
    }

    fn is_here(&self, object: ObjectRef) -> bool {
        self.core.space.pager().is_none_or(|pager| self.is_resident(pager, object))
    }

    /// All pages of the object that have slots, of a large one some: who scans it reads them in order, and what comes
    /// ahead of a walk is not here yet. A page that was never touched counts as remote: nobody knows.
    fn is_resident(&self, pager: &Pager, object: ObjectRef) -> bool {
        let is_here = |address: usize| {
            let page = pager.page_of(std::ptr::without_provenance(address));
            pager.is_resident(page.expect("an object of the heap"))
        };
        let start = object.address();
        if !is_here(start) || !is_here(start + HEADER_BYTES) {
            return false;
        }
        let layout = self.core.layout_of(object);
        if !layout.has_slots() {
            return true;
        }
        let last = start + layout.object_bytes(object, super::SLOT_BYTES) - 1;
        let first_page = start & !(PAGE_BYTES - 1);
        (first_page..=last).step_by(PAGE_BYTES).skip(1).take(PAGES_MAX).all(is_here)
    }

    pub fn geometry(&self) -> &Geometry {
        &self.core.geometry
    }

    /// Percent of the heap that are free.
    pub fn free_percent(&self) -> usize {
        self.core.regions.free_count() * 100 / self.core.geometry.regions
    }
}

/// Further pages of an object that are asked for.
const PAGES_MAX: usize = 16;
