//! Thread dumps.

use super::status;
use crate::runtime::{Handle, JavaThread, object};

/// Every live `Thread` object, in handles. No safepoint.
pub fn all_threads(t: &JavaThread) -> Vec<Handle> {
    let mut threads = Vec::new();
    // Another thread's object does not change, and its cell is kept up to date while the world stands still;
    // this thread runs, so it does not.
    t.vm.threads.for_each(&mut |thread| {
        let object = thread.thread_object.get();
        if !object.is_null() {
            threads.push(t.root(object));
        }
    });
    threads
}

/// Prints all threads with their stacks to stdout, as `java` does on SIGQUIT. A safepoint.
pub fn print_all(t: &JavaThread) {
    let mut out = String::from("Full thread dump Farheap:\n");
    t.vm.heap.stop_world(Some(&t.mutator), &mut |_| {
        t.vm.threads.for_each(&mut |thread| describe(t, thread, &mut out));
    });
    println!("{out}");
}

fn describe(t: &JavaThread, thread: &JavaThread, out: &mut String) {
    let object = thread.thread_object.get();
    if object.is_null() {
        return;
    }
    let fields = &t.vm.known.fields;
    let tid: i64 = object::get(object, fields.thread_tid());
    let priority: i32 = object::get(object, fields.thread_priority());
    let is_daemon = object::get::<i8>(object, fields.thread_daemon()) != 0;
    let status = status::name(status::status(t, object));
    let daemon = if is_daemon { " daemon" } else { "" };
    let name = super::name_of(t, object);
    out.push_str(&format!("\n\"{name}\" #{tid}{daemon} prio={priority}\n"));
    out.push_str(&format!("   java.lang.Thread.State: {status}\n"));
    stack(thread, &mut |line| {
        out.push_str(line);
        out.push('\n');
    });
}

/// The stack of this thread, line by line.
pub fn print_stack(t: &JavaThread, out: &mut dyn FnMut(&str)) {
    stack(t, out)
}

fn stack(thread: &JavaThread, out: &mut dyn FnMut(&str)) {
    let mut frame = thread.top_frame.get();
    // SAFETY: the thread is this one or stopped, so its frames stay as they are.
    while let Some(at) = unsafe { frame.as_ref() } {
        let method = at.method;
        let place = match at.bci() {
            None => "Native Method".to_owned(),
            Some(bci) => format!("bci {bci}"),
        };
        out(&format!("\tat {}.{}({place})", method.holder.java_name(), method.name()));
        frame = at.previous;
    }
}
