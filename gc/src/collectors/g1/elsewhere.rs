//! Markings that are not traced by threads of this process, but next to the memory: Semeru's.

use super::gate::Gate;
use super::marking::Marking;
use super::tables::Tables;
pub use crate::collectors::sessions::Lost;
use crate::object::ObjectRef;

/// Who traces for markings. Only what stays within a region is followed: the
/// [entrances](super::remembered::RememberedSets::entrances) of all regions are taken for alive. References are all
/// taken for strong, so none is discovered.
pub trait Elsewhere: Send + Sync {
    /// A marking has begun: its snapshot is in the tables, and the objects of it are marked that roots and young
    /// objects refer to. By the marker thread, outside of the gate, with the program running; may wait for a moment,
    /// but not while the collector `is_stopping`. False: nobody traces elsewhere now, and
    /// [`trace`](Self::trace) must not be called for this marking.
    fn begin(&self, is_stopping: &dyn Fn() -> bool) -> bool;

    /// Completes the closure of what is marked, so that afterwards all is marked that lives of the snapshot, except
    /// for what is logged meanwhile. By the marker thread; returns early if the marking is aborted. An error:
    /// somebody is lost, and nothing that was found counts.
    fn trace(&self, tracing: Tracing<'_>) -> Result<(), Lost>;

    /// The marking will not go on. In a pause, with the gate closed, by any thread; when it returns, nobody reads the
    /// heap any more.
    fn abort(&self);
}

/// One tracing. A marking has several, the last one in a pause.
pub struct Tracing<'a> {
    pub tables: &'a Tables,
    /// What is done to marks and asked of agents is done inside, after a look at `is_aborted`. `None`: in the last
    /// tracing, world stopped.
    pub gate: Option<&'a Gate>,
    pub marking: &'a Marking,
    /// Marked since the last tracing.
    pub grey: Vec<ObjectRef>,
    /// The last tracing sets it: bytes of what is marked by region.
    pub live_bytes: &'a mut [usize],
}

impl Tracing<'_> {
    /// Whether what is found does not count. In a pause it does: who stops the collector waits for the pause's end.
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
