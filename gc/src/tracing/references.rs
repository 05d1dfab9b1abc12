//! Soft, weak, final and phantom references: discovered while tracing, processed after it.
//!
//! 1. Tracing hands every reference object to [`References::found`]. An active one whose referent is not marked
//!    is remembered in its list (the list is local memory; `Reference.discovered` is not used for it), and the
//!    referent is not traced; a soft one that the policy keeps counts as strong.
//! 2. After the closure, [`References::clear_dead`] for soft and weak: those whose referent is still unmarked
//!    lose it and become pending.
//! 3. [`References::revive_final`]: dead finalizable objects are kept once more, their references pending. The caller
//!    completes the closure; from now on references that turn up are traced as strong ones.
//! 4. `clear_dead` for phantom.
//! 5. The caller empties weak slots, then [`References::enqueue`] prepends the pending ones to the VM's list.
//!
//! A cleared reference is inactive because its referent is null, a final one because `next` is the reference
//! itself. A reference on the VM's list is linked by `discovered`, which is an ordinary strong slot to us.

use crate::object::codec::SlotCodec;
use crate::object::layout::{ReferenceFields, ReferenceKind};
use crate::object::{ObjectRef, RootSlot};
use std::sync::atomic::{AtomicI64, Ordering};

/// The counters of [`References::counts`].
pub const COUNTERS: [&str; 4] =
    ["soft_cleared", "weak_cleared", "final_revived", "phantom_cleared"];

/// How to treat a referent that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Referent {
    /// Trace it like any other slot.
    Strong,
    /// Leave it alone: null, marked already, or remembered for later.
    Leave,
}

/// A reference object that was discovered, and the offset of its referent's slot.
#[derive(Clone, Copy, Debug)]
pub struct Discovered {
    pub reference: ObjectRef,
    pub at: usize,
}

/// The references of one cycle.
pub struct References {
    fields: Option<ReferenceFields>,
    /// By [`index`]: soft, weak, final, phantom.
    discovered: [Vec<ObjectRef>; 4],
    pending: Vec<ObjectRef>,
    soft_limit: SoftLimit,
    discovering: bool,
    /// How many were cleared or revived, by kind as above.
    pub counts: [u64; 4],
}

/// Which softly reachable referents are kept.
#[derive(Clone, Copy, Debug)]
pub enum SoftLimit {
    ClearAll,
    /// Those used at most `interval_ms` before `clock_ms`.
    KeepRecent {
        clock_ms: i64,
        interval_ms: i64,
    },
}

impl References {
    /// For references with these fields; `None`: none has been made yet.
    pub fn new(fields: Option<ReferenceFields>, soft_limit: SoftLimit) -> References {
        References {
            fields,
            discovered: Default::default(),
            pending: Vec::new(),
            soft_limit,
            discovering: true,
            counts: [0; 4],
        }
    }

    /// Offsets of the reference fields. Panics when no reference can exist yet.
    pub fn fields(&self) -> &ReferenceFields {
        self.fields.as_ref().expect("the VM tells the fields before it makes a reference")
    }

    /// Looks at a reference object (of a kind other than strong) during tracing.
    pub fn found<C: SlotCodec>(
        &mut self,
        codec: &C,
        reference: ObjectRef,
        kind: ReferenceKind,
        is_marked: impl Fn(ObjectRef) -> bool,
    ) -> Referent {
        let fields = *self.fields();
        let referent = codec.read(reference, fields.referent as usize);
        if referent.is_null() || is_marked(referent) {
            return Referent::Leave;
        }
        let is_active = codec.read(reference, fields.next as usize).is_null();
        if !self.discovering || !is_active {
            return Referent::Strong;
        }
        if kind == ReferenceKind::Soft && self.keeps_soft(reference, &fields) {
            return Referent::Strong;
        }
        self.discovered[index(kind)].push(reference);
        Referent::Leave
    }

    /// From now on references that turn up are traced as strong ones.
    pub fn discover_no_more(&mut self) {
        self.discovering = false;
    }

