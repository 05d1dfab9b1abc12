//! Everything about the heap that can be chosen at start-up. The doc comments are the help texts.

mod g1;
mod mako;
mod memliner;
mod semeru;
mod shenandoah;

use crate::object::OBJECT_ALIGNMENT;
use crate::object::codec::{NARROW_LIMIT, SlotWidth};
use crate::object::geometry::Geometry;
use crate::object::log::GcLog;
use base::options;
use base::options::{BadSetting, OptionGroup, Setting};
pub use base::units::parse_bytes;
pub use g1::G1Options;
pub use mako::{ENTRY_BUFFER, MINOR_PAUSE_TARGET_MS_MAX, MakoOptions};
pub use memliner::{DelaysMax, Estimator, MemLinerOptions};
pub use semeru::SemeruOptions;
pub use shenandoah::{ForwardingPlace, ShenandoahOptions};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Which collector runs. The test matrix is read from [`CollectorKind::ALL`]; collectors are listed only once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CollectorKind {
    Epsilon,
    Serial,
    G1,
    Shenandoah,
    Semeru,
    Mako,
    MemLinerG1,
    MemLinerShenandoah,
}

impl CollectorKind {
    pub const ALL: &[CollectorKind] = &[
        CollectorKind::Epsilon,
        CollectorKind::Serial,
        CollectorKind::G1,
        CollectorKind::Shenandoah,
        CollectorKind::Semeru,
        CollectorKind::Mako,
        CollectorKind::MemLinerG1,
        CollectorKind::MemLinerShenandoah,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            CollectorKind::Epsilon => "epsilon",
            CollectorKind::Serial => "serial",
            CollectorKind::G1 => "g1",
            CollectorKind::Shenandoah => "shenandoah",
            CollectorKind::Semeru => "semeru",
            CollectorKind::Mako => "mako",
            CollectorKind::MemLinerG1 => "memliner-g1",
            CollectorKind::MemLinerShenandoah => "memliner-shenandoah",
        }
    }

    /// The collector of the switch `-XX:+UseTITLEGC`: `Mako` names `mako`, `MemLinerG1` `memliner-g1`.
    pub fn of_switch(title: &str) -> Option<CollectorKind> {
        let is_named =
            |kind: &&CollectorKind| kind.name().replace('-', "").eq_ignore_ascii_case(title);
        CollectorKind::ALL.iter().find(is_named).copied()
    }

    /// The collector that is most like one of HotSpot that there is not here, by the title in its switch: generations
    /// and parallel pauses, or work beside the program.
    pub fn instead_of(title: &str) -> Option<CollectorKind> {
        match title {
            "Parallel" => Some(CollectorKind::G1),
            "Z" => Some(CollectorKind::Shenandoah),
            _ => None,
        }
    }

    /// Whether it ever frees memory.
    pub fn collects(self) -> bool {
        self != CollectorKind::Epsilon
    }

    /// Whether its tracing is aligned with the program: MemLiner.
    pub fn is_lined(self) -> bool {
        matches!(self, CollectorKind::MemLinerG1 | CollectorKind::MemLinerShenandoah)
    }

    /// Whether it has G1's generations, cards and pauses.
    pub fn is_g1(self) -> bool {
        use CollectorKind::{G1, MemLinerG1, Semeru};
        matches!(self, G1 | Semeru | MemLinerG1)
    }

    /// Whether it marks, moves and updates as Shenandoah does.
    pub fn is_shenandoah(self) -> bool {
        matches!(self, CollectorKind::Shenandoah | CollectorKind::MemLinerShenandoah)
    }
}

impl FromStr for CollectorKind {
    type Err = String;

    fn from_str(name: &str) -> Result<CollectorKind, String> {
        let found = CollectorKind::ALL.iter().find(|kind| kind.name() == name);
        found.copied().ok_or_else(|| {
            let names: Vec<_> = CollectorKind::ALL.iter().map(|kind| kind.name()).collect();
            format!("unknown collector {name}: must be one of {}", names.join(", "))
        })
    }
}

