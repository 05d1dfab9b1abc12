//! Finding, defining and asking about classes.

use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jboolean, jbyte, jclass, jint, jobject, jobjectArray, jsize, jstring};
use crate::java::fields::{self, F};
use crate::java::objects;
use crate::loading::define::{self, DefineOptions, HiddenOptions};
use crate::loading::{allocate, errors, initialize, link, lookup, strings};
use crate::machine::JavaThread;
use crate::runtime::{JResult, KlassKind};
use classfile::symbol::{Scope, Symbol};
use gc::object::ObjectRef;
use libc::c_char;

#[unsafe(no_mangle)]
extern "C" fn JVM_FindPrimitiveClass(env: Env, name: *const c_char) -> jclass {
    env.enter(|t| {
        // SAFETY: the caller passes a C string.
        let name = unsafe { entry::c_bytes(name) };
        let known = crate::loading::known::PRIMITIVE_TYPES.into_iter();
        match known.into_iter().find(|ty| ty.java_name().map(str::as_bytes) == Some(name)) {
            Some(ty) => Ok(t.mirror(t.vm.known.primitive(ty))),
            None => {
                errors::fail(t, "java/lang/ClassNotFoundException", &String::from_utf8_lossy(name))
            }
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_FindClassFromBootLoader(env: Env, name: *const c_char) -> jclass {
    env.enter(|t| {
        // SAFETY: as above.
        let name = unsafe { optional_bytes(name) };
        let Some(name) = name.filter(|name| name.len() <= NAME_BYTES_MAX) else {
            return Ok(ObjectRef::NULL);
        };
        let _names = Scope::new();
        let found = lookup::load_boot_class(t, Symbol::intern(name))?;
        Ok(found.map_or(ObjectRef::NULL, |klass| t.mirror(klass)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_FindClassFromCaller(
    env: Env,
    name: *const c_char,
    init: jboolean,
    loader: jobject,
    _caller: jclass,
) -> jclass {
    env.enter(|t| {
        // SAFETY: as above.
        let name = unsafe { optional_bytes(name) };
        let names = Scope::new();
        let name = checked_name(t, name, "java/lang/ClassNotFoundException")?;
        let loader = lookup::loader_data(t, entry::resolve(t, loader));
        let klass = lookup::load_class(t, loader, name)?;
        // A static initializer may run for long.
        drop(names);
        if init != 0 {
            initialize::initialize(t, klass)?;
        }
        Ok(t.mirror(klass))
    })
}

/// For libverify: a class named in another one.
#[unsafe(no_mangle)]
extern "C" fn JVM_FindClassFromClass(
    env: Env,
    name: *const c_char,
    init: jboolean,
    from: jclass,
) -> jclass {
    env.enter(|t| {
        // SAFETY: as above.
        let name = unsafe { optional_bytes(name) };
        let names = Scope::new();
        let name = checked_name(t, name, "java/lang/NoClassDefFoundError")?;
        let loader = entry::klass(t, from)?.loader;
        let klass = lookup::load_named_class(t, loader, name)?;
        drop(names);
        if init != 0 {
            initialize::initialize(t, klass)?;
        }
        Ok(t.mirror(klass))
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_FindLoadedClass(env: Env, loader: jobject, name: jstring) -> jclass {
    env.enter(|t| {
        let name = entry::resolve(t, name);
        if name.is_null() {
            return Ok(ObjectRef::NULL);
        }
        let _names = Scope::new();
        let name = internal_name(&strings::to_modified_utf8(t, name));
        let loader = lookup::loader_data(t, entry::resolve(t, loader));
        Ok(loader.find(name).map_or(ObjectRef::NULL, |klass| t.mirror(klass)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_DefineClass(
    env: Env,
    name: *const c_char,
    loader: jobject,
    bytes: *const jbyte,
    length: jsize,
    domain: jobject,
) -> jclass {
    JVM_DefineClassWithSource(env, name, loader, bytes, length, domain, std::ptr::null())
}

#[unsafe(no_mangle)]
extern "C" fn JVM_DefineClassWithSource(
    env: Env,
    name: *const c_char,
    loader: jobject,
    bytes: *const jbyte,
    length: jsize,
    domain: jobject,
    source: *const c_char,
) -> jclass {
    env.enter(|t| {
        // SAFETY: C strings or null, and a buffer of `length` bytes.
        let (name, source, bytes) =
            unsafe { (optional_bytes(name), optional_bytes(source), class_bytes(bytes, length)) };
        let _names = Scope::new();
        let expected_name = match name {
            Some(_) => Some(checked_name(t, name, "java/lang/NoClassDefFoundError")?),
            None => None,
        };
        let options = DefineOptions {
            expected_name,
            protection_domain: optional_handle(t, domain),
            source: source.map(|text| String::from_utf8_lossy(text).into_owned()),
            ..Default::default()
        };
        let loader = lookup::loader_data(t, entry::resolve(t, loader));
        let klass = define::define_class(t, loader, bytes, options)?;
        Ok(t.mirror(klass))
    })
}

/// `Lookup.defineClass` and `defineHiddenClass`.
#[unsafe(no_mangle)]
extern "C" fn JVM_LookupDefineClass(
    env: Env,
    lookup: jclass,
    name: *const c_char,
    bytes: *const jbyte,
    length: jsize,
    domain: jobject,
    init: jboolean,
    flags: jint,
    class_data: jobject,
) -> jclass {
    env.enter(|t| {
        let mirror = entry::resolve(t, lookup);
        if mirror.is_null() {
            return illegal_argument(t, "Lookup class is null");
        }
        let host = t.klass_of_mirror(mirror);
        let is_hidden = flags & HIDDEN_CLASS != 0;
        let is_nestmate = flags & NESTMATE != 0;
        if !is_hidden && is_nestmate {
            return illegal_argument(t, "Ordinary class cannot be a nestmate of the lookup class");
        }
        let class_data = optional_handle(t, class_data);
        if !is_hidden && class_data.is_some() {
            return illegal_argument(t, "Class data is only for hidden classes");
        }
        // SAFETY: a C string or null, and a buffer of `length` bytes.
        let (name, bytes) = unsafe { (optional_bytes(name), class_bytes(bytes, length)) };
        let names = Scope::new();
        let expected_name = match name {
            Some(_) => Some(checked_name(t, name, "java/lang/NoClassDefFoundError")?),
            None => None,
        };
        let is_strong = flags & STRONG_LOADER_LINK != 0;
        let hidden =
            is_hidden.then_some(HiddenOptions { host, is_nestmate, is_strong, class_data });
        let options = DefineOptions {
            expected_name,
            protection_domain: optional_handle(t, domain),
            source: None,
            hidden,
        };
        let klass = define::define_class(t, host.loader, bytes, options)?;
        drop(names);
        if klass.package() != host.package() {
            return illegal_argument(t, "Lookup class and defined class are in different packages");
        }
        if init != 0 {
            initialize::initialize(t, klass)?;
        } else {
            link::link(t, klass)?;
        }
        Ok(t.mirror(klass))
    })
}

/// Makes the name of a class, which the class then keeps.
#[unsafe(no_mangle)]
extern "C" fn JVM_InitClassName(env: Env, class: jclass) -> jstring {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        let name = strings::from_modified_utf8(t, &objects::external_name(klass))?;
        let name = strings::intern(t, t.root(name))?;
        fields::put_ref(t, t.mirror(klass), F::ClassName, name);
        Ok(name)
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassInterfaces(env: Env, class: jclass) -> jobjectArray {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        match &klass.kind {
            KlassKind::Instance(instance) => objects::class_array(t, &instance.interfaces),
            KlassKind::Primitive(_) => objects::class_array(t, &[]),
            _ => {
                let known = &t.vm.known.classes;
                objects::class_array(t, &[known.cloneable(), known.serializable()])
            }
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsInterface(env: Env, class: jclass) -> jboolean {
    env.enter(|t| Ok(entry::klass(t, class)?.is_interface()))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsArrayClass(env: Env, class: jclass) -> jboolean {
    env.enter(|t| Ok(entry::klass(t, class)?.is_array()))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsPrimitiveClass(env: Env, class: jclass) -> jboolean {
    env.enter(|t| Ok(entry::klass(t, class)?.is_primitive()))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsHiddenClass(env: Env, class: jclass) -> jboolean {
    env.enter(|t| Ok(entry::klass(t, class)?.is_hidden()))
}

/// A copy, as the array is handed out to any caller.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassSigners(env: Env, class: jclass) -> jobjectArray {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        let signers = t.load_ref(t.mirror(klass), t.vm.known.fields.mirror_signers());
        if signers.is_null() { Ok(signers) } else { allocate::clone(t, signers) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_SetClassSigners(env: Env, class: jclass, signers: jobjectArray) {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        if klass.instance().is_some() {
            let at = t.vm.known.fields.mirror_signers();
            t.store_ref(t.mirror(klass), at, entry::resolve(t, signers));
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetProtectionDomain(env: Env, class: jclass) -> jobject {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        if klass.is_primitive() {
            return Ok(ObjectRef::NULL);
        }
        let mut innermost = klass;
        while let Some(component) = innermost.component() {
            innermost = component;
        }
        Ok(t.load_ref(t.mirror(innermost), t.vm.known.fields.mirror_protection_domain()))
    })
}

/// The internal name that a binary name stands for.
pub fn internal_name(name: &[u8]) -> Symbol {
    if !name.contains(&b'.') {
        return Symbol::intern(name);
    }
    let slashes: Vec<u8> = name.iter().map(|b| if *b == b'.' { b'/' } else { *b }).collect();
    Symbol::intern(&slashes)
}

fn checked_name(t: &JavaThread, name: Option<&[u8]>, error: &str) -> JResult<Symbol> {
    match name {
        Some(name) if name.len() <= NAME_BYTES_MAX => Ok(Symbol::intern(name)),
        Some(name) => {
            let name = String::from_utf8_lossy(name);
            let message = format!("Class name exceeds maximum length of {NAME_BYTES_MAX}: {name}");
            errors::fail(t, error, &message)
        }
        None => errors::fail(t, error, "No class name given"),
    }
}

/// # Safety
/// `text` is null or a C string that outlives the result.
unsafe fn optional_bytes<'a>(text: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: the caller's promise.
    (!text.is_null()).then(|| unsafe { entry::c_bytes(text) })
}

/// # Safety
/// `bytes` points to `length` bytes that outlive the result.
unsafe fn class_bytes<'a>(bytes: *const jbyte, length: jsize) -> &'a [u8] {
    if bytes.is_null() || length <= 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(bytes.cast(), length as usize) }
}

fn optional_handle(t: &JavaThread, object: jobject) -> Option<crate::runtime::Handle> {
    (!object.is_null()).then(|| entry::handle(t, object))
}

fn illegal_argument<T>(t: &JavaThread, message: &str) -> JResult<T> {
    errors::fail(t, "java/lang/IllegalArgumentException", message)
}

/// Class data flags of `MethodHandleNatives.Constants`.
const NESTMATE: jint = 1;
const HIDDEN_CLASS: jint = 2;
const STRONG_LOADER_LINK: jint = 4;

/// Names are constants of class files: their length is 16 bits.
const NAME_BYTES_MAX: usize = u16::MAX as usize;
