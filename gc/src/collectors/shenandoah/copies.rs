//! Memory that objects are copied to.
//!
//! ```text
//! to-region |copies|copies|  buffer of thread 1  |  buffer of the collector  | not handed out |
//!                                                                            ^ top
//! ```
//!
//! The pause that begins evacuation sets regions aside, as many as the live objects of the regions to be emptied may
//! need. Threads take buffers of them and copy without a lock. When the regions are used up all the same (buffers have
//! ends that are wasted), objects stay where they are; see [`Shared::copy`](super::Shared::copy).

use crate::core::heap_core::HeapCore;
use crate::memory::region::RegionUse;
use crate::object::geometry::RegionId;
use crate::object::{OBJECT_BYTES_MIN, ObjectRef};
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::Arc;
use swap::PageRange;

/// The piece of a to-region that a thread copies to. Own thread, or a pause on its behalf.
#[derive(Default)]
pub struct CopyBuffer {
    start: Cell<usize>,
    top: Cell<usize>,
    end: Cell<usize>,
}

/// Regions that objects are copied to in this cycle.
pub struct ToSpace {
    core: Arc<HeapCore>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Set aside and empty.
    reserved: Vec<RegionId>,
    current: Option<RegionId>,
}

impl ToSpace {
    pub fn new(core: Arc<HeapCore>) -> ToSpace {
        ToSpace { core, inner: Mutex::default() }
    }

    /// Sets up to `count` free regions aside. World stopped.
    pub fn reserve(&self, count: usize) {
        let mut inner = self.inner.lock();
        assert!(inner.reserved.is_empty() && inner.current.is_none(), "the last cycle is not over");
        let regions = &self.core.regions;
        inner.reserved.extend((0..count).map_while(|_| regions.take(RegionUse::Objects)));
        inner.reserved.reverse();
    }

    /// Gives back the regions that were not needed. World stopped, all buffers retired.
    pub fn close(&self) {
        let mut inner = self.inner.lock();
        inner.current = None;
        for id in std::mem::take(&mut inner.reserved) {
            self.core.regions.free(id, self.core.regions.region(id).is_clean());
        }
    }

    /// Memory for a copy of `bytes`, out of `buffer` or beside it.
    pub fn allocate(&self, buffer: &CopyBuffer, bytes: usize) -> Option<ObjectRef> {
        let top = buffer.top.get();
        if buffer.end.get() - top >= bytes {
            buffer.top.set(top + bytes);
            return Some(ObjectRef::from_address(top));
        }
        let limit = BUFFER_BYTES.min(self.core.geometry.region_bytes() / 8);
        if bytes > limit / 4 {
            return self.chunk(bytes, bytes).map(|(start, _)| ObjectRef::from_address(start));
        }
        self.retire(buffer);
        let (start, length) = self.chunk(bytes + RESERVE_BYTES, limit)?;
        buffer.start.set(start);
        buffer.top.set(start + bytes);
        buffer.end.set(start + length - RESERVE_BYTES);
        Some(ObjectRef::from_address(start))
    }

    /// Takes back memory that `allocate` gave last.
    pub fn give_back(&self, buffer: &CopyBuffer, object: ObjectRef, bytes: usize) {
        let is_last = object.address() + bytes == buffer.top.get();
        if is_last && object.address() >= buffer.start.get() {
            buffer.top.set(object.address());
        } else {
            self.core.fill(object.address(), bytes);
        }
    }

    /// Takes the buffer from the thread; its rest becomes a dead object. By the thread itself, or with the world
    /// stopped.
    pub fn retire(&self, buffer: &CopyBuffer) {
        let (top, end) = (buffer.top.replace(0), buffer.end.replace(0));
        if end != 0 {
            self.core.fill(top, end + RESERVE_BYTES - top);
        }
    }

    /// Memory of `least` to `wish` bytes, with its previous contents.
    fn chunk(&self, least: usize, wish: usize) -> Option<(usize, usize)> {
        let geometry = &self.core.geometry;
        let mut inner = self.inner.lock();
        let (id, top) = loop {
            if let Some(id) = inner.current {
                let top = self.core.regions.region(id).top();
                if geometry.region_bytes() - top >= least {
                    break (id, top);
                }
            }
            let next = inner.reserved.pop()?;
            inner.current = Some(next);
        };
        let region = self.core.regions.region(id);
        let length = wish.min(geometry.region_bytes() - top);
        region.set_top(top + length);
        let is_clean = region.is_clean();
        drop(inner);
        let start = geometry.region_start(id) + top;
        if let Some(pager) = self.core.space.pager()
            && is_clean
            && length <= BUFFER_BYTES
        {
            pager.populate(PageRange::of_bytes(geometry.offset(start), length));
        }
        Some((start, length))
    }
}

const BUFFER_BYTES: usize = 32 << 10;
/// Kept free at the end of each buffer, so that the rest can be made an object.
const RESERVE_BYTES: usize = OBJECT_BYTES_MIN;
