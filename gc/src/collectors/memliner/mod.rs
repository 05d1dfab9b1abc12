//! MemLiner: lets the tracers of a collector follow the program through memory (chapter 4 of the paper). A layer on
//! the concurrent marking of a collector that runs beside the program on this machine, G1's or Shenandoah's; it changes
//! the order in which objects are traced and nothing else.
//!
//! # The idea
//!
//! ```text
//!  thread --(barrier, while marking)--> its queue --+        1. touched objects, and objects
//!  thread --(barrier, while marking)--> its queue --+--------->  up to N hops from them
//!                                                   tracer
//!           slots of scanned objects: local? -- yes --------> 2. claimed, the collector's own stack
//!                        ^                   -- no  --------> 3. postponed
//!                        +------------------------------------------+
//! ```
//!
//! * **Touched objects** ([`touched`], [`queues`], [`barrier`]). While marking, each thread pushes the objects whose
//!   slots it reads or writes, the dereferenced object itself, to a queue of its own. They are in local memory
//!   now: to trace them costs no fault. Their referents are likely to be used soon, so tracers continue from them, up
//!   to `MemLinerMaxDepth` hops, as far as the pager finds these local.
//! * **Locality** ([`locality`]). Of all other objects, those that are estimated to be local are traced at once. By
//!   *residency* the pager is asked: in Farheap it is part of the process, and the question is one load. By *epoch*,
//!   as in the paper, references in slots say when they were used last ([`stamps`]), and the pager reports how fast
//!   local memory changes.
//! * **Postponed objects** ([`postponed`]). Remote objects are pushed back, hoping that the program touches them, up
//!   to as many times as the heap has time for; then they are traced even if they are remote, region by region.
//!
//! # Grey is not black
//!
//! An object of the snapshot is *white*, *postponed* or *claimed*. An object is claimed if the collector's marks say
//! so: the tracer that sets the mark scans the object, at once or from its own stack, and no other does. A postponed
//! object is not marked; a second bitmap keeps it from being postponed twice. So a thread that touches an object that
//! waits still pushes it (barriers look at the marks only), and a tracer that takes it from the queue claims it; when
//! its turn comes in the queue of postponed objects, it is dropped.
//!
//! # Every object is traced, and tracing ends
//!
//! *Complete*: a slot of a scanned object leads to an object that is claimed, or becomes claimed or postponed, by
//! [`Aligner::meet`](aligner::Aligner::meet). A claimed one is scanned by its tracer. A postponed one is in exactly one
//! tracer's queue, which returns it or drops it because it was claimed. A tracer is done only when its stack and
//! its queue are empty (it asserts so), and all are done when that holds of all of them
//! ([`Quiescence`](crate::threads::quiescence::Quiescence)). So in the end everything that is reachable from grey
//! objects is claimed. The queues of touched objects are no part of that: they may lose entries, be left full, or name
//! objects twice.
//!
//! *Finite*: (a) For a touched object, tracers either claim it or drop the entry. Objects of the snapshot are
//! claimed once; entries are taken in batches of those that lay in the queues when a tracer looked, and after a batch
//! with nothing to claim the other steps get their turn, however fast threads push. (b) Rounds look at a postponed
//! object `delays` times at most; objects that come after a round are traced, looked at or not. Delays are kept when a
//! tracer gives objects to another, which looks at each once more; it hands them over only to one that has nothing.
//!
//! *Safe*: entries are plain addresses. Only objects of the snapshot are pushed, and these do not move before
//! marking ends or is aborted, both with the world stopped; then the queues are cleared. A tracer takes entries only
//! while it may look at objects.
//!
//! # What a collector must do
//!
//! Keep each thread's phase in [`barrier::WORD_PHASE`], call [`barrier::touch`] in its barriers, with a stub that hands
//! the object to [`barrier::TOUCHED`], hand [`barrier::TOUCHED`] to [`MemLiner::touched`],
//! [`refresh`](MemLiner::refresh) threads when the phase changes and now and then, implement [`Marks`], have each
//! tracer ask its [`Aligner`] first, and [`clear`](MemLiner::clear) the queues when marking ends. A tracer that is
//! interrupted hands back what its aligner [gives up](Aligner::give_up). With the world stopped tracers need no
//! aligner: no thread touches anything, and there is nothing to wait for.
//!
//! # What differs from the paper
//!
//! * Barriers see accesses to reference fields and elements; there are none on other fields. An object without
//!   slots needs no tracing beyond its mark, and others are found as soon as one of their references is used.
//! * Postponed objects are in the queue once each, by regions, and are traced region by region when nothing else is
//!   left (see [`mark_stack`](crate::tracing::mark_stack)): the baseline traces so too. They are not looked at again
//!   and again while the program fetches nothing; the paper's tracers have CPUs of their own to wait on.
//! * A full queue of touched objects takes none (`-XX:+MemLinerOverwrite`: loses the oldest), and a thread that touches
//!   traced objects only stops reporting. It checks whether it may resume when it fetches an allocation buffer.
//! * Objects near a touched one are traced at once only if they are estimated to be local
//!   (`-XX:+MemLinerExploreRemote`: even if they are remote, so that tracing fetches them for the program). A touched
//!   object that was evicted meanwhile waits for its turn.
//! * Residency is the default. The paper's estimator needs no kernel to be asked, and pays with every reference.
//! * A loaded reference gets its stamp in the slot that it was loaded from, by compare-and-exchange: a plain store
//!   would undo the stores of other threads. The reference to the object of the slot lies in a register, which holds
//!   no stamps.
//! * Epochs reach a thread when it fetches an allocation buffer, and in pauses.
//! * Nothing is explored from wide objects (`MemLinerMaxWidth`). The paper's recursion has no such limit, and three
//!   hops from an array of arrays of nodes were the whole heap: with GraphChurn at 25 % local memory, 150 touched
//!   objects led to 1,500,000, and marking had as many faults as G1's.
//! * An object that was claimed already is not explored from once more.
//! * Shenandoah's evacuation competes with the program as marking does; the paper names that as unsolved (section
//!   4.5). Ours asks where objects are ([`MemLiner::is_all_local`]) and copies those in local memory first
//!   (`-XX:-MemLinerTwoPhaseEvacuation`). The pager is asked with any estimator: an object has no stamp.

