//! The heap as the VM sees it: one collector chosen at run time, behind one type.

use crate::barrier::BarrierSet;
use crate::collectors::choose;
use crate::core::collector::{AllocRequest, Collector, CollectorParts, CollectorPlan};
use crate::core::heap_core::HeapCore;
use crate::core::histogram::{ClassCount, Counter};
use crate::core::inspection::{Asked, Inspector, Objects};
use crate::core::memory_use::MemoryUse;
use crate::core::outcome::{AllocFailure, CollectCause};
use crate::core::stats::{
    CollectorCounters, FaultTrace, HeapStats, LastCycle, PagerCounters, PauseRecord, PoolFigures,
    YoungBytes, survival_counters,
};
use crate::memory::error::HeapError;
use crate::memory::space::HeapSpace;
use crate::object::codec::SlotWidth;
use crate::object::geometry::Geometry;
use crate::object::layout::{LayoutTable, ReferenceFields};
use crate::object::log::LogLevel;
use crate::object::{KlassId, ObjectRef};
use crate::options::HeapOptions;
use crate::threads::binding::VmBinding;
use crate::threads::mutator::{Mutator, WorldStopped};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use swap::{FaultObserver, PAGE_BYTES, PoolStatus};

/// The managed heap of one VM.
pub struct Heap {
    barriers: Box<dyn BarrierSet>,
    collector: Arc<dyn Collector>,
    core: Arc<HeapCore>,
}

impl Heap {
    /// Reserves the heap, starts or contacts memory servers and collector threads. Errors are messages for
    /// the command line (a budget that is too small, userfaultfd denied, no memory server).
    pub fn new(options: &HeapOptions) -> Result<Arc<Heap>, HeapError> {
        let region_bytes =
            options.region_bytes.or(choose::region_bytes(options.collector, options.max_bytes));
        let options = &HeapOptions { region_bytes, ..options.clone() };
        Heap::with_plan(options, |geometry| choose::plan(options, geometry))
    }

    /// As [`new`](Self::new), with a collector from outside of this crate. Statistics then carry the name of
    /// `options.collector`, which also says whether slots may be narrow, and nothing else.
    pub fn with_plan(
        options: &HeapOptions,
        plan: impl FnOnce(&Geometry) -> Box<dyn CollectorPlan>,
    ) -> Result<Arc<Heap>, HeapError> {
        let geometry = Geometry::choose(options.max_bytes, options.region_bytes)
            .map_err(HeapError::Options)?;
        let plan = plan(&geometry);
        let space = HeapSpace::reserve(options, &geometry, plan.needs(options, &geometry))?;
        if options.pre_touch {
            space.pre_touch(options.initial_bytes);
        }
        let core = Arc::new(HeapCore::new(options.clone(), geometry, space));
        let CollectorParts { barriers, collector } = plan.build(core.clone())?;
        let log = &core.options.log;
        log.line(LogLevel::Info, "gc", || format!("Using {}", collector.title()));
        log.line(LogLevel::Info, "gc,init", || {
            format!("Heap Region Size: {}K", core.geometry.region_bytes() >> 10)
        });
        log.line(LogLevel::Info, "gc,init", || {
            format!("Heap Max Capacity: {}M", core.geometry.heap_bytes() >> 20)
        });
        log.line(LogLevel::Info, "gc,init", || {
            let is_narrow = barriers.slot_bytes() == SlotWidth::Narrow.bytes();
            format!("Compressed Oops: {}", if is_narrow { "Enabled" } else { "Disabled" })
        });
        Ok(Arc::new(Heap { barriers, collector, core }))
    }

    /// Names the VM, once, before the first mutator attaches.
    pub fn bind(&self, binding: Arc<dyn VmBinding>) {
        self.core.bind(binding);
        self.collector.start();
    }

    /// Tells where `java.lang.ref.Reference` keeps its fields, once, before the first reference object exists.
    pub fn set_reference_fields(&self, fields: ReferenceFields) {
        self.core.set_reference_fields(fields);
    }

    /// Where the VM registers classes and all parts look them up.
    pub fn layouts(&self) -> &LayoutTable {
        &self.core.layouts
    }

    #[inline]
    pub fn barriers(&self) -> &dyn BarrierSet {
        &*self.barriers
    }

    /// Makes a thread a mutator, in the running state. The block must not move until `detach`. Waits while the
    /// world is stopped.
    pub fn attach(&self, m: &Mutator) {
        if self.core.options.zeal_poll_interval.is_some() {
            m.point().poll_always();
        }
        self.core.safepoints.attach(m, |m| self.collector.attached(m));
    }

    /// Ends a thread's life as a mutator; it must hold no plain address. Waits while the world is stopped.
    pub fn detach(&self, m: &Mutator) {
        self.core.safepoints.detach(m, |m| self.collector.detached(m));
    }

