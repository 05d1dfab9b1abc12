//! The options of Semeru, in addition to those that it has in common with G1.

use base::options;

options! {
    /// See the module text.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SemeruOptions, "semeru" {
        /// Trace old regions on the memory servers, and not in this process, as G1 does.
        pub offload_tracing: bool as Switch = true, "SemeruOffloadTracing", Ablation;
        /// Trace old regions again when they have grown by this part of the heap since they were last traced. 0: as
        /// soon as the last tracing is over and its sparse regions have been moved.
        pub growth_percent: usize as Percent = 1, "SemeruTracingGrowthPercent" in 0..=100, Paper;
    }
}
