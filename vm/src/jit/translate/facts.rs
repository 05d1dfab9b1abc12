//! Facts about values at the place where code is being emitted.
//!
//! Facts are about values, which never change, and hold wherever the place at which they were found out dominates.

use super::memory::Memory;
use crate::runtime::constant_handle::ConstantHandle;
use crate::runtime::{KlassRef, MethodRef};
use cranelift_codegen::ir::Value;
use gc::object::KlassId;
use rustc_hash::{FxHashMap, FxHashSet};

/// Facts about values that are live in registers.
#[derive(Clone, Default)]
pub struct Facts {
    not_null: FxHashSet<Value>,
    /// Objects of which the very class is known.
    classes: FxHashMap<Value, KlassId>,
    /// Objects of the library, and what they stand for.
    meanings: FxHashMap<Value, Meaning>,
    /// Lengths of arrays.
    lengths: FxHashMap<Value, Value>,
    /// Arrays, and indices that lie inside of them.
    inside: FxHashSet<(Value, Value)>,
    /// Arrays, and the largest constant that was found to be an index.
    constants: FxHashMap<Value, u32>,
    /// Ints that are 0 or more.
    not_negative: FxHashSet<Value>,
    /// Pairs of ints of which the first is less, both with their signs.
    less: FxHashSet<(Value, Value)>,
    /// References, and the words that encode them in slots; until the next safepoint, where references are renamed.
    words: FxHashMap<Value, Value>,
    pub memory: Memory,
}

/// What an object of the library stands for. Code that knows it need not look into the object.
#[derive(Clone, Copy)]
pub enum Meaning {
    /// A method handle, and the method that it calls if the library does not change it.
    Target(MethodRef),
    /// A method handle, `VarHandle` or field updater that is a constant.
    Handle(&'static ConstantHandle),
    /// The mirror of a class.
    Mirror(KlassRef),
    /// A `MemberName`, and the method that it names.
    Member(MethodRef),
}

/// A fact that a branch establishes on one of its ways.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fact {
    NotNull(Value),
    NotNegative(Value),
    Less(Value, Value),
}

impl Facts {
    pub fn is_not_null(&self, value: Value) -> bool {
        self.not_null.contains(&value)
    }

    pub fn set_not_null(&mut self, value: Value) {
        self.not_null.insert(value);
    }

    /// The class of an object, not one above it.
    pub fn class(&self, object: Value) -> Option<KlassId> {
        self.classes.get(&object).copied()
    }

    pub fn set_class(&mut self, object: Value, class: KlassId) {
        self.classes.insert(object, class);
    }

    /// What an object of the library stands for.
    pub fn meaning(&self, object: Value) -> Option<Meaning> {
        self.meanings.get(&object).copied()
    }

    pub fn set_meaning(&mut self, object: Value, meaning: Meaning) {
        self.meanings.insert(object, meaning);
    }

