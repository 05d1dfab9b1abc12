//! Finding classes by name (JVMS 5.3).

use super::{arrays, call, constraints, define, errors, holders, strings};
use crate::machine::JavaThread;
use crate::monitors::monitor;
use crate::runtime::{JResult, KlassRef, LoaderData};
use classfile::symbol::{Scope, Symbol};
use classfile::{BasicType, FieldType};
use gc::object::ObjectRef;

/// The class of a name (internal, or an array descriptor) as seen by a loader; calls
/// `ClassLoader.loadClass` where needed. Throws `ClassNotFoundException` or a `LinkageError`. A safepoint.
pub fn load_class(t: &JavaThread, loader: &'static LoaderData, name: Symbol) -> JResult<KlassRef> {
    match load_if_there(t, loader, name)? {
        Some(klass) => Ok(klass),
        None => errors::fail(t, NOT_FOUND, &name.text()),
    }
}

/// As `load_class` for a name in a class: a missing class is a `NoClassDefFoundError`, caused by the
/// `ClassNotFoundException` that a loader threw, if one did (JVMS 5.3).
pub fn load_named_class(
    t: &JavaThread,
    loader: &'static LoaderData,
    name: Symbol,
) -> JResult<KlassRef> {
    match load_if_there(t, loader, name) {
        Ok(Some(klass)) => Ok(klass),
        Ok(None) => errors::fail(t, NO_DEFINITION, &name.text()),
        Err(thrown) if errors::pending_is(t, NOT_FOUND) => {
            let _scope = t.scope();
            let cause = t.root(t.take_pending(thrown));
            Err(errors::throw_with_cause(t, NO_DEFINITION, Some(&name.text()), cause))
        }
        Err(thrown) => Err(thrown),
    }
}

/// `Ok(None)`: the loader has no such class, and has thrown nothing.
fn load_if_there(
    t: &JavaThread,
    loader: &'static LoaderData,
    name: Symbol,
) -> JResult<Option<KlassRef>> {
    if let Some(known) = loader.find(name) {
        return Ok(Some(known));
    }
    if name.bytes().first() == Some(&b'[') {
        return load_array(t, loader, name);
    }
    if !loader.is_boot() {
        return with_lock(t, loader, || match loader.find(name) {
            Some(known) => Ok(Some(known)),
            None => ask_loader(t, loader, name),
        });
    }
    load_boot_class(t, name)
}

/// As `load_class`, but only for classes that are loaded already. No safepoint.
pub fn find_loaded(loader: &'static LoaderData, name: Symbol) -> Option<KlassRef> {
    loader.find(name)
}

/// A class of the boot loader; `Ok(None)` when it has no such class. A safepoint.
pub fn load_boot_class(t: &JavaThread, name: Symbol) -> JResult<Option<KlassRef>> {
    let loader = t.vm.boot_loader;
    if let Some(known) = loader.find(name) {
        return Ok(Some(known));
    }
    let package = classfile::descriptor::package_of(name.bytes());
    let text = name.text();
    let mut options = define::DefineOptions { expected_name: Some(name), ..Default::default() };
    if let Some(module) = t.vm.modules.boot_module_of(t, package) {
        let patches = t.vm.module_patches.get();
        if let Some(bytes) = patches.and_then(|patches| patches.class(&module, &text)) {
            return define::define_class(t, loader, &bytes, options).map(Some);
        }
        return match t.vm.image.class(&module, &text) {
            Some(bytes) => define::define_class(t, loader, bytes, options).map(Some),
            None => Ok(None),
        };
    }
    let appended = t.vm.appended.get().and_then(|appended| appended.class(&text));
    let Some((bytes, source)) = appended else {
        return Ok(None);
    };
    options.source = Some(source);
    define::define_class(t, loader, &bytes, options).map(Some)
}

