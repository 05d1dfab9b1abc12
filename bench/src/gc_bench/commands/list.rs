//! `gc-bench list`: workloads, collectors and peers.

use std::io;
use std::path::{Path, PathBuf};

use crate::gc_bench::class_path::Libraries;
use crate::gc_bench::contender::PEERS;
use crate::gc_bench::manifest::Manifest;
use crate::java::jdk::Jdk;
use crate::java::vm::Vm;

/// Prints what can be measured on this machine; always true.
pub fn run(manifest: &Path, vm: Option<PathBuf>) -> io::Result<bool> {
    let manifest = Manifest::read(manifest)?;
    let libraries = Libraries::find()?;
    base::print(format_args!("workloads (heaps of the sizes tiny, small, default, large):"));
    for workload in &manifest.workloads {
        let heaps: Vec<&str> = workload.sizes.values().map(|size| size.heap.as_str()).collect();
        let here = if libraries.class_path(workload).is_ok() { "" } else { " (not installed)" };
        base::print(format_args!(
            "  {:16} {:20} {}{here}",
            workload.name,
            heaps.join(" "),
            workload.about
        ));
    }
    match (Vm::find(vm), Jdk::find()) {
        (Ok(vm), Ok(jdk)) => {
            base::print(format_args!("collectors: {}", vm.collectors(&jdk)?.join(", ")))
        }
        (Err(error), _) | (_, Err(error)) => base::print(format_args!("collectors: {error}")),
    }
    let peers: Vec<&str> = PEERS.iter().map(|(name, _)| *name).collect();
    base::print(format_args!("peers: {}", peers.join(", ")));
    Ok(true)
}
