//! Rules that no compiler checks: where `unsafe` may stand, how long files and lines may be, and words that do not
//! belong into the sources.

mod collectors;
mod documents;
mod floors;
mod imports;
mod language;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where `unsafe` is allowed: files, or folders with all that they hold. Adding one is a change of
/// the design; every block says in a `SAFETY:` comment what makes it right.
const UNSAFE: &[&str] = &[
    // The C library's clock, futex and `_exit`.
    "base/src/clock.rs",
    "base/src/die.rs",
    "base/src/futex.rs",
    "base/src/symbol",
    // Starting and ending the processes that are judged.
    "bench/src/harness/process.rs",
    // Memory whose faults are measured.
    "bench/src/faults",
    "bench/src/replay/pager.rs",
    // Words of far memory in which threads count.
    "bench/src/torture/far.rs",
    // Machine code of single barriers, and the heap that it is run on.
    "bench/benches",
    "bench/tests/emission.rs",
    // Memory that processes share, signals, and the instruction that changes 16 bytes.
    "pool/examples/alloc_bench.rs",
    "pool/examples/common/mimalloc.rs",
    "pool/examples/common/mod.rs",
    "pool/examples/refs_bench/by_iceoryx.rs",
    "pool/src/alloc/arena.rs",
    "pool/src/alloc/caches.rs",
    "pool/src/alloc/holding.rs",
    "pool/src/alloc/huge.rs",
    "pool/src/alloc/slab.rs",
    "pool/src/crash.rs",
    "pool/src/detect",
    "pool/src/identity",
    "pool/src/pool/torture.rs",
    "pool/src/refs/header.rs",
    "pool/src/refs/holding.rs",
    "pool/src/segment",
    // The border to C: handles that C has, and places where results are written.
    "pool/c/src/calls.rs",
    "pool/c/src/failure.rs",
    "pool/c/src/handle.rs",
    // The C library's functions in whose place ours are called, blocks, and words of threads.
    "pool/malloc/src/below.rs",
    "pool/malloc/src/cache.rs",
    "pool/malloc/src/calls.rs",
    "pool/malloc/src/fork.rs",
    "pool/malloc/src/seats.rs",
    "pool/malloc/src/start.rs",
    "pool/malloc/src/thread.rs",
    // The border to Java of the module that has pools, and memory that its buffers see.
    "pool/java/src/channel.rs",
    "pool/java/src/core.rs",
    "pool/java/src/jni.rs",
    "pool/java/src/map.rs",
    "pool/java/src/message.rs",
    "pool/java/src/natives.rs",
    "pool/java/src/shared.rs",
    "pool/java/src/wait.rs",
    "pool/java/src/window.rs",
    // Far memory: mappings, page faults, shared segments.
    "rdma/src",
    "rdma/tests",
    "swap/src",
    "swap/tests",
    // Functions of the C library in whose place ours are called, and the range that they change.
    "far-run/src/bounce.rs",
    "far-run/src/environment.rs",
    "far-run/src/far_range.rs",
    "far-run/src/io_calls.rs",
    "far-run/src/mapping_calls.rs",
    "far-run/src/process_calls.rs",
    "far-run/src/real.rs",
    "far-run/src/signals.rs",
    // Heap memory, and thread blocks that compiled code reads.
    "gc/src",
    "gc/tests",
    "gc/examples",
    // The border to C: the functions that the JDK's libraries call, and the callers of these libraries.
    "vm/src/boot",
    "vm/src/diagnostics/attach.rs",
    "vm/src/diagnostics/crash",
    // Methods by their addresses.
    "vm/src/diagnostics/fault_profile/mod.rs",
    "vm/src/diagnostics/native_memory.rs",
    "vm/src/diagnostics/perf_data",
    "vm/src/ffi",
    "vm/src/frames",
    "vm/src/java",
    "vm/src/machine",
    "vm/src/monitors",
    "vm/src/jni",
    "vm/src/jvm",
    "vm/src/launcher/jni.rs",
    "vm/src/natives",
    "vm/src/options",
    // Java objects, frames and threads.
    "vm/src/interpreter",
    // Calling compiled code, being called by it, and reading its frames.
    "vm/src/jit/array_kernels.rs",
    "vm/src/jit/big_integer.rs",
    "vm/src/jit/checksums.rs",
    "vm/src/jit/executable.rs",
    "vm/src/jit/exit.rs",
    "vm/src/jit/helpers.rs",
    "vm/src/jit/osr.rs",
    "vm/src/jit/single.rs",
    "vm/src/jit/string_kernels.rs",
    "vm/src/jit/stubs.rs",
    "vm/src/jit/sweep.rs",
    "vm/src/jit/translate/allocation.rs",
    "vm/src/jit/translate/calls.rs",
    "vm/src/jit/translate/casts.rs",
    "vm/src/jit/translate/scope.rs",
    "vm/src/invoke",
    "vm/src/loading",
    "vm/src/runtime",
    "vm/src/threads",
    "vm/src/lib.rs",
    "vm/src/main.rs",
    "vm/tests",
];

