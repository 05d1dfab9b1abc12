//! A JNI library of a user, on this VM and on the JDK's own: both must print the same.
//!
//! Needs what `make setup` installs: the JDK with its headers and a C compiler. The VM is the built one beside
//! the tests, with its `libjvm.so`; it is not in the crate `vm`, because Cargo would build that library twice
//! under one name in it.

#[path = "support/programs.rs"]
mod programs;

use bench::harness::scratch::Scratch;
use bench::java::jdk::{Jdk, plain};
use bench::java::vm::{Setting, Vm};
use programs::program;
use std::path::Path;
use std::process::{Command, Output};

#[test]
fn native_code_sees_what_it_sees_on_hotspot() {
    let jdk = Jdk::find().unwrap();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jni-library");
    let scratch = Scratch::new("jni").unwrap();
    let library = scratch.path().join("libtour.so");
    let include = jdk.home.join("include");
    run(plain(Path::new("/usr/bin/cc"), &jdk)
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(format!("-I{}", include.display()))
        .arg(format!("-I{}", include.join("linux").display()))
        .arg(sources.join("tour.c")));
    let classes = scratch.folder("classes").unwrap();
    jdk.compile(&[sources.join("Tour.java")], &classes).unwrap();

    let tour =
        |mut command: Command| run(command.arg("-cp").arg(&classes).arg("Tour").arg(&library));
    let expected = tour(jdk.java());
    let vm = Vm::find(Some(program("vm"))).unwrap();
    for (collector, local_memory, options) in [
        ("serial", "100%", &["-Xmx64m"][..]),
        // Objects move at every few hundred allocations.
        ("serial", "100%", &["-Xmx64m", "-XX:GcZeal=500"]),
        ("mako", "25%", &["-Xmx64m"]),
    ] {
        let setting = Setting {
            collector: collector.into(),
            local_memory: local_memory.into(),
            memory_servers: 2,
            options: options.iter().map(|option| option.to_string()).collect(),
        };
        let ours = tour(vm.command(&setting, &jdk));
        assert_eq!(text(&ours.stdout), text(&expected.stdout), "with {setting:?}");
        assert_eq!(text(&ours.stderr), text(&expected.stderr), "with {setting:?}");
    }
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    output
}

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
