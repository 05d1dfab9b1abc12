//! Verification while linking: the classes to verify, the choice of the verifier, and the hierarchy
//! queries of our own.

use super::{access, errors, lookup};
use crate::machine::JavaThread;
use crate::runtime::{JResult, KlassRef, Throw};
use classfile::symbol::{Scope, Symbol};
use classfile::verifier::{self, Failure};
use gc::object::ObjectRef;
use std::ffi::{CStr, c_char, c_int, c_void};

/// Verifies the code of a class if the options ask for it: by default everything but the boot loader's. A
/// safepoint: it may load classes.
pub fn verify(t: &JavaThread, klass: KlassRef) -> JResult<()> {
    let options = &t.vm.options;
    let wanted = if klass.loader.is_boot() { options.verify_boot } else { options.verify_remote };
    if !wanted || access::is_magic(t, klass) {
        return Ok(());
    }
    let _names = Scope::new();
    let file = &klass.inst().file;
    if verifier::uses_inference(file.major_version) {
        return infer(t, klass);
    }
    let superclasses = superclass_names(klass);
    match verifier::verify_class(file, &superclasses, &mut Loaded { t, klass }) {
        Ok(()) => Ok(()),
        Err(Failure::Rejected(error)) if verifier::may_fall_back(file.major_version) => {
            let second = infer(t, klass);
            if second.is_err() && errors::pending_is(t, "java/lang/VerifyError") {
                t.pending.set(ObjectRef::NULL);
                return Err(errors::bad_class_file(t, &error));
            }
            second
        }
        Err(Failure::Rejected(error)) => Err(errors::bad_class_file(t, &error)),
        Err(Failure::Hierarchy(thrown)) => Err(thrown),
    }
}

fn superclass_names(klass: KlassRef) -> Vec<Symbol> {
    let mut names = Vec::new();
    let mut at = klass.super_klass;
    while let Some(parent) = at {
        names.push(parent.name);
        at = parent.super_klass;
    }
    names
}

/// The hierarchy as the loader of the class that is verified sees it.
struct Loaded<'t> {
    t: &'t JavaThread,
    klass: KlassRef,
}

impl Loaded<'_> {
    fn find(&self, name: Symbol) -> JResult<KlassRef> {
        if name == self.klass.name {
            return Ok(self.klass);
        }
        lookup::load_named_class(self.t, self.klass.loader, name)
    }
}

impl verifier::Hierarchy for Loaded<'_> {
    type Error = Throw;

    fn is_interface(&mut self, class: Symbol) -> JResult<bool> {
        Ok(self.find(class)?.is_interface())
    }

    fn is_subclass(&mut self, class: Symbol, ancestor: Symbol) -> JResult<bool> {
        let (class, ancestor) = (self.find(class)?, self.find(ancestor)?);
        Ok(class.is_subtype_of(ancestor))
    }

    fn is_protected_elsewhere(
        &mut self,
        class: Symbol,
        name: Symbol,
        descriptor: Symbol,
        is_method: bool,
    ) -> JResult<bool> {
        let class = self.find(class)?;
        let found = if is_method {
            let method = class.find_method(name, descriptor);
            method.map(|method| (method.holder, method.flags()))
        } else {
            let field = class.find_field(name, descriptor);
            field.map(|field| (field.holder, field.info.access_flags))
        };
        Ok(found.is_some_and(|(holder, flags)| {
            flags.is_protected() && !holder.same_package(self.klass)
        }))
    }
}

/// The old verifier: the JDK's libverify.
fn infer(t: &JavaThread, klass: KlassRef) -> JResult<()> {
    type Verify = extern "C" fn(*const c_void, usize, *mut c_char, c_int, c_int) -> u8;
    let address = t.vm.natives.symbol(c"VerifyClassForMajorVersion");
    assert!(!address.is_null(), "libverify exports VerifyClassForMajorVersion");
    // SAFETY: that is the function's type in the JDK's check_code.c.
    let verify: Verify = unsafe { std::mem::transmute(address) };
    let _scope = t.scope();
    let mirror = t.root(t.mirror(klass));
    let mut message = vec![0u8; MESSAGE_BYTES];
    let major = klass.inst().file.major_version.into();
    let (buffer, length) = (message.as_mut_ptr().cast(), MESSAGE_BYTES as c_int);
    let environment = std::ptr::from_ref(&t.jni).cast();
    let passed = t.safely(|| verify(environment, mirror.address(), buffer, length, major));
    t.check()?;
    if passed != 0 {
        return Ok(());
    }
    let text = CStr::from_bytes_until_nul(&message).map_or("".into(), CStr::to_string_lossy);
    errors::fail(t, "java/lang/VerifyError", &text)
}

const MESSAGE_BYTES: usize = 256;