/// A collector, and the switches that change the contents of heap slots: one row of the test matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Configuration {
    pub collector: CollectorKind,
    pub table: TableUse,
    /// References have MemLiner's epochs.
    pub epochs: bool,
    /// Mako has a nursery.
    pub generational: bool,
    /// The width of slots, where they hold addresses, or of Mako's entries.
    pub width: SlotWidth,
}

/// The uses of Mako's heap indirection table: an ablation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableUse {
    /// References go through it.
    Translation,
    /// Objects get entries, but heap slots hold the objects' own compressed addresses; nothing is ever collected.
    AssignmentOnly,
    /// Objects get no entries either; collections stop the world.
    None,
}

impl TableUse {
    /// As the options say.
    pub fn of(options: &HeapOptions) -> TableUse {
        match (options.hit, options.hit_translation) {
            (false, _) => TableUse::None,
            (true, false) => TableUse::AssignmentOnly,
            (true, true) => TableUse::Translation,
        }
    }
}

impl Configuration {
    /// Every collector, Mako again with less of its table, all again with wide slots, or in Mako wide entries, MemLiner
    /// once more with epochs in references, and Mako with a nursery.
    pub fn all() -> impl Iterator<Item = Configuration> {
        let collectors = CollectorKind::ALL.iter().copied();
        let with = |collector, table| Configuration {
            collector,
            table,
            epochs: false,
            generational: false,
            width: SlotWidth::Narrow,
        };
        let usual = collectors.map(move |collector| with(collector, TableUse::Translation));
        let less = [TableUse::AssignmentOnly, TableUse::None];
        let less = less.map(|table| with(CollectorKind::Mako, table));
        let wide = CollectorKind::ALL.iter().copied();
        let wide = wide.map(move |collector| Configuration {
            width: SlotWidth::Wide,
            ..with(collector, TableUse::Translation)
        });
        let lined = CollectorKind::ALL.iter().copied().filter(|kind| kind.is_lined());
        let stamped = lined.map(move |collector| Configuration {
            epochs: true,
            width: SlotWidth::Wide,
            ..with(collector, TableUse::Translation)
        });
        let generational = [SlotWidth::Narrow, SlotWidth::Wide].map(move |width| Configuration {
            generational: true,
            width,
            ..with(CollectorKind::Mako, TableUse::Translation)
        });
        usual.chain(less).chain(wide).chain(stamped).chain(generational)
    }

    /// For messages.
    pub fn name(self) -> String {
        let switched = match self.table {
            TableUse::Translation => "",
            TableUse::AssignmentOnly => " without translation",
            TableUse::None => " without HIT",
        };
        let width = match (self.epochs, self.width) {
            (true, _) => " with epochs",
            (false, SlotWidth::Wide) if self.uses_table() => " with wide entries",
            (false, SlotWidth::Wide) => " with wide slots",
            (false, SlotWidth::Narrow) => "",
        };
        let generational = if self.generational { " with a nursery" } else { "" };
        format!("{}{switched}{generational}{width}", self.collector.name())
    }

    /// Whether it ever frees memory.
    pub fn collects(self) -> bool {
        self.collector.collects() && self.table != TableUse::AssignmentOnly
    }

    /// Whether references go through Mako's table.
    pub fn uses_table(self) -> bool {
        self.collector == CollectorKind::Mako && self.table == TableUse::Translation
    }

    /// A heap of this configuration.
    pub fn options(self, max_bytes: usize) -> HeapOptions {
        let estimator = if self.epochs { Estimator::Epoch } else { Estimator::Residency };
        HeapOptions {
            compressed_oops: Some(self.width == SlotWidth::Narrow),
            memliner: MemLinerOptions { estimator, ..MemLinerOptions::default() },
            mako: MakoOptions { generational: Some(self.generational), ..MakoOptions::default() },
            hit: self.table != TableUse::None,
            hit_translation: self.table == TableUse::Translation,
            ..HeapOptions::new(self.collector, max_bytes)
        }
    }
}

/// How much of the heap may be in local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalMemory {
    /// Percent of the largest heap; 100 means no far memory.
    Percent(u32),
    Bytes(usize),
}

