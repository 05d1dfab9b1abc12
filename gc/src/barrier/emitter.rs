//! How a compiler tier emits barriers: it implements [`Emitter`], which is object-safe, and the barrier set of the
//! heap writes each operation into it (`BarrierSet::emit_load` and its like).
//!
//! The emitter numbers the values of the code that it makes; to the barrier an [`Operand`] is only a name. Branches
//! are structured:
//!
//! ```text
//! branch(condition, then_is_cold)    begins the then-side
//!   ... instructions ...
//! otherwise(value)                   ends it, yielding `value`; begins the else-side
//!   ... instructions ...
//! join(value) -> operand             ends that, yielding `value`; the operand is the value of the side taken
//! ```
//!
//! They nest. Operands made before a branch may be used on both sides and after it, those made on a side only on that
//! side. Emitted code keeps plain addresses in registers across every [`SlowPath`](super::barrier_asm::SlowPath): none
//! of them reaches a stop-the-world safepoint.

use crate::barrier::barrier_asm::{BarrierAsm, Condition, Instructions};

/// A 64-bit value of the code that is being emitted, by the emitter's own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operand(pub u32);

/// Where barriers are emitted to. A call of [`Instructions::call`] becomes a call of
/// [`BarrierSet::slow_path`](crate::barrier::BarrierSet::slow_path) on the running thread.
pub trait Emitter: Instructions<Value = Operand> {
    /// Whether a condition holds, where that is known while code is emitted: then there is no branch, and of its sides
    /// only the one that is executed.
    fn truth(&self, condition: Condition<Operand>) -> Option<bool>;
    fn branch(&mut self, condition: Condition<Operand>, then_is_cold: bool);
    fn otherwise(&mut self, then_value: Operand);
    fn join(&mut self, else_value: Operand) -> Operand;
}

impl BarrierAsm for dyn Emitter + '_ {
    fn branch(
        &mut self,
        condition: Condition<Operand>,
        then_is_cold: bool,
        then: impl FnOnce(&mut Self) -> Operand,
        otherwise: impl FnOnce(&mut Self) -> Operand,
    ) -> Operand {
        match self.truth(condition) {
            Some(true) => return then(self),
            Some(false) => return otherwise(self),
            None => Emitter::branch(self, condition, then_is_cold),
        }
        let value = then(self);
        self.otherwise(value);
        let value = otherwise(self);
        self.join(value)
    }
}
