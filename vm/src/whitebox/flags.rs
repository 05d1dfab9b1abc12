//! Options of the VM.

use crate::diagnostics::running::{self, Refusal};
use crate::ffi::registry::{Arguments, Native, NativeEntry, entry};
use crate::loading::{boxes, errors, strings};
use crate::machine::JavaThread;
use crate::options::flags::{self, Level};
use crate::options::shown::Value;
use crate::runtime::JResult;
use classfile::BasicType;

pub const ENTRIES: &[NativeEntry] = &[
    entry("getBooleanVMFlag", "", Native::Direct(|t, args| value(t, args, &["bool"]))),
    entry("getIntVMFlag", "", Native::Direct(|t, args| value(t, args, &["int"]))),
    entry("getUintVMFlag", "", Native::Direct(|t, args| value(t, args, &["uint"]))),
    entry("getIntxVMFlag", "", Native::Direct(|t, args| value(t, args, &["intx"]))),
    entry("getUintxVMFlag", "", Native::Direct(|t, args| value(t, args, &["uintx"]))),
    entry("getUint64VMFlag", "", Native::Direct(|t, args| value(t, args, &["uint64_t"]))),
    entry("getSizeTVMFlag", "", Native::Direct(|t, args| value(t, args, &["size_t"]))),
    entry("getDoubleVMFlag", "", Native::Direct(|t, args| value(t, args, &["double"]))),
    entry("getStringVMFlag", "", Native::Direct(|t, args| value(t, args, &["ccstr", "ccstrlist"]))),
    entry("isLockedVMFlag", "", Native::Direct(is_locked)),
    entry("setBooleanVMFlag", "", Native::Direct(|t, args| set(t, args, args.boolean(2)))),
    entry("setIntVMFlag", "", Native::Direct(|t, args| set(t, args, args.long(2)))),
    entry("setUintVMFlag", "", Native::Direct(|t, args| set(t, args, args.long(2)))),
    entry("setIntxVMFlag", "", Native::Direct(|t, args| set(t, args, args.long(2)))),
    entry("setUintxVMFlag", "", Native::Direct(|t, args| set(t, args, args.long(2)))),
    entry("setUint64VMFlag", "", Native::Direct(|t, args| set(t, args, args.long(2)))),
    entry("setSizeTVMFlag", "", Native::Direct(|t, args| set(t, args, args.long(2)))),
    entry("setDoubleVMFlag", "", Native::Direct(|t, args| set(t, args, args.double(2)))),
    entry("setStringVMFlag", "", Native::Direct(set_text)),
];

/// The value of an option in a box, or as a string; null if there is no option of the name that has one of the types.
fn value(t: &JavaThread, args: Arguments, types: &[&str]) -> JResult<u64> {
    let name = name(t, args)?;
    let all = running::all(t.vm);
    let found = all.iter().map(|running| &running.shown).find(|shown| shown.name == name);
    let Some(shown) = found.filter(|shown| types.contains(&shown.type_name())) else {
        return Ok(0);
    };
    let object = match &shown.value {
        Value::Switch(on) => boxes::wrap(t, BasicType::Boolean, u64::from(*on))?,
        Value::Number(number) => boxes::wrap(t, BasicType::Long, *number as u64)?,
        Value::Large(number) => boxes::wrap(t, BasicType::Long, *number)?,
        Value::Fraction(number) => boxes::wrap(t, BasicType::Double, number.to_bits())?,
        Value::Text(text) if types.contains(&"ccstr") => strings::from_str(t, text)?,
        // A number that is the VM's choice.
        Value::Text(_) => return Ok(0),
    };
    Ok(object.address() as u64)
}

/// `isLockedVMFlag(name)`: whether the option needs a switch that was not given.
fn is_locked(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let name = name(t, args)?;
    let is_on = |switch: &str| t.vm.options.given(switch) == Some("true");
    Ok(u64::from(match flags::find(&name).map(flags::Flag::level) {
        Some(Level::Diagnostic) => !is_on("UnlockDiagnosticVMOptions"),
        Some(Level::Experimental) => !is_on("UnlockExperimentalVMOptions"),
        Some(Level::Product) | None => false,
    }))
}

fn set(t: &JavaThread, args: Arguments, value: impl ToString) -> JResult<u64> {
    let name = name(t, args)?;
    set_to(t, &name, &value.to_string())
}

fn set_text(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let (name, value) = (name(t, args)?, args.object(2));
    if value.is_null() {
        return Err(errors::null_pointer(t));
    }
    let value = strings::to_text(t, value);
    set_to(t, &name, &value)
}

/// A name that is not known is passed over, as HotSpot does. There every option can be set, here those that have an
/// effect.
fn set_to(t: &JavaThread, name: &str, value: &str) -> JResult<u64> {
    let problem = match running::set(t.vm, name, value) {
        Ok(()) | Err(Refusal::Unknown) => return Ok(0),
        Err(Refusal::NotWriteable) => format!("{name} cannot be changed while the VM runs"),
        Err(Refusal::BadValue(reason)) => reason,
    };
    errors::fail(t, "java/lang/UnsupportedOperationException", &problem)
}

fn name(t: &JavaThread, args: Arguments) -> JResult<String> {
    match args.object(1) {
        name if name.is_null() => Err(errors::null_pointer(t)),
        name => Ok(strings::to_text(t, name)),
    }
}