impl LocalMemory {
    /// The budget in bytes for a heap of `max_bytes`; `None` when no memory is remote.
    pub fn budget_bytes(self, max_bytes: usize) -> Option<usize> {
        match self {
            LocalMemory::Percent(percent) if percent >= 100 => None,
            LocalMemory::Percent(percent) => Some(max_bytes / 100 * percent as usize),
            LocalMemory::Bytes(bytes) => Some(bytes),
        }
    }
}

impl fmt::Display for LocalMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LocalMemory::Percent(percent) => write!(f, "{percent}%"),
            LocalMemory::Bytes(bytes) => write!(f, "{bytes}"),
        }
    }
}

impl FromStr for LocalMemory {
    type Err = String;

    /// `25%`, `512m`, `1g`, `65536`.
    fn from_str(text: &str) -> Result<LocalMemory, String> {
        let malformed =
            || "local memory is 1% to 100% of the heap, or a size such as 512m".to_string();
        if let Some(percent) = text.strip_suffix('%') {
            let percent = percent.parse().map_err(|_| malformed())?;
            return match percent {
                1..=100 => Ok(LocalMemory::Percent(percent)),
                _ => Err(malformed()),
            };
        }
        parse_bytes(text).map(LocalMemory::Bytes).ok_or_else(malformed)
    }
}

