//! A few random programs of fixed seeds in all modes of the VM; `make fuzz-java` runs as many as one likes.

#[path = "support/programs.rs"]
mod programs;

use programs::program;
use std::path::Path;
use std::process::Command;

/// Runs the fuzzer that was built beside the VM, with arguments; panics with its output unless it is content.
fn fuzz(arguments: &[&str]) {
    let vm = program("vm");
    let mut command = Command::new(env!("CARGO_BIN_EXE_judge"));
    command.args(["fuzz-java", "--vm"]).arg(&vm).args(arguments);
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz-failures");
    let output = command.arg("--out").arg(out).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
}

#[test]
fn random_programs_do_what_they_do_on_hotspot() {
    fuzz(&["--seed", "1", "--programs", "10"]);
}
