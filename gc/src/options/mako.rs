//! The options of Mako: the parameters of chapter 3 of the paper, and a switch for each of its mechanisms. Where
//! the paper gives no value, the default is a value that did well in measurements.

use crate::hit::TABLET_ENTRIES;
use base::options;
use std::ops::RangeInclusive;
use std::time::Duration;

options! {
    /// See the module text. The table itself has its switches in [`HeapOptions`](crate::options::HeapOptions).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct MakoOptions, "mako" {
        /// Write dirty pages to the servers while the program runs, before and after a cycle's first pause, and not
        /// all of them in it (section 3.4.2).
        pub write_through: bool as Switch = true, "MakoWriteThrough", Ablation;
        /// Trace objects on the memory servers (section 3.4.2), and not in this process, through local memory.
        pub offload_tracing: bool as Switch = true, "MakoOffloadTracing", Ablation;
        /// Move objects on the memory servers (section 3.4.3), and not in this process, through local memory.
        pub offload_evacuation: bool as Switch = true, "MakoOffloadEvacuation", Ablation;
        /// Agents move objects in the order in which they traced them, and not in that of their addresses. Not of the
        /// paper.
        pub trace_order: bool as Switch = true, "MakoTraceOrder", Ablation;
        /// Agents copy objects before they have the tablets, while threads go on, and not when threads wait for the
        /// tablets. Not of the paper.
        pub copy_ahead: bool as Switch = true, "MakoCopyAhead", Ablation;
        /// Fetch what of an evacuated group was resident as soon as its agent is done, and not when the program needs
        /// it. Not of the paper.
        pub bring_back: bool as Switch = true, "MakoBringBack", Ablation;
        /// A thread of its own fetches pages of entries before these are handed out (section 3.3).
        pub entry_preload: bool as Switch = true, "MakoEntryPreload", Ablation;
        /// A thread that waits for the page of an entry fetches the page of the entry's object with it, if that is
        /// remote. Not of the paper.
        pub follow_entries: bool as Switch = true, "MakoFollowEntries", Ablation;
        /// Threads note which objects they touch, and agents move these apart from the others. Not of the paper.
        pub touched_apart: bool as Switch = true, "MakoTouchedApart", Ablation;
        /// Threads note what they touch when the program has fetched N times the pages of local memory since the last
        /// cycle, and has hardly allocated.
        pub touch_faults: usize as Count = 2, "MakoTouchFaults" in 0..=1 << 20, Product;
        /// They do so only if all threads together have waited for pages for this part of the time.
        pub touch_wait_percent: usize as Percent = 40, "MakoTouchWaits" in 0..=100_000, Product;
        /// They note until the program has fetched N times the pages of local memory; then a cycle begins.
        pub touch_window: usize as Count = 3, "MakoTouchWindow" in 0..=1 << 20, Product;
        /// Free entries that a thread holds at most (section 3.3).
        pub entry_buffer: usize as Count = 1024, "MakoEntryBufferSize" in entry_buffer_range(), Paper;
        /// Overwritten references that a thread keeps before it hands them over (section 3.4.2).
        pub satb_buffer: usize as Count = 1024, "MakoSATBBufferSize" in 1..=1 << 20, Paper;
        /// References to objects of another server that an agent collects before it sends them, unless it has nothing
        /// else to do (section 3.4.2).
        pub ghost_buffer: usize as Count = 1024, "MakoGhostBufferSize" in 1..=1 << 20, Paper;
        /// How long the VM waits at first between two polls of the agents' flags (section 3.4.2), and always while
        /// threads wait for the end of tracing. The paper polls without a break.
        pub polling_period: Duration as Micros = Duration::from_micros(50),
            "MakoPollingPeriod" in 1..=1_000_000, Paper;
        /// The period is doubled step by step up to this, as long as agents are busy.
        pub polling_period_max: Duration as Micros = Duration::from_millis(2),
            "MakoPollingPeriodMax" in 1..=1_000_000, Paper;
        /// Evacuate only regions with at most this part of live bytes (section 3.2, "live ratio").
        pub live_percent: usize as Percent = 75, "MakoLiveThreshold" in 0..=100, Paper;
        /// A region counts as unordered if tracing jumped from one of its places to another more often than N times for
        /// each page of live objects. 0: none counts. Not of the paper.
        pub jumps_per_page: usize as Count = 1, "MakoJumpsPerPage" in 0..=1 << 20, Product;
        /// As MakoLiveThreshold, for unordered regions, which are moved for the order of their objects.
        pub unordered_live_percent: usize as Percent = 98, "MakoUnorderedLiveThreshold" in 0..=100, Product;
        /// Regions that are evacuated into one, at most. With 1 each is evacuated on its own, as in the paper.
        pub group_regions: usize as Count = 64, "MakoGroupRegions" in 1..=1 << 16, Product;
        /// Tablets of a group that are at its agent at a time, at most, if it was copied ahead. 0: all of them, as in
        /// the paper.
        pub away_tablets: usize as Count = 32, "MakoAwayTablets" in 0..=1 << 20, Product;
        /// A cycle begins when fewer of the regions are free. If the cycle before took long the limit is higher, up to
        /// half of the regions, as before the first.
        pub min_free_percent: usize as Percent = 25, "MakoMinFreeThreshold" in 0..=100, Product;
        /// How long a thread waits at most, for each piece of memory, so that what is free lasts until a cycle frees
        /// more. 0: never. Not of the paper.
        pub pacing_delay_max: Duration as Millis = Duration::from_millis(4),
            "MakoPacingMaxDelay" in 0..=10_000, Product;
        /// A cycle begins when the program has fetched N times the pages of local memory since the last one, and has
        /// used new memory. 0: never, and nothing is noted of what threads touch. Not of the paper.
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
