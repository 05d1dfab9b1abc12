//! Events of the VM itself: writing them by the layout of their types, and those that are asked for periodically.
//!
//! An event of the list of the class library that is not here never occurs.

use super::encoding::Encoder;
use super::layout::{Field, Layout};
use super::{Emitted, Recorder, STRING};
use crate::machine::JavaThread;
use crate::options::identity::{VM_NAME, vm_version};
use base::now_ns;
use parking_lot::Mutex;
use std::sync::atomic::Ordering;

/// A value of a field.
#[derive(Clone, Debug)]
pub enum Value {
    Number(u64),
    Float(f32),
    Text(String),
}

/// A field's name (`heapSpace.start` for one inside of another) and value.
pub type Named = (&'static str, Value);

/// Writes an event's fields, in the order of its type; those that are not given are zero or null.
pub fn encode(out: &mut Encoder, layout: &Layout, emitted: &Emitted<'_>) {
    let ty = layout.find(emitted.name).expect("the caller has found it");
    out.sized(|out| {
        out.number(ty.id);
        out.number(emitted.start);
        if ty.has_duration {
            out.number(emitted.duration);
        }
        if ty.has_thread {
            out.number(emitted.thread);
        }
        if ty.has_stack_trace {
            out.number(emitted.stack_trace);
        }
        ty.fields.iter().for_each(|field| write(out, layout, field, "", emitted.values));
    });
}

fn write(out: &mut Encoder, layout: &Layout, field: &Field, prefix: &str, values: &[Named]) {
    let name = format!("{prefix}{}", field.name);
    let value = values.iter().find(|(other, _)| *other == name).map(|(_, value)| value);
    let number = match value {
        Some(Value::Number(number)) => *number,
        _ => 0,
    };
    match &*field.type_name {
        _ if field.is_constant => out.number(number),
        "long" | "int" | "short" | "char" => out.number(number),
        "boolean" | "byte" => out.byte(number as u8),
        "float" => out.float(if let Some(Value::Float(float)) = value { *float } else { 0.0 }),
        "double" => out.raw(&[0; 8]),
        STRING => out.text(if let Some(Value::Text(text)) = value { Some(text) } else { None }),
        inner => {
            let prefix = format!("{name}.");
            let inner = layout.find(inner).map_or(&[][..], |ty| &ty.fields);
            inner.iter().for_each(|field| write(out, layout, field, &prefix, values));
        }
    }
}

/// Emits the periodic event with this number, if the VM has it.
pub fn emit_periodic(t: &JavaThread, id: u64) {
    let recorder = &t.vm.recorder;
    let Some(name) = recorder.layout.get().and_then(|layout| layout.event_name(id)) else { return };
    let Some((name, values)) = PERIODIC.iter().find(|(other, _)| *other == name) else { return };
    for values in values(t) {
        recorder.emit(Emitted { values: &values, ..Emitted::now(name) });
    }
}

type Values = fn(&JavaThread) -> Vec<Vec<Named>>;

/// The values of each event that there is to be of a type.
const PERIODIC: &[(&str, Values)] = &[
    ("jdk.JVMInformation", jvm_information),
    ("jdk.OSInformation", os_information),
    ("jdk.InitialEnvironmentVariable", environment),
    ("jdk.CPULoad", cpu_load),
    ("jdk.PhysicalMemory", physical_memory),
    ("jdk.JavaThreadStatistics", thread_statistics),
    ("jdk.ClassLoadingStatistics", class_statistics),
];

fn jvm_information(t: &JavaThread) -> Vec<Vec<Named>> {
    let options = &t.vm.options;
    vec![vec![
        ("jvmName", Value::Text(VM_NAME.into())),
        ("jvmVersion", Value::Text(format!("{VM_NAME} ({})", vm_version(&options.java_home)))),
        ("jvmArguments", Value::Text(options.arguments.join(" "))),
        ("javaArguments", Value::Text(options.property("sun.java.command").unwrap_or("").into())),
        ("jvmStartTime", Value::Number(t.vm.started_at_ms() as u64)),
        ("pid", Value::Number(u64::from(std::process::id()))),
    ]]
}

fn os_information(_t: &JavaThread) -> Vec<Vec<Named>> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let text = format!("{}uname: {}", read("/etc/os-release"), read("/proc/version").trim_end());
    vec![vec![("osVersion", Value::Text(text))]]
}

