//! The options of Mako: the parameters of chapter 3 of the paper, and a switch for each of its mechanisms. Where
//! the paper gives no value, the default is a value that did well in measurements.

use crate::hit::TABLET_ENTRIES;
use base::options;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The largest target for the length of minor collections, milliseconds.
pub const MINOR_PAUSE_TARGET_MS_MAX: u64 = 10_000;

options! {
    /// See the module text. The table itself has its switches in [`HeapOptions`](crate::options::HeapOptions).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct MakoOptions, "mako" {
        /// New objects are young: they are local, have no entries until they are promoted, and are collected in short
        /// pauses. Not in the paper, which has one generation. Auto: where the table is in use and the heap has at most
        /// 16 GB.
        pub generational: Option<bool> as OrAuto of Switch = None, "MakoGenerational", Ablation;
        /// Maximum size of eden, as part of local memory, with MakoGenerational.
        pub local_eden_percent: usize as Percent = 50, "MakoLocalEdenPercent" in 1..=100, Product;
        /// Target for the length of minor collections. Eden is sized to meet it, with MakoGenerational. The default is
        /// MaxGCPauseMillis if that is given.
        pub minor_pause_target: Duration as Millis = Duration::from_millis(3),
            "MakoMinorPauseTarget" in 1..=MINOR_PAUSE_TARGET_MS_MAX, Product;
        /// Eden keeps its memory from one minor collection to the next, all of it while local memory has room, and a
        /// small part otherwise, with MakoGenerational. Else the system takes it back and gives out new pages.
        pub recycle_eden: bool as Switch = true, "MakoRecycleEden", Ablation;
        /// A store finds the word that names a young object in the object's header, and there whether the object that
        /// it is stored to is young, with MakoGenerational. Else in a table of regions.
        pub young_words: bool as Switch = true, "MakoYoungWords", Ablation;
        /// Minor collections should take at most this part of the time. Where they take more, eden may grow until they
        /// take up to ten times MakoMinorPauseTarget, if that helps. 100: it does not.
        pub minor_time_percent: usize as Percent = 20, "MakoMinorTimePercent" in 1..=100, Product;
        /// Write dirty pages to the servers while the program runs, before and after a cycle's first pause, and not
        /// all of them in it (section 3.4.2).
        pub write_through: bool as Switch = true, "MakoWriteThrough", Ablation;
        /// Trace objects on the memory servers (section 3.4.2), and not in this process, through local memory.
        pub offload_tracing: bool as Switch = true, "MakoOffloadTracing", Ablation;
        /// Move objects on the memory servers (section 3.4.3), and not in this process, through local memory.
        pub offload_evacuation: bool as Switch = true, "MakoOffloadEvacuation", Ablation;
        /// Agents move objects in the order in which they traced them, and not in that of their addresses. Not in the
        /// paper.
        pub trace_order: bool as Switch = true, "MakoTraceOrder", Ablation;
        /// Agents copy the objects of a group while the program runs, before they receive its tablets. Otherwise they
        /// copy while threads wait for the tablets. Not in the paper.
        pub copy_ahead: bool as Switch = true, "MakoCopyAhead", Ablation;
        /// Fetch the objects of an evacuated group that were resident before as soon as its agent has finished.
        /// Otherwise fetch them on demand. Not in the paper.
        pub bring_back: bool as Switch = true, "MakoBringBack", Ablation;
        /// A dedicated thread fetches pages of free entries before threads allocate these entries (section 3.3).
        pub entry_preload: bool as Switch = true, "MakoEntryPreload", Ablation;
        /// A fault on the page of an entry also fetches the page of the entry's object if that page is remote. Not in
        /// the paper.
        pub follow_entries: bool as Switch = true, "MakoFollowEntries", Ablation;
        /// Threads record which objects they touch, and agents evacuate these apart from the others. Not in the paper.
        pub touched_apart: bool as Switch = true, "MakoTouchedApart", Ablation;
        /// Threads record touched objects when the program, since the last cycle, has fetched N times the number of
        /// pages of local memory and has allocated little.
        pub touch_faults: usize as Count = 2, "MakoTouchFaults" in 0..=1 << 20, Product;
        /// Threads record touched objects only if all threads together have waited for pages for this part of the time.
        pub touch_wait_percent: usize as Percent = 40, "MakoTouchWaits" in 0..=100_000, Product;
        /// Recording ends and a cycle begins when the program has fetched N times the number of pages of local memory.
        pub touch_window: usize as Count = 3, "MakoTouchWindow" in 0..=1 << 20, Product;
        /// Maximum number of free entries that a thread holds (section 3.3).
        pub entry_buffer: usize as Count = 1024, "MakoEntryBufferSize" in entry_buffer_range(), Paper;
        /// Overwritten references that a thread buffers before it passes them to the collector (section 3.4.2).
        pub satb_buffer: usize as Count = 1024, "MakoSATBBufferSize" in 1..=1 << 20, Paper;
        /// References to objects of another server that an agent buffers before it sends them. An idle agent sends them
        /// at once (section 3.4.2).
        pub ghost_buffer: usize as Count = 1024, "MakoGhostBufferSize" in 1..=1 << 20, Paper;
        /// Initial interval between two polls of the agents' flags (section 3.4.2), and the interval while threads wait
        /// for the end of tracing. The paper polls without a break.
        pub polling_period: Duration as Micros = Duration::from_micros(50),
            "MakoPollingPeriod" in 1..=1_000_000, Paper;
        /// The interval doubles while agents are busy, up to this.
        pub polling_period_max: Duration as Micros = Duration::from_millis(2),
            "MakoPollingPeriodMax" in 1..=1_000_000, Paper;
        /// Evacuate only regions with at most this part of live bytes (section 3.2, "live ratio").
        pub live_percent: usize as Percent = 75, "MakoLiveThreshold" in 0..=100, Paper;
        /// A region counts as unordered if tracing jumped between distant places of it more often than N times for each
        /// page of live objects. 0: no region does. Not in the paper.
        pub jumps_per_page: usize as Count = 1, "MakoJumpsPerPage" in 0..=1 << 20, Product;
        /// As MakoLiveThreshold, for unordered regions, which are moved for the order of their objects.
        pub unordered_live_percent: usize as Percent = 98, "MakoUnorderedLiveThreshold" in 0..=100, Product;
        /// Maximum number of regions that are evacuated into one. 1: each is evacuated on its own, as in the paper.
        pub group_regions: usize as Count = 64, "MakoGroupRegions" in 1..=1 << 16, Product;
        /// Maximum number of tablets that the agent of a group holds at a time, if the group was copied ahead. 0: all
        /// of them, as in the paper.
        pub away_tablets: usize as Count = 32, "MakoAwayTablets" in 0..=1 << 20, Product;
        /// A cycle begins when a smaller part of the regions is free. Before the first cycle and after long cycles the
        /// limit is higher, up to half of the regions.
        pub min_free_percent: usize as Percent = 25, "MakoMinFreeThreshold" in 0..=100, Product;
        /// Longest wait of a thread for each piece of memory that it allocates. These waits make the free memory last
        /// until a cycle frees more. 0: no waits. Not in the paper.
        pub pacing_delay_max: Duration as Millis = Duration::from_millis(4),
            "MakoPacingMaxDelay" in 0..=10_000, Product;
        /// A cycle begins when the program, since the last one, has fetched N times the number of pages of local memory
        /// and has allocated memory. 0: never, and touched objects are not recorded. Not in the paper.
        pub faults_per_cycle: usize as Count = 1, "MakoFaultsPerCycle" in 0..=1 << 20, Product;
    }
}

impl MakoOptions {
    /// Whether agents move objects in an order that they know from tracing: agents that do not trace know none.
    pub fn moves_in_trace_order(&self) -> bool {
        self.trace_order && self.offload_tracing && self.offload_evacuation
    }
}

/// The range of [`MakoOptions::entry_buffer`]: entries are claimed 64 at a time, before there are none.
pub const ENTRY_BUFFER: RangeInclusive<usize> = 128..=16 * TABLET_ENTRIES;

fn entry_buffer_range() -> RangeInclusive<u64> {
    *ENTRY_BUFFER.start() as u64..=*ENTRY_BUFFER.end() as u64
}