    /// Allocates a zeroed object with its header filled (class, entry index under Mako, `length` for arrays).
    /// `bytes` is the aligned size. **May collect: every plain address that the caller holds outside a root
    /// is invalid afterwards**, also on failure.
    #[inline]
    pub fn allocate(
        &self,
        m: &Mutator,
        klass: KlassId,
        bytes: usize,
        length: Option<u32>,
    ) -> Result<ObjectRef, AllocFailure> {
        debug_assert!(m.is_running() && bytes.is_multiple_of(8), "allocate {bytes} of {klass:?}");
        let object = self.barriers.allocate(m, klass, bytes, length);
        if object.is_null() {
            return self.allocate_slow(m, AllocRequest { klass, bytes, length });
        }
        Ok(object)
    }

    #[cold]
    fn allocate_slow(&self, m: &Mutator, request: AllocRequest) -> Result<ObjectRef, AllocFailure> {
        if request.length.is_some_and(|length| length > ARRAY_LENGTH_MAX) {
            return Err(AllocFailure::TooLarge);
        }
        if request.bytes > self.core.geometry.heap_bytes() {
            return Err(AllocFailure::HeapFull);
        }
        if let Some(interval) = self.core.options.zeal_alloc_interval
            && self
                .core
                .zeal_allocations
                .fetch_add(1, Ordering::Relaxed)
                .is_multiple_of(interval.max(1))
        {
            self.collector.collect(Some(m), CollectCause::Zeal);
        }
        self.collector.allocate(m, request)
    }

    /// Runs a full cycle and returns when it is done. The caller is running; a safepoint for it.
    pub fn collect(&self, m: &Mutator, cause: CollectCause) {
        self.collector.collect(Some(m), cause);
    }

    /// The reachable objects of each class that has any, in the order of ids. Runs a full cycle, so it is a safepoint
    /// for the caller, which is running, and blocks it until the cycle is over; the world is stopped while objects are
    /// counted. `None`: the collector ended, or it is one from outside of this crate that does not count.
    pub fn histogram(&self, m: &Mutator) -> Option<Vec<ClassCount>> {
        let counter = self.inspect(m, CollectCause::HeapInspection, Counter::default())?;
        Some(counter.into_counts())
    }

