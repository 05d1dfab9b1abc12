//! Calling Java methods from native code: `Call...Method`, `CallNonvirtual...`, `CallStatic...`, `NewObject`,
//! each with arguments from a `va_list` (`V`) or an array (`A`).

use super::value::Value;
use super::variadic::{ArgumentSource, Array, VaList};
use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jclass, jmethodID, jobject, jvalue};
use crate::loading::{allocate, errors, initialize, resolve};
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, Method, MethodRef};

pub extern "C" fn call_virtual_v<T: Value>(
    env: Env,
    object: jobject,
    method: jmethodID,
    list: *mut VaList,
) -> T {
    // SAFETY: a va_list of the caller's, made for this call.
    let list = unsafe { &mut *list };
    env.enter(|t| call_virtual::<T>(t, object, method, list))
}

pub extern "C" fn call_virtual_a<T: Value>(
    env: Env,
    object: jobject,
    method: jmethodID,
    values: *const jvalue,
) -> T {
    env.enter(|t| call_virtual::<T>(t, object, method, Array(values)))
}

pub extern "C" fn call_special_v<T: Value>(
    env: Env,
    object: jobject,
    _class: jclass,
    method: jmethodID,
    list: *mut VaList,
) -> T {
    // SAFETY: as in `call_virtual_v`.
    let list = unsafe { &mut *list };
    env.enter(|t| call_special::<T>(t, object, method, list))
}

pub extern "C" fn call_special_a<T: Value>(
    env: Env,
    object: jobject,
    _class: jclass,
    method: jmethodID,
    values: *const jvalue,
) -> T {
    env.enter(|t| call_special::<T>(t, object, method, Array(values)))
}

pub extern "C" fn call_static_v<T: Value>(
    env: Env,
    _class: jclass,
    method: jmethodID,
    list: *mut VaList,
) -> T {
    // SAFETY: as in `call_virtual_v`.
    let list = unsafe { &mut *list };
    env.enter(|t| Ok(T::from_word(invoke(t, method_of(method), None, list)?)))
}

pub extern "C" fn call_static_a<T: Value>(
    env: Env,
    _class: jclass,
    method: jmethodID,
    values: *const jvalue,
) -> T {
    env.enter(|t| Ok(T::from_word(invoke(t, method_of(method), None, Array(values))?)))
}

pub extern "C" fn new_object_v(
    env: Env,
    class: jclass,
    method: jmethodID,
    list: *mut VaList,
) -> jobject {
    // SAFETY: as in `call_virtual_v`.
    let list = unsafe { &mut *list };
    env.enter(|t| new_object(t, class, method, list))
}

pub extern "C" fn new_object_a(
    env: Env,
    class: jclass,
    method: jmethodID,
    values: *const jvalue,
) -> jobject {
    env.enter(|t| new_object(t, class, method, Array(values)))
}

/// The method of an id.
#[inline]
pub fn method_of(id: jmethodID) -> MethodRef {
    // SAFETY: method ids are given out by `GetMethodID` and its like; methods live as long as
    // their classes, and a caller must not use an id of a class that may be unloaded (JNI, chapter 2).
    unsafe { &*id }
}

/// The method that a call on `receiver` runs: dispatched by the receiver's class where the method is virtual.
pub fn select(t: &JavaThread, method: MethodRef, receiver: Handle) -> JResult<MethodRef> {
    if method.flags().is_private() || method.is_initializer() {
        return Ok(method);
    }
    let klass = t.klass_of(receiver.get());
    if method.holder.is_interface() {
        resolve::select_interface(t, method, klass)
    } else {
        Ok(resolve::select_virtual(method, klass))
    }
}

fn call_virtual<T: Value>(
    t: &JavaThread,
    object: jobject,
    method: jmethodID,
    source: impl ArgumentSource,
) -> JResult<T::Inside> {
    let receiver = entry::non_null(t, object)?;
    let method = select(t, method_of(method), receiver)?;
    Ok(T::from_word(invoke(t, method, Some(receiver), source)?))
}

fn call_special<T: Value>(
    t: &JavaThread,
    object: jobject,
    method: jmethodID,
    source: impl ArgumentSource,
) -> JResult<T::Inside> {
    let receiver = entry::non_null(t, object)?;
    Ok(T::from_word(invoke(t, method_of(method), Some(receiver), source)?))
}

fn new_object(
    t: &JavaThread,
    class: jclass,
    constructor: jmethodID,
    source: impl ArgumentSource,
) -> JResult<Handle> {
    let klass = super::classes::instantiable(t, class)?;
    initialize::initialize(t, klass)?;
    let object = t.root(allocate::new_instance(t, klass)?);
    invoke(t, method_of(constructor), Some(object), source)?;
    Ok(object)
}

/// Runs exactly this method. The caller has dispatched.
fn invoke(
    t: &JavaThread,
    method: &'static Method,
    receiver: Option<Handle>,
    mut source: impl ArgumentSource,
) -> JResult<u64> {
    if receiver.is_none() {
        initialize::initialize(t, method.holder)?;
    }
    t.check()?;
    if method.is_abstract() {
        let message = format!("{method:?}");
        return errors::fail(t, "java/lang/AbstractMethodError", &message);
    }
    let mut slots = [0u64; MAX_SLOTS];
    let mut top = 0;
    if let Some(receiver) = receiver {
        slots[0] = receiver.get().address() as u64;
        top = 1;
    }
    for &parameter in &method.parameters {
        // SAFETY: the native caller passes the arguments of the method's descriptor (the contract of JNI).
        let word = unsafe { source.next(parameter) };
        slots[top] = if parameter.is_reference() {
            entry::resolve(t, word as usize as jobject).address() as u64
        } else {
            word
        };
        top += parameter.slots() as usize;
    }
    t.call(method, &slots[..top])
}

/// Argument slots of a method at most (JVMS 4.3.3), and one to spare.
const MAX_SLOTS: usize = 256;
