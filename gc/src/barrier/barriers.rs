//! The part of its barriers that a collector writes, and the part that is derived from it.
//!
//! A collector says how references are encoded in slots and which of them must be reported to its running cycle; the
//! operations are the same for all collectors that need no more. A collector that does overrides them.

use crate::barrier::barrier_asm::{BarrierAsm, Condition, Instructions, SlowPath, Stub};
use crate::barrier::eval::Eval;
use crate::object::{HEADER_BYTES, KlassId};
use crate::threads::mutator::Mutator;

/// The codec and the barriers of one collector. The contract of each operation is that of
/// [`BarrierSet`](crate::barrier::BarrierSet); code that is generic over [`BarrierAsm`] must keep the rules of that
/// module.
pub trait Barriers: Send + Sync + Sized {
    /// Width of slots: 4 or 8.
    const SLOT_BYTES: usize;

    /// As [`BarrierSet::entry_max`](crate::barrier::BarrierSet::entry_max).
    fn entry_max(&self) -> u32 {
        0
    }

    /// The plain address of an encoded word, 0 for 0. May make the object's address fit for use.
    fn decode<A: BarrierAsm + ?Sized>(&self, a: &mut A, word: A::Value) -> A::Value;

    /// The encoded word of a plain address, 0 for 0.
    fn encode<A: BarrierAsm + ?Sized>(&self, a: &mut A, object: A::Value) -> A::Value;

    /// The condition under which references that are overwritten or read from weak places must be reported to the
    /// running cycle, and the leaf that reports an encoded word. `None`: never.
    fn keeps<A: BarrierAsm + ?Sized>(&self, _a: &mut A) -> Option<Keeping<A::Value>> {
        None
    }

