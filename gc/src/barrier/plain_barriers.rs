//! Barriers of stop-the-world collectors: slots hold addresses, and at most a store does something more.

use crate::barrier::BarrierSet;
use crate::barrier::barrier_asm::BarrierAsm;
use crate::barrier::barriers::{Barriers, Slot};
use crate::barrier::bump;
use crate::barrier::evaluated::Evaluated;
use crate::barrier::slot_form::{NarrowForm, SlotForm, WideForm};
use crate::object::KlassId;
use crate::object::codec::SlotWidth;
use crate::threads::mutator::Mutator;
use std::marker::PhantomData;

/// The bookkeeping of a collector after stores. It must keep the rules of
/// [`barrier_asm`](crate::barrier::barrier_asm).
pub trait AfterStore: Send + Sync + 'static {
    /// As [`Barriers::wrote`].
    fn wrote<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>, value: A::Value);

    /// As [`Barriers::wrote_range`].
    fn wrote_range(&self, object: u64, offset: usize, bytes: usize);
}

/// Nothing.
impl AfterStore for () {
    #[inline(always)]
    fn wrote<A: BarrierAsm + ?Sized>(&self, _a: &mut A, _slot: Slot<A::Value>, _value: A::Value) {}

    #[inline(always)]
    fn wrote_range(&self, _object: u64, _offset: usize, _bytes: usize) {}
}

/// See the module text.
struct PlainBarriers<F, S> {
    /// Threads have buffers.
    has_buffers: bool,
    after_store: S,
    form: PhantomData<F>,
}

/// The barrier set of a heap with slots of this width, whose threads have buffers or not; `after_store` is `()` where
/// there is no bookkeeping.
pub fn plain_barriers<S: AfterStore>(
    width: SlotWidth,
    has_buffers: bool,
    after_store: S,
) -> Box<dyn BarrierSet> {
    fn of<F: SlotForm>(has_buffers: bool, after_store: impl AfterStore) -> Box<dyn BarrierSet> {
        Box::new(Evaluated(PlainBarriers::<F, _> { has_buffers, after_store, form: PhantomData }))
    }
    match width {
        SlotWidth::Narrow => of::<NarrowForm>(has_buffers, after_store),
        SlotWidth::Wide => of::<WideForm>(has_buffers, after_store),
    }
}

impl<F: SlotForm, S: AfterStore> Barriers for PlainBarriers<F, S> {
    const SLOT_BYTES: usize = F::SLOT_BYTES;

    #[inline(always)]
    fn decode<A: BarrierAsm + ?Sized>(&self, a: &mut A, word: A::Value) -> A::Value {
        F::decode(a, word)
    }

    #[inline(always)]
    fn encode<A: BarrierAsm + ?Sized>(&self, a: &mut A, object: A::Value) -> A::Value {
        F::encode(a, object)
    }

    #[inline(always)]
    fn allocate<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        klass: KlassId,
        bytes: A::Value,
        length: Option<A::Value>,
    ) -> Option<A::Value> {
        self.has_buffers.then(|| bump::allocate(a, klass, bytes, length))
    }

    fn slow_path(&self, _m: &Mutator, id: u8, _arguments: [u64; 3]) -> u64 {
        unreachable!("plain barriers have no slow path {id}")
    }

    #[inline(always)]
    fn wrote<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>, value: A::Value) {
        self.after_store.wrote(a, slot, value)
    }

    #[inline(always)]
    fn wrote_range(&self, _m: &Mutator, object: u64, offset: usize, bytes: usize) {
        self.after_store.wrote_range(object, offset, bytes)
    }
}
