//! The operations of the attach protocol: each answers with a code, 0 when it was done, and with text.

use super::commands::{self, Failure};
use super::heap_dump::{self, Request};
use super::running::{self, Refusal};
use crate::agents::{self, Kind, NotStarted};
use crate::java::{objects, uncaught};
use crate::loading::call;
use crate::machine::JavaThread;
use crate::runtime::JResult;
use crate::threads::dump::{self, Details};
use crate::threads::histogram;
use gc::object::ObjectRef;
use std::path::Path;

/// An operation as a tool asks for it. Arguments that are not given are empty.
#[derive(Debug, PartialEq, Eq)]
pub struct Operation {
    pub name: String,
    pub arguments: [String; 3],
}

/// Runs an operation; code and output. A safepoint, and it may run Java code.
pub fn run(t: &JavaThread, operation: &Operation) -> (i32, String) {
    let Operation { name, arguments } = operation;
    let [first, second, third] = arguments.each_ref().map(String::as_str);
    let done = match name.as_str() {
        "properties" => properties(t, "serializePropertiesToByteArray"),
        "agentProperties" => properties(t, "serializeAgentPropertiesToByteArray"),
        "threaddump" => {
            let is_wanted = |letter| first.contains(letter);
            let details = Details { synchronizers: is_wanted('l'), allocation: is_wanted('e') };
            Ok(dump::text(t, details))
        }
        "datadump" => {
            super::print_dump(t);
            Ok(String::new())
        }
        "inspectheap" => inspect_heap(t, first, second),
        "dumpheap" => dump_heap(t, first, second, third),
        "jcmd" => return run_command(t, first),
        "load" => Ok(load(t, first, third)),
        "printflag" => print_flag(t, first),
        "setflag" => set_flag(t, first, second),
        _ => Err(format!("Operation {name} not recognized!").into()),
    };
    match done {
        Ok(output) => (0, output),
        Err(failure) => (FAILED, failure.text(t)),
    }
}

/// Loads an agent. The first line of an answer that is not `return code: N` is the tool's error message.
fn load(t: &JavaThread, library: &str, argument: &str) -> String {
    if library != "instrument" {
        return format!("This VM has no agent interface (JVMTI): {library} is not loaded\n");
    }
    let (jar, options) = argument.split_once('=').unwrap_or((argument, ""));
    let code = match agents::load(t, Kind::Attached, jar, Some(options)) {
        Ok(()) => 0,
        Err(NotStarted::BadJar | NotStarted::NoClass(_)) => BAD_JAR,
        Err(NotStarted::Threw(thrown)) => {
            uncaught::print(t, thrown);
            AGENT_FAILED
        }
    };
    format!("return code: {code}\n")
}

/// Codes of the attach protocol for agents of `java.lang.instrument`.
const BAD_JAR: i32 = 100;
const AGENT_FAILED: i32 = 102;

/// What a command has printed before it failed is a part of the answer.
fn run_command(t: &JavaThread, line: &str) -> (i32, String) {
    let mut output = String::new();
    match commands::execute(t, line, &mut output) {
        Ok(()) => (0, output),
        Err(failure) => {
            output += &failure.text(t);
            (FAILED, output)
        }
    }
}

/// Properties in the form of `Properties.store`.
fn properties(t: &JavaThread, method: &str) -> Result<String, Failure> {
    Ok(serialized(t, method)?)
}

fn serialized(t: &JavaThread, method: &str) -> JResult<String> {
    let support = objects::boot_class(t, "jdk/internal/vm/VMSupport")?;
    let array = call::call_static(t, support, method, "()[B", &[])?;
    let bytes = objects::bytes_of(ObjectRef::from_address(array as usize));
    // ASCII: `Properties` escapes everything else.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The system properties, for a diagnostic command.
pub(super) fn system_properties(t: &JavaThread) -> JResult<String> {
    serialized(t, "serializePropertiesToByteArray")
}

/// `-live` or `-all` are the same here: objects that nothing reaches are not found.
fn check_scope(text: &str, operation: &str) -> Result<(), Failure> {
    match text {
        "" | "-live" | "-all" => Ok(()),
        _ => Err(format!("Invalid argument to {operation} operation: {text}\n").into()),
    }
}

fn inspect_heap(t: &JavaThread, scope: &str, file: &str) -> Result<String, Failure> {
    check_scope(scope, "inspectheap")?;
    let text = histogram::text(t);
    if file.is_empty() {
        return Ok(text);
    }
    std::fs::write(file, text).map_err(|error| format!("Failed to open file {file}: {error}\n"))?;
    Ok(format!("Heap inspection file created: {file}\n"))
}

fn dump_heap(t: &JavaThread, path: &str, scope: &str, level: &str) -> Result<String, Failure> {
    if path.is_empty() {
        return Err("No dump file specified\n".to_string().into());
    }
    check_scope(scope, "dumpheap")?;
    let gzip_level = match level {
        "" => 0,
        text => heap_dump::parse_gzip_level(text)?,
    };
    let request = Request { path: Path::new(path), gzip_level, may_overwrite: false };
    Ok(heap_dump::write_and_report(t, &request))
}

fn print_flag(t: &JavaThread, name: &str) -> Result<String, Failure> {
    let all = running::all(t.vm);
    let found = all.iter().find(|running| running.shown.name == name);
    match found {
        Some(running) => Ok(running.shown.as_argument() + "\n"),
        None => Err(format!("no such flag '{name}'\n").into()),
    }
}

fn set_flag(t: &JavaThread, name: &str, value: &str) -> Result<String, Failure> {
    // `jinfo -flag +Name` comes with 1 and 0.
    running::set(t.vm, name, value).map(|()| String::new()).map_err(|refusal| {
        match refusal {
            Refusal::Unknown => format!("no such flag: '{name}'\n"),
            Refusal::NotWriteable => format!("flag '{name}' cannot be changed\n\n"),
            Refusal::BadValue(reason) => reason + "\n",
        }
        .into()
    })
}

const FAILED: i32 = -1;