fn environment(_t: &JavaThread) -> Vec<Vec<Named>> {
    let text = |text: std::ffi::OsString| Value::Text(text.to_string_lossy().into_owned());
    std::env::vars_os()
        .map(|(key, value)| vec![("key", text(key)), ("value", text(value))])
        .collect()
}

fn physical_memory(_t: &JavaThread) -> Vec<Vec<Named>> {
    let table = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let bytes = |name: &str| -> Option<u64> {
        let line = table.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
    };
    let (Some(total), Some(free)) = (bytes("MemTotal:"), bytes("MemFree:")) else {
        return Vec::new();
    };
    vec![vec![
        ("totalSize", Value::Number(total)),
        ("usedSize", Value::Number(total.saturating_sub(free))),
    ]]
}

fn thread_statistics(t: &JavaThread) -> Vec<Vec<Named>> {
    let threads = &t.vm.threads;
    vec![vec![
        ("activeCount", Value::Number(threads.count() as u64)),
        ("daemonCount", Value::Number(threads.daemon_count() as u64)),
        ("accumulatedCount", Value::Number(threads.started.load(Ordering::Relaxed))),
        ("peakCount", Value::Number(threads.peak.load(Ordering::Relaxed) as u64)),
    ]]
}

fn class_statistics(t: &JavaThread) -> Vec<Vec<Named>> {
    vec![vec![
        ("loadedClassCount", Value::Number(t.vm.classes_ever_loaded() as u64)),
        ("unloadedClassCount", Value::Number(t.vm.unloading.classes())),
    ]]
}

/// CPU time since the machine or the process was started, in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuTimes {
    /// Of the process.
    user: u64,
    system: u64,
    /// Of all CPUs of the machine.
    busy: u64,
    all: u64,
}

