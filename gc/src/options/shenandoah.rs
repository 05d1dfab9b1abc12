//! What can be chosen of Shenandoah. The doc comments are the help texts.

use std::str::FromStr;

/// What can be chosen. Names and defaults are HotSpot's, but for `forwarding`, which it does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShenandoahOptions {
    /// `-XX:-ShenandoahPacing`: threads that allocate do not wait for the cycle's progress.
    pub pacing: bool,
    /// `-XX:ShenandoahForwarding`: where the new addresses of objects are.
    pub forwarding: ForwardingPlace,
    /// `-XX:ShenandoahPacingMaxDelay`: milliseconds that they wait at most, for each buffer.
    pub pacing_delay_ms: u64,
    /// `-XX:ShenandoahPacingCycleSlack`: so many percent of the free memory are free of tax.
    pub pacing_slack_percent: usize,
    /// `-XX:ShenandoahMinFreeThreshold`: a cycle begins when less than so many percent of the heap are free.
    pub min_free_percent: usize,
    /// `-XX:ShenandoahInitFreeThreshold`: the same for the first cycles, from which it is learnt how long one takes.
    pub init_free_percent: usize,
    /// `-XX:ShenandoahLearningSteps`: so many are the first ones.
    pub learning_cycles: usize,
    /// `-XX:ShenandoahAllocSpikeFactor`: percent of the heap that may be allocated all at once, beyond the rate.
    pub spike_percent: usize,
    /// `-XX:ShenandoahGarbageThreshold`: regions with more garbage than so many percent are emptied.
    pub garbage_percent: usize,
    /// `-XX:ShenandoahImmediateThreshold`: none is if regions in which nothing lives give more than so many percent
    /// of what a cycle can give.
    pub immediate_percent: usize,
    /// `-XX:ShenandoahEvacReserve`: so many percent of the heap are kept free for copies.
    pub reserve_percent: usize,
    /// `-XX:ShenandoahCriticalFreeThreshold`: a cycle that ends in a pause with less than so many percent free turns
    /// into a full one.
    pub critical_free_percent: usize,
    /// `-XX:ShenandoahFullGCThreshold`: so does the last of so many cycles that end in a pause, one after the other.
    pub full_threshold: usize,
}

impl Default for ShenandoahOptions {
    fn default() -> Self {
        ShenandoahOptions {
            pacing: true,
            forwarding: ForwardingPlace::Table,
            pacing_delay_ms: 10,
            pacing_slack_percent: 10,
            min_free_percent: 10,
            init_free_percent: 70,
            learning_cycles: 5,
            spike_percent: 5,
            garbage_percent: 25,
            immediate_percent: 90,
            reserve_percent: 5,
            critical_free_percent: 1,
            full_threshold: 3,
        }
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
            _ => Err(format!("forwarding is in a table or in the header, not {text}")),
        }
    }
}
