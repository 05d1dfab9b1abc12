//! Fields of library objects that the VM's natives read and write: by name, offsets looked up once.
//!
//! An accessor takes the object, whose class is therefore loaded and knows its layout: no access here loads
//! a class or reaches a safepoint.

use crate::machine::JavaThread;
use crate::runtime::{KlassRef, object};
use classfile::symbol::Symbol;
use gc::object::ObjectRef;
use std::sync::atomic::{AtomicU32, Ordering};

macro_rules! fields {
    ($($id:ident = $class:literal $name:literal $descriptor:literal;)*) => {
        /// A field of a class of the library. The class is the one that declares it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum F { $($id),* }

        const TABLE: &[(&str, &str, &str)] = &[$(($class, $name, $descriptor)),*];
    };
}

fields! {
    ClassName = "java/lang/Class" "name" "Ljava/lang/String;";

    MethodClazz = "java/lang/reflect/Method" "clazz" "Ljava/lang/Class;";
    MethodSlot = "java/lang/reflect/Method" "slot" "I";
    MethodName = "java/lang/reflect/Method" "name" "Ljava/lang/String;";
    MethodReturnType = "java/lang/reflect/Method" "returnType" "Ljava/lang/Class;";
    MethodParameterTypes = "java/lang/reflect/Method" "parameterTypes" "[Ljava/lang/Class;";
    MethodExceptionTypes = "java/lang/reflect/Method" "exceptionTypes" "[Ljava/lang/Class;";
    MethodModifiers = "java/lang/reflect/Method" "modifiers" "I";
    MethodSignature = "java/lang/reflect/Method" "signature" "Ljava/lang/String;";
    MethodAnnotations = "java/lang/reflect/Method" "annotations" "[B";
    MethodParameterAnnotations = "java/lang/reflect/Method" "parameterAnnotations" "[B";
    MethodAnnotationDefault = "java/lang/reflect/Method" "annotationDefault" "[B";

    ConstructorClazz = "java/lang/reflect/Constructor" "clazz" "Ljava/lang/Class;";
    ConstructorSlot = "java/lang/reflect/Constructor" "slot" "I";
    ConstructorParameterTypes =
        "java/lang/reflect/Constructor" "parameterTypes" "[Ljava/lang/Class;";
    ConstructorExceptionTypes =
        "java/lang/reflect/Constructor" "exceptionTypes" "[Ljava/lang/Class;";
    ConstructorModifiers = "java/lang/reflect/Constructor" "modifiers" "I";
    ConstructorSignature = "java/lang/reflect/Constructor" "signature" "Ljava/lang/String;";
    ConstructorAnnotations = "java/lang/reflect/Constructor" "annotations" "[B";
    ConstructorParameterAnnotations =
        "java/lang/reflect/Constructor" "parameterAnnotations" "[B";

    HandleInitMethod =
        "java/lang/invoke/DirectMethodHandle$Constructor" "initMethod" "Ljava/lang/invoke/MemberName;";

    FieldClazz = "java/lang/reflect/Field" "clazz" "Ljava/lang/Class;";
    FieldSlot = "java/lang/reflect/Field" "slot" "I";
    FieldName = "java/lang/reflect/Field" "name" "Ljava/lang/String;";
    FieldType = "java/lang/reflect/Field" "type" "Ljava/lang/Class;";
    FieldModifiers = "java/lang/reflect/Field" "modifiers" "I";
    FieldTrustedFinal = "java/lang/reflect/Field" "trustedFinal" "Z";
    FieldSignature = "java/lang/reflect/Field" "signature" "Ljava/lang/String;";
    FieldAnnotations = "java/lang/reflect/Field" "annotations" "[B";

    ParameterName = "java/lang/reflect/Parameter" "name" "Ljava/lang/String;";
    ParameterModifiers = "java/lang/reflect/Parameter" "modifiers" "I";
    ParameterExecutable =
        "java/lang/reflect/Parameter" "executable" "Ljava/lang/reflect/Executable;";
    ParameterIndex = "java/lang/reflect/Parameter" "index" "I";

    ComponentClazz = "java/lang/reflect/RecordComponent" "clazz" "Ljava/lang/Class;";
    ComponentName = "java/lang/reflect/RecordComponent" "name" "Ljava/lang/String;";
    ComponentType = "java/lang/reflect/RecordComponent" "type" "Ljava/lang/Class;";
    ComponentAccessor =
        "java/lang/reflect/RecordComponent" "accessor" "Ljava/lang/reflect/Method;";
    ComponentSignature = "java/lang/reflect/RecordComponent" "signature" "Ljava/lang/String;";
    ComponentAnnotations = "java/lang/reflect/RecordComponent" "annotations" "[B";
    ComponentTypeAnnotations = "java/lang/reflect/RecordComponent" "typeAnnotations" "[B";



    Referent = "java/lang/ref/Reference" "referent" "Ljava/lang/Object;";

    ModuleLoader = "java/lang/Module" "loader" "Ljava/lang/ClassLoader;";
    ModuleName = "java/lang/Module" "name" "Ljava/lang/String;";

    DirectivesClasses =
        "java/lang/AssertionStatusDirectives" "classes" "[Ljava/lang/String;";
    DirectivesClassEnabled = "java/lang/AssertionStatusDirectives" "classEnabled" "[Z";
    DirectivesPackages =
        "java/lang/AssertionStatusDirectives" "packages" "[Ljava/lang/String;";
    DirectivesPackageEnabled = "java/lang/AssertionStatusDirectives" "packageEnabled" "[Z";
    DirectivesDefault = "java/lang/AssertionStatusDirectives" "deflt" "Z";

    ThreadParkBlocker = "java/lang/Thread" "parkBlocker" "Ljava/lang/Object;";
    ThreadInheritedContext =
        "java/lang/Thread" "inheritedAccessControlContext" "Ljava/security/AccessControlContext;";

    ContextContext =
        "java/security/AccessControlContext" "context" "[Ljava/security/ProtectionDomain;";
    ContextPrivileged =
        "java/security/AccessControlContext" "privilegedContext" "Ljava/security/AccessControlContext;";
    ContextIsPrivileged = "java/security/AccessControlContext" "isPrivileged" "Z";
    ContextIsAuthorized = "java/security/AccessControlContext" "isAuthorized" "Z";
}

