//! The seam between mutators and collectors: every access to a slot goes through a [`BarrierSet`].
//!
//! Contract, for every method:
//! * Called by the thread that owns `m`, in the running state (not between `enter_safe` and `leave_safe`).
//! * Offsets are bytes from the object's header. Objects are non-null plain addresses; values may be null.
//! * Loads have acquire, stores release order, and words never tear. `volatile` stores (JLS 17.4) add a
//!   sequentially consistent fence in the caller; compare-and-set and swap are sequentially consistent already.
//! * **No barrier reaches a stop-the-world safepoint**, so plain addresses held by the caller stay valid
//!   across it. A load may wait (Mako: for the evacuation of one region on a memory server); while it waits
//!   the thread answers handshakes but holds up pauses, so the wait is bounded by the work on one region.
//! * Compare-and-set, swap, array copy, clone, weak loads and initialising stores are operations of their
//!   own: never compose them from load and store.
//!
//! The interpreter and natives call the methods; a compiler tier has the same operations emitted into its code
//! (`emit_...`), from the one place where the collector writes them ([`crate::barrier::barrier_asm`]).

pub mod barrier_asm;
pub mod barriers;
pub(crate) mod bump;
pub mod emitter;
pub(crate) mod eval;
pub(crate) mod evaluated;
pub mod plain_barriers;
pub(crate) mod satb;
pub(crate) mod slot_form;

use crate::barrier::barrier_asm::Stub;
use crate::barrier::emitter::{Emitter, Operand};
use crate::object::{KlassId, ObjectRef, RootSlot};
use crate::threads::mutator::Mutator;

/// The barriers and the codec of one collector. See the module text for the contract.
pub trait BarrierSet: Send + Sync {
    /// Width of a heap slot in bytes: 4 or 8. Fixed for the life of the heap.
    fn slot_bytes(&self) -> usize;
    /// A value of a header between 1 and this is the object's entry index; any other value says that `Heap::entry`
    /// must be asked. 0: the value is the VM's. Fixed for the life of the heap.
    fn entry_max(&self) -> u32;

    fn load(&self, m: &Mutator, object: ObjectRef, offset: usize) -> ObjectRef;
    fn store(&self, m: &Mutator, object: ObjectRef, offset: usize, value: ObjectRef);
    /// First store to a slot of an object that no other thread has seen and that held null.
    fn store_initial(&self, m: &Mutator, object: ObjectRef, offset: usize, value: ObjectRef);
    /// `Ok(())` when the slot held `expected` and now holds `new`; otherwise the reference that it held.
    fn compare_exchange(
        &self,
        m: &Mutator,
        object: ObjectRef,
        offset: usize,
        expected: ObjectRef,
        new: ObjectRef,
    ) -> Result<(), ObjectRef>;
    fn swap(&self, m: &Mutator, object: ObjectRef, offset: usize, value: ObjectRef) -> ObjectRef;

    /// `Reference.get`: the referent, kept alive by the running cycle from now on.
    fn load_referent(&self, m: &Mutator, reference: ObjectRef, offset: usize) -> ObjectRef;
    /// `Reference.refersTo`, `clear`: compares without keeping the referent alive.
    fn referent_is(
        &self,
        m: &Mutator,
        reference: ObjectRef,
        offset: usize,
        other: ObjectRef,
    ) -> bool;
    /// Clears the referent without the effects of a mutator's overwrite (`Reference.clear0`).
    fn clear_referent(&self, m: &Mutator, reference: ObjectRef, offset: usize);

    /// Copies `length` reference elements, as if through a temporary array when the arrays are one. The offsets are of
    /// the first elements. All are in range and assignable: the caller checked.
    fn copy_array(
        &self,
        m: &Mutator,
        from: ObjectRef,
        from_offset: usize,
        to: ObjectRef,
        to_offset: usize,
        length: usize,
    );
    /// Fills `copy` (new, same class, same length, unpublished) with the fields or elements of `original`,
    /// headers excluded. `bytes` is the aligned object size.
    fn clone_contents(&self, m: &Mutator, original: ObjectRef, copy: ObjectRef, bytes: usize);

    fn load_root(&self, m: &Mutator, slot: &RootSlot) -> ObjectRef;
    fn store_root(&self, m: &Mutator, slot: &RootSlot, value: ObjectRef);
    /// Reads a weak slot (weak global handle, interned string); the object is kept alive by the running cycle.
    fn load_weak_root(&self, m: &Mutator, slot: &RootSlot) -> ObjectRef;

    /// Allocates a zeroed object from the thread's buffers, its header filled; null when they have too little.
    /// `bytes` is the aligned size, at least 16; `length` is for arrays. Reaches no safepoint: the step after a
    /// failure, which is one, is up to [`Heap::allocate`](crate::heap::Heap::allocate).
    fn allocate(&self, m: &Mutator, klass: KlassId, bytes: usize, length: Option<u32>)
    -> ObjectRef;

    // The same operations as instructions of a compiler tier. Emitted code runs on the thread that owns the
    // block, in the running state, any number of times, and in any order with the methods above.

    fn emit_load(&self, e: &mut dyn Emitter, object: Operand, offset: Operand) -> Operand;
    fn emit_store(&self, e: &mut dyn Emitter, object: Operand, offset: Operand, value: Operand);
    fn emit_store_initial(
        &self,
        e: &mut dyn Emitter,
        object: Operand,
        offset: Operand,
        value: Operand,
    );
    /// Yields the previous value of the slot: the exchange took place exactly if that is `expected`.
    fn emit_compare_exchange(
        &self,
        e: &mut dyn Emitter,
        object: Operand,
        offset: Operand,
        expected: Operand,
        new: Operand,
    ) -> Operand;
    fn emit_swap(
        &self,
        e: &mut dyn Emitter,
        object: Operand,
        offset: Operand,
        value: Operand,
    ) -> Operand;
    fn emit_load_referent(
        &self,
        e: &mut dyn Emitter,
        reference: Operand,
        offset: Operand,
    ) -> Operand;
    /// `slot` is the address of a [`RootSlot`].
    fn emit_load_root(&self, e: &mut dyn Emitter, slot: Operand) -> Operand;

    /// Yields the new object, or 0: then the code must call `Heap::allocate`, which is a safepoint and no part of
    /// the emitted code. `None`, and nothing is emitted, if it must do so always. `bytes` is the aligned size, at
    /// least 16, and may be larger than any object.
    fn emit_allocate(
        &self,
        e: &mut dyn Emitter,
        klass: KlassId,
        bytes: Operand,
        length: Option<Operand>,
    ) -> Option<Operand>;

    /// How many stubs the other operations call, where they are emitted.
    fn stubs(&self) -> u8;
    /// Yields the value of the stub. It calls no other one.
    fn emit_stub(&self, e: &mut dyn Emitter, stub: Stub, arguments: [Operand; 3]) -> Operand;

    /// Carries out the slow path that emitted code calls by its `id`. On the thread itself, running; reaches no
    /// stop-the-world safepoint, and waits only if the path is no leaf.
    fn slow_path(&self, m: &Mutator, id: u8, arguments: [u64; 3]) -> u64;
}
