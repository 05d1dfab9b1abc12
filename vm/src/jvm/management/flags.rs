//! VM options for `HotSpotDiagnosticMXBean`.

use crate::diagnostics::running::{self, Refusal, Running};
use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jint, jlong, jobject, jobjectArray, jstring, jvalue};
use crate::java::objects;
use crate::loading::{errors, strings};
use crate::machine::{JavaThread, Vm};
use crate::options::shown::{Origin, Value};
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
    running::all(vm).len()
}

pub extern "C" fn names(env: Env) -> jobjectArray {
    env.enter(|t| {
        let names: Vec<String> =
            running::all(t.vm).into_iter().map(|running| running.shown.name).collect();
        objects::string_array(t, &names)
    })
}

/// Fills `globals` for the names, or (null) for all. A name that is not known leaves its entry without a name.
pub extern "C" fn values(env: Env, names: jobjectArray, globals: *mut Global, count: jint) -> jint {
    if globals.is_null() {
        return env.enter(|t| Err::<i32, _>(errors::null_pointer(t)));
    }
    let all = running::all(env.thread().vm);
    let wanted: Vec<Option<&Running>> = match names.is_null() {
        true => all.iter().map(Some).collect(),
        false => asked_for(env, names, &all),
    };
    let mut filled = 0;
    for (i, running) in wanted.into_iter().take(count.max(0) as usize).enumerate() {
        let global = make(env, running);
        filled += jint::from(running.is_some());
        // SAFETY: the caller's array has `count` elements.
        unsafe { globals.add(i).write(global) };
    }
    filled
}

fn asked_for(env: Env, names: jobjectArray, all: &[Running]) -> Vec<Option<&Running>> {
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
    texts.iter().map(|text| all.iter().find(|running| running.shown.name == *text)).collect()
}

fn make(env: Env, running: Option<&Running>) -> Global {
    let mut global = Global {
        name: std::ptr::null_mut(),
        value: jvalue { j: 0 },
        kind: 0,
        origin: ORIGIN_DEFAULT,
        bits: 0,
        reserved: [std::ptr::null_mut(); 2],
    };
    let Some(Running { shown, is_writeable, is_changed }) = running else {
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
    global.bits = if *is_writeable { WRITEABLE | EXTERNAL } else { 0 };
    global.origin = match shown.origin {
        _ if *is_changed => ORIGIN_MANAGEMENT,
        Origin::Default => ORIGIN_DEFAULT,
        Origin::CommandLine => ORIGIN_COMMAND_LINE,
        Origin::Ergonomic | Origin::Adjusted => ORIGIN_ERGONOMIC,
    };
    global
}

fn string(env: Env, text: &str) -> jobject {
    env.enter(|t: &JavaThread| -> JResult<ObjectRef> { strings::from_str(t, text) })
}

/// Sets an option; libmanagement_ext has looked up its kind, and says which member of `value` is set.
pub extern "C" fn set(env: Env, name: jstring, value: jvalue) {
    env.enter(|t| {
        let name = strings::to_text(t, entry::non_null(t, name)?.get());
        let all = running::all(t.vm);
        let Some(running) = all.iter().find(|running| running.shown.name == name) else {
            let message = format!("Flag {name} does not exist.");
            return errors::fail(t, ILLEGAL_ARGUMENT, &message);
        };
        // SAFETY: the member of the option's kind is set, and a text is a reference.
        let text = unsafe {
            match &running.shown.value {
                Value::Switch(_) => (value.z != 0).to_string(),
                Value::Number(_) => value.j.to_string(),
                Value::Large(_) => (value.j as u64).to_string(),
                Value::Fraction(_) => value.d.to_string(),
                Value::Text(_) => strings::to_text(t, entry::non_null(t, value.l)?.get()),
            }
        };
        let message = match running::set(t.vm, &name, &text) {
            Ok(()) => return Ok(()),
            Err(Refusal::BadValue(reason)) => reason,
            Err(Refusal::Unknown | Refusal::NotWriteable) => "This flag is not writeable.".into(),
        };
        errors::fail(t, ILLEGAL_ARGUMENT, &message)
    })
}

const ORIGIN_DEFAULT: jint = 1;
const ORIGIN_COMMAND_LINE: jint = 2;
const ORIGIN_MANAGEMENT: jint = 3;
const ORIGIN_ERGONOMIC: jint = 6;
const WRITEABLE: u32 = 1;
const EXTERNAL: u32 = 2;
const ILLEGAL_ARGUMENT: &str = "java/lang/IllegalArgumentException";

const _: () = assert!(size_of::<Global>() == 48);
