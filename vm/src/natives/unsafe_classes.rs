//! `jdk.internal.misc.Unsafe`: layouts, classes, instances, and parking.

use crate::ffi::registry::{Arguments, Native, NativeTable, entry};
use crate::java::fields::{self, F};
use crate::loading::define::{self, DefineOptions};
use crate::loading::{allocate, errors, initialize, lookup, strings};
use crate::machine::JavaThread;
use crate::runtime::headers::array_base;
use crate::runtime::{JResult, KlassKind, KlassRef, object};
use crate::threads::sleep;
use classfile::AccessFlags;
use classfile::symbol::{Scope, Symbol};
use gc::object::ObjectRef;

pub static CLASSES: NativeTable = NativeTable {
    class: "jdk/internal/misc/Unsafe",
    entries: &[
        entry("objectFieldOffset0", "", Native::Direct(object_field_offset)),
        entry("objectFieldOffset1", "", Native::Direct(named_field_offset)),
        entry("staticFieldOffset0", "", Native::Direct(static_field_offset)),
        entry("staticFieldBase0", "", Native::Direct(static_field_base)),
        entry("shouldBeInitialized0", "", Native::Direct(should_be_initialized)),
        entry("ensureClassInitialized0", "", Native::Direct(ensure_initialized)),
        entry("arrayBaseOffset0", "", Native::Direct(array_base_offset)),
        entry("arrayIndexScale0", "", Native::Direct(array_index_scale)),
        entry("allocateInstance", "", Native::Direct(allocate_instance)),
        entry("defineClass0", "", Native::Direct(define_class)),
        entry("throwException", "", Native::Direct(throw_exception)),
        entry("park", "(ZJ)V", Native::Direct(park)),
        entry("unpark", "(Ljava/lang/Object;)V", Native::Direct(unpark)),
    ],
};

/// The `Class` argument in a slot.
fn klass(t: &JavaThread, args: Arguments, slot: usize) -> JResult<KlassRef> {
    let mirror = args.object(slot);
    if mirror.is_null() { Err(errors::null_pointer(t)) } else { Ok(t.klass_of_mirror(mirror)) }
}

/// Offset of the field that a `java.lang.reflect.Field` in slot 1 stands for.
fn reflected_offset(t: &JavaThread, args: Arguments, wants_static: bool) -> JResult<u64> {
    let field = args.object(1);
    if field.is_null() {
        return Err(errors::null_pointer(t));
    }
    let modifiers: i32 = fields::get(t, field, F::FieldModifiers);
    if AccessFlags::from_class_file(modifiers as u16).is_static() != wants_static {
        return Err(errors::throw_new(t, "java/lang/IllegalArgumentException", None));
    }
    let holder = t.klass_of_mirror(fields::get_ref(t, field, F::FieldClazz));
    let slot: i32 = fields::get(t, field, F::FieldSlot);
    Ok(holder.fields()[slot as usize].offset as u64)
}

fn object_field_offset(t: &JavaThread, args: Arguments) -> JResult<u64> {
    reflected_offset(t, args, false)
}

fn static_field_offset(t: &JavaThread, args: Arguments) -> JResult<u64> {
    reflected_offset(t, args, true)
}

/// The first field of a name that the class itself declares.
fn named_field_offset(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let holder = klass(t, args, 1)?;
    if args.object(2).is_null() {
        return Err(errors::null_pointer(t));
    }
    let _names = Scope::new();
    let name = Symbol::intern(&strings::to_modified_utf8(t, args.object(2)));
    match holder.fields().iter().find(|field| field.name() == name) {
        Some(field) => {
            field.expose();
            Ok(field.offset as u64)
        }
        None => Err(errors::throw_new(t, "java/lang/InternalError", None)),
    }
}

fn static_field_base(t: &JavaThread, args: Arguments) -> JResult<u64> {
    reflected_offset(t, args, true)?;
    Ok(fields::get_ref(t, args.object(1), F::FieldClazz).address() as u64)
}

fn should_be_initialized(t: &JavaThread, args: Arguments) -> JResult<u64> {
    Ok(!klass(t, args, 1)?.is_initialized() as u64)
}

fn ensure_initialized(t: &JavaThread, args: Arguments) -> JResult<u64> {
    initialize::initialize(t, klass(t, args, 1)?)?;
    Ok(0)
}

fn array_base_offset(t: &JavaThread, args: Arguments) -> JResult<u64> {
    Ok(array_base(element_bytes(t, args)?) as u64)
}

fn array_index_scale(t: &JavaThread, args: Arguments) -> JResult<u64> {
    Ok(element_bytes(t, args)? as u64)
}

fn element_bytes(t: &JavaThread, args: Arguments) -> JResult<usize> {
    match klass(t, args, 1)?.kind {
        KlassKind::ObjectArray { .. } => Ok(t.vm.slot_bytes),
        KlassKind::PrimitiveArray { element } => {
            Ok(element.bytes().expect("elements of arrays have a size"))
        }
        _ => Err(errors::throw_new(t, "java/io/InvalidClassException", None)),
    }
}

fn allocate_instance(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let klass = klass(t, args, 1)?;
    check_instantiable(t, klass)?;
    initialize::initialize(t, klass)?;
    Ok(allocate::new_instance(t, klass)?.address() as u64)
}

/// Throws where no instance of a class may be made by reflection.
pub fn check_instantiable(t: &JavaThread, klass: KlassRef) -> JResult<()> {
    if klass.instance().is_none() || klass.is_interface() || klass.flags.is_abstract() {
        return errors::fail(t, "java/lang/InstantiationException", &klass.java_name());
    }
    if klass.name.bytes() == b"java/lang/Class" {
        return errors::fail(t, "java/lang/IllegalAccessException", &klass.java_name());
    }
    Ok(())
}

fn define_class(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let (name, offset, length) = (args.object(1), args.int(3), args.int(4));
    if args.object(2).is_null() {
        return Err(errors::null_pointer(t));
    }
    let array_bytes = args.object(2).array_length();
    if offset < 0 || length < 0 || offset as usize + length as usize > array_bytes {
        return Err(errors::throw_new(t, "java/lang/ArrayIndexOutOfBoundsException", None));
    }
    let _names = Scope::new();
    let expected_name = (!name.is_null()).then(|| {
        let text = strings::to_modified_utf8(t, name);
        Symbol::intern(&text.iter().map(|b| if *b == b'.' { b'/' } else { *b }).collect::<Vec<_>>())
    });
    let mut bytes = vec![0; length as usize];
    object::copy_out(args.object(2), array_base(1) + offset as usize, &mut bytes);
    let loader = lookup::loader_data(t, args.object(5));
    let protection_domain = (!args.object(6).is_null()).then(|| args.handle(6));
    let options = DefineOptions { expected_name, protection_domain, ..Default::default() };
    let klass = define::define_class(t, loader, &bytes, options)?;
    Ok(t.mirror(klass).address() as u64)
}

fn throw_exception(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let throwable: ObjectRef = args.object(1);
    Err(if throwable.is_null() { errors::null_pointer(t) } else { t.throw_object(throwable) })
}

fn park(t: &JavaThread, args: Arguments) -> JResult<u64> {
    sleep::park(t, args.boolean(1), args.long(2));
    Ok(0)
}

fn unpark(t: &JavaThread, args: Arguments) -> JResult<u64> {
    sleep::unpark(t, args.object(1));
    Ok(0)
}
