//! Array classes and primitive types: made by the VM, not from class files.

use super::create::{all_interfaces, publish_display};
use super::mirror;
use crate::machine::JavaThread;
use crate::runtime::headers::array_base;
use crate::runtime::klass::{DISPLAY, KlassKind};
use crate::runtime::{JResult, Klass, KlassRef, LoaderData};
use classfile::symbol::{Kept, Scope, Symbol};
use classfile::{AccessFlags, BasicType};
use gc::object::layout::KlassLayout;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr};

/// The class of arrays with this component type. A safepoint when it has to be made.
pub fn array_class(t: &JavaThread, component: KlassRef) -> JResult<KlassRef> {
    if let Some(known) = component.array_of_this.get() {
        return Ok(*known);
    }
    if let KlassKind::Primitive(ty) = component.kind {
        return Ok(primitive_array_class(t, ty));
    }
    let _names = Scope::new();
    let name = match component.is_array() {
        true => [b"[", component.name.bytes()].concat(),
        false => [b"[L", component.name.bytes(), b";"].concat(),
    };
    // `int[]` is as accessible as can be, `Foo[]` as Foo is.
    let access =
        component.flags & (AccessFlags::PUBLIC | AccessFlags::PRIVATE | AccessFlags::PROTECTED);
    let kind = KlassKind::ObjectArray { component };
    let made = make(t, Symbol::intern(&name), component.loader, kind, access);
    t.vm.klasses.publish(made);
    mirror::create(t, made, None, None)?;
    // The thread that is first with a whole class wins; the others' copies are never seen.
    Ok(component.array_of_this.get_or_init(|| made))
}

/// `[I` and so on.
pub fn primitive_array_class(t: &JavaThread, element: BasicType) -> KlassRef {
    t.vm.known.primitive_array(element)
}

/// Makes the classes of primitive types and their arrays, without mirrors: the element types' come first in
/// the result, as arrays' mirrors name them. Once, while the VM starts.
pub(crate) fn make_primitives(t: &JavaThread) -> Vec<KlassRef> {
    let mut made = Vec::new();
    let access = AccessFlags::PUBLIC;
    for ty in super::known::PRIMITIVE_TYPES {
        let name = Symbol::of(ty.java_name().expect("a primitive type"));
        let primitive = make(t, name, t.vm.boot_loader, KlassKind::Primitive(ty), access);
        t.vm.klasses.publish(primitive);
        made.push(primitive);
        let array = ty.bytes().map(|_| {
            let name = Symbol::intern(&[b'[', ty.letter()]);
            let kind = KlassKind::PrimitiveArray { element: ty };
            let array = make(t, name, t.vm.boot_loader, kind, access);
            t.vm.klasses.publish(array);
            assert!(primitive.array_of_this.set(array).is_ok(), "{array:?} made twice");
            array
        });
        t.vm.known.set_primitive(ty, primitive, array);
        made.extend(array);
    }
    made
}

fn make(
    t: &JavaThread,
    name: Symbol,
    loader: &'static LoaderData,
    kind: KlassKind,
    access: AccessFlags,
) -> KlassRef {
    let layout = match kind {
        KlassKind::ObjectArray { .. } => {
            KlassLayout::ObjectArray { base: array_base(t.vm.slot_bytes) as u32 }
        }
        KlassKind::PrimitiveArray { element } => {
            let bytes = element.bytes().expect("an element type has a size");
            let log2_bytes = bytes.trailing_zeros() as u8;
            KlassLayout::PrimitiveArray { base: array_base(bytes) as u32, log2_bytes }
        }
        // No object has this layout; the id is needed for the mirror.
        _ => KlassLayout::Instance {
            bytes: 16,
            refs: Box::default(),
            kind: gc::object::layout::ReferenceKind::Strong,
        },
    };
    let is_array = !matches!(kind, KlassKind::Primitive(_));
    let classes = &t.vm.known.classes;
    let interfaces =
        if is_array { &[classes.cloneable(), classes.serializable()][..] } else { &[] };
    let component_id = match &kind {
        KlassKind::ObjectArray { component } => component.id.0,
        _ => 0,
    };
    let holder = match &kind {
        KlassKind::ObjectArray { component } => component.holder,
        _ => loader.holder,
    };
    let klass: &'static mut Klass = Box::leak(Box::new(Klass {
        id: t.vm.heap.layouts().register_of(holder.id, layout),
        serial: t.vm.klasses.next_serial(),
        name,
        kept_name: Kept::new(name),
        loader,
        holder,
        flags: access | AccessFlags::FINAL | AccessFlags::ABSTRACT,
        super_klass: is_array.then(|| classes.object()),
        kind,
        mirror: holder.roots.lock().take(),
        array_of_this: OnceLock::new(),
        display: [None; DISPLAY],
        depth: is_array.into(),
        all_interfaces: all_interfaces(None, interfaces),
        super_cache: AtomicPtr::new(std::ptr::null_mut()),
        vtable: OnceLock::new(),
        vtable_start: AtomicPtr::default(),
        itable: OnceLock::new(),
        component_id,
        instance_bytes: 0,
        has_finalizer: false,
        may_be_finalized: AtomicBool::new(false),
    }));
    let klass = publish_display(klass);
    holder.add(klass);
    if let Some(object) = klass.super_klass {
        let methods = object.vtable.get().expect("Object is linked before arrays exist");
        klass.set_vtable(methods.clone());
    }
    klass
}
