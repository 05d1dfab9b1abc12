//! `Thread.threadStatus`: the value that `Thread.getState` reads (bits as in JVMTI's thread states).

use crate::machine::JavaThread;
use crate::runtime::object;
use gc::object::ObjectRef;
use std::sync::atomic::Ordering;
use std::time::Instant;

pub const NEW: i32 = 0;
pub const RUNNABLE: i32 = ALIVE + 0x4;
pub const TERMINATED: i32 = 0x2;
pub const SLEEPING: i32 = ALIVE + WAITING + WITH_TIMEOUT + 0x40;
pub const WAITING_ON_OBJECT: i32 = ALIVE + WAITING + FOR_EVER + 0x100;
pub const WAITING_ON_OBJECT_TIMED: i32 = ALIVE + WAITING + WITH_TIMEOUT + 0x100;
pub const PARKED: i32 = ALIVE + WAITING + FOR_EVER + 0x200;
pub const PARKED_TIMED: i32 = ALIVE + WAITING + WITH_TIMEOUT + 0x200;
pub const BLOCKED: i32 = ALIVE + 0x400;

const ALIVE: i32 = 0x1;
const FOR_EVER: i32 = 0x10;
const WITH_TIMEOUT: i32 = 0x20;
const WAITING: i32 = 0x80;

/// Sets the status of a `Thread` object.
pub fn set_status(t: &JavaThread, thread: ObjectRef, status: i32) {
    if !thread.is_null() {
        object::put(thread, t.vm.known.fields.thread_status(), status);
    }
}

/// The status of a `Thread` object.
pub fn status(t: &JavaThread, thread: ObjectRef) -> i32 {
    object::get(thread, t.vm.known.fields.thread_status())
}

/// The status in words, as thread dumps have it.
pub fn name(status: i32) -> &'static str {
    match status {
        NEW => "NEW",
        RUNNABLE => "RUNNABLE",
        SLEEPING => "TIMED_WAITING (sleeping)",
        WAITING_ON_OBJECT => "WAITING (on object monitor)",
        WAITING_ON_OBJECT_TIMED => "TIMED_WAITING (on object monitor)",
        PARKED => "WAITING (parking)",
        PARKED_TIMED => "TIMED_WAITING (parking)",
        BLOCKED => "BLOCKED (on object monitor)",
        TERMINATED => "TERMINATED",
        _ => "UNKNOWN",
    }
}

/// Runs `wait` in the safe state, with the thread's status set meanwhile. A safepoint.
pub fn waiting<T>(t: &JavaThread, during: i32, wait: impl FnOnce() -> T) -> T {
    set_status(t, t.thread_object.get(), during);
    let counter = if during == BLOCKED { &t.sync.times_blocked } else { &t.sync.times_waited };
    counter.fetch_add(1, Ordering::Relaxed);
    let started = t.vm.threads.is_contention_timed.load(Ordering::Relaxed).then(Instant::now);
    let result = t.safely(wait);
    if let Some(started) = started {
        let total = if during == BLOCKED { &t.sync.blocked_ns } else { &t.sync.waited_ns };
        total.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }
    set_status(t, t.thread_object.get(), RUNNABLE);
    result
}