options! {
    /// Options of one heap.
    #[derive(Clone, Debug)]
    pub struct HeapOptions, "heap" {
        /// How much of the heap may be resident: a percentage, or a size. 100%: all of it, and no memory is remote.
        pub local_memory: LocalMemory as Word = LocalMemory::Percent(100), "LocalMemory", Product;
        /// Share this local memory, NAME=2g, with all VMs of this user that name the same pool. Each VM gets a part by
        /// its need, at most its LocalMemory. =2g may be omitted if the pool has members. The heap is in remote memory
        /// even if all of it may be local.
        pub local_memory_pool: Option<swap::PoolOptions> as OrNone of Word = None, "LocalMemoryPool", Product;
        /// Use a running memory server, HOST:PORT, verbs:HOST:PORT over RDMA, or unix:NAME on this machine, instead of
        /// starting some. May be repeated.
        pub memory_server_addresses: Vec<rdma::ServerAddress> as Repeated of Word = Vec::new(),
            "MemoryServer", Product;
        /// A further running memory server, which replaces a lost one if no server listens at the lost one's address.
        /// Requires Replicas=2 and MemoryServer. May be repeated.
        pub spare_memory_servers: Vec<rdma::ServerAddress> as Repeated of Word = Vec::new(),
            "SpareMemoryServer", Product;
        /// File with the secret that running memory servers on other machines require.
        pub token_file: Option<PathBuf> as File = None, "TokenFile", Product;
        /// The program to start as memory server. By default memory-server in the folder of the executable or library.
        pub memory_server_program: Option<PathBuf> as File = None, "MemoryServerProgram", Debug;
        /// Keep the remote part of the heap in this file or DAX device, a crash-safe pool, and not in memory servers.
        /// The file is made if it does not exist. Several VMs may use one pool at a time. The memory of a VM that was
        /// killed is freed by the next one, or by pool-manager. If the collector has agents, MemoryServers processes
        /// are started for them, which map the pool.
        pub memory_pool: Option<PathBuf> as File = None, "MemoryPool", Product;
        /// Sum of the heaps that a new MemoryPool has room for. If the pool exists it must have been made with the same
        /// value. auto: this heap, or what the pool that exists has.
        pub memory_pool_bytes: Option<usize> as OrAuto of Size = None,
            "MemoryPoolSize" in 1 << 20..=1 << 46, Product;
        /// Transport to memory servers that the VM starts: shm, tcp or verbs.
        pub transport: rdma::Transport as Word = rdma::Transport::Shm, "Transport", Product;
        /// Readahead of remote memory: none, sequential or leap.
        pub prefetcher: swap::PrefetcherKind as Word = swap::PrefetcherKind::default(), "Prefetcher", Paper;
        /// Latency added to every transfer and call.
        pub far_latency: Duration as Time = Duration::ZERO, "FarLatency", Paper;
        /// Bandwidth limit of the transfers. 0: none.
        pub far_bandwidth: u64 as Rate = 0, "FarBandwidth", Paper;
        /// Seed of faults to inject on the way to memory servers: pages and messages arrive late, are lost and sent
        /// again, or arrive twice where that does no harm.
        pub far_disturbance: Option<u64> as OrNone of Count = None, "FarDisturbance", Debug;
        /// Bytes of a region, a power of two. auto: 16m, less for heaps under 1g; for Shenandoah 256k, more for heaps
        /// from 1g on. ShenandoahRegionSize is another name of it, and so is G1HeapRegionSize, which is rounded up to
        /// a power of two of 1m at least.
        pub region_bytes: Option<usize> as OrAuto of Size = None, "RegionSize" in 1 << 16..=1 << 30, Product;
        /// References in the heap have four bytes, not eight. auto: in heaps below 32g. Mako's references always have
        /// four bytes; if this is off, and in larger heaps, the entries of its table have eight. MemLiner's
        /// references with MemLinerEstimator=epoch always have eight.
        pub compressed_oops: Option<bool> as OrAuto of Switch = None, "UseCompressedOops", Product;
        /// Memory servers to start on this machine when memory is remote or the collector needs them.
        pub memory_servers: u16 as Count = 2, "MemoryServers" in 1..=64, Product;
        /// Number of servers that keep a copy of each page. With 2 the VM survives the loss of a server.
        pub replicas: u16 as Count = 1, "Replicas" in 1..=2, Product;
        /// With Replicas=2: end when no server has replaced a lost one for this time. 0: continue with one copy.
        pub lost_server_timeout: Option<Duration> as SecondsOrNone = None,
            "LostServerTimeout" in 0..=SECONDS_MAX, Product;
        /// An agent counts as lost if it does not answer, or reports that it traces without progress, for this time.
        /// Only time in which this process runs counts.
        pub agent_timeout: Duration as Millis = Duration::from_secs(30),
            "AgentTimeoutMillis" in 100..=SECONDS_MAX, Product;
        /// Verify a checksum of every page that is sent over TCP.
        pub page_checksums: bool as Switch = false, "PageChecksums", Product;
        /// When free frames are short, scans of remote memory reuse the frames of the pages that they have passed.
        pub recycle_frames: bool as Switch = true, "RecycleFrames", Ablation;
        /// Keep frames of freed regions for pages that are fetched later, up to this part of local memory.
        pub frame_stock_percent: u32 as Percent = 100, "FrameStockPercent" in 0..=100, Product;
        /// Keep this many thousandths of local memory free, so that a fault finds a free frame; up to a sixteenth while
        /// faults use them up faster than others are freed.
        pub reserve_permille: u32 as Count = 8, "FrameReservePermille" in 1..=60, Product;
        /// Select pages for eviction, and write them back, before free frames are short.
        pub clean_ahead: bool as Switch = true, "CleanAhead", Ablation;
        /// The kernel records which pages are written, where it can (Linux 6.7). Otherwise each first write raises a
        /// signal.
        pub kernel_notes_writes: bool as Switch = true, "KernelNotesWrites", Ablation;
        /// A page that comes back soon after its eviction stays for more rounds of the replacement: for twice as many
        /// with each return, up to this number.
        pub replacement_rounds: u32 as Count = 16, "ReplacementRounds" in 0..=16, Ablation;
        /// Pages that a thread of the collector fetches while it traces are evicted first.
        pub traced_pages_pass: bool as Switch = true, "TracedPagesFirst", Ablation;
        /// Sample one prediction in N to measure whether readahead is used. 0: none.
        pub prefetch_probe: u32 as Count = 32, "PrefetchProbe", Product;
        /// Keep N of the faults that fetch a page for `--stats`, a sample of the whole run.
        pub fault_trace: usize as Count = 0, "FaultTrace" in 0..=1 << 20, Debug;
        /// Write every access to a page of the heap to this file, for `gc-bench replay`. All memory is resident, though
        /// the collector behaves as under the limit of LocalMemory. It needs memory servers that share their memory
        /// with this process, without a delay.
        pub page_trace: Option<PathBuf> as File = None, "PageTrace", Debug;
        /// An epoch of remote memory ends when this part of the resident pages has changed (N in the MemLiner paper,
        /// which gives no value).
        pub epoch_percent: u32 as Percent = 10, "EpochPercent" in 1..=100, Paper;
        /// Threads that work together in a pause, where the collector uses several. 0: one for each CPU, and five
        /// eighths of those beyond eight; G1 and Shenandoah refuse to be given it, as in java.
        pub parallel_gc_threads: Option<usize> as CountOrNone = None, "ParallelGCThreads" in 0..=1024, Product;
        /// Threads that work while the program runs. 0: a quarter of ParallelGCThreads.
        pub concurrent_gc_threads: Option<usize> as CountOrNone = None, "ConcGCThreads" in 0..=1024, Product;
        /// Largest part of a region that may be garbage before its objects are moved.
        pub region_waste_percent: u32 as Percent = 8, "RegionWastePercent" in 0..=100, Product;
        /// Milliseconds that a softly reachable object is kept for each free megabyte.
        pub soft_ref_ms_per_mb: u64 as Millis = 1000, "SoftRefLRUPolicyMSPerMB", Product;
        /// Unload classes that nothing uses any more, with their loaders.
        pub class_unloading: bool as Switch = true, "ClassUnloading", Product;
        /// Also in collections beside the program. Otherwise only in full collections.
        pub class_unloading_with_concurrent_mark: bool as Switch = true, "ClassUnloadingWithConcurrentMark", Product;
        /// Equal strings share their characters: where a collector copies strings, they are candidates, and a thread
        /// gives them the contents of equal ones (JEP 192).
        pub deduplicates_strings: bool as Switch = false, "UseStringDeduplication", Product;
        /// G1: pauses that a string survives before it is a candidate, unless it is promoted earlier.
        pub deduplication_age: u32 as Count = 3, "StringDeduplicationAgeThreshold" in 1..=15, Product;
        /// Populate the memory of the first heap (-Xms), up to the limit of local memory, before the program begins.
        pub pre_touch: bool as Switch = false, "AlwaysPreTouch", Product;
        /// Ask the system for heap pages of 2 MB, where no part of the heap can be remote (under Mako it always can).
        /// Programs with large heaps look up addresses faster, but the system takes longer to find such pages.
        pub huge_pages: bool as Switch = false, "UseTransparentHugePages", Product;
        /// At the end of a cycle memory servers keep the memory of free regions, up to this part of the memory that
        /// they hold for regions. 0: they release freed memory at once.
        pub max_heap_free_percent: usize as Percent = 70, "MaxHeapFreeRatio" in 0..=100, Product;
        /// Tracing through local memory finishes one part of the heap before the next.
        pub trace_in_zones: bool as Switch = true, "TraceInZones", Ablation;
        /// Use Mako's heap indirection table. Otherwise heap slots hold the objects' own compressed addresses, and
        /// collections stop the world.
        pub hit: bool as Switch = true, "UseHIT", Ablation;
        /// References use that table. Otherwise objects have entries, but slots hold compressed addresses and nothing
        /// is ever collected: this measures translation and assignment separately.
        pub hit_translation: bool as Switch = true, "UseHITTranslation", Ablation;
        /// Check the whole heap before and after each cycle.
        pub verify_heap: bool as Switch = false, "VerifyHeap", Debug;
        /// Collect at every n-th allocation, move everything each time, and poison freed memory. 0: do not.
        pub zeal_alloc_interval: Option<u64> as CountOrNone = None, "GcZeal", Debug;
        /// The same at every n-th poll of a thread. 0: do not.
        pub zeal_poll_interval: Option<u64> as CountOrNone = None, "GcPollZeal", Debug;
    } with {
        pub collector: CollectorKind = CollectorKind::G1;
        /// `-Xmx`, bytes. Rounded up to whole regions.
        pub max_bytes: usize = 256 << 20;
        /// CPUs that this process may use.
        pub cpus: usize = std::thread::available_parallelism().map_or(1, usize::from);
        /// `-Xms`, bytes; below it no memory is given back.
        pub initial_bytes: usize = 8 << 20;
        /// The contents of `token_file`.
        pub memory_server_token: rdma::Token = rdma::Token::none();
        /// A stop-the-world collector lets the heap grow to this many percent of the live bytes after the last cycle
        /// (and to `initial_bytes`, and 64 MiB) before it collects.
        pub growth_percent: u32 = 300;
        /// Options of G1 and Semeru only.
        pub g1: G1Options = G1Options::default();
        /// Options of MemLiner.
        pub memliner: MemLinerOptions = MemLinerOptions::default();
        /// Options of Shenandoah only.
        pub shenandoah: ShenandoahOptions = ShenandoahOptions::default();
        /// Options of Mako only.
        pub mako: MakoOptions = MakoOptions::default();
        /// Options of Semeru only.
        pub semeru: SemeruOptions = SemeruOptions::default();
        /// The sink of `-Xlog:gc*` lines.
        pub log: GcLog = GcLog::default();
    }
}

