//! Relief for a confined program when the kernel finds nothing in its cgroup to swap out.
//!
//! A collector that traverses its whole heap uses each page again as soon as it is resident, and then the kernel
//! gives up after some rounds, though nearly all of swap is free, and kills (`oom-kill:
//! constraint=CONSTRAINT_MEMCG`). No program would be run so; a cgroup v2 with `memory.high` makes its threads wait
//! instead. Here the kernel is configured not to kill, so threads wait, and a thread of the runner gives the cgroup a
//! little more memory, which wakes them, and takes it back as soon as the kernel can. The part of it that was used is
//! in its row.
//!
//! Taking it back is a write that returns when the kernel has swapped enough, which may be many seconds, and all that
//! time the program uses more than its share. So another thread samples the usage of the cgroup, and the measure is
//! the integral over time of the usage beyond the limit, in byte-seconds.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::kernel_swap::{counter, read, write};

/// Looks after one cgroup of one program until it is dropped or [`end`](Relief::end)ed.
pub struct Relief {
    /// The threads that give and that count, in the order in which they end, with the channels that stop them.
    threads: [Option<(Sender<()>, JoinHandle<Relieved>)>; 2],
}

/// The memory that a program got beyond its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Relieved {
    /// How often all of its threads that needed memory waited.
    pub times: u64,
    /// The most that its limit was raised by, bytes.
    pub bytes_max: u64,
    /// How long it used more than its limit. Rows without `all_byte_s` have only a part of it.
    pub time: Duration,
    /// The integral over time of its usage beyond its limit, byte-seconds.
    #[serde(default)]
    pub beyond_byte_s: f64,
    /// The integral over time of its whole usage, byte-seconds; 0 if it was not counted.
    #[serde(default)]
    pub all_byte_s: f64,
}

impl Relieved {
    /// Adds the relief of another run.
    pub fn add(&mut self, other: Relieved) {
        self.times += other.times;
        self.bytes_max = self.bytes_max.max(other.bytes_max);
        self.time += other.time;
        self.beyond_byte_s += other.beyond_byte_s;
        self.all_byte_s += other.all_byte_s;
    }

    /// Which part of its byte-seconds was beyond its limit, from 0 to 1. All of it if it got more and the amount was
    /// not counted, as in old rows.
    pub fn beyond_share(&self) -> f64 {
        match (self.all_byte_s > 0.0, self.times) {
            (true, _) => self.beyond_byte_s / self.all_byte_s,
            (false, 0) => 0.0,
            (false, _) => 1.0,
        }
    }

    /// Whether its usage was so far beyond its limit that it must not be compared with others.
    pub fn is_unfair(&self) -> bool {
        self.beyond_share() > UNFAIR_SHARE
    }
}

impl Relief {
    /// The limit of the cgroup is `limit` bytes by now.
    pub fn new(cgroup: &Path, limit: u64) -> Result<Relief, String> {
        write(cgroup.join(CONTROL), "1")?;
        let count = cgroup.to_path_buf();
        let count = move |stopped: &Receiver<()>| Account::new(limit).keep(&count, stopped);
        let cgroup = Cgroup { path: cgroup.to_path_buf(), limit, extra: 0 };
        let give = move |stopped: &Receiver<()>| cgroup.look_after(stopped);
        // Should the second not start, dropping the first ends it.
        let mut relief = Relief { threads: [Some(start("relief", give)?), None] };
        relief.threads[1] = Some(start("relief-count", count)?);
        Ok(relief)
    }

    /// Ends it, and returns what the program got.
    pub fn end(mut self) -> Relieved {
        self.finish()
    }

    fn finish(&mut self) -> Relieved {
        let mut all = Relieved::default();
        for (stop, thread) in self.threads.iter_mut().filter_map(Option::take) {
            drop(stop);
            all.add(thread.join().unwrap_or_default());
        }
        all
    }
}

impl Drop for Relief {
    fn drop(&mut self) {
        self.finish();
    }
}

fn start(
    name: &str,
    work: impl FnOnce(&Receiver<()>) -> Relieved + Send + 'static,
) -> Result<(Sender<()>, JoinHandle<Relieved>), String> {
    let (stop, stopped) = channel();
    let thread = thread::Builder::new().name(name.into()).spawn(move || work(&stopped));
    Ok((stop, thread.map_err(|error| format!("no thread for {CONTROL}: {error}"))?))
}

/// Integrals over time of the usage of a cgroup.
struct Account {
    /// Bytes.
    limit: u64,
    /// The time of the last sample, and the bytes in use then.
    last: Option<(Duration, u64)>,
    sum: Relieved,
}

impl Account {
    fn new(limit: u64) -> Account {
        Account { limit, last: None, sum: Relieved::default() }
    }

    /// `bytes` are in use `at` a time since some moment. Between two samples the usage is the mean of both.
    fn add(&mut self, at: Duration, bytes: u64) {
        if let Some((before, bytes_before)) = self.last {
            let passed = at.saturating_sub(before);
            let beyond = |bytes: u64| bytes.saturating_sub(self.limit) as f64;
            let area = |first: f64, second: f64| (first + second) / 2.0 * passed.as_secs_f64();
            self.sum.beyond_byte_s += area(beyond(bytes_before), beyond(bytes));
            self.sum.all_byte_s += area(bytes_before as f64, bytes as f64);
            if bytes_before > self.limit {
                self.sum.time += passed;
            }
        }
        self.last = Some((at, bytes));
    }

