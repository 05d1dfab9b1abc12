//! What can be chosen of MemLiner. The doc comments are the help texts. Numbers are the paper's, where it has any;
//! `overwrite` and `explore_remote` are off.

use std::str::FromStr;

/// See the module text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemLinerOptions {
    /// `-XX:-MemLinerQueue`: barriers do not tell the tracers of the objects that the program touches.
    pub queue: bool,
    /// `-XX:MemLinerQueueLength`: touched objects that a thread's queue holds, rounded up to a power of two
    /// (section 4.6.1: 1024).
    pub queue_length: usize,
    /// `-XX:+MemLinerOverwrite`: the next ones overwrite the oldest, as in the paper; otherwise a thread whose queue is
    /// full tells of nothing until it was emptied.
    pub overwrite: bool,
    /// `-XX:MemLinerMaxDepth`: hops that are explored from a touched object at once (section 4.3.2: 3).
    pub depth_max: u8,
    /// `-XX:MemLinerMaxWidth`: an object with more references than this is not explored from; 0: as in the paper,
    /// however many there are.
    pub width_max: usize,
    /// `-XX:+MemLinerExploreRemote`: what is near a touched object is explored wherever it is, as in the paper;
    /// otherwise only as far as the estimator takes it for local.
    pub explore_remote: bool,
    /// `-XX:-MemLinerPushBack`: objects that are estimated to be remote are traced in their turn all the same.
    pub push_back: bool,
    /// `-XX:MemLinerMaxDL`: how often such an object is pushed back.
    pub delays_max: DelaysMax,
    /// `-XX:MemLinerYellowDL` and `-XX:MemLinerGreenDL`: the same where `auto` finds little or much of the heap free
    /// (2 and 4); in the red zone it is 0.
    pub yellow_delays: u8,
    pub green_delays: u8,
    /// `-XX:MemLinerRedZone` and `-XX:MemLinerYellowZone`: percent of the heap; with less free, the heap is in that
    /// zone (15 and 50).
    pub red_percent: usize,
    pub yellow_percent: usize,
    /// `-XX:MemLinerEstimator`: how to tell whether an object is in local memory.
    pub estimator: Estimator,
    /// `-XX:-MemLinerTwoPhaseEvacuation`: Shenandoah copies region by region, wherever objects are, and not those first
    /// that are in local memory.
    pub two_phase_evacuation: bool,
    /// `-XX:MemLinerEpochBits`: bits of the epoch in a reference (4), 1 to 8. What an epoch is says `-XX:EpochPercent`.
    pub epoch_bits: u8,
    /// `-XX:MemLinerEpochs`: a reference that was used at most so many epochs ago is taken for one to local memory (the
    /// paper's delta, for which it gives no value).
    pub epochs_max: u64,
}

/// How often an object is pushed back at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelaysMax {
    /// By how much of the heap is free.
    Auto,
    Fixed(u8),
}

/// How to tell whether an object is in local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimator {
    /// References say when they were used last (section 4.3.2.2).
    Epoch,
    /// The pager knows it.
    Residency,
    /// Every object counts as local.
    None,
}

impl Default for MemLinerOptions {
    fn default() -> Self {
        MemLinerOptions {
            queue: true,
            queue_length: 1024,
            overwrite: false,
            depth_max: 3,
            width_max: 16,
            explore_remote: false,
            push_back: true,
            delays_max: DelaysMax::Auto,
            yellow_delays: 2,
            green_delays: 4,
            red_percent: 15,
            yellow_percent: 50,
            estimator: Estimator::Residency,
            two_phase_evacuation: true,
            epoch_bits: 4,
            epochs_max: 1,
        }
    }
}

impl MemLinerOptions {
    /// How often an object is pushed back while so much of the heap is free.
    pub fn delays_at(&self, free_percent: usize) -> u8 {
        match self.delays_max {
            _ if !self.push_back => 0,
            DelaysMax::Fixed(delays) => delays,
            DelaysMax::Auto if free_percent < self.red_percent => 0,
            DelaysMax::Auto if free_percent < self.yellow_percent => self.yellow_delays,
            DelaysMax::Auto => self.green_delays,
        }
    }
}

impl FromStr for DelaysMax {
    type Err = String;

    fn from_str(text: &str) -> Result<DelaysMax, String> {
        match text {
            "auto" => Ok(DelaysMax::Auto),
            number => number
                .parse()
                .map(DelaysMax::Fixed)
                .map_err(|_| format!("MemLinerMaxDL must be auto, or 0 to 255, not {number}")),
        }
    }
}

impl FromStr for Estimator {
    type Err = String;

    fn from_str(text: &str) -> Result<Estimator, String> {
        match text {
            "epoch" => Ok(Estimator::Epoch),
            "residency" => Ok(Estimator::Residency),
            "none" => Ok(Estimator::None),
            other => Err(format!("unknown estimator {other}, one of epoch, residency, none")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_free_memory_means_less_patience() {
        let options = MemLinerOptions::default();
        let delays = [0, 14, 15, 49, 50, 100].map(|free| options.delays_at(free));
        assert_eq!(delays, [0, 0, 2, 2, 4, 4]);
        let fixed = MemLinerOptions { delays_max: "7".parse().unwrap(), ..options };
        assert_eq!(fixed.delays_at(1), 7);
        let off = MemLinerOptions { push_back: false, ..fixed };
        assert_eq!(off.delays_at(90), 0);
        assert_eq!("auto".parse(), Ok(DelaysMax::Auto));
        assert!("256".parse::<DelaysMax>().is_err() && "lru".parse::<Estimator>().is_err());
    }
}
