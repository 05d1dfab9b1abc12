//! Classes, modules, strings and monitors.

use crate::agents::start;
use crate::ffi::entry::Env;
use crate::ffi::registry::{Arguments, Native, NativeEntry, entry};
use crate::ffi::types::{jboolean, jobject, jobjectArray, jstring};
use crate::java::objects;
use crate::jvm::modules;
use crate::loading::{errors, link, strings};
use crate::machine::JavaThread;
use crate::monitors::lock_word::LockState;
use crate::monitors::monitor;
use crate::runtime::JResult;
use std::sync::atomic::Ordering;

pub const ENTRIES: &[NativeEntry] = &[
    entry("countAliveClasses0", "", Native::Direct(count_alive)),
    entry("linkClass", "", Native::Direct(link_class)),
    entry("addToBootstrapClassLoaderSearch0", "", Native::Direct(add_to_boot_path)),
    entry("addToSystemClassLoaderSearch0", "", Native::Direct(add_to_class_path)),
    entry("isInStringTable", "", Native::Direct(is_interned)),
    entry("isMonitorInflated0", "", Native::Direct(is_inflated)),
    entry("deflateIdleMonitors", "", Native::Direct(deflate_idle)),
    entry("DefineModule", "", Native::C(define_module as *const () as *const libc::c_void)),
    entry("AddModuleExports", "", Native::C(export as *const () as *const libc::c_void)),
    entry("AddReadsModule", "", Native::C(add_read as *const () as *const libc::c_void)),
    entry(
        "AddModuleExportsToAll",
        "",
        Native::C(export_to_all as *const () as *const libc::c_void),
    ),
    entry(
        "AddModuleExportsToAllUnnamed",
        "",
        Native::C(export_to_all_unnamed as *const () as *const libc::c_void),
    ),
];

/// `countAliveClasses0(name)`, by internal name: of all loaders.
fn count_alive(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let name = non_null_text(t, args)?;
    let count = t.vm.heap.layouts().count();
    let klasses = t.vm.klasses.iter(count).filter(|klass| klass.name.bytes() == name.as_bytes());
    Ok(objects::mirrors_of_found(t, klasses).len() as u64)
}

/// `linkClass(class)`
fn link_class(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let class = args.object(1);
    if class.is_null() {
        return Err(errors::null_pointer(t));
    }
    let klass = t.klass_of_mirror(class);
    if klass.instance().is_some() {
        link::link(t, klass)?;
    }
    Ok(0)
}

/// `addToBootstrapClassLoaderSearch0(path)`
fn add_to_boot_path(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let jar = non_null_text(t, args)?;
    let appended = t.vm.appended.get().expect("the boot class path is open");
    t.safely(|| appended.append(&jar));
    Ok(0)
}

/// `addToSystemClassLoaderSearch0(path)`
fn add_to_class_path(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let jar = non_null_text(t, args)?;
    start::append_to_system_loader(t, &jar)?;
    Ok(0)
}

/// `isInStringTable(string)`
fn is_interned(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let string = args.object(1);
    Ok(u64::from(!string.is_null() && strings::is_interned(t, string)))
}

/// `isMonitorInflated0(object)`
fn is_inflated(_t: &JavaThread, args: Arguments) -> JResult<u64> {
    let header = args.object(1).header().load(Ordering::Acquire);
    Ok(u64::from(LockState::of(header) == LockState::Inflated))
}

/// `deflateIdleMonitors()`: whether it was done.
fn deflate_idle(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    monitor::retire_all_idle(t);
    Ok(1)
}

fn non_null_text(t: &JavaThread, args: Arguments) -> JResult<String> {
    match args.object(1) {
        text if text.is_null() => Err(errors::null_pointer(t)),
        text => Ok(strings::to_text(t, text)),
    }
}

extern "C" fn define_module(
    env: Env,
    _this: jobject,
    module: jobject,
    is_open: jboolean,
    version: jstring,
    location: jstring,
    packages: jobjectArray,
) {
    modules::JVM_DefineModule(env, module, is_open, version, location, packages);
}

extern "C" fn export(env: Env, _this: jobject, from: jobject, package: jstring, to: jobject) {
    modules::JVM_AddModuleExports(env, from, package, to);
}

extern "C" fn export_to_all(env: Env, _this: jobject, from: jobject, package: jstring) {
    modules::JVM_AddModuleExportsToAll(env, from, package);
}

extern "C" fn export_to_all_unnamed(env: Env, _this: jobject, from: jobject, package: jstring) {
    modules::JVM_AddModuleExportsToAllUnnamed(env, from, package);
}

extern "C" fn add_read(env: Env, _this: jobject, from: jobject, source: jobject) {
    modules::JVM_AddReadsModule(env, from, source);
}
