//! How many pages of the budget the evictor keeps free, so that a fault finds room without waiting.
//!
//! Each is a page less for the program, so the reserve begins small. It is doubled when the evictor finds half of it
//! used up, before a fault has to make room itself, and shrinks again slowly: a program with more threads than CPUs
//! needs more, since its evictor runs late.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// The reserve of one far space. Any thread; relaxed, since the numbers are only hints.
pub struct Reserve {
    least: AtomicUsize,
    most: AtomicUsize,
    pages: AtomicUsize,
    /// A fault made room itself, or nearly had to, since [`Reserve::adapt`] looked last.
    fell_short: AtomicBool,
}

impl Reserve {
    /// The reserve of a budget; none is needed where all `pages` fit.
    pub fn new(budget_pages: usize, pages: usize) -> Reserve {
        let [least, most, pages] = Reserve::bounds(budget_pages, pages).map(AtomicUsize::new);
        Reserve { least, most, pages, fell_short: AtomicBool::new(false) }
    }

    /// The budget has changed.
    pub fn resize(&self, budget_pages: usize, pages: usize) {
        let [least, most, first] = Reserve::bounds(budget_pages, pages);
        self.least.store(least, Relaxed);
        self.most.store(most, Relaxed);
        let now = self.pages();
        self.pages.store(if now == 0 { first } else { now.clamp(least, most) }, Relaxed);
    }

    /// The least, the most, and the initial size.
    fn bounds(budget_pages: usize, pages: usize) -> [usize; 3] {
        let is_needed = budget_pages < pages;
        let share = |part: usize| if is_needed { (budget_pages / part).max(LEAST) } else { 0 };
        let least = share(LEAST_PART).min(1024);
        [least, share(MOST_PART), least]
    }

    /// The low watermark: with this many free pages, or fewer, the evictor is woken; it restores twice as many
    /// free pages.
    pub fn pages(&self) -> usize {
        self.pages.load(Relaxed)
    }

    /// A fault has to make room itself. Async-signal-safe.
    pub fn fell_short(&self) {
        self.fell_short.store(true, Relaxed);
    }

    /// By the evictor, while it restores the reserve: `free_pages` are free.
    pub fn saw(&self, free_pages: usize) {
        if free_pages < self.pages() / 2 {
            self.fell_short();
        }
    }

    /// By the evictor, each time that it has restored the reserve.
    pub fn adapt(&self) {
        let now = self.pages();
        let wish = match self.fell_short.swap(false, Relaxed) {
            true => 2 * now,
            false => now - now / SHRINKS_BY,
        };
        let least = self.least.load(Relaxed);
        self.pages.store(wish.clamp(least, self.most.load(Relaxed).max(least)), Relaxed);
    }
}

/// Pages, even where they are a large part of the budget.
const LEAST: usize = 16;
/// Parts of the budget.
const LEAST_PART: usize = 32;
const MOST_PART: usize = 16;
/// Part of the reserve that is given up each time that it was large enough.
const SHRINKS_BY: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_where_it_falls_short_and_shrinks_back() {
        let reserve = Reserve::new(32_000, 100_000);
        assert_eq!(reserve.pages(), 1000);
        reserve.fell_short();
        reserve.adapt();
        assert_eq!(reserve.pages(), 2000);
        reserve.fell_short();
        reserve.adapt();
        assert_eq!(reserve.pages(), 2000, "a sixteenth is the maximum");
        for _ in 0..200 {
            reserve.adapt();
        }
        assert_eq!(reserve.pages(), 1000);
    }

    #[test]
    fn it_grows_before_it_falls_short() {
        let reserve = Reserve::new(32_000, 100_000);
        reserve.saw(500);
        reserve.adapt();
        assert!(reserve.pages() <= 1000);
        reserve.saw(499);
        reserve.saw(900);
        reserve.adapt();
        assert_eq!(reserve.pages(), 2000);
    }

    #[test]
    fn it_follows_the_budget() {
        let reserve = Reserve::new(100_000, 100_000);
        assert_eq!(reserve.pages(), 0);
        reserve.resize(32_000, 100_000);
        assert_eq!(reserve.pages(), 1000);
        reserve.resize(320, 100_000);
        assert_eq!(reserve.pages(), 20, "the most for so small a budget");
        reserve.resize(100_000, 100_000);
        assert_eq!(reserve.pages(), 0);
    }

    #[test]
    fn it_has_bounds_in_pages_too() {
        assert_eq!(Reserve::new(100, 100).pages(), 0);
        assert_eq!(Reserve::new(100, 101).pages(), 16);
        assert_eq!(Reserve::new(1 << 20, 1 << 22).pages(), 1024);
    }
}
