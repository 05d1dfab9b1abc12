//! The options of a running VM.

use crate::machine::Vm;
use crate::options::Options;
use crate::options::manageable::ManageableOptions;
use crate::options::shown::{Shown, Value, shown};
use base::options::{BadSetting, OptionGroup, Setting};
use parking_lot::RwLock;
use std::collections::BTreeSet;

/// The options that can be changed, as they are now. Any thread; never blocks for long.
pub struct RunningOptions {
    now: RwLock<State>,
}

struct State {
    options: ManageableOptions,
    /// Names of those that were set while the VM ran.
    changed: BTreeSet<&'static str>,
}

/// Why an option is not set.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    Unknown,
    NotWriteable,
    /// With the reason.
    BadValue(String),
}

/// An option, and whether it was or can be changed while the VM runs.
pub struct Running {
    pub shown: Shown,
    pub is_writeable: bool,
    pub is_changed: bool,
}

impl RunningOptions {
    pub fn new(options: &Options) -> RunningOptions {
        let state = State { options: options.manageable.clone(), changed: BTreeSet::new() };
        RunningOptions { now: RwLock::new(state) }
    }

    pub fn manageable(&self) -> ManageableOptions {
        self.now.read().options.clone()
    }
}

/// All options with their present values.
pub fn all(vm: &Vm) -> Vec<Running> {
    let state = vm.diagnostics.options.now.read();
    let options = Options { manageable: state.options.clone(), ..vm.options.clone() };
    let writeable: BTreeSet<&str> = state.options.rows().iter().map(|row| row.name).collect();
    let running = |shown: Shown| Running {
        is_writeable: writeable.contains(shown.name.as_str()),
        is_changed: state.changed.contains(shown.name.as_str()),
        shown,
    };
    let mut all: Vec<Running> = shown(&options).into_iter().map(running).collect();
    // What the heap has chosen.
    if let Some(narrow) = all.iter_mut().find(|row| row.shown.name == "UseCompressedOops") {
        narrow.shown.value = Value::Switch(vm.slot_bytes == 4);
    }
    all
}

/// Sets an option to the value of a text, in which switches are `true`, `false`, 1 or 0.
pub fn set(vm: &Vm, name: &str, value: &str) -> Result<(), Refusal> {
    let mut state = vm.diagnostics.options.now.write();
    let Some(row) = state.options.rows().into_iter().find(|row| row.name == name) else {
        let is_known = shown(&vm.options).iter().any(|shown| shown.name == name);
        return Err(if is_known { Refusal::NotWriteable } else { Refusal::Unknown });
    };
    let setting = match (row.form, value) {
        ("", "true" | "1") => Setting::On,
        ("", "false" | "0") => Setting::Off,
        _ => Setting::Text(value),
    };
    let bad = |bad: BadSetting| Refusal::BadValue(bad.message(name, &format!("{name}={value}")));
    state.options.set(name, setting).map_err(bad)?;
    state.changed.insert(row.name);
    Ok(())
}