    /// What is known of a method handle, `VarHandle` or field updater that is a constant.
    pub fn handle(&self, object: Value) -> Option<&'static ConstantHandle> {
        match self.meaning(object)? {
            Meaning::Handle(handle) => Some(handle),
            _ => None,
        }
    }

    /// The word that encodes a reference in slots. It is 0 exactly for null, and known before the reference is.
    pub fn word(&self, reference: Value) -> Option<Value> {
        self.words.get(&reference).copied()
    }

    pub fn set_word(&mut self, reference: Value, word: Value) {
        self.words.insert(reference, word);
    }

    pub fn length(&self, array: Value) -> Option<Value> {
        self.lengths.get(&array).copied()
    }

    pub fn set_length(&mut self, array: Value, length: Value) {
        self.lengths.insert(array, length);
    }

    /// `constant` is the index's value where that is known.
    pub fn is_inside(&self, array: Value, index: Value, constant: Option<u32>) -> bool {
        match constant {
            Some(index) => self.constants.get(&array).is_some_and(|largest| index <= *largest),
            None => {
                let is_below = |length| self.less.contains(&(index, length));
                self.inside.contains(&(array, index))
                    || self.is_not_negative(index) && self.length(array).is_some_and(is_below)
            }
        }
    }

    pub fn is_not_negative(&self, value: Value) -> bool {
        self.not_negative.contains(&value)
    }

    pub fn set_not_negative(&mut self, value: Value) {
        self.not_negative.insert(value);
    }

    pub fn set_less(&mut self, value: Value, bound: Value) {
        self.less.insert((value, bound));
    }

    /// Whether 1 can be added without overflow: there is something larger.
    pub fn is_not_largest(&self, value: Value) -> bool {
        self.less.iter().any(|(less, _)| *less == value)
    }

    /// Whether the fact was not known before.
    pub fn add(&mut self, fact: Fact) -> bool {
        match fact {
            Fact::NotNull(value) => self.not_null.insert(value),
            Fact::NotNegative(value) => self.not_negative.insert(value),
            Fact::Less(value, bound) => self.less.insert((value, bound)),
        }
    }

    /// Forgets the facts that `add` has added.
    pub fn remove(&mut self, fact: Fact) {
        match fact {
            Fact::NotNull(value) => self.not_null.remove(&value),
            Fact::NotNegative(value) => self.not_negative.remove(&value),
            Fact::Less(value, bound) => self.less.remove(&(value, bound)),
        };
    }

    pub fn set_inside(&mut self, array: Value, index: Value, constant: Option<u32>) {
        match constant {
            Some(index) => {
                let largest = self.constants.entry(array).or_default();
                *largest = index.max(*largest);
            }
            None => {
                self.inside.insert((array, index));
                self.set_not_negative(index);
                if let Some(length) = self.length(array) {
                    self.set_less(index, length);
                }
            }
        }
    }

    /// The facts that both have: several ways meet.
    pub fn meet(&mut self, other: &Facts) {
        self.memory.meet(&other.memory);
        self.not_null.retain(|value| other.not_null.contains(value));
        self.classes.retain(|object, class| other.classes.get(object) == Some(class));
        // A value stands for the same on all ways on which that is known.
        self.meanings.retain(|object, _| other.meanings.contains_key(object));
        self.lengths.retain(|array, length| other.lengths.get(array) == Some(length));
        self.inside.retain(|pair| other.inside.contains(pair));
        self.not_negative.retain(|value| other.not_negative.contains(value));
        self.less.retain(|pair| other.less.contains(pair));
        self.words.retain(|reference, word| other.words.get(reference) == Some(word));
        self.constants.retain(|array, largest| match other.constants.get(array) {
            Some(theirs) => {
                *largest = (*theirs).min(*largest);
                true
            }
            None => false,
        });
    }

    /// The object of `old` is named `new` as well: it has moved.
    pub fn moved(&mut self, old: Value, new: Value) {
        if self.not_null.contains(&old) {
            self.not_null.insert(new);
        }
        if let Some(class) = self.class(old) {
            self.set_class(new, class);
        }
        if let Some(meaning) = self.meaning(old) {
            self.set_meaning(new, meaning);
        }
        if let Some(length) = self.length(old) {
            self.lengths.insert(new, length);
        }
        if let Some(largest) = self.constants.get(&old).copied() {
            self.constants.insert(new, largest);
        }
        let indices: Vec<Value> = self
            .inside
            .iter()
            .filter(|(array, _)| *array == old)
            .map(|(_, index)| *index)
            .collect();
        self.inside.extend(indices.into_iter().map(|index| (new, index)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_codegen::entity::EntityRef;

    #[test]
    fn ways_that_meet_know_what_both_know() {
        let [array, index, length, moved] = [1, 2, 3, 4].map(Value::new);
        let mut here = Facts::default();
        here.set_not_null(array);
        here.set_class(array, KlassId(3));
        here.set_length(array, length);
        here.set_inside(array, index, None);
        here.set_inside(array, index, Some(5));
        here.moved(array, moved);
        assert!(here.is_inside(moved, index, None) && here.length(moved) == Some(length));
        assert_eq!(here.class(moved), Some(KlassId(3)));
        let mut there = Facts::default();
        there.set_not_null(array);
        there.set_inside(array, index, Some(3));
        there.set_class(array, KlassId(4));
        here.meet(&there);
        assert!(here.class(array).is_none() && here.class(moved).is_none());
        assert!(here.is_not_null(array) && !here.is_not_null(moved));
        assert!(here.is_inside(array, index, Some(3)) && !here.is_inside(array, index, Some(4)));
        assert!(here.length(array).is_none() && !here.is_inside(array, index, None));
    }

    #[test]
    fn what_lies_between_0_and_the_length_is_inside() {
        let [array, index, length] = [1, 2, 3].map(Value::new);
        let mut facts = Facts::default();
        facts.add(Fact::Less(index, length));
        facts.set_length(array, length);
        assert!(!facts.is_inside(array, index, None), "it may be negative");
        facts.add(Fact::NotNegative(index));
        assert!(facts.is_inside(array, index, None));
        assert!(facts.is_not_largest(index) && !facts.is_not_largest(length));
        facts.meet(&Facts::default());
        assert!(!facts.is_not_negative(index) && !facts.is_not_largest(index));
    }
}
