//! Semeru: G1's generations, whose old regions are traced on the memory servers, each on its own and all the time.
//! The baseline of the Mako paper (section 3.5), after its description there and in the paper of that name (OSDI
//! 2020).
//!
//! # The idea
//!
//! Everything that stops the world is [G1's](super::g1): young pauses, mixed pauses, full collections, remembered
//! sets, cards, barriers. Only liveness of old regions is found out differently:
//!
//! ```text
//!  VM                                            server of region r
//!  young pause: entrances of r are complete,
//!               roots into r are marked
//!  beside the program, region by region:
//!      write r's dirty pages back    ---------->  pages of r
//!      entrances + marks             ---------->  roots of r
//!      "trace r up to its top"       ---------->  agent marks what is reached from the roots
//!  threads overwrite references: logged ------->  more roots                  inside of r
//!  remark pause: the last of these  ----------->
//!                                    <----------  marks and live bytes of r
//! ```
//!
//! A region's *entrances* ([`RememberedSets::entrances`](super::g1::remembered::RememberedSets::entrances)) are the
//! objects in it that slots of other old or humongous regions refer to, or did. They make a region a piece
//! of work of its own: a reference that leaves a region is not followed, since its target is an entrance of
//! another. So agents need not know of each other, and none waits for another one.
//!
//! Tracing costs the VM little but the pages that it writes back, so it runs all the time: another round begins as
//! soon as old regions have grown by [`SemeruOptions::growth_percent`] and the sparse regions that the last one has
//! found have been moved.
//!
//! # Why nothing that lives is freed
//!
//! An object *o* of a region *r* is taken for dead if it was in *r* when the round began (the *snapshot*), and the
//! agent has not marked it. Say it was reachable then. Take a path to it, and its last step from outside into *r*, to
//! *e*:
//!
//! * From a thread, an off-heap slot or a young object: the pause that began the round has visited it (all young
//!   objects that live are copied by it) and marked *e*.
//! * From an old or humongous object that is not known to be dead: the slot was on a dirty card, or *e* was an
//!   entrance (G1's invariant *Books*, with entrances). The pause has looked at all dirty cards and noted the slots
//!   that it found. So *e* is an entrance.
//!
//! So *e* is a root. From *e* on the path stays in *r*. The pages of *r* that the agent reads were written back after
//! the pause, so each slot holds the reference that it held at the snapshot, or a newer one; then the former was
//! logged by the thread that first overwrote it, and is a root too. By induction *o* is marked. An object that was not
//! reachable at the snapshot cannot become so, except by weak references, and a thread that reads these logs the
//! referent. Pauses during the round write slots too, but only those that refer to young objects.
//!
//! Objects newer than the snapshot (promoted meanwhile, or allocated) are never taken for dead. Nothing of the
//! snapshot moves before the round ends: mixed pauses wait, and a full collection first notifies the agents that the
//! round is over, and continues when each has answered.
//!
//! An entrance always is the address of an object, so that an agent never takes anything else for one: a region's
//! entrances are forgotten before its objects move, and noted anew for those that something refers to.
//!
//! # What is conservative
//!
//! * An entrance stays one when the reference is gone, until its region's objects move or a full collection. So
//!   garbage that other regions have referred to floats; a cycle through two regions is found by full collections
//!   only. The Mako paper says the same of its Semeru: sets that grow stale, and full collections in the end (section
//!   3.5.1).
//! * Soft, weak, final and phantom references of old objects are strong for the agents: whether a referent in another
//!   region lives is not known. They are cleared when they move with their referents, or by full collections.
//! * A humongous object lives while it is an entrance.
//!
//! # What differs from the papers' Semeru
//!
//! * Pauses evacuate old regions in the VM, with G1's workers, over the network: the paper's memory servers take part
//!   in that.
//! * Roots are objects in bitmaps, not queues of references that the servers keep.
//! * Full collections are this process's work, as G1's.
//!
//! # Failures
//!
//! A server that is lost ends the VM, or with two copies of the heap ends the round ([`remote`]): nothing is freed by
//! it, and the next one begins when another server is in its place.
//!
//! `-XX:-SemeruOffloadTracing` has the same collector trace in the VM, with G1's marking: an ablation that measures
//! the effect of offloading.

mod remote;

use super::g1::elsewhere::Elsewhere;
use super::g1::{self, Variant};
use crate::agent::region_map::RegionMap;
use crate::core::collector::{CollectorParts, CollectorPlan};
use crate::core::heap_core::HeapCore;
use crate::memory::error::HeapError;
use crate::object::codec::SlotWidth;
use crate::object::geometry::Geometry;
use crate::options::{G1Options, SemeruOptions};
use remote::{Agents, Inbox};
use std::sync::Arc;

/// The needs of Semeru: bitmaps behind the object space, and agents.
pub struct Plan {
    /// `None`: nothing is offloaded. An error is one of the command line.
    map: Option<Result<RegionMap, String>>,
    object_bytes: usize,
}

impl Plan {
    pub fn new(geometry: &Geometry, servers: usize, options: SemeruOptions) -> Plan {
        // Of the right sizes: base and width of slots are known when the heap has its place.
        let map = || {
            RegionMap::new(geometry, servers, SlotWidth::Wide).ok_or_else(|| {
                format!("Semeru cannot divide this heap among {servers} memory servers")
            })
        };
        Plan { map: options.offload_tracing.then(map), object_bytes: geometry.heap_bytes() }
    }
}

impl CollectorPlan for Plan {
    fn side_bytes(&self) -> usize {
        match &self.map {
            Some(Ok(map)) => map.far_bytes() - self.object_bytes,
            _ => 0,
        }
    }

    /// All that is behind the object space.
    fn tables_bytes(&self) -> usize {
        self.side_bytes()
    }

    fn service(&self) -> Option<Arc<dyn rdma::Service>> {
        self.map.as_ref().map(|_| Arc::new(Inbox) as Arc<dyn rdma::Service>)
    }

    fn build(self: Box<Self>, core: Arc<HeapCore>) -> Result<CollectorParts, HeapError> {
        let elsewhere = match self.map {
            None => None,
            Some(Err(why)) => return Err(HeapError::Options(why)),
            Some(Ok(map)) => {
                let map = RegionMap::new(&core.geometry, map.servers(), core.slot_width)
                    .expect("the base is mapped");
                Some(Box::new(Agents::new(core.clone(), map)) as Box<dyn Elsewhere>)
            }
        };
        let variant = Variant {
            title: "Semeru",
            allocation_cause: "Semeru Evacuation Pause",
            concurrent_title: "Semeru Conc",
            beans: &["Semeru Young Generation", "Semeru Old Generation"],
            options: G1Options {
                initiating_percent: 0,
                adaptive_initiating: false,
                ..core.options.g1
            },
            growth_percent: core.options.semeru.growth_percent,
            is_lined: false,
            elsewhere,
        };
        Ok(g1::build(core, variant))
    }
}