    /// Shows an inspector all reachable objects, and gives it back. As [`histogram`](Self::histogram) in everything
    /// else: a full cycle runs, and the world is stopped while the inspector is called. An inspector with a
    /// [file to spare](Inspector::snapshot_file) may be shown copies of the objects beside the program; no cycle begins
    /// meanwhile.
    pub fn inspect<I: Inspector + 'static>(
        &self,
        m: &Mutator,
        cause: CollectCause,
        mut inspector: I,
    ) -> Option<I> {
        let file = inspector.snapshot_file();
        let asked =
            Arc::new(Mutex::new(Asked { is_served: false, file, snapshot: None, inspector }));
        let waiting: Arc<Mutex<Asked<dyn Inspector>>> = asked.clone();
        self.core.inspections.ask(waiting.clone());
        self.collector.collect(Some(m), cause);
        self.core.inspections.withdraw(&waiting);
        drop(waiting);
        // A walk that served it has let go of it before the world went on.
        let Asked { is_served, snapshot, mut inspector, .. } = Arc::into_inner(asked)?.into_inner();
        if let Some(mut snapshot) = snapshot {
            let (core, collector) = (&*self.core, &*self.collector);
            let objects = Objects::copies(core, collector, snapshot.slot_bytes());
            self.enter_safe(m);
            let shown = snapshot.show(&mut |object| inspector.object(&objects, object));
            drop(snapshot);
            self.leave_safe(m);
            if let Err(error) = shown {
                inspector.failed(error);
            }
        }
        is_served.then_some(inspector)
    }

    /// From now on strings, which are of this class, are looked for ([`crate::core::strings`]). Once.
    pub fn look_for_strings(&self, klass: KlassId) {
        self.core.strings.look_for(klass);
    }

    /// Stops at a requested safepoint until it is over. Call when `poll_requested`. Plain addresses outside
    /// roots are invalid afterwards.
    #[cold]
    pub fn safepoint(&self, m: &Mutator) {
        self.core.safepoints.poll_slow(m);
        if let Some(interval) = self.core.options.zeal_poll_interval
            && self.core.zeal_polls.fetch_add(1, Ordering::Relaxed).is_multiple_of(interval.max(1))
        {
            self.collector.collect(Some(m), CollectCause::Zeal);
        }
    }

    /// From running to safe: the thread promises to touch no heap word until `leave_safe`.
    #[inline]
    pub fn enter_safe(&self, m: &Mutator) {
        debug_assert!(m.is_running());
        self.core.safepoints.enter_safe(m);
    }

    /// From safe to running; blocks while the world is stopped.
    #[inline]
    pub fn leave_safe(&self, m: &Mutator) {
        debug_assert!(!m.is_running());
        self.core.safepoints.leave_safe(m);
    }

    /// The process is about to end: frees what would outlive it in a pool of remote memory. A thread that touches a
    /// remote page from now on sleeps until the end. Any thread; blocks on the file system.
    pub fn end(&self) {
        self.core.space.end();
    }

    /// Runs `f` with every other mutator stopped. The caller is a running mutator (`Some`), whose frames must
    /// be walkable, or no mutator at all.
    pub fn stop_world(&self, m: Option<&Mutator>, f: &mut dyn FnMut(&WorldStopped)) {
        self.core.safepoints.stop_world(m, f);
    }

    /// An object's entry, where headers have entries. It has one from now on at the latest, and always the same. On a
    /// running thread; no safepoint.
    #[inline]
    pub fn entry(&self, object: ObjectRef) -> u32 {
        let value = object.value_word().load(Ordering::Relaxed);
        if value == 0 || value > self.barriers.entry_max() {
            return self.collector.entry(object);
        }
        value
    }

    /// Keeps an object where it is until `unpin` (JNI critical sections). Counted per object's region.
    pub fn pin(&self, object: ObjectRef) {
        self.collector.pin(object);
    }

    pub fn unpin(&self, object: ObjectRef) {
        self.collector.unpin(object);
    }

    /// Whether the collector counts an object among the old ones. By a running mutator.
    pub fn is_old(&self, object: ObjectRef) -> bool {
        self.collector.is_old(object)
    }

    /// As [`Collector::is_marking`].
    pub fn is_marking(&self) -> bool {
        self.collector.is_marking()
    }

    /// Whether no page of the heap is ever remote: then native code, and system calls that it makes, may use
    /// the addresses of pinned objects.
    pub fn is_all_local(&self) -> bool {
        self.core.space.pager().is_none()
    }

    pub fn max_bytes(&self) -> usize {
        self.core.geometry.heap_bytes()
    }

    /// Bytes in regions that hold objects.
    pub fn used_bytes(&self) -> usize {
        self.core.regions.used_bytes()
    }

    /// Bytes of regions taken from the system; at least the initial size.
    pub fn committed_bytes(&self) -> usize {
        let bytes = self.core.regions.committed_count() * self.core.geometry.region_bytes();
        bytes.max(self.core.options.initial_bytes).min(self.max_bytes())
    }

    /// Whether `address` lies in the heap's object space.
    pub fn contains(&self, address: usize) -> bool {
        self.core.geometry.contains(address)
    }

    /// The value of `SoftReference.clock`, in milliseconds: the VM copies it there in [`VmBinding::cycle_finished`].
    pub fn soft_clock_ms(&self) -> u64 {
        self.core.soft_clock_ms()
    }

    /// Names of the collector's management beans, with the counters of each.
    pub fn collector_beans(&self) -> Vec<(&'static str, CollectorCounters)> {
        let names = self.collector.beans().iter().enumerate();
        names.map(|(i, name)| (*name, self.core.stats.bean(i))).collect()
    }

    /// Name of the management bean of the heap's memory.
    pub fn pool_name(&self) -> &'static str {
        self.collector.pool()
    }

    /// Names of the beans of eden's and of the survivors' memory; then [`pool_name`](Heap::pool_name) is that of the
    /// rest. Else there are no such beans.
    pub fn young_pool_names(&self) -> Option<[&'static str; 2]> {
        self.collector.young_pools()
    }

    /// What of [`used_bytes`](Heap::used_bytes) the collector counts as young; nothing without such beans. Any thread.
    pub fn young_bytes(&self) -> YoungBytes {
        self.collector.young_bytes()
    }

    /// The last cycle of a bean of [`Heap::collector_beans`].
    pub fn last_cycle(&self, bean: usize) -> Option<LastCycle> {
        self.core.stats.last_cycle(bean)
    }

    /// As [`StatsRecorder::keep_cycles`](crate::core::stats::StatsRecorder::keep_cycles).
    pub fn keep_cycles(&self, are_kept: bool) {
        self.core.stats.keep_cycles(are_kept);
    }

    /// As [`StatsRecorder::take_cycles`](crate::core::stats::StatsRecorder::take_cycles).
    pub fn take_cycles(&self) -> Vec<(usize, LastCycle)> {
        self.core.stats.take_cycles()
    }

    /// Time since the heap was made, from which times of cycles and pauses count.
    pub fn uptime(&self) -> Duration {
        self.core.stats.uptime()
    }

    /// The cycles and pauses behind the first `cycles` and `pauses` of a run, in order. Only the first ones of a long
    /// run are kept ([`HeapStats::pauses`], [`HeapStats::footprint`]).
    pub fn records_since(
        &self,
        cycles: usize,
        pauses: usize,
    ) -> (Vec<LastCycle>, Vec<PauseRecord>) {
        self.core.stats.since(cycles, pauses)
    }

    /// Everything that is counted, now.
    pub fn stats(&self) -> HeapStats {
        HeapStats {
            pauses: self.core.stats.pauses(),
            footprint: self.core.stats.footprint(),
            fault_trace: self.core.space.pager().and_then(|pager| FaultTrace::of(pager)),
            ..self.totals()
        }
    }

    /// Resident memory of this process and of servers on this machine, now: a walk over all that is mapped of servers'
    /// memory, so for figures that are asked for seldom.
    pub fn memory_use(&self) -> MemoryUse {
        let space = &self.core.space;
        let memory = MemoryUse::now(space.fleet().map(|fleet| &**fleet));
        #[cfg(not(loom))]
        let memory = match space.memory_pool() {
            Some(pool) => memory.with_pool(pool),
            None => memory,
        };
        memory
    }

    /// The same with resident memory, and that of tables ([`HeapStats::metadata`], [`HeapStats::server_metadata`]), for
    /// the end of a program: the memory map of each table of this process is read. Logs it, too.
    pub fn stats_at_exit(&self) -> HeapStats {
        let mut stats = self.stats();
        stats.memory = self.memory_use();
        stats.metadata = added_up(self.collector.metadata());
        if let Some(pager) = self.core.space.pager() {
            stats.metadata.insert("page_states", pager.table_bytes());
        }
        stats.server_metadata = added_up(self.collector.server_metadata());
        let percent_of_used =
            |tables: &BTreeMap<_, usize>| percent(tables.values().sum(), stats.used_bytes);
        stats.metadata_percent = percent_of_used(&stats.metadata);
        stats.server_metadata_percent = percent_of_used(&stats.server_metadata);
        let log = |title: &str, tables: &BTreeMap<&str, usize>, percent: f64| {
            self.core.options.log.line(LogLevel::Debug, "gc,heap,exit", || {
                let all: usize = tables.values().sum();
                let parts = tables.iter().map(|(name, bytes)| format!("{name} {}K", bytes >> 10));
                let parts = parts.collect::<Vec<_>>().join(", ");
                format!("{title} {}K, {percent:.2}% of used memory: {parts}", all >> 10)
            });
        };
        log("Metadata", &stats.metadata, stats.metadata_percent);
        if !stats.server_metadata.is_empty() {
            let percent = stats.server_metadata_percent;
            log("Metadata on servers", &stats.server_metadata, percent);
        }
        stats
    }

    /// The same without the lists of pauses, cycles and faults, which may be long.
    pub fn totals(&self) -> HeapStats {
        let mut stats = HeapStats {
            collector: self.core.options.collector.name(),
            max_bytes: self.max_bytes(),
            region_bytes: self.core.geometry.region_bytes(),
            used_bytes: self.used_bytes(),
            committed_bytes: self.committed_bytes(),
            allocated_bytes: self.core.allocated_bytes.load(Ordering::Relaxed),
            mutators_blocked: self.core.safepoints.blocked_times(),
            memory: MemoryUse::default(),
            pager: self.core.space.pager().map(|pager| PagerCounters::of(pager)),
            survival: self.core.space.survival().map(survival_counters),
            local_memory_pool: self.core.space.pool().map(|PoolStatus { name, bytes, members }| {
                let limit_pages = self.core.space.pager().map_or(0, |pager| pager.limit_pages());
                PoolFigures { name, bytes, members, limit_bytes: limit_pages * PAGE_BYTES }
            }),
            ..HeapStats::default()
        };
        self.core.stats.fill(&mut stats);
        stats
    }

    /// Shows one in `one_in` of the page faults that fetch a page to an observer from now on, in the fault handler.
    /// Once; returns whether there can be any.
    pub fn observe_faults(&self, one_in: u32, observer: Arc<dyn FaultObserver>) -> bool {
        self.core.space.pager().is_some_and(|pager| pager.observe_faults(one_in, observer))
    }

    /// As [`Collector::card`].
    pub fn card(&self, address: usize) -> Option<&AtomicU8> {
        self.collector.card(address)
    }

    /// The parts below the façade, for tests and tools of this crate.
    pub fn core(&self) -> &Arc<HeapCore> {
        &self.core
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        self.collector.stop();
    }
}

/// The sums of the parts of each name.
fn added_up(parts: Vec<(&'static str, usize)>) -> BTreeMap<&'static str, usize> {
    let mut sums = BTreeMap::new();
    parts.into_iter().for_each(|(name, bytes)| *sums.entry(name).or_default() += bytes);
    sums
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// Longer arrays are refused in heaps of any size, as `java` does.
const ARRAY_LENGTH_MAX: u32 = i32::MAX as u32 - 2;
