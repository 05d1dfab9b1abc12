//! Which object a tracer looks at next (algorithms 6 and 7).

use super::MemLiner;
use super::postponed::{Look, Postponed, Turn, Waiting};
use crate::object::ObjectRef;

/// The marks of the running cycle.
pub trait Marks {
    /// Whether the object belongs to the snapshot that is traced, and no tracer has claimed it.
    fn is_white(&self, object: ObjectRef) -> bool;

    /// Marks a white object; true for the tracer that must scan it.
    fn claim(&self, object: ObjectRef) -> bool;

    /// Notes that an object waits; true for the tracer in whose queue it is to wait.
    fn postpone(&self, object: ObjectRef) -> bool;
}

/// One tracer's part of MemLiner, beside the stack of objects that it has claimed.
pub struct Aligner<'a> {
    shared: &'a MemLiner,
    /// The objects that threads have touched.
    touched: Vec<u64>,
    /// Claimed objects near a touched one, with their distance from it.
    explored: Vec<(ObjectRef, u8)>,
    /// The distance of the object that is being scanned, if it was reached so.
    distance: Option<u8>,
    postponed: Postponed,
    counts: Counts,
}

/// The counters of a tracer.
#[derive(Default)]
struct Counts {
    taken: u64,
    lost: u64,
    touched: u64,
    explored: u64,
    /// Met in slots and estimated to be local: at once, or after having waited.
    met: u64,
    local: u64,
    forced: u64,
    /// Estimated to be local, and were not; and the other way round.
    not_local: u64,
    not_remote: u64,
}

