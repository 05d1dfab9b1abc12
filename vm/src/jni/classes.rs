//! Classes, method ids, conversions from and to reflection.

use super::calls::method_of;
use super::fields::field_of;
use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jboolean, jbyte, jclass, jfieldID, jmethodID, jobject, jsize};
use crate::loading::define::{DefineOptions, define_class};
use crate::loading::{allocate, errors, initialize, lookup};
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, KlassRef, LoaderData, MethodRef, object};
use classfile::symbol::{Scope, Symbol};
use gc::object::ObjectRef;
use libc::c_char;

pub extern "C" fn define(
    env: Env,
    name: *const c_char,
    loader: jobject,
    bytes: *const jbyte,
    length: jsize,
) -> jclass {
    env.enter(|t| {
        let loader = lookup::loader_data(t, entry::resolve(t, loader));
        let _names = Scope::new();
        // SAFETY: JNI callers pass `length` bytes and a C string or null.
        let (bytes, name) = unsafe {
            let bytes = std::slice::from_raw_parts(bytes.cast::<u8>(), length as usize);
            (bytes, (!name.is_null()).then(|| Symbol::intern(entry::c_bytes(name))))
        };
        let options = DefineOptions { expected_name: name, ..DefineOptions::default() };
        let klass = define_class(t, loader, bytes, options)?;
        Ok(t.mirror(klass))
    })
}

/// `FindClass`: by the loader of the calling native method; by that of the class whose library is being
/// loaded inside `JNI_OnLoad`; by the system loader from threads without Java frames.
pub extern "C" fn find(env: Env, name: *const c_char) -> jclass {
    env.enter(|t| {
        // SAFETY: JNI callers pass a C string.
        let name = unsafe { entry::c_bytes(name) };
        // A class's descriptor will do as well as its name.
        let inside = name.strip_prefix(b"L").and_then(|name| name.strip_suffix(b";"));
        let names = Scope::new();
        let name = Symbol::intern(inside.unwrap_or(name));
        let loader = calling_loader(t)?;
        let klass = load_or_no_class_def(t, loader, name)?;
        // A static initializer may run for long.
        drop(names);
        initialize::initialize(t, klass)?;
        Ok(t.mirror(klass))
    })
}

fn calling_loader(t: &JavaThread) -> JResult<&'static LoaderData> {
    let Some(caller) = top_method(t) else {
        return system_loader(t);
    };
    let loads = caller.holder.name.bytes() == b"jdk/internal/loader/NativeLibraries"
        && caller.name().bytes() == b"load";
    if !loads {
        return Ok(caller.holder.loader);
    }
    let (name, descriptor) = (Symbol::of("getFromClass"), Symbol::of("()Ljava/lang/Class;"));
    let from =
        caller.holder.declared_method(name, descriptor).expect("a method of NativeLibraries");
    let mirror = ObjectRef::from_address(t.call(from, &[])? as usize);
    Ok(t.klass_of_mirror(mirror).loader)
}

/// The method of the innermost frame: the native method that runs.
fn top_method(t: &JavaThread) -> Option<MethodRef> {
    // SAFETY: the frame list belongs to this thread, which is here and not in Java code.
    unsafe { t.top_frame.get().as_ref() }.map(|frame| frame.method)
}

fn system_loader(t: &JavaThread) -> JResult<&'static LoaderData> {
    let class = t.vm.known.classes.class_loader();
    let (name, descriptor) = ("getSystemClassLoader", "()Ljava/lang/ClassLoader;");
    let getter = class.declared_method(Symbol::of(name), Symbol::of(descriptor));
    let getter = getter.expect("ClassLoader.getSystemClassLoader exists");
    initialize::initialize(t, class)?;
    let loader = ObjectRef::from_address(t.call(getter, &[])? as usize);
    Ok(lookup::loader_data(t, loader))
}

