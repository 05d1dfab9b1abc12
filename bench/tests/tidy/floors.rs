//! The floors of each crate: what may import from what.

use super::files;
use super::imports::{Import, Sources};
use std::collections::{BTreeMap, BTreeSet};

/// Folders and files at the root of each crate's sources, from the bottom to the top. Each imports from those before
/// it only.
const FLOORS: &[(&str, &[&str])] = &[
    (
        "base",
        &[
            "units",
            "symbol",
            "options",
            "clock",
            "futex",
            "say",
            "die",
            "patience",
            "container",
            "resources",
        ],
    ),
    (
        "classfile",
        &[
            "symbol",
            "error",
            "access",
            "descriptor",
            "constant_pool",
            "bytecode",
            "member",
            "class",
            "parser",
            "oopmap",
            "verifier",
        ],
    ),
    (
        "pool",
        &[
            "sync",
            "error",
            "crash",
            "flaw",
            "segment",
            "identity",
            "detect",
            "recover",
            "pool",
            "alloc",
            "ring",
            "refs",
            "map",
            "transaction",
            "manager",
        ],
    ),
    ("rdma", &["sync", "wire", "memory", "process", "shm", "tcp", "verbs", "sim", "fleet"]),
    (
        "swap",
        &[
            "sync",
            "error",
            "range",
            "kernel",
            "page",
            "frames",
            "transfer",
            "replacement",
            "stats",
            "options",
            "page_trace",
            "engine",
            "snapshot",
            "pager",
            "share",
            "keeper",
        ],
    ),
    (
        "gc",
        &[
            "object",
            "threads",
            "hit",
            "options",
            "tracing",
            "memory",
            "barrier",
            "core",
            "agent",
            "collectors",
            "heap",
            "metrics",
        ],
    ),
    (
        "vm",
        &[
            "options",
            "runtime",
            "monitors",
            "loading",
            "frames",
            "ffi",
            "java",
            "threads",
            "invoke",
            "interpreter",
            "jit",
            "agents",
            "recorder",
            "diagnostics",
            "jvm",
            "jni",
            "natives",
            "whitebox",
            "boot",
            "launcher",
            "machine",
        ],
    ),
    (
        "bench",
        &[
            "harness",
            "java",
            "fuzz",
            "kernel_swap",
            "faults",
            "replay",
            "torture",
            "judge",
            "gc_bench",
        ],
    ),
];

/// The one module of a crate that every floor may name although it is above them: it owns the parts of all floors and
/// is handed to each.
const COMPOSITION_ROOTS: &[(&str, &str)] = &[("vm", "machine")];

/// Imports that point up all the same: crate, from where, to where, and why.
const UPWARD: &[(&str, &str, &str, &str)] = &[];

/// Crates without cycles between their folders.
const WITHOUT_CYCLES: &[&str] =
    &["base", "bench", "classfile", "far-run", "gc", "pool", "rdma", "swap", "vm"];

#[test]
fn no_import_points_up() {
    let (all, mut wrong, mut used) = (files(&[".rs"]), Vec::new(), BTreeSet::new());
    for (name, floors) in FLOORS {
        let root = composition_root(name);
        for import in upward(&sources(&all, name), floors).unwrap_or_else(|e| panic!("{name}: {e}"))
        {
            if root == Some(&*import.to[0]) {
                continue;
            }
            let [from, to] = [&import.from, &import.to].map(|path| path.join("::"));
            match UPWARD.iter().find(|listed| (listed.0, listed.1, listed.2) == (name, &from, &to))
            {
                Some(listed) => _ = used.insert(listed),
                None => wrong.push(format!("{name}: {from} imports from {to}")),
            }
        }
    }
    assert!(wrong.is_empty(), "imports that point up: {wrong:#?}");
    assert_eq!(used.len(), UPWARD.len(), "an exception is listed that nothing needs");
}

#[test]
fn folders_do_not_import_from_each_other() {
    let all = files(&[".rs"]);
    for name in WITHOUT_CYCLES {
        let cycles = cycles(&sources(&all, name), composition_root(name));
        assert!(cycles.is_empty(), "{name}: folders that import from each other: {cycles:#?}");
    }
}

