//! One worker of a minor collection.

use super::collection::{AGES, Collection, Outcome, Survivors};
use super::promotion::{Place, Promoter};
use super::table::{YoungCodec, YoungTable, is_name};
use crate::collectors::g1::header::Header;
use crate::collectors::mako::SLOT_BYTES;
use crate::collectors::mako::allocation::RESERVE;
use crate::core::heap_core::HeapCore;
use crate::hit::EntryIndex;
use crate::object::codec::SlotCodec;
use crate::object::layout::{ReferenceFields, ReferenceKind};
use crate::object::prefetch;
use crate::object::{ObjectRef, SEEN};
use crate::tracing::references::{References, Referent};
use crate::tracing::scan::{for_each_slot, reference_kind};
use crossbeam_deque::Worker as Deque;
use std::sync::atomic::Ordering;
use swap::PageRange;

/// See the module text.
pub struct Evacuator<'a> {
    shared: &'a Collection<'a>,
    core: &'a HeapCore,
    table: &'a YoungTable,
    codec: YoungCodec<'a>,
    fields: Option<&'a ReferenceFields>,
    /// Addresses of slots that may refer to objects of regions that move.
    slots: Deque<usize>,
    survivor: Buffer,
    promoter: Promoter<'a>,
    references: References,
    outcome: Outcome,
}

/// Where a copy goes.
enum To {
    Young(usize),
    Old(Place),
}

