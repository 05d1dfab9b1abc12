//! How much a member demands.

use std::time::Duration;

use crate::{Pager, PagerStats};

/// The activity of the pager since the last look.
pub struct Load {
    stats: PagerStats,
}

impl Load {
    /// From now on.
    pub fn new(pager: &Pager) -> Load {
        Load { stats: pager.stats() }
    }

    /// The demand after `time` since the last look.
    pub fn demand(&mut self, pager: &Pager, time: Duration) -> usize {
        let before = std::mem::replace(&mut self.stats, pager.stats());
        let arrived = arrivals(&self.stats) - arrivals(&before);
        demand(self.stats.resident_pages as usize, arrived as f64 / time.as_secs_f64().max(1e-3))
    }
}

fn arrivals(stats: &PagerStats) -> u64 {
    stats.fetch_faults.iter().chain(&stats.zero_faults).sum()
}

/// See the text of [`super`]. `arriving`: pages for which a thread had to wait, in a second.
fn demand(resident: usize, arriving: f64) -> usize {
    match arriving < CALM {
        true => resident - resident / GIVES_WAY,
        false => resident.saturating_add(arriving as usize),
    }
}

/// Pages in a second: a thousandth of a CPU's time.
const CALM: f64 = 200.0;
/// Part of its pages that a calm member does not insist on.
const GIVES_WAY: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_misses_pages_demands_more_and_who_does_not_gives_way() {
        assert_eq!(demand(1600, 0.0), 1500);
        assert_eq!(demand(1600, 199.0), 1500);
        assert_eq!(demand(1600, 5000.0), 6600);
        assert_eq!(demand(0, 0.0), 0);
    }
}
