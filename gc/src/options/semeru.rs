//! What can be chosen of Semeru, beside what it has in common with G1. The doc comments are the help texts.

/// See the module text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SemeruOptions {
    /// `-XX:-SemeruOffloadTracing`: old regions are traced here, as G1 does, and not by the memory servers.
    pub offload_tracing: bool,
    /// `-XX:SemeruTracingGrowthPercent`: old regions are traced anew when they have grown by so much of the heap since
    /// they were last traced, percent. 0: as soon as the last tracing is over and its sparse regions have been moved.
    pub growth_percent: usize,
}

impl Default for SemeruOptions {
    fn default() -> Self {
        SemeruOptions { offload_tracing: true, growth_percent: 1 }
    }
}