impl<'a> Evacuator<'a> {
    pub fn new(shared: &'a Collection<'a>, slots: Deque<usize>) -> Evacuator<'a> {
        let core = &*shared.shared.core;
        // An old cycle can do without the regions that it moves objects to, if need be.
        let reserve = if shared.order.promotes_all { 0 } else { RESERVE };
        Evacuator {
            shared,
            core,
            table: shared.table,
            codec: YoungCodec(shared.table),
            fields: core.reference_fields(),
            slots,
            survivor: Buffer::default(),
            promoter: Promoter::new(shared.shared, shared.allocator, reserve),
            references: shared.references(),
            outcome: Outcome::default(),
        }
    }

    /// Gives up the buffers; returns the outcome and the references discovered.
    pub fn finish(self) -> (Outcome, References) {
        assert!(self.slots.is_empty(), "slots are left");
        self.promoter.finish();
        (self.outcome, self.references)
    }

    /// References that turn up from now on are strong.
    pub fn discover_no_more(&mut self) {
        self.references.discover_no_more();
    }

    /// The present place of an object that a thread holds, or [`YoungCodec`] has read.
    pub fn root(&mut self, object: ObjectRef) -> ObjectRef {
        if object.is_null() || is_name(object) || !self.table.has(object.address()) {
            return object;
        }
        self.evacuate(object)
    }

    #[inline]
    pub fn push(&mut self, slot: usize) {
        self.slots.push(slot);
    }

    /// Prefetches what remembered slots behind the one at `i` need. They lie anywhere in the heap.
    #[inline]
    pub fn look_ahead(&self, slots: &[usize], i: usize) {
        if let Some(slot) = slots.get(i + 2 * AHEAD) {
            prefetch::line(*slot);
        }
        if let Some(slot) = slots.get(i + AHEAD) {
            let word = self.codec.load(*slot) as u32;
            if EntryIndex(word).is_young() {
                prefetch::object(self.table.object(word));
            }
        }
    }

    /// Until the worker has no slots left.
    pub fn drain(&mut self) {
        while let Some(slot) = self.slots.pop() {
            self.update(slot);
        }
    }

    /// Evacuates the young object that a slot refers to, if it does, and updates the slot.
    #[inline]
    pub fn update(&mut self, slot: usize) {
        let word = self.codec.load(slot);
        if !EntryIndex(word as u32).is_young() {
            return;
        }
        let place = self.evacuate(self.table.object(word as u32));
        let new = self.codec.encode(place);
        if new != word {
            self.codec.store(slot, new);
        }
        if self.table.must_remember(slot, new) {
            self.outcome.remembered.push(slot);
        }
    }

    /// The slots of an object that was copied or left.
    fn scan(&mut self, object: ObjectRef) {
        let layout = self.core.layout_of(object);
        for_each_slot(layout, object, SLOT_BYTES, |at| self.scan_slot(object, at));
        let kind = reference_kind(layout);
        if kind != ReferenceKind::Strong {
            self.scan_reference(object, kind);
        }
    }

    #[inline]
    fn scan_slot(&mut self, object: ObjectRef, at: usize) {
        let slot = object.address() + at;
        let word = self.codec.load(slot) as u32;
        if EntryIndex(word).is_young() {
            prefetch::object(self.table.object(word));
            self.push(slot);
        }
    }

    /// The slots of a reference object that are not ordinary.
    fn scan_reference(&mut self, reference: ObjectRef, kind: ReferenceKind) {
        let fields = *self.fields.expect("the VM tells the fields before it makes a reference");
        let [referent, discovered] = [fields.referent, fields.discovered].map(|at| at as usize);
        self.scan_slot(reference, discovered);
        let target = self.codec.read(reference, referent);
        if target.is_null() || is_name(target) {
            // Whether an old object lives is for old cycles to say.
            return;
        }
        let lives = |object| self.shared.place(object).is_some();
        if self.references.found(&self.codec, reference, kind, lives) == Referent::Strong
            || lives(target)
        {
            self.push(reference.address() + referent);
        }
    }

    /// The present place of a young object; copies it if no worker has.
    fn evacuate(&mut self, object: ObjectRef) -> ObjectRef {
        let region = self.core.geometry.region_of(object);
        if !self.table.moves(region) {
            return object;
        }
        let header = Header::of(object);
        if let Some(place) = header.place(object) {
            return place;
        }
        // The object's own header may be overwritten at any moment.
        let layout = self.core.layouts.layout(header.klass());
        let bytes = layout.object_bytes(object, SLOT_BYTES);
        let order = &self.shared.order;
        let stays_young = !order.promotes_all && header.age() < order.tenuring_age;
        let age = (header.age() + 1).min(AGES as u32 - 1);
        let is_pinned = self.core.regions.region(region).is_pinned();
        let found = if is_pinned { None } else { self.allocate(bytes, header, stays_young) };
        let Some(to) = found else { return self.leave(object, header) };
        let (address, new) = match to {
            To::Young(address) => {
                let word = self.table.word(ObjectRef::from_address(address));
                (address, header.with_age(age).with_value(header.early().unwrap_or(word)))
            }
            To::Old(place) => (place.address, header.promoted(place.entry.0)),
        };
        let behind = size_of::<u64>();
        // SAFETY: `address` is ours alone and has `bytes` bytes; what is behind the object's header is not written by
        // any thread in the pause.
        unsafe {
            let from = (object.address() + behind) as *const u8;
            std::ptr::copy_nonoverlapping(from, (address + behind) as *mut u8, bytes - behind);
        }
        let copy = ObjectRef::from_address(address);
        new.write(copy);
        if let Err(theirs) = header.exchange(object, Header::copied(address)) {
            match to {
                To::Young(address) => self.survivor.undo(address, bytes),
                To::Old(place) => self.promoter.undo(place, bytes),
            }
            return theirs.place(object).expect("another worker was first");
        }
        match to {
            To::Young(_) => {
                self.outcome.survived_bytes += bytes;
                self.outcome.ages[age as usize] += bytes;
            }
            To::Old(place) => self.promoted(copy, place, bytes),
        }
        self.scan(copy);
        copy
    }

    /// The entry names the promoted object from now on.
    fn promoted(&mut self, copy: ObjectRef, place: Place, bytes: usize) {
        self.outcome.promoted_bytes += bytes;
        let offset = self.core.geometry.offset(place.address);
        self.shared.shared.entries.set(place.entry, offset);
        if self.core.strings.is_new(copy.header().load(Ordering::Relaxed)) {
            copy.klass_word().fetch_or(SEEN, Ordering::Relaxed);
            self.outcome.strings.push(copy);
        }
    }

    fn allocate(&mut self, bytes: usize, header: Header, stays_young: bool) -> Option<To> {
        if stays_young
            && let Some(to) = self.survivor.allocate(self.core, self.shared.survivors, bytes)
        {
            return Some(To::Young(to));
        }
        let early = header.early().map_or(EntryIndex::NULL, EntryIndex);
        self.promoter.allocate(bytes, early).map(To::Old)
    }

    /// There is no memory for a copy, or the object is pinned.
    #[cold]
    fn leave(&mut self, object: ObjectRef, header: Header) -> ObjectRef {
        if let Err(theirs) = header.exchange(object, header.left()) {
            return theirs.place(object).expect("another worker was first");
        }
        self.outcome.left.push(object);
        self.scan(object);
        object
    }
}

/// A worker's part of the survivors: objects one after the other.
#[derive(Default)]
struct Buffer {
    top: usize,
    end: usize,
}

impl Buffer {
    fn allocate(&mut self, core: &HeapCore, survivors: &Survivors, bytes: usize) -> Option<usize> {
        if self.end - self.top < bytes {
            let wish = BUFFER_BYTES.min(core.geometry.region_bytes() / 8);
            if bytes > wish / 4 {
                return Some(survivors.chunk(bytes, bytes)?.0);
            }
            let (start, length) = survivors.chunk(bytes, wish)?;
            (self.top, self.end) = (start, start + length);
            core.space
                .pager()
                .into_iter()
                .for_each(|p| p.populate(PageRange::of_bytes(core.geometry.offset(start), length)));
        }
        self.top += bytes;
        Some(self.top - bytes)
    }

    /// Takes back an object that was allocated last.
    fn undo(&mut self, address: usize, bytes: usize) {
        if address + bytes == self.top {
            self.top = address;
        }
    }
}

const BUFFER_BYTES: usize = 64 << 10;
/// Remembered slots whose objects are being prefetched; as many more are themselves.
const AHEAD: usize = 8;
