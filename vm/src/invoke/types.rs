//! Between descriptors and the objects that stand for types.

use crate::java::objects;
use crate::loading::call::call_static;
use crate::loading::{allocate, initialize, lookup, resolve, strings};
use crate::machine::JavaThread;
use crate::runtime::{JResult, KlassKind, KlassRef};
use classfile::descriptor::package_of;
use classfile::symbol::{Scope, Symbol};
use classfile::{BasicType, FieldType, MethodDescriptor};
use gc::object::ObjectRef;

/// The `MethodType` of a descriptor, its classes loaded as `holder` sees them. A safepoint.
pub fn method_type(t: &JavaThread, holder: KlassRef, descriptor: Symbol) -> JResult<ObjectRef> {
    let parsed = MethodDescriptor::of(descriptor);
    let names = Scope::new();
    let mut klasses = Vec::new();
    // Up to the first type that is not one of those, the loader is not asked.
    let mut is_common = true;
    for ty in parsed.parameters().chain(std::iter::once(parsed.result)) {
        let common = if is_common { common_class(t, ty)? } else { None };
        is_common &= common.is_some();
        klasses.push(match common {
            Some(klass) => klass,
            None => class_of(t, holder, ty)?,
        });
    }
    drop(names);
    let result = klasses.pop().expect("every descriptor has a result");
    let natives = t.vm.known.classes.method_handle_natives();
    initialize::initialize(t, natives)?;
    let parameters = objects::class_array(t, &klasses)?;
    let arguments = [t.mirror(result).address() as u64, parameters.address() as u64];
    let signature = "(Ljava/lang/Class;[Ljava/lang/Class;)Ljava/lang/invoke/MethodType;";
    let word = call_static(t, natives, "findMethodHandleType", signature, &arguments)?;
    Ok(ObjectRef::from_address(word as usize))
}

/// The class of a type that every loader sees alike: primitive, or public in `java.lang` and
/// `java.lang.invoke`.
fn common_class(t: &JavaThread, ty: FieldType<'_>) -> JResult<Option<KlassRef>> {
    let Some(name) = ty.class_name() else {
        return Ok(Some(t.vm.known.primitive(ty.basic)));
    };
    match package_of(name.bytes()) {
        b"java/lang" | b"java/lang/invoke" if ty.basic == BasicType::Object => {
            Ok(lookup::load_boot_class(t, name)?.filter(|klass| klass.flags.is_public()))
        }
        b"java/lang" if ty.text == b"[Ljava/lang/Object;" => Ok(Some(t.vm.known.object_array())),
        _ => Ok(None),
    }
}

/// The class of a type, loaded and accessible as `holder` sees it. A safepoint.
pub fn class_of(t: &JavaThread, holder: KlassRef, ty: FieldType<'_>) -> JResult<KlassRef> {
    let _names = Scope::new();
    let klass = match ty.class_name() {
        Some(name) if name == holder.name => holder,
        Some(name) if is_everywhere(name) => match lookup::load_boot_class(t, name)? {
            Some(klass) if klass.flags.is_public() => return Ok(klass),
            _ => objects::class_of_type(t, holder.loader, ty)?,
        },
        _ => objects::class_of_type(t, holder.loader, ty)?,
    };
    resolve::check_class_access(t, holder, klass)?;
    Ok(klass)
}

/// Whether every loader sees the boot loader's class of this name: loaders are not asked for those in method types.
fn is_everywhere(name: Symbol) -> bool {
    matches!(package_of(name.bytes()), b"java/lang" | b"java/lang/invoke")
        && !name.bytes().starts_with(b"[")
}

/// The descriptor that a `MethodType`, a `Class` or a `String` stands for; `None` for other objects. No safepoint.
pub fn descriptor_of(t: &JavaThread, ty: ObjectRef) -> Option<Symbol> {
    let classes = &t.vm.known.classes;
    let klass = t.klass_of(ty);
    if klass == classes.string() {
        return Some(Symbol::intern(&strings::to_modified_utf8(t, ty)));
    }
    let mut text = Vec::new();
    if klass == classes.class() {
        append_class(&mut text, t.klass_of_mirror(ty));
        return Some(Symbol::intern(&text));
    }
    if klass != classes.method_type() {
        return None;
    }
    let known = &t.vm.known.fields;
    let parameters = t.load_ref(ty, known.method_type_ptypes());
    text.push(b'(');
    for index in 0..parameters.array_length() {
        append_class(&mut text, t.klass_of_mirror(t.load_element(parameters, index)));
    }
    text.push(b')');
    append_class(&mut text, t.klass_of_mirror(t.load_ref(ty, known.method_type_rtype())));
    Some(Symbol::intern(&text))
}

/// An `Object[1]`, for results that are returned in addition to the main one. A safepoint.
pub fn result_box(t: &JavaThread) -> JResult<ObjectRef> {
    allocate::new_array(t, t.vm.known.object_array(), 1)
}

fn append_class(text: &mut Vec<u8>, klass: KlassRef) {
    match klass.kind {
        KlassKind::Primitive(ty) => text.push(ty.letter()),
        KlassKind::Instance(_) => {
            text.push(b'L');
            text.extend_from_slice(klass.name.bytes());
            text.push(b';');
        }
        _ => text.extend_from_slice(klass.name.bytes()),
    }
}
