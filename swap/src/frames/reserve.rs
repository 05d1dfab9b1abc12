//! How many pages of the budget the evictor keeps free, so that a fault finds room without waiting.
//!
//! Each is a page less for the program, and a program with a hundredth less memory fetches two to three hundredths more
//! pages ([measurement 0050](../../../docs/measurements/0050-reserve-of-free-frames.md)). To free a frame oneself
//! delays a fault by less than half. So the reserve is small, and is doubled only when more than one frame in sixteen
//! had to be freed by those that needed it: a program with more threads than CPUs needs more, since its evictor runs
//! late. It shrinks again slowly.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The reserve of one far space. Any thread; relaxed, since the numbers are only hints.
pub struct Reserve {
    /// The least, in thousandths of the budget.
    permille: usize,
    least: AtomicUsize,
    most: AtomicUsize,
    pages: AtomicUsize,
    /// Frames that those that needed them freed themselves since [`Reserve::adapt`] looked last.
    short: AtomicUsize,
}

impl Reserve {
    /// The reserve of a budget, with at least this many thousandths of it; none is needed where all `pages` fit.
    pub fn new(budget_pages: usize, pages: usize, permille: u32) -> Reserve {
        let permille = permille as usize;
        let bounds = Reserve::bounds(permille, budget_pages, pages);
        let [least, most, pages] = bounds.map(AtomicUsize::new);
        Reserve { permille, least, most, pages, short: AtomicUsize::new(0) }
    }

    /// The budget has changed.
    pub fn resize(&self, budget_pages: usize, pages: usize) {
        let [least, most, first] = Reserve::bounds(self.permille, budget_pages, pages);
        self.least.store(least, Relaxed);
        self.most.store(most, Relaxed);
        let now = self.pages();
        self.pages.store(if now == 0 { first } else { now.clamp(least, most) }, Relaxed);
    }

    /// The least, the most, and the initial size.
    fn bounds(permille: usize, budget_pages: usize, pages: usize) -> [usize; 3] {
        if budget_pages >= pages {
            return [0; 3];
        }
        let most = (budget_pages / MOST_PART).max(LEAST);
        let least = (budget_pages * permille / 1000).clamp(LEAST, LEAST_MAX).min(most);
        [least, most, least]
    }

    /// The low watermark: with this many free pages, or fewer, the evictor is woken; it restores twice as many
    /// free pages.
    pub fn pages(&self) -> usize {
        self.pages.load(Relaxed)
    }

    /// Those that need these frames have to free them themselves. Async-signal-safe.
    pub fn fell_short(&self, frames: usize) {
        self.short.fetch_add(frames, Relaxed);
    }

    /// By the evictor, each time that it has restored the reserve: it has freed this many frames.
    pub fn adapt(&self, freed: usize) {
        let now = self.pages();
        let wish = match self.short.swap(0, Relaxed) * SHORT_PART > freed {
            true => 2 * now,
            false => now.saturating_sub((now / SHRINKS_BY).max(1)),
        };
        let least = self.least.load(Relaxed);
        self.pages.store(wish.clamp(least, self.most.load(Relaxed).max(least)), Relaxed);
    }
}

/// Pages, even where they are a large part of the budget.
const LEAST: usize = 16;
/// The least of a large budget, in pages.
const LEAST_MAX: usize = 1024;
/// Part of the budget.
const MOST_PART: usize = 16;
/// Part of the frames that may be freed by those that need them.
const SHORT_PART: usize = 16;
/// Part of the reserve that is given up each time that it was large enough.
const SHRINKS_BY: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_where_it_falls_short_and_shrinks_back() {
        let reserve = Reserve::new(32_000, 100_000, 25);
        let grown = [1600, 2000, 2000].map(|_| {
            (0..10).for_each(|_| reserve.fell_short(10));
            reserve.adapt(1599);
            reserve.pages()
        });
        assert_eq!(grown, [1600, 2000, 2000], "a sixteenth is the maximum");
        for _ in 0..200 {
            reserve.fell_short(100);
            reserve.adapt(1600);
        }
        assert_eq!(reserve.pages(), 800, "one frame in sixteen is few");
    }

    #[test]
    fn a_small_one_shrinks_too() {
        let reserve = Reserve::new(1600, 100_000, 1);
        reserve.fell_short(1);
        reserve.adapt(0);
        assert_eq!(reserve.pages(), 32);
        (0..16).for_each(|_| reserve.adapt(0));
        assert_eq!(reserve.pages(), 16);
    }

    #[test]
    fn it_follows_the_budget() {
        let reserve = Reserve::new(100_000, 100_000, 25);
        assert_eq!(reserve.pages(), 0);
        reserve.resize(32_000, 100_000);
        assert_eq!(reserve.pages(), 800);
        reserve.resize(320, 100_000);
        assert_eq!(reserve.pages(), 20, "the most for so small a budget");
        reserve.resize(100_000, 100_000);
        assert_eq!(reserve.pages(), 0);
    }

    #[test]
    fn it_has_bounds_in_pages_too() {
        assert_eq!(Reserve::new(100, 100, 8).pages(), 0);
        assert_eq!(Reserve::new(100, 101, 8).pages(), 16);
        assert_eq!(Reserve::new(1 << 20, 1 << 22, 8).pages(), 1024);
        assert_eq!(Reserve::new(8_000, 100_000, 500).pages(), 500, "no more than a sixteenth");
    }
}
