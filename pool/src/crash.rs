//! Places where a client may die, by name.
//!
//! `crash_point!("floor.step")` stands between two writes to shared memory. Outside of unit tests it is nothing. In a
//! test it asks the thread's plan: `run` makes the thread stop there for ever, as one that is killed does. What it
//! has written stays; what it would have written does not come. A process that a test started dies or stops itself at
//! the point (`Death`).
//!
//! `POINTS` lists all of them. A point that is not listed panics, and a test fails if a listed one was never the
//! place of a crash.

/// A place where a client may die: between two writes to shared memory. Nothing outside of unit tests.
macro_rules! crash_point {
    ($name:literal) => {
        #[cfg(test)]
        $crate::crash::pass($name)
    };
}
pub(crate) use crash_point;

/// Whether this thread is one that stopped at a crash point: what it drops while it unwinds writes nothing.
#[inline(always)]
pub(crate) fn is_dead() -> bool {
    cfg!(test) && std::thread::panicking()
}

#[cfg(all(test, not(loom)))]
pub(crate) use harness::aside;
#[cfg(test)]
pub(crate) use harness::{Crash, Death, die_at, pass, run};

/// All crash points.
#[cfg(test)]
pub(crate) const POINTS: &[&str] = &[
    "detect.recorded",
    "detect.announced",
    "detect.vouched",
    "detect.exchanged",
    "detect.acknowledged",
    "identity.claimed",
    "identity.signed",
    "identity.held",
    "identity.released",
    "recover.taken",
    "recover.swept",
    "recover.redone",
    "recover.acknowledged",
    "recover.reclaimed",
    "recover.freed",
    "ring.left",
    "ring.put",
    "ring.received",
    "ring.sent",
    "ring.taken",
    "alloc.aimed",
    "alloc.begun",
    "alloc.change_finished",
    "alloc.cleared",
    "alloc.closed",
    "alloc.detach_joined",
    "alloc.free_aimed",
    "alloc.free_begun",
    "alloc.freed",
    "alloc.fresh_aimed",
    "alloc.linked",
    "alloc.listed",
    "alloc.owned",
    "alloc.push_begun",
    "alloc.push_joined",
    "alloc.push_linked",
    "alloc.pushed",
    "alloc.release_begun",
    "alloc.release_linked",
    "alloc.remote_linked",
    "alloc.retire_begun",
    "alloc.retire_unclassed",
    "alloc.retired",
    "alloc.settle_aimed",
    "alloc.settle_cleared",
    "alloc.stored",
    "alloc.take_begun",
    "alloc.take_classed",
    "alloc.take_joined",
    "alloc.take_popped",
    "alloc.take_sized",
    "alloc.taken",
    "alloc.taken_back",
    "alloc.unlink_next",
    "alloc.unlink_prev",
    "alloc.unlinked",
    "alloc.unlisted",
    "alloc.withdrawn",
    "caches.links_noted",
    "caches.links_written",
    "huge.change_finished",
    "huge.claim_begun",
    "huge.claimed",
    "huge.cleared",
    "huge.cleared_granule",
    "huge.closed",
    "huge.discarded",
    "huge.drop_begun",
    "huge.free_aimed",
    "huge.free_begun",
    "huge.freeing",
    "huge.fresh_aimed",
    "huge.held",
    "huge.marked",
    "huge.settle_cleared",
    "huge.stored",
    "huge.withdrawn",
    "map.closing",
    "refs.attached",
    "refs.change_aimed",
    "refs.change_begun",
    "refs.change_placed",
    "refs.changed",
    "refs.cleared",
    "refs.closed",
    "refs.dying_linked",
    "refs.dying_popped",
    "refs.dying_pushed",
    "refs.dying_taken",
    "refs.keep_linked",
    "refs.keep_pushed",
    "refs.kept",
    "refs.looked",
    "refs.lower",
    "refs.move_aimed",
    "refs.move_begun",
    "refs.move_cleared",
    "refs.move_counted",
    "refs.move_placed",
    "refs.moved",
    "refs.page_aimed",
    "refs.page_freed",
    "refs.page_taken",
    "refs.reader_listed",
    "refs.reader_unlisted",
    "refs.release_aimed",
    "refs.release_begun",
    "refs.release_placed",
    "refs.retired",
    "refs.revisited",
    "refs.unkept",
    "refs.upper",
    "shared.aged",
    "shared.aimed",
    "shared.counted",
    "shared.embraced",
    "shared.kept",
    "shared.linked",
    "shared.placed",
    "shared.retiring",
    "shared.spare_aimed",
    "shared.spare_kept",
    "shared.spare_linked",
    "shared.spare_popped",
    "shared.spared",
    "shared.take_aimed",
    "shared.take_begun",
    "shared.take_popped",
    "shared.taken",
    "shared.tallied",
    "shared.unlisted",
    "transaction.applied",
    "transaction.committed",
    "transaction.ended",
    "transaction.taken",
    "transaction.undone",
];

