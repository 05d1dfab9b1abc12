//! `Thread.sleep`, `yield`, `Unsafe.park` and `unpark`.

use super::{interrupt, requests};
use crate::loading::errors;
use crate::machine::JavaThread;
use crate::monitors::{status, time};
use crate::runtime::JResult;
use gc::object::ObjectRef;
use std::time::Instant;

/// `Thread.sleep`. A safepoint.
pub fn sleep(t: &JavaThread, millis: i64) -> JResult<()> {
    if millis < 0 {
        let message = "timeout value is negative";
        return errors::fail(t, "java/lang/IllegalArgumentException", message);
    }
    let event = &t.sync.event;
    event.reset();
    interrupt::check(t, Some(SLEEP_INTERRUPTED))?;
    if millis == 0 {
        yield_now(t);
        return Ok(());
    }
    let deadline = time::after_millis(millis);
    // Notifications for the thread that had this state before are no reason to wake up.
    while status::waiting(t, status::SLEEPING, || event.wait(deadline)) {
        event.reset();
        requests::throw_if_stopped(t)?;
        interrupt::check(t, Some(SLEEP_INTERRUPTED))?;
    }
    Ok(())
}

const SLEEP_INTERRUPTED: &str = "sleep interrupted";

/// `Thread.yield`. A safepoint.
pub fn yield_now(t: &JavaThread) {
    t.safely(std::thread::yield_now)
}

/// `Unsafe.park`: until there is a permit, an interrupt, or the time is over: 0 is for ever when relative, in
/// nanoseconds; absolute times are milliseconds since 1970. A safepoint.
pub fn park(t: &JavaThread, is_absolute: bool, time: i64) {
    let parker = &t.sync.parker;
    if parker.try_take() || interrupt::is_interrupted(t) {
        return;
    }
    if time < 0 || (is_absolute && time == 0) {
        return;
    }
    let (deadline, during) = match (is_absolute, time) {
        (false, 0) => (None, status::PARKED),
        (false, nanos) => (time::after_nanos(nanos), status::PARKED_TIMED),
        (true, millis) => (time::at_millis(millis), status::PARKED_TIMED),
    };
    if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
        return;
    }
    status::waiting(t, during, || parker.park(deadline));
}

/// `Unsafe.unpark` of a `Thread` object, or null.
pub fn unpark(t: &JavaThread, thread: ObjectRef) {
    if thread.is_null() {
        return;
    }
    if let Some(state) = interrupt::state_of(t, thread) {
        state.parker.unpark();
    }
}
