//! Allocation for collectors that bump pointers through regions: thread-local buffers (TLABs), single objects too
//! large for the rest of a buffer, humongous objects.
//!
//! ```text
//! region  |objects|objects|  TLAB of thread 1  |  TLAB of thread 2  | not handed out (zero if clean) |
//!                                                                   ^ top
//! TLAB    |objects          | free            |16 B|   the reserve makes the rest fillable by an object:
//!         ^ start           ^ top             ^ end    no object is smaller than 16 bytes
//! ```
//!
//! Memory is handed out zeroed. Regions up to their tops can be walked object by object once all buffers are
//! retired.

use crate::core::collector::AllocRequest;
use crate::core::heap_core::HeapCore;
use crate::memory::region::RegionUse;
use crate::object::geometry::RegionId;
use crate::object::{OBJECT_BYTES_MIN, ObjectRef};
use crate::threads::mutator::Mutator;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use swap::PageRange;

/// Hands memory out of the regions of a heap.
pub struct RegionAllocator {
    core: Arc<HeapCore>,
    inner: Mutex<Inner>,
    /// No free region is taken while this many are in use: the heap grows only when a cycle said so. Written in
    /// pauses and by threads whose allocation failed; relaxed, since it is only a limit.
    regions_max: AtomicUsize,
    /// Takes a free region for buffers and ordinary objects.
    take: Box<dyn Fn() -> Option<RegionId> + Send + Sync>,
}

#[derive(Default)]
struct Inner {
    /// Where buffers come from now.
    current: Option<RegionId>,
    /// Regions with room behind their top, which are used before free ones.
    open: Vec<RegionId>,
    /// How many bytes may be handed out until there is another [`RegionAllocator::limit_bytes`]. `None`: no limit.
    left: Option<usize>,
}

impl RegionAllocator {
    pub fn new(core: Arc<HeapCore>) -> RegionAllocator {
        let taking = core.clone();
        let take = move || taking.regions.take(RegionUse::Objects);
        RegionAllocator::taking(core, Box::new(take))
    }

    /// As `new`; `take` takes each free region for buffers and ordinary objects, if it may be taken. It must be short,
    /// and take no lock but that of the regions.
    pub fn taking(
        core: Arc<HeapCore>,
        take: Box<dyn Fn() -> Option<RegionId> + Send + Sync>,
    ) -> RegionAllocator {
        let regions_max = AtomicUsize::new(core.geometry.regions);
        RegionAllocator { core, inner: Mutex::new(Inner::default()), regions_max, take }
    }

    /// Limits the heap to `bytes` until further notice.
    pub fn set_limit(&self, bytes: usize) {
        let geometry = &self.core.geometry;
        let regions = bytes.div_ceil(geometry.region_bytes()).clamp(1, geometry.regions);
        self.regions_max.store(regions, Ordering::Relaxed);
    }

    /// Allows this many regions more, or fewer.
    pub fn change_limit(&self, regions: isize) {
        let change = |max: usize| Some(max.saturating_add_signed(regions));
        let changed = self.regions_max.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
        changed.expect("there is always a new limit");
    }

    /// Bytes that can be allocated now: regions that may be taken, and the room behind the tops of others.
    pub fn available_bytes(&self) -> usize {
        let (regions, geometry) = (&self.core.regions, &self.core.geometry);
        let free = regions.free_count();
        let limit = self.regions_max.load(Ordering::Relaxed);
        let takable = free.min(limit.saturating_sub(geometry.regions - free));
        let inner = self.inner.lock();
        let open = inner.open.iter().chain(&inner.current);
        let behind = open.map(|id| geometry.region_bytes() - regions.region(*id).top());
        takable * geometry.region_bytes() + behind.sum::<usize>()
    }

    /// Limits the heap to `regions` regions until further notice.
    pub fn set_limit_regions(&self, regions: usize) {
        self.regions_max.store(regions, Ordering::Relaxed);
    }

    /// Hands out about `bytes` bytes from now on, until further notice, beside humongous objects.
    pub fn limit_bytes(&self, bytes: usize) {
        self.inner.lock().left = Some(bytes);
    }

    /// Allocates one object after the thread's buffer was too small for it; `None` when no memory is left.
    /// Reaches no safepoint.
    pub fn allocate(&self, m: &Mutator, request: AllocRequest) -> Option<ObjectRef> {
        let bytes = request.bytes;
        assert!(bytes >= OBJECT_BYTES_MIN && bytes.is_multiple_of(8), "object of {bytes} bytes");
        let address = if bytes > self.core.geometry.humongous_bytes() {
            self.humongous(bytes)?
        } else if self.worth_keeping(m) || self.core.options.zeal() || !self.refill(m, bytes) {
            self.chunk(bytes, bytes)?.0
        } else {
            let top = m.tlab_top.get();
            m.tlab_top.set(top + bytes);
            top
        };
        if address < m.tlab_start.get() || address >= m.tlab_end.get() {
            m.allocated_bytes.set(m.allocated_bytes.get() + bytes as u64);
        }
        let object = ObjectRef::from_address(address);
        self.core.write_header(object, request.klass, request.length);
        Some(object)
    }

