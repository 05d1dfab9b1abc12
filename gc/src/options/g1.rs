//! What can be chosen of G1. The doc comments are the help texts; names and defaults are HotSpot's.

/// See the module text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct G1Options {
    /// `-XX:MaxGCPauseMillis`: what pauses should take at most; the young generation is made as large as that allows.
    pub pause_target_ms: u64,
    /// `-XX:MaxTenuringThreshold`: pauses that an object survives at most before it is old, 0 to 15.
    pub tenuring_age_max: u32,
    /// `-XX:InitiatingHeapOccupancyPercent`: marking begins when old regions are so much of the heap.
    pub initiating_percent: usize,
    /// `-XX:-G1UseAdaptiveIHOP`: the part does not change with what markings and the growth of old regions were like.
    pub adaptive_initiating: bool,
    /// `-XX:G1NewSizePercent` and `-XX:G1MaxNewSizePercent`: limits of the young generation, percent of the heap.
    pub young_percent_min: usize,
    pub young_percent_max: usize,
    /// `-XX:G1ReservePercent`: regions that are kept free to copy to, percent of the heap.
    pub reserve_percent: usize,
    /// `-XX:G1MixedGCLiveThresholdPercent`: old regions with more than this alive are left alone.
    pub live_percent_max: usize,
    /// `-XX:G1HeapWastePercent`: mixed pauses end when what they could gain is less than this of the heap.
    pub waste_percent: usize,
    /// `-XX:G1MixedGCCountTarget`: mixed pauses after a marking should be so many.
    pub mixed_pauses: usize,
    /// `-XX:G1OldCSetRegionThresholdPercent`: old regions in one pause at most, percent of the heap.
    pub old_percent_max: usize,
}

impl Default for G1Options {
    fn default() -> Self {
        G1Options {
            pause_target_ms: 200,
            tenuring_age_max: 15,
            initiating_percent: 45,
            adaptive_initiating: true,
            young_percent_min: 5,
            young_percent_max: 60,
            reserve_percent: 10,
            live_percent_max: 85,
            waste_percent: 5,
            mixed_pauses: 8,
            old_percent_max: 10,
        }
    }
}
