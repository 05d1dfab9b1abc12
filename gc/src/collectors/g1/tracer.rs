//! One worker of a marking.

use super::gate::Gate;
use super::marking::Marking;
use super::tables::Tables;
use crate::collectors::memliner::{Aligner, Marks, Waiting, stamp_of};
use crate::object::codec::{Concurrent, SlotCodec};
use crate::object::layout::{KlassLayout, ReferenceKind};
use crate::object::prefetch::{self, Ahead};
use crate::object::{OBJECT_BYTES_MIN, ObjectRef};
use crate::threads::quiescence::Quiescence;
use crate::tracing::holders::Holders;
use crate::tracing::mark_stack::MarkStack;
use crate::tracing::references::{References, Referent};
use crate::tracing::scan::{for_each_slot, reference_kind};
use parking_lot::Mutex;

/// Grey objects that any tracer may take.
pub type Pool = Mutex<Vec<Chunk>>;

/// Some of them.
pub enum Chunk {
    /// Marked: the tracer that has the chunk must scan them.
    Claimed(Vec<ObjectRef>),
    /// Not marked: threads may have reported them by the time of their turn.
    Waiting(Vec<Waiting>),
}

impl Chunk {
    /// The objects made grey by [`Tables::make_grey`].
    pub fn of(tables: &Tables, grey: &[ObjectRef]) -> Chunk {
        match tables.lined {
            None => Chunk::Claimed(grey.to_vec()),
            Some(_) => Chunk::Waiting(grey.iter().map(|object| Waiting::new(*object, 0)).collect()),
        }
    }
}

/// See the module text. Over far memory its stack is ordered by regions, as that of [`MarkStack`] is.
pub struct Tracer<'a, C> {
    tables: &'a Tables,
    slots: Concurrent<C>,
    marking: &'a Marking,
    /// Where the program runs beside it.
    gate: Option<&'a Gate>,
    pool: &'a Pool,
    stack: MarkStack,
    /// Objects on the stack.
    pending: usize,
    /// Objects that were met, whose marks are being prefetched; marked objects that are being prefetched. Objects of
    /// the snapshot do not move before the marking ends.
    met: Ahead<ObjectRef, 16>,
    coming: Ahead<ObjectRef, 8>,
    /// Where tracing is aligned with the program that runs beside it.
    aligner: Option<Aligner<'a>>,
    references: References,
    holders: &'a Holders,
    live_bytes: Vec<usize>,
}

