//! The interface by programs in C, with the shared and with the static library.
//!
//! Needs a C compiler, and `nm` of binutils.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

#[path = "../../src/test_folder.rs"]
mod test_folder;

use test_folder::Folder;

/// Where the libraries are that were built with the tests.
fn deps() -> PathBuf {
    env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The compiled program, by the shared and by the static library.
fn programs() -> &'static [PathBuf; 2] {
    static PROGRAMS: OnceLock<[PathBuf; 2]> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let (deps, folder) = (deps(), Path::new(env!("CARGO_TARGET_TMPDIR")));
        let run_path = format!("-Wl,-rpath,{}", deps.display());
        let shared = vec![format!("-L{}", deps.display()), "-lfarheap_pool_c".into(), run_path];
        let library = deps.join("libfarheap_pool_c.a").to_str().unwrap().to_string();
        let linked = vec![library, "-lpthread".into(), "-ldl".into(), "-lm".into()];
        [("shared", shared), ("static", linked)].map(|(name, libraries)| {
            // One for all runs of the tests: it replaces the one before.
            let (program, new) =
                (folder.join(name), folder.join(format!("{name}-{}", std::process::id())));
            let mut cc = Command::new("cc");
            cc.args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"]);
            cc.arg(source("include")).arg("-o").arg(&new).arg(source("tests/interface.c"));
            assert!(cc.args(libraries).status().expect("a C compiler").success());
            fs::rename(&new, &program).unwrap();
            program
        })
    })
}

/// Runs one part of the program by both libraries, each for half a minute at most.
#[track_caller]
fn passes(part: &str) {
    for program in programs() {
        let folder = Folder::new();
        let mut command = Command::new("timeout");
        command.arg("30").arg(program).arg(part).arg(folder.path("pool"));
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{}", program.display());
    }
}

#[test]
fn blocks_are_used_and_freed() {
    passes("blocks");
}

#[test]
fn errors_are_codes() {
    passes("errors");
}

#[test]
fn killed_processes_lose_no_block() {
    passes("killed");
}

#[test]
fn a_descriptor_is_enough_for_another_process() {
    passes("descriptor");
}

#[test]
fn threads_have_clients_of_their_own() {
    passes("threads");
}

#[test]
fn a_thread_that_ends_can_ask_for_the_message() {
    passes("ending");
}

#[test]
fn the_library_exports_what_the_header_declares() {
    let header = fs::read_to_string(source("include/farheap_pool.h")).unwrap();
    let declared: BTreeSet<&str> = header
        .lines()
        .filter(|line| !line.trim_start().starts_with('*') && !line.starts_with("typedef"))
        .filter_map(|line| {
            let name = line.split_once('(')?.0.rsplit([' ', '*']).next()?;
            name.starts_with("farheap_").then_some(name)
        })
        .collect();
    let mut nm = Command::new("nm");
    nm.args(["-D", "--defined-only"]).arg(deps().join("libfarheap_pool_c.so"));
    let symbols = String::from_utf8(nm.output().expect("nm of binutils").stdout).unwrap();
    let exported: BTreeSet<&str> =
        symbols.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert!(declared.len() >= 19, "{declared:?}");
    assert_eq!(declared, exported);
}

#[test]
fn the_header_is_c_of_1999_and_cpp() {
    for arguments in [["-std=c99", "-xc"], ["-std=c++11", "-xc++"]] {
        let mut cc = Command::new("cc");
        cc.args(arguments).args(["-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]);
        let output = cc.arg(source("include/farheap_pool.h")).output().expect("a C compiler");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let is_missing = stderr.contains("cc1plus");
        assert!(output.status.success() || is_missing, "{stderr}");
    }
}
