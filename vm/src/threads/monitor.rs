//! Monitors as Java programs see them: with exceptions, waiting, and native code that does not leave them.

use super::interrupt;
use crate::loading::errors;
use crate::machine::JavaThread;
use crate::monitors::monitor::{self, NotOwner};
use crate::monitors::table::Monitor;
use crate::monitors::{status, time};
use crate::runtime::{Handle, JResult};
use gc::object::ObjectRef;

/// Leaves the monitor of a non-null object; `IllegalMonitorStateException` when this thread is not the owner.
#[inline]
pub fn exit(t: &JavaThread, object: ObjectRef) -> JResult<()> {
    monitor::exit(t, object).map_err(|NotOwner| errors::not_owner(t))
}

/// As `enter`, for native code, which may forget to leave: the monitor is inflated, so that it is found when the
/// thread ends.
pub fn enter_from_native(t: &JavaThread, object: Handle) {
    monitor::enter(t, object.get());
    monitor::inflate(t, object.get());
    t.native_monitors.set(t.native_monitors.get() + 1);
}

/// As `exit`, for native code.
pub fn exit_from_native(t: &JavaThread, object: Handle) -> JResult<()> {
    exit(t, object.get())?;
    t.native_monitors.set(t.native_monitors.get().saturating_sub(1));
    Ok(())
}

/// `Object.wait`, milliseconds, 0 for ever. A safepoint.
pub fn wait(t: &JavaThread, object: Handle, millis: i64) -> JResult<()> {
    if millis < 0 {
        let message = "timeout value is negative";
        return errors::fail(t, "java/lang/IllegalArgumentException", message);
    }
    let lock = &owned(t, object.get())?.lock;
    let event = &t.sync.event;
    event.reset();
    interrupt::check(t, None)?;
    let recursion = lock.begin_wait(event);
    let deadline = if millis == 0 { None } else { time::after_millis(millis) };
    let during = match millis {
        0 => status::WAITING_ON_OBJECT,
        _ => status::WAITING_ON_OBJECT_TIMED,
    };
    let is_notified = status::waiting(t, during, || {
        event.wait(deadline);
        lock.stop_waiting(event)
    });
    if !lock.try_enter(t.id) {
        status::waiting(t, status::BLOCKED, || lock.enter_again(t.id));
    }
    lock.end_wait(recursion);
    // A thread that was notified and interrupted has been notified; the interrupt stays for later.
    if is_notified { Ok(()) } else { interrupt::check(t, None) }
}

/// `Object.notify` or `notifyAll`.
pub fn notify(t: &JavaThread, object: ObjectRef, all: bool) -> JResult<()> {
    monitor::notify(t, object, all).map_err(|NotOwner| errors::not_owner(t))
}

/// The monitor of an object that this thread must own.
fn owned(t: &JavaThread, object: ObjectRef) -> JResult<&'static Monitor> {
    monitor::owned(t, object).map_err(|NotOwner| errors::not_owner(t))
}
