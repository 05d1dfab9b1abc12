//! Packages of the boot loader, for `jdk.internal.loader.BootLoader`.

use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jobjectArray, jstring};
use crate::java::objects;
use crate::loading::modules::ModuleRef;
use crate::loading::strings;
use crate::machine::JavaThread;
use classfile::descriptor::package_of;
use gc::object::ObjectRef;
use std::collections::BTreeSet;

/// Where the classes of a package (`java/lang`) came from, or null when the boot loader has defined none.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetSystemPackage(env: Env, name: jstring) -> jstring {
    env.enter(|t| {
        let name = entry::non_null(t, name)?;
        let package = strings::to_modified_utf8(t, name.get());
        if !defined_packages(t).contains(package.as_slice()) {
            return Ok(ObjectRef::NULL);
        }
        match location(t, &package) {
            Some(location) => strings::from_str(t, &location),
            None => Ok(ObjectRef::NULL),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetSystemPackages(env: Env) -> jobjectArray {
    env.enter(|t| {
        // Proxies are defined in packages from which no class file was ever read.
        let names = defined_packages(t).into_iter().filter(|name| location(t, name).is_some());
        let names: Vec<String> =
            names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        objects::string_array(t, &names)
    })
}

/// Where classes of a package of the boot loader come from; `None` if that is not known.
fn location(t: &JavaThread, package: &[u8]) -> Option<String> {
    match t.vm.modules.of_package(t.vm.boot_loader, package) {
        ModuleRef::Named(module) => module.location.clone(),
        ModuleRef::Unnamed(_) => {
            let appended = t.vm.appended.get();
            appended.and_then(|path| path.package_entry(package))
        }
    }
}

/// Packages in which the boot loader has defined a class.
fn defined_packages(t: &JavaThread) -> BTreeSet<&'static [u8]> {
    let defined = t.vm.boot_loader.defined.read();
    let packages = defined.iter().map(|klass| package_of(klass.name.bytes()));
    packages.filter(|package| !package.is_empty()).collect()
}
