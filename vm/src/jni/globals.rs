//! Global and weak global references.

use gc::object::RootSlot;

/// The global references of one VM. A `jobject` is tagged in its low bits: 0 local (address of a
/// [`Handle`](crate::runtime::Handle) word), 1 weak global, 2 global (address of a [`RootSlot`] plus the tag).
#[derive(Default)]
pub struct GlobalRefs {
    _strong: parking_lot::Mutex<Vec<Box<RootSlot>>>,
}

impl GlobalRefs {
    /// Strong global references, for the collector.
    pub fn visit_strong(&self, _visit: &mut dyn FnMut(&RootSlot)) {}

    /// Weak global references, for the collector.
    pub fn visit_weak(&self, _visit: &mut dyn FnMut(&RootSlot)) {}
}
