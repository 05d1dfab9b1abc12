//! How much room there is in local memory, and how much of it is taken: a budget that may change while pages are
//! brought in and evicted.
//!
//! ```text
//!  63                              32 31                               0
//! ┌──────────────────────────────────┬──────────────────────────────────┐
//! │ limit: most pages resident       │ resident: pages resident now     │
//! └──────────────────────────────────┴──────────────────────────────────┘
//! ```
//!
//! Both are one word, so **no page is taken against an outdated limit**: resident <= limit holds at every moment, in
//! every interleaving. A larger budget is the limit at once. A smaller one is a *goal*: resident pages cannot vanish,
//! so the limit follows them down ([`Budget::tighten`]) while the evictor evicts them, a little above them, lest
//! every fault meanwhile had to make room itself. It never rises again by itself.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::PAGE_BYTES;

/// The room of one far space. Any thread, async-signal-safe. Relaxed throughout: these are numbers, and the page locks
/// order everything else.
pub struct Budget {
    /// See the module's text. Changed by every thread that brings in or drops pages, and with the budget.
    word: AtomicU64,
    /// The budget in pages: where the limit is, or is moving to.
    goal: AtomicUsize,
}

/// Room for one page was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Pages that are resident or being brought in now.
    pub resident: usize,
    /// Pages that there is room left for.
    pub free: usize,
    /// How often another thread had changed the numbers since this one looked.
    pub retries: u32,
}

impl Budget {
    /// An empty one with a budget of `budget_pages`.
    pub fn new(budget_pages: usize) -> Budget {
        let limit = limited(budget_pages);
        Budget { word: AtomicU64::new(pack(limit, 0)), goal: AtomicUsize::new(limit) }
    }

    /// The budget.
    pub fn goal(&self) -> usize {
        self.goal.load(Relaxed)
    }

    /// The most pages that may be resident now: the budget, or more for as long as a reduction is in progress.
    pub fn limit(&self) -> usize {
        unpack(self.word.load(Relaxed)).0
    }

    /// Pages that are resident or being brought in.
    pub fn resident(&self) -> usize {
        unpack(self.word.load(Relaxed)).1
    }

    /// The number of pages that there is room left for.
    pub fn free(&self) -> usize {
        let (limit, resident) = unpack(self.word.load(Relaxed));
        limit - resident
    }

    /// How many pages have to be evicted until `free` are free within the budget.
    pub fn shortage(&self, free: usize) -> usize {
        (self.resident() + free).saturating_sub(self.goal())
    }

    /// Takes room for one page if more than `spare` are free.
    pub fn take(&self, spare: usize) -> Option<Taken> {
        let mut looks = 0;
        let take = |word| {
            looks += 1;
            let (limit, resident) = unpack(word);
            (resident + spare < limit).then(|| pack(limit, resident + 1))
        };
        let (limit, before) = unpack(self.word.fetch_update(Relaxed, Relaxed, take).ok()?);
        Some(Taken { resident: before + 1, free: limit - before - 1, retries: looks - 1 })
    }

    /// Pages were evicted or freed.
    pub fn release(&self, pages: usize) {
        let before = self.word.fetch_sub(pages as u64, Relaxed);
        debug_assert!(unpack(before).1 >= pages, "{pages} pages of {before:#x} are given back");
    }

    /// Another budget: at once if it is larger than the resident pages, else as soon as the excess is evicted.
    pub fn set_goal(&self, budget_pages: usize) {
        let goal = limited(budget_pages);
        self.goal.store(goal, Relaxed);
        let raise = |word| {
            let (limit, resident) = unpack(word);
            (limit < goal).then(|| pack(goal, resident))
        };
        // An error means that there is nothing to raise.
        let _ = self.word.fetch_update(Relaxed, Relaxed, raise);
        self.tighten();
    }

    /// Brings the limit down to the budget, or as near to it as the resident pages allow.
    pub fn tighten(&self) {
        let tighten = |word| {
            let (limit, resident) = unpack(word);
            let goal = self.goal();
            let lower = if resident > goal { resident + SLACK } else { goal };
            (limit > lower).then(|| pack(lower, resident))
        };
        // An error means that it is at the budget already.
        let _ = self.word.fetch_update(Relaxed, Relaxed, tighten);
    }
}

fn pack(limit: usize, resident: usize) -> u64 {
    (limit as u64) << RESIDENT_BITS | resident as u64
}

fn unpack(word: u64) -> (usize, usize) {
    ((word >> RESIDENT_BITS) as usize, (word & RESIDENT_MAX) as usize)
}

/// The most that the word can hold: 16 TiB.
fn limited(pages: usize) -> usize {
    pages.min(RESIDENT_MAX as usize)
}

const RESIDENT_BITS: u32 = 32;
const RESIDENT_MAX: u64 = (1 << RESIDENT_BITS) - 1;
/// Pages that may come while the evictor makes the next batch of room, when the budget has become less.
const SLACK: usize = 64;
const _: () = assert!((RESIDENT_MAX as usize).checked_mul(PAGE_BYTES).is_some());

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;

    fn fill(budget: &Budget, pages: usize) {
        (0..pages).for_each(|_| assert!(budget.take(0).is_some()));
    }

    #[test]
    fn room_is_taken_until_there_is_none() {
        let budget = Budget::new(3);
        let taken = |resident, free| Some(Taken { resident, free, retries: 0 });
        assert_eq!(budget.take(0), taken(1, 2));
        assert_eq!(budget.take(2), None, "two are free, and more than two were asked for");
        assert_eq!(
            [budget.take(1), budget.take(0), budget.take(0)],
            [taken(2, 1), taken(3, 0), None]
        );
        budget.release(2);
        assert_eq!((budget.resident(), budget.free(), budget.shortage(3)), (1, 2, 1));
    }

    #[test]
    fn a_larger_budget_is_there_at_once_and_a_smaller_one_as_pages_go() {
        let budget = Budget::new(1000);
        fill(&budget, 900);
        budget.set_goal(2000);
        assert_eq!((budget.limit(), budget.goal()), (2000, 2000));
        budget.set_goal(500);
        assert_eq!((budget.limit(), budget.goal(), budget.shortage(0)), (900 + SLACK, 500, 400));
        budget.release(200);
        assert_eq!(budget.limit(), 900 + SLACK, "it follows when `tighten` is called");
        budget.tighten();
        assert_eq!(budget.limit(), 700 + SLACK);
        fill(&budget, SLACK);
        assert!(budget.take(0).is_none(), "pages come back, but not more than had gone");
        budget.tighten();
        assert_eq!(budget.limit(), 700 + SLACK, "nothing goes up by itself");
        budget.release(700);
        budget.tighten();
        assert_eq!((budget.limit(), budget.free()), (500, 500 - SLACK));
    }

    /// Many threads take and give back while the budget changes: none ever sees more pages than there may be.
    #[test]
    fn no_page_is_taken_against_a_limit_that_has_gone() {
        let budget = Budget::new(400);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut held = 0;
                    while !stop.load(Relaxed) {
                        match budget.take(0) {
                            Some(_) => held += 1,
                            None => {
                                budget.release(held);
                                held = 0;
                            }
                        }
                    }
                    budget.release(held);
                });
            }
            for round in 0..200_000 {
                budget.set_goal(if round % 2 == 0 { 40 } else { 400 });
                let (limit, resident) = unpack(budget.word.load(Relaxed));
                assert!(resident <= limit, "{resident} of {limit}");
            }
            stop.store(true, Relaxed);
        });
        assert_eq!(budget.resident(), 0);
    }
}