/// Whether a heap has the point.
#[cfg(all(test, not(loom)))]
pub(crate) fn is_of_heap(point: &str) -> bool {
    point.starts_with("alloc.") || point.starts_with("huge.")
}

/// Whether each client and recoverer comes to the point, whatever it uses the pool for.
#[cfg(all(test, not(loom)))]
pub(crate) fn is_of_all(point: &str) -> bool {
    let others = ["caches.", "ring.", "refs.", "shared.", "map.", "transaction."];
    !is_of_heap(point) && !others.iter().any(|floor| point.starts_with(floor))
}

#[cfg(test)]
mod harness {
    use super::POINTS;
    use std::cell::RefCell;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    /// Where a run stops: at the `hit`-th passage of the point, from 1.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub(crate) struct Crash {
        pub point: &'static str,
        pub hit: usize,
    }

    /// How a process of a test ends at its point.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum Death {
        /// As by kill -9.
        Kill,
        /// As by SIGSTOP: it may wake later.
        Stop,
    }

    /// What a thread does at its points.
    #[derive(Default)]
    struct Plan {
        /// Other threads just pass.
        is_counted: bool,
        at: Option<(Crash, Option<Death>)>,
        passed: Vec<Crash>,
    }

    impl Plan {
        fn new(at: Option<(Crash, Option<Death>)>) -> Plan {
            Plan { is_counted: true, at, passed: Vec::new() }
        }
    }

    // The threads of a model share one of the system's threads.
    #[cfg(loom)]
    use loom::thread_local;

    thread_local! {
        static PLAN: RefCell<Plan> = RefCell::default();
    }

    /// What the thread that stopped unwinds with.
    struct Stopped;

    /// Runs a client's steps until the crash. `Err` if it came. Also returns the points that were passed, the crash's
    /// included. The steps must own nothing whose `drop` writes to shared memory.
    pub(crate) fn run(
        crash: Option<Crash>,
        steps: impl FnOnce(),
    ) -> (Result<(), Crash>, Vec<Crash>) {
        plan(|plan| *plan = Plan::new(crash.map(|crash| (crash, None))));
        let end = catch_unwind(AssertUnwindSafe(steps));
        let passed = plan(std::mem::take).passed;
        match end {
            Ok(()) => (Ok(()), passed),
            Err(cause) if cause.is::<Stopped>() => (Err(passed[passed.len() - 1]), passed),
            Err(cause) => resume_unwind(cause),
        }
    }

    /// Runs steps of another client, which pass all points, in the middle of those of this one.
    #[cfg(not(loom))]
    pub(crate) fn aside<T>(steps: impl FnOnce() -> T) -> T {
        let was = plan(|plan| std::mem::replace(&mut plan.is_counted, false));
        let done = steps();
        plan(|plan| plan.is_counted = was);
        done
    }

    /// This thread's process ends at the point.
    pub(crate) fn die_at(crash: Crash, death: Death) {
        plan(|plan| *plan = Plan::new(Some((crash, Some(death)))));
    }

    pub(crate) fn pass(point: &'static str) {
        assert!(POINTS.contains(&point), "{point} is not listed");
        let stop = plan(|plan| {
            if !plan.is_counted {
                return None;
            }
            let hit = 1 + plan.passed.iter().filter(|passed| passed.point == point).count();
            let here = Crash { point, hit };
            plan.passed.push(here);
            plan.at.filter(|(crash, _)| *crash == here)
        });
        match stop {
            None => {}
            // No message: it is no panic of a test.
            Some((_, None)) => resume_unwind(Box::new(Stopped)),
            Some((_, Some(death))) => {
                let signal = if death == Death::Kill { libc::SIGKILL } else { libc::SIGSTOP };
                // SAFETY: no memory is involved; the process is our own.
                unsafe { libc::raise(signal) };
            }
        }
    }

    fn plan<T>(change: impl FnOnce(&mut Plan) -> T) -> T {
        PLAN.with(|plan| change(&mut plan.borrow_mut()))
    }
}