/// 30 years, so that sums of times do not overflow.
const SECONDS_MAX: u64 = 1_000_000_000;

impl HeapOptions {
    /// All tables of options: the heap's own, and those of the collectors.
    pub fn groups(&self) -> [&dyn OptionGroup; 6] {
        [self, &self.g1, &self.semeru, &self.shenandoah, &self.mako, &self.memliner]
    }

    /// Sets an option of any of the tables. False: none has this name.
    pub fn set_any(&mut self, name: &str, setting: Setting<'_>) -> Result<bool, BadSetting> {
        Ok(self.set(name, setting)?
            || self.g1.set(name, setting)?
            || self.semeru.set(name, setting)?
            || self.shenandoah.set(name, setting)?
            || self.mako.set(name, setting)?
            || self.memliner.set(name, setting)?)
    }

    pub fn new(collector: CollectorKind, max_bytes: usize) -> HeapOptions {
        HeapOptions { collector, max_bytes, ..HeapOptions::default() }
    }

    /// How many memories the pages are spread over: servers, or one pool unless agents share the work on it.
    pub(crate) fn stores(&self) -> usize {
        match self.memory_pool.is_some() && !self.has_agents() {
            true => 1,
            false => self.memory_servers.into(),
        }
    }

    /// Whether the collector has agents, which work beside the remote memory.
    pub fn has_agents(&self) -> bool {
        match self.collector {
            CollectorKind::Mako => true,
            CollectorKind::Semeru => self.semeru.offload_tracing,
            _ => false,
        }
    }

