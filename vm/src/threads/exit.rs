//! The end of threads and of the VM.

use super::monitor;
use crate::loading::{call, lookup, strings};
use crate::machine::JavaThread;
use crate::monitors::monitor::enter;
use crate::monitors::status;
use crate::runtime::{Handle, JResult, object};
use classfile::symbol::Symbol;
use std::sync::atomic::Ordering;
use std::sync::mpsc;

/// Ends a Java thread's life in Java: the uncaught exception, `Thread.exit`, the status, and the threads that
/// join it. The thread is running; its body has returned, or an exception is pending.
pub(super) fn leave(t: &JavaThread) {
    t.handles.release(0);
    let thread = t.root(t.thread_object.get());
    if thread.is_null() {
        return;
    }
    if t.has_pending() {
        dispatch_uncaught(t, thread);
    }
    let exit = call::find(t.vm.known.classes.thread(), "exit", "()V");
    quietly(t, t.call(exit, &[thread.get().address() as u64]));
    // A joining thread waits on the object with the monitor held, so sees either the end or the notification.
    enter(t, thread.get());
    status::set_status(t, thread.get(), status::TERMINATED);
    object::put(thread.get(), t.vm.known.fields.thread_eetop(), 0i64);
    quietly(t, monitor::notify(t, thread.get(), true));
    quietly(t, monitor::exit(t, thread.get()));
    t.handles.release(0);
}

fn dispatch_uncaught(t: &JavaThread, thread: Handle) {
    let throwable = t.root(t.pending.replace(gc::object::ObjectRef::NULL));
    let descriptor = "(Ljava/lang/Throwable;)V";
    let method = call::find(t.vm.known.classes.thread(), "dispatchUncaughtException", descriptor);
    let arguments = [thread, throwable].map(|handle| handle.get().address() as u64);
    if let Err(thrown) = t.call(method, &arguments) {
        let class = t.klass_of(t.take_pending(thrown)).java_name();
        let name = strings::name_of_thread(t, thread.get());
        base::say(format_args!(
            "\nException: {class} thrown from the UncaughtExceptionHandler in thread \"{name}\""
        ));
    }
}

/// An exception here has no handler left, and is dropped.
fn quietly<T>(t: &JavaThread, result: JResult<T>) {
    if let Err(thrown) = result {
        t.take_pending(thrown);
    }
}

/// `DestroyJavaVM`, from the safe state: waits for the other non-daemon threads, runs the shutdown hooks, and
/// stops the world for good. The process is expected to exit.
pub fn destroy_vm(t: &'static JavaThread) {
    t.vm.threads.wait_for_the_last();
    t.vm.heap.leave_safe(&t.mutator);
    shut_down(t);
    t.vm.heap.enter_safe(&t.mutator);
    t.vm.diagnostics.heap_dumps.wait_until_written();
    freeze(t);
    t.vm.threads.are_over.store(true, Ordering::Release);
}

/// `Shutdown.shutdown()`: hooks, and the files that `deleteOnExit` has collected.
fn shut_down(t: &JavaThread) {
    let _scope = t.scope();
    let name = Symbol::of("java/lang/Shutdown");
    let result = lookup::load_class(t, t.vm.boot_loader, name)
        .and_then(|klass| call::call_static(t, klass, "shutdown", "()V", &[]));
    quietly(t, result);
}

/// Keeps daemon threads from touching anything while the process exits under them.
fn freeze(t: &JavaThread) {
    let (stopped, is_stopped) = mpsc::channel();
    let heap = t.vm.heap.clone();
    std::thread::spawn(move || {
        heap.stop_world(None, &mut |_| {
            let _ = stopped.send(());
            loop {
                std::thread::park();
            }
        })
    });
    let _ = is_stopped.recv();
}

/// Ends the process with the world stopped (`Runtime.halt`, and `exit` after its hooks).
pub fn halt(t: &JavaThread, code: i32) -> ! {
    t.safely(|| t.vm.diagnostics.heap_dumps.wait_until_written());
    t.vm.heap.stop_world(Some(&t.mutator), &mut |_| {
        // SAFETY: every other thread is stopped; handlers of `atexit` do not enter the VM.
        unsafe { libc::exit(code) }
    });
    unreachable!("the process has exited")
}
