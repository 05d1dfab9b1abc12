//! Recorded page accesses, replayed through policies of replacement: how many pages each would fetch.
//!
//! A [`Trace`] comes from `-XX:PageTrace`. Policies see each access of a look once, in the order of the first accesses.
//! A miss is an access to a page that has contents and is not resident; pages that are zero cost a frame and no fetch.
//! [`Optimum`] knows the future. [`pager`] is no policy of this module but the pager itself, to which the trace is done
//! again.

mod arc;
mod collector_last;
mod credits;
mod lirs;
mod lists;
mod optimum;
pub mod pager;
mod queues;
mod s3_fifo;
mod trace;

use swap::{PageAction, ThreadClass};

use arc::Arc;
use collector_last::{CollectorLast, Sees};
use credits::{Credits, Growth};
use lirs::Lirs;
pub use optimum::Optimum;
use queues::{Queue, SegmentedFifo, Single};
use s3_fifo::S3Fifo;
pub use trace::{Event, Trace};

/// An access to a page.
#[derive(Clone, Copy)]
pub struct Access {
    /// The event of the trace.
    pub number: usize,
    pub page: u32,
    pub who: ThreadClass,
    /// The page is zero: it costs a frame, and is not fetched.
    pub is_fresh: bool,
}

/// A policy of replacement that has a number of frames. Pages are numbers below those of the trace.
pub trait Policy {
    /// Is the page resident?
    fn has(&self, page: u32) -> bool;

    /// A resident page is accessed.
    fn hit(&mut self, access: Access);

    /// A page that is not resident is accessed, and becomes so. If all frames are taken, one is evicted first.
    fn bring(&mut self, access: Access);

    /// Evicts a page, if one is resident.
    fn evict(&mut self);

    /// A page is no longer resident: its contents are elsewhere now, or nowhere.
    fn forget(&mut self, page: u32);

    /// Pages that are resident.
    fn resident(&self) -> usize;

    /// Accesses to resident pages that had been unmapped, so that these accesses are seen.
    fn soft_faults(&self) -> u64 {
        0
    }

    /// A page is accessed. True: it was resident.
    fn access(&mut self, access: Access) -> bool {
        let has = self.has(access.page);
        match has {
            true => self.hit(access),
            false => self.bring(access),
        }
        has
    }
}

/// Pages that were fetched, by the class of the thread that needed them ([`ThreadClass`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Misses(pub [u64; 2]);

impl Misses {
    pub fn total(self) -> u64 {
        self.0.iter().sum()
    }
}

/// The policies that look back, by name, each with `frames` frames for `pages` pages. Names that end with
/// `-collector-last` know which accesses are the collector's.
pub fn policies(pages: usize, frames: usize) -> Vec<(&'static str, Box<dyn Policy>)> {
    let single = |queue| Box::new(Single::new(pages, frames, queue));
    let s3_fifo = || Box::new(S3Fifo::new(pages, frames));
    let credits = |growth| Box::new(Credits::new(pages, frames, growth));
    let last = |sees, policy| Box::new(CollectorLast::new(pages, frames, policy, sees));
    vec![
        ("lru", single(Queue::Lru)),
        ("clock", single(Queue::Clock)),
        ("segmented-fifo-15", Box::new(SegmentedFifo::new(pages, frames, frames * 15 / 100))),
        ("s3-fifo", s3_fifo()),
        ("lirs-10", Box::new(Lirs::new(pages, frames, frames / 10))),
        ("arc", Box::new(Arc::new(pages, frames))),
        ("lru-collector-last", last(Sees::Accesses, single(Queue::Lru))),
        ("s3-fifo-collector-last", last(Sees::Accesses, s3_fifo())),
        ("fifo", single(Queue::Fifo)),
        ("fifo-collector-last", last(Sees::Misses, single(Queue::Fifo))),
        ("credits-2", credits(Growth::Linear(2))),
        ("credits-16", credits(Growth::Double(16))),
        (
            "credits-16-touched",
            Box::new(Credits::touched(pages, frames, frames / 4, Growth::Double(16))),
        ),
        ("credits-16-collector-last", last(Sees::Misses, credits(Growth::Double(16)))),
    ]
}

