//! Thread dumps.

use crate::frames::walk::{self, Visited};
use crate::loading::strings;
use crate::machine::JavaThread;
use crate::monitors::status;
use crate::runtime::{Handle, object};
use gc::object::ObjectRef;

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

/// The data of a thread in a dump.
struct Seen {
    object: Handle,
    status: i32,
    stack: Vec<String>,
}

/// Prints all threads with their stacks to stdout, as `java` does on SIGQUIT. A safepoint.
pub fn print_all(t: &JavaThread) {
    let _scope = t.scope();
    let mut seen = Vec::new();
    t.vm.heap.stop_world(Some(&t.mutator), &mut |_| {
        t.vm.threads.for_each(&mut |thread| seen.extend(look_at(t, thread)));
    });
    let mut out = String::from("Full thread dump Farheap:\n\n");
    for seen in &seen {
        describe(t, seen, &mut out);
    }
    // One write: the program may write its own output at the same time.
    base::print_part(format_args!("{out}"));
}

/// The world is stopped. Only primitive fields are read: barriers are for running threads.
fn look_at(t: &JavaThread, thread: &JavaThread) -> Option<Seen> {
    let object = thread.thread_object.get();
    if object.is_null() {
        return None;
    }
    let mut stack = Vec::new();
    for (depth, visited) in walk::frames(thread).enumerate() {
        stack.push(format!("\tat {}", place(t, visited)));
        let wanted = thread.wanted_monitor.get();
        if depth == 0 && !wanted.is_null() {
            stack.push(lock_line(t, "waiting to lock", wanted));
        }
        if let Some(object) = waited_for(visited) {
            stack.push(lock_line(t, "waiting on", object));
        }
        let locked = visited.locked(thread).into_iter();
        stack.extend(locked.map(|object| lock_line(t, "locked", object)));
    }
    Some(Seen { object: t.root(object), status: status::status(t, object), stack })
}

/// The receiver of `Object.wait`.
fn waited_for(visited: Visited) -> Option<ObjectRef> {
    let method = visited.method();
    let is_wait = visited.is_native()
        && method.name().bytes() == b"wait"
        && method.holder.name.bytes() == b"java/lang/Object";
    let receiver = is_wait.then(|| visited.local(0)).flatten()?;
    Some(ObjectRef::from_address(receiver as usize))
}

fn lock_line(t: &JavaThread, what: &str, object: ObjectRef) -> String {
    let klass = t.klass_of(object);
    let of = match klass == t.vm.known.classes.class() {
        true => format!(" for {}", t.klass_of_mirror(object).java_name()),
        false => String::new(),
    };
    format!("\t- {what} <{:#018x}> (a {}{of})", object.address(), klass.java_name())
}

fn describe(t: &JavaThread, seen: &Seen, out: &mut String) {
    let (object, fields) = (seen.object.get(), &t.vm.known.fields);
    let tid: i64 = object::get(object, fields.thread_tid());
    let priority: i32 = object::get(object, fields.thread_priority());
    let is_daemon = object::get::<i8>(object, fields.thread_daemon()) != 0;
    let daemon = if is_daemon { " daemon" } else { "" };
    let name = strings::name_of_thread(t, object);
    let state = status::name(seen.status);
    out.push_str(&format!("\"{name}\" #{tid}{daemon} prio={priority}\n"));
    out.push_str(&format!("   java.lang.Thread.State: {state}\n"));
    for line in &seen.stack {
        out.push_str(line);
        out.push('\n');
    }
    out.push('\n');
}

/// The stack of the current thread, line by line.
pub fn print_stack(t: &JavaThread, out: &mut dyn FnMut(&str)) {
    for visited in walk::frames(t) {
        out(&format!("\tat {}", place(t, visited)));
    }
}

/// `Class.method(module@version/File.java:line)`
fn place(t: &JavaThread, visited: Visited) -> String {
    let method = visited.method();
    let module = t.vm.modules.named_module_of(method.holder);
    let module = module.map_or(String::new(), |module| format!("{}/", module.with_version()));
    let source = method.holder.instance().and_then(|instance| instance.file.source_file);
    let file = match (visited.is_native(), source, visited.line()) {
        (true, ..) => "Native Method".to_owned(),
        (_, None, _) => "Unknown Source".to_owned(),
        (_, Some(source), None) => source.text().into_owned(),
        (_, Some(source), Some(line)) => format!("{source}:{line}"),
    };
    format!("{}.{}({module}{file})", method.holder.java_name(), method.name())
}