    /// Makes an object in the thread's buffers, 0 if they have too little memory; `None` when every allocation must
    /// call the collector.
    fn allocate<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        klass: KlassId,
        bytes: A::Value,
        length: Option<A::Value>,
    ) -> Option<A::Value>;

    /// The number of the collector's own stubs. Their ids begin after [`KEEP`]'s.
    const STUBS: u8 = 0;

    /// The action of one of the collector's own stubs. It calls no other one.
    #[inline(always)]
    fn stub<A: BarrierAsm + ?Sized>(
        &self,
        _a: &mut A,
        stub: Stub,
        _arguments: [A::Value; 3],
    ) -> A::Value {
        unreachable!("{stub:?} of a collector without stubs")
    }

    /// Carries out slow path `id`.
    fn slow_path(&self, m: &Mutator, id: u8, arguments: [u64; 3]) -> u64;

    #[inline(always)]
    fn load<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>) -> A::Value {
        let word = slot.load(a);
        self.decode(a, word)
    }

    /// The additional action of a store, in a slot of `holder`, while overwritten references must be reported to the
    /// running cycle.
    #[inline(always)]
    fn overwrites<A: BarrierAsm + ?Sized>(&self, _a: &mut A, _holder: A::Value) {}

    /// The action of any stub.
    #[inline(always)]
    fn run_stub<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        stub: Stub,
        arguments: [A::Value; 3],
    ) -> A::Value {
        if stub != KEEP {
            return self.stub(a, stub, arguments);
        }
        let [address, holder, _] = arguments;
        if let Some(Keeping { path, .. }) = self.keeps(a) {
            self.overwrites(a, holder);
            let offset = a.constant(0);
            let word = Slot::of::<Self>(address, offset).load(a);
            tell(a, path, word);
        }
        a.constant(0)
    }

    #[inline(always)]
    fn store<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>, value: A::Value) {
        self.report_overwritten(a, slot);
        self.store_initial(a, slot, value)
    }

    /// The part of a store that tells the running cycle, if it wants to know, what the slot held.
    #[inline(always)]
    fn report_overwritten<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>) {
        if let Some(Keeping { condition, .. }) = self.keeps(a) {
            let zero = a.constant(0);
            a.when(condition, zero, |a| {
                let (address, holder) = (slot.address(a), slot.object().unwrap_or(zero));
                a.call_stub(KEEP, &[address, holder]);
                // Both sides yield one value, so that neither has to make one up.
                zero
            });
        }
    }

    #[inline(always)]
    fn store_initial<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        slot: Slot<A::Value>,
        value: A::Value,
    ) {
        let word = self.encode(a, value);
        slot.store(a, word);
        self.wrote_word(a, slot, value, word)
    }

    /// After `value` was stored to a slot of an object, or might have been, by a compare-and-exchange: for collectors
    /// that keep cards. Not called for `RootSlot`s, nor for referents that are cleared.
    #[inline(always)]
    fn wrote<A: BarrierAsm + ?Sized>(&self, _a: &mut A, _slot: Slot<A::Value>, _value: A::Value) {}

    /// As [`wrote`](Self::wrote), with the word that encodes `value`.
    #[inline(always)]
    fn wrote_word<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        slot: Slot<A::Value>,
        value: A::Value,
        _word: A::Value,
    ) {
        self.wrote(a, slot, value)
    }

    /// Stores to a `RootSlot`. Strong ones are roots of every cycle, so overwritten references need not be reported.
    #[inline(always)]
    fn store_root<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>, value: A::Value) {
        let word = self.encode(a, value);
        slot.store(a, word)
    }

    /// The previous word of the slot; the exchange took place exactly if that is `expected`.
    #[inline(always)]
    fn compare_exchange<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        slot: Slot<A::Value>,
        expected: A::Value,
        new: A::Value,
    ) -> A::Value {
        let expected = self.encode(a, expected);
        let word = self.encode(a, new);
        // Kept whether the exchange takes place or not: at most one object too many.
        self.keep(a, |_| expected);
        let held = slot.compare_exchange(a, expected, word);
        self.wrote_word(a, slot, new, word);
        self.decode(a, held)
    }

    #[inline(always)]
    fn swap<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        slot: Slot<A::Value>,
        value: A::Value,
    ) -> A::Value {
        let word = self.encode(a, value);
        let held = slot.swap(a, word);
        self.keep(a, |_| held);
        self.wrote_word(a, slot, value, word);
        self.decode(a, held)
    }

    /// Reads a weak slot: of a reference object or outside the heap.
    #[inline(always)]
    fn load_weak<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>) -> A::Value {
        let word = slot.load(a);
        self.keep(a, |_| word);
        self.decode(a, word)
    }

    /// The word of a slot, fit to be stored in another slot as it is.
    #[inline(always)]
    fn load_word<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>) -> A::Value {
        slot.load(a)
    }

    /// Whether a slot holds `object`, which is not kept alive by that.
    #[inline(always)]
    fn refers_to(&self, m: &Mutator, slot: Slot<u64>, object: u64) -> bool {
        let a = &mut Eval { barriers: self, m };
        slot.load(a) == self.encode(a, object)
    }

    /// Tells the running cycle, if it wants to know, of an encoded word.
    #[inline(always)]
    fn keep<A: BarrierAsm + ?Sized>(&self, a: &mut A, word: impl FnOnce(&mut A) -> A::Value) {
        let Some(Keeping { condition, path }) = self.keeps(a) else { return };
        let zero = a.constant(0);
        a.when(condition, zero, |a| {
            let word = word(a);
            tell(a, path, word);
            zero
        });
    }

    /// Copies encoded words: nothing is decoded. See `BarrierSet::copy_array`; places are an array and an offset.
    fn copy_array(&self, m: &Mutator, from: (u64, usize), to: (u64, usize), length: usize) {
        let a = &mut Eval { barriers: self, m };
        let element =
            |(array, first), i| Slot::of::<Self>(array, (first + i * Self::SLOT_BYTES) as u64);
        if self.keeps(a).is_some_and(|keeping| keeping.condition.holds()) {
            (0..length).for_each(|i| self.keep(a, |a| element(to, i).load(a)));
        }
        let copy = |i| {
            let word = self.load_word(a, element(from, i));
            element(to, i).store(a, word)
        };
        if from.0 == to.0 && from.1 < to.1 {
            (0..length).rev().for_each(copy)
        } else {
            (0..length).for_each(copy)
        }
        self.wrote_range(m, to.0, to.1, length * Self::SLOT_BYTES);
    }

    /// See `BarrierSet::clone_contents`.
    fn clone_contents(&self, m: &Mutator, original: u64, copy: u64, bytes: usize) {
        copy_words(&mut Eval { barriers: self, m }, original, copy, bytes);
        self.wrote_range(m, copy, HEADER_BYTES, bytes - HEADER_BYTES);
    }

    /// After `copy_array` and `clone_contents`: `bytes` bytes from `offset` in an object were written.
    #[inline(always)]
    fn wrote_range(&self, _m: &Mutator, _object: u64, _offset: usize, _bytes: usize) {}
}

