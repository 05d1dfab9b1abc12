//! The state that every part of a heap shares: geometry, memory, regions, layouts, safepoints, counters.

use crate::core::inspection;
use crate::core::stats::StatsRecorder;
use crate::core::strings::Strings;
use crate::memory::region::{Region, RegionTable, RegionUse};
use crate::memory::space::HeapSpace;
use crate::object::codec::SlotWidth;
use crate::object::geometry::{Geometry, RegionId};
use crate::object::layout::{KlassLayout, LayoutTable, ReferenceFields};
use crate::object::log::LogLevel;
use crate::object::{ARRAY_BASE_MIN, KlassId, OBJECT_BYTES_MIN, ObjectRef};
use crate::options::HeapOptions;
use crate::threads::binding::VmBinding;
use crate::threads::safepoint::{PauseTimes, Safepoints};
use crate::tracing::mark_stack::Zones;
use crate::tracing::references::{References, SoftLimit};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use swap::{PAGE_BYTES, Page, PageRange};

/// The parts of one heap that do not depend on the collector; collectors hold it in an `Arc`.
pub struct HeapCore {
    pub options: HeapOptions,
    pub geometry: Geometry,
    /// How slots hold addresses, where they do.
    pub slot_width: SlotWidth,
    pub space: Arc<HeapSpace>,
    pub regions: RegionTable,
    pub layouts: LayoutTable,
    pub safepoints: Safepoints,
    pub stats: StatsRecorder,
    pub(crate) inspections: inspection::Requests,
    pub strings: Strings,
    /// Class of the arrays that fill gaps, so that regions can be walked.
    pub filler: KlassId,
    /// Bytes allocated by threads that have detached, and outside buffers; relaxed.
    pub(crate) allocated_bytes: AtomicU64,
    /// Counts for the zeal options; relaxed.
    pub(crate) zeal_allocations: AtomicU64,
    pub(crate) zeal_polls: AtomicU64,
    /// `SoftReference.clock`: milliseconds, advanced at the end of each cycle. See [`HeapCore::tick_soft_clock`].
    soft_clock_ms: AtomicU64,
    binding: OnceLock<Arc<dyn VmBinding>>,
    reference_fields: OnceLock<ReferenceFields>,
}

impl HeapCore {
    pub(crate) fn new(options: HeapOptions, geometry: Geometry, space: HeapSpace) -> HeapCore {
        let geometry = Geometry { base: space.base(), ..geometry };
        let space = Arc::new(space);
        let commit = {
            let (space, shift) = (space.clone(), geometry.region_shift);
            move |first: RegionId, count: usize| {
                space.commit(first.index() << shift, count << shift)
            }
        };
        let layouts = LayoutTable::new();
        let filler = KlassLayout::PrimitiveArray { base: ARRAY_BASE_MIN as u32, log2_bytes: 0 };
        let filler = layouts.register(filler);
        HeapCore {
            regions: RegionTable::new(&geometry, Box::new(commit)),
            slot_width: options.slot_width(&geometry),
            options,
            geometry,
            space,
            layouts,
            safepoints: Safepoints::new(),
            stats: StatsRecorder::new(),
            inspections: inspection::Requests::default(),
            strings: Strings::default(),
            filler,
            allocated_bytes: AtomicU64::new(0),
            zeal_allocations: AtomicU64::new(0),
            zeal_polls: AtomicU64::new(0),
            soft_clock_ms: AtomicU64::new(0),
            binding: OnceLock::new(),
            reference_fields: OnceLock::new(),
        }
    }

    /// The VM. Panics before `Heap::bind`.
    pub fn binding(&self) -> &Arc<dyn VmBinding> {
        self.binding.get().expect("a heap is bound before it collects")
    }

    pub(crate) fn bind(&self, binding: Arc<dyn VmBinding>) {
        assert!(self.binding.set(binding).is_ok(), "heap bound twice");
    }

    /// Where references keep their fields; `None` before the VM said so (there are no references yet).
    pub fn reference_fields(&self) -> Option<&ReferenceFields> {
        self.reference_fields.get()
    }

    /// The references of a cycle that begins. `free_bytes` are those that the last one left free; `clear_soft` is set
    /// before an `OutOfMemoryError`.
    pub fn references(&self, free_bytes: usize, clear_soft: bool) -> References {
        let kept_ms = (free_bytes >> 20) as u64 * self.options.soft_ref_ms_per_mb;
        let soft_limit = match clear_soft {
            true => SoftLimit::ClearAll,
            false => SoftLimit::KeepRecent {
                clock_ms: self.soft_clock_ms() as i64,
                interval_ms: kept_ms as i64,
            },
        };
        References::new(self.reference_fields().copied(), soft_limit)
    }

    pub(crate) fn set_reference_fields(&self, fields: ReferenceFields) {
        assert!(self.reference_fields.set(fields).is_ok(), "reference fields set twice");
    }

    #[inline]
    pub fn region_of(&self, object: ObjectRef) -> &Region {
        self.regions.region(self.geometry.region_of(object))
    }

