//! Building `java.lang.reflect` objects. All of these are safepoints.

use super::fields::{self, F};
use super::objects;
use crate::loading::{allocate, resolve};
use crate::machine::JavaThread;
use crate::runtime::{FieldRef, Handle, JResult, KlassRef, MethodRef};
use classfile::symbol::Symbol;
use classfile::{AccessFlags, FieldType, MethodDescriptor};
use gc::object::ObjectRef;

/// A `java.lang.reflect.Method`.
pub fn new_method(t: &JavaThread, method: MethodRef) -> JResult<ObjectRef> {
    let class = objects::boot_class(t, "java/lang/reflect/Method")?;
    let object = t.root(allocate::new_instance(t, class)?);
    let info = method.info;
    put(t, object, F::MethodClazz, t.mirror(method.holder));
    fields::put(t, object.get(), F::MethodSlot, method.slot as i32);
    fields::put(t, object.get(), F::MethodModifiers, method_modifiers(method));
    put(t, object, F::MethodName, objects::interned(t, info.name)?);
    let result = MethodDescriptor::of(info.descriptor).result;
    let result = objects::class_of_type(t, method.holder.loader, result)?;
    put(t, object, F::MethodReturnType, t.mirror(result));
    put(t, object, F::MethodParameterTypes, parameter_types(t, method)?);
    put(t, object, F::MethodExceptionTypes, exception_types(t, method)?);
    put(t, object, F::MethodSignature, signature(t, info.signature)?);
    let bytes = objects::byte_array(t, info.annotations())?;
    put(t, object, F::MethodAnnotations, bytes);
    let bytes = objects::byte_array(t, info.parameter_annotations())?;
    put(t, object, F::MethodParameterAnnotations, bytes);
    let bytes = objects::byte_array(t, info.annotation_default())?;
    put(t, object, F::MethodAnnotationDefault, bytes);
    Ok(object.get())
}

/// A `java.lang.reflect.Constructor` of an `<init>`.
pub fn new_constructor(t: &JavaThread, method: MethodRef) -> JResult<ObjectRef> {
    let class = objects::boot_class(t, "java/lang/reflect/Constructor")?;
    let object = t.root(allocate::new_instance(t, class)?);
    let info = method.info;
    put(t, object, F::ConstructorClazz, t.mirror(method.holder));
    fields::put(t, object.get(), F::ConstructorSlot, method.slot as i32);
    fields::put(t, object.get(), F::ConstructorModifiers, method_modifiers(method));
    put(t, object, F::ConstructorParameterTypes, parameter_types(t, method)?);
    put(t, object, F::ConstructorExceptionTypes, exception_types(t, method)?);
    put(t, object, F::ConstructorSignature, signature(t, info.signature)?);
    let bytes = objects::byte_array(t, info.annotations())?;
    put(t, object, F::ConstructorAnnotations, bytes);
    let bytes = objects::byte_array(t, info.parameter_annotations())?;
    put(t, object, F::ConstructorParameterAnnotations, bytes);
    Ok(object.get())
}

/// A `Method`, or a `Constructor` for an `<init>`.
pub fn new_executable(t: &JavaThread, method: MethodRef) -> JResult<ObjectRef> {
    if method.is_initializer() { new_constructor(t, method) } else { new_method(t, method) }
}

/// A `java.lang.reflect.Field`.
pub fn new_field(t: &JavaThread, field: FieldRef) -> JResult<ObjectRef> {
    field.expose();
    let class = objects::boot_class(t, "java/lang/reflect/Field")?;
    let object = t.root(allocate::new_instance(t, class)?);
    let info = field.info;
    put(t, object, F::FieldClazz, t.mirror(field.holder));
    fields::put(t, object.get(), F::FieldSlot, field.slot as i32);
    let flags = with_synthetic(info.access_flags, info.is_synthetic);
    let modifiers = i32::from(flags.intersection(FIELD_FLAGS).bits());
    fields::put(t, object.get(), F::FieldModifiers, modifiers);
    fields::put(t, object.get(), F::FieldTrustedFinal, is_trusted_final(field) as i8);
    put(t, object, F::FieldName, objects::interned(t, info.name)?);
    let ty = FieldType::parse(info.descriptor.bytes()).expect("checked when parsed");
    let ty = objects::class_of_type(t, field.holder.loader, ty)?;
    put(t, object, F::FieldType, t.mirror(ty));
    put(t, object, F::FieldSignature, signature(t, info.signature)?);
    let bytes = objects::byte_array(t, info.annotations())?;
    put(t, object, F::FieldAnnotations, bytes);
    Ok(object.get())
}

