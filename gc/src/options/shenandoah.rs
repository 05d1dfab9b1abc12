//! The options of Shenandoah. Names and defaults are HotSpot's, but for `ShenandoahForwarding`, which it does
//! not have.

use base::options;
use std::fmt;
use std::str::FromStr;

options! {
    /// See the module text.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ShenandoahOptions, "shenandoah" {
        /// Threads that allocate wait for the progress of the cycle.
        pub pacing: bool as Switch = true, "ShenandoahPacing", Product;
        /// Where the new addresses of objects are: in a `table`, or in the `header` of the old object.
        pub forwarding: ForwardingPlace as Word = ForwardingPlace::Table, "ShenandoahForwarding", Ablation;
        /// Longest wait of a thread for each buffer.
        pub pacing_delay_ms: u64 as Millis = 10, "ShenandoahPacingMaxDelay" in 0..=10_000, Product;
        /// Part of the free memory for which the pacer does not charge.
        pub pacing_slack_percent: usize as Percent = 10, "ShenandoahPacingCycleSlack" in 0..=100, Product;
        /// A cycle begins when a smaller part of the heap is free.
        pub min_free_percent: usize as Percent = 10, "ShenandoahMinFreeThreshold" in 0..=100, Product;
        /// The same for the first ShenandoahLearningSteps cycles, which measure how long a cycle takes.
        pub init_free_percent: usize as Percent = 70, "ShenandoahInitFreeThreshold" in 0..=100, Product;
        /// Number of cycles to which ShenandoahInitFreeThreshold applies.
        pub learning_cycles: usize as Count = 5, "ShenandoahLearningSteps" in 0..=100, Product;
        /// Part of the heap that may be allocated in a spike, beyond the measured rate.
        pub spike_percent: usize as Percent = 5, "ShenandoahAllocSpikeFactor" in 0..=100, Product;
        /// Evacuate only regions with a larger part of garbage.
        pub garbage_percent: usize as Percent = 25, "ShenandoahGarbageThreshold" in 0..=100, Product;
        /// Evacuate no region if regions without live objects hold more than this part of the memory that a cycle can
        /// free.
        pub immediate_percent: usize as Percent = 90, "ShenandoahImmediateThreshold" in 0..=100, Product;
        /// Part of the heap that is kept free for copies.
        pub reserve_percent: usize as Percent = 5, "ShenandoahEvacReserve" in 1..=50, Product;
        /// A cycle that ends in a pause with a smaller part of the heap free becomes a full collection.
        pub critical_free_percent: usize as Percent = 1, "ShenandoahCriticalFreeThreshold" in 0..=100, Product;
        /// The last of N cycles in a row that end in a pause becomes a full collection.
        pub full_threshold: usize as Count = 3, "ShenandoahFullGCThreshold" in 0..=1 << 20, Product;
    }
}

/// Where the words are that say where objects have moved to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardingPlace {
    /// In tables in ordinary memory.
    Table,
    /// In the headers of the old objects.
    Header,
}

impl FromStr for ForwardingPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<ForwardingPlace, String> {
        match text {
            "table" => Ok(ForwardingPlace::Table),
            "header" => Ok(ForwardingPlace::Header),
            _ => Err(format!("unknown place {text}: must be one of table, header")),
        }
    }
}

impl fmt::Display for ForwardingPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ForwardingPlace::Table => "table",
            ForwardingPlace::Header => "header",
        })
    }
}
