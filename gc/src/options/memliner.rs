//! The options of MemLiner. Numbers are the paper's, where it has any; `overwrite` and `explore_remote` are off.

use base::options;
use std::fmt;
use std::str::FromStr;

options! {
    /// See the module text.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct MemLinerOptions, "memliner" {
        /// Barriers notify the tracers of the objects that the program touches.
        pub queue: bool as Switch = true, "MemLinerQueue", Ablation;
        /// Touched objects that a thread's queue holds, rounded up to a power of two (section 4.6.1: 1024).
        pub queue_length: usize as Count = 1024, "MemLinerQueueLength" in 1..=1 << 20, Paper;
        /// Further objects overwrite the oldest in a full queue, as in the paper. Otherwise a thread whose queue is
        /// full records nothing until the queue has been emptied.
        pub overwrite: bool as Switch = false, "MemLinerOverwrite", Paper;
        /// Hops that are explored immediately from a touched object (section 4.3.2: 3).
        pub depth_max: u8 as Count = 3, "MemLinerMaxDepth" in 0..=255, Paper;
        /// Do not explore from objects with more references. 0: no limit, as in the paper.
        pub width_max: usize as Count = 16, "MemLinerMaxWidth" in 0..=1 << 30, Product;
        /// Explore the neighbors of a touched object even if they are remote, as in the paper. Otherwise only those
        /// that the estimator takes for resident.
        pub explore_remote: bool as Switch = false, "MemLinerExploreRemote", Paper;
        /// Postpone objects that are estimated to be remote.
        pub push_back: bool as Switch = true, "MemLinerPushBack", Ablation;
        /// Maximum number of times that such an object is postponed: `auto`, by the free part of the heap, or 0 to 255.
        pub delays_max: DelaysMax as Word = DelaysMax::Auto, "MemLinerMaxDL", Paper;
        /// The same for `auto` with the heap in the yellow zone. In the red zone it is 0.
        pub yellow_delays: u8 as Count = 2, "MemLinerYellowDL" in 0..=255, Paper;
        /// The same for `auto` with the heap in neither zone.
        pub green_delays: u8 as Count = 4, "MemLinerGreenDL" in 0..=255, Paper;
        /// The heap is in the red zone with a smaller part of it free.
        pub red_percent: usize as Percent = 15, "MemLinerRedZone" in 0..=100, Paper;
        /// The heap is in the yellow zone with a smaller part of it free.
        pub yellow_percent: usize as Percent = 50, "MemLinerYellowZone" in 0..=100, Paper;
        /// How to decide whether an object is resident: `residency` asks the pager, `epoch` uses stamps in references
        /// (section 4.3.2.2), `none` takes every object for resident.
        pub estimator: Estimator as Word = Estimator::Residency, "MemLinerEstimator", Paper;
        /// Shenandoah copies resident objects first, and not region by region.
        pub two_phase_evacuation: bool as Switch = true, "MemLinerTwoPhaseEvacuation", Ablation;
        /// Bits of the epoch in a reference. EpochPercent says what an epoch is.
        pub epoch_bits: u8 as Count = 4, "MemLinerEpochBits" in 1..=8, Paper;
        /// A reference that was used at most N epochs ago is taken for one to a resident object (delta in the paper,
        /// which gives no value).
        pub epochs_max: u64 as Count = 1, "MemLinerEpochs" in 0..=255, Paper;
    }
}

/// How often an object is pushed back at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelaysMax {
    /// By how much of the heap is free.
    Auto,
    Fixed(u8),
}

/// How to decide whether an object is in local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimator {
    /// References say when they were used last (section 4.3.2.2).
    Epoch,
    /// The pager knows it.
    Residency,
    /// Every object counts as local.
    None,
}

impl MemLinerOptions {
    /// How often an object is pushed back while this part of the heap is free.
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
                .map_err(|_| "must be auto, or 0 to 255".to_string()),
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
            other => {
                Err(format!("unknown estimator {other}: must be one of epoch, residency, none"))
            }
        }
    }
}

impl fmt::Display for DelaysMax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DelaysMax::Auto => f.write_str("auto"),
            DelaysMax::Fixed(delays) => write!(f, "{delays}"),
        }
    }
}

impl fmt::Display for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Estimator::Epoch => "epoch",
            Estimator::Residency => "residency",
            Estimator::None => "none",
        })
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