#[test]
fn a_planted_import_that_points_up_is_found() {
    let plant = |text| {
        let below = ("below/mod.rs", text);
        let files = [
            ("lib.rs", "mod below; mod above; pub use above::Roof;"),
            ("above/mod.rs", "use crate::below::Floor; pub mod inner; pub struct Roof;"),
            ("above/inner.rs", "use super::Roof;"),
            below,
        ];
        let sources = Sources::parse(files.into_iter());
        let upward = upward(&sources, &["below", "above"]).expect("both have a floor");
        (upward.len(), cycles(&sources, None).len())
    };
    assert_eq!(plant("pub struct Floor;"), (0, 0));
    assert_eq!(plant("#[cfg(test)] mod tests { use crate::above::Roof; }"), (0, 0));
    for text in [
        "use crate::above::Roof;",
        "use crate::{above::{self, Roof as R}};",
        "use crate::Roof;",
        "use super::above::*;",
        "fn f(_: crate::above::Roof) {}",
        "fn f() { println!(\"{}\", crate::above::height()); }",
        "mod private { use super::super::above::Roof; }",
    ] {
        assert_eq!(plant(text), (1, 1), "{text}");
    }
    let unknown = Sources::parse([("cellar.rs", "")].into_iter());
    assert_eq!(upward(&unknown, &["below"]), Err("cellar is on no floor".to_string()));
}

/// Public items at the root of a crate are for others: other crates, the crate's own programs, tests and benchmarks.
#[test]
fn every_public_module_has_a_user_outside_of_its_crate() {
    let all = files(&[".rs"]);
    let mut unused = Vec::new();
    for (name, library) in [("gc", "gc"), ("rdma", "rdma"), ("swap", "swap"), ("vm", "jvm")] {
        let root = format!("{name}/src/lib.rs");
        let root = all.iter().find(|(path, _)| *path == root).expect("every crate has a root");
        let public = root.1.lines().filter_map(|line| line.strip_prefix("pub mod "));
        let inside = |path: &str| {
            let program = ["bin/", "main.rs", "launcher/"].map(|part| format!("{name}/src/{part}"));
            path.starts_with(&format!("{name}/src/"))
                && !program.iter().any(|p| path.starts_with(p))
        };
        let outside: Vec<_> = all.iter().filter(|(path, _)| !inside(path)).collect();
        for module in public.map(|line| line.trim_end_matches([';', ' ', '{'])) {
            let wanted = format!("{library}::{module}");
            if !outside.iter().any(|(_, text)| text.contains(&wanted)) {
                unused.push(wanted);
            }
        }
    }
    assert!(unused.is_empty(), "public modules that nobody outside uses: {unused:#?}");
}

fn composition_root(name: &str) -> Option<&'static str> {
    COMPOSITION_ROOTS.iter().find(|(of, _)| *of == name).map(|(_, module)| *module)
}

fn sources(all: &[(String, String)], name: &str) -> Sources {
    let below = format!("{name}/src/");
    let own = all.iter().filter_map(|(path, text)| Some((path.strip_prefix(&below)?, &**text)));
    Sources::parse(own)
}

/// The imports from a floor that is above the importing one. An error names a module that is on no floor.
fn upward(sources: &Sources, floors: &[&str]) -> Result<Vec<Import>, String> {
    let floor = |path: &[String]| floors.iter().position(|floor| *floor == path[0]);
    if let Some(module) = sources.modules().find(|module| floor(module).is_none()) {
        return Err(format!("{} is on no floor", module.join("::")));
    }
    let imports = sources.imports().into_iter();
    Ok(imports.filter(|import| floor(&import.from) < floor(&import.to)).collect())
}

/// Groups of folders each of which leads to all others of its group by imports. A folder and one inside of it are no
/// pair; imports of the composition root do not count.
fn cycles(sources: &Sources, root: Option<&str>) -> Vec<BTreeSet<String>> {
    let mut leads: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for Import { from, to } in sources.imports() {
        if root == Some(&*to[0]) {
            continue;
        }
        let [from, to] = [from, to].map(|module| sources.folder(&module).to_string());
        let inside = |a: &str, b: &str| a.is_empty() || b == a || b.starts_with(&format!("{a}/"));
        if !inside(&from, &to) && !inside(&to, &from) {
            leads.entry(from).or_default().insert(to);
        }
    }
    let reached = |start: &String| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![start]);
        while let Some(folder) = next.pop() {
            for to in leads.get(folder).into_iter().flatten() {
                if reached.insert(to.clone()) {
                    next.push(to);
                }
            }
        }
        reached
    };
    let all: BTreeMap<&String, BTreeSet<String>> =
        leads.keys().map(|folder| (folder, reached(folder))).collect();
    let in_cycle = all.iter().filter(|(folder, reached)| reached.contains(**folder));
    let groups: BTreeSet<BTreeSet<String>> = in_cycle
        .map(|(folder, reached)| {
            let back = |other: &&String| all.get(other).is_some_and(|r| r.contains(*folder));
            reached.iter().filter(back).cloned().collect()
        })
        .collect();
    groups.into_iter().collect()
}
