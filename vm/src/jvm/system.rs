//! `java.lang.System` and `Runtime`: time, memory, CPUs, the end.

use crate::ffi::entry::{Env, enter_current};
use crate::ffi::types::{jboolean, jclass, jint, jlong};
use crate::machine::{JavaThread, Vm};
use gc::core::outcome::CollectCause;
use std::time::{SystemTime, UNIX_EPOCH};

#[unsafe(no_mangle)]
extern "C" fn JVM_CurrentTimeMillis(_env: Env, _class: jclass) -> jlong {
    let (seconds, nanos) = since_epoch();
    seconds * 1000 + nanos / 1_000_000
}

#[unsafe(no_mangle)]
extern "C" fn JVM_NanoTime(_env: Env, _class: jclass) -> jlong {
    nano_time()
}

/// The monotonic clock, ns.
pub fn nano_time() -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` can be written.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Nanoseconds since a second that the caller names; -1 when the distance from now does not fit.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetNanoTimeAdjustment(_env: Env, _class: jclass, offset_s: jlong) -> jlong {
    let (seconds, nanos) = since_epoch();
    match seconds.checked_sub(offset_s) {
        Some(apart) if apart.abs() < 1 << 32 => apart * 1_000_000_000 + nanos,
        _ => -1,
    }
}

/// Seconds, and the nanoseconds on top.
fn since_epoch() -> (i64, i64) {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => (since.as_secs() as i64, i64::from(since.subsec_nanos())),
        Err(before) => (-(before.duration().as_secs() as i64), 0),
    }
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GC() {
    enter_current(|t| {
        if !t.vm.options.disable_explicit_gc {
            t.vm.heap.collect(&t.mutator, CollectCause::SystemGc);
        }
        Ok(())
    })
}

/// No collector records how long ago the least recently inspected object was inspected, as one with
/// full collections would: the time since the start.
#[unsafe(no_mangle)]
extern "C" fn JVM_MaxObjectInspectionAge() -> jlong {
    JavaThread::current().vm.started.elapsed().as_millis() as jlong
}

#[unsafe(no_mangle)]
extern "C" fn JVM_TotalMemory() -> jlong {
    let heap = &JavaThread::current().vm.heap;
    heap.committed_bytes().max(heap.used_bytes()) as jlong
}

#[unsafe(no_mangle)]
extern "C" fn JVM_FreeMemory() -> jlong {
    let heap = &JavaThread::current().vm.heap;
    heap.committed_bytes().saturating_sub(heap.used_bytes()) as jlong
}

#[unsafe(no_mangle)]
extern "C" fn JVM_MaxMemory() -> jlong {
    JavaThread::current().vm.heap.max_bytes() as jlong
}

#[unsafe(no_mangle)]
extern "C" fn JVM_ActiveProcessorCount() -> jint {
    JavaThread::current().vm.processors() as jint
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsUseContainerSupport() -> jboolean {
    jboolean::from(JavaThread::current().vm.options.use_container)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_SupportsCX8() -> jboolean {
    1
}

/// Called before `JVM_Halt` on every way out that runs shutdown hooks.
#[unsafe(no_mangle)]
extern "C" fn JVM_BeforeHalt() {}

#[unsafe(no_mangle)]
extern "C" fn JVM_Halt(code: jint) {
    let t = JavaThread::current();
    t.vm.diagnostics.heap_dumps.wait_until_written();
    before_exit(t.vm);
    exit(code)
}

/// The work that is due before the process ends, however it ends. At most once.
pub fn before_exit(vm: &'static Vm) {
    if !vm.jvm.exiting.swap(true, std::sync::atomic::Ordering::AcqRel) {
        super::stats::write(vm);
        vm.jit.at_exit(vm);
        crate::diagnostics::fault_profile::at_exit(vm);
        crate::diagnostics::native_memory::at_exit(vm);
        crate::diagnostics::end();
        // The last: threads that need a remote page sleep from here on.
        vm.heap.end();
    }
}

/// Ends the process. Other threads still run, some of them in native code that must not see static
/// destructors: only the C library's flushing of streams runs.
pub fn exit(code: i32) -> ! {
    // SAFETY: plain C calls; `fflush(NULL)` flushes all open output streams.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::_exit(code)
    }
}
