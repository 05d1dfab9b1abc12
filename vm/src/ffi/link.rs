//! Finding the implementation of a native method.
//!
//! In this order: the function that `RegisterNatives` set; the VM's own table ([`registry`](super::registry)), for
//! classes of the boot loader; the JDK's libjava, for those too; the libraries of the class's loader, by the upcall
//! `ClassLoader.findNative`. Each symbol is tried in its short, then in its long form.

use super::natives::{Linked, Natives};
use super::registry::{Native, NativeEntry};
use crate::loading::{errors, names, strings};
use crate::machine::JavaThread;
use crate::runtime::{JResult, Method, MethodRef};
use classfile::symbol::Symbol;
use gc::object::ObjectRef;
use libc::c_void;
use std::ffi::CString;

/// The method's implementation, found once; throws `UnsatisfiedLinkError`. A safepoint.
#[cold]
pub(super) fn link(t: &JavaThread, method: MethodRef) -> JResult<&'static Linked> {
    let native = find(t, method)?;
    Ok(Natives::set(method, native))
}

fn find(t: &JavaThread, method: MethodRef) -> JResult<Native> {
    if let Some(native) = t.vm.natives.find_own(method) {
        return Ok(native);
    }
    for symbol in [names::short_symbol(method), names::long_symbol(method)].into_iter().flatten() {
        let symbol = CString::new(symbol).expect("mangled names hold no NUL");
        if method.holder.loader.is_boot() {
            let function = t.vm.natives.symbol(&symbol);
            if !function.is_null() {
                return Ok(Native::C(function));
            }
        }
        let function = find_in_loader(t, method, &symbol)?;
        if !function.is_null() {
            return Ok(Native::C(function));
        }
    }
    let message = format!("'{}'", names::external(method));
    errors::fail(t, "java/lang/UnsatisfiedLinkError", &message)
}

/// `ClassLoader.findNative(loader, symbol)`: the Java code knows which libraries a loader has loaded.
fn find_in_loader(t: &JavaThread, method: MethodRef, symbol: &CString) -> JResult<*const c_void> {
    let text = symbol.to_str().expect("mangled names are ASCII");
    let (class, name) = (Symbol::of("java/lang/ClassLoader"), Symbol::of("findNative"));
    let class = t.vm.boot_loader.find(class);
    let Some(finder) = class.and_then(|class| {
        class.declared_method(name, Symbol::of("(Ljava/lang/ClassLoader;Ljava/lang/String;)J"))
    }) else {
        return Ok(std::ptr::null());
    };
    // Before the libraries' tables exist there is nothing to find, and the upcall would not return. Those of the
    // boot loader's exist before there are other loaders.
    let boot = t.vm.boot_loader.find(Symbol::of("jdk/internal/loader/BootLoader"));
    let has_tables =
        finder.holder.is_initialized() || boot.is_some_and(|boot| boot.is_initialized());
    if !has_tables && method.holder.loader.is_boot() {
        return Ok(std::ptr::null());
    }
    let _scope = t.scope();
    let name = strings::from_str(t, text)?;
    let loader = loader_object(t, method);
    let arguments = [loader.address() as u64, name.address() as u64];
    Ok(t.call(finder, &arguments)? as *const c_void)
}

fn loader_object(t: &JavaThread, method: &Method) -> ObjectRef {
    t.load_root(&method.holder.loader.object)
}

impl Natives {
    /// The VM's own implementation of a method of the boot loader.
    fn find_own(&self, method: &Method) -> Option<Native> {
        if !method.holder.loader.is_boot() {
            return None;
        }
        let entries = self.own.get(&method.holder.name)?;
        let is_it = |entry: &&NativeEntry| {
            entry.name.as_bytes() == method.name().bytes()
                && (entry.descriptor.is_empty()
                    || entry.descriptor.as_bytes() == method.descriptor().bytes())
        };
        if let Some(entry) = entries.iter().copied().find(is_it) {
            return Some(entry.native);
        }
        // A class whose natives are all in the VM's own table has nothing to register. Those of libjava register
        // the rest.
        let is_register = method.name().bytes() == b"registerNatives" && method.argument_slots == 0;
        let is_register =
            is_register && !REGISTERED_BY_LIBJAVA.contains(&method.holder.name.bytes());
        is_register.then_some(Native::Direct(|_, _| Ok(0)))
    }

    /// Whether the VM has its own implementation, which `RegisterNatives` must not replace.
    pub(crate) fn is_own(&self, method: &Method) -> bool {
        self.find_own(method).is_some()
    }
}

const REGISTERED_BY_LIBJAVA: [&[u8]; 3] =
    [b"java/lang/Class", b"java/lang/System", b"java/lang/Thread"];
