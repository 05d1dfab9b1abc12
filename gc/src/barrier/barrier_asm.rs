//! A barrier is written once, against the small assembler [`BarrierAsm`], and is both run and emitted.
//!
//! ```text
//!   collectors/*/barriers.rs          Barriers: each operation, generic over BarrierAsm
//!                 |
//!                 +-- Eval            runs it at once: the interpreter, natives      (eval.rs)
//!                 +-- dyn Emitter     a compiler tier, which `gc` does not know      (emitter.rs)
//! ```
//!
//! Operations that compiled code never inlines (array copies, clones) are plain Rust.
//!
//! Rules for the generic operations: no loops, no state outside values; constants of the heap (bases, shifts) may be
//! baked in, phases and epochs are read from the thread block with [`Instructions::thread_word`]; rare cases go
//! through [`BarrierAsm::when`] into a [`SlowPath`].

use crate::threads::mutator::ThreadField;

/// The straight-line instructions of barriers. Values are 64 bits wide; addresses are plain.
pub trait Instructions {
    type Value: Copy;

    fn constant(&mut self, value: u64) -> Self::Value;

    /// A word of the calling thread's block. Unordered: no other thread writes it while this one runs.
    fn thread_field(&mut self, field: ThreadField) -> Self::Value;
    fn set_thread_field(&mut self, field: ThreadField, value: Self::Value);

    /// Word `index` of the collector's words in the calling thread's block.
    #[inline(always)]
    fn thread_word(&mut self, index: usize) -> Self::Value {
        self.thread_field(ThreadField::word(index))
    }

    /// Loads with acquire, zero-extended; stores with release.
    fn load32(&mut self, base: Self::Value, offset: Self::Value) -> Self::Value;
    fn load64(&mut self, base: Self::Value, offset: Self::Value) -> Self::Value;
    fn store32(&mut self, base: Self::Value, offset: Self::Value, value: Self::Value);
    fn store64(&mut self, base: Self::Value, offset: Self::Value, value: Self::Value);

    /// Of a byte outside the heap, such as a card. Unordered.
    fn load8(&mut self, base: Self::Value, offset: Self::Value) -> Self::Value;
    fn store8(&mut self, base: Self::Value, offset: Self::Value, value: Self::Value);

    /// Sequentially consistent; the result is the previous value of the word (compare-exchange: stored if that is
    /// `expected`).
    fn compare_exchange32(
        &mut self,
        base: Self::Value,
        offset: Self::Value,
        expected: Self::Value,
        new: Self::Value,
    ) -> Self::Value;
    fn compare_exchange64(
        &mut self,
        base: Self::Value,
        offset: Self::Value,
        expected: Self::Value,
        new: Self::Value,
    ) -> Self::Value;
    fn swap32(&mut self, base: Self::Value, offset: Self::Value, value: Self::Value)
    -> Self::Value;
    fn swap64(&mut self, base: Self::Value, offset: Self::Value, value: Self::Value)
    -> Self::Value;

    fn add(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    fn sub(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    fn and(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    fn or(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    fn shift_left(&mut self, a: Self::Value, bits: u8) -> Self::Value;
    fn shift_right(&mut self, a: Self::Value, bits: u8) -> Self::Value;

    /// Word `index` of a table of 32-bit words.
    #[inline(always)]
    fn table_word(&mut self, table: Self::Value, index: Self::Value) -> Self::Value {
        let at = self.shift_left(index, 2);
        self.load32(table, at)
    }

    /// Word `index` of a table of 64-bit words.
    #[inline(always)]
    fn table_long(&mut self, table: Self::Value, index: Self::Value) -> Self::Value {
        let at = self.shift_left(index, 3);
        self.load64(table, at)
    }

    /// When a word has one of these bits.
    #[inline(always)]
    fn has_bits(&mut self, word: Self::Value, bits: u64) -> Condition<Self::Value> {
        let bits = self.constant(bits);
        let (test, zero) = (self.and(word, bits), self.constant(0));
        Condition::NotEqual(test, zero)
    }

    /// Says that `word` encodes the plain address `object` until the next safepoint, 0 exactly if that is 0.
    #[inline(always)]
    fn note_word(&mut self, _object: Self::Value, _word: Self::Value) {}

    /// The noted word, if the implementation that runs or emits this keeps notes.
    #[inline(always)]
    fn noted_word(&mut self, _object: Self::Value) -> Option<Self::Value> {
        None
    }

    /// Calls [`Barriers::slow_path`](crate::barrier::barriers::Barriers::slow_path).
    /// At most [`ARGUMENTS_MAX`] arguments; those that are not given have any value.
    fn call(&mut self, path: SlowPath, arguments: &[Self::Value]) -> Self::Value;

    /// Does what [`Barriers::stub`](crate::barrier::barriers::Barriers::stub) says. Emitted code calls a copy of it.
    /// Arguments as for `call`.
    fn call_stub(&mut self, stub: Stub, arguments: &[Self::Value]) -> Self::Value;
}

/// Arguments of slow paths and stubs.
pub const ARGUMENTS_MAX: usize = 3;

/// Instructions and branches.
pub trait BarrierAsm: Instructions {
    /// `then()` when the condition holds, else `otherwise()`. If it holds rarely (`then_is_cold`), its code is laid
    /// out of line.
    fn branch(
        &mut self,
        condition: Condition<Self::Value>,
        then_is_cold: bool,
        then: impl FnOnce(&mut Self) -> Self::Value,
        otherwise: impl FnOnce(&mut Self) -> Self::Value,
    ) -> Self::Value;

    /// `cold()` when the condition holds, which is rare, else `usual`.
    #[inline(always)]
    fn when(
        &mut self,
        condition: Condition<Self::Value>,
        usual: Self::Value,
        cold: impl FnOnce(&mut Self) -> Self::Value,
    ) -> Self::Value {
        self.branch(condition, true, cold, |_| usual)
    }

    /// `then()` when the condition holds, else `otherwise()`; neither is cold.
    #[inline(always)]
    fn select(
        &mut self,
        condition: Condition<Self::Value>,
        then: impl FnOnce(&mut Self) -> Self::Value,
        otherwise: impl FnOnce(&mut Self) -> Self::Value,
    ) -> Self::Value {
        self.branch(condition, false, then, otherwise)
    }
}

/// The condition that a branch tests, of unsigned numbers.
#[derive(Clone, Copy, Debug)]
pub enum Condition<V> {
    Equal(V, V),
    NotEqual(V, V),
    Below(V, V),
    /// Bit 31 is set.
    Sign32(V),
}

impl Condition<u64> {
    /// Tests numbers.
    #[inline(always)]
    pub fn holds(self) -> bool {
        match self {
            Condition::Equal(a, b) => a == b,
            Condition::NotEqual(a, b) => a != b,
            Condition::Below(a, b) => a < b,
            Condition::Sign32(a) => (a as i32) < 0,
        }
    }
}

/// Names a stub of a collector: instructions that a compiler tier emits once, not wherever they are needed, since they
/// run in some phases only. Such code is as quick as any, and no method takes longer to compile for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stub {
    /// Counts the stubs of a heap, from 0.
    pub id: u8,
}

/// Names a slow path of a collector. None reaches a stop-the-world safepoint: a caller keeps plain
/// addresses in registers across it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowPath {
    /// Distinguishes the collector's slow paths.
    pub id: u8,
    /// Bounded and without waiting; otherwise it may wait as `BarrierSet` allows.
    pub is_leaf: bool,
}