/// The method or constructor that a `Method` or `Constructor` object stands for.
pub fn executable_of(t: &JavaThread, executable: ObjectRef) -> MethodRef {
    let is_constructor = t.klass_of(executable).name.bytes() == b"java/lang/reflect/Constructor";
    let (clazz, slot) = if is_constructor {
        (F::ConstructorClazz, F::ConstructorSlot)
    } else {
        (F::MethodClazz, F::MethodSlot)
    };
    let holder = t.klass_of_mirror(fields::get_ref(t, executable, clazz));
    let slot: i32 = fields::get(t, executable, slot);
    holder.methods()[slot as usize]
}

/// The `Class[]` of parameter types that a `Method` or `Constructor` object holds. No safepoint.
pub fn parameter_classes(t: &JavaThread, executable: ObjectRef) -> ObjectRef {
    let is_constructor = t.klass_of(executable).name.bytes() == b"java/lang/reflect/Constructor";
    let field = if is_constructor { F::ConstructorParameterTypes } else { F::MethodParameterTypes };
    fields::get_ref(t, executable, field)
}

/// The field that a `java.lang.reflect.Field` stands for.
pub fn field_of(t: &JavaThread, field: ObjectRef) -> FieldRef {
    let holder = t.klass_of_mirror(fields::get_ref(t, field, F::FieldClazz));
    let slot: i32 = fields::get(t, field, F::FieldSlot);
    holder.fields()[slot as usize]
}

/// Whether not even reflection may write a final field.
pub fn is_trusted_final(field: FieldRef) -> bool {
    let holder = field.holder;
    let is_record = || holder.instance().is_some_and(|i| i.file.record.is_some());
    field.info.access_flags.is_final() && (field.is_static() || holder.is_hidden() || is_record())
}

/// `Executable.modifiers`.
pub fn method_modifiers(method: MethodRef) -> i32 {
    let flags = with_synthetic(method.flags(), method.info.is_synthetic);
    i32::from(flags.intersection(METHOD_FLAGS).bits())
}

/// A `Class[]` of the parameter types.
pub fn parameter_types(t: &JavaThread, method: MethodRef) -> JResult<ObjectRef> {
    let loader = method.holder.loader;
    let types: JResult<Vec<KlassRef>> = MethodDescriptor::of(method.descriptor())
        .parameters()
        .map(|ty| objects::class_of_type(t, loader, ty))
        .collect();
    objects::class_array(t, &types?)
}

fn exception_types(t: &JavaThread, method: MethodRef) -> JResult<ObjectRef> {
    let types: JResult<Vec<KlassRef>> = method
        .info
        .exceptions()
        .iter()
        .map(|index| resolve::resolve_class(t, method.holder, *index))
        .collect();
    objects::class_array(t, &types?)
}

fn signature(t: &JavaThread, signature: Option<Symbol>) -> JResult<ObjectRef> {
    match signature {
        Some(symbol) => objects::interned(t, symbol),
        None => Ok(ObjectRef::NULL),
    }
}

fn put(t: &JavaThread, object: Handle, field: F, value: ObjectRef) {
    if !value.is_null() {
        fields::put_ref(t, object.get(), field, value);
    }
}

fn with_synthetic(flags: AccessFlags, is_synthetic: bool) -> AccessFlags {
    if is_synthetic { flags | AccessFlags::SYNTHETIC } else { flags }
}

const METHOD_FLAGS: AccessFlags = AccessFlags::from_class_file(0x1dff);
const FIELD_FLAGS: AccessFlags = AccessFlags::from_class_file(0x50df);
