//! Root slots: where references lie while a call may move objects.
//!
//! Before such a call every live reference is stored to a slot, and afterwards loaded again as a new value; the old
//! value is not used any more. A value that is in a slot already, because it was loaded from it, is not stored
//! again.

use cranelift_codegen::ir::Value;
use rustc_hash::FxHashMap;

/// Which value is known to lie in which slot, in the block that is being filled.
#[derive(Default)]
pub struct RootSlots {
    saved: FxHashMap<Value, u16>,
    /// The number of slots that are needed.
    pub count: u16,
}

impl RootSlots {
    /// Another block begins.
    pub fn forget(&mut self) {
        self.saved.clear();
    }

    /// A slot for each of the values, which are different ones, and whether it must be stored there.
    pub fn assign(&mut self, values: &[Value]) -> Vec<(u16, bool)> {
        let mut taken = vec![false; values.len() + self.count as usize + 1];
        let mut slots: Vec<Option<u16>> =
            values.iter().map(|v| self.saved.get(v).copied()).collect();
        for slot in slots.iter().flatten() {
            taken[*slot as usize] = true;
        }
        let mut next = 0;
        let assigned: Vec<(u16, bool)> = slots
            .iter_mut()
            .map(|slot| match slot {
                Some(slot) => (*slot, false),
                None => {
                    while taken[next] {
                        next += 1;
                    }
                    taken[next] = true;
                    (next as u16, true)
                }
            })
            .collect();
        for (slot, _) in &assigned {
            self.count = self.count.max(slot + 1);
        }
        self.saved.retain(|_, slot| !assigned.iter().any(|(other, store)| other == slot && *store));
        for (value, (slot, _)) in values.iter().zip(&assigned) {
            self.saved.insert(*value, *slot);
        }
        assigned
    }

    /// The slot in which a value lies.
    pub fn slot_of(&self, value: Value) -> Option<u16> {
        self.saved.get(&value).copied()
    }

    /// `value` was just loaded from `slot`.
    pub fn loaded(&mut self, value: Value, slot: u16) {
        self.saved.insert(value, slot);
    }

    /// After a call that may have moved objects: the slots' contents have no values yet.
    pub fn moved(&mut self) {
        self.saved.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_codegen::entity::EntityRef;

    #[test]
    fn what_is_saved_is_not_stored_again() {
        let [a, b, c] = [1, 2, 3].map(Value::new);
        let mut roots = RootSlots::default();
        assert_eq!(roots.assign(&[a, b]), [(0, true), (1, true)]);
        assert_eq!(roots.assign(&[b, c]), [(1, false), (0, true)]);
        // The slot of `a` holds `c` now.
        assert_eq!(roots.assign(&[a]), [(0, true)]);
        assert_eq!(roots.count, 2);
    }
}
