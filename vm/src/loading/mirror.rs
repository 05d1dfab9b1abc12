//! `java.lang.Class` objects.

use crate::runtime::{JavaThread, KlassRef, object};
use gc::object::{KlassId, ObjectRef};

/// The class that a mirror stands for: its id is in an injected field.
#[inline]
pub fn klass_of_mirror(t: &JavaThread, mirror: ObjectRef) -> KlassRef {
    let id: i32 = object::get(mirror, t.vm.known.mirror_klass_id());
    t.vm.klasses.get(KlassId(id as u32))
}
