//! Requests of other threads to a thread: to stop for good with an exception (`Thread.stop`), to stand still
//! (`Thread.suspend`). Deprecated in Java because it cannot be done safely; JDK 17 still has it.
//!
//! The requesting thread leaves the request in the target's [`Requests`](crate::monitors::requests::Requests), makes
//! its polls take the slow path until it has answered, and wakes it if it sleeps. A thread answers at polls, of
//! interpreted and of compiled code; it is stopped on its way back from native methods too. In the same way a thread
//! is notified that its compiled code has touched memory behind the end of a mapped file.

use super::dump;
use super::interrupt::state_of;
use crate::ffi::entry;
use crate::ffi::types::jobject;
use crate::loading::errors;
use crate::machine::JavaThread;
use crate::monitors::monitor;
use crate::monitors::state::ThreadState;
use crate::runtime::{Handle, JResult};
use gc::object::ObjectRef;

/// Clears the requests to the current thread, which has ended.
pub fn clear(t: &JavaThread) {
    drop_reference(t, t.sync.requests.clear());
}

/// `Thread.stop`: the thread of this object throws the throwable. Nothing if it is not alive.
pub fn stop(t: &JavaThread, thread: Handle, throwable: Handle) -> JResult<()> {
    if thread.get() == t.thread_object.get() {
        return Err(t.throw_object(throwable.get()));
    }
    if let Some(state) = state_of(t, thread.get()) {
        let reference = t.vm.globals.new_strong(t, throwable.get()) as usize;
        drop_reference(t, state.requests.replace_thrown(reference));
        ask(t, state);
        state.event.notify();
        state.parker.unpark();
    }
    Ok(())
}

/// `Thread.suspend`: the thread of this object stands still until it is resumed. A safepoint: when this returns, it
/// does not run, and will at most leave the method in which it waits.
pub fn suspend(t: &JavaThread, thread: Handle) {
    let Some(state) = state_of(t, thread.get()) else {
        return;
    };
    state.requests.suspend();
    if thread.get() == t.thread_object.get() {
        stand_still(t);
    } else {
        ask(t, state);
        t.vm.heap.stop_world(Some(&t.mutator), &mut |_| ());
    }
}

/// `Thread.resume`
pub fn resume(t: &JavaThread, thread: Handle) {
    if let Some(state) = state_of(t, thread.get()) {
        state.requests.resume();
    }
}

/// The thread of this object prints its stack on stdout, at its next poll. Nothing if it is not alive.
pub fn show_stack(t: &JavaThread, thread: ObjectRef) {
    if let Some(state) = state_of(t, thread) {
        state.requests.show_stack();
        ask(t, state);
    }
}

/// The current thread has touched memory behind the end of a mapped file, in compiled code: it throws when it can.
/// Async-signal-safe.
pub fn note_fault(t: &JavaThread) {
    t.sync.requests.note_fault();
    t.mutator.request_poll();
}

/// Makes the polls of a thread take the slow path.
fn ask(t: &JavaThread, state: &ThreadState) {
    t.vm.threads.for_each(&mut |thread| {
        if thread.id == state.id {
            thread.mutator.request_poll();
        }
    });
}

/// The slow path of the polls of Java code: safepoints, suspension, stopping. A safepoint.
#[cold]
pub fn poll(t: &JavaThread) -> JResult<()> {
    t.poll();
    throw_if_stopped(t)
}

/// Throws the exception with which the thread shall stop, if there is one. A safepoint only if it throws.
pub fn throw_if_stopped(t: &JavaThread) -> JResult<()> {
    if !t.sync.requests.has_thrown() {
        return Ok(());
    }
    if t.sync.requests.take_fault() {
        return errors::fail(t, "java/lang/InternalError", FAULT);
    }
    let reference = t.sync.requests.replace_thrown(0);
    let throwable = entry::resolve(t, reference as jobject);
    drop_reference(t, reference);
    Err(t.throw_object(throwable))
}

/// Stands still while the thread is suspended; retires idle monitors when it is time. Only called when its polls are
/// slow. A safepoint.
pub fn answer(t: &JavaThread) {
    // Cleared first: a request that comes now is answered now or at the next poll.
    t.mutator.clear_poll_request();
    monitor::retire_idle(t);
    if t.sync.requests.take_show_stack() {
        let stack = dump::stack(t, t);
        t.safely(|| base::print_part(format_args!("{stack}")));
    }
    stand_still(t);
    if t.sync.requests.has_thrown() {
        t.mutator.request_poll();
    }
}

fn stand_still(t: &JavaThread) {
    let requests = &t.sync.requests;
    if requests.is_suspended() {
        t.safely(|| requests.wait_until_resumed());
    }
}

fn drop_reference(t: &JavaThread, reference: usize) {
    if reference != 0 {
        t.vm.globals.delete(t, reference as jobject);
    }
}

/// As HotSpot words it, whether or not the code is compiled.
pub const FAULT: &str =
    "a fault occurred in a recent unsafe memory access operation in compiled Java code";
