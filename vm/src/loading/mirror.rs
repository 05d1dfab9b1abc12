//! `java.lang.Class` objects: they stand for classes and hold their static fields.

use super::errors;
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, KlassKind, KlassRef, object};
use gc::object::{KlassId, ObjectRef, align_object};

/// The class that a mirror stands for: its id is in an injected field.
#[inline]
pub fn klass_of_mirror(t: &JavaThread, mirror: ObjectRef) -> KlassRef {
    let id: i32 = object::get(mirror, t.vm.known.mirror_klass_id());
    t.vm.klasses.get(KlassId(id as u32))
}

/// Makes the mirror of a new class. Does nothing while `java.lang.Class` does not exist yet: start-up
/// calls it again for the classes before. A hidden class that holds itself is kept by a handle until the current scope
/// ends. A safepoint.
pub fn create(
    t: &JavaThread,
    klass: KlassRef,
    protection_domain: Option<Handle>,
    class_data: Option<Handle>,
) -> JResult<()> {
    let Some(class_of_mirrors) = t.vm.known.class_of_mirrors() else {
        return Ok(());
    };
    let start = t.vm.known.statics_start().expect("known before the first class");
    let (bytes, static_refs) = match &klass.kind {
        KlassKind::Instance(instance) => (instance.mirror_bytes, instance.static_refs),
        _ => (align_object(start as usize) as u32, 0),
    };
    let allocated = t.vm.heap.allocate(&t.mutator, class_of_mirrors.id, bytes as usize, None);
    let mirror = allocated.map_err(|failure| errors::out_of_memory(t, failure))?;
    let fields = &t.vm.known.fields;
    object::put(mirror, fields.mirror_klass_id(), klass.id.0 as i32);
    object::put(mirror, fields.mirror_bytes(), bytes as i32);
    object::put(mirror, fields.mirror_static_refs(), static_refs as i32);
    // No safepoint from here on: `mirror` stays valid.
    let set = |offset: usize, value: ObjectRef| {
        if !value.is_null() {
            t.store_ref(mirror, offset, value);
        }
    };
    set(fields.class_loader_of_class(), t.load_root(&klass.loader.object));
    let set_module = || set(fields.class_module(), t.vm.modules.module_of(t, klass));
    set_module();
    set(fields.mirror_protection_domain(), protection_domain.map_or(ObjectRef::NULL, Handle::get));
    set(fields.class_data(), class_data.map_or(ObjectRef::NULL, Handle::get));
    let component = match klass.kind {
        KlassKind::ObjectArray { component } => Some(component),
        KlassKind::PrimitiveArray { element } => Some(t.vm.known.primitive(element)),
        _ => None,
    };
    if let Some(component) = component {
        set(fields.class_component(), t.mirror(component));
    }
    if klass.holder.is_of_one_class() {
        t.root(mirror);
    }
    // Other threads may look for it from now on.
    t.store_root(klass.mirror, mirror);
    // The thread that defines `java.base` gives it to the classes that it sees; since the look above it may have
    // missed this one.
    if t.load_ref(mirror, fields.class_module()).is_null() {
        set_module();
    }
    Ok(())
}
