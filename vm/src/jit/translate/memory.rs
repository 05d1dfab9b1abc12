//! Known contents of memory at the place where code is being emitted: a field is loaded once.
//!
//! A plain load may give the value of an earlier load or store, as long as this thread has since done nothing that
//! orders its loads (JLS 17.4): acquired a lock, read a volatile variable, called. Cranelift does the same, but
//! forgets everything at a call; and under a collector that translates references each load of one has a call, though
//! on its cold side.

use crate::runtime::{Field, FieldRef};
use classfile::BasicType;
use cranelift_codegen::ir::Value;
use gc::object::RootSlot;
use rustc_hash::FxHashMap;

/// Places and their contents. References have their present names: a safepoint renames them.
#[derive(Clone, Default)]
pub struct Memory {
    /// By field and object; statics have no object.
    fields: FxHashMap<(*const Field, Option<Value>), Held>,
    /// Of arrays of references: by array and index.
    elements: FxHashMap<(Value, Value), Value>,
    roots: FxHashMap<*const RootSlot, Value>,
}

#[derive(Clone, Copy)]
struct Held {
    value: Value,
    field: FieldRef,
}

impl Held {
    fn is_reference(self) -> bool {
        matches!(self.field.ty, BasicType::Object | BasicType::Array)
    }
}

impl Memory {
    /// The value in the field of an object, or in a static.
    pub fn field(&self, field: FieldRef, object: Value) -> Option<Value> {
        self.fields.get(&key(field, object)).map(|held| held.value)
    }

    pub fn static_field(&self, field: FieldRef) -> Option<Value> {
        self.fields.get(&(std::ptr::from_ref(field), None)).map(|held| held.value)
    }

    pub fn set_static_field(&mut self, field: FieldRef, value: Value) {
        self.fields.insert((field, None), Held { value, field });
    }

    /// The field was found to hold this.
    pub fn set_field(&mut self, field: FieldRef, object: Value, value: Value) {
        self.fields.insert(key(field, object), Held { value, field });
    }

    /// The field was stored to: other names may be names of the same object.
    pub fn forget_field(&mut self, field: FieldRef) {
        self.fields.retain(|(other, _), _| !std::ptr::eq(*other, field));
    }

    /// The element of an array of references at an index.
    pub fn element(&self, array: Value, index: Value) -> Option<Value> {
        self.elements.get(&(array, index)).copied()
    }

    /// The element was found to be this.
    pub fn set_element(&mut self, array: Value, index: Value, value: Value) {
        self.elements.insert((array, index), value);
    }

    /// An array of references was stored to, at an index that may be any.
    pub fn forget_elements(&mut self) {
        self.elements.clear();
    }

    /// The object that a word outside of the heap names.
    pub fn root(&self, slot: *const RootSlot) -> Option<Value> {
        self.roots.get(&slot).copied()
    }

    pub fn set_root(&mut self, slot: *const RootSlot, object: Value) {
        self.roots.insert(slot, object);
    }

    /// Forgets all but settled fields: other code may have changed the rest. Inside of the constructor that sets a
    /// settled field even that can change: `is_set_here`.
    pub fn keep_settled(&mut self, is_set_here: impl Fn(&Field) -> bool) {
        self.fields.retain(|_, held| held.field.is_settled() && !is_set_here(held.field));
        self.elements.clear();
        self.roots.clear();
    }

    /// The settled fields of an object that are known, and their values.
    pub fn settled(&self, object: Value) -> Vec<(FieldRef, Value)> {
        let known = self.fields.iter();
        let known = known
            .filter(|((_, holder), held)| held.field.is_settled() && *holder == Some(object))
            .map(|(_, held)| (held.field, held.value));
        let mut known: Vec<(FieldRef, Value)> = known.collect();
        known.sort_by_key(|(field, _)| field.offset);
        known
    }

    /// Nothing is known any more.
    pub fn clear(&mut self) {
        self.fields.clear();
        self.elements.clear();
        self.roots.clear();
    }

    /// A safepoint gives references other names: `now` maps each to its new one; contents of others are forgotten.
    pub fn rename(&mut self, now: impl Fn(Value) -> Option<Value>) {
        let fields = std::mem::take(&mut self.fields).into_iter();
        self.fields = fields
            .filter_map(|((field, object), held)| {
                let object = match object {
                    Some(object) => Some(now(object)?),
                    None => None,
                };
                let value = if held.is_reference() { now(held.value)? } else { held.value };
                Some(((field, object), Held { value, ..held }))
            })
            .collect();
        let elements = std::mem::take(&mut self.elements).into_iter();
        self.elements = elements
            .filter_map(|((array, index), value)| Some(((now(array)?, index), now(value)?)))
            .collect();
        let roots = std::mem::take(&mut self.roots).into_iter();
        self.roots = roots.filter_map(|(slot, object)| Some((slot, now(object)?))).collect();
    }

    /// The contents that both know: several ways meet.
    pub fn meet(&mut self, other: &Memory) {
        self.fields.retain(|place, held| {
            other.fields.get(place).is_some_and(|theirs| theirs.value == held.value)
        });
        self.elements.retain(|place, value| other.elements.get(place) == Some(value));
        self.roots.retain(|slot, object| other.roots.get(slot) == Some(object));
    }
}

fn key(field: FieldRef, object: Value) -> (*const Field, Option<Value>) {
    (field, (!field.is_static()).then_some(object))
}
