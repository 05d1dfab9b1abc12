//! The functions by which the class library reports modules to the VM.

use super::classes::internal_name;
use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jboolean, jobject, jobjectArray, jstring};
use crate::java::fields::{self, F};
use crate::loading::modules::{ExportTo, ModuleRef, NamedModule, NewModule};
use crate::loading::{errors, lookup, strings};
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, LoaderData};
use classfile::symbol::{Scope, Symbol};
use gc::object::ObjectRef;
use rustc_hash::FxHashSet;

#[unsafe(no_mangle)]
pub extern "C" fn JVM_DefineModule(
    env: Env,
    module: jobject,
    is_open: jboolean,
    version: jstring,
    location: jstring,
    packages: jobjectArray,
) {
    env.enter(|t| {
        if module.is_null() {
            return null_pointer(t, "Null module object");
        }
        let module = entry::handle(t, module);
        check_is_module(t, module, "module is not an instance of type java.lang.Module")?;
        let name = fields::get_ref(t, module.get(), F::ModuleName);
        if name.is_null() {
            return illegal_argument(t, "Module name cannot be null");
        }
        let loader = fields::get_ref(t, module.get(), F::ModuleLoader);
        let loader = lookup::loader_data(t, loader);
        let _names = Scope::new();
        let packages = package_names(t, entry::resolve(t, packages));
        check_packages(t, loader, &packages)?;
        let new = NewModule {
            name: strings::to_text(t, fields::get_ref(t, module.get(), F::ModuleName)),
            version: text(t, version),
            location: text(t, location),
            is_open: is_open != 0,
            packages,
        };
        t.vm.modules.define(t, loader, new, module.get()).or_else(|conflict| {
            errors::fail(t, "java/lang/LayerInstantiationException", &conflict.0)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_SetBootLoaderUnnamedModule(env: Env, module: jobject) {
    env.enter(|t| {
        if module.is_null() {
            return null_pointer(t, "Null module object");
        }
        let module = entry::handle(t, module);
        check_is_module(t, module, "module is not an instance of type java.lang.Module")?;
        if !fields::get_ref(t, module.get(), F::ModuleName).is_null() {
            return illegal_argument(
                t,
                "boot loader's unnamed module's java.lang.Module has a name",
            );
        }
        if !fields::get_ref(t, module.get(), F::ModuleLoader).is_null() {
            let message = "Class loader must be the boot class loader";
            return illegal_argument(t, message);
        }
        t.vm.modules.set_boot_unnamed(t, module.get());
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn JVM_AddModuleExports(env: Env, from: jobject, package: jstring, to: jobject) {
    env.enter(|t| {
        if to.is_null() {
            return null_pointer(t, "to_module is null");
        }
        let Some(from) = source_module(t, from)? else {
            return Ok(());
        };
        let Some(to) = t.vm.modules.of_object(t, entry::resolve(t, to)) else {
            return illegal_argument(t, "to_module is invalid");
        };
        export(t, from, package, ExportTo::Module(to))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn JVM_AddModuleExportsToAll(env: Env, from: jobject, package: jstring) {
    env.enter(|t| match source_module(t, from)? {
        Some(from) => export(t, from, package, ExportTo::Everyone),
        None => Ok(()),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn JVM_AddModuleExportsToAllUnnamed(env: Env, from: jobject, package: jstring) {
    env.enter(|t| match source_module(t, from)? {
        Some(from) => export(t, from, package, ExportTo::AllUnnamed),
        None => Ok(()),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn JVM_AddReadsModule(env: Env, from: jobject, source: jobject) {
    env.enter(|t| {
        let Some(from) = source_module(t, from)? else {
            return Ok(());
        };
        if source.is_null() {
            from.add_read(None);
            return Ok(());
        }
        match t.vm.modules.of_object(t, entry::resolve(t, source)) {
            Some(source) => from.add_read(Some(source)),
            None => return illegal_argument(t, "source_module is invalid"),
        }
        Ok(())
    })
}

/// The module that a call is about; `None` for an unnamed one, which reads and exports everything.
fn source_module(t: &JavaThread, module: jobject) -> JResult<Option<&'static NamedModule>> {
    if module.is_null() {
        return null_pointer(t, "from_module is null");
    }
    match t.vm.modules.of_object(t, entry::resolve(t, module)) {
        Some(ModuleRef::Named(module)) => Ok(Some(module)),
        Some(ModuleRef::Unnamed(_)) => Ok(None),
        None => illegal_argument(t, "from_module cannot be found"),
    }
}

fn export(t: &JavaThread, from: &NamedModule, package: jstring, to: ExportTo) -> JResult<()> {
    if package.is_null() {
        return null_pointer(t, "package is null");
    }
    let _names = Scope::new();
    let name = internal_name(&strings::to_modified_utf8(t, entry::resolve(t, package)));
    if from.export(name, to) {
        return Ok(());
    }
    let message = format!("Package {} not found in from_module {}", name.text(), from.name);
    illegal_argument(t, &message)
}

/// Internal names of the packages in a `String[]`. No safepoint.
fn package_names(t: &JavaThread, packages: ObjectRef) -> FxHashSet<Symbol> {
    if packages.is_null() {
        return FxHashSet::default();
    }
    let name = |i: usize| {
        let string = t.load_element(packages, i);
        internal_name(&strings::to_modified_utf8(t, string))
    };
    (0..packages.array_length()).map(name).collect()
}

/// Only the boot and the platform loader may have packages under `java`.
fn check_packages(
    t: &JavaThread,
    loader: &'static LoaderData,
    packages: &FxHashSet<Symbol>,
) -> JResult<()> {
    if loader.is_boot() || t.vm.known.is_platform_loader(loader) || t.vm.init_level() < 2 {
        return Ok(());
    }
    let is_java = |p: &&Symbol| p.bytes() == b"java" || p.bytes().starts_with(b"java/");
    let Some(package) = packages.iter().find(is_java) else {
        return Ok(());
    };
    let message = format!(
        "Class loader (instance of): {} tried to define prohibited package name: {}",
        t.klass_of(t.load_root(&loader.object)).java_name(),
        package.text().replace('/', ".")
    );
    illegal_argument(t, &message)
}

fn check_is_module(t: &JavaThread, module: Handle, message: &str) -> JResult<()> {
    if t.klass_of(module.get()).is_subtype_of(t.vm.known.classes.module()) {
        return Ok(());
    }
    illegal_argument(t, message)
}

fn text(t: &JavaThread, string: jstring) -> Option<String> {
    let string = entry::resolve(t, string);
    (!string.is_null()).then(|| strings::to_text(t, string))
}

fn null_pointer<T>(t: &JavaThread, message: &str) -> JResult<T> {
    errors::fail(t, "java/lang/NullPointerException", message)
}

fn illegal_argument<T>(t: &JavaThread, message: &str) -> JResult<T> {
    errors::fail(t, "java/lang/IllegalArgumentException", message)
}
