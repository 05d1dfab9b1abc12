//! Objects whose turn to be traced was put off (the paper's TQ with its push-backs, algorithm 6).
//!
//! ```text
//!            +---- pushed back, delays + 1 ----+
//!            v                                 |
//!  add --> waiting --(its turn)--> local? -no--+--(delays = maximum)--> due, by region
//!                                    | yes                               |
//!                                    v                                   v
//!                                 traced now                 traced wherever it is
//! ```
//!
//! The queue is gone through in rounds. What is due is traced before the next round begins, so that time passes
//! between two looks at one object, and the faults of one region bring what others of that region wait for.

use crate::geometry::Geometry;
use crate::mark_stack::MarkStack;
use crate::object::ObjectRef;
use std::collections::VecDeque;

/// An object, how often it was pushed back, and when its reference was stamped.
///
/// ```text
///  63    56 55    48 47                               0
/// +--------+--------+----------------------------------+
/// | delays |  stamp |  address                         |
/// +--------+--------+----------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting(u64);

/// What is to be done with an object when it is its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It was traced meanwhile.
    Gone,
    Local,
    Remote,
}

/// An object whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Local(ObjectRef),
    /// Remote, and pushed back often enough. It may have been traced since that was seen.
    Due(ObjectRef),
}

/// See the module text. One per tracer.
pub struct Postponed {
    waiting: VecDeque<Waiting>,
    /// Objects that have not had their turn in this round.
    left: usize,
    due: MarkStack,
    due_count: usize,
    /// Since the start.
    pub pushed_back: u64,
    pub gone: u64,
}

impl Waiting {
    pub fn new(object: ObjectRef, stamp: u8) -> Waiting {
        let address = object.address() as u64;
        assert!(address >> ADDRESS_BITS == 0, "{object:?} lies too high");
        Waiting(u64::from(stamp) << ADDRESS_BITS | address)
    }

    pub fn object(self) -> ObjectRef {
        ObjectRef::from_address((self.0 & ((1 << ADDRESS_BITS) - 1)) as usize)
    }

    pub fn stamp(self) -> u8 {
        (self.0 >> ADDRESS_BITS) as u8
    }

    pub fn delays(self) -> u8 {
        (self.0 >> DELAYS_SHIFT) as u8
    }

    fn delayed(self) -> Waiting {
        assert!(self.delays() < u8::MAX, "{self:?} is delayed for ever");
        Waiting(self.0 + (1 << DELAYS_SHIFT))
    }
}

impl Postponed {
    pub fn new(geometry: Geometry) -> Postponed {
        Postponed {
            waiting: VecDeque::new(),
            left: 0,
            due: MarkStack::new(geometry, true),
            due_count: 0,
            pushed_back: 0,
            gone: 0,
        }
    }

    pub fn add(&mut self, waiting: Waiting) {
        self.waiting.push_back(waiting);
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.due_count == 0
    }

    /// Objects that wait and are not due.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Takes half of those that wait, the latest ones, for another tracer. They keep their delays.
    pub fn split(&mut self) -> Vec<Waiting> {
        let rest = self.waiting.len() / 2;
        self.left = self.left.min(rest);
        self.waiting.split_off(rest).into()
    }

    /// Takes all, also what is due, which begins anew: tracing is interrupted.
    pub fn take_all(&mut self) -> Vec<Waiting> {
        let mut all = Vec::from(std::mem::take(&mut self.waiting));
        all.extend(std::iter::from_fn(|| self.due.pop()).map(|object| Waiting::new(object, 0)));
        (self.left, self.due_count) = (0, 0);
        all
    }

    /// The next object to be traced. `delays_max` is asked once in each round.
    pub fn next(
        &mut self,
        delays_max: impl Fn() -> u8,
        look: impl Fn(Waiting) -> Look,
    ) -> Option<Turn> {
        let mut most = delays_max();
        loop {
            if self.left == 0 {
                if let Some(object) = self.due.pop() {
                    self.due_count -= 1;
                    return Some(Turn::Due(object));
                }
                assert_eq!(self.due_count, 0, "lost objects that were due");
                self.left = self.waiting.len();
                most = delays_max();
            }
            let one = self.waiting.pop_front()?;
            self.left -= 1;
            match look(one) {
                Look::Gone => self.gone += 1,
                Look::Local => return Some(Turn::Local(one.object())),
                Look::Remote if one.delays() < most => {
                    self.pushed_back += 1;
                    self.waiting.push_back(one.delayed());
                }
                Look::Remote => {
                    self.due.push(one.object());
                    self.due_count += 1;
                }
            }
        }
    }
}

