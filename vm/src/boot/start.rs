//! Making a VM out of options.

use super::append::AppendedPath;
use super::image::ClassImage;
use super::patches::ModulePatches;
use super::start_times::StartTimes;
use super::{classes, phases};
use crate::diagnostics::{Diagnostics, crash, fault_profile};
use crate::ffi::natives::Natives;
use crate::jit::Jit;
use crate::loading::holders::Holders;
use crate::machine::gc_binding::Binding;
use crate::machine::vm::KlassTable;
use crate::machine::{JavaThread, Vm};
use crate::natives;
use crate::options::Options;
use crate::runtime::headers;
use crate::{threads, whitebox};
use gc::heap::Heap;
use gc::object::RootSlot;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU8;
use std::time::Instant;

/// Makes a VM and attaches the calling OS thread as its main thread. Errors are messages for the command line.
pub fn create_vm(options: Options) -> Result<&'static JavaThread, String> {
    let started = Instant::now();
    let log = options.log.clone();
    let mut times = StartTimes::begin(&log);
    let image =
        ClassImage::open(&options.java_home.join("lib/modules")).map_err(|e| e.to_string())?;
    // Before the other handlers, which pass on the faults that are not theirs.
    crash::install(&options);
    // Before the pager's.
    crate::threads::guarded::install_handler();
    let heap = Heap::new(&options.heap).map_err(|e| e.to_string())?;
    times.end("Genesis");
    let slot_bytes = heap.barriers().slot_bytes();
    headers::set_compact(options.compact_headers);
    let holders = Holders::new();
    let jit = Jit::new(&options.jit);
    let doors = whitebox::tables(options.whitebox);
    let diagnostics = Diagnostics::new(&options);
    let vm: &'static Vm = Box::leak(Box::new(Vm {
        options,
        heap,
        slot_bytes,
        klasses: KlassTable::new(),
        boot_loader: holders.boot_loader,
        holders,
        unloading: Default::default(),
        image,
        module_patches: OnceLock::new(),
        appended: OnceLock::new(),
        known: Default::default(),
        strings: Default::default(),
        globals: Default::default(),
        java_vm: OnceLock::new(),
        natives: Natives::new(natives::ALL.iter().copied().chain(doors)),
        threads: Default::default(),
        modules: Default::default(),
        constraints: Default::default(),
        jvm: Default::default(),
        jit,
        agents: Default::default(),
        recorder: Default::default(),
        diagnostics,
        pending_references: RootSlot::null(),
        spare_out_of_memory: RootSlot::null(),
        class_memory: Default::default(),
        first_out_of_memory: Default::default(),
        init_level: AtomicU8::new(0),
        started,
    }));
    crash::set_vm(vm);
    if vm.heap.barriers().entry_max() != 0 {
        vm.threads.monitors.find_by_entry();
    }
    vm.heap.bind(Arc::new(Binding(vm)));
    crate::jvm::stats::serve(vm)?;
    fault_profile::start(vm)?;
    let t = threads::attach(vm).ok_or("no address space for the main thread's stack")?;
    vm.natives.open_boot_libraries(&vm.options.java_home)?;
    let Options { properties, java_home, .. } = &vm.options;
    vm.module_patches.get_or_init(|| ModulePatches::open(properties, java_home));
    classes::load(t)?;
    let append = vm.options.boot_class_path_append.as_deref();
    vm.appended.get_or_init(|| AppendedPath::open(append, &vm.options.java_home));
    times.end("Load java.lang classes");
    phases::run(t)?;
    StartTimes::since(&log, started).end("Create VM");
    Ok(t)
}
