//! Soft, weak, final and phantom references, and weak slots: in the pre-evacuation pause.
//!
//! Agents report the active references that they met without following their referents. Which
//! referents are alive is known when tracing is over; then, in this order (`java.lang.ref`, package
//! documentation):
//!
//! 1. soft and weak references to dead objects are cleared and made pending;
//! 2. final references to dead objects are made pending, and the objects live one cycle longer with
//!    all that hangs on them, which the agents trace with all references strong;
//! 3. phantom references to objects that are still dead are cleared and made pending;
//! 4. weak slots with dead objects are emptied.

use super::remote::{Agents, Found, Lost};
use super::snapshot::Snapshot;
use super::{Shared, held};
use crate::agent::protocol::Discovered;
use crate::hit::EntryIndex;
use crate::object::ObjectRef;
use crate::object::layout::{ReferenceFields, ReferenceKind};
use crate::threads::mutator::WorldStopped;
use crate::threads::steps::Steps;
use crate::tracing::holders::Holders;
use std::sync::atomic::{AtomicU32, Ordering};

/// How many references of each kind became pending.
#[derive(Clone, Copy, Default, Debug)]
pub struct Pending {
    pub soft: u64,
    pub weak: u64,
    pub finals: u64,
    pub phantom: u64,
    pub slots_emptied: u64,
}

/// See the module text. Tracing is over, and this was found; on return it and the marks are complete. When a server is
/// lost in between, the work done so far is right: only dead objects were processed, and the next cycle does the rest.
pub fn process(
    shared: &Shared,
    agents: &Agents,
    world: &WorldStopped,
    snapshot: &mut Snapshot,
    found: &mut Found,
    holders: &Holders,
) -> Result<Pending, Lost> {
    let mut pending = Pending::default();
    let mut steps = Steps::begin(&shared.core.options.log, "Pause PEP");
    if let Some(fields) = shared.core.reference_fields() {
        let processor = Processor { shared, fields };
        // A referent never changes but to null, so most references need no look.
        let of = |snapshot: &Snapshot, d: &&Discovered, kinds: &[ReferenceKind]| {
            kinds.contains(&d.kind) && !snapshot.is_live(d.referent)
        };
        use ReferenceKind::{Final, Phantom, Soft, Weak};
        for d in found.discovered.iter().filter(|d| of(snapshot, d, &[Soft, Weak])) {
            if processor.clear_if_dead(snapshot, d.reference) {
                let count = if d.kind == Soft { &mut pending.soft } else { &mut pending.weak };
                *count += 1;
            }
        }
        let finals = found.discovered.iter().filter(|d| of(snapshot, d, &[Final]));
        let resurrected: Vec<EntryIndex> =
            finals.filter_map(|d| processor.finalize_if_dead(snapshot, d.reference)).collect();
        pending.finals = resurrected.len() as u64;
        if !resurrected.is_empty() {
            agents.follow_referents()?;
            agents.send_roots(&resurrected)?;
            agents.await_end_of_tracing(true)?;
            held::trace(shared, agents, holders, true, usize::MAX)?;
            agents.find_more(snapshot, found)?;
            steps.end("Trace Finals");
        }
        for d in found.discovered.iter().filter(|d| of(snapshot, d, &[Phantom])) {
            pending.phantom += u64::from(processor.clear_if_dead(snapshot, d.reference));
        }
    }
    steps.end("Clear References");
    // The minor collection before tracing has promoted some, which may be dead by now.
    shared.core.hand_over_strings();
    shared.core.binding().visit_weak_slots(world, &mut |slot| {
        let entry = EntryIndex(slot.word().load(Ordering::Relaxed) as u32);
        if !entry.is_null() && !shared.names_young(entry) && !snapshot.is_live(entry) {
            slot.word().store(0, Ordering::Release);
            pending.slots_emptied += 1;
        }
    });
    steps.end("Weak Slots");
    Ok(pending)
}

struct Processor<'a> {
    shared: &'a Shared,
    fields: &'a ReferenceFields,
}

impl Processor<'_> {
    fn slot(&self, reference: ObjectRef, offset: u32) -> &AtomicU32 {
        // SAFETY: a live reference object (an agent marked it), whose fields the VM named; the
        // world is stopped.
        unsafe { &*((reference.address() + offset as usize) as *const AtomicU32) }
    }

    /// The dead referent of a reference, if it has one.
    fn dead_referent(&self, snapshot: &Snapshot, reference: ObjectRef) -> Option<EntryIndex> {
        let is_active = self.slot(reference, self.fields.next).load(Ordering::Relaxed) == 0;
        let referent = self.slot(reference, self.fields.referent).load(Ordering::Relaxed);
        let referent = EntryIndex(referent);
        let may_be_dead = is_active && !referent.is_null() && !self.shared.names_young(referent);
        (may_be_dead && !snapshot.is_live(referent)).then_some(referent)
    }

    fn clear_if_dead(&self, snapshot: &Snapshot, entry: EntryIndex) -> bool {
        let reference = self.shared.entries.object(entry);
        if self.dead_referent(snapshot, reference).is_none() {
            return false;
        }
        self.slot(reference, self.fields.referent).store(0, Ordering::Relaxed);
        self.make_pending(entry, reference);
        true
    }

    /// The referent is kept; `next` pointing to the reference itself says that it is inactive.
    fn finalize_if_dead(&self, snapshot: &Snapshot, entry: EntryIndex) -> Option<EntryIndex> {
        let reference = self.shared.entries.object(entry);
        let referent = self.dead_referent(snapshot, reference)?;
        self.slot(reference, self.fields.next).store(entry.0, Ordering::Relaxed);
        self.make_pending(entry, reference);
        Some(referent)
    }

    fn make_pending(&self, entry: EntryIndex, reference: ObjectRef) {
        let head = self.shared.core.binding().pending_list().word();
        let before = head.swap(u64::from(entry.0), Ordering::AcqRel);
        let link = self.slot(reference, self.fields.discovered);
        link.store(before as u32, Ordering::Relaxed);
        // The head before is young if a minor collection could not promote it.
        let link = std::ptr::from_ref(link) as usize;
        if let Some(table) = self.shared.young.as_ref().filter(|t| t.must_remember(link, before)) {
            table.keep(vec![link]);
        }
    }
}
