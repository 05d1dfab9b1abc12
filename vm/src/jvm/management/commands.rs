//! Diagnostic commands for the bean `DiagnosticCommand`.

use crate::diagnostics::commands::{self, Command, Failure, Kind};
use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jboolean, jint, jobjectArray, jstring};
use crate::java::objects;
use crate::loading::{errors, strings};
use crate::machine::JavaThread;
use crate::runtime::JResult;
use libc::c_char;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::LazyLock;

/// `dcmdInfo`
#[repr(C)]
pub struct Info {
    name: *const c_char,
    description: *const c_char,
    impact: *const c_char,
    permission_class: *const c_char,
    permission_name: *const c_char,
    permission_action: *const c_char,
    parameter_count: jint,
    is_enabled: jboolean,
}

/// `dcmdArgInfo`
#[repr(C)]
pub struct ParameterInfo {
    name: *const c_char,
    description: *const c_char,
    kind: *const c_char,
    default: *const c_char,
    is_mandatory: jboolean,
    is_option: jboolean,
    is_multiple: jboolean,
    position: jint,
}

pub extern "C" fn names(env: Env) -> jobjectArray {
    env.enter(|t| {
        let names: Vec<String> = commands::all().map(|command| command.name.to_string()).collect();
        objects::string_array(t, &names)
    })
}

/// Fills `infos` for these commands, all of which exist.
pub extern "C" fn infos(env: Env, names: jobjectArray, infos: *mut Info) {
    env.enter(|t| {
        for (i, command) in wanted(t, names)?.iter().enumerate() {
            let info = Info {
                name: c_text(command.name),
                description: c_text(command.description),
                impact: c_text(command.impact),
                permission_class: c_text("java.lang.management.ManagementPermission"),
                permission_name: c_text("monitor"),
                permission_action: std::ptr::null(),
                parameter_count: command.parameters.len() as jint,
                is_enabled: 1,
            };
            // SAFETY: libmanagement_ext passes an array with an element for each name.
            unsafe { infos.add(i).write(info) };
        }
        Ok(())
    })
}

fn wanted(t: &JavaThread, names: jobjectArray) -> JResult<Vec<&'static Command>> {
    let names = entry::non_null(t, names)?;
    let mut wanted = Vec::new();
    for i in 0..names.get().array_length() {
        let name = t.load_element(names.get(), i);
        if name.is_null() {
            return errors::fail(
                t,
                "java/lang/NullPointerException",
                "Command name cannot be null.",
            );
        }
        wanted.push(find(t, &strings::to_text(t, name))?);
    }
    Ok(wanted)
}

fn find(t: &JavaThread, name: &str) -> JResult<&'static Command> {
    match commands::find(name) {
        Some(command) => Ok(command),
        None => errors::fail(t, ILLEGAL_ARGUMENT, "Unknown diagnostic command"),
    }
}

/// Fills `infos` for the parameters of a command.
pub extern "C" fn parameters(env: Env, name: jstring, infos: *mut ParameterInfo) {
    env.enter(|t| {
        let name = strings::to_text(t, entry::non_null(t, name)?.get());
        let mut position = 0;
        for (i, parameter) in find(t, &name)?.parameters.iter().enumerate() {
            let is_argument = parameter.kind == Kind::Argument;
            let info = ParameterInfo {
                name: c_text(parameter.name),
                description: c_text(parameter.description),
                kind: c_text(parameter.kind.type_name()),
                default: parameter.default.map_or(std::ptr::null(), c_text),
                is_mandatory: parameter.is_mandatory.into(),
                is_option: (!is_argument).into(),
                is_multiple: 0,
                position: if is_argument { position } else { -1 },
            };
            position += jint::from(is_argument);
            // SAFETY: libmanagement_ext passes an array with an element for each parameter.
            unsafe { infos.add(i).write(info) };
        }
        Ok(())
    })
}

/// The output of a command line.
pub extern "C" fn execute(env: Env, line: jstring) -> jstring {
    env.enter(|t| {
        let line = strings::to_text(t, entry::non_null(t, line)?.get());
        let mut output = String::new();
        match commands::execute(t, &line, &mut output) {
            Ok(()) => {}
            Err(Failure::Failed(message)) => output += &message,
            Err(Failure::Refused(message)) => return errors::fail(t, ILLEGAL_ARGUMENT, &message),
            Err(Failure::Thrown(thrown)) => return Err(thrown),
        }
        strings::from_str(t, &output)
    })
}

/// The same text for C, which lives for ever. There are as many as the table of commands has.
fn c_text(text: &'static str) -> *const c_char {
    static TEXTS: LazyLock<Mutex<BTreeMap<&str, CString>>> = LazyLock::new(Mutex::default);
    let mut texts = TEXTS.lock();
    let made = texts.entry(text).or_insert_with(|| CString::new(text).unwrap_or_default());
    made.as_ptr()
}

const ILLEGAL_ARGUMENT: &str = "java/lang/IllegalArgumentException";

const _: () = assert!(size_of::<Info>() == 56 && size_of::<ParameterInfo>() == 40);
