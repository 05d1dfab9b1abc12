//! Counters and pauses of the heap, and counters of the compiler: `--stats FILE` writes them as JSON when the VM
//! ends, `--metrics ADDRESS` serves them to Prometheus while it runs.

use crate::machine::Vm;
use gc::metrics::{self, Exposition, Kind};
use gc::object::log::LogLevel;

/// Begins to serve metrics if they were asked for. The error is a message for the command line.
pub fn serve(vm: &'static Vm) -> Result<(), String> {
    let Some(address) = &vm.options.metrics_address else {
        return Ok(());
    };
    let taken = metrics::serve(address, || page(vm))
        .map_err(|error| format!("metrics cannot be served at {address}: {error}"))?;
    if address.ends_with(":0") {
        base::say(format_args!("metrics at http://{taken}/metrics"));
    }
    Ok(())
}

fn page(vm: &Vm) -> String {
    let mut page = Exposition::new();
    let uptime = vm.started.elapsed().as_secs_f64();
    page.single("farheap_uptime_seconds", Kind::Gauge, "Time since the VM was started.", uptime);
    let mut totals = vm.heap.totals();
    totals.memory = vm.heap.memory_use();
    metrics::heap(&mut page, &totals);
    let compiler = vm.jit.report();
    let of = |key: &str| compiler[key].as_u64().unwrap_or(0);
    let name = "farheap_jit_compiled_total";
    page.family(name, Kind::Counter, "Compilations: of methods, and of loops in them.");
    page.value(name, &[("what", "method")], of("methods"));
    page.value(name, &[("what", "loop")], of("loops"));
    let seconds = of("compile_us") as f64 / 1e6;
    let help = "Time for which compiler threads have compiled.";
    page.single("farheap_jit_compile_seconds_total", Kind::Counter, help, seconds);
    let help = "Size of the machine code in the code cache.";
    page.single("farheap_jit_cache_bytes", Kind::Gauge, help, of("cache_bytes"));
    page.finish()
}

/// Writes the file if one was asked for. A file that cannot be written is reported and no more.
pub fn write(vm: &Vm) {
    let Some(path) = &vm.options.stats_file else {
        if vm.options.log.wants("gc,heap,exit", LogLevel::Debug) {
            // Logs the memory that tables take.
            vm.heap.stats_at_exit();
        }
        return;
    };
    let uptime_us = vm.started.elapsed().as_micros() as u64;
    let jit = vm.jit.report();
    let report =
        serde_json::json!({ "uptime_us": uptime_us, "heap": vm.heap.stats_at_exit(), "jit": jit });
    let text = format!("{report:#}\n");
    if let Err(error) = std::fs::write(path, text) {
        base::say(format_args!("cannot write {}: {error}", path.display()));
    }
}
