//! `Thread.threadStatus`: the states of JVMTI, from which `Thread.getState` is derived.

use crate::runtime::{JavaThread, object};
use gc::object::ObjectRef;

pub const NEW: i32 = 0;
pub const RUNNABLE: i32 = ALIVE | 0x4;
pub const SLEEPING: i32 = WAITING_TIMED | 0x40;
pub const IN_OBJECT_WAIT: i32 = WAITING | 0x100;
pub const IN_OBJECT_WAIT_TIMED: i32 = WAITING_TIMED | 0x100;
pub const PARKED: i32 = WAITING | 0x200;
pub const PARKED_TIMED: i32 = WAITING_TIMED | 0x200;
pub const BLOCKED: i32 = ALIVE | 0x400;
pub const TERMINATED: i32 = 0x2;

const ALIVE: i32 = 0x1;
const WAITING: i32 = ALIVE | 0x80 | 0x10;
const WAITING_TIMED: i32 = ALIVE | 0x80 | 0x20;

/// Sets the state of a `Thread` object.
pub fn set_status(t: &JavaThread, thread: ObjectRef, status: i32) {
    object::put(thread, t.vm.known.fields.thread_status(), status)
}
