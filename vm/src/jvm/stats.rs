//! `--stats FILE`: counters and pauses of the heap, and what the compiler did, as JSON, written when the VM ends.

use crate::runtime::Vm;

/// Writes the file if one was asked for. A file that cannot be written is reported and no more.
pub fn write(vm: &Vm) {
    let Some(path) = &vm.options.stats_file else {
        return;
    };
    let uptime_us = vm.started.elapsed().as_micros() as u64;
    let jit = vm.jit.report();
    let report = serde_json::json!({ "uptime_us": uptime_us, "heap": vm.heap.stats(), "jit": jit });
    let text = format!("{report:#}\n");
    if let Err(error) = std::fs::write(path, text) {
        eprintln!("cannot write {}: {error}", path.display());
    }
}