    /// The layout of an object's class.
    #[inline]
    pub fn layout_of(&self, object: ObjectRef) -> &KlassLayout {
        self.layouts.layout(object.klass())
    }

    /// Writes an object's header into zeroed memory. The value stays zero.
    #[inline]
    pub fn write_header(&self, object: ObjectRef, klass: KlassId, length: Option<u32>) {
        object.klass_word().store(klass.header(), Ordering::Relaxed);
        if let Some(length) = length {
            object.set_array_length(length);
        }
    }

    /// Turns `bytes` of dead memory at `address` into an unreachable object.
    pub fn fill(&self, address: usize, bytes: usize) {
        assert!(
            bytes.is_multiple_of(8) && (bytes == 0 || bytes >= OBJECT_BYTES_MIN),
            "fill {bytes} bytes"
        );
        if bytes == 0 {
            return;
        }
        let object = ObjectRef::from_address(address);
        object.value_word().store(0, Ordering::Relaxed);
        self.write_header(object, self.filler, Some((bytes - ARRAY_BASE_MIN) as u32));
    }

    /// Overwrites dead memory so that a stale reference to it is noticed (zeal).
    pub fn poison(&self, address: usize, bytes: usize) {
        if bytes == 0 {
            return;
        }
        assert!(self.geometry.contains(address), "poison {address:#x}");
        // SAFETY: inside the object space; the caller guarantees that the range holds nothing live.
        unsafe { std::ptr::write_bytes(address as *mut u8, POISON, bytes) }
    }

    /// Prepares memory that the caller alone has, and is about to overwrite: pages come without faults, and none that
    /// is in it as a whole is fetched.
    pub fn renew(&self, address: usize, bytes: usize) {
        let Some(pager) = self.space.pager().filter(|_| bytes > 0) else { return };
        let offset = self.geometry.offset(address);
        let (first, end) = (offset.div_ceil(PAGE_BYTES), (offset + bytes) / PAGE_BYTES);
        if first < end {
            pager.renew(PageRange::new(Page(first), end - first));
        }
        // The pages at its ends may have objects beside it.
        for edge in [address, address + bytes - 1] {
            pager.populate(PageRange::of_bytes(self.geometry.offset(edge), 1));
        }
    }

    /// Makes memory zero that the caller alone has, before an object is in it.
    pub fn zero(&self, address: usize, bytes: usize) {
        assert!(self.geometry.contains(address), "zero {address:#x}");
        self.renew(address, bytes);
        // SAFETY: inside the object space; the caller has taken the range for itself.
        unsafe { std::ptr::write_bytes(address as *mut u8, 0, bytes) }
    }

    /// Makes those of `count` regions zero that are not. The caller has just taken them.
    pub fn zero_dirty(&self, first: RegionId, count: usize) {
        for id in (first.0..first.0 + count as u32).map(RegionId) {
            if !self.regions.region(id).is_clean() {
                self.zero(self.geometry.region_start(id), self.geometry.region_bytes());
            }
        }
    }

    /// Gives the memory of a whole region back; it reads as zero afterwards. Memory servers keep theirs until
    /// [`HeapCore::end_cycle`].
    pub fn discard_region(&self, region: RegionId) {
        self.regions.region(region).set_served(true);
        self.space.vacate(self.region_offset(region), self.geometry.region_bytes());
    }

    /// Frees a region whose objects are dead. Its memory is given back; under zeal it is poisoned instead.
    pub fn free_region(&self, region: RegionId) {
        if self.options.zeal() {
            return self.free_with_memory(region);
        }
        self.discard_region(region);
        self.regions.free(region, true);
    }

    /// Whether free regions may keep their memory: local memory has room that nothing else needs now, and no other VM
    /// may be given. To give pages back and take new ones costs the kernel about 2 us each.
    pub fn has_spare_memory(&self) -> bool {
        self.space.pager().is_none_or(|pager| {
            self.options.local_memory_pool.is_none()
                && pager.spare_pages() * SPARE_SHARE > pager.budget_pages()
        })
    }

    /// Frees a region whose objects are dead; its memory stays, with anything in it, or poisoned under zeal.
    pub fn free_with_memory(&self, region: RegionId) {
        if self.options.zeal() {
            self.poison(self.geometry.region_start(region), self.geometry.region_bytes());
        }
        self.regions.region(region).set_served(true);
        self.regions.free(region, false);
    }

    /// Frees a young region whose objects are dead, and takes it for new ones at once: the first `kept` bytes keep
    /// their memory, with anything in it. False: another thread has taken it. In a pause.
    pub fn renew_region(&self, region: RegionId, kept: usize) -> bool {
        let (geometry, kept) = (&self.geometry, kept.next_multiple_of(PAGE_BYTES));
        if kept < geometry.region_bytes() {
            let offset = self.region_offset(region) + kept;
            self.space.vacate(offset, geometry.region_bytes() - kept);
        }
        self.free_with_memory(region);
        self.regions.take_where(RegionUse::Young, |free| free == region).is_some()
    }

    /// The parts of the heap that are traced one after the other.
    pub fn zones(&self) -> Zones {
        match self.space.pager().is_some() && self.options.trace_in_zones {
            true => Zones::new(self.geometry),
            false => Zones::one(self.geometry),
        }
    }