impl CpuTimes {
    fn now() -> Option<CpuTimes> {
        let process = std::fs::read_to_string("/proc/self/stat").ok()?;
        CpuTimes::parse(&process, &std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// The texts of `/proc/self/stat` and `/proc/stat`.
    fn parse(process: &str, machine: &str) -> Option<CpuTimes> {
        // The name of the program, in parentheses, may have spaces.
        let (_, process) = process.rsplit_once(')')?;
        let field = |index: usize| process.split_whitespace().nth(index)?.parse().ok();
        let cpus = machine.lines().next()?.strip_prefix("cpu ")?;
        // User, nice, system, idle, waiting for I/O, interrupts, soft interrupts, stolen; guests are part of user.
        let cpus: Vec<u64> =
            cpus.split_whitespace().take(8).map_while(|text| text.parse().ok()).collect();
        let all = cpus.iter().sum::<u64>();
        Some(CpuTimes {
            user: field(11)?,
            system: field(12)?,
            busy: all - cpus.get(3)? - cpus.get(4)?,
            all,
        })
    }
}

/// Since the last event, or the start of the recording.
fn cpu_load(t: &JavaThread) -> Vec<Vec<Named>> {
    let Some(now) = CpuTimes::now() else { return Vec::new() };
    let before = t.vm.recorder.cpu_times.0.lock().replace(now);
    let none = CpuTimes { user: 0, system: 0, busy: 0, all: 0 };
    let before = before.unwrap_or(none);
    let all = now.all.saturating_sub(before.all).max(1) as f32;
    let part = |of: fn(&CpuTimes) -> u64| {
        Value::Float((of(&now).saturating_sub(of(&before)) as f32 / all).min(1.0))
    };
    vec![vec![
        ("jvmUser", part(|times| times.user)),
        ("jvmSystem", part(|times| times.system)),
        ("machineTotal", part(|times| times.busy)),
    ]]
}

/// The times at the last event of the load.
#[derive(Default)]
pub struct LastCpuTimes(Mutex<Option<CpuTimes>>);

impl LastCpuTimes {
    /// A recording begins: the first event is about the time from now on.
    pub fn begin(&self) {
        *self.0.lock() = CpuTimes::now();
    }
}

/// How many cycles and pauses of the heap have become events.
#[derive(Default)]
pub struct Collections(Mutex<(usize, usize)>);

impl Collections {
    /// A recording begins: what was before is not part of it.
    pub fn skip(&self, t: &JavaThread) {
        let mut seen = self.0.lock();
        let (cycles, pauses) = t.vm.heap.records_since(seen.0, seen.1);
        *seen = (seen.0 + cycles.len(), seen.1 + pauses.len());
    }

    /// Emits the events of cycles that have ended since the last call, and of pauses. They have the times of what they
    /// stand for.
    pub fn emit(&self, t: &JavaThread, recorder: &Recorder) {
        let mut seen = self.0.lock();
        let (cycles, pauses) = t.vm.heap.records_since(seen.0, seen.1);
        if cycles.is_empty() && pauses.is_empty() {
            return;
        }
        let heap_start = now_ns() - t.vm.heap.uptime().as_nanos() as u64;
        let first = seen.0 as u64 + 1;
        let ticks = |ms: f64| heap_start + (ms * 1e6) as u64;
        // Cycles have times in whole milliseconds.
        let is_in = |at_ms: f64, cycle: &gc::core::stats::LastCycle| {
            (cycle.started_ms as f64..cycle.ended_ms as f64 + 1.0).contains(&at_ms)
        };
        let collector = t.vm.options.heap.collector.name();
        let heap = &t.vm.heap;
        let base = heap.core().geometry.base as u64;
        let (committed, reserved) = (heap.committed_bytes() as u64, heap.max_bytes() as u64);
        for (number, cycle) in (first..).zip(&cycles) {
            let own = pauses.iter().filter(|pause| is_in(pause.at_ms, cycle));
            let own: Vec<u64> = own.map(|pause| (pause.pause_us * 1e3) as u64).collect();
            let start = ticks(cycle.started_ms as f64);
            let duration = (cycle.ended_ms - cycle.started_ms) * 1_000_000;
            let mut constants = recorder.constants.lock();
            let [name, cause] =
                [("jdk.types.GCName", collector), ("jdk.types.GCCause", cycle.cause)]
                    .map(|(ty, text)| Value::Number(constants.text(ty, text)));
            let whens =
                ["Before GC", "After GC"].map(|text| constants.text("jdk.types.GCWhen", text));
            drop(constants);
            recorder.emit(Emitted {
                start,
                duration,
                values: &[
                    ("gcId", Value::Number(number)),
                    ("name", name),
                    ("cause", cause),
                    ("sumOfPauses", Value::Number(own.iter().sum())),
                    ("longestPause", Value::Number(own.iter().copied().max().unwrap_or(0))),
                ],
                ..Emitted::now("jdk.GarbageCollection")
            });
            let sides =
                [(start, cycle.used_before_bytes), (start + duration, cycle.used_after_bytes)];
            for (when, (at, used)) in whens.into_iter().zip(sides) {
                recorder.emit(Emitted {
                    start: at,
                    values: &[
                        ("gcId", Value::Number(number)),
                        ("when", Value::Number(when)),
                        ("heapSpace.start", Value::Number(base)),
                        ("heapSpace.committedEnd", Value::Number(base + committed)),
                        ("heapSpace.committedSize", Value::Number(committed)),
                        ("heapSpace.reservedEnd", Value::Number(base + reserved)),
                        ("heapSpace.reservedSize", Value::Number(reserved)),
                        ("heapUsed", Value::Number(used as u64)),
                    ],
                    ..Emitted::now("jdk.GCHeapSummary")
                });
            }
        }
        for pause in &pauses {
            // A pause of a cycle that has not ended is that of the next one.
            let cycle = cycles.iter().position(|cycle| pause.at_ms < cycle.ended_ms as f64 + 1.0);
            let number = first + cycle.unwrap_or(cycles.len()) as u64;
            recorder.emit(Emitted {
                start: ticks(pause.at_ms),
                duration: (pause.pause_us * 1e3) as u64,
                values: &[
                    ("gcId", Value::Number(number)),
                    ("name", Value::Text(pause.name.into())),
                ],
                ..Emitted::now("jdk.GCPhasePause")
            });
        }
        *seen = (seen.0 + cycles.len(), seen.1 + pauses.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_times_are_read() {
        let process = "1 (a) b) S 1 1 1 0 -1 4194560 1 2 3 4 70 30 1 1 20 0 1 0 5 6 7";
        let machine = "cpu  10 20 30 400 50 1 2 3 0 0\ncpu0 1 2 3\n";
        let expected = CpuTimes { user: 70, system: 30, busy: 66, all: 516 };
        assert_eq!(CpuTimes::parse(process, machine), Some(expected));
        for (process, machine) in
            [("", machine), (process, ""), ("1 (a) S 1", machine), (process, "cpu 1 2")]
        {
            assert_eq!(CpuTimes::parse(process, machine), None);
        }
    }
}
