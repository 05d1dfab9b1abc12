//! Markings that are not traced by threads of this process, but next to the memory: Semeru's.

use super::gate::Gate;
use super::marking::Marking;
use super::tables::Tables;
pub use crate::collectors::sessions::Lost;
use crate::object::ObjectRef;

/// A tracer of markings outside of the VM. Only references within a region are followed: the
/// [entrances](super::remembered::RememberedSets::entrances) of all regions are taken for alive. References are all
/// taken for strong, so none is discovered.
pub trait Elsewhere: Send + Sync {
    /// A marking has begun: its snapshot is in the tables, and the objects of it are marked that roots and young
    /// objects refer to. By the marker thread, outside of the gate, with the program running; may wait for a moment,
    /// but not while the collector `is_stopping`. False: no agents are available now, and [`trace`](Self::trace) must
    /// not be called for this marking.
    fn begin(&self, is_stopping: &dyn Fn() -> bool) -> bool;

    /// Completes the closure of marked objects, so that afterwards all live objects of the snapshot are marked, except
    /// for those that are logged meanwhile. By the marker thread; returns early if the marking is aborted. An error:
    /// a memory server is lost, and no result counts.
    fn trace(&self, tracing: Tracing<'_>) -> Result<(), Lost>;

    /// The marking will not continue. In a pause, with the gate closed, by any thread; when it returns, no agent reads
    /// the heap any more.
    fn abort(&self);

    /// As [`Collector::server_metadata`](crate::core::collector::Collector::server_metadata).
    fn table_bytes(&self) -> Vec<(&'static str, usize)>;
}

/// One tracing. A marking has several, the last one in a pause.
pub struct Tracing<'a> {
    pub tables: &'a Tables,
    /// Changes of marks and requests to agents are made inside, after a look at `is_aborted`. `None`: in the last
    /// tracing, world stopped.
    pub gate: Option<&'a Gate>,
    pub marking: &'a Marking,
    /// Marked since the last tracing.
    pub grey: Vec<ObjectRef>,
    /// The last tracing sets it: marked bytes by region.
    pub live_bytes: &'a mut [usize],
}

impl Tracing<'_> {
    /// Whether the results do not count. In a pause they do: a thread that stops the collector waits for the pause's
    /// end.
    pub fn is_aborted(&self) -> bool {
        self.gate.is_some() && self.marking.is_aborted()
    }

    /// Does something that no pause may come between, unless the marking is aborted.
    pub fn inside<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        let Some(gate) = self.gate else { return Some(f()) };
        gate.enter();
        let result = (!self.is_aborted()).then(f);
        gate.leave();
        result
    }
}
