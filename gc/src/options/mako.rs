//! What can be chosen of Mako: the parameters of chapter 3 of the paper, and a switch for each of its mechanisms. The
//! doc comments are the help texts. Where the paper gives no value, the default is what was measured to do well.

use crate::hit::TABLET_ENTRIES;
use std::time::Duration;

/// See the module text. The table itself has its switches in [`HeapOptions`](crate::options::HeapOptions).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MakoOptions {
    /// `-XX:-MakoWriteThrough`: dirty pages are not written to the servers beside the program, before and after a
    /// cycle's first pause, but all of them in it (section 3.4.2).
    pub write_through: bool,
    /// `-XX:-MakoOffloadTracing`: objects are traced here, through local memory, and not by the memory servers
    /// (section 3.4.2).
    pub offload_tracing: bool,
    /// `-XX:-MakoOffloadEvacuation`: objects are moved here, through local memory, and not by the memory servers
    /// (section 3.4.3).
    pub offload_evacuation: bool,
    /// `-XX:-MakoTraceOrder`: agents move objects in the order of their addresses, not in that in which they traced
    /// them. Not of the paper.
    pub trace_order: bool,
    /// `-XX:-MakoCopyAhead`: agents copy objects when they have the tablets, while threads wait, not before. Not of the
    /// paper.
    pub copy_ahead: bool,
    /// `-XX:-MakoBringBack`: what of an evacuated group was in local memory is not brought back from the agent at once,
    /// but when the program needs it. Not of the paper.
    pub bring_back: bool,
    /// `-XX:-MakoEntryPreload`: pages of entries are not brought before their entries are handed out, by a thread of
    /// their own, but when objects get these (section 3.3).
    pub entry_preload: bool,
    /// `-XX:-MakoFollowEntries`: who has to wait for the page of an entry that it reads waits for the page of the
    /// entry's object besides, if that is far. Not of the paper.
    pub follow_entries: bool,
    /// `-XX:-MakoTouchedApart`: threads do not note which objects they touch, and agents do not move these apart from
    /// the others. Not of the paper.
    pub touched_apart: bool,
    /// `-XX:MakoTouchFaults`: threads note what they touch from when the program has fetched so many times as many
    /// pages as local memory has since the last cycle, and has hardly allocated.
    pub touch_faults: usize,
    /// `-XX:MakoTouchWaits` (percent): but only if its threads together have waited for pages so much of the time.
    pub touch_wait_percent: usize,
    /// `-XX:MakoTouchWindow`: they note until it has fetched so many times as many pages besides, and a cycle begins.
    pub touch_window: usize,
    /// `-XX:MakoEntryBufferSize`: free entries that a thread has at most (section 3.3). One of [`ENTRY_BUFFER`].
    pub entry_buffer: usize,
    /// `-XX:MakoSATBBufferSize`: overwritten references that a thread keeps before it hands them over (section 3.4.2).
    pub satb_buffer: usize,
    /// `-XX:MakoGhostBufferSize`: references to objects of another server that an agent keeps before it sends them,
    /// unless it has nothing else to do (section 3.4.2).
    pub ghost_buffer: usize,
    /// `-XX:MakoPollingPeriod` (us): how long the VM waits at first between two polls of the agents' flags
    /// (section 3.4.2), and always while threads wait for the end of tracing. The paper's polls go on without a break.
    pub polling_period: Duration,
    /// `-XX:MakoPollingPeriodMax` (us): to what this is doubled, step by step, as long as agents are busy.
    pub polling_period_max: Duration,
    /// `-XX:MakoLiveThreshold` (percent): regions in which more lives are not evacuated (section 3.2, "live ratio").
    pub live_percent: usize,
    /// `-XX:MakoJumpsPerPage`: a region counts as unordered if tracing, which agents move objects in the order of,
    /// jumped from one of its places to another more often than so many times for each page of what lives. 0: none
    /// does. Not of the paper.
    pub jumps_per_page: usize,
    /// `-XX:MakoUnorderedLiveThreshold` (percent): as `MakoLiveThreshold`, for unordered regions, which are moved for
    /// the order of their objects.
    pub unordered_live_percent: usize,
    /// `-XX:MakoGroupRegions`: regions that are evacuated into one at a time, at most. With 1 each is evacuated on its
    /// own, as in the paper.
    pub group_regions: usize,
    /// `-XX:MakoAwayTablets`: so many tablets of a group are at its agent at a time, at most, if it was copied ahead.
    /// 0: all of them, as in the paper.
    pub away_tablets: usize,
    /// `-XX:MakoMinFreeThreshold` (percent): a cycle begins when fewer of the regions are free. More than these if the
    /// cycle before took long, up to half of them, as before the first.
    pub min_free_percent: usize,
    /// `-XX:MakoPacingMaxDelay` (ms): how long a thread waits at most, for each piece of memory, so that what is free
    /// lasts until a cycle frees more. 0: never. Not of the paper.
    pub pacing_delay_max: Duration,
    /// `-XX:MakoFaultsPerCycle`: a cycle begins when the program has fetched so many times as many pages as local
    /// memory has since the last one, and has used new memory. Then it reads objects that a cycle would put in order
    /// and without garbage between them. 0: never, nor is it noted what is touched. Not of the paper.
    pub faults_per_cycle: usize,
}

impl MakoOptions {
    /// Whether agents move objects in an order that they know from tracing: who does not trace knows none.
    pub fn moves_in_trace_order(&self) -> bool {
        self.trace_order && self.offload_tracing && self.offload_evacuation
    }
}

impl Default for MakoOptions {
    fn default() -> Self {
        MakoOptions {
            write_through: true,
            offload_tracing: true,
            offload_evacuation: true,
            trace_order: true,
            copy_ahead: true,
            bring_back: true,
            entry_preload: true,
            follow_entries: true,
            touched_apart: true,
            touch_faults: 2,
            touch_wait_percent: 40,
            touch_window: 3,
            entry_buffer: 1024,
            satb_buffer: 1024,
            ghost_buffer: 1024,
            polling_period: Duration::from_micros(50),
            polling_period_max: Duration::from_millis(2),
            live_percent: 75,
            jumps_per_page: 1,
            unordered_live_percent: 98,
            group_regions: 64,
            away_tablets: 32,
            min_free_percent: 25,
            pacing_delay_max: Duration::from_millis(4),
            faults_per_cycle: 1,
        }
    }
}

/// What [`MakoOptions::entry_buffer`] may be: entries are claimed 64 at a time, before there are none.
pub const ENTRY_BUFFER: std::ops::RangeInclusive<usize> = 128..=16 * TABLET_ENTRIES;
