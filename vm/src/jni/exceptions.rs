//! Exceptions in native code.

use crate::ffi::entry::{self, Env};
use crate::ffi::types::{JNI_ERR, JNI_OK, jboolean, jclass, jint, jthrowable};
use crate::java::uncaught;
use crate::loading::{allocate, errors, initialize, strings};
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, KlassRef, Throw};
use classfile::symbol::Symbol;
use gc::object::ObjectRef;
use libc::c_char;

pub extern "C" fn throw(env: Env, throwable: jthrowable) -> jint {
    env.enter(|t| {
        let throwable = entry::non_null(t, throwable)?;
        let _ = t.throw_object(throwable.get());
        Ok(JNI_OK)
    })
}

pub extern "C" fn throw_new(env: Env, class: jclass, message: *const c_char) -> jint {
    let thrown: jboolean = env.enter(|t| {
        let klass = entry::klass(t, class)?;
        let message = if message.is_null() {
            t.root(ObjectRef::NULL)
        } else {
            // SAFETY: JNI callers pass a C string.
            t.root(strings::from_modified_utf8(t, unsafe { entry::c_bytes(message) })?)
        };
        let descriptor = "(Ljava/lang/String;)V";
        let throwable = construct(t, klass, descriptor, &[message])?;
        let _ = t.throw_object(throwable.get());
        Ok(true)
    });
    if thrown != 0 { JNI_OK } else { JNI_ERR }
}

/// A new object of a class by a constructor with reference parameters. A safepoint.
pub fn construct(
    t: &JavaThread,
    klass: KlassRef,
    descriptor: &str,
    arguments: &[Handle],
) -> JResult<Handle> {
    initialize::initialize(t, klass)?;
    let constructor = klass.declared_method(Symbol::of("<init>"), Symbol::of(descriptor));
    let Some(constructor) = constructor else {
        let message = format!("{}.<init>{descriptor}", klass.java_name());
        return errors::fail(t, "java/lang/NoSuchMethodError", &message);
    };
    let object = t.root(allocate::new_instance(t, klass)?);
    let handles = std::iter::once(&object).chain(arguments);
    let slots: Vec<u64> = handles.map(|handle| handle.get().address() as u64).collect();
    t.call(constructor, &slots)?;
    Ok(object)
}

pub extern "C" fn exception_occurred(env: Env) -> jthrowable {
    env.enter(|t| Ok(t.pending.get()))
}

pub extern "C" fn exception_check(env: Env) -> jboolean {
    // Null or not does not change under the collector's hands.
    env.thread().has_pending() as jboolean
}

pub extern "C" fn exception_clear(env: Env) {
    env.enter(|t| {
        t.pending.set(ObjectRef::NULL);
        Ok(())
    })
}

pub extern "C" fn exception_describe(env: Env) {
    env.enter(|t| {
        if t.has_pending() {
            uncaught::print(t, Throw::PENDING);
        }
        Ok(())
    })
}

pub extern "C" fn fatal_error(env: Env, message: *const c_char) -> ! {
    let text = if message.is_null() {
        "null".into()
    } else {
        // SAFETY: JNI callers pass a C string.
        String::from_utf8_lossy(unsafe { entry::c_bytes(message) })
    };
    base::say(format_args!("FATAL ERROR in native method: {text}"));
    env.enter(|t| {
        crate::threads::dump::print_stack(t, &mut |line| base::say(format_args!("{line}")));
        Ok(())
    });
    std::process::abort()
}