/// Replays a trace.
pub fn replay(trace: &Trace, policy: &mut dyn Policy) -> Misses {
    let mut misses = Misses::default();
    for (number, event) in trace.events().iter().enumerate() {
        match event.what {
            PageAction::Read | PageAction::Write | PageAction::Fresh | PageAction::Fetched => {
                let is_fresh = event.what == PageAction::Fresh;
                let access = Access { number, page: event.page, who: event.who, is_fresh };
                if !policy.access(access) && !is_fresh {
                    misses.0[event.who as usize] += 1;
                }
            }
            PageAction::Freed | PageAction::Invalidated | PageAction::Evicted => {
                event.pages().for_each(|page| policy.forget(page));
            }
            PageAction::Look | PageAction::WrittenBack => {}
        }
    }
    misses
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::rng::Rng;

    const PAGES: usize = 200;

    /// Accesses of loops, scans and favourites, and pages that are freed.
    fn accesses(seed: u64) -> Trace {
        let mut rng = Rng::new(seed);
        let mut events = Vec::new();
        let mut push = |what, who, page: usize, count: usize| {
            events.push(Event { page: page as u32, count: count as u32, what, who });
        };
        (0..PAGES).for_each(|page| push(PageAction::Fresh, ThreadClass::Mutator, page, 1));
        for _ in 0..300 {
            let (start, length) = (rng.below(PAGES), rng.between(1, 60));
            let who = if rng.chance(20) { ThreadClass::Gc } else { ThreadClass::Mutator };
            match rng.below(10) {
                0..4 => {
                    (0..length).for_each(|n| push(PageAction::Read, who, (start + n) % PAGES, 1))
                }
                4 => push(PageAction::Fetched, who, start, length.min(PAGES - start)),
                5..9 => (0..length).for_each(|_| {
                    let near = rng.below(30).min(rng.below(30));
                    push(PageAction::Write, who, near, 1);
                }),
                _ => {
                    let count = length.min(PAGES - start);
                    push(PageAction::Freed, who, start, count);
                    (start..start + count).for_each(|page| push(PageAction::Fresh, who, page, 1));
                }
            }
        }
        Trace::new(PAGES, 50, events)
    }

    #[test]
    fn no_policy_beats_the_optimum_or_has_more_frames_than_it_may() {
        for seed in 0..20 {
            let trace = accesses(seed);
            for frames in [3, 10, 50, 150] {
                let best = replay(&trace, &mut Optimum::new(&trace, frames)).total();
                for (name, mut policy) in policies(PAGES, frames) {
                    let misses = replay(&trace, &mut *policy).total();
                    assert!(
                        misses >= best,
                        "seed {seed}, {frames} frames, {name}: {misses} < {best}"
                    );
                    assert!(
                        policy.resident() <= frames,
                        "{name}: {} of {frames}",
                        policy.resident()
                    );
                }
            }
            for (name, mut policy) in policies(PAGES, PAGES + 60) {
                let misses = replay(&trace, &mut *policy).total();
                assert_eq!(misses, 0, "seed {seed}, {name}: everything fits");
            }
        }
    }

    /// Belady's own example: the references 1 2 3 4 1 2 5 1 2 3 4 5.
    #[test]
    fn textbook_figures() {
        let pages = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5];
        let what = PageAction::Read;
        let who = ThreadClass::Mutator;
        let events = pages.map(|page| Event { page, count: 1, what, who });
        let trace = Trace::new(6, 3, events.to_vec());
        let misses = |name: &str, frames| {
            let found = policies(6, frames).into_iter().find(|(its, _)| *its == name);
            replay(&trace, &mut *found.unwrap().1).total()
        };
        assert_eq!((misses("fifo", 3), misses("fifo", 4)), (9, 10), "Belady's anomaly");
        assert_eq!((misses("lru", 3), misses("lru", 4)), (10, 8));
        assert_eq!(replay(&trace, &mut Optimum::new(&trace, 3)).total(), 7);
        assert_eq!(replay(&trace, &mut Optimum::new(&trace, 4)).total(), 6);
    }

    #[test]
    fn the_collectors_pages_do_not_displace_the_programs() {
        let read = |page, who| Event { page, count: 1, what: PageAction::Read, who };
        let mut events = Vec::new();
        for _ in 0..10 {
            events.extend((0..40).map(|page| read(page, ThreadClass::Mutator)));
            events.extend((0..PAGES as u32).map(|page| read(page, ThreadClass::Gc)));
        }
        let trace = Trace::new(PAGES, 50, events);
        let misses = |name: &str| {
            let found = policies(PAGES, 50).into_iter().find(|(its, _)| *its == name);
            replay(&trace, &mut *found.unwrap().1).0[ThreadClass::Mutator as usize]
        };
        assert_eq!(misses("lru"), 400);
        assert_eq!(misses("lru-collector-last"), 40);
        assert_eq!(misses("s3-fifo-collector-last"), 40);
    }
}
