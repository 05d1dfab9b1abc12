//! The counters of the VM, with HotSpot's names: `jps` reads the texts, `jstat` the numbers.
//!
//! The heap is one pool of objects of all ages. It is shown as the old generation, and the young one is empty.

use super::region::{Region, Units, Variability};
use crate::machine::Vm;
use crate::options::identity::{VM_NAME, VM_VENDOR, library_version, vm_info, vm_version};
use std::sync::atomic::{AtomicI64, Ordering};

/// Adds the counters, and starts the thread that brings them up to date. Where it cannot be started, they stay as they
/// are.
pub fn start(vm: &'static Vm) {
    texts(vm);
    let sampler = Sampler::new(vm);
    sampler.sample();
    let thread = std::thread::Builder::new().name("perf-data".into()).stack_size(STACK_BYTES);
    let _ = thread.spawn(move || {
        loop {
            std::thread::sleep(vm.options.perf_data_interval);
            sampler.sample();
        }
    });
}

fn texts(vm: &Vm) {
    let (region, options) = (vm.diagnostics.perf_data.region(), &vm.options);
    let home = &options.java_home;
    let property = |key: &str| options.property(key).unwrap_or_default().to_string();
    // What can be done with the VM: to attach to it is the first.
    let mut capabilities = ["0"; 64];
    capabilities[0] = if options.disable_attach { "0" } else { "1" };
    let flags = options.flags.iter().map(|(name, value)| format!("-XX:{name}={value}"));
    for (name, text) in [
        ("sun.rt.javaCommand", property("sun.java.command")),
        ("java.rt.vmArgs", options.arguments.join(" ")),
        ("java.rt.vmFlags", flags.collect::<Vec<_>>().join(" ")),
        ("sun.rt.jvmCapabilities", capabilities.concat()),
        ("sun.rt.internalVersion", format!("{VM_NAME} ({})", vm_version(home))),
        ("java.property.java.version", library_version(home).unwrap_or_default()),
        ("java.property.java.home", home.display().to_string()),
        ("java.property.java.class.path", property("java.class.path")),
        ("java.property.java.vm.name", VM_NAME.into()),
        ("java.property.java.vm.vendor", VM_VENDOR.into()),
        ("java.property.java.vm.version", vm_version(home)),
        ("java.property.java.vm.info", vm_info(&options.jit).into()),
        ("java.property.java.vm.specification.version", "17".into()),
        ("sun.gc.generation.0.name", "new".into()),
        ("sun.gc.generation.1.name", "old".into()),
        ("sun.gc.generation.0.space.0.name", "eden".into()),
        ("sun.gc.generation.0.space.1.name", "s0".into()),
        ("sun.gc.generation.0.space.2.name", "s1".into()),
        ("sun.gc.generation.1.space.0.name", "space".into()),
        ("sun.gc.policy.name", vm.heap.totals().collector.into()),
    ] {
        region.text(name, &text);
    }
}

/// Numbers, and how they are read.
struct Sampler {
    vm: &'static Vm,
    rows: Vec<(&'static AtomicI64, Read)>,
}

/// What numbers are made of, at one moment.
struct Sample<'a> {
    vm: &'a Vm,
    used: usize,
    committed: usize,
    max: usize,
    young: gc::core::stats::CollectorCounters,
    full: gc::core::stats::CollectorCounters,
}

impl Sampler {
    fn new(vm: &'static Vm) -> Sampler {
        let region: &'static Region = vm.diagnostics.perf_data.region();
        let add = |&(name, units, variability, read): &Row| {
            Some((region.long(name, units, variability, 0)?, read))
        };
        let constant = |name, units, value| region.long(name, units, Variability::Constant, value);
        let now = base::since_epoch().as_millis() as i64;
        constant("sun.os.hrt.frequency", Units::Hertz, NANOS);
        constant("sun.rt.createVmBeginTime", Units::None, vm.started_at_ms());
        constant("sun.rt.createVmEndTime", Units::None, now);
        constant("sun.rt.vmInitDoneTime", Units::None, now);
        constant("sun.rt.jvmVersion", Units::None, 17 << 24);
        constant("sun.gc.policy.collectors", Units::None, 2);
        constant("sun.gc.policy.generations", Units::None, 2);
        constant("sun.gc.generation.0.spaces", Units::None, 3);
        constant("sun.gc.generation.1.spaces", Units::None, 1);
        Sampler { vm, rows: ROWS.iter().filter_map(add).collect() }
    }

