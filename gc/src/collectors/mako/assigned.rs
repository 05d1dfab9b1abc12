//! Mako with a table that is never read (`-XX:-UseHITTranslation`): an ablation that measures the cost of assigning
//! entries apart from the cost of translating through them.
//!
//! Objects are made as always, out of the same buffers: each takes an entry, its header holds the index, the entry
//! holds its place. But slots hold places, as in [`direct`](super::direct), so neither loads nor stores need
//! the table.
//!
//! Agents cannot trace such a heap, and a compaction as without the table would also have to write entries and to
//! find the free ones again: a collector of its own, for a switch that is an ablation. So nothing is
//! collected, as under Epsilon (JEP 318).

use super::Shared;
use super::allocation::Allocator;
use super::barriers::{MakoBarriers, Places};
use super::direct::{DirectBarriers, DirectCodec, Making};
use super::thread::MakoThread;
use crate::barrier::evaluated::Evaluated;
use crate::core::collector::{AllocRequest, Collector, CollectorParts};
use crate::core::heap_core::HeapCore;
use crate::core::inspection;
use crate::core::outcome::{AllocFailure, CollectCause};
use crate::object::ObjectRef;
use crate::object::codec::SlotCodec;
use crate::object::geometry::RegionId;
use crate::threads::mutator::Mutator;
use crate::threads::thread_data::ThreadData;
use std::sync::Arc;

/// Barriers and collector over a heap that was reserved for Mako.
pub fn build(shared: Arc<Shared>) -> CollectorParts {
    let places = Places::new(&shared.core, &shared.entries.geometry);
    let entries = MakoBarriers::new(shared.clone());
    let barriers =
        Box::new(Evaluated(DirectBarriers { making: Making::WithEntry(entries), places }));
    let core = shared.core.clone();
    let allocator = Allocator::new(shared);
    let collector = Arc::new(Assigned { core, allocator, codec: DirectCodec(places) });
    CollectorParts { barriers, collector }
}

struct Assigned {
    core: Arc<HeapCore>,
    allocator: Allocator,
    codec: DirectCodec,
}

impl Collector for Assigned {
    fn attached(&self, m: &Mutator) {
        self.allocator.attach(m, 0, 0);
    }

    fn detached(&self, m: &Mutator) {
        self.allocator.retire(m);
        MakoThread::detach(m);
    }

    fn allocate(&self, m: &Mutator, request: AllocRequest) -> Result<ObjectRef, AllocFailure> {
        self.allocator.allocate(m, request).ok_or(AllocFailure::HeapFull)
    }

    /// Collects nothing, but says what is there.
    fn collect(&self, m: Option<&Mutator>, _cause: CollectCause) {
        inspection::stop_and_serve(&self.core, m, self, self.codec.slot_bytes());
    }

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

    fn pool(&self) -> &'static str {
        "Mako"
    }

    fn title(&self) -> &'static str {
        "Mako without translation"
    }
}
