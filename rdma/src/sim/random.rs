//! Decisions of the seed.

use super::{RETRY_DELAYS, SimOptions};
use std::sync::atomic::{AtomicU64, Ordering};

/// Random draws by number: the draw of an operation depends on how many were before it, and not on their draws.
pub struct Draws {
    seed: u64,
    /// Relaxed: only a number.
    count: AtomicU64,
}

impl Draws {
    pub fn new(seed: u64) -> Draws {
        Draws { seed, count: AtomicU64::new(0) }
    }

    /// The next operation's. Async-signal-safe.
    pub fn next(&self) -> Random {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        Random::new(self.seed.wrapping_add(number << 32))
    }
}

/// SplitMix64: repeatable everywhere.
#[derive(Default)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// A number below `limit`, which is at least 1.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % limit
    }

    /// A delay: at most `delay_max`, now and then a hundred times as much.
    pub fn delay(&mut self, delay_max: u64) -> u64 {
        let rarely = if self.below(20) == 0 { 100 } else { 1 };
        self.below(delay_max * rarely + 1)
    }

    /// How long a message is on its way, in units: a delay, and more for each time that it is lost and sent again.
    pub fn passage(&mut self, options: &SimOptions) -> u64 {
        let SimOptions { delay_max, loss_percent, .. } = *options;
        let mut units = self.delay(delay_max);
        while self.below(100) < loss_percent {
            units += RETRY_DELAYS * delay_max.max(1);
        }
        units
    }
}
