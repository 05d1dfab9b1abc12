//! A JNI library of a user, on this VM and on the JDK's own: both must print the same.
//!
//! Needs what `make setup` installs: the JDK with its headers and a C compiler.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[test]
fn native_code_sees_what_it_sees_on_hotspot() {
    let java_home = java_home();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jni");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("jni");
    std::fs::create_dir_all(&folder).unwrap();
    let library = folder.join("libtour.so");
    let include = java_home.join("include");
    run(Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(format!("-I{}", include.display()))
        .arg(format!("-I{}", include.join("linux").display()))
        .arg(sources.join("tour.c")));
    let javac = java_home.join("bin/javac");
    run(Command::new(javac).arg("-d").arg(&folder).arg(sources.join("Tour.java")));

    let vm = launcher(&folder);
    let program =
        |command: &mut Command| run(command.arg("-cp").arg(&folder).arg("Tour").arg(&library));
    let expected = program(&mut Command::new(java_home.join("bin/java")));
    // Objects move at every few hundred allocations.
    for options in [&["-Xmx64m"][..], &["-Xmx64m", "-XX:+UseSerialGC", "-XX:GcZeal=500"]] {
        let mut vm = Command::new(&vm);
        let ours = program(vm.arg("run").env("JAVA_HOME", &java_home).args(options));
        assert_eq!(text(&ours.stdout), text(&expected.stdout), "with {options:?}");
        assert_eq!(text(&ours.stderr), text(&expected.stderr), "with {options:?}");
    }
}

/// A copy of the launcher with the library that was built for this test beside it: Cargo does not put that
/// one next to the binaries.
fn launcher(folder: &Path) -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_vm"));
    let built = binary.with_file_name("deps").join("libjvm.so");
    std::fs::copy(&built, folder.join("libjvm.so")).expect("the library is built with its tests");
    let copy = folder.join("vm");
    std::fs::copy(binary, &copy).expect("the launcher is built with its tests");
    copy
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    output
}

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// `JAVA_HOME`, or where `javac` really lies.
fn java_home() -> PathBuf {
    if let Some(home) = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty()) {
        return home.into();
    }
    let found = run(Command::new("sh").args(["-c", "readlink -f \"$(command -v javac)\""]));
    let javac = PathBuf::from(text(&found.stdout).trim());
    let home = javac.parent().and_then(Path::parent);
    home.expect("javac lies in the bin folder of a JDK").to_owned()
}
