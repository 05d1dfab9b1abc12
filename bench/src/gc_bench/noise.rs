//! The load of other processes on the machine while a run was measured.

use serde::{Deserialize, Serialize};

use crate::harness::process::ticks_per_second;

/// CPU time that the run did not get, or that other processes took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Seconds that the hypervisor gave to other machines while this one wanted to run.
    pub steal_s: f64,
    /// Seconds of all other processes of this machine.
    pub others_s: f64,
    /// The load average over one minute when the run began.
    pub load_before: f64,
}

impl Noise {
    /// Whether the run's times are to be doubted: of the CPU time that the machine had, others took this share.
    pub fn is_loud(&self, wall_s: f64, cores: usize) -> bool {
        self.steal_s + self.others_s > LOUD_SHARE * wall_s * cores.max(1) as f64
    }
}

/// The machine's counters at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    busy_s: f64,
    steal_s: f64,
    load: f64,
}

impl Moment {
    /// A counter that cannot be read is 0.
    pub fn now() -> Moment {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let (busy_s, steal_s) = times(&read("/proc/stat"), ticks_per_second()).unwrap_or_default();
        let load = read("/proc/loadavg");
        let load = load.split_whitespace().next().and_then(|first| first.parse().ok());
        Moment { busy_s, steal_s, load: load.unwrap_or(0.0) }
    }

    /// The differences since then, without a run that took `own_s` of CPU time.
    pub fn until_now(self, own_s: f64) -> Noise {
        let now = Moment::now();
        Noise {
            steal_s: (now.steal_s - self.steal_s).max(0.0),
            others_s: (now.busy_s - self.busy_s - own_s).max(0.0),
            load_before: self.load,
        }
    }
}

/// Seconds in which CPUs were busy and seconds that were stolen, from `/proc/stat`.
fn times(stat: &str, ticks: f64) -> Option<(f64, f64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<f64> = line.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user and nice already.
    let [user, nice, system, _, _, irq, softirq, steal] = *fields.first_chunk::<8>()?;
    Some(((user + nice + system + irq + softirq) / ticks, steal / ticks))
}

/// Above this the times of a run are said to be doubtful.
pub const LOUD_SHARE: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_and_stolen_time_are_read() {
        let stat = "cpu  100 20 30 9999 50 1 2 300 7 7\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(times(stat, 100.0), Some((1.53, 3.0)));
        assert_eq!(times("cpu 1 2\n", 100.0), None);
    }

    #[test]
    fn what_others_take_is_loud_above_a_tenth() {
        let noise = |others_s| Noise { steal_s: 0.5, others_s, load_before: 0.0 };
        assert!(!noise(0.4).is_loud(5.0, 2));
        assert!(noise(0.6).is_loud(5.0, 2));
    }

    #[test]
    fn a_busy_neighbour_is_seen() {
        let before = Moment::now();
        let start = std::time::Instant::now();
        while start.elapsed().as_millis() < 300 {
            std::hint::spin_loop();
        }
        let noise = before.until_now(0.0);
        assert!(noise.others_s > 0.1, "{noise:?}");
    }
}
