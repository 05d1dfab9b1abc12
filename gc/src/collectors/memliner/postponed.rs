//! Objects whose turn to be traced was put off (the paper's TQ with its push-backs, algorithm 6).
//!
//! ```text
//!            +---- pushed back, delays + 1 ----+
//!            v                                 |
//!  add --> waiting, by zone --(a round)--> local? -no-+
//!            |                                 | yes
//!            +--(nothing else to do)--> due    v
//!                  zone by zone           traced now
//! ```
//!
//! In a round each object is looked at that was not pushed back as often as it may be. The paper's queue goes round and
//! round until every object has had its chances. But a remote object stays remote until some thread fetches it; so a
//! round begins only when the program has fetched enough pages since the last one that it may pay. Otherwise the
//! objects that wait in one zone are due, resident or not: the faults of one object of the zone fetch the pages that
//! others wait for.

use crate::object::ObjectRef;
use crate::tracing::mark_stack::Zones;

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

/// How to treat an object when it is its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It was traced meanwhile.
    Gone,
    Local,
    Remote,
}

/// The reason why it is the turn of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Local,
    /// It has waited long enough. It may have been traced meanwhile.
    Due,
}

/// See the module text. One per tracer.
pub struct Postponed {
    zones: Zones,
    waiting: Vec<Vec<Waiting>>,
    count: usize,
    /// The zone that is being traced.
    current: usize,
    round: Round,
    /// How often the program had fetched a page when the last round began.
    seen: u64,
    /// Since the start.
    pub pushed_back: u64,
    pub gone: u64,
}

/// A running round.
#[derive(Clone, Copy)]
struct Round {
    /// The next zone; as many as there are: there is none.
    zone: usize,
    /// How often an object may be pushed back.
    most: u8,
}

impl Postponed {
    /// The program has fetched pages so often.
    pub fn new(zones: Zones, fetched: u64) -> Postponed {
        Postponed {
            zones,
            waiting: vec![Vec::new(); zones.count()],
            count: 0,
            current: 0,
            round: Round { zone: zones.count(), most: 0 },
            seen: fetched,
            pushed_back: 0,
            gone: 0,
        }
    }

    #[inline]
    pub fn add(&mut self, waiting: Waiting) {
        self.waiting[self.zones.of(waiting.object())].push(waiting);
        self.count += 1;
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// Takes half of them, or a little more, for another tracer, by zones. They keep their delays.
    pub fn split(&mut self) -> Vec<Waiting> {
        let mut given = Vec::new();
        let half = self.count.div_ceil(2);
        for zone in self.waiting.iter_mut().rev() {
            let missing = half - given.len();
            given.extend(zone.drain(zone.len().saturating_sub(missing)..));
        }
        self.count -= given.len();
        given
    }

    pub fn take_all(&mut self) -> Vec<Waiting> {
        (self.count, self.round.zone) = (0, self.waiting.len());
        self.waiting.iter_mut().flat_map(std::mem::take).collect()
    }

    /// The next objects to be traced, all of one zone, to `out`, which is empty; `None` if nothing waits. The program
    /// has fetched `fetched` times so far. `delays_max` is called once for each round.
    pub fn next(
        &mut self,
        fetched: u64,
        delays_max: impl FnOnce() -> u8,
        look: impl Fn(Waiting) -> Look,
        out: &mut Vec<ObjectRef>,
    ) -> Option<Turn> {
        let is_over = self.round.zone == self.waiting.len();
        if is_over && self.is_worth_a_round(fetched) {
            self.seen = fetched;
            self.round = Round { zone: 0, most: delays_max() };
        }
        while self.round.zone < self.waiting.len() {
            self.look_through(self.round.zone, &look, out);
            self.round.zone += 1;
            if !out.is_empty() {
                return Some(Turn::Local);
            }
        }
        if self.waiting[self.current].is_empty() {
            let largest = (0..self.waiting.len()).max_by_key(|zone| self.waiting[*zone].len());
            self.current = largest.expect("there is at least one zone");
        }
        let zone = &mut self.waiting[self.current];
        let due = zone.drain(zone.len().saturating_sub(DUE_AT_ONCE)..);
        out.extend(due.map(Waiting::object));
        self.count -= out.len();
        (!out.is_empty()).then_some(Turn::Due)
    }

    fn is_worth_a_round(&self, fetched: u64) -> bool {
        (fetched - self.seen).saturating_mul(LOOKS_PER_PAGE) >= self.count.max(1) as u64
    }

    fn look_through(
        &mut self,
        zone: usize,
        look: impl Fn(Waiting) -> Look,
        out: &mut Vec<ObjectRef>,
    ) {
        let before = self.waiting[zone].len();
        self.waiting[zone].retain_mut(|one| {
            if one.delays() >= self.round.most {
                return true;
            }
            match look(*one) {
                Look::Gone => self.gone += 1,
                Look::Local => out.push(one.object()),
                Look::Remote => {
                    self.pushed_back += 1;
                    *one = one.delayed();
                    return true;
                }
            }
            false
        });
        self.count -= before - self.waiting[zone].len();
    }
}

/// The number of looks at objects that is assumed to cost as much as one fault.
const LOOKS_PER_PAGE: u64 = 256;
/// Objects that are due at once: objects that the program touches meanwhile come first.
const DUE_AT_ONCE: usize = 64;

const ADDRESS_BITS: u32 = 48;
const DELAYS_SHIFT: u32 = 56;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::object::geometry::Geometry;
    use std::cell::Cell;

    fn geometry() -> Geometry {
        Geometry { base: 1 << 30, ..Geometry::choose(1 << 20, None).unwrap() }
    }

