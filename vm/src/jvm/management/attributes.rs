//! Single numbers and switches.

use super::VERSION_3;
use crate::diagnostics::heap_dump;
use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jboolean, jint, jlong, jlongArray, jobject, jobjectArray, jstring};
use crate::loading::{errors, strings};
use crate::machine::Vm;
use crate::options::log::Topic;
use std::path::Path;
use std::sync::atomic::Ordering;

pub extern "C" fn version(_env: Env) -> jint {
    VERSION_3
}

/// Fills the bit field `jmmOptionalSupport`.
pub extern "C" fn optional_support(_env: Env, support: *mut u32) -> jint {
    // SAFETY: libmanagement passes its own structure.
    unsafe {
        *support = COMPILATION_TIME
            | CONTENTION_TIMES
            | CPU_TIMES
            | MONITORS_AND_LOCKS
            | ALLOCATED_MEMORY
            | DIAGNOSTIC_COMMANDS
    };
    0
}

pub extern "C" fn long_attribute(env: Env, bean: jobject, attribute: jint) -> jlong {
    let per_bean = match attribute {
        GC_TIME_MS => super::beans::collector_counters(env, bean).map(|c| c.time_ms),
        GC_COUNT => super::beans::collector_counters(env, bean).map(|c| c.collections),
        _ => return attribute_of(env.thread().vm, attribute).unwrap_or(-1),
    };
    per_bean.map_or(-1, |value| value as jlong)
}

/// Fills `results`; returns how many of the attributes exist.
pub extern "C" fn long_attributes(
    env: Env,
    bean: jobject,
    attributes: *const jint,
    count: jint,
    results: *mut jlong,
) -> jint {
    let mut known = 0;
    for i in 0..count.max(0) as usize {
        // SAFETY: libmanagement passes arrays of `count` elements.
        let value = unsafe { long_attribute(env, bean, *attributes.add(i)) };
        known += jint::from(value != -1);
        // SAFETY: as above.
        unsafe { *results.add(i) = value };
    }
    known
}

fn attribute_of(vm: &'static Vm, attribute: jint) -> Option<jlong> {
    Some(match attribute {
        CLASSES_LOADED => vm.classes_ever_loaded() as jlong,
        THREADS_STARTED => vm.threads.started.load(Ordering::Relaxed) as jlong,
        THREADS_LIVE => vm.threads.count() as jlong,
        THREADS_PEAK => vm.threads.peak.load(Ordering::Relaxed) as jlong,
        THREADS_DAEMON => vm.threads.daemon_count() as jlong,
        INIT_DONE_TIME_MS => vm.started_at_ms(),
        UPTIME_MS => vm.started.elapsed().as_millis() as jlong,
        CLASSES_UNLOADED => vm.unloading.classes() as jlong,
        COMPILE_TIME_MS => {
            (vm.jit.statistics.total_ns.load(Ordering::Relaxed) / 1_000_000) as jlong
        }
        PROCESS_ID => std::process::id().into(),
        MEMORY_BYTES => vm.options.resources.memory_bytes() as jlong,
        VM_GLOBAL_COUNT => super::flags::count(vm) as jlong,
        GC_ATTRIBUTES => 1,
        _ => return None,
    })
}

pub extern "C" fn bool_attribute(env: Env, attribute: jint) -> jboolean {
    let vm = env.thread().vm;
    match attribute {
        VERBOSE_GC => vm.options.log.is_verbose(Topic::Gc) as jboolean,
        VERBOSE_CLASS => vm.options.log.is_verbose(Topic::Classes) as jboolean,
        THREAD_CONTENTION => vm.threads.is_contention_timed.load(Ordering::Relaxed) as jboolean,
        THREAD_CPU_TIME | THREAD_ALLOCATED_MEMORY => 1,
        _ => 0,
    }
}

/// CPU times and allocated memory are always measured. Returns the value before.
pub extern "C" fn set_bool_attribute(env: Env, attribute: jint, flag: jboolean) -> jboolean {
    let before = bool_attribute(env, attribute);
    let (vm, flag) = (env.thread().vm, flag != 0);
    match attribute {
        VERBOSE_GC => vm.options.log.set_verbose(Topic::Gc, flag),
        VERBOSE_CLASS => vm.options.log.set_verbose(Topic::Classes, flag),
        THREAD_CONTENTION => {
            if flag && before == 0 {
                vm.threads.for_each(&mut |thread| thread.sync.reset_times());
            }
            vm.threads.is_contention_timed.store(flag, Ordering::Relaxed);
        }
        _ => {}
    }
    before
}

/// The VM's own threads are not shown.
pub extern "C" fn internal_thread_times(
    _env: Env,
    _names: jobjectArray,
    _times: jlongArray,
) -> jint {
    0
}

/// `HotSpotDiagnosticMXBean.dumpHeap`. Objects that nothing reaches are left out even where they are asked for.
pub extern "C" fn dump_heap(env: Env, file: jstring, _live: jboolean) -> jint {
    env.enter(|t| {
        let path = strings::to_text(t, entry::non_null(t, file)?.get());
        let path = Path::new(&path);
        let request = heap_dump::Request { path, gzip_level: 0, may_overwrite: false };
        match heap_dump::write(t, &request) {
            Ok(_) => Ok(0i32),
            Err(error) => errors::fail(t, "java/io/IOException", &heap_dump::reason(&error)),
        }
    })
}

pub extern "C" fn ignore(_env: Env, _enabled: jboolean) {}

/// Bits of `jmmOptionalSupport`.
const COMPILATION_TIME: u32 = 1 << 1;
const CONTENTION_TIMES: u32 = 1 << 2;
const CPU_TIMES: u32 = 1 << 3 | 1 << 4;
const MONITORS_AND_LOCKS: u32 = 1 << 5 | 1 << 6;
const ALLOCATED_MEMORY: u32 = 1 << 7;
const DIAGNOSTIC_COMMANDS: u32 = 1 << 8;

// `jmmLongAttribute`
const CLASSES_LOADED: jint = 1;
const CLASSES_UNLOADED: jint = 2;
const THREADS_STARTED: jint = 3;
const THREADS_LIVE: jint = 4;
const THREADS_PEAK: jint = 5;
const THREADS_DAEMON: jint = 6;
const INIT_DONE_TIME_MS: jint = 7;
const COMPILE_TIME_MS: jint = 8;
const GC_TIME_MS: jint = 9;
const GC_COUNT: jint = 10;
const UPTIME_MS: jint = 11;
const VM_GLOBAL_COUNT: jint = 104;
const PROCESS_ID: jint = 201;
const MEMORY_BYTES: jint = 202;
const GC_ATTRIBUTES: jint = 401;

// `jmmBoolAttribute`
const VERBOSE_GC: jint = 21;
const VERBOSE_CLASS: jint = 22;
const THREAD_CONTENTION: jint = 23;
const THREAD_CPU_TIME: jint = 24;
const THREAD_ALLOCATED_MEMORY: jint = 25;
