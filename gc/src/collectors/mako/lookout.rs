//! Cycles that are not needed for memory: when does one make a program faster that waits for pages? (Not of the
//! paper.)
//!
//! * It has allocated: then there is garbage between its objects, and new ones lie in the order in which they were
//!   made. A cycle removes the former and puts the latter in order, so one begins as soon as the program has fetched
//!   as much as local memory holds (`MakoFaultsPerCycle`). Its cost, CPU time and the pages that it drops, is small
//!   compared with these waits.
//! * It has not. A cycle would find the heap as the last one left it, unless it learns which objects the program
//!   touches ([`touches`]). So when the program has fetched more (`MakoTouchFaults`), and its threads have waited for
//!   that much of the time (`MakoTouchWaits`), they note this while it fetches a few times local memory
//!   (`MakoTouchWindow`), and then the cycle begins. If the program still allocates nothing, the next such window
//!   comes after twice as many faults, and so on: the cost of all of them stays a share of its waits.
//!
//! [`touches`]: super::touches

use crate::options::MakoOptions;
use std::time::Duration;

/// The waits of the program, up to a time or between two of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waits {
    /// The time, since the collector was made.
    pub at: Duration,
    /// Pages that it has fetched.
    pub pages: u64,
    /// How long its threads waited for them, together.
    pub waited: Duration,
}

/// The state that the collector's thread sees when it has nothing to do.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    pub now: Waits,
    /// Threads note the objects that they touch.
    pub is_noting: bool,
    /// Regions that were taken since the last cycle, and all.
    pub taken: usize,
    pub regions: usize,
    /// Pages that fit into local memory.
    pub local: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Wait,
    /// Have threads note the objects that they touch.
    Note,
    Cycle,
}

/// The collector's thread's memory from one look to the next.
#[derive(Default)]
pub struct Lookout {
    /// When the last cycle had ended.
    before: Waits,
    /// Pages fetched when threads began to note.
    noting_from: u64,
    /// How many cycles in a row began because of touches alone.
    repeats: u32,
}

impl Lookout {
    /// The next step. `Note` and `Cycle` must be followed.
    pub fn look(&mut self, options: &MakoOptions, sight: &Sight) -> Step {
        if options.faults_per_cycle == 0 {
            return Step::Wait;
        }
        let Sight { now, is_noting, taken, regions, local } = *sight;
        let since = self.since(now);
        let times = |times: usize| (times * local) as u64;
        let has_grown = taken * GROWTH_SHARE >= regions;
        let is_time = match is_noting {
            true => now.pages - self.noting_from >= times(options.touch_window),
            false => has_grown && since.pages >= times(options.faults_per_cycle),
        };
        if is_time {
            self.repeats = if has_grown { 0 } else { self.repeats + 1 };
            return Step::Cycle;
        }
        let until_noting = times(options.touch_faults).saturating_mul(1 << self.repeats.min(32));
        let has_waited = since.waited * 100 >= since.at * options.touch_wait_percent as u32;
        let may_note = options.touched_apart && options.moves_in_trace_order() && !is_noting;
        if may_note && has_waited && since.pages >= until_noting {
            self.noting_from = now.pages;
            return Step::Note;
        }
        Step::Wait
    }

    /// A cycle has ended; a thread had asked for it or not.
    pub fn cycle_ended(&mut self, now: Waits, was_asked_for: bool) {
        self.before = now;
        if was_asked_for {
            self.repeats = 0;
        }
    }

    /// The waits of the program since the last cycle.
    pub fn since(&self, now: Waits) -> Waits {
        Waits {
            at: now.at - self.before.at,
            pages: now.pages - self.before.pages,
            waited: now.waited - self.before.waited,
        }
    }
}

/// A program has allocated when it has taken one in this many regions of the heap.
const GROWTH_SHARE: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: fn() -> MakoOptions = || MakoOptions {
        faults_per_cycle: 1,
        touch_faults: 2,
        touch_window: 3,
        touch_wait_percent: 40,
        ..MakoOptions::default()
    };

    /// 1000 pages are local, of 64 regions `taken` were taken, and of each 1000 microseconds the program waited 400.
    fn sight(taken: usize, pages: u64, is_noting: bool) -> Sight {
        let at = Duration::from_micros(pages * 1000);
        let now = Waits { at, pages, waited: at * 2 / 5 };
        Sight { now, is_noting, taken, regions: 64, local: 1000 }
    }

    #[test]
    fn who_has_allocated_gets_a_cycle_after_few_faults() {
        let mut lookout = Lookout::default();
        lookout.cycle_ended(sight(0, 500, false).now, true);
        let mut look = |taken, pages| lookout.look(&OPTIONS(), &sight(taken, pages, false));
        assert_eq!(look(1, 1500), Step::Wait);
        assert_eq!(look(2, 1499), Step::Wait);
        assert_eq!(look(2, 1500), Step::Cycle);
        let never = MakoOptions { faults_per_cycle: 0, ..OPTIONS() };
        assert_eq!(lookout.look(&never, &sight(64, 1 << 40, false)), Step::Wait);
    }

    #[test]
    fn who_has_not_gets_one_when_threads_have_noted_for_a_while_but_ever_later() {
        let mut lookout = Lookout::default();
        let mut end = 0;
        for noting in [2000, 4000, 8000, 16_000] {
            let mut look =
                |pages, is_noting| lookout.look(&OPTIONS(), &sight(0, end + pages, is_noting));
            assert_eq!(look(noting - 1, false), Step::Wait);
            assert_eq!(look(noting, false), Step::Note);
            assert_eq!(look(noting + 2999, true), Step::Wait);
            assert_eq!(look(noting + 3000, true), Step::Cycle);
            end += noting + 3000;
            lookout.cycle_ended(sight(0, end, false).now, false);
        }
        // Touches are wanted though there is something else to do.
        assert_eq!(lookout.look(&OPTIONS(), &sight(2, end + 999, false)), Step::Wait);
        assert_eq!(lookout.look(&OPTIONS(), &sight(2, end + 1000, false)), Step::Cycle);
        lookout.cycle_ended(sight(0, end, false).now, false);
        assert_eq!(lookout.look(&OPTIONS(), &sight(0, end + 2000, false)), Step::Note);
        assert_eq!(lookout.look(&OPTIONS(), &sight(64, end + 4999, true)), Step::Wait);
        assert_eq!(lookout.look(&OPTIONS(), &sight(64, end + 5000, true)), Step::Cycle);
    }

    #[test]
    fn threads_note_only_if_they_wait_much_and_agents_can_use_it() {
        let look = |change: fn(&mut MakoOptions)| {
            let mut options = OPTIONS();
            change(&mut options);
            Lookout::default().look(&options, &sight(0, 2000, false))
        };
        assert_eq!(look(|_| ()), Step::Note);
        assert_eq!(look(|options| options.touch_wait_percent = 41), Step::Wait);
        assert_eq!(look(|options| options.touched_apart = false), Step::Wait);
        assert_eq!(look(|options| options.trace_order = false), Step::Wait);
        assert_eq!(look(|options| options.offload_tracing = false), Step::Wait);
    }

    #[test]
    fn a_cycle_that_was_asked_for_begins_anew() {
        let mut lookout = Lookout { repeats: 40, ..Lookout::default() };
        assert_eq!(lookout.look(&OPTIONS(), &sight(0, 1 << 40, false)), Step::Wait);
        lookout.cycle_ended(Waits::default(), true);
        assert_eq!(lookout.look(&OPTIONS(), &sight(0, 2000, false)), Step::Note);
    }
}
