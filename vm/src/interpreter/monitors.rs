//! `synchronized`: monitors that interpreted frames hold, and giving them up when a frame ends.

use crate::frames::frame::{Frame, LOCKED, MONITORS};
use crate::frames::stack::HeldMonitor;
use crate::loading::errors;
use crate::machine::JavaThread;
use crate::monitors::monitor;
use crate::runtime::JResult;
use crate::threads;
use gc::object::ObjectRef;

/// `monitorenter` of the object on top of the frame's stack. A safepoint.
///
/// # Safety
/// `frame` is the top frame, saved, with a non-null reference on top of its stack.
#[inline(never)]
pub unsafe fn enter(t: &JavaThread, frame: *mut Frame) -> JResult<()> {
    // SAFETY: by the contract.
    unsafe {
        let slot = (*frame).sp.sub(1);
        monitor::enter(t, ObjectRef::from_address(*slot as usize));
        // The slot is a root: the object may have moved while the thread waited.
        let object = ObjectRef::from_address(*slot as usize);
        (*t.java_stack.monitors.get()).push(HeldMonitor { frame, object });
        (*frame).flags |= MONITORS;
    }
    Ok(())
}

/// Makes a frame of this thread the holder of a monitor that was entered on its behalf.
pub fn adopt(t: &JavaThread, frame: *mut Frame, object: ObjectRef) {
    // SAFETY: the frame was just pushed by this thread, whose list it is.
    unsafe {
        (*t.java_stack.monitors.get()).push(HeldMonitor { frame, object });
        (*frame).flags |= MONITORS;
    }
}

/// `monitorexit` of the object on top of the frame's stack: must have been entered by the same frame
/// (structured locking, JVMS 2.11.10).
///
/// # Safety
/// As `enter`.
#[inline(never)]
pub unsafe fn exit(t: &JavaThread, frame: *mut Frame) -> JResult<()> {
    // SAFETY: by the contract; only this thread touches its list.
    unsafe {
        let object = ObjectRef::from_address(*(*frame).sp.sub(1) as usize);
        let held = &mut *t.java_stack.monitors.get();
        let found =
            held.iter().rposition(|monitor| monitor.frame == frame && monitor.object == object);
        let Some(found) = found else {
            return Err(errors::throw_new(t, "java/lang/IllegalMonitorStateException", None));
        };
        held.remove(found);
        threads::monitor_exit(t, object)
    }
}

/// Locks for a synchronized method whose frame has just been pushed; pops the frame on failure. A safepoint.
#[cold]
#[inline(never)]
pub fn enter_method(t: &JavaThread, frame: *mut Frame) -> JResult<()> {
    let result = lock_for_method(t, frame);
    if result.is_err() {
        // SAFETY: the frame was just pushed.
        t.top_frame.set(unsafe { (*frame).previous });
    }
    result
}

/// As `enter_method`, leaving the frame.
pub fn enter_method_of_native(t: &JavaThread, frame: *mut Frame) -> JResult<()> {
    lock_for_method(t, frame)
}

/// Gives up the monitors that a frame holds before it returns. Throws IllegalMonitorStateException when
/// monitors of the frame were still held.
#[inline(never)]
pub fn release_at_return(t: &JavaThread, frame: *mut Frame) -> JResult<()> {
    let unbalanced = release_monitors(t, frame);
    unlock_method(t, frame);
    if unbalanced {
        return Err(errors::throw_new(t, "java/lang/IllegalMonitorStateException", None));
    }
    Ok(())
}

/// Gives up the monitors that a frame holds before an exception leaves it.
pub fn release_at_throw(t: &JavaThread, frame: *mut Frame) {
    // SAFETY: the frame is the thread's own.
    if unsafe { (*frame).flags } & (LOCKED | MONITORS) != 0 {
        let pending = t.pending.replace(ObjectRef::NULL);
        let _scope = t.scope();
        let pending = t.root(pending);
        release_monitors(t, frame);
        unlock_method(t, frame);
        t.pending.set(pending.get());
    }
}

/// Whether a `monitorenter` of the frame still lacks its `monitorexit`.
pub fn holds_any(t: &JavaThread, frame: *const Frame) -> bool {
    // SAFETY: the list is this thread's.
    let held = unsafe { &*t.java_stack.monitors.get() };
    held.iter().any(|monitor| monitor.frame.cast_const() == frame)
}

fn lock_for_method(t: &JavaThread, frame: *mut Frame) -> JResult<()> {
    // SAFETY: a frame of this thread that has just been pushed, with its arguments in place.
    unsafe {
        let method = (*frame).method;
        let object = if method.is_static() {
            t.mirror(method.holder)
        } else {
            ObjectRef::from_address(*(*frame).locals as usize)
        };
        // A root from now on: the object may move while the thread waits.
        (*frame).lock = object;
        monitor::enter(t, object);
        (*frame).flags |= LOCKED;
    }
    Ok(())
}

fn release_monitors(t: &JavaThread, frame: *mut Frame) -> bool {
    // SAFETY: the frame is the thread's own, and so is the list.
    unsafe {
        if (*frame).flags & MONITORS == 0 {
            return false;
        }
        (*frame).flags &= !MONITORS;
        let mut any = false;
        let held = t.java_stack.monitors.get();
        while let Some(at) = (*held).iter().rposition(|monitor| monitor.frame == frame) {
            let object = (*held).remove(at).object;
            // Native code may have left the monitor on its own: nothing more to give up then.
            _ = monitor::exit(t, object);
            any = true;
        }
        any
    }
}

fn unlock_method(t: &JavaThread, frame: *mut Frame) {
    // SAFETY: the frame is the thread's own.
    unsafe {
        if (*frame).flags & LOCKED != 0 {
            (*frame).flags &= !LOCKED;
            let lock = std::mem::replace(&mut (*frame).lock, ObjectRef::NULL);
            _ = monitor::exit(t, lock);
        }
    }
}
