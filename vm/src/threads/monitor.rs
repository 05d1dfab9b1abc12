//! Monitors: `synchronized`, `Object.wait` and `notify`.

use crate::runtime::{Handle, JResult, JavaThread};
use gc::object::ObjectRef;

/// Enters the monitor of a non-null object. A safepoint when it has to wait.
#[inline]
pub fn enter(_t: &JavaThread, object: ObjectRef) -> JResult<()> {
    panic!("monitor::enter({object:?}) is not there yet")
}

/// Leaves it; `IllegalMonitorStateException` when this thread is not the owner.
#[inline]
pub fn exit(_t: &JavaThread, object: ObjectRef) -> JResult<()> {
    panic!("monitor::exit({object:?}) is not there yet")
}

/// `Object.wait`, milliseconds, 0 for ever. A safepoint.
pub fn wait(_t: &JavaThread, object: Handle, _millis: i64) -> JResult<()> {
    panic!("monitor::wait({object:?}) is not there yet")
}

/// `Object.notify` or `notifyAll`.
pub fn notify(_t: &JavaThread, object: ObjectRef, _all: bool) -> JResult<()> {
    panic!("monitor::notify({object:?}) is not there yet")
}

/// Whether this thread owns the monitor of a non-null object.
pub fn is_held(_t: &JavaThread, object: ObjectRef) -> bool {
    panic!("monitor::is_held({object:?}) is not there yet")
}
