//! The options of G1. Names and defaults are HotSpot's.

use base::options;

options! {
    /// See the module text.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct G1Options, "g1" {
        /// What pauses should take at most. The young generation is made as large as that allows.
        pub pause_target_ms: u64 as Millis = 200, "MaxGCPauseMillis" in 1..=u64::from(u32::MAX), Product;
        /// Pauses that an object survives at most before it is old.
        pub tenuring_age_max: u32 as Count = 15, "MaxTenuringThreshold" in 0..=15, Product;
        /// Marking begins when old regions are this part of the heap.
        pub initiating_percent: usize as Percent = 45, "InitiatingHeapOccupancyPercent" in 0..=100, Product;
        /// Change that part by how long markings took and how fast old regions grew.
        pub adaptive_initiating: bool as Switch = true, "G1UseAdaptiveIHOP", Product;
        /// The least part of the heap that is the young generation.
        pub young_percent_min: usize as Percent = 5, "G1NewSizePercent" in 0..=100, Product;
        /// The largest part of the heap that is the young generation.
        pub young_percent_max: usize as Percent = 60, "G1MaxNewSizePercent" in 0..=100, Product;
        /// Regions that are kept free to copy to, as part of the heap.
        pub reserve_percent: usize as Percent = 10, "G1ReservePercent" in 0..=50, Product;
        /// Mixed pauses leave old regions alone in which more lives.
        pub live_percent_max: usize as Percent = 85, "G1MixedGCLiveThresholdPercent" in 0..=100, Product;
        /// Mixed pauses end when they could gain less than this part of the heap.
        pub waste_percent: usize as Percent = 5, "G1HeapWastePercent" in 0..=100, Product;
        /// Mixed pauses after a marking should be N.
        pub mixed_pauses: usize as Count = 8, "G1MixedGCCountTarget" in 1..=1 << 20, Product;
        /// Old regions in one pause at most, as part of the heap.
        pub old_percent_max: usize as Percent = 10, "G1OldCSetRegionThresholdPercent" in 0..=100, Product;
    }
}
