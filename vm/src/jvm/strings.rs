//! `java.lang.String`, and identity hash codes.

use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jint, jobject, jstring};
use crate::java::objects::is_cloneable;
use crate::loading::{allocate, errors, strings};
use gc::object::ObjectRef;

#[unsafe(no_mangle)]
extern "C" fn JVM_InternString(env: Env, string: jstring) -> jstring {
    env.enter(|t| {
        if string.is_null() {
            return Ok(ObjectRef::NULL);
        }
        strings::intern(t, entry::handle(t, string))
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IHashCode(env: Env, object: jobject) -> jint {
    env.enter(|t| {
        let object = entry::resolve(t, object);
        Ok(if object.is_null() { 0 } else { crate::monitors::monitor::identity_hash(t, object) })
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_Clone(env: Env, object: jobject) -> jobject {
    env.enter(|t| {
        let object = entry::non_null(t, object)?.get();
        let klass = t.klass_of(object);
        if !is_cloneable(klass) {
            let name = klass.java_name();
            return errors::fail(t, "java/lang/CloneNotSupportedException", &name);
        }
        allocate::clone(t, object)
    })
}
