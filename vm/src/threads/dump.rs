//! Thread dumps, in the form of HotSpot's, which tools read.

use super::blocking;
use super::cpu_time::cpu_time_ns;
use super::synchronizers::{self, Held, Look};
use crate::frames::walk::{self, Visited};
use crate::java::fields::{self, F};
use crate::loading::strings;
use crate::machine::JavaThread;
use crate::monitors::status;
use crate::options::identity::{VM_NAME, vm_info, vm_version};
use crate::runtime::{Handle, object};
use gc::core::inspection::StoppedHeap;
use gc::object::ObjectRef;
use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::time::Instant;

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

/// What a dump has on top of names, states and stacks.
#[derive(Clone, Copy, Default)]
pub struct Details {
    /// The ownable synchronizers that each thread holds: the heap is walked.
    pub synchronizers: bool,
    /// The bytes that each thread has allocated.
    pub allocation: bool,
}

/// The text of a dump of all threads. A safepoint.
pub fn text(t: &JavaThread, details: Details) -> String {
    let _scope = t.scope();
    let found = details.synchronizers.then(|| synchronizers::held(t, Everyone(Vec::new())));
    let (seen, held) = match found.flatten() {
        Some((Everyone(seen), held)) => (seen, Some(held)),
        None => {
            let mut seen = Vec::new();
            t.vm.heap.stop_world(Some(&t.mutator), &mut |_| seen = look_at_all(t, None));
            (seen, None)
        }
    };
    let mut out = heading(t, &seen);
    for seen in &seen {
        describe(t, seen, details, held.as_deref(), &mut out);
    }
    write_deadlocks(t, &seen, &mut out);
    let (mut strong, mut weak) = (0, 0);
    t.vm.globals.visit_strong(&mut |_| strong += 1);
    t.vm.globals.visit_weak(&mut |_| weak += 1);
    let _ = writeln!(out, "JNI global refs: {strong}, weak refs: {weak}\n");
    out
}

/// A thread in a dump.
struct Seen {
    object: Handle,
    status: i32,
    stack: Vec<String>,
    /// What it is parked for, if that could be read while the world was stopped.
    blocker: Option<Handle>,
    cpu_ns: i64,
    allocated_bytes: u64,
    started: Instant,
    address: usize,
    os_thread: i32,
    /// Of its innermost frame.
    stack_address: usize,
    monitor_wanted: bool,
}

/// Looks at all threads during a walk over the heap.
struct Everyone(Vec<Seen>);

impl Look for Everyone {
    fn look(&mut self, t: &JavaThread, heap: &StoppedHeap<'_>) {
        self.0 = look_at_all(t, Some(heap));
    }
}

/// The world is stopped.
fn look_at_all(t: &JavaThread, heap: Option<&StoppedHeap<'_>>) -> Vec<Seen> {
    let mut seen = Vec::new();
    t.vm.threads.for_each(&mut |thread| seen.extend(look_at(t, thread, heap)));
    seen
}

/// The world is stopped. Only primitive fields are read without the heap: barriers are for running threads.
fn look_at(t: &JavaThread, thread: &JavaThread, heap: Option<&StoppedHeap<'_>>) -> Option<Seen> {
    let object = thread.thread_object.get();
    if object.is_null() {
        return None;
    }
    let wanted = thread.wanted_monitor.get();
    let mut stack = Vec::new();
    for (depth, visited) in walk::frames(thread).enumerate() {
        stack.push(format!("\tat {}", place(t, visited)));
        if depth == 0 && !wanted.is_null() {
            stack.push(lock_line(t, "waiting to lock", wanted));
        }
        if let Some(object) = waited_for(visited) {
            stack.push(lock_line(t, "waiting on", object));
        }
        let locked = visited.locked(thread).into_iter().filter(|locked| *locked != wanted);
        stack.extend(locked.map(|object| lock_line(t, "locked", object)));
    }
    let blocker_at = fields::offset(t, t.vm.known.classes.thread(), F::ThreadParkBlocker);
    Some(Seen {
        object: t.root(object),
        status: status::status(t, object),
        stack,
        blocker: heap.map(|heap| t.root(heap.load(object, blocker_at))),
        cpu_ns: cpu_time_ns(thread, true),
        allocated_bytes: thread.mutator.allocated_bytes(),
        started: thread.started,
        address: std::ptr::from_ref(thread) as usize,
        os_thread: thread.os_thread.load(Ordering::Relaxed),
        stack_address: thread.top_frame.get() as usize,
        monitor_wanted: !wanted.is_null(),
    })
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
    format!("\t- {what} {}", name_of_lock(t, object))
}

fn name_of_lock(t: &JavaThread, object: ObjectRef) -> String {
    let klass = t.klass_of(object);
    let of = match klass == t.vm.known.classes.class() {
        true => format!(" for {}", t.klass_of_mirror(object).java_name()),
        false => String::new(),
    };
    format!("<{:#018x}> (a {}{of})", object.address(), klass.java_name())
}

fn heading(t: &JavaThread, seen: &[Seen]) -> String {
    let options = &t.vm.options;
    let (version, info) = (vm_version(&options.java_home), vm_info(&options.jit));
    let time = local_time();
    let mut out = format!("{time}\nFull thread dump {VM_NAME} ({version} {info}):\n\n");
    let _ = writeln!(out, "Threads class SMR info:\nlength={}, elements={{", seen.len());
    let addresses: Vec<String> =
        seen.iter().map(|seen| format!("{:#018x}", seen.address)).collect();
    for line in addresses.chunks(4) {
        let _ = writeln!(out, "{},", line.join(", "));
    }
    let length = out.trim_end_matches(",\n").len();
    out.truncate(length);
    out.push_str("\n}\n\n");
    out
}