/// Offsets that were found up to now.
pub struct FieldOffsets {
    /// 0: not looked up. No field lies there, the header does.
    offsets: [AtomicU32; TABLE.len()],
}

impl FieldOffsets {
    #[inline]
    fn offset(&self, klass: KlassRef, field: F) -> usize {
        let known = self.offsets[field as usize].load(Ordering::Relaxed);
        if known != 0 { known as usize } else { self.look_up(klass, field) }
    }

    #[cold]
    fn look_up(&self, klass: KlassRef, field: F) -> usize {
        let (class, name, descriptor) = TABLE[field as usize];
        let mut at = Some(klass);
        while let Some(k) = at {
            if k.name.bytes() == class.as_bytes() && k.loader.is_boot() {
                let found = k
                    .declared_field(Symbol::of(name), Symbol::of(descriptor))
                    .unwrap_or_else(|| panic!("{class} has no field {name} of type {descriptor}"));
                self.offsets[field as usize].store(found.offset, Ordering::Relaxed);
                return found.offset as usize;
            }
            at = k.super_klass;
        }
        panic!("{klass:?} is no {class}, which has the field {name}")
    }
}

impl Default for FieldOffsets {
    fn default() -> Self {
        FieldOffsets { offsets: std::array::from_fn(|_| AtomicU32::new(0)) }
    }
}

/// Offset of a field in objects of this class, which is the field's or a subclass of it.
#[inline]
pub fn offset(t: &JavaThread, klass: KlassRef, field: F) -> usize {
    t.vm.jvm.fields.offset(klass, field)
}

#[inline]
fn offset_in(t: &JavaThread, object: ObjectRef, field: F) -> usize {
    offset(t, t.klass_of(object), field)
}

#[inline]
pub fn get<T: object::Primitive>(t: &JavaThread, object: ObjectRef, field: F) -> T {
    object::get(object, offset_in(t, object, field))
}

#[inline]
pub fn put<T: object::Primitive>(t: &JavaThread, object: ObjectRef, field: F, value: T) {
    object::put(object, offset_in(t, object, field), value)
}

#[inline]
pub fn get_ref(t: &JavaThread, object: ObjectRef, field: F) -> ObjectRef {
    t.load_ref(object, offset_in(t, object, field))
}

#[inline]
pub fn put_ref(t: &JavaThread, object: ObjectRef, field: F, value: ObjectRef) {
    t.store_ref(object, offset_in(t, object, field), value)
}
