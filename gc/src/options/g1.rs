//! The options of G1. Names and defaults are HotSpot's.

use base::options;

options! {
    /// See the module text.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct G1Options, "g1" {
        /// Target for the length of pauses. The young generation is sized to meet it.
        pub pause_target_ms: u64 as Millis = 200, "MaxGCPauseMillis" in 1..=u64::from(u32::MAX), Product;
        /// Maximum number of pauses that an object survives before it moves to the old generation.
        pub tenuring_age_max: u32 as Count = 15, "MaxTenuringThreshold" in 0..=15, Product;
        /// Marking begins when old regions are this part of the heap.
        pub initiating_percent: usize as Percent = 45, "InitiatingHeapOccupancyPercent" in 0..=100, Product;
        /// Adapt InitiatingHeapOccupancyPercent to the length of markings and to the growth of old regions.
        pub adaptive_initiating: bool as Switch = true, "G1UseAdaptiveIHOP", Product;
        /// Minimum size of the young generation, as part of the heap.
        pub young_percent_min: usize as Percent = 5, "G1NewSizePercent" in 0..=100, Product;
        /// Maximum size of the young generation, as part of the heap.
        pub young_percent_max: usize as Percent = 60, "G1MaxNewSizePercent" in 0..=100, Product;
        /// Maximum size of eden, as part of local memory, if memory is remote. 0: no limit, as in HotSpot; then eden is
        /// evicted to memory servers and fetched again.
        pub local_eden_percent: usize as Percent = 50, "G1LocalEdenPercent" in 0..=100, Ablation;
        /// Regions that are kept free to copy to, as part of the heap.
        pub reserve_percent: usize as Percent = 10, "G1ReservePercent" in 0..=50, Product;
        /// Mixed pauses evacuate only old regions with at most this part of live bytes.
        pub live_percent_max: usize as Percent = 85, "G1MixedGCLiveThresholdPercent" in 0..=100, Product;
        /// Mixed pauses end when they could free less than this part of the heap.
        pub waste_percent: usize as Percent = 5, "G1HeapWastePercent" in 0..=100, Product;
        /// Target for the number of mixed pauses after a marking.
        pub mixed_pauses: usize as Count = 8, "G1MixedGCCountTarget" in 1..=1 << 20, Product;
        /// Maximum number of old regions in one pause, as part of the heap.
        pub old_percent_max: usize as Percent = 10, "G1OldCSetRegionThresholdPercent" in 0..=100, Product;
    }
}
