//! A few random programs of fixed seeds in all modes of the VM; `make fuzz-java` runs as many as one likes.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the fuzzer that was built beside the VM, with arguments; panics with its output unless it is content.
fn fuzz(arguments: &[&str]) {
    let vm = vm_path();
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

/// `vm` in the folder above the test's own.
fn vm_path() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("vm")
}