    fn sample(&self) {
        let vm = self.vm;
        let mut sample = Sample {
            vm,
            used: vm.heap.used_bytes(),
            committed: vm.heap.committed_bytes(),
            max: vm.heap.max_bytes(),
            young: Default::default(),
            full: Default::default(),
        };
        for (name, counters) in vm.heap.collector_beans() {
            let is_young = name.contains("Young");
            *if is_young { &mut sample.young } else { &mut sample.full } = counters;
        }
        for (cell, read) in &self.rows {
            cell.store(read(&sample), Ordering::Relaxed);
        }
    }
}

type Row = (&'static str, Units, Variability, Read);
type Read = fn(&Sample<'_>) -> i64;

use Units::{Bytes, Events, None as Plain, Ticks};
use Variability::{Monotonic, Variable};

const ROWS: &[Row] = &[
    ("sun.os.hrt.ticks", Ticks, Monotonic, |s| s.vm.started.elapsed().as_nanos() as i64),
    ("sun.gc.generation.0.minCapacity", Bytes, Variable, |_| 0),
    ("sun.gc.generation.0.maxCapacity", Bytes, Variable, |_| 0),
    ("sun.gc.generation.0.capacity", Bytes, Variable, |_| 0),
    ("sun.gc.generation.0.space.0.maxCapacity", Bytes, Variable, |_| 0),
    ("sun.gc.generation.0.space.0.capacity", Bytes, Variable, |_| 0),
    ("sun.gc.generation.0.space.0.used", Bytes, Variable, |_| 0),
    ("sun.gc.generation.0.space.1.maxCapacity", Bytes, Variable, |_| 0),
    ("sun.gc.generation.0.space.1.capacity", Bytes, Variable, |_| 0),
    ("sun.gc.generation.0.space.1.used", Bytes, Variable, |_| 0),
    ("sun.gc.generation.0.space.2.maxCapacity", Bytes, Variable, |_| 0),
    ("sun.gc.generation.0.space.2.capacity", Bytes, Variable, |_| 0),
    ("sun.gc.generation.0.space.2.used", Bytes, Variable, |_| 0),
    ("sun.gc.generation.1.minCapacity", Bytes, Variable, |s| {
        s.vm.options.heap.initial_bytes as i64
    }),
    ("sun.gc.generation.1.maxCapacity", Bytes, Variable, |s| s.max as i64),
    ("sun.gc.generation.1.capacity", Bytes, Variable, |s| s.committed as i64),
    ("sun.gc.generation.1.space.0.maxCapacity", Bytes, Variable, |s| s.max as i64),
    ("sun.gc.generation.1.space.0.capacity", Bytes, Variable, |s| s.committed as i64),
    ("sun.gc.generation.1.space.0.used", Bytes, Variable, |s| s.used as i64),
    ("sun.gc.collector.0.invocations", Events, Monotonic, |s| s.young.collections as i64),
    ("sun.gc.collector.0.time", Ticks, Monotonic, |s| ticks(s.young.time_ms)),
    ("sun.gc.collector.1.invocations", Events, Monotonic, |s| s.full.collections as i64),
    ("sun.gc.collector.1.time", Ticks, Monotonic, |s| ticks(s.full.time_ms)),
    ("java.threads.live", Plain, Variable, |s| s.vm.threads.count() as i64),
    ("java.threads.daemon", Plain, Variable, |s| s.vm.threads.daemon_count() as i64),
    ("java.threads.livePeak", Plain, Variable, |s| {
        s.vm.threads.peak.load(Ordering::Relaxed) as i64
    }),
    ("java.threads.started", Events, Monotonic, |s| {
        s.vm.threads.started.load(Ordering::Relaxed) as i64
    }),
    ("java.cls.loadedClasses", Events, Monotonic, |s| s.vm.classes_ever_loaded() as i64),
    ("java.cls.sharedLoadedClasses", Events, Monotonic, |_| 0),
    ("java.cls.unloadedClasses", Events, Monotonic, |s| s.vm.unloading.classes() as i64),
    ("java.cls.sharedUnloadedClasses", Events, Monotonic, |_| 0),
    ("java.ci.totalTime", Ticks, Monotonic, |s| {
        s.vm.jit.statistics.total_ns.load(Ordering::Relaxed) as i64
    }),
    ("sun.ci.totalCompiles", Events, Monotonic, |s| {
        let statistics = &s.vm.jit.statistics;
        let of = [&statistics.methods, &statistics.loops];
        of.iter().map(|count| count.load(Ordering::Relaxed) as i64).sum()
    }),
    ("sun.ci.totalBailouts", Events, Monotonic, |s| {
        s.vm.jit.statistics.failed.load(Ordering::Relaxed) as i64
    }),
];

fn ticks(ms: u64) -> i64 {
    ms as i64 * (NANOS / 1000)
}

/// Ticks are nanoseconds.
const NANOS: i64 = 1_000_000_000;
const STACK_BYTES: usize = 256 << 10;
