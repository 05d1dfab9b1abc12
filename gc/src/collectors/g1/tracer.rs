//! One worker of a marking.

use super::gate::Gate;
use super::marking::Marking;
use super::tables::Tables;
use crate::codec::SlotCodec;
use crate::layout::{KlassLayout, ReferenceKind};
use crate::mark_stack::MarkStack;
use crate::object::{ARRAY_BASE, ObjectRef};
use crate::prefetch::{self, Ahead};
use crate::quiescence::Quiescence;
use crate::references::{References, Referent};
use crate::scan::{for_each_slot, reference_kind};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Grey objects that any tracer may take.
pub type Pool = Mutex<Vec<Vec<ObjectRef>>>;

/// See the module text. Its stack goes by regions over far memory, as that of [`MarkStack`] does.
pub struct Tracer<'a> {
    tables: &'a Tables,
    marking: &'a Marking,
    /// Where the program runs beside it.
    gate: Option<&'a Gate>,
    pool: &'a Pool,
    stack: MarkStack,
    /// Objects on the stack.
    pending: usize,
    /// Objects that were met, and whose marks are on their way; marked objects that are on their way. What is in the
    /// snapshot does not move before the marking ends.
    met: Ahead<16>,
    coming: Ahead<8>,
    references: References,
    live_bytes: Vec<usize>,
}

impl<'a> Tracer<'a> {
    pub fn new(
        tables: &'a Tables,
        marking: &'a Marking,
        gate: Option<&'a Gate>,
        pool: &'a Pool,
        references: References,
    ) -> Tracer<'a> {
        let geometry = *tables.geometry();
        Tracer {
            tables,
            marking,
            gate,
            pool,
            stack: MarkStack::new(geometry, tables.core.space.pager().is_some()),
            pending: 0,
            met: Ahead::default(),
            coming: Ahead::default(),
            references,
            live_bytes: vec![0; geometry.regions],
        }
    }

    /// The references discovered, and live bytes by region.
    pub fn finish(self) -> (References, Vec<usize>) {
        (self.references, self.live_bytes)
    }

    /// Until nothing is grey any more, or the marking is aborted.
    pub fn run(&mut self, quiescence: &Quiescence) {
        loop {
            self.enter();
            while !self.marking.is_aborted()
                && let Some(object) = self.next()
            {
                self.scan(object);
                self.make_way();
                if self.pending > SHARE_FROM && quiescence.has_idle() {
                    self.share();
                }
            }
            self.leave();
            let has_work = || self.marking.is_aborted() || !self.pool.lock().is_empty();
            if self.marking.is_aborted() || quiescence.is_over(has_work) {
                return;
            }
        }
    }

    /// The next object to scan, which was asked for before.
    #[inline]
    fn next(&mut self) -> Option<ObjectRef> {
        loop {
            if self.pending == 0 {
                while let Some(met) = self.met.pop() {
                    self.reach(met);
                }
            }
            if self.pending == 0 {
                if let Some(object) = self.coming.pop() {
                    return Some(object);
                }
                let taken = self.pool.lock().pop()?;
                taken.into_iter().for_each(|object| self.push(object));
            }
            self.pending -= 1;
            let object = self.stack.pop().expect("as many as are counted");
            prefetch::object(object);
            let oldest = self.coming.exchange(object);
            if !oldest.is_null() {
                return Some(oldest);
            }
        }
    }

    fn push(&mut self, object: ObjectRef) {
        self.stack.push(object);
        self.pending += 1;
    }

    fn share(&mut self) {
        let shared = (0..self.pending / 2).filter_map(|_| self.stack.pop()).collect::<Vec<_>>();
        self.pending -= shared.len();
        self.pool.lock().push(shared);
    }

    fn enter(&self) {
        self.gate.inspect(|gate| gate.enter());
    }

    fn leave(&self) {
        self.gate.inspect(|gate| gate.leave());
    }

    /// Lets a pause happen. Objects of the snapshot are in their places afterwards, unless the marking is aborted.
    #[inline]
    fn make_way(&self) {
        if let Some(gate) = self.gate
            && gate.is_closed()
        {
            gate.leave();
            gate.enter();
        }
    }

    #[inline]
    fn mark(&mut self, object: ObjectRef) {
        if !object.is_null() && self.tables.is_in_snapshot(object) {
            self.tables.marks().prefetch(object);
            let oldest = self.met.exchange(object);
            if !oldest.is_null() {
                self.reach(oldest);
            }
        }
    }

    #[inline]
    fn reach(&mut self, object: ObjectRef) {
        let marks = self.tables.marks();
        if !marks.is_marked(object) && marks.mark(object) {
            self.push(object);
        }
    }

    fn scan(&mut self, object: ObjectRef) {
        let layout = self.tables.core.layout_of(object);
        let bytes = layout.object_bytes(object, super::SLOT_BYTES);
        assert!(bytes >= 16, "{object:?} of {:?} has {bytes} bytes", object.klass());
        self.live_bytes[self.tables.region_of(object).index()] += bytes;
        if matches!(layout, KlassLayout::ObjectArray) {
            return self.scan_array(object);
        }
        for_each_slot(layout, object, super::SLOT_BYTES, |at| {
            self.mark(SharedCodec.read(object, at));
        });
        let kind = reference_kind(layout);
        if kind != ReferenceKind::Strong {
            self.scan_reference(object, kind);
        }
    }

    /// A pause need not wait for the end of a large array.
    fn scan_array(&mut self, array: ObjectRef) {
        for i in 0..array.array_length() {
            if i % ARRAY_STRIDE == ARRAY_STRIDE - 1 {
                self.make_way();
                if self.marking.is_aborted() {
                    return;
                }
            }
            self.mark(SharedCodec.read(array, ARRAY_BASE + i * super::SLOT_BYTES));
        }
    }

    fn scan_reference(&mut self, reference: ObjectRef, kind: ReferenceKind) {
        let fields = *self.references.fields();
        self.mark(SharedCodec.read(reference, fields.discovered as usize));
        let tables = self.tables;
        let lives = |object| !tables.is_white(object);
        if self.references.found(&SharedCodec, reference, kind, lives) == Referent::Strong {
            self.mark(SharedCodec.read(reference, fields.referent as usize));
        }
    }
}

/// Slots hold addresses, and mutators write them meanwhile.
#[derive(Clone, Copy)]
struct SharedCodec;

impl SlotCodec for SharedCodec {
    const SLOT_BYTES: usize = super::SLOT_BYTES;

    fn decode(&self, word: u64) -> ObjectRef {
        ObjectRef::from_address(word as usize)
    }

    fn encode(&self, object: ObjectRef) -> u64 {
        object.address() as u64
    }

    #[inline]
    fn read(&self, object: ObjectRef, offset: usize) -> ObjectRef {
        let address = object.address() + offset;
        debug_assert!(address.is_multiple_of(8));
        // SAFETY: a slot of an object of the snapshot, which stays where it is; slots are written atomically.
        let word = unsafe { &*(address as *const AtomicU64) };
        // Acquire: what it refers to may be newer than the marking, and its region's description must be too.
        self.decode(word.load(Ordering::Acquire))
    }
}

/// With more on its stack a tracer gives half of it to others that have none.
const SHARE_FROM: usize = 128;
/// Elements between two looks at the gate.
const ARRAY_STRIDE: usize = 1024;
