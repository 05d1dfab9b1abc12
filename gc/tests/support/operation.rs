//! The barrier operations, to be emitted and to be evaluated.

#![allow(dead_code)]

use gc::barrier::BarrierSet;
use gc::barrier::emitter::{Emitter, Operand};
use gc::object::{ObjectRef, RootSlot};
use gc::options::Configuration;
use gc::threads::mutator::Mutator;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Load,
    Store,
    StoreInitial,
    CompareExchange,
    Swap,
    LoadReferent,
    LoadRoot,
}

impl Operation {
    pub const ALL: [Operation; 7] = [
        Operation::Load,
        Operation::Store,
        Operation::StoreInitial,
        Operation::CompareExchange,
        Operation::Swap,
        Operation::LoadReferent,
        Operation::LoadRoot,
    ];

    /// Inputs: object (of roots: the slot's address), offset, two values.
    pub fn emit(
        self,
        b: &dyn BarrierSet,
        e: &mut dyn Emitter,
        [object, offset, value, other]: [Operand; 4],
    ) -> Option<Operand> {
        match self {
            Operation::Load => Some(b.emit_load(e, object, offset)),
            Operation::Store => {
                b.emit_store(e, object, offset, value);
                None
            }
            Operation::StoreInitial => {
                b.emit_store_initial(e, object, offset, value);
                None
            }
            Operation::CompareExchange => {
                Some(b.emit_compare_exchange(e, object, offset, other, value))
            }
            Operation::Swap => Some(b.emit_swap(e, object, offset, value)),
            Operation::LoadReferent => Some(b.emit_load_referent(e, object, offset)),
            Operation::LoadRoot => Some(b.emit_load_root(e, object)),
        }
    }

    pub fn evaluate(self, b: &dyn BarrierSet, m: &Mutator, at: &Arguments) -> ObjectRef {
        let Arguments { object, offset, value, other, .. } = *at;
        match self {
            Operation::Load => b.load(m, object, offset),
            Operation::Store => {
                b.store(m, object, offset, value);
                ObjectRef::NULL
            }
            Operation::StoreInitial => {
                b.store_initial(m, object, offset, value);
                ObjectRef::NULL
            }
            Operation::CompareExchange => {
                b.compare_exchange(m, object, offset, other, value).err().unwrap_or(other)
            }
            Operation::Swap => b.swap(m, object, offset, value),
            Operation::LoadReferent => b.load_referent(m, object, offset),
            Operation::LoadRoot => b.load_root(m, at.root),
        }
    }

    pub fn keeps(self) -> bool {
        !matches!(self, Operation::Load | Operation::StoreInitial | Operation::LoadRoot)
    }

    /// Whether it takes a slow path, a leaf, while objects are evacuated. Collectors ask for objects of regions that
    /// are moving, of which there are none in this test; but Shenandoah has a slot healed before it is compared.
    pub fn heals(self, kind: Configuration) -> bool {
        kind.collector.is_shenandoah() && matches!(self, Operation::CompareExchange)
    }

    pub fn stores(self) -> bool {
        !matches!(self, Operation::Load | Operation::LoadReferent | Operation::LoadRoot)
    }
}

/// The arguments of one operation.
pub struct Arguments<'a> {
    pub object: ObjectRef,
    pub offset: usize,
    pub value: ObjectRef,
    pub other: ObjectRef,
    pub root: &'a RootSlot,
}