    /// Whether a heap of this size can have slots of four bytes, wherever it lies.
    pub fn fits_narrow(&self) -> bool {
        self.max_bytes < NARROW_LIMIT
    }

    /// Whether slots shall have four bytes if the heap's place allows that.
    pub(crate) fn wants_narrow(&self, geometry: &Geometry) -> bool {
        // Mako has a form of its own, and epochs need the upper bits of eight bytes.
        let is_bound = self.collector == CollectorKind::Mako
            || self.collector.is_lined() && self.memliner.estimator == Estimator::Epoch;
        self.compressed_oops != Some(false) && !is_bound && geometry.heap_bytes() < NARROW_LIMIT
    }

    /// Whether Mako's new objects are young.
    pub(crate) fn has_nursery(&self, geometry: &Geometry) -> bool {
        let fits = TableUse::of(self) == TableUse::Translation
            && geometry.heap_bytes() <= crate::hit::YOUNG as usize * OBJECT_ALIGNMENT;
        self.mako.generational.unwrap_or(fits)
    }

    /// Whether Mako's entries shall have four bytes.
    pub(crate) fn fits_entries(&self, geometry: &Geometry) -> bool {
        self.compressed_oops != Some(false) && geometry.heap_bytes() <= NARROW_LIMIT
    }

