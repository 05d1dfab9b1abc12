//! VM options for `HotSpotDiagnosticMXBean`.

use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jint, jlong, jobject, jobjectArray, jstring, jvalue};
use crate::java::objects;
use crate::loading::{errors, strings};
use crate::machine::{JavaThread, Vm};
use crate::options::shown::{Origin, Shown, Value, shown};
use crate::runtime::JResult;
use gc::object::ObjectRef;

/// `jmmVMGlobal`
#[repr(C)]
pub struct Global {
    name: jstring,
    value: jvalue,
    kind: jint,
    origin: jint,
    /// Bit 0: writeable, bit 1: external.
    bits: u32,
    reserved: [*mut libc::c_void; 2],
}

pub fn count(vm: &Vm) -> usize {
    shown(&vm.options).len()
}

pub extern "C" fn names(env: Env) -> jobjectArray {
    env.enter(|t| {
        let names: Vec<String> = shown(&t.vm.options).into_iter().map(|shown| shown.name).collect();
        objects::string_array(t, &names)
    })
}

/// Fills `globals` for the names, or (null) for all. A name that is not known leaves its entry without a name.
pub extern "C" fn values(env: Env, names: jobjectArray, globals: *mut Global, count: jint) -> jint {
    if globals.is_null() {
        return env.enter(|t| Err::<i32, _>(errors::null_pointer(t)));
    }
    let all = shown(&env.thread().vm.options);
    let wanted: Vec<Option<&Shown>> = match names.is_null() {
        true => all.iter().map(Some).collect(),
        false => asked_for(env, names, &all),
    };
    let mut filled = 0;
    for (i, shown) in wanted.into_iter().take(count.max(0) as usize).enumerate() {
        let global = make(env, shown);
        filled += jint::from(shown.is_some());
        // SAFETY: the caller's array has `count` elements.
        unsafe { globals.add(i).write(global) };
    }
    filled
}

fn asked_for(env: Env, names: jobjectArray, all: &[Shown]) -> Vec<Option<&Shown>> {
    let mut texts = Vec::new();
    env.enter(|t| {
        let names = entry::resolve(t, names);
        for i in 0..names.array_length() {
            let name = t.load_element(names, i);
            if name.is_null() {
                return Err(errors::null_pointer(t));
            }
            texts.push(strings::to_text(t, name));
        }
        Ok(())
    });
    texts.iter().map(|text| all.iter().find(|shown| shown.name == *text)).collect()
}

fn make(env: Env, shown: Option<&Shown>) -> Global {
    let mut global = Global {
        name: std::ptr::null_mut(),
        value: jvalue { j: 0 },
        kind: 0,
        origin: ORIGIN_DEFAULT,
        bits: 0,
        reserved: [std::ptr::null_mut(); 2],
    };
    let Some(shown) = shown else {
        return global;
    };
    global.name = string(env, &shown.name);
    (global.kind, global.value) = match &shown.value {
        Value::Switch(on) => (1, jvalue { z: *on as u8 }),
        Value::Text(text) => (2, jvalue { l: string(env, text) }),
        Value::Number(number) => (3, jvalue { j: *number as jlong }),
        Value::Large(number) => (3, jvalue { j: *number as jlong }),
        Value::Fraction(fraction) => (4, jvalue { d: *fraction }),
    };
    global.origin = match shown.origin {
        Origin::Default => ORIGIN_DEFAULT,
        Origin::CommandLine => ORIGIN_COMMAND_LINE,
        Origin::Ergonomic => ORIGIN_ERGONOMIC,
    };
    global
}

fn string(env: Env, text: &str) -> jobject {
    env.enter(|t: &JavaThread| -> JResult<ObjectRef> { strings::from_str(t, text) })
}

/// No option can be changed while the VM runs.
pub extern "C" fn set(env: Env, _name: jstring, _value: jvalue) {
    env.enter(|t| {
        let message = "This flag is not writeable.";
        errors::fail::<()>(t, "java/lang/IllegalArgumentException", message)
    })
}

const ORIGIN_DEFAULT: jint = 1;
const ORIGIN_COMMAND_LINE: jint = 2;
const ORIGIN_ERGONOMIC: jint = 6;

const _: () = assert!(size_of::<Global>() == 48);
