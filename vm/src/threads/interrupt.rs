//! Interrupts.
//!
//! The state is the Java field `Thread.interrupted`. `Thread.interrupt` sets it, then calls this module to wake
//! the thread from waiting, sleeping or parking. A thread resets its event, then reads the field, then sleeps:
//! so it sees the field set, or is woken.

use crate::loading::errors;
use crate::machine::JavaThread;
use crate::monitors::state::ThreadState;
use crate::runtime::{JResult, object};
use gc::object::ObjectRef;
use std::sync::atomic::{Ordering, fence};

/// Wakes the thread of a `Thread` object, whose field has been set. Nothing if it is not alive.
pub fn wake(t: &JavaThread, thread: ObjectRef) {
    if let Some(state) = state_of(t, thread) {
        state.event.notify();
        state.parker.unpark();
    }
}

/// Throws `InterruptedException`, and clears the state, if the current thread is interrupted.
pub fn check(t: &JavaThread, message: Option<&str>) -> JResult<()> {
    if !is_interrupted(t) {
        return Ok(());
    }
    object::put(t.thread_object.get(), t.vm.known.fields.thread_interrupted(), 0i8);
    Err(errors::throw_new(t, "java/lang/InterruptedException", message))
}

/// Whether the current thread is interrupted.
pub fn is_interrupted(t: &JavaThread) -> bool {
    // Ordered behind the reset of the event.
    fence(Ordering::SeqCst);
    let thread = t.thread_object.get();
    !thread.is_null() && object::get::<i8>(thread, t.vm.known.fields.thread_interrupted()) != 0
}

/// The target of `Thread.eetop`, while the thread lives. The state stays in place after its end, for another
/// thread to use: a wake-up that comes too late is a spurious one for that thread.
pub fn state_of(t: &JavaThread, thread: ObjectRef) -> Option<&'static ThreadState> {
    let address: i64 = object::get(thread, t.vm.known.fields.thread_eetop());
    // SAFETY: 0 or a ThreadState of this VM, which is never freed.
    unsafe { (address as *const ThreadState).as_ref() }
}