impl<'a, C: SlotCodec> Tracer<'a, C> {
    pub fn new(
        tables: &'a Tables,
        codec: C,
        marking: &'a Marking,
        gate: Option<&'a Gate>,
        pool: &'a Pool,
        references: References,
        holders: &'a Holders,
    ) -> Tracer<'a, C> {
        let geometry = *tables.geometry();
        let lined = tables.lined.as_ref().filter(|_| gate.is_some());
        Tracer {
            aligner: lined.map(|lined| Aligner::new(&lined.memliner)),
            tables,
            slots: Concurrent(codec),
            marking,
            gate,
            pool,
            stack: MarkStack::new(tables.core.zones()),
            pending: 0,
            met: Ahead::default(),
            coming: Ahead::default(),
            references,
            holders,
            live_bytes: vec![0; geometry.regions],
        }
    }

    fn finish(mut self) -> (References, Vec<usize>) {
        if let Some(aligner) = self.aligner.take() {
            aligner.finish(self.marking.is_aborted());
        }
        (self.references, self.live_bytes)
    }

    /// Whether the results do not count. In a pause they do: a thread that stops the collector waits for the pause's
    /// end.
    fn is_aborted(&self) -> bool {
        self.gate.is_some() && self.marking.is_aborted()
    }

    /// Until nothing is grey any more, or the marking is aborted. The references discovered, and live bytes by region.
    pub fn run(mut self, quiescence: &Quiescence) -> (References, Vec<usize>) {
        loop {
            self.enter();
            while !self.is_aborted()
                && let Some(object) = self.next()
            {
                self.scan(object);
                self.make_way();
                if quiescence.has_idle() {
                    self.share();
                }
            }
            self.leave();
            let has_work = || self.is_aborted() || !self.pool.lock().is_empty();
            if self.is_aborted() || quiescence.is_over(has_work) {
                return self.finish();
            }
        }
    }

    /// The next object to scan, which is claimed and was prefetched before.
    #[inline]
    fn next(&mut self) -> Option<ObjectRef> {
        loop {
            if let Some(aligner) = &mut self.aligner
                && let Some(object) = aligner.next_touched(self.tables)
            {
                return Some(object);
            }
            if self.pending == 0 {
                while let Some(met) = self.met.pop() {
                    self.reach(met);
                }
            }
            if self.pending == 0 {
                if let Some(object) = self.coming.pop() {
                    return Some(object);
                }
                if !self.take_chunk() && !self.take_postponed() {
                    return None;
                }
                continue;
            }
            self.pending -= 1;
            let object = self.stack.pop().expect("as many as are counted");
            prefetch::object(object);
            if let Some(oldest) = self.coming.exchange(object) {
                return Some(oldest);
            }
        }
    }

    fn take_chunk(&mut self) -> bool {
        let chunk = self.pool.lock().pop();
        match chunk {
            None => return false,
            Some(Chunk::Claimed(objects)) => objects.into_iter().for_each(|o| self.push(o)),
            Some(Chunk::Waiting(objects)) => objects.into_iter().for_each(|one| self.wait(one)),
        }
        true
    }

    /// Objects whose turn it is of those that were put off.
    fn take_postponed(&mut self) -> bool {
        let Some(aligner) = &mut self.aligner else { return false };
        let mut claimed = Vec::new();
        let any = aligner.next_postponed(self.tables, &mut claimed);
        claimed.into_iter().for_each(|object| self.push(object));
        any
    }

    fn wait(&mut self, one: Waiting) {
        let is_claimed = match &mut self.aligner {
            Some(aligner) => aligner.wait(self.tables, one),
            None => self.tables.claim(one.object()),
        };
        if is_claimed {
            self.push(one.object());
        }
    }

    fn push(&mut self, object: ObjectRef) {
        self.stack.push(object);
        self.pending += 1;
    }

    fn share(&mut self) {
        let waiting = self.aligner.as_ref().map_or(0, |aligner| aligner.waiting());
        if waiting > SHARE_FROM
            && let Some(aligner) = &mut self.aligner
        {
            let shared = aligner.split();
            self.pool.lock().push(Chunk::Waiting(shared));
        }
        if self.pending <= SHARE_FROM {
            return;
        }
        let shared = (0..self.pending / 2).filter_map(|_| self.stack.pop()).collect::<Vec<_>>();
        self.pending -= shared.len();
        self.pool.lock().push(Chunk::Claimed(shared));
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
    fn meet(&mut self, word: u64) {
        let object = self.slots.decode(word);
        if object.is_null() || !self.tables.is_in_snapshot(object) {
            return;
        }
        if let Some(aligner) = &mut self.aligner
            && !aligner.can_wait()
        {
            if aligner.meet(self.tables, object, stamp_of(word)) {
                self.push(object);
            }
        } else {
            self.tables.marks().prefetch(object);
            if let Some(oldest) = self.met.exchange(object) {
                self.reach(oldest);
            }
        }
    }

    #[inline]
    fn reach(&mut self, object: ObjectRef) {
        let marks = self.tables.marks();
        let is_new = match &mut self.aligner {
            Some(aligner) => aligner.meet_late(self.tables, object),
            None => !marks.is_marked(object) && marks.mark(object),
        };
        if is_new {
            self.push(object);
        }
    }

    fn scan(&mut self, object: ObjectRef) {
        let layout = self.holders.scans(&self.tables.core.layouts, object);
        let bytes = layout.object_bytes(object, self.slots.slot_bytes());
        assert!(bytes >= OBJECT_BYTES_MIN, "{object:?} of {:?} has {bytes} bytes", object.klass());
        self.live_bytes[self.tables.region_of(object).index()] += bytes;
        if let Some(aligner) = &mut self.aligner {
            aligner.scans(layout.slot_count(object));
        }
        if let KlassLayout::ObjectArray { base } = layout {
            return self.scan_array(object, *base as usize);
        }
        let slots = self.slots;
        for_each_slot(layout, object, slots.slot_bytes(), |at| {
            self.meet(slots.word(object, at));
        });
        let kind = reference_kind(layout);
        if kind != ReferenceKind::Strong {
            self.scan_reference(object, kind);
        }
    }

    /// A pause need not wait for the end of a large array.
    fn scan_array(&mut self, array: ObjectRef, base: usize) {
        let slots = self.slots;
        for i in 0..array.array_length() {
            if i % ARRAY_STRIDE == ARRAY_STRIDE - 1 {
                self.make_way();
                if self.is_aborted() {
                    return;
                }
            }
            self.meet(slots.word(array, base + i * slots.slot_bytes()));
        }
    }

    fn scan_reference(&mut self, reference: ObjectRef, kind: ReferenceKind) {
        let fields = *self.references.fields();
        self.meet(self.slots.word(reference, fields.discovered as usize));
        let tables = self.tables;
        let lives = |object| !tables.is_white(object);
        if self.references.found(&self.slots, reference, kind, lives) == Referent::Strong {
            self.meet(self.slots.word(reference, fields.referent as usize));
        }
    }
}

/// With more on its stack a tracer gives half of it to others that have none.
const SHARE_FROM: usize = 128;
/// Elements between two looks at the gate.
const ARRAY_STRIDE: usize = 1024;