/// The loader data of a `ClassLoader` object; null is the boot loader. Made on first use. No safepoint.
pub fn loader_data(t: &JavaThread, loader: ObjectRef) -> &'static LoaderData {
    t.vm.holders.of_loader(t, loader)
}

fn load_array(
    t: &JavaThread,
    loader: &'static LoaderData,
    name: Symbol,
) -> JResult<Option<KlassRef>> {
    let dimensions = name.bytes().iter().take_while(|byte| **byte == b'[').count();
    let element = FieldType::parse(&name.bytes()[dimensions..]);
    let element = element.filter(|ty| dimensions < 256 && ty.basic != BasicType::Void);
    let Some(element) = element else {
        return Ok(None);
    };
    let _names = Scope::new();
    let innermost = match element.class_name() {
        Some(name) => load_if_there(t, loader, name)?,
        None => Some(t.vm.known.primitive(element.basic)),
    };
    let Some(mut klass) = innermost else {
        return Ok(None);
    };
    for _ in 0..dimensions {
        klass = arrays::array_class(t, klass)?;
    }
    Ok(Some(klass))
}

/// Calls `loadClass` of the loader and records its answer (JVMS 5.3.2). A class of another name is none.
fn ask_loader(
    t: &JavaThread,
    loader: &'static LoaderData,
    name: Symbol,
) -> JResult<Option<KlassRef>> {
    let _scope = t.scope();
    let object = t.root(t.load_root(&loader.object));
    let java_name = strings::from_modified_utf8(t, dotted(name).as_bytes())?;
    let java_name = t.root(java_name);
    let descriptor = "(Ljava/lang/String;)Ljava/lang/Class;";
    let mirror = call::call_virtual(t, object, "loadClass", descriptor, &[java_name])?;
    // Nothing but the answer may keep the class so far.
    let mirror = t.root(ObjectRef::from_address(mirror as usize)).get();
    if mirror.is_null() {
        return Ok(None);
    }
    let klass = t.klass_of_mirror(mirror);
    if klass.name != name {
        return Ok(None);
    }
    match t.vm.constraints.record(loader, klass) {
        Ok(recorded) if recorded == klass => {
            // Its classes may name it as a constant.
            holders::depend(t, loader.holder, klass);
            Ok(Some(klass))
        }
        Ok(other) | Err(other) => {
            let message = constraints::refused(t, loader, klass, other);
            errors::fail(t, "java/lang/LinkageError", &message)
        }
    }
}

/// Runs `body` owning the loader's monitor if it is not parallel capable: such a loader loads and defines one class
/// at a time, whether Java code or the VM asks. A safepoint.
pub fn with_lock<T>(
    t: &JavaThread,
    loader: &'static LoaderData,
    body: impl FnOnce() -> JResult<T>,
) -> JResult<T> {
    if loader.is_boot() {
        return body();
    }
    let _scope = t.scope();
    let object = t.root(t.load_root(&loader.object));
    if !t.load_ref(object.get(), t.vm.known.fields.loader_lock_map()).is_null() {
        return body();
    }
    monitor::enter(t, object.get());
    let result = body();
    monitor::exit(t, object.get()).map_err(|_| errors::not_owner(t))?;
    result
}

/// How messages name a loader: `'app'`, `my.Loader @1b2c`, `'bootstrap'`. No safepoint.
pub fn describe(t: &JavaThread, loader: &LoaderData) -> String {
    if loader.is_boot() {
        return "'bootstrap'".into();
    }
    let object = t.load_root(&loader.object);
    let text = t.load_ref(object, t.vm.known.fields.loader_name_and_id());
    match text.is_null() {
        true => t.klass_of(object).java_name(),
        false => strings::to_text(t, text),
    }
}

/// `a/b/C` to `a.b.C`.
pub fn dotted(name: Symbol) -> String {
    name.text().replace('/', ".")
}

const NOT_FOUND: &str = "java/lang/ClassNotFoundException";
const NO_DEFINITION: &str = "java/lang/NoClassDefFoundError";
