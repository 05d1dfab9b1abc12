//! One worker of an evacuation.

use super::cards::{CARD_BYTES, CLEAN};
use super::destination::Buffer;
use super::evacuation::{AGES, Evacuation, Outcome, Piece};
use super::header::Header;
use super::tables::{Kind, Tables};
use crate::object::codec::SlotCodec;
use crate::object::layout::{KlassLayout, ReferenceFields, ReferenceKind};
use crate::object::{OBJECT_BYTES_MIN, ObjectRef, SEEN};
use crate::tracing::references::{References, Referent};
use crate::tracing::scan::{for_each_slot, reference_kind};
use crossbeam_deque::Worker as Deque;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// See the module text.
pub struct Evacuator<'a, C> {
    shared: &'a Evacuation<'a, C>,
    tables: &'a Tables,
    codec: C,
    fields: Option<&'a ReferenceFields>,
    /// Addresses of slots that refer to objects of regions that move.
    slots: Deque<usize>,
    survivor: Buffer,
    old: Buffer,
    references: References,
    outcome: Outcome,
}

/// Whose slots are being scanned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// Copied to a young region or left: looked at again in every pause, or at the end of this one.
    Passing,
    /// Copied to an old region: books must be kept.
    Promoted,
    /// Was in an old or humongous region before the pause. It may be dead, so it does not make others grey.
    Old,
}