/// Loads a class; `ClassNotFoundException` becomes the cause of a `NoClassDefFoundError`.
fn load_or_no_class_def(
    t: &JavaThread,
    loader: &'static LoaderData,
    name: Symbol,
) -> JResult<KlassRef> {
    match name.bytes().contains(&b'.') {
        true => errors::fail(t, "java/lang/NoClassDefFoundError", &name.text()),
        false => lookup::load_named_class(t, loader, name),
    }
}

pub extern "C" fn superclass(env: Env, class: jclass) -> jclass {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        let superclass = klass.super_klass.filter(|_| !klass.is_interface());
        Ok(superclass.map_or(ObjectRef::NULL, |superclass| t.mirror(superclass)))
    })
}

pub extern "C" fn is_assignable(env: Env, from: jclass, to: jclass) -> jboolean {
    env.enter(|t| {
        let (from, to) = (entry::klass(t, from)?, entry::klass(t, to)?);
        Ok(if from.is_primitive() || to.is_primitive() {
            from == to
        } else {
            from.is_subtype_of(to)
        })
    })
}

pub extern "C" fn is_instance(env: Env, object: jobject, class: jclass) -> jboolean {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        let object = entry::resolve(t, object);
        Ok(object.is_null() || t.klass_of(object).is_subtype_of(klass))
    })
}

pub extern "C" fn object_class(env: Env, object: jobject) -> jclass {
    env.enter(|t| {
        let object = entry::non_null(t, object)?;
        Ok(t.mirror(t.klass_of(object.get())))
    })
}

pub extern "C" fn module(env: Env, class: jclass) -> jobject {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        Ok(t.load_ref(t.mirror(klass), t.vm.known.fields.class_module()))
    })
}

pub extern "C" fn alloc_object(env: Env, class: jclass) -> jobject {
    env.enter(|t| {
        let klass = instantiable(t, class)?;
        initialize::initialize(t, klass)?;
        allocate::new_instance(t, klass)
    })
}

/// The class of a `jclass`, of which there can be objects by `new`; throws `InstantiationException`.
pub fn instantiable(t: &JavaThread, class: jclass) -> JResult<KlassRef> {
    let klass = entry::klass(t, class)?;
    let is_class = klass.instance().is_some() && !klass.flags.is_abstract();
    if !is_class {
        return errors::fail(t, "java/lang/InstantiationException", &klass.java_name());
    }
    if klass == t.vm.known.classes.class() {
        return errors::fail(t, "java/lang/IllegalAccessException", &klass.java_name());
    }
    Ok(klass)
}

pub extern "C" fn method_id(
    env: Env,
    class: jclass,
    name: *const c_char,
    descriptor: *const c_char,
) -> jmethodID {
    env.enter(|t| find_method(t, class, name, descriptor, false))
}

pub extern "C" fn static_method_id(
    env: Env,
    class: jclass,
    name: *const c_char,
    descriptor: *const c_char,
) -> jmethodID {
    env.enter(|t| find_method(t, class, name, descriptor, true))
}

fn find_method(
    t: &JavaThread,
    class: jclass,
    name: *const c_char,
    descriptor: *const c_char,
    is_static: bool,
) -> JResult<jmethodID> {
    let klass = entry::klass(t, class)?;
    initialize::initialize(t, klass)?;
    let _names = Scope::new();
    // SAFETY: JNI callers pass C strings.
    let (name, descriptor) = unsafe { (entry::c_bytes(name), entry::c_bytes(descriptor)) };
    let (name, descriptor) = (Symbol::intern(name), Symbol::intern(descriptor));
    let found = if klass.is_primitive() {
        None
    } else if matches!(name.bytes(), b"<init>" | b"<clinit>") {
        klass.declared_method(name, descriptor)
    } else {
        klass.find_method(name, descriptor).or_else(|| find_inherited(klass, name, descriptor))
    };
    match found {
        Some(method) if method.is_static() == is_static => Ok(method),
        _ => {
            let kind = if is_static { "static " } else { "" };
            let message = format!("{kind}{}.{name}{descriptor}", signature_name(klass));
            errors::fail(t, "java/lang/NoSuchMethodError", &message)
        }
    }
}