/// Where there must be none, although the list above may cover it: readers of input from outside, and state machines
/// that are small enough to be safe.
const SAFE: &[&str] = &[
    "gc/src/agent/protocol.rs",
    "pool/src/identity/lease.rs",
    "pool/src/identity/tests.rs",
    "pool/src/segment/header.rs",
    "rdma/src/tcp/frame.rs",
    "rdma/src/tcp/handshake.rs",
    "rdma/src/tcp/listener.rs",
    "rdma/src/tcp/page_frame.rs",
    "rdma/src/wire/opening.rs",
    "rdma/src/wire/token.rs",
];

/// Lines of a source file at most; longer ones have become two.
const FILE_LINES_MAX: usize = 800;

/// Files that may be longer, with the number of lines that they may have.
const LONG_FILES: &[(&str, usize)] = &[
    // One match over all instructions; splitting it would hide that each occurs once.
    ("vm/src/interpreter/run.rs", 1300),
];

/// 100 is what the formatter keeps code to; comments and strings may be a little wider.
const LINE_COLUMNS_MAX: usize = 120;

/// Words that are no one's business but this machine's, or that promise instead of doing. Written
/// in two parts, so that this file does not hold them.
const FORBIDDEN: &[(&str, &str)] =
    &[("/wo", "rk/"), ("/ro", "ot/"), ("/ho", "me/"), ("TO", "DO"), ("FIX", "ME"), ("todo", "!(")];

#[test]
fn unsafe_stands_only_where_it_is_allowed() {
    let under = |name: &str, list: &[&str]| {
        list.iter().any(|place| {
            name.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let mut wrong = Vec::new();
    for (name, text) in files(&[".rs"]) {
        let allowed = under(&name, UNSAFE) && !under(&name, SAFE);
        if !allowed {
            let line = text.lines().position(has_unsafe_code);
            wrong.extend(line.map(|line| format!("{name}:{}", line + 1)));
        }
    }
    assert!(wrong.is_empty(), "unsafe code where the list in tidy.rs has none: {wrong:#?}");
}

#[test]
fn files_and_lines_are_not_too_long() {
    let mut wrong = Vec::new();
    for (name, text) in files(&[".rs"]) {
        let longer = LONG_FILES.iter().find(|(file, _)| *file == name);
        let limit = longer.map_or(FILE_LINES_MAX, |(_, lines)| *lines);
        let lines = text.lines().count();
        if lines > limit {
            wrong.push(format!("{name}: {lines} lines, at most {limit}"));
        }
        for (number, line) in text.lines().enumerate() {
            let columns = line.chars().count();
            if columns > LINE_COLUMNS_MAX {
                wrong.push(format!("{name}:{}: {columns} columns", number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "too long: {wrong:#?}");
}

#[test]
fn no_word_is_forbidden() {
    let mut wrong = Vec::new();
    for (name, text) in files(&[".rs", ".java", ".md", ".toml", ".sh", "Makefile", ".ci/run"]) {
        for (number, line) in text.lines().enumerate() {
            for (start, end) in FORBIDDEN {
                if line.contains(&format!("{start}{end}")) {
                    wrong.push(format!("{name}:{}: {line}", number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "forbidden words: {wrong:#?}");
}

/// Whether the line has the keyword outside of a comment and of a string.
fn has_unsafe_code(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or("");
    let outside: String = code.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    outside
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| word == concat!("un", "safe"))
}

/// Name and text of the files under version control that end in one of `endings`.
fn files(endings: &[&str]) -> Vec<(String, String)> {
    let root = root();
    let output = Command::new("git").args(["ls-files"]).current_dir(&root).output();
    let output = output.expect("git lists the files");
    assert!(output.status.success(), "git ls-files failed");
    let names = String::from_utf8(output.stdout).expect("file names are UTF-8");
    let chosen = names.lines().filter(|name| endings.iter().any(|end| name.ends_with(end)));
    chosen.filter_map(|name| Some((name.to_string(), read(&root.join(name))?))).collect()
}

/// The folder of the workspace.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// `None` for a file that is listed but was just removed.
fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}