/// `2026-11-28 15:04:05`, in the time zone of the process.
pub fn local_time() -> String {
    let now = base::since_epoch().as_secs();
    // SAFETY: a tm of zero bytes is one; localtime_r writes it.
    let tm = unsafe {
        let mut tm: libc::tm = std::mem::zeroed();
        libc::localtime_r(&(now as libc::time_t), &mut tm);
        tm
    };
    let (year, month, day) = (tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", tm.tm_hour, tm.tm_min, tm.tm_sec)
}

fn describe(
    t: &JavaThread,
    seen: &Seen,
    details: Details,
    held: Option<&[Held]>,
    out: &mut String,
) {
    let (object, fields) = (seen.object.get(), &t.vm.known.fields);
    let id: i64 = object::get(object, fields.thread_tid());
    let priority: i32 = object::get(object, fields.thread_priority());
    let is_daemon = object::get::<i8>(object, fields.thread_daemon()) != 0;
    let daemon = if is_daemon { " daemon" } else { "" };
    let name = strings::name_of_thread(t, object);
    let cpu_ms = seen.cpu_ns.max(0) as f64 / 1e6;
    let elapsed = seen.started.elapsed().as_secs_f64();
    let allocated = match details.allocation {
        true => format!(" allocated={}B", seen.allocated_bytes),
        false => String::new(),
    };
    let (tid, nid, doing) = (seen.address, seen.os_thread, doing(seen));
    // HotSpot shows the page.
    let stack = seen.stack_address & !0xfff;
    let _ = writeln!(
        out,
        "\"{name}\" #{id}{daemon} prio={priority} os_prio=0 cpu={cpu_ms:.2}ms \
         elapsed={elapsed:.2}s{allocated} tid={tid:#018x} nid={nid:#x} {doing}  [{stack:#018x}]"
    );
    let _ = writeln!(out, "   java.lang.Thread.State: {}", status::name(seen.status));
    for (depth, line) in seen.stack.iter().enumerate() {
        let _ = writeln!(out, "{line}");
        if depth == 0 {
            write_blocker(t, seen, out);
        }
    }
    if let Some(held) = held {
        out.push_str("\n   Locked ownable synchronizers:\n");
        let mut own = held.iter().filter(|held| held.owner == id).peekable();
        if own.peek().is_none() {
            out.push_str("\t- None\n");
        }
        for held in own {
            let _ = writeln!(out, "\t- {}", name_of_lock(t, held.synchronizer.get()));
        }
    }
    out.push('\n');
}

/// The threads that wait for each other, if there are some, and their stacks.
fn write_deadlocks(t: &JavaThread, seen: &[Seen], out: &mut String) {
    let circles = blocking::circles(t, false);
    if circles.is_empty() {
        return;
    }
    let name = |thread: Handle| strings::name_of_thread(t, thread.get());
    for circle in &circles {
        out.push_str("\nFound one Java-level deadlock:\n=============================\n");
        for (i, member) in circle.iter().enumerate() {
            let owner = name(circle[(i + 1) % circle.len()].thread);
            let waits = match member.is_monitor {
                true => "waiting to lock monitor",
                false => "waiting for ownable synchronizer",
            };
            let (name, object) = (name(member.thread), name_of_lock(t, member.object.get()));
            let _ =
                writeln!(out, "\"{name}\":\n  {waits} {object},\n  which is held by \"{owner}\"\n");
        }
        out.push_str("Java stack information for the threads listed above:\n");
        out.push_str("===================================================\n");
        for member in circle {
            let _ = writeln!(out, "\"{}\":", name(member.thread));
            let stack = seen.iter().find(|seen| seen.object.get() == member.thread.get());
            for line in stack.iter().flat_map(|seen| &seen.stack) {
                let _ = writeln!(out, "{line}");
            }
        }
        out.push('\n');
    }
    let count = circles.len();
    let s = if count == 1 { "" } else { "s" };
    let _ = writeln!(out, "Found {count} deadlock{s}.\n");
}

fn write_blocker(t: &JavaThread, seen: &Seen, out: &mut String) {
    if !matches!(seen.status, status::PARKED | status::PARKED_TIMED) {
        return;
    }
    let blocker = match seen.blocker {
        Some(blocker) => blocker.get(),
        // It may have changed since, or be none any more.
        None => fields::get_ref(t, seen.object.get(), F::ThreadParkBlocker),
    };
    if !blocker.is_null() {
        let _ = writeln!(out, "\t- parking to wait for  {}", name_of_lock(t, blocker));
    }
}

/// The state of the OS thread, in HotSpot's words.
fn doing(seen: &Seen) -> &'static str {
    match seen.status {
        _ if seen.monitor_wanted => "waiting for monitor entry",
        status::BLOCKED => "waiting for monitor entry",
        status::WAITING_ON_OBJECT | status::WAITING_ON_OBJECT_TIMED => "in Object.wait()",
        status::SLEEPING | status::PARKED | status::PARKED_TIMED => "waiting on condition",
        _ => "runnable",
    }
}

/// The number and the stack of a thread that has a `Thread` object: the current one, or one that is stopped.
pub fn stack(t: &JavaThread, thread: &JavaThread) -> String {
    let id: i64 = object::get(thread.thread_object.get(), t.vm.known.fields.thread_tid());
    let mut text = format!("Thread #{id}:\n");
    print_stack(thread, &mut |line| {
        let _ = writeln!(text, "{line}");
    });
    text.push('\n');
    text
}

/// The stack of the current thread, or of one that is stopped, line by line.
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