impl<'a, C: SlotCodec> Evacuator<'a, C> {
    pub fn new(shared: &'a Evacuation<'a, C>, slots: Deque<usize>) -> Evacuator<'a, C> {
        let core = &shared.tables.core;
        Evacuator {
            shared,
            tables: shared.tables,
            codec: shared.codec,
            fields: core.reference_fields(),
            slots,
            survivor: Buffer::default(),
            old: Buffer::default(),
            references: core.references(shared.order.free_bytes, false),
            outcome: Outcome::default(),
        }
    }

    /// Gives up the buffers; returns the outcome and the references discovered.
    pub fn finish(mut self) -> (Outcome, References) {
        assert!(self.slots.is_empty(), "slots are left");
        self.survivor.retire(self.tables);
        self.old.retire(self.tables);
        (self.outcome, self.references)
    }

    /// References that turn up from now on are strong.
    pub fn discover_no_more(&mut self) {
        self.references.discover_no_more();
    }

    /// The new place of the object that a root refers to.
    pub fn root(&mut self, object: ObjectRef) -> ObjectRef {
        let place = self.place(object);
        if place == object && !object.is_null() {
            self.grey(object);
        }
        place
    }

    /// The same, of a slot that is not a root of a marking: an object that stays does not become grey.
    pub fn place(&mut self, object: ObjectRef) -> ObjectRef {
        match !object.is_null() && self.tables.moves(self.tables.region_of(object)) {
            true => self.evacuate(object),
            false => object,
        }
    }

    #[inline]
    pub fn push(&mut self, slot: usize) {
        self.slots.push(slot);
    }

    /// Until the worker has no slots left.
    pub fn drain(&mut self) {
        while let Some(slot) = self.slots.pop() {
            self.update(slot);
        }
    }

    /// Evacuates the object that a slot refers to, in a region that moves, and updates the slot.
    #[inline]
    pub fn update(&mut self, slot: usize) {
        // Of a live object in a region that does not move, or that was left; one worker has it.
        let object = self.codec.decode(self.codec.load(slot));
        let place = self.evacuate(object);
        if place != object {
            self.codec.store(slot, self.codec.encode(place));
        }
        let region = self.tables.geometry().region_at(slot);
        // Slots of objects that were left are looked at when all have their places.
        if !self.tables.moves(region) && !self.tables.kind(region).is_young() {
            self.tables.note_slot(slot, place);
        }
    }

    /// Scans the objects on the dirty cards of a piece.
    pub fn scan_cards(&mut self, piece: Piece) {
        let mut from = piece.start;
        while from < piece.end
            && let Some(card) = self.tables.cards.next_dirty(from, piece.end)
        {
            // A young referent makes it dirty again.
            self.tables.cards.card(card).store(CLEAN, Ordering::Relaxed);
            self.outcome.cards_scanned += 1;
            from = card + CARD_BYTES;
            match piece.humongous {
                Some(object) if self.tables.is_dead(object) => {}
                Some(object) => self.scan_part(object, card..from),
                None => self.scan_card(card..from),
            }
        }
    }

    fn scan_card(&mut self, card: Range<usize>) {
        let core = &self.tables.core;
        let region = core.geometry.region_at(card.start);
        let top = core.geometry.region_start(region) + core.regions.region(region).top();
        let end = card.end.min(top);
        let mut at = self.tables.starts.covering(card.start);
        while at < end {
            let object = ObjectRef::from_address(at);
            let bytes = core.layout_of(object).object_bytes(object, self.codec.slot_bytes());
            assert!(
                bytes >= OBJECT_BYTES_MIN,
                "{object:?} of {:?} has {bytes} bytes",
                object.klass()
            );
            if !self.tables.is_dead(object) {
                self.scan_part(object, card.start..end);
            }
            at += bytes;
        }
    }

    /// Scans the slots of an old object whose addresses are in `range`.
    fn scan_part(&mut self, object: ObjectRef, range: Range<usize>) {
        let layout = self.tables.core.layout_of(object);
        let address = object.address();
        if let KlassLayout::ObjectArray { base } = layout {
            let first = address + *base as usize;
            let end = first + object.array_length() * self.codec.slot_bytes();
            for slot in
                (range.start.max(first)..range.end.min(end)).step_by(self.codec.slot_bytes())
            {
                self.scan_slot(object, slot - address, Owner::Old);
            }
            return;
        }
        for_each_slot(layout, object, self.codec.slot_bytes(), |at| {
            if range.contains(&(address + at)) {
                self.scan_slot(object, at, Owner::Old);
            }
        });
        let kind = reference_kind(layout);
        if kind != ReferenceKind::Strong {
            self.scan_reference(object, kind, Owner::Old, |at| range.contains(&(address + at)));
        }
    }

    fn scan_object(&mut self, object: ObjectRef, owner: Owner) {
        let layout = self.tables.core.layout_of(object);
        for_each_slot(layout, object, self.codec.slot_bytes(), |at| {
            self.scan_slot(object, at, owner)
        });
        let kind = reference_kind(layout);
        if kind != ReferenceKind::Strong {
            self.scan_reference(object, kind, owner, |_| true);
        }
    }

    #[inline]
    fn scan_slot(&mut self, object: ObjectRef, at: usize, owner: Owner) {
        let target = self.codec.read(object, at);
        if target.is_null() {
            return;
        }
        let slot = object.address() + at;
        if self.tables.moves(self.tables.region_of(target)) {
            self.push(slot);
        } else {
            if owner != Owner::Passing {
                self.tables.note_slot(slot, target);
            }
            if owner != Owner::Old {
                self.grey(target);
            }
        }
    }

    /// The slots of a reference object that are not ordinary, those that `is_asked_for`.
    fn scan_reference(
        &mut self,
        reference: ObjectRef,
        kind: ReferenceKind,
        owner: Owner,
        is_asked_for: impl Fn(usize) -> bool,
    ) {
        let fields = *self.fields.expect("the VM tells the fields before it makes a reference");
        let [referent, discovered] = [fields.referent, fields.discovered].map(|at| at as usize);
        if is_asked_for(discovered) {
            self.scan_slot(reference, discovered, owner);
        }
        if !is_asked_for(referent) {
            return;
        }
        let target = self.codec.read(reference, referent);
        if target.is_null() {
            return;
        }
        let lives = |object| self.shared.place(object).is_some();
        // A reference that stays where it is may be dead, and the running marking may have missed it for that: it
        // must not come to life by being enqueued. Its referent is left to the marking.
        if owner == Owner::Old {
            self.scan_slot(reference, referent, owner);
            return;
        }
        // An object that stays lives, for this pause; one that was copied already does too, and the slot must follow.
        if self.references.found(&self.codec, reference, kind, lives) == Referent::Strong
            || lives(target)
        {
            self.scan_slot(reference, referent, owner);
        }
    }

    /// An object of the snapshot that lives.
    #[inline]
    fn grey(&mut self, object: ObjectRef) {
        if self.shared.order.marks.is_some()
            && self.tables.is_in_snapshot(object)
            && self.tables.make_grey(object)
        {
            self.outcome.grey.push(object);
        }
    }

    /// The new place of an object of a region that moves; copies it if no worker has.
    fn evacuate(&mut self, object: ObjectRef) -> ObjectRef {
        let header = Header::of(object);
        if let Some(place) = header.place(object) {
            return place;
        }
        let region = self.tables.region_of(object);
        // The object's own header may be overwritten at any moment.
        let layouts = &self.tables.core.layouts;
        let layout = match &self.shared.order.marks {
            // Newer than the marking from now on, and so never scanned by it.
            Some(holders) => holders.scans_as(layouts, object, header.klass()),
            None => layouts.layout(header.klass()),
        };
        let bytes = layout.object_bytes(object, self.codec.slot_bytes());
        // The age in the header saturates; an object of that age may also have to be promoted.
        let stays_young =
            self.tables.kind(region).is_young() && header.age() < self.shared.order.tenuring_age;
        let age = (header.age() + 1).min(AGES as u32 - 1);
        let is_pinned = self.tables.core.regions.region(region).is_pinned();
        let found = if is_pinned { None } else { self.allocate(bytes, stays_young) };
        let Some((to, kind)) = found else { return self.leave(object, header) };
        let behind = size_of::<u64>();
        // SAFETY: `to` is ours alone and has `bytes` bytes; what is behind the object's header is not written by any
        // thread in the pause.
        unsafe {
            let from = (object.address() + behind) as *const u8;
            std::ptr::copy_nonoverlapping(from, (to + behind) as *mut u8, bytes - behind);
        }
        let copy = ObjectRef::from_address(to);
        header.with_age(age).write(copy);
        if let Err(theirs) = header.exchange(object, Header::copied(to)) {
            let buffer = if kind == Kind::Old { &mut self.old } else { &mut self.survivor };
            buffer.undo(self.tables, to, bytes);
            return theirs.place(object).expect("another worker was first");
        }
        self.outcome.copied_bytes += bytes;
        let core = &self.tables.core;
        let is_settled = kind == Kind::Old || age >= core.options.deduplication_age;
        if is_settled && core.strings.is_new(header.word()) {
            copy.klass_word().fetch_or(SEEN, Ordering::Relaxed);
            self.outcome.strings.push(copy);
        }
        if kind == Kind::Old {
            self.outcome.promoted_bytes += bytes;
            self.tables.starts.note(to, bytes);
            self.scan_object(copy, Owner::Promoted);
        } else {
            self.outcome.ages[age as usize] += bytes;
            self.scan_object(copy, Owner::Passing);
        }
        copy
    }

    fn allocate(&mut self, bytes: usize, stays_young: bool) -> Option<(usize, Kind)> {
        if stays_young
            && let Some(to) = self.survivor.allocate(self.tables, self.shared.survivors, bytes)
        {
            return Some((to, Kind::Survivor));
        }
        let to = self.old.allocate(self.tables, self.shared.olds, bytes)?;
        Some((to, Kind::Old))
    }

    /// There is no memory for a copy, or the object is pinned.
    #[cold]
    fn leave(&mut self, object: ObjectRef, header: Header) -> ObjectRef {
        if let Err(theirs) = header.exchange(object, header.left()) {
            return theirs.place(object).expect("another worker was first");
        }
        self.tables.set_retains(self.tables.region_of(object), true);
        self.outcome.retained += 1;
        self.scan_object(object, Owner::Passing);
        object
    }
}
