//! A progress line on standard error: redrawn on a terminal, else printed now and then.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

/// Counts finished jobs and shows how long the rest will take.
pub struct Progress {
    total: usize,
    finished: usize,
    failed: usize,
    start: Instant,
    shown: Option<Instant>,
    terminal: bool,
    left: Option<Duration>,
}

impl Progress {
    pub fn new(total: usize) -> Progress {
        let terminal = io::stderr().is_terminal();
        let start = Instant::now();
        Progress { total, finished: 0, failed: 0, start, shown: None, terminal, left: None }
    }

    /// Sets the estimate for the rest; without it the estimate is by the mean time of the jobs so far.
    pub fn expect(&mut self, left: Duration) {
        self.left = Some(left);
    }

    /// Counts one job; `label` names it.
    pub fn step(&mut self, passed: bool, label: &str) {
        self.finished += 1;
        self.failed += usize::from(!passed);
        let interval = Duration::from_millis(if self.terminal { 100 } else { 30_000 });
        let due = self.shown.is_none_or(|at| at.elapsed() >= interval);
        if due || self.finished == self.total {
            self.show(label);
            self.shown = Some(Instant::now());
        }
    }

    /// Prints a line of its own, above the bar.
    pub fn message(&self, text: &str) {
        if self.terminal {
            base::say_part(format_args!("\r\x1b[K"));
        }
        base::say(format_args!("{text}"));
    }

    /// Ends the bar's line.
    pub fn finish(&self) {
        if self.terminal {
            base::say(format_args!(""));
        }
    }

    fn show(&self, label: &str) {
        let spent = self.start.elapsed().as_secs();
        let even = spent * (self.total - self.finished) as u64 / self.finished.max(1) as u64;
        let left = self.left.map_or(even, |left| left.as_secs());
        let filled = BAR_COLUMNS * self.finished / self.total.max(1);
        let bar = "#".repeat(filled) + &"-".repeat(BAR_COLUMNS - filled);
        let counts = format!("{}/{}, {} failed", self.finished, self.total, self.failed);
        let times = format!("{} elapsed, {} left", clock(spent), clock(left));
        if self.terminal {
            let label: String = label.chars().take(40).collect();
            base::say_part(format_args!("\r\x1b[K[{bar}] {counts}, {times}  {label}"));
        } else {
            base::say(format_args!("{counts}, {times}"));
        }
    }
}

/// Minutes and seconds.
pub fn clock(seconds: u64) -> String {
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

const BAR_COLUMNS: usize = 30;