    /// The slot width of a heap that lies at its place.
    pub(crate) fn slot_width(&self, geometry: &Geometry) -> SlotWidth {
        let is_low = geometry.base + geometry.heap_bytes() <= NARROW_LIMIT;
        match self.wants_narrow(geometry) && is_low {
            true => SlotWidth::Narrow,
            false => SlotWidth::Wide,
        }
    }

    /// Threads that work together in a pause: as many as there are CPUs, of those beyond 8 only five eighths.
    pub fn parallel_threads(&self) -> usize {
        self.parallel_gc_threads
            .unwrap_or_else(|| self.cpus.min(8) + self.cpus.saturating_sub(8) * 5 / 8)
    }

    /// Threads that work beside the program: a quarter of those that work in a pause, at least one.
    pub fn concurrent_threads(&self) -> usize {
        self.concurrent_gc_threads.unwrap_or_else(|| (self.parallel_threads() + 2) / 4).max(1)
    }

    /// Whether a zeal mode is on.
    pub fn zeal(&self) -> bool {
        self.zeal_alloc_interval.is_some() || self.zeal_poll_interval.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_java_reads_them() {
        assert_eq!(parse_bytes("512m"), Some(512 << 20));
        assert_eq!(parse_bytes("1G"), Some(1 << 30));
        assert_eq!(parse_bytes("m"), None);
        assert_eq!(parse_bytes("-1"), None);
        assert_eq!(parse_bytes("99999999999999g"), None);
        assert_eq!("25%".parse(), Ok(LocalMemory::Percent(25)));
        assert!("0%".parse::<LocalMemory>().is_err());
        assert_eq!("64k".parse(), Ok(LocalMemory::Bytes(65536)));
    }

    #[test]
    fn every_collector_is_found_by_its_name() {
        for kind in CollectorKind::ALL {
            assert_eq!(kind.name().parse(), Ok(*kind));
        }
        assert!("zgc".parse::<CollectorKind>().is_err());
    }

    #[test]
    fn mako_has_a_nursery_where_slots_can_name_young_places() {
        let has = |options: &HeapOptions| {
            options.has_nursery(&Geometry::choose(options.max_bytes, None).unwrap())
        };
        let mut options = HeapOptions::new(CollectorKind::Mako, 16 << 30);
        assert!(has(&options) && !has(&HeapOptions::new(CollectorKind::Mako, 17 << 30)));
        options.mako.generational = Some(false);
        assert!(!has(&options));
        options.mako.generational = None;
        options.hit_translation = false;
        assert!(!has(&options));
    }

    #[test]
    fn slots_are_narrow_where_all_of_the_heap_is_low() {
        let width = |options: &HeapOptions, base| {
            let geometry = Geometry::choose(options.max_bytes, None).unwrap();
            options.slot_width(&Geometry { base, ..geometry })
        };
        for kind in CollectorKind::ALL.iter().copied().filter(|kind| *kind != CollectorKind::Mako) {
            let mut options = HeapOptions::new(kind, 1 << 30);
            assert_eq!(width(&options, 1 << 30), SlotWidth::Narrow);
            assert_eq!(width(&options, 31 << 30), SlotWidth::Narrow);
            assert_eq!(width(&options, (31 << 30) + (16 << 20)), SlotWidth::Wide);
            options.memliner.estimator = Estimator::Epoch;
            assert_eq!(width(&options, 1 << 30) == SlotWidth::Wide, kind.is_lined());
            options.compressed_oops = Some(false);
            assert_eq!(width(&options, 1 << 30), SlotWidth::Wide);
            let large = HeapOptions::new(kind, 32 << 30);
            assert!(!large.fits_narrow() && width(&large, 0) == SlotWidth::Wide);
        }
        let fits = |options: &HeapOptions| {
            options.fits_entries(&Geometry::choose(options.max_bytes, None).unwrap())
        };
        let mut mako = HeapOptions::new(CollectorKind::Mako, 32 << 30);
        assert!(fits(&mako) && !fits(&HeapOptions::new(CollectorKind::Mako, 33 << 30)));
        mako.compressed_oops = Some(false);
        assert!(!fits(&mako));
    }
}
