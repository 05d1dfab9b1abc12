//! The order of a session's runs.

use crate::harness::rng::Rng;

/// One run to be made: places in the lists of workloads and contenders, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Job {
    pub run: usize,
    pub workload: usize,
    pub contender: usize,
}

/// Every workload on every contender, `runs` times. All first runs come before all second ones, so that a session that
/// is cut short has some of everything; within a workload the contenders' order is another one each time, so that
/// none is always the one after an idle moment. The places `first` come before all others of their workload and run.
pub fn jobs(
    workloads: usize,
    contenders: usize,
    first: &[usize],
    runs: usize,
    seed: u64,
) -> Vec<Job> {
    let mut rng = Rng::new(seed);
    let mut jobs = Vec::new();
    for run in 0..runs {
        for workload in 0..workloads {
            let mut order: Vec<usize> = (0..contenders).collect();
            for at in (1..order.len()).rev() {
                order.swap(at, rng.below(at + 1));
            }
            order.sort_by_key(|contender| !first.contains(contender));
            jobs.extend(order.into_iter().map(|contender| Job { run, workload, contender }));
        }
    }
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_run_as_often_as_asked_in_a_mixed_order() {
        let jobs = jobs(3, 4, &[], 5, 7);
        let mut sorted = jobs.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), 60);
        assert!(jobs.windows(2).all(|pair| pair[0].run <= pair[1].run));
        let first_ones: Vec<usize> = jobs.chunks(4).map(|four| four[0].contender).collect();
        assert!((0..4).all(|contender| first_ones.contains(&contender)), "{first_ones:?}");
    }

    #[test]
    fn those_that_others_wait_for_come_first_in_each_round() {
        let jobs = jobs(2, 5, &[1, 3], 4, 7);
        for round in jobs.chunks(5) {
            let first = [round[0].contender, round[1].contender];
            assert!(first == [1, 3] || first == [3, 1], "{round:?}");
        }
    }

    #[test]
    fn a_seed_stands_for_an_order() {
        assert_eq!(jobs(2, 5, &[], 3, 1), jobs(2, 5, &[], 3, 1));
        assert_ne!(jobs(2, 5, &[], 3, 1), jobs(2, 5, &[], 3, 2));
    }
}
