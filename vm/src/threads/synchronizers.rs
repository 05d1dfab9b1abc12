//! The ownable synchronizers that threads hold: the locks of `java.util.concurrent`
//! (`AbstractOwnableSynchronizer`). Nothing but a walk over the heap finds them.

use crate::machine::JavaThread;
use crate::runtime::{Handle, KlassRef, object};
use classfile::symbol::Symbol;
use gc::core::inspection::{Inspector, Objects, StoppedHeap};
use gc::core::outcome::CollectCause;
use gc::object::ObjectRef;

/// A synchronizer with the number (`Thread.getId`) of the thread that holds it.
#[derive(Clone, Copy)]
pub struct Held {
    pub synchronizer: Handle,
    pub owner: i64,
}

/// Calls `look` while the world is stopped, and finds the synchronizers that are held at that moment. Runs a full
/// cycle, which is a safepoint. The world is stopped while the whole heap is walked. `None`: the collector has ended.
pub fn held<L: Look>(t: &JavaThread, look: L) -> Option<(L, Vec<Held>)> {
    debug_assert!(std::ptr::eq(t, JavaThread::current()));
    let finder = Finder { t: JavaThread::current(), look, wanted: None, held: Vec::new() };
    let found = t.vm.heap.inspect(&t.mutator, CollectCause::HeapInspection, finder)?;
    Some((found.look, found.held))
}

/// Looks at something else in the same pause.
pub trait Look: 'static {
    /// `t` is the thread that asked. It is stopped, and handles may be made for it.
    fn look(&mut self, t: &JavaThread, heap: &StoppedHeap<'_>);
}

struct Finder<L> {
    /// The thread that asked.
    t: &'static JavaThread,
    look: L,
    /// The class, and the offset of the owner's field; `None` before the class is loaded.
    wanted: Option<(KlassRef, usize)>,
    held: Vec<Held>,
}

// SAFETY: the collector's thread has it while the thread that asked is stopped, to which all handles in it belong; the
// lock around it orders the two.
unsafe impl<L: Look> Send for Finder<L> {}

impl<L: Look> Inspector for Finder<L> {
    fn begin(&mut self, heap: &StoppedHeap<'_>) {
        let class = Symbol::of("java/util/concurrent/locks/AbstractOwnableSynchronizer");
        let (name, ty) = (Symbol::of("exclusiveOwnerThread"), Symbol::of("Ljava/lang/Thread;"));
        self.wanted = self.t.vm.boot_loader.find(class).and_then(|klass| {
            let field = klass.declared_field(name, ty)?;
            Some((klass, field.offset as usize))
        });
        self.look.look(self.t, heap);
    }

    fn object(&mut self, objects: &Objects<'_>, object: ObjectRef) {
        let Some((wanted, offset)) = self.wanted else { return };
        let is_wanted = |klass: KlassRef| klass.is_subtype_of(wanted);
        if !self.t.vm.klasses.find(object.klass()).is_some_and(is_wanted) {
            return;
        }
        let owner = objects.load(object, offset);
        if !owner.is_null() {
            let owner = object::get(owner, self.t.vm.known.fields.thread_tid());
            self.held.push(Held { synchronizer: self.t.root(object), owner });
        }
    }
}