mod aligner;
pub mod barrier;
mod locality;
mod postponed;
mod queues;
mod stamps;
mod touched;

pub use aligner::{Aligner, Marks};
pub use postponed::Waiting;
pub use stamps::{AddressCodec, Readdress, stamp_of};
pub use touched::TouchedQueue;

use crate::core::heap_core::HeapCore;
use crate::object::ObjectRef;
use crate::options::{Estimator, MemLinerOptions};
use crate::threads::mutator::Mutator;
use locality::Locality;
use queues::Queues;
use std::sync::Arc;

/// The state that threads and tracers of one heap share.
pub struct MemLiner {
    core: Arc<HeapCore>,
    queues: Queues,
    locality: Locality,
}

impl MemLiner {
    pub fn new(core: Arc<HeapCore>) -> MemLiner {
        let options = &core.options.memliner;
        MemLiner {
            queues: Queues::new(options.queue_length, options.overwrite),
            locality: Locality::new(core.clone()),
            core,
        }
    }

    pub fn options(&self) -> &MemLinerOptions {
        &self.core.options.memliner
    }

    /// The queue of a thread that attaches.
    pub fn add_queue(&self) -> Arc<TouchedQueue> {
        self.queues.add()
    }

    /// Of one that detaches.
    pub fn remove_queue(&self, queue: &Arc<TouchedQueue>) {
        self.queues.remove(queue);
    }

    /// Slow path [`barrier::TOUCHED`]: on the thread itself, with its queue.
    #[inline]
    pub fn touched(
        &self,
        m: &Mutator,
        queue: &TouchedQueue,
        object: ObjectRef,
        marks: &impl Marks,
    ) {
        let address = object.address() as u64;
        if m.words[barrier::WORD_LAST].get() != address && marks.is_white(object) {
            m.words[barrier::WORD_LAST].set(address);
            queue.push(address);
            self.queues.note_push();
        } else {
            queue.touched_in_vain();
        }
        if queue.is_full() {
            m.words[barrier::WORD_PHASE].update(|phase| phase & !barrier::TELLING);
        }
    }

    /// Whether references in slots have stamps.
    pub fn stamps(&self) -> bool {
        self.options().estimator == Estimator::Epoch
    }

    /// The stamp that a collector writes beside addresses now.
    pub fn stamp(&self) -> u64 {
        if self.stamps() { self.locality.stamp() } else { 0 }
    }

    /// Gives a thread the current epoch, adds up its counters, and has it report the objects that it touches while
    /// marking. On the thread itself, outside of barriers, or in a pause or handshake.
    pub fn refresh(&self, m: &Mutator, queue: Option<&TouchedQueue>) {
        queue.inspect(|queue| barrier::refresh(m, queue));
        if self.stamps() {
            m.words[barrier::WORD_STAMP].set(self.locality.stamp());
            let restamped = m.words[barrier::WORD_RESTAMPED].replace(0);
            if restamped > 0 {
                self.count([("memliner_restamped", restamped)]);
            }
        }
    }

    /// Whether to copy an object now causes no fault.
    pub fn is_all_local(&self, object: ObjectRef) -> bool {
        self.locality.is_all_here(object)
    }

    /// Marking is over, one way or the other. World stopped, no tracer at work.
    pub fn clear(&self) {
        self.queues.clear();
    }

    /// Whether no thread has reported anything.
    pub fn is_clear(&self) -> bool {
        self.queues.waiting() == 0
    }

    fn count<const N: usize>(&self, counts: [(&'static str, u64); N]) {
        counts.into_iter().for_each(|(name, amount)| self.core.stats.count(name, amount));
    }
}
