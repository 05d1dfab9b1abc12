//! Mako with a table that nobody reads (`-XX:-UseHITTranslation`): what assigning entries costs, apart from what going
//! through them costs.
//!
//! Objects are made as ever, out of the same buffers: each takes an entry, its header holds the index, the entry
//! holds its place. But slots hold places, as in [`direct`](super::direct), so neither loads nor stores need
//! the table.
//!
//! Agents can trace nothing here, and a compaction as without the table would have to write entries besides and to
//! find the free ones again: a collector of its own, for a switch that is there for measuring. So nothing is
//! collected, as under Epsilon (JEP 318).

use super::allocation::Allocator;
use super::barriers::{MakoBarriers, Places, log_while_tracing};
use super::direct::DirectCodec;
use super::{SLOT_BYTES, Shared, thread};
use crate::barrier_asm::BarrierAsm;
use crate::barriers::{Barriers, Keeping};
use crate::codec::SlotCodec;
use crate::collector::{AllocRequest, Collector, CollectorParts};
use crate::evaluated::Evaluated;
use crate::geometry::RegionId;
use crate::heap::{AllocFailure, CollectCause};
use crate::mutator::Mutator;
use crate::object::{KlassId, ObjectRef};
use std::sync::Arc;

/// Barriers and collector over a heap that was reserved for Mako.
pub fn build(shared: Arc<Shared>) -> CollectorParts {
    let places = Places::new(&shared.core, &shared.entries.geometry);
    let entries = MakoBarriers::new(shared.clone());
    let barriers = Box::new(Evaluated(AssignedBarriers { entries, places }));
    let allocator = Allocator::new(shared);
    let collector = Arc::new(Assigned { allocator, codec: DirectCodec(places) });
    CollectorParts { barriers, collector }
}

struct Assigned {
    allocator: Allocator,
    codec: DirectCodec,
}

impl Collector for Assigned {
    fn attached(&self, m: &Mutator) {
        thread::attach(m, 0);
    }

    fn detached(&self, m: &Mutator) {
        self.allocator.retire(m);
        thread::detach(m);
    }

    fn allocate(&self, m: &Mutator, request: AllocRequest) -> Result<ObjectRef, AllocFailure> {
        self.allocator.allocate(m, request).ok_or(AllocFailure::HeapFull)
    }

    fn collect(&self, _m: Option<&Mutator>, _cause: CollectCause) {}

    fn decode(&self, word: u64) -> ObjectRef {
        self.codec.decode(word)
    }

    fn pin(&self, _object: ObjectRef) {}

    fn unpin(&self, _object: ObjectRef) {}

    fn is_walkable(&self, _region: RegionId) -> bool {
        false
    }

    fn beans(&self) -> &'static [&'static str] {
        &["Mako"]
    }

    fn title(&self) -> &'static str {
        "Mako without translation"
    }
}

/// Allocation as of [`MakoBarriers`], the rest as without a table.
struct AssignedBarriers {
    entries: MakoBarriers,
    places: Places,
}

impl Barriers for AssignedBarriers {
    const SLOT_BYTES: usize = SLOT_BYTES;

    #[inline(always)]
    fn decode<A: BarrierAsm + ?Sized>(&self, a: &mut A, word: A::Value) -> A::Value {
        self.places.decode(a, word, |_| word)
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
        self.entries.allocate(a, klass, bytes, length)
    }

    fn slow_path(&self, _m: &Mutator, id: u8, _arguments: [u64; 3]) -> u64 {
        unreachable!("slow path {id} in phase 0")
    }
}
