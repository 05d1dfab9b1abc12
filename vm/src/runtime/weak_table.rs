//! Objects by a key made of their contents, weakly held.

use super::root_table::RootTable;
use gc::object::RootSlot;
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// Slots that never move, in buckets by key.
#[derive(Default)]
pub struct WeakTable<K> {
    buckets: FxHashMap<K, Vec<&'static RootSlot>>,
    slots: RootTable,
}

impl<K: Hash + Eq> WeakTable<K> {
    /// The slots of this key. Objects that died may have left empty ones.
    pub fn bucket(&self, key: &K) -> &[&'static RootSlot] {
        self.buckets.get(key).map_or(&[], Vec::as_slice)
    }

    /// A new slot of this key, empty.
    pub fn add(&mut self, key: K) -> &'static RootSlot {
        let slot = self.slots.take();
        self.buckets.entry(key).or_default().push(slot);
        slot
    }

    /// Those that are not empty, for the collector.
    pub fn visit(&self, visit: &mut dyn FnMut(&RootSlot)) {
        self.slots.visit(visit);
    }

    /// Forgets slots that a collection has emptied.
    pub fn drop_emptied(&mut self) {
        let WeakTable { buckets, slots } = self;
        buckets.retain(|_, bucket| {
            bucket.extract_if(.., |slot| slot.is_null()).for_each(|slot| slots.give_back(slot));
            !bucket.is_empty()
        });
    }
}
