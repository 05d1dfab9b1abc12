//! The file by which `perf` names compiled code.

use crate::machine::Vm;
use std::fmt::Write;

/// Writes `/tmp/perf-PID.map`: start, length and name of every body.
pub fn write(vm: &Vm) -> std::io::Result<()> {
    let mut text = String::new();
    for installed in vm.jit.cache.bodies() {
        let body = &installed.body;
        let (start, length) = (installed.start, installed.bytes);
        let name = format!("{}::{}", body.method.holder.java_name(), body.method.name());
        let at = body.osr_bci.map_or(String::new(), |bci| format!(" @ {bci}"));
        let _ = writeln!(text, "{start:x} {length:x} {name}{at}");
    }
    std::fs::write(format!("/tmp/perf-{}.map", std::process::id()), text)
}
