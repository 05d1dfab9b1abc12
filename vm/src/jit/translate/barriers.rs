//! References in the heap: the collector's barriers, emitted.

use super::Translator;
use super::emitter::{ClifEmitter, Known};
use super::facts::Meaning;
use crate::jit::helpers;
use crate::runtime::KlassRef;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use gc::barrier::emitter::Operand;
use gc::object::RootSlot;

impl<'f> Translator<'f> {
    pub(super) fn load_reference(&mut self, object: Value, offset: Value) -> Value {
        let barriers = self.vm.heap.barriers();
        self.emit(false, |e| {
            let (object, offset) = (e.operand(object), e.operand(offset));
            barriers.emit_load(e, object, offset)
        })
    }

    /// Loads a reference that is only tested for null: its slot shows this, without a barrier. Returns 0 exactly for
    /// null.
    pub(super) fn load_presence(&mut self, object: Value, offset: Value) -> Value {
        let at = self.b.ins().iadd(object, offset);
        let flags = MemFlagsData::trusted();
        match self.vm.slot_bytes {
            4 => self.b.ins().uload32(flags, at, 0),
            _ => self.b.ins().load(types::I64, flags, at, 0),
        }
    }

    pub(super) fn load_reference_volatile(&mut self, object: Value, offset: Value) -> Value {
        let barriers = self.vm.heap.barriers();
        self.emit(true, |e| {
            let (object, offset) = (e.operand(object), e.operand(offset));
            barriers.emit_load(e, object, offset)
        })
    }

    pub(super) fn load_referent(&mut self, object: Value, offset: Value) -> Value {
        let barriers = self.vm.heap.barriers();
        self.emit(true, |e| {
            let (object, offset) = (e.operand(object), e.operand(offset));
            barriers.emit_load_referent(e, object, offset)
        })
    }

    /// The object that a slot of a class names for good, loaded or known.
    pub(super) fn known_root(&mut self, of: KlassRef, slot: &'static RootSlot) -> Value {
        if let Some(object) = self.facts.memory.root(slot) {
            return object;
        }
        let object = self.load_root(of, slot);
        self.facts.memory.set_root(slot, object);
        object
    }

    /// The mirror of a class.
    pub(super) fn mirror_of(&mut self, klass: KlassRef) -> Value {
        let mirror = self.known_root(klass, klass.mirror);
        self.facts.set_not_null(mirror);
        self.facts.set_meaning(mirror, Meaning::Mirror(klass));
        mirror
    }

    pub(super) fn load_root(&mut self, of: KlassRef, slot: &'static RootSlot) -> Value {
        self.name(of);
        let barriers = self.vm.heap.barriers();
        let slot = self.address(slot);
        self.emit(false, |e| {
            let slot = e.operand(slot);
            barriers.emit_load_root(e, slot)
        })
    }

    /// As `load_root`, of a slot whose address is computed.
    pub(super) fn load_root_at(&mut self, slot: Value) -> Value {
        let barriers = self.vm.heap.barriers();
        self.emit(false, |e| {
            let slot = e.operand(slot);
            barriers.emit_load_root(e, slot)
        })
    }

    pub(super) fn store_reference(&mut self, object: Value, offset: Value, value: Value) {
        let barriers = self.vm.heap.barriers();
        let mut e = self.emitter(false);
        let operands = [object, offset, value].map(|value| e.operand(value));
        let [object, offset, value] = operands;
        barriers.emit_store(&mut e, object, offset, value);
    }

    /// Returns the previous reference in the slot.
    pub(super) fn compare_exchange_reference(
        &mut self,
        object: Value,
        offset: Value,
        expected: Value,
        new: Value,
    ) -> Value {
        let barriers = self.vm.heap.barriers();
        self.emit(true, |e| {
            let operands = [object, offset, expected, new].map(|value| e.operand(value));
            let [object, offset, expected, new] = operands;
            barriers.emit_compare_exchange(e, object, offset, expected, new)
        })
    }

    /// Returns the previous contents of the slot.
    pub(super) fn swap_reference(&mut self, object: Value, offset: Value, value: Value) -> Value {
        let barriers = self.vm.heap.barriers();
        self.emit(true, |e| {
            let [object, offset, value] = [object, offset, value].map(|value| e.operand(value));
            barriers.emit_swap(e, object, offset, value)
        })
    }

    /// A new object or array of `bytes` bytes, its header written and all else zero; 0 where the thread's buffer is
    /// too small. `None`: the collector allows no allocation without a call.
    pub(super) fn allocate_inline(
        &mut self,
        klass: KlassRef,
        bytes: Value,
        length: Option<Value>,
    ) -> Option<Value> {
        let barriers = self.vm.heap.barriers();
        let mut e = self.emitter(false);
        let bytes = e.operand(bytes);
        let length = length.map(|length| e.operand(length));
        let object = barriers.emit_allocate(&mut e, klass.id, bytes, length)?;
        Some(e.value(object))
    }

    fn emit(
        &mut self,
        is_volatile: bool,
        operation: impl FnOnce(&mut ClifEmitter<'_, '_>) -> Operand,
    ) -> Value {
        let mut emitter = self.emitter(is_volatile);
        let result = operation(&mut emitter);
        emitter.value(result)
    }

    fn emitter(&mut self, is_volatile: bool) -> ClifEmitter<'_, 'f> {
        let known = Known {
            slow_path_signatures: &mut self.slow_path_signatures,
            slow_path_address: helpers::barrier_address,
            stubs: self.vm.jit.barrier_stubs(self.vm),
            facts: &mut self.facts,
            branches: &mut self.branches,
            findings: &mut self.findings,
        };
        ClifEmitter::new(&mut self.b, known, is_volatile)
    }
}