/// Copies the contents behind an object's header, word by word. `bytes` is the aligned size of both objects.
pub fn copy_words(a: &mut impl Instructions<Value = u64>, from: u64, to: u64, bytes: usize) {
    // In whole words, so that no long and no reference of the original is seen half written. An array's length is the
    // same already.
    for at in (HEADER_BYTES as u64..bytes as u64).step_by(8) {
        let word = a.load64(from, at);
        a.store64(to, at, word);
    }
}

/// Address of a slot that is about to be overwritten, and its object: reports to the running cycle what the slot
/// holds. The condition of [`Barriers::keeps`] holds. Every collector has this stub.
const KEEP: Stub = Stub { id: 0 };

/// Calls a slow path that takes an encoded word, unless that is 0.
#[inline(always)]
fn tell<A: BarrierAsm + ?Sized>(a: &mut A, path: SlowPath, word: A::Value) {
    let zero = a.constant(0);
    a.when(Condition::NotEqual(word, zero), zero, |a| {
        a.call(path, &[word]);
        zero
    });
}

/// The result of [`Barriers::keeps`].
pub struct Keeping<V> {
    pub condition: Condition<V>,
    /// Takes the encoded word, which is not 0.
    pub path: SlowPath,
}

/// A word that holds an encoded reference: of the heap, or a `RootSlot`.
#[derive(Clone, Copy)]
pub struct Slot<V> {
    bytes: usize,
    base: V,
    offset: V,
    is_root: bool,
}

impl<V: Copy> Slot<V> {
    /// The slot of an object.
    #[inline(always)]
    pub fn of<B: Barriers>(object: V, offset: V) -> Slot<V> {
        Slot { bytes: B::SLOT_BYTES, base: object, offset, is_root: false }
    }

    /// The `RootSlot` at an address.
    #[inline(always)]
    pub fn root<A: Instructions<Value = V> + ?Sized>(a: &mut A, address: V) -> Slot<V> {
        Slot { bytes: 8, base: address, offset: a.constant(0), is_root: true }
    }

    /// The object that it belongs to; `None` for a `RootSlot`.
    #[inline(always)]
    pub fn object(self) -> Option<V> {
        (!self.is_root).then_some(self.base)
    }

    /// Where it is.
    #[inline(always)]
    pub fn address<A: Instructions<Value = V> + ?Sized>(self, a: &mut A) -> V {
        a.add(self.base, self.offset)
    }

    #[inline(always)]
    pub fn load<A: Instructions<Value = V> + ?Sized>(self, a: &mut A) -> V {
        match self.bytes {
            4 => a.load32(self.base, self.offset),
            _ => a.load64(self.base, self.offset),
        }
    }

    #[inline(always)]
    pub fn store<A: Instructions<Value = V> + ?Sized>(self, a: &mut A, word: V) {
        match self.bytes {
            4 => a.store32(self.base, self.offset, word),
            _ => a.store64(self.base, self.offset, word),
        }
    }

    #[inline(always)]
    pub fn compare_exchange<A: Instructions<Value = V> + ?Sized>(
        self,
        a: &mut A,
        expected: V,
        new: V,
    ) -> V {
        match self.bytes {
            4 => a.compare_exchange32(self.base, self.offset, expected, new),
            _ => a.compare_exchange64(self.base, self.offset, expected, new),
        }
    }

    #[inline(always)]
    pub fn swap<A: Instructions<Value = V> + ?Sized>(self, a: &mut A, word: V) -> V {
        match self.bytes {
            4 => a.swap32(self.base, self.offset, word),
            _ => a.swap64(self.base, self.offset, word),
        }
    }
}
