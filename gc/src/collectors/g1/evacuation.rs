//! One evacuation, world stopped: the objects of the regions that move and that something refers to are copied.
//!
//! ```text
//! worker 0           roots ----+
//! every worker       dirty cards, a piece of a region at a time ----+---> deque of slots ---> copy, scan the copy
//!                              +------------------------------------+          ^                     |
//!                                                                              +---------------------+
//! ```
//!
//! A worker without slots takes cards, then steals slots, until no worker has any ([`Stealing`]). The following
//! steps are done by worker 0 alone: references, weak slots.

use super::cards::CARD_BYTES;
use super::destination::Destination;
use super::evacuator::Evacuator;
use super::tables::{Kind, Tables};
use crate::memory::region::RegionUse;
use crate::object::codec::SlotCodec;
use crate::object::layout::ReferenceKind;
use crate::object::{ObjectRef, RootSlot};
use crate::threads::mutator::WorldStopped;
use crate::threads::stealing::Stealing;
use crate::threads::workers::Workers;
use crate::tracing::holders::Holders;
use crate::tracing::references::{Discovered, References};
use crossbeam_deque::Worker as Deque;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The parameters of an evacuation. The tables say which regions move.
pub struct Order {
    /// It begins a marking: objects of the snapshot that roots and copied objects refer to are grey, and the holders of
    /// copied objects' classes are noted.
    pub marks: Option<Arc<Holders>>,
    /// Objects that have survived this many pauses become old.
    pub tenuring_age: u32,
    /// As [`HeapCore::references`](crate::core::heap_core::HeapCore::references) takes it.
    pub free_bytes: usize,
}

/// The result of an evacuation.
#[derive(Default)]
pub struct Outcome {
    pub copied_bytes: usize,
    pub promoted_bytes: usize,
    /// Bytes of survivors by age.
    pub ages: [usize; AGES],
    pub cards_scanned: usize,
    /// Objects left where they were.
    pub retained: usize,
    /// Objects of the snapshot that were found.
    pub grey: Vec<ObjectRef>,
    /// Strings that are candidates for deduplication.
    pub strings: Vec<ObjectRef>,
    /// Cleared or revived, by kind: soft, weak, final, phantom.
    pub references: [u64; 4],
}

/// Ages that an object's header can hold.
pub const AGES: usize = 16;

/// The state that the workers share.
pub struct Evacuation<'a, C> {
    pub tables: &'a Tables,
    pub codec: C,
    pub order: &'a Order,
    pub survivors: &'a Destination,
    pub olds: &'a Destination,
    pieces: Vec<Piece>,
    /// The next piece that no worker has taken.
    next_piece: AtomicUsize,
    stealing: Stealing<usize>,
    results: Mutex<(Outcome, References)>,
}

/// A part of an old or humongous region whose dirty cards are one worker's.
#[derive(Clone, Copy)]
pub struct Piece {
    pub start: usize,
    pub end: usize,
    /// The object that covers all of it.
    pub humongous: Option<ObjectRef>,
}

impl<'a, C: SlotCodec> Evacuation<'a, C> {
    pub fn new(
        tables: &'a Tables,
        codec: C,
        order: &'a Order,
        [survivors, olds]: [&'a Destination; 2],
    ) -> Evacuation<'a, C> {
        let references = tables.core.references(order.free_bytes, false);
        Evacuation {
            tables,
            codec,
            order,
            survivors,
            olds,
            pieces: pieces(tables),
            next_piece: AtomicUsize::new(0),
            stealing: Stealing::new(&[]),
            results: Mutex::new((Outcome::default(), references)),
        }
    }

    /// Does everything; afterwards only retained objects are left in the regions that move.
    pub fn run(mut self, world: &WorldStopped, workers: &Workers) -> Outcome {
        let deques: Vec<_> = (0..workers.count()).map(|_| Deque::new_lifo()).collect();
        self.stealing = Stealing::new(&deques);
        let deques: Vec<_> = deques.into_iter().map(|deque| Mutex::new(Some(deque))).collect();
        let this = &self;
        let roots = Mutex::new(Some(Roots(world)));
        workers.run(&|id| {
            let deque = deques[id].lock().take().expect("each worker takes its own");
            let mut evacuator = Evacuator::new(this, deque);
            if id == 0 {
                let roots = roots.lock().take().expect("one worker visits roots");
                this.visit_roots(roots.0, &mut evacuator);
            }
            this.work(&mut evacuator);
            this.finish(evacuator);
        });
        let mut evacuator = Evacuator::new(this, Deque::new_lifo());
        this.process_references(&mut evacuator);
        this.empty_weak_slots(world);
        this.finish(evacuator);
        let (mut outcome, mut references) = self.results.into_inner();
        let binding = tables_binding(self.tables);
        references.enqueue(&self.codec, binding.pending_list(), |reference, at, head| {
            note_reference_slot(self.tables, reference, at, head);
        });
        outcome.references = references.counts;
        let strings = std::mem::take(&mut outcome.strings);
        let slots = strings.into_iter().map(|string| self.codec.new_root(string));
        self.tables.core.strings.add(slots);
        outcome
    }

