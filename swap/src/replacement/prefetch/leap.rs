//! Leap: the stride that most of the latest faults have in common (Maruf and Chowdhury, USENIX ATC 2020).
//!
//! The history of each thread has the distances between its faults. A majority vote (Boyer and Moore) over the latest
//! few, and if that finds none over twice as many, and so on, finds the *trend*. The window of pages to bring grows
//! with the pages that were brought and used since the last fault, and shrinks to half at most. Where there is no
//! trend the last one is tried, as long as the window lasts.
//!
//! Leap counts uses one by one, since pages that it brought raise a minor fault each. Ours raise none: a fault right
//! behind the pages that were brought says that all of them were used, any other that none was.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};

use super::{Prefetcher, Readahead};
use crate::Page;

/// The histories, dealt out to threads; two threads may share one, and disturb each other's.
pub struct Leap {
    histories: Box<[History; HISTORIES]>,
}

/// Of one thread. Relaxed: hints.
#[derive(Default)]
struct History {
    /// Distances between faults, in pages.
    distances: [AtomicI64; DISTANCES],
    /// How many there ever were; the latest is before it.
    count: AtomicUsize,
    last: AtomicUsize,
    stride: AtomicI64,
    window: AtomicUsize,
    brought: AtomicUsize,
}

impl Default for Leap {
    fn default() -> Leap {
        Leap { histories: Box::new(std::array::from_fn(|_| History::default())) }
    }
}

impl Prefetcher for Leap {
    fn predict(&self, page: Page) -> Readahead {
        self.histories[thread_number() % HISTORIES].predict(page)
    }

    fn brought(&self, _page: Page, _ahead: Readahead, pages: usize, _present: usize) {
        self.histories[thread_number() % HISTORIES].brought.store(pages, Relaxed);
    }
}

impl History {
    fn predict(&self, page: Page) -> Readahead {
        let (stride, brought) = (self.stride.load(Relaxed), self.brought.load(Relaxed));
        let mut distance = page.0 as i64 - self.last.swap(page.0, Relaxed) as i64;
        let follows = stride != 0 && distance == stride * (brought as i64 + 1);
        if follows {
            // The pages in between were used too, without a fault.
            distance = stride;
        }
        let count = self.count.fetch_add(1, Relaxed);
        self.distances[count % DISTANCES].store(distance, Relaxed);
        let trend = self.trend(count + 1);
        let before = self.window.load(Relaxed);
        let window = match (follows, brought) {
            (true, 1..) => (brought + 1).next_power_of_two().min(WINDOW_MAX),
            (true, 0) => 1,
            (false, _) => usize::from(trend == Some(distance)),
        };
        let window = window.max(before / 2);
        self.window.store(window, Relaxed);
        self.brought.store(0, Relaxed);
        if let Some(trend) = trend {
            self.stride.store(trend, Relaxed);
        }
        match trend.unwrap_or(stride) {
            0 => Readahead::NOTHING,
            stride => Readahead { stride: stride as isize, pages: window, continues: false },
        }
    }

    /// The distance that more than half of the latest ones are, among as few as possible. `count` are known.
    fn trend(&self, count: usize) -> Option<i64> {
        let mut latest = FEW;
        loop {
            let among = latest.min(count);
            let distances =
                || (1..=among).map(|n| self.distances[(count - n) % DISTANCES].load(Relaxed));
            let (mut candidate, mut votes) = (0, 0_usize);
            for distance in distances() {
                match (votes, distance == candidate) {
                    (0, _) => (candidate, votes) = (distance, 1),
                    (_, true) => votes += 1,
                    (_, false) => votes -= 1,
                }
            }
            let wins = distances().filter(|d| *d == candidate).count() > among / 2;
            if wins && candidate != 0 && among >= FEW {
                return Some(candidate);
            }
            if latest >= DISTANCES.min(count) {
                return None;
            }
            latest *= 2;
        }
    }
}

/// A small number of the calling thread.
fn thread_number() -> usize {
    thread_local! {
        // Without destructor and lazy initialisation, so that the fault handler may use it. 0 = not numbered yet.
        static NUMBER: Cell<usize> = const { Cell::new(0) };
    }
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    if NUMBER.get() == 0 {
        NUMBER.set(NEXT.fetch_add(1, Relaxed));
    }
    NUMBER.get()
}

const HISTORIES: usize = 64;
/// The paper's H_size.
const DISTANCES: usize = 32;
/// The paper's H_size / N_split.
const FEW: usize = 4;
/// The paper's PW_max.
const WINDOW_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// Faults of a thread that touches these pages, each once; pages that were brought ahead raise none. Returns the
    /// faults.
    fn walk(pages: impl Iterator<Item = usize>) -> usize {
        let history = History::default();
        let mut here = std::collections::HashSet::new();
        let mut faults = 0;
        for page in pages {
            if !here.contains(&page) {
                faults += 1;
                let ahead = history.predict(Page(page));
                let new = (1..=ahead.pages).filter_map(|n| ahead.page(Page(page), n, 1 << 40));
                let before = here.len();
                here.extend(new.map(|page| page.0));
                history.brought.store(here.len() - before, Relaxed);
            }
        }
        faults
    }

    #[test]
    fn strides_of_all_kinds_are_found() {
        for stride in [1_i64, 7, -3] {
            let faults = walk((0..1000).map(|n| (1_000_000 + stride * n) as usize));
            assert!(faults < 130, "{faults} faults of 1000 with stride {stride}");
        }
    }

    #[test]
    fn a_trend_survives_noise_and_chance_has_none() {
        let noisy = (0..1000).map(|n| if n % 9 == 8 { 5_000_000 + n * n % 7919 } else { n * 2 });
        let faults = walk(noisy);
        assert!(faults < 500, "{faults} faults");
        let history = History::default();
        let mut state = 1_u64;
        let random = (0..1000).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 44) as usize
        });
        let ahead: usize = random.map(|page| history.predict(Page(page)).pages).sum();
        assert!(ahead < 20, "{ahead} pages ahead of 1000 random ones");
    }
}