    /// Samples a cgroup, also while the thread that changes its limit waits.
    fn keep(mut self, cgroup: &Path, stopped: &Receiver<()>) -> Relieved {
        let (start, usage) = (Instant::now(), cgroup.join(USAGE));
        loop {
            let used = read(&usage).ok().and_then(|text| text.trim().parse().ok());
            if let Some(bytes) = used {
                self.add(start.elapsed(), bytes);
            }
            if stopped.recv_timeout(COUNT_EVERY) != Err(RecvTimeoutError::Timeout) {
                return self.sum;
            }
        }
    }
}

struct Cgroup {
    path: PathBuf,
    /// Its intended limit, bytes.
    limit: u64,
    /// The memory that it has beyond that at the moment, bytes.
    extra: u64,
}

impl Cgroup {
    fn look_after(mut self, stopped: &Receiver<()>) -> Relieved {
        let mut relieved = Relieved::default();
        while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(LOOK_EVERY) {
            if self.is_stuck() {
                relieved.times += 1;
                self.set(self.extra + (self.limit / STEPS).max(STEP_BYTES_MIN));
                relieved.bytes_max = relieved.bytes_max.max(self.extra);
            } else if self.extra > 0 {
                // Returns when enough is swapped out; refused while the kernel finds too little.
                self.set(0);
            }
        }
        self.set(0);
        relieved
    }

    fn is_stuck(&self) -> bool {
        read(self.path.join(CONTROL)).is_ok_and(|text| counter(&text, "under_oom") == 1)
    }

    fn set(&mut self, extra: u64) {
        if write(self.path.join(LIMIT), &(self.limit + extra).to_string()).is_ok() {
            self.extra = extra;
        }
    }
}

/// A fault that waits for a device of 5 us takes a tenth of it, a sample 5 us.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// The same for samples of its usage, which cost as little.
const COUNT_EVERY: Duration = Duration::from_millis(2);
/// A program with a larger part of its byte-seconds beyond its limit is not compared with others.
pub const UNFAIR_SHARE: f64 = 0.01;
/// The relief at once: this fraction of its limit, but at least this many bytes.
const STEPS: u64 = 32;
const STEP_BYTES_MIN: u64 = 1 << 20;

const CONTROL: &str = "memory.oom_control";
const USAGE: &str = "memory.usage_in_bytes";
/// The file of a cgroup that has its limit, bytes.
pub const LIMIT: &str = "memory.limit_in_bytes";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::scratch::Scratch;

    const MIB: u64 = 1 << 20;

    /// Given 20 MiB more at 1 s. The write that takes them away begins at 1.1 s and returns at 6 s, while usage falls
    /// from 120 to 100 MiB; a sample of the limit alone would call it a tenth of a second.
    #[test]
    fn what_is_used_while_a_write_takes_it_away_counts() {
        let mut account = Account::new(100 * MIB);
        let looks = [(0, 100), (1000, 100), (1001, 120), (1100, 120), (3550, 110), (6000, 100)];
        for (ms, mib) in looks.into_iter().chain([(10_000, 100)]) {
            account.add(Duration::from_millis(ms), mib * MIB);
        }
        let sum = account.sum;
        let expected = (0.01 + 99.0 * 0.02 + 2450.0 * 0.015 + 2450.0 * 0.005) * MIB as f64;
        assert!((sum.beyond_byte_s - expected).abs() < 1.0, "{sum:?}");
        assert_eq!(sum.time, Duration::from_millis(4999));
        let all = 1000.0 * MIB as f64 + expected;
        assert!((sum.all_byte_s - all).abs() < 1.0, "{sum:?}");
        assert!(sum.is_unfair(), "5 % of it: {}", sum.beyond_share());
    }

    #[test]
    fn a_hundredth_beyond_the_limit_is_fair_and_more_is_not() {
        let of = |beyond_byte_s| Relieved { times: 1, beyond_byte_s, all_byte_s: 100.0, ..zero() };
        assert!(!of(1.0).is_unfair() && of(1.01).is_unfair());
        assert!(!zero().is_unfair());
        let old = r#"{"times": 3, "bytes_max": 4096, "time": {"secs": 0, "nanos": 800000000}}"#;
        let old: Relieved = serde_json::from_str(old).unwrap();
        assert!(old.is_unfair(), "the amount is unknown");
    }

    fn zero() -> Relieved {
        Relieved::default()
    }

    /// A folder that looks like a cgroup whose limit can be written, but not soon: its file is a pipe that is not
    /// read for a while. Meanwhile usage is beyond the limit.
    #[test]
    fn a_write_that_blocks_does_not_stop_the_count() {
        let scratch = Scratch::new("relief").unwrap();
        let file = |name: &str| scratch.path().join(name);
        crate::kernel_swap::run(std::process::Command::new("mkfifo").arg(file(LIMIT))).unwrap();
        std::fs::write(file(USAGE), (3 * MIB).to_string()).unwrap();
        std::fs::write(file(CONTROL), "").unwrap();
        let relief = Relief::new(scratch.path(), MIB).unwrap();
        std::fs::write(file(CONTROL), "under_oom 1\n").unwrap();
        thread::sleep(Duration::from_millis(300));
        std::fs::write(file(CONTROL), "under_oom 0\n").unwrap();
        let _reader = std::fs::OpenOptions::new().read(true).write(true).open(file(LIMIT)).unwrap();
        let got = relief.end();
        assert!(got.times > 0 && got.bytes_max == MIB, "{got:?}");
        assert!(got.time >= Duration::from_millis(250), "{got:?}");
        let mean = got.beyond_byte_s / got.time.as_secs_f64();
        assert!((mean / (2 * MIB) as f64 - 1.0).abs() < 0.05, "{got:?}");
    }
}