    /// Takes over the references that another tracing thread of the same cycle has discovered.
    pub fn absorb(&mut self, mut other: References) {
        for (mine, others) in self.discovered.iter_mut().zip(&mut other.discovered) {
            mine.append(others);
        }
    }

    /// Clears the discovered references of `kind` whose referent is dead. `keeps` is called for each of them, says
    /// whether the referent lives, and updates the slot if the referent has moved.
    pub fn clear_dead<C: SlotCodec>(
        &mut self,
        codec: &C,
        kind: ReferenceKind,
        mut keeps: impl FnMut(Discovered) -> bool,
    ) {
        assert!(kind != ReferenceKind::Final, "final references are revived");
        for reference in std::mem::take(&mut self.discovered[index(kind)]) {
            let referent = self.fields().referent as usize;
            if !self.is_active(codec, reference) || keeps(Discovered { reference, at: referent }) {
                continue;
            }
            codec.write(reference, referent, ObjectRef::NULL);
            self.counts[index(kind)] += 1;
            self.pending.push(reference);
        }
    }

    /// Makes the discovered final references with dead referents inactive and pending; returns them, for the caller
    /// to trace their referents. `keeps` as in [`clear_dead`](Self::clear_dead).
    pub fn revive_final<C: SlotCodec>(
        &mut self,
        codec: &C,
        mut keeps: impl FnMut(Discovered) -> bool,
    ) -> Vec<Discovered> {
        self.discover_no_more();
        let mut revived = Vec::new();
        for reference in std::mem::take(&mut self.discovered[index(ReferenceKind::Final)]) {
            let fields = *self.fields();
            let discovered = Discovered { reference, at: fields.referent as usize };
            if !self.is_active(codec, reference) || keeps(discovered) {
                continue;
            }
            codec.write(reference, fields.next as usize, reference);
            revived.push(discovered);
            self.counts[index(ReferenceKind::Final)] += 1;
            self.pending.push(reference);
        }
        revived
    }

    /// Prepends the references that became pending to the VM's list. `linked` is called with each reference, the
    /// offset of its slot that links it and the new value of that slot.
    pub fn enqueue<C: SlotCodec>(
        &mut self,
        codec: &C,
        list: &RootSlot,
        mut linked: impl FnMut(ObjectRef, usize, ObjectRef),
    ) {
        assert!(self.discovered.iter().all(Vec::is_empty), "a kind was not processed");
        let mut head = codec.read_root(list);
        for reference in std::mem::take(&mut self.pending) {
            let at = self.fields().discovered as usize;
            codec.write(reference, at, head);
            linked(reference, at, head);
            head = reference;
        }
        codec.write_root(list, head);
    }

    /// Whether a reference has neither been cleared nor enqueued since it was discovered.
    fn is_active<C: SlotCodec>(&self, codec: &C, reference: ObjectRef) -> bool {
        let fields = self.fields();
        !codec.read(reference, fields.referent as usize).is_null()
            && codec.read(reference, fields.next as usize).is_null()
    }

    fn keeps_soft(&self, reference: ObjectRef, fields: &ReferenceFields) -> bool {
        match self.soft_limit {
            SoftLimit::ClearAll => false,
            SoftLimit::KeepRecent { clock_ms, interval_ms } => {
                let address = reference.address() + fields.soft_timestamp as usize;
                // SAFETY: a long field of a live soft reference; mutators write it atomically.
                let timestamp = unsafe { &*(address as *const AtomicI64) };
                clock_ms - timestamp.load(Ordering::Relaxed) <= interval_ms
            }
        }
    }
}

/// Position of a kind in the arrays of [`References`].
fn index(kind: ReferenceKind) -> usize {
    match kind {
        ReferenceKind::Soft => 0,
        ReferenceKind::Weak => 1,
        ReferenceKind::Final => 2,
        ReferenceKind::Phantom => 3,
        ReferenceKind::Strong => unreachable!("a strong reference is no reference object"),
    }
}
