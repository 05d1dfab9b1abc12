//! Field ids and access to fields.

use super::value::{FieldValue, load_field, store_field};
use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jclass, jfieldID, jobject};
use crate::loading::{errors, initialize};
use crate::machine::JavaThread;
use crate::runtime::{FieldRef, JResult};
use classfile::symbol::{Scope, Symbol};
use libc::c_char;

pub extern "C" fn get_field_id(
    env: Env,
    class: jclass,
    name: *const c_char,
    descriptor: *const c_char,
) -> jfieldID {
    env.enter(|t| find(t, class, name, descriptor, false))
}

pub extern "C" fn get_static_field_id(
    env: Env,
    class: jclass,
    name: *const c_char,
    descriptor: *const c_char,
) -> jfieldID {
    env.enter(|t| find(t, class, name, descriptor, true))
}

fn find(
    t: &JavaThread,
    class: jclass,
    name: *const c_char,
    descriptor: *const c_char,
    is_static: bool,
) -> JResult<jfieldID> {
    let klass = entry::klass(t, class)?;
    initialize::initialize(t, klass)?;
    // SAFETY: JNI callers pass C strings.
    let (name, descriptor) = unsafe { (entry::c_bytes(name), entry::c_bytes(descriptor)) };
    let _names = Scope::new();
    let (name, descriptor) = (Symbol::intern(name), Symbol::intern(descriptor));
    match klass.find_field(name, descriptor) {
        Some(field) if field.is_static() == is_static => {
            field.expose();
            Ok(field)
        }
        _ if is_static => errors::fail(t, "java/lang/NoSuchFieldError", &name.text()),
        _ => {
            let message = format!("{}.{name} {descriptor}", klass.java_name());
            errors::fail(t, "java/lang/NoSuchFieldError", &message)
        }
    }
}

/// The field of an id.
#[inline]
pub fn field_of(id: jfieldID) -> FieldRef {
    // SAFETY: field ids are given out by `GetFieldID` and its like; fields live as long as
    // their classes, and a caller must not use an id of a class that may be unloaded (JNI, chapter 2).
    unsafe { &*id }
}

pub extern "C" fn get_field<T: FieldValue>(env: Env, object: jobject, field: jfieldID) -> T {
    env.enter(|t| {
        let object = entry::non_null(t, object)?.get();
        Ok(load_field::<T>(t, object, field_of(field)))
    })
}

pub extern "C" fn set_field<T: FieldValue>(env: Env, object: jobject, field: jfieldID, value: T) {
    env.enter(|t| {
        let object = entry::non_null(t, object)?.get();
        store_field(t, object, field_of(field), value);
        Ok(())
    })
}

pub extern "C" fn get_static_field<T: FieldValue>(env: Env, _: jclass, field: jfieldID) -> T {
    env.enter(|t| {
        let field = field_of(field);
        Ok(load_field::<T>(t, t.mirror(field.holder), field))
    })
}

pub extern "C" fn set_static_field<T: FieldValue>(env: Env, _: jclass, field: jfieldID, value: T) {
    env.enter(|t| {
        let field = field_of(field);
        store_field(t, t.mirror(field.holder), field, value);
        Ok(())
    })
}