    fn visit_roots(&self, world: &WorldStopped, evacuator: &mut Evacuator<'_, C>) {
        let binding = tables_binding(self.tables);
        binding.visit_thread_roots(world, &mut |root| *root = evacuator.root(*root));
        let mut slot = |slot: &RootSlot| {
            let object = self.codec.read_root(slot);
            let new = evacuator.place(object);
            if new != object {
                self.codec.write_root(slot, new);
            }
        };
        binding.visit_strong_slots(world, &mut slot);
        slot(binding.pending_list());
        // What moved lives in any case. Of what stays, the slots of holders make nothing grey.
        if let Some(holders) = &self.order.marks {
            let mut slot = |slot: &RootSlot| _ = evacuator.root(self.codec.read_root(slot));
            self.tables.core.visit_marking_slots(world, holders, &mut slot);
            slot(binding.pending_list());
        }
    }

    /// Until no worker has anything left to do.
    fn work(&self, evacuator: &mut Evacuator<'_, C>) {
        loop {
            evacuator.drain();
            if let Some(piece) = self.next_piece() {
                evacuator.scan_cards(piece);
            } else if let Some(slot) = self.stealing.steal() {
                evacuator.update(slot);
            } else if self.stealing.is_over() {
                return;
            }
        }
    }

    fn next_piece(&self) -> Option<Piece> {
        let number = self.next_piece.fetch_add(1, Ordering::Relaxed);
        self.pieces.get(number).copied()
    }

    fn finish(&self, evacuator: Evacuator<'_, C>) {
        let (part, references) = evacuator.finish();
        let (outcome, all) = &mut *self.results.lock();
        outcome.copied_bytes += part.copied_bytes;
        outcome.promoted_bytes += part.promoted_bytes;
        outcome.cards_scanned += part.cards_scanned;
        outcome.retained += part.retained;
        outcome.grey.extend(part.grey);
        outcome.strings.extend(part.strings);
        outcome.ages.iter_mut().zip(part.ages).for_each(|(sum, bytes)| *sum += bytes);
        all.absorb(references);
    }

    /// In the order of their strength, as `java.lang.ref` wants it. All objects are copied that are strongly
    /// reachable.
    fn process_references(&self, evacuator: &mut Evacuator<'_, C>) {
        let (_, references) = &mut *self.results.lock();
        let keeps = |d: Discovered| {
            let referent = self.codec.read(d.reference, d.at);
            let Some(place) = self.place(referent) else { return false };
            if place != referent {
                self.codec.write(d.reference, d.at, place);
            }
            // Also if the referent was left: its region will be another's.
            note_reference_slot(self.tables, d.reference, d.at, place);
            true
        };
        references.clear_dead(&self.codec, ReferenceKind::Soft, keeps);
        references.clear_dead(&self.codec, ReferenceKind::Weak, keeps);
        let revived = references.revive_final(&self.codec, keeps);
        evacuator.discover_no_more();
        for d in revived {
            evacuator.push(d.reference.address() + d.at);
        }
        evacuator.drain();
        references.clear_dead(&self.codec, ReferenceKind::Phantom, keeps);
    }

    fn empty_weak_slots(&self, world: &WorldStopped) {
        tables_binding(self.tables).visit_weak_slots(world, &mut |slot| {
            let object = self.codec.read_root(slot);
            if object.is_null() {
                return;
            }
            let place = self.place(object).unwrap_or(ObjectRef::NULL);
            if place != object {
                self.codec.write_root(slot, place);
            }
        });
    }

    /// Where an object is now, `None` if it is dead.
    pub fn place(&self, object: ObjectRef) -> Option<ObjectRef> {
        match self.tables.moves(self.tables.region_of(object)) {
            true => super::header::Header::of(object).place(object),
            false => Some(object),
        }
    }
}

/// Carried to the worker that visits them.
struct Roots<'a>(&'a WorldStopped);

// SAFETY: the world stays stopped for the length of the pause, and one worker uses it.
unsafe impl Send for Roots<'_> {}

/// Books for a slot of a reference object, wherever that is.
fn note_reference_slot(tables: &Tables, reference: ObjectRef, at: usize, value: ObjectRef) {
    let region = tables.region_of(reference);
    if !value.is_null() && !tables.moves(region) && !tables.kind(region).is_young() {
        tables.note_slot(reference.address() + at, value);
    }
}

fn tables_binding(tables: &Tables) -> &std::sync::Arc<dyn crate::threads::binding::VmBinding> {
    tables.core.binding()
}

/// The parts of old and humongous regions that stay and may have references.
fn pieces(tables: &Tables) -> Vec<Piece> {
    let (core, mut pieces) = (&tables.core, Vec::new());
    for (id, region) in core.regions.iter() {
        let start = core.geometry.region_start(id);
        let humongous = match region.usage() {
            RegionUse::Objects if tables.kind(id) == Kind::Old && !tables.moves(id) => None,
            RegionUse::HumongousStart => {
                let object = ObjectRef::from_address(start);
                if !core.layout_of(object).has_slots() {
                    continue;
                }
                Some(object)
            }
            _ => continue,
        };
        let end = start + region.top();
        for start in (start..end).step_by(PIECE_BYTES) {
            let end = end.min(start + PIECE_BYTES).next_multiple_of(CARD_BYTES);
            pieces.push(Piece { start, end, humongous });
        }
    }
    pieces
}

/// A thousand cards.
const PIECE_BYTES: usize = 512 << 10;