const ADDRESS_BITS: u32 = 48;
const DELAYS_SHIFT: u32 = 56;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    fn geometry() -> Geometry {
        Geometry { base: 1 << 30, ..Geometry::choose(1 << 20, None).unwrap() }
    }

    fn object(region: usize, i: usize) -> ObjectRef {
        ObjectRef::from_address(geometry().base + region * geometry().region_bytes() + i * 16)
    }

    /// The order in which everything is traced, and how often each object was looked at.
    fn trace(most: u8, is_local: impl Fn(ObjectRef, u8) -> bool) -> (Vec<Turn>, Vec<ObjectRef>) {
        let mut postponed = Postponed::new(geometry());
        [(1, 0), (0, 0), (1, 1), (0, 1)]
            .into_iter()
            .for_each(|(region, i)| postponed.add(Waiting::new(object(region, i), 3)));
        let looks = RefCell::new(Vec::new());
        let mut order = Vec::new();
        let look = |one: Waiting| {
            assert_eq!(one.stamp(), 3);
            looks.borrow_mut().push(one.object());
            if is_local(one.object(), one.delays()) { Look::Local } else { Look::Remote }
        };
        while let Some(turn) = postponed.next(|| most, look) {
            order.push(turn);
        }
        assert!(postponed.is_empty());
        (order, looks.into_inner())
    }

    #[test]
    fn what_stays_remote_is_traced_region_by_region_after_so_many_delays() {
        for most in [0, 1, 4] {
            let (order, looks) = trace(most, |_, _| false);
            let due = [(0, 1), (0, 0), (1, 1), (1, 0)].map(|(r, i)| Turn::Due(object(r, i)));
            let other = [(1, 1), (1, 0), (0, 1), (0, 0)].map(|(r, i)| Turn::Due(object(r, i)));
            assert!(order == due || order == other, "{order:?}");
            for (region, i) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let seen = looks.iter().filter(|o| **o == object(region, i)).count();
                assert_eq!(seen, usize::from(most) + 1);
            }
        }
    }

    #[test]
    fn what_comes_into_local_memory_is_traced_before_what_is_due() {
        let late = object(1, 1);
        let (order, _) = trace(3, |o, delays| o == late && delays == 2);
        assert_eq!(order[0], Turn::Local(late));
        assert_eq!(order.len(), 4);
    }

    #[test]
    fn what_was_traced_meanwhile_leaves_the_queue_and_rounds_ask_for_the_maximum() {
        let mut postponed = Postponed::new(geometry());
        (0..3).for_each(|i| postponed.add(Waiting::new(object(0, i), 0)));
        let asked = Cell::new(0);
        let most = || {
            asked.set(asked.get() + 1);
            // The heap fills.
            if asked.get() <= 2 { 200 } else { 0 }
        };
        let gone = |one: Waiting| match one.object() == object(0, 1) {
            true => Look::Gone,
            false => Look::Remote,
        };
        let first = postponed.next(most, gone);
        assert!(matches!(first, Some(Turn::Due(_))), "{first:?}");
        assert_eq!((postponed.gone, postponed.pushed_back), (1, 2));
    }

    /// An interruption finds some waiting and some due; none of them may be lost.
    #[test]
    fn everything_can_be_taken_back() {
        let mut postponed = Postponed::new(geometry());
        (0..4).for_each(|i| postponed.add(Waiting::new(object(i % 2, i), 0)));
        let look = |_: Waiting| Look::Remote;
        assert!(matches!(postponed.next(|| 0, look), Some(Turn::Due(_))));
        (4..6).for_each(|i| postponed.add(Waiting::new(object(0, i), 0)));
        assert_eq!(postponed.take_all().len(), 5);
        assert!(postponed.is_empty() && postponed.next(|| 0, look).is_none());
    }

    #[test]
    fn half_of_what_waits_goes_to_another_tracer_with_its_delays() {
        let mut postponed = Postponed::new(geometry());
        (0..4).for_each(|i| postponed.add(Waiting::new(object(0, i), 0)));
        let rounds = Cell::new(0);
        let look = |one: Waiting| match one.object() == object(0, 0) && one.delays() == 1 {
            true => Look::Local,
            false => Look::Remote,
        };
        let most = || {
            rounds.set(rounds.get() + 1);
            5
        };
        assert_eq!(postponed.next(most, look), Some(Turn::Local(object(0, 0))));
        let given = postponed.split();
        assert_eq!((postponed.len(), given.len()), (1, 2));
        assert!(given.iter().all(|one| one.delays() == 1), "{given:?}");
        // What is left is the whole rest of the round.
        let last = postponed.next(|| 0, |_| Look::Remote);
        assert!(matches!(last, Some(Turn::Due(_))), "{last:?}");
        assert!(postponed.is_empty());
    }
}