/// A method of a superinterface, one with code if there is one.
fn find_inherited(klass: KlassRef, name: Symbol, descriptor: Symbol) -> Option<MethodRef> {
    let declared = || {
        let all = klass.all_interfaces.iter().filter_map(|i| i.declared_method(name, descriptor));
        all.filter(|method| !method.is_static() && !method.flags().is_private())
    };
    declared().find(|method| !method.is_abstract()).or_else(|| declared().next())
}

fn signature_name(klass: KlassRef) -> String {
    if klass.is_array() { klass.name.text().into_owned() } else { format!("L{};", klass.name) }
}

// Reflection objects carry their class and the index of the member in it.

pub extern "C" fn from_reflected_method(env: Env, reflected: jobject) -> jmethodID {
    env.enter(|t| {
        let reflected = entry::non_null(t, reflected)?.get();
        let fields = &t.vm.known.fields;
        let is_constructor = t.klass_of(reflected) == t.vm.known.classes.reflect_constructor();
        let (class, slot) = if is_constructor {
            (fields.constructor_class(), fields.constructor_slot())
        } else {
            (fields.method_class(), fields.method_slot())
        };
        let klass = t.klass_of_mirror(t.load_ref(reflected, class));
        let slot: i32 = object::get(reflected, slot);
        initialize::initialize(t, klass)?;
        Ok(klass.methods()[slot as usize] as jmethodID)
    })
}

pub extern "C" fn from_reflected_field(env: Env, reflected: jobject) -> jfieldID {
    env.enter(|t| {
        let reflected = entry::non_null(t, reflected)?.get();
        let fields = &t.vm.known.fields;
        let klass = t.klass_of_mirror(t.load_ref(reflected, fields.field_class()));
        let slot: i32 = object::get(reflected, fields.field_slot());
        initialize::initialize(t, klass)?;
        Ok(klass.fields()[slot as usize] as jfieldID)
    })
}

pub extern "C" fn to_reflected_method(
    env: Env,
    _class: jclass,
    method: jmethodID,
    _is_static: jboolean,
) -> jobject {
    env.enter(|t| {
        let method = method_of(method);
        let fields = &t.vm.known.fields;
        let (name, descriptor, slot) = if method.is_initializer() {
            let descriptor = "(Z)[Ljava/lang/reflect/Constructor;";
            ("getDeclaredConstructors0", descriptor, fields.constructor_slot())
        } else {
            ("getDeclaredMethods0", "(Z)[Ljava/lang/reflect/Method;", fields.method_slot())
        };
        reflected(t, method.holder, name, descriptor, slot, method.slot)
    })
}

pub extern "C" fn to_reflected_field(
    env: Env,
    _class: jclass,
    field: jfieldID,
    _is_static: jboolean,
) -> jobject {
    env.enter(|t| {
        let field = field_of(field);
        let descriptor = "(Z)[Ljava/lang/reflect/Field;";
        let slot = t.vm.known.fields.field_slot();
        reflected(t, field.holder, "getDeclaredFields0", descriptor, slot, field.slot)
    })
}

/// The reflection object with this slot among those that a native of `Class` makes.
fn reflected(
    t: &JavaThread,
    klass: KlassRef,
    getter: &str,
    descriptor: &str,
    slot_offset: usize,
    slot: u32,
) -> JResult<Handle> {
    let class = t.vm.known.classes.class();
    let getter = class.declared_method(Symbol::of(getter), Symbol::of(descriptor));
    let getter = getter.unwrap_or_else(|| panic!("java.lang.Class has no {descriptor}"));
    let arguments = [t.mirror(klass).address() as u64, 0];
    let array = ObjectRef::from_address(t.call(getter, &arguments)? as usize);
    let has_slot = |member: &ObjectRef| object::get::<i32>(*member, slot_offset) as u32 == slot;
    let mut members = (0..array.array_length()).map(|index| t.load_element(array, index));
    let member = members.find(has_slot);
    Ok(t.root(member.unwrap_or_else(|| panic!("{klass:?} has no member {slot}"))))
}