    /// Takes the buffer from the thread; its rest becomes a dead object. By the thread itself, or with the
    /// world stopped.
    pub fn retire(&self, m: &Mutator) {
        let (top, end) = (m.tlab_top.get(), m.tlab_end.get());
        if end == 0 {
            return;
        }
        self.core.fill(top, end + TLAB_RESERVE_BYTES - top);
        m.set_buffer(0, 0);
    }

    /// Forgets the present region and names those with room behind their tops, best first. World stopped, all
    /// buffers retired.
    pub fn reset(&self, open: Vec<RegionId>) {
        let mut inner = self.inner.lock();
        inner.current = None;
        inner.open = open;
        inner.open.reverse();
    }

    /// Names anew the regions with room behind their tops, best first; the present one stays in use, so it is omitted.
    /// `list` runs with the lock held: no region is allocated from meanwhile.
    pub fn reopen(&self, list: impl FnOnce() -> Vec<RegionId>) {
        let mut inner = self.inner.lock();
        inner.open = list();
        let current = inner.current;
        inner.open.retain(|id| Some(*id) != current);
        inner.open.reverse();
    }

    /// Allocates no more in these regions. World stopped, all buffers in them retired.
    pub fn close(&self, is_closed: impl Fn(RegionId) -> bool) {
        let mut inner = self.inner.lock();
        inner.current.take_if(|id| is_closed(*id));
        inner.open.retain(|id| !is_closed(*id));
    }

    /// A buffer with much room left is kept, and the large object allocated beside it.
    fn worth_keeping(&self, m: &Mutator) -> bool {
        m.tlab_end.get() - m.tlab_top.get() > m.tlab_bytes.get() / 64
    }

    fn refill(&self, m: &Mutator, bytes: usize) -> bool {
        let limit = match self.core.space.pager() {
            // Buffers are populated ahead of use, out of the budget.
            Some(_) => FAR_TLAB_BYTES_MAX,
            None => TLAB_BYTES_MAX,
        };
        let geometry = &self.core.geometry;
        let share = (geometry.heap_bytes() / TLABS_WISHED).max(TLAB_BYTES_FEW);
        let limit = limit.min(geometry.region_bytes() / 4).min(share);
        let wish = (m.tlab_bytes.get() * 2).clamp(TLAB_BYTES_MIN, limit);
        let least = bytes + TLAB_RESERVE_BYTES;
        if least > wish / 4 {
            return false;
        }
        self.retire(m);
        let Some((start, length)) = self.chunk(least, wish) else { return false };
        m.tlab_bytes.set(wish);
        m.set_buffer(start, start + length - TLAB_RESERVE_BYTES);
        true
    }

    /// Zeroed memory of `least` to `wish` bytes.
    fn chunk(&self, least: usize, wish: usize) -> Option<(usize, usize)> {
        let geometry = &self.core.geometry;
        let mut inner = self.inner.lock();
        if inner.left == Some(0) {
            return None;
        }
        let (id, top) = loop {
            if let Some(id) = inner.current {
                let top = self.core.regions.region(id).top();
                if geometry.region_bytes() - top >= least {
                    break (id, top);
                }
            }
            let next = inner.open.pop();
            inner.current = Some(next.or_else(|| self.take_region())?);
        };
        let region = self.core.regions.region(id);
        let length = wish.min(geometry.region_bytes() - top);
        region.set_top(top + length);
        let dirty = !region.is_clean();
        inner.left = inner.left.map(|left| left.saturating_sub(length));
        drop(inner);
        let start = geometry.region_start(id) + top;
        if dirty {
            self.core.zero(start, length);
        } else if let Some(pager) = self.core.space.pager()
            && length <= FAR_TLAB_BYTES_MAX
        {
            pager.populate(PageRange::of_bytes(geometry.offset(start), length));
        }
        self.core.allocated_bytes.fetch_add(length as u64, Ordering::Relaxed);
        Some((start, length))
    }

    fn take_region(&self) -> Option<RegionId> {
        if !self.may_take(1) {
            return None;
        }
        (self.take)()
    }

    fn may_take(&self, count: usize) -> bool {
        let used = self.core.geometry.regions - self.core.regions.free_count();
        used + count <= self.regions_max.load(Ordering::Relaxed)
    }

    fn humongous(&self, bytes: usize) -> Option<usize> {
        let geometry = &self.core.geometry;
        let count = bytes.div_ceil(geometry.region_bytes());
        if !self.may_take(count) {
            return None;
        }
        let first = self.core.regions.take_humongous(count, bytes)?;
        let start = geometry.region_start(first);
        self.core.zero_dirty(first, count);
        self.core.allocated_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Some(start)
    }
}

/// Kept free at the end of each buffer.
const TLAB_RESERVE_BYTES: usize = OBJECT_BYTES_MIN;
const TLAB_BYTES_MIN: usize = 4 << 10;
/// Buffers are zeroed as a whole: zeroed memory should still be in the CPU's cache when it is used.
const TLAB_BYTES_MAX: usize = 128 << 10;
/// A heap should have room for this many buffers, as long as they are not smaller than `TLAB_BYTES_FEW`.
const TLABS_WISHED: usize = 1024;
const TLAB_BYTES_FEW: usize = 16 << 10;
const FAR_TLAB_BYTES_MAX: usize = 64 << 10;
