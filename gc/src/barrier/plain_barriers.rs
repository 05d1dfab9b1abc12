//! Barriers of stop-the-world collectors: slots hold addresses, no bookkeeping.

use crate::barrier::BarrierSet;
use crate::barrier::barrier_asm::BarrierAsm;
use crate::barrier::barriers::Barriers;
use crate::barrier::bump;
use crate::barrier::evaluated::Evaluated;
use crate::barrier::slot_form::{NarrowForm, SlotForm, WideForm};
use crate::object::KlassId;
use crate::object::codec::SlotWidth;
use crate::threads::mutator::Mutator;
use std::marker::PhantomData;

/// See the module text.
pub struct PlainBarriers<F> {
    /// Threads have buffers.
    has_buffers: bool,
    form: PhantomData<F>,
}

/// The barrier set of a heap with slots of this width, whose threads have buffers or not.
pub fn plain_barriers(width: SlotWidth, has_buffers: bool) -> Box<dyn BarrierSet> {
    fn of<F: SlotForm + Send + Sync + 'static>(has_buffers: bool) -> Box<dyn BarrierSet> {
        Box::new(Evaluated(PlainBarriers::<F> { has_buffers, form: PhantomData }))
    }
    match width {
        SlotWidth::Narrow => of::<NarrowForm>(has_buffers),
        SlotWidth::Wide => of::<WideForm>(has_buffers),
    }
}

impl<F: SlotForm> Barriers for PlainBarriers<F> {
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
}
