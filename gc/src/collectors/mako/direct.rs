//! Mako without its table (`-XX:-UseHIT`): an ablation that measures the cost of the table.
//!
//! A slot holds the object's own place, as a narrow entry would hold it ([`HitGeometry::place`]), so
//! decoding is the shift and the addition that follow the table's load. Everything that mutators
//! meet otherwise stays: four-byte slots, null and phase tests, buffers, the pager, the servers. No
//! entry is assigned, and headers hold none.
//!
//! Without a table an object cannot be moved under a running mutator: a collection stops the world and compacts, as
//! [`serial`] does over any codec. Agents run and get no requests; the phase stays 0.
//!
//! [`serial`]: crate::collectors::serial

use super::SLOT_BYTES;
use super::barriers::{MOVE, MakoBarriers, Places, log_while_tracing};
use crate::barrier::barrier_asm::BarrierAsm;
use crate::barrier::barriers::{Barriers, Keeping};
use crate::barrier::bump;
use crate::barrier::evaluated::Evaluated;
use crate::collectors::serial::Serial;
use crate::core::collector::CollectorParts;
use crate::core::heap_core::HeapCore;
use crate::hit::HitGeometry;
use crate::object::codec::SlotCodec;
use crate::object::{KlassId, ObjectRef};
use crate::threads::mutator::Mutator;
use std::sync::Arc;

/// Barriers and collector over a heap that was reserved for Mako.
pub fn build(core: Arc<HeapCore>, geometry: HitGeometry) -> CollectorParts {
    let places = Places::new(&core, &geometry);
    let making = if core.options.zeal() { Making::ByCollector } else { Making::Plain };
    let barriers = Box::new(Evaluated(DirectBarriers { making, places }));
    let collector = Arc::new(Serial::over(core, DirectCodec(places), "Mako without HIT"));
    CollectorParts { barriers, collector }
}

/// Slots hold places.
#[derive(Clone, Copy)]
pub struct DirectCodec(pub Places);

impl SlotCodec for DirectCodec {
    #[inline]
    fn slot_bytes(&self) -> usize {
        SLOT_BYTES
    }

    #[inline]
    fn decode(&self, word: u64) -> ObjectRef {
        self.0.object(word)
    }

    #[inline]
    fn encode(&self, object: ObjectRef) -> u64 {
        self.0.place(object)
    }
}

/// As [`MakoBarriers`], but references do not use the table.
pub struct DirectBarriers {
    pub making: Making,
    pub places: Places,
}

/// How objects are made without a call.
pub enum Making {
    /// Not at all.
    ByCollector,
    /// Out of the thread's buffer of memory.
    Plain,
    /// With an entry in addition, as always under Mako.
    WithEntry(MakoBarriers),
}

impl Barriers for DirectBarriers {
    const SLOT_BYTES: usize = SLOT_BYTES;

    fn entry_max(&self) -> u32 {
        if matches!(self.making, Making::WithEntry(_)) { u32::MAX } else { 0 }
    }

    #[inline(always)]
    fn decode<A: BarrierAsm + ?Sized>(&self, a: &mut A, word: A::Value) -> A::Value {
        let resolve = |a: &mut A| a.call(MOVE, &[word]);
        let object = self.places.decode(a, word, |_, _| word, resolve);
        a.note_word(object, word);
        object
    }

    #[inline(always)]
    fn encode<A: BarrierAsm + ?Sized>(&self, a: &mut A, object: A::Value) -> A::Value {
        self.places.encode(a, object, |a, places| places.of(a, object))
    }

    #[inline(always)]
    fn keeps<A: BarrierAsm + ?Sized>(&self, a: &mut A) -> Option<Keeping<A::Value>> {
        Some(log_while_tracing(a))
    }

    #[inline(always)]
    fn allocate<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        klass: KlassId,
        bytes: A::Value,
        length: Option<A::Value>,
    ) -> Option<A::Value> {
        match &self.making {
            Making::ByCollector => None,
            Making::Plain => Some(bump::allocate(a, klass, bytes, length)),
            Making::WithEntry(entries) => entries.allocate(a, klass, bytes, length),
        }
    }

    fn slow_path(&self, _m: &Mutator, id: u8, _arguments: [u64; 3]) -> u64 {
        unreachable!("slow path {id} in phase 0")
    }
}
