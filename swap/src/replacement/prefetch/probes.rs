//! How many of the pages that are brought ahead are used, found out by samples.
//!
//! Now and then a fault brings fewer pages than were foreseen, up to one that is chosen by chance: the *probe*. It is
//! left where it is, and stands for all pages of that fault's forecast. If it is faulted on while it would still be
//! resident, had it been brought, they count as used, else as unused. So nothing has to be known of pages that are
//! mapped, and a walk in order loses nothing but one more fault: it continues at the probe.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::Page;

/// The probes of one far space. Async-signal-safe; races only cost a sample.
pub struct Probes {
    /// One forecast in this many has a probe; 0 = none.
    one_in: u64,
    /// Forecasts so far.
    forecasts: AtomicU64,
    /// At the place of its hash, each: page << 24 | lap of the replacement << 8 | pages that it stands for. 0 = free.
    slots: Box<[AtomicU64; SLOTS]>,
}

/// The result of a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Used {
    /// Pages for which probes stood.
    pub probed: usize,
    /// Of these, pages whose probe was faulted on in time.
    pub used: usize,
}

impl Probes {
    /// One forecast in `one_in` gets a probe; 0 = none.
    pub fn new(one_in: u32) -> Probes {
        let slots = Box::new([const { AtomicU64::new(0) }; SLOTS]);
        Probes { one_in: one_in.into(), forecasts: AtomicU64::new(0), slots }
    }

    /// A forecast of `pages` pages: which of them, counted from 1, should be a probe, with none behind it brought.
    pub fn choose(&self, pages: usize) -> Option<usize> {
        if self.one_in == 0 || pages == 0 {
            return None;
        }
        let n = self.forecasts.fetch_add(1, Relaxed);
        n.is_multiple_of(self.one_in).then(|| 1 + (mix(n) % pages as u64) as usize)
    }

    /// `page` is a probe that stands for `pages`. Reports the result of the probe that was in its place.
    pub fn set(&self, page: Page, pages: usize, lap: u32) -> Used {
        let stands_for = pages.min(0xff) as u64;
        let probe = (page.0 as u64) << 24 | u64::from(lap & 0xffff) << 8 | stands_for;
        let old = self.slot(page).swap(probe, Relaxed);
        Used { probed: (old & 0xff) as usize, used: 0 }
    }

    /// A fault on this page: `None` unless it is a probe. The probe is over.
    pub fn faulted(&self, page: Page, lap: u32) -> Option<Used> {
        let slot = self.slot(page);
        let probe = slot.load(Relaxed);
        if probe == 0 || probe >> 24 != page.0 as u64 {
            return None;
        }
        slot.store(0, Relaxed);
        let pages = (probe & 0xff) as usize;
        let laps = lap.wrapping_sub((probe >> 8) as u32) & 0xffff;
        Some(Used { probed: pages, used: if laps <= LAPS { pages } else { 0 } })
    }

    fn slot(&self, page: Page) -> &AtomicU64 {
        &self.slots[(mix(page.0 as u64) % SLOTS as u64) as usize]
    }
}

/// Spreads numbers (a multiplication by 2^64 divided by the golden ratio).
fn mix(n: u64) -> u64 {
    n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

const SLOTS: usize = 1024;
/// A page that arrives has credit for one round, and is evicted in the next.
const LAPS: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_counts_once_and_only_in_time() {
        let probes = Probes::new(1);
        assert_eq!(probes.set(Page(5), 7, 65_535), Used::default());
        assert_eq!(probes.faulted(Page(6), 0), None);
        assert_eq!(probes.faulted(Page(5), 1), Some(Used { probed: 7, used: 7 }));
        assert_eq!(probes.faulted(Page(5), 1), None);
        probes.set(Page(5), 7, 10);
        assert_eq!(probes.faulted(Page(5), 13), Some(Used { probed: 7, used: 0 }));
        probes.set(Page(5), 7, 10);
        assert_eq!(probes.set(Page(5), 3, 10), Used { probed: 7, used: 0 });
    }

    #[test]
    fn probes_are_all_over_the_forecasts_and_as_rare_as_asked_for() {
        let probes = Probes::new(8);
        let chosen: Vec<_> = (0..800).filter_map(|_| probes.choose(10)).collect();
        assert_eq!(chosen.len(), 100);
        let mean = chosen.iter().sum::<usize>() as f64 / 100.0;
        assert!((4.5..6.5).contains(&mean), "mean {mean} of 1 to 10");
        assert_eq!(Probes::new(0).choose(10), None);
    }
}