    fn object(region: usize, i: usize) -> ObjectRef {
        ObjectRef::from_address(geometry().base + region * geometry().region_bytes() + i * 16)
    }

    /// `each` objects in each of two zones, in turn.
    fn waiting(each: usize) -> Postponed {
        let mut postponed = Postponed::new(Zones::new(geometry()), 0);
        for i in 0..each {
            [1, 0].into_iter().for_each(|region| postponed.add(Waiting::new(object(region, i), 3)));
        }
        postponed
    }

    /// Everything, turn by turn, with the program's pages that `fetched` says.
    fn trace(
        mut postponed: Postponed,
        fetched: impl Fn(u64) -> u64,
        most: u8,
        look: impl Fn(Waiting) -> Look,
    ) -> Vec<(Turn, Vec<ObjectRef>)> {
        let mut turns = Vec::new();
        loop {
            let mut out = Vec::new();
            let turn = postponed.next(fetched(turns.len() as u64), || most, &look, &mut out);
            let Some(turn) = turn else { break };
            turns.push((turn, out));
        }
        assert!(postponed.is_empty());
        turns
    }

    #[test]
    fn what_stays_remote_is_due_zone_by_zone() {
        for most in [0, 1, 4] {
            let looks = Cell::new(0);
            let look = |one: Waiting| {
                assert_eq!(one.stamp(), 3);
                looks.set(looks.get() + 1);
                Look::Remote
            };
            let turns = trace(waiting(100), |turn| turn * 10, most, look);
            let zone = |object: ObjectRef| geometry().region_of(object).index();
            let zones: Vec<_> = turns.iter().map(|(_, objects)| zone(objects[0])).collect();
            assert!(zones == [0, 0, 1, 1] || zones == [1, 1, 0, 0], "{zones:?}");
            for (turn, objects) in &turns {
                assert_eq!(*turn, Turn::Due);
                assert!(objects.iter().all(|o| zone(*o) == zone(objects[0])), "{objects:?}");
            }
            let all: usize = turns.iter().map(|(_, objects)| objects.len()).sum();
            assert_eq!(all, 200);
            // No object is looked at more often than it may be pushed back, and traced objects are not looked at.
            assert!(looks.get() <= 200 * usize::from(most), "{} looks", looks.get());
            assert_eq!(looks.get() > 0, most > 0);
        }
    }

    #[test]
    fn what_has_come_into_local_memory_is_traced_before_what_is_due() {
        let late = object(1, 1);
        let look = |one: Waiting| if one.object() == late { Look::Local } else { Look::Remote };
        let turns = trace(waiting(4), |turn| turn + 1, 4, look);
        assert_eq!(turns[0], (Turn::Local, vec![late]));
        assert_eq!(turns.iter().map(|(_, objects)| objects.len()).sum::<usize>(), 8);
        // The program has fetched nothing: no object is looked at.
        let unseen = trace(waiting(4), |_| 0, 4, |_| panic!("nothing has come"));
        assert!(unseen.iter().all(|(turn, _)| *turn == Turn::Due));
    }

    #[test]
    fn what_was_traced_meanwhile_leaves_the_queue() {
        let mut postponed = waiting(2);
        let gone = |one: Waiting| match one.object() == object(0, 1) {
            true => Look::Gone,
            false => Look::Remote,
        };
        let mut out = Vec::new();
        assert_eq!(postponed.next(1, || 1, gone, &mut out), Some(Turn::Due));
        assert_eq!((postponed.gone, postponed.pushed_back), (1, 3));
        assert_eq!(out.len() + postponed.len(), 3);
    }

    /// A round costs a look at everything; a few pages do not justify that.
    #[test]
    fn much_that_waits_needs_many_pages_for_a_round() {
        let each = LOOKS_PER_PAGE as usize;
        for (fetched, looks) in [(1, 0), (2, 2 * each)] {
            let mut postponed = waiting(each);
            let count = Cell::new(0);
            let look = |_: Waiting| {
                count.set(count.get() + 1);
                Look::Remote
            };
            postponed.next(fetched, || 4, look, &mut Vec::new());
            assert_eq!(count.get(), looks);
        }
    }

    /// An interruption in the middle of a round; nothing may be lost.
    #[test]
    fn everything_can_be_taken_back() {
        let mut postponed = waiting(3);
        let mut out = Vec::new();
        let look = |one: Waiting| match one.object() == object(0, 2) {
            true => Look::Local,
            false => Look::Remote,
        };
        assert_eq!(postponed.next(1, || 4, look, &mut out), Some(Turn::Local));
        let all = postponed.take_all();
        assert_eq!((all.len(), out.len()), (5, 1));
        assert_eq!(all.iter().filter(|one| one.delays() == 1).count(), 2);
        assert!(postponed.is_empty());
        assert_eq!(postponed.next(1, || 4, look, &mut Vec::new()), None);
    }

    #[test]
    fn half_of_what_waits_goes_to_another_tracer_with_its_delays() {
        let mut postponed = waiting(4);
        let look = |one: Waiting| match one.object() == object(1, 3) {
            true => Look::Local,
            false => Look::Remote,
        };
        postponed.next(1, || 5, look, &mut Vec::new());
        let given = postponed.split();
        assert_eq!((postponed.len(), given.len()), (3, 4));
        assert!(given.iter().all(|one| one.delays() == 1), "{given:?}");
        let rest = trace(postponed, |_| 0, 5, |_| panic!("nothing has come"));
        let mut all: Vec<_> = rest.into_iter().flat_map(|(_, objects)| objects).collect();
        all.extend(given.iter().map(|one| one.object()));
        all.sort_by_key(|object| object.address());
        all.dedup();
        assert_eq!(all.len(), 7);
    }
}
