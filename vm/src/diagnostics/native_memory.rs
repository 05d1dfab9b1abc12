//! The memory that the VM takes from the system, by what it is for.

use crate::machine::Vm;
use std::fmt::Write;

/// The unit of the numbers in a report.
#[derive(Clone, Copy)]
pub struct Scale<'a> {
    /// Behind each number.
    pub unit: &'a str,
    /// log2 of its bytes.
    pub shift: u32,
}

/// Writes the report. Any thread.
pub fn write(vm: &Vm, Scale { unit, shift }: Scale<'_>, out: &mut String) {
    let stats = vm.heap.stats_at_exit();
    let cache = &vm.jit.cache;
    let tables: usize = stats.metadata.values().sum();
    let (threads, stack_bytes) = (vm.threads.count(), vm.options.stack_bytes);
    // SAFETY: plain query.
    let malloc = unsafe { libc::mallinfo2() };
    let malloc_bytes = malloc.arena + malloc.hblkhd;
    // Classes lie in the C heap.
    let classes = vm.class_memory.of_all_loaders();
    let classes = classes.descriptions + classes.others;
    let other = malloc_bytes.saturating_sub(classes);
    let stacks = threads * (stack_bytes + crate::threads::native_stack_bytes(stack_bytes));
    // Name, reserved, committed.
    let rows = [
        ("Java Heap", stats.max_bytes, stats.committed_bytes),
        ("Class", classes, classes),
        ("Thread", stacks, stacks),
        ("Code", cache.capacity_bytes(), cache.used_bytes()),
        ("GC", tables, tables),
        ("Internal", other, other),
    ];
    let sum = |of: fn(&(&str, usize, usize)) -> usize| rows.iter().map(of).sum::<usize>() >> shift;
    let (reserved, committed) = (sum(|row| row.1), sum(|row| row.2));
    let _ = writeln!(
        out,
        "\nNative Memory Tracking:\n\n\
         Total: reserved={reserved}{unit}, committed={committed}{unit}\n"
    );
    for (name, reserved, committed) in rows {
        let (reserved, committed) = (reserved >> shift, committed >> shift);
        let _ =
            writeln!(out, "-{name:>26} (reserved={reserved}{unit}, committed={committed}{unit})");
        let note = match (name, &stats.pager) {
            ("Java Heap", Some(pager)) => {
                let (resident, budget) = (pager.resident_bytes, pager.budget_bytes);
                format!(
                    "resident={}{unit} of local memory={}{unit}",
                    resident >> shift,
                    budget >> shift
                )
            }
            ("Class", _) => format!("classes #{}", vm.loaded_classes()),
            ("Thread", _) => format!("thread #{threads}"),
            _ => continue,
        };
        let _ = writeln!(out, "{:28}({note})", "");
    }
    let memory = &stats.memory;
    let [resident, children, others] =
        [memory.vm_bytes, memory.child_server_bytes, memory.other_server_bytes]
            .map(|bytes| bytes >> shift);
    let _ = writeln!(out, "\nResident in this process: {resident}{unit}");
    if stats.pager.is_some() {
        let _ = writeln!(
            out,
            "Memory servers, not in the total: child processes {children}{unit}, others on this \
             machine {others}{unit}"
        );
    }
}

/// The VM ends: prints the report in bytes, if `-XX:+PrintNMTStatistics` asks for it.
pub fn at_exit(vm: &Vm) {
    if vm.options.given("PrintNMTStatistics") == Some("true") && vm.options.tracks_native_memory() {
        let mut text = String::new();
        write(vm, Scale { unit: "", shift: 0 }, &mut text);
        base::print_part(format_args!("{text}"));
    }
}
