//! Making the library objects that natives return. All of these are safepoints.

use crate::loading::{allocate, call, errors, initialize, lookup, strings};
use crate::machine::JavaThread;
use crate::runtime::headers::array_base;
use crate::runtime::{Handle, JResult, KlassRef, LoaderData, object};
use classfile::symbol::{Scope, Symbol};
use classfile::{BasicType, FieldType};
use gc::object::ObjectRef;
use std::sync::LazyLock;

/// A class of the boot loader that every JDK 17 has, initialized.
pub fn boot_class(t: &JavaThread, name: &str) -> JResult<KlassRef> {
    let klass = match lookup::load_boot_class(t, Symbol::of(name))? {
        Some(klass) => klass,
        None => return errors::fail(t, "java/lang/NoClassDefFoundError", name),
    };
    initialize::initialize(t, klass)?;
    Ok(klass)
}

/// A `Class[]`.
pub fn class_array(t: &JavaThread, klasses: &[KlassRef]) -> JResult<ObjectRef> {
    let array = allocate::new_object_array(t, t.vm.known.classes.class(), klasses.len() as i32)?;
    for (i, klass) in klasses.iter().enumerate() {
        t.store_element(array, i, t.mirror(klass));
    }
    Ok(array)
}

/// The mirrors of classes that were found in a table of the VM, not by way of a reference: the marking that runs does
/// not know of them. Classes that are being made have none. No safepoint.
pub fn mirrors_of_found(
    t: &JavaThread,
    klasses: impl IntoIterator<Item = KlassRef>,
) -> Vec<Handle> {
    let mirrors =
        klasses.into_iter().map(|klass| t.barriers().load_weak_root(&t.mutator, klass.mirror));
    mirrors.filter(|mirror| !mirror.is_null()).map(|mirror| t.root(mirror)).collect()
}

/// An array of objects that are rooted by handles.
pub fn array_of(t: &JavaThread, element: KlassRef, objects: &[Handle]) -> JResult<ObjectRef> {
    let array = allocate::new_object_array(t, element, objects.len() as i32)?;
    for (i, object) in objects.iter().enumerate() {
        t.store_element(array, i, object.get());
    }
    Ok(array)
}

/// A `byte[]`, or null.
pub fn byte_array(t: &JavaThread, bytes: Option<&[u8]>) -> JResult<ObjectRef> {
    let Some(bytes) = bytes else {
        return Ok(ObjectRef::NULL);
    };
    let array_class = t.vm.known.primitive_array(BasicType::Byte);
    let array = allocate::new_array(t, array_class, bytes.len() as i32)?;
    object::copy_in(array, array_base(1), bytes);
    Ok(array)
}

/// The contents of a `byte[]`. No safepoint.
pub fn bytes_of(array: ObjectRef) -> Vec<u8> {
    let mut bytes = vec![0; array.array_length()];
    object::copy_out(array, array_base(1), &mut bytes);
    bytes
}

/// Loads a module of the JDK if the program was started without it. Runs Java code.
pub fn load_module(t: &JavaThread, name: &str) -> JResult<()> {
    let modules = boot_class(t, "jdk/internal/module/Modules")?;
    let name = strings::from_str(t, name)?;
    let descriptor = "(Ljava/lang/String;)Ljava/lang/Module;";
    call::call_static(t, modules, "loadModule", descriptor, &[name.address() as u64])?;
    Ok(())
}

/// The string of a symbol, interned as names of classes and members are.
pub fn interned(t: &JavaThread, symbol: Symbol) -> JResult<ObjectRef> {
    strings::intern_modified_utf8(t, symbol.bytes())
}

/// A new string, or null.
pub fn string_or_null(t: &JavaThread, symbol: Option<Symbol>) -> JResult<ObjectRef> {
    match symbol {
        Some(symbol) => strings::from_modified_utf8(t, symbol.bytes()),
        None => Ok(ObjectRef::NULL),
    }
}

/// A `String[]`.
pub fn string_array(t: &JavaThread, texts: &[String]) -> JResult<ObjectRef> {
    let array = allocate::new_object_array(t, t.vm.known.classes.string(), texts.len() as i32)?;
    let array = t.root(array);
    for (i, text) in texts.iter().enumerate() {
        let string = strings::from_str(t, text)?;
        t.store_element(array.get(), i, string);
    }
    Ok(array.get())
}

/// The class of a type in a descriptor, as the loader sees it; a missing class is a `NoClassDefFoundError`.
pub fn class_of_type(
    t: &JavaThread,
    loader: &'static LoaderData,
    ty: FieldType<'_>,
) -> JResult<KlassRef> {
    let _names = Scope::new();
    match ty.class_name() {
        None => Ok(t.vm.known.primitive(ty.basic)),
        Some(name) => lookup::load_named_class(t, loader, name),
    }
}

/// Whether an object is of a class of the boot loader, by name; for classes that may not be loaded yet.
pub fn is_instance_of(t: &JavaThread, object: ObjectRef, boot_class: &str) -> bool {
    let mut at = Some(t.klass_of(object));
    while let Some(klass) = at {
        if klass.loader.is_boot() && klass.name.bytes() == boot_class.as_bytes() {
            return true;
        }
        at = klass.super_klass;
    }
    false
}

/// The name as `Class.getName` gives it, in modified UTF-8.
pub fn external_name(klass: KlassRef) -> Vec<u8> {
    let mut innermost = klass;
    while let Some(component) = innermost.component() {
        innermost = component;
    }
    let mut name: Vec<u8> = klass.name.bytes().to_vec();
    name.iter_mut().filter(|b| **b == b'/').for_each(|b| *b = b'.');
    if innermost.is_hidden()
        && let Some(plus) = name.iter().rposition(|b| *b == b'+')
    {
        name[plus] = b'/';
    }
    name
}

/// Arrays, and instances of classes that implement `Cloneable`.
pub fn is_cloneable(klass: KlassRef) -> bool {
    static CLONEABLE: LazyLock<Symbol> = LazyLock::new(|| Symbol::of("java/lang/Cloneable"));
    let is_it = |i: &KlassRef| i.name == *CLONEABLE && i.loader.is_boot();
    klass.is_array() || klass.all_interfaces.iter().any(is_it)
}