impl<'a> Aligner<'a> {
    pub fn new(shared: &'a MemLiner) -> Aligner<'a> {
        Aligner {
            shared,
            touched: Vec::new(),
            explored: Vec::new(),
            distance: None,
            postponed: Postponed::new(shared.core.zones(), shared.locality.fetched()),
            counts: Counts::default(),
        }
    }

    /// A claimed object that is touched by the program, or near such a one: to be scanned before all others.
    #[inline]
    pub fn next_touched(&mut self, marks: &impl Marks) -> Option<ObjectRef> {
        self.distance = None;
        if let Some((object, distance)) = self.explored.pop() {
            self.distance = Some(distance);
            self.counts.explored += 1;
            return Some(object);
        }
        if self.touched.is_empty() {
            self.counts.lost += self.shared.queues.drain(&mut self.touched);
            self.counts.taken += self.touched.len() as u64;
        }
        while let Some(word) = self.touched.pop() {
            let object = ObjectRef::from_address(word as usize);
            // It may have been evicted since: then it is met, or touched, once more.
            let is_near = |object| {
                let locality = &self.shared.locality;
                locality.explores_remote() || locality.is_touched_local(object)
            };
            if marks.is_white(object) && is_near(object) && marks.claim(object) {
                self.distance = Some(0);
                self.counts.touched += 1;
                return Some(object);
            }
        }
        None
    }

    /// The object that was taken last has room for `slots` references: whether it is too wide to explore from is known
    /// only now, when its page is resident.
    #[inline]
    pub fn scans(&mut self, slots: usize) {
        let most = self.shared.options().width_max;
        if most != 0 && slots > most {
            self.distance = None;
        }
    }

    /// Whether an object that is met now can wait until its mark word has been prefetched: [`meet`](Self::meet) does
    /// not depend on what is being scanned, nor on a stamp.
    #[inline]
    pub fn can_wait(&self) -> bool {
        self.distance.is_none() && !self.shared.stamps()
    }

    /// An object was met in a slot of the one that is being scanned; true if it is to be scanned soon, and claimed by
    /// the caller now.
    #[inline]
    pub fn meet(&mut self, marks: &impl Marks, object: ObjectRef, stamp: u8) -> bool {
        self.meet_at(marks, object, stamp, self.distance)
    }

    /// The same, of an object that was met earlier, while [`can_wait`](Self::can_wait).
    #[inline]
    pub fn meet_late(&mut self, marks: &impl Marks, object: ObjectRef) -> bool {
        self.meet_at(marks, object, 0, None)
    }

    #[inline]
    fn meet_at(
        &mut self,
        marks: &impl Marks,
        object: ObjectRef,
        stamp: u8,
        distance: Option<u8>,
    ) -> bool {
        if !marks.is_white(object) {
            return false;
        }
        let is_local = self.shared.locality.is_local(object, stamp);
        if let Some(distance) = distance
            && distance < self.shared.options().depth_max
            && (is_local || self.shared.locality.explores_remote())
        {
            if marks.claim(object) {
                self.explored.push((object, distance + 1));
            }
            return false;
        }
        if self.shared.locality.is_mistaken(object, is_local) {
            let count =
                if is_local { &mut self.counts.not_local } else { &mut self.counts.not_remote };
            *count += 1;
        }
        if is_local {
            let is_claimed = marks.claim(object);
            self.counts.met += u64::from(is_claimed);
            return is_claimed;
        }
        if marks.postpone(object) {
            self.postponed.add(Waiting::new(object, stamp));
        }
        false
    }

    /// Another tracer, or a pause, hands over an object that waits, perhaps one that no tracer has looked for yet;
    /// true if it is to be scanned soon, and claimed by the caller now.
    pub fn wait(&mut self, marks: &impl Marks, waiting: Waiting) -> bool {
        let object = waiting.object();
        if !marks.is_white(object) {
            self.postponed.gone += 1;
            return false;
        }
        if self.shared.locality.is_local(object, waiting.stamp()) {
            let is_claimed = marks.claim(object);
            self.counts.local += u64::from(is_claimed);
            return is_claimed;
        }
        self.postponed.add(waiting);
        false
    }

    /// Claims objects whose turn it is, of one zone, for the caller to scan; false if nothing waits.
    pub fn next_postponed(&mut self, marks: &impl Marks, claimed: &mut Vec<ObjectRef>) -> bool {
        assert!(claimed.is_empty(), "{} objects were claimed before", claimed.len());
        let shared = self.shared;
        shared.queues.reopen();
        let most = || shared.options().delays_at(shared.locality.free_percent());
        let look = |one: Waiting| match one.object() {
            object if !marks.is_white(object) => Look::Gone,
            object if shared.locality.is_local(object, one.stamp()) => Look::Local,
            _ => Look::Remote,
        };
        let fetched = shared.locality.fetched();
        while let Some(turn) = self.postponed.next(fetched, most, look, claimed) {
            let waited = claimed.len() as u64;
            claimed.retain(|object| marks.claim(*object));
            let count = match turn {
                Turn::Local => &mut self.counts.local,
                Turn::Due => &mut self.counts.forced,
            };
            *count += claimed.len() as u64;
            self.postponed.gone += waited - claimed.len() as u64;
            if !claimed.is_empty() {
                return true;
            }
        }
        false
    }

    /// Objects that wait in this tracer.
    pub fn waiting(&self) -> usize {
        self.postponed.len()
    }

    /// Half of them, for another tracer.
    pub fn split(&mut self) -> Vec<Waiting> {
        self.postponed.split()
    }

    /// Whether nothing waits in this tracer, and nothing near a touched object is left.
    pub fn is_empty(&self) -> bool {
        self.explored.is_empty() && self.postponed.is_empty()
    }

    /// Tracing is interrupted: the claimed objects that no tracer has scanned, and those that wait. The next tracer
    /// takes them over.
    pub fn give_up(&mut self) -> (Vec<ObjectRef>, Vec<Waiting>) {
        let explored = std::mem::take(&mut self.explored);
        (explored.into_iter().map(|(object, _)| object).collect(), self.postponed.take_all())
    }

    /// Ends the tracer's work, which is complete unless the cycle was aborted.
    pub fn finish(self, is_aborted: bool) {
        let rest = (self.explored.len(), self.postponed.is_empty());
        assert!(is_aborted || rest == (0, true), "a tracer left {rest:?}");
        let counts = self.counts;
        self.shared.count([
            ("memliner_taken", counts.taken),
            ("memliner_overwritten", counts.lost),
            ("memliner_traced_touched", counts.touched),
            ("memliner_traced_explored", counts.explored),
            ("memliner_traced_met", counts.met),
            ("memliner_traced_in_time", counts.local),
            ("memliner_forced", counts.forced),
            ("memliner_estimated_local_wrongly", counts.not_local),
            ("memliner_estimated_remote_wrongly", counts.not_remote),
            ("memliner_pushed_back", self.postponed.pushed_back),
            ("memliner_overtaken", self.postponed.gone),
        ]);
    }
}