    /// Has servers give back the memory that they have for free regions, apart from the part that `MaxHeapFreeRatio`
    /// leaves them: the next objects are written to it, and giving memory back to take it again costs 3 us a page. Not
    /// for regions that keep their local memory.
    fn shrink_servers(&self) {
        if self.space.pager().is_none() {
            return;
        }
        let mut free = self.regions.free_regions();
        let used = self.geometry.regions - free.len();
        let percent = self.options.max_heap_free_percent.min(100);
        let kept = (used * percent).checked_div(100 - percent).unwrap_or(usize::MAX);
        free.retain(|id| {
            let region = self.regions.region(*id);
            region.is_served() && region.is_clean()
        });
        self.give_back_surplus(free, kept, |id| {
            self.space.discard(self.region_offset(id), self.geometry.region_bytes());
            self.regions.region(id).set_served(false);
            self.stats.count("server_regions_given_back", 1);
        });
    }

    /// The last step of every collector's cycle, before `VmBinding::cycle_finished`: the VM gets the strings that
    /// were found, the clock of soft references advances, and free regions give back local memory that others need, and
    /// servers what is not needed soon. In a pause, or where regions may be taken.
    pub fn end_cycle(&self) {
        self.hand_over_strings();
        self.make_spare_memory();
        self.shrink_servers();
        self.tick_soft_clock();
    }

    /// Free regions give memory back until there is some to spare.
    fn make_spare_memory(&self) {
        if self.options.zeal() {
            return;
        }
        for region in self.regions.dirty_free_regions() {
            if self.has_spare_memory() {
                return;
            }
            self.give_back(region, |id| self.discard_region(id));
        }
    }

    /// From now on the strings that were found are the VM's weak slots: before such slots are looked at, if some may
    /// be of an earlier part of the cycle. Any thread.
    pub fn hand_over_strings(&self) {
        let strings = self.strings.take();
        if !strings.is_empty() {
            self.stats.count("strings_found", strings.len() as u64);
            self.binding().strings_found(strings);
        }
    }

    /// Gives the memory of free regions back, apart from that of `kept` regions. Other threads may take regions
    /// meanwhile.
    pub fn trim(&self, kept: usize) {
        let dirty = self.regions.dirty_free_regions();
        self.give_back_surplus(dirty, kept, |id| self.discard_region(id));
    }

    /// Does `give_back` with the first of these free regions, all but `kept` of them.
    fn give_back_surplus(&self, free: Vec<RegionId>, kept: usize, give_back: impl Fn(RegionId)) {
        let surplus = free.len().saturating_sub(kept);
        free.into_iter().take(surplus).for_each(|id| self.give_back(id, &give_back));
    }

    /// Does `give_back` with a free region, if it still is free; no thread can take it meanwhile. A thread that takes
    /// it afterwards finds it zero.
    fn give_back(&self, id: RegionId, give_back: impl Fn(RegionId)) {
        if self.regions.take_where(RegionUse::Reserved, |free| free == id).is_some() {
            give_back(id);
            self.regions.free(id, true);
        }
    }

    /// Where a region begins in the heap's memory, in bytes.
    fn region_offset(&self, region: RegionId) -> usize {
        region.index() << self.geometry.region_shift
    }

    /// The value that `SoftReference.clock` has now, in milliseconds.
    pub fn soft_clock_ms(&self) -> u64 {
        self.soft_clock_ms.load(Ordering::Relaxed)
    }

    /// Advances the soft reference clock to now; at the end of a cycle, before `VmBinding::cycle_finished`.
    pub fn tick_soft_clock(&self) {
        self.soft_clock_ms.store(self.stats.uptime().as_millis() as u64, Ordering::Relaxed);
    }

    /// Records and logs a pause that has ended, by its names in the statistics and in the log. `pages_fetched`: by
    /// anyone meanwhile.
    pub fn record_pause(
        &self,
        (name, operation): (&'static str, &str),
        times: PauseTimes,
        pages_fetched: u64,
    ) {
        self.stats.record_pause(name, times, pages_fetched);
        self.options.log.line(LogLevel::Info, "safepoint", || {
            let (reaching, at) = (times.to_safepoint.as_nanos(), times.stopped.as_nanos());
            let total = reaching + at;
            format!(
                "Safepoint \"{operation}\", Reaching safepoint: {reaching} ns, At safepoint: {at} ns, \
                 Total: {total} ns"
            )
        });
    }

    /// Pages fetched from memory servers so far, by anyone; 0 without far memory.
    pub fn pages_fetched(&self) -> u64 {
        let stats = self.space.pager().map(|pager| pager.stats());
        stats.map_or(0, |stats| stats.fetch_faults.iter().sum::<u64>() + stats.prefetched_pages)
    }
}

/// Free regions keep their memory while more than this part of local memory is unused.
const SPARE_SHARE: usize = 8;

/// The byte with which freed memory is overwritten: not a class id, not an address, not a small number.
pub const POISON: u8 = 0xf5;
