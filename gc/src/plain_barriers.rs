//! Barriers of stop-the-world collectors: eight-byte slots that hold plain addresses, no bookkeeping.

use crate::barrier_asm::BarrierAsm;
use crate::barriers::Barriers;
use crate::bump;
use crate::mutator::Mutator;
use crate::object::KlassId;
use crate::options::HeapOptions;

/// See the module text.
pub struct PlainBarriers {
    /// Threads have buffers.
    has_buffers: bool,
}

impl PlainBarriers {
    pub fn new(options: &HeapOptions) -> PlainBarriers {
        PlainBarriers { has_buffers: !options.zeal() }
    }
}

impl Barriers for PlainBarriers {
    const SLOT_BYTES: usize = 8;

    #[inline(always)]
    fn decode<A: BarrierAsm + ?Sized>(&self, _a: &mut A, word: A::Value) -> A::Value {
        word
    }

    #[inline(always)]
    fn encode<A: BarrierAsm + ?Sized>(&self, _a: &mut A, object: A::Value) -> A::Value {
        object
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
