//! Starting Java threads.

use super::{attach, exit};
use crate::frames::stack::NATIVE_PER_JAVA;
use crate::loading::{allocate, call, errors, resolve, strings};
use crate::machine::JavaThread;
use crate::monitors::status;
use crate::runtime::{Handle, JResult, Throw, object};
use gc::object::ObjectRef;
use libc::c_void;

/// The function that a thread of the VM runs, in the running state; afterwards it leaves as every Java thread does.
pub type Body = fn(&JavaThread) -> JResult<()>;

/// `Thread.start`: runs `Thread.run` of the object on a new OS thread. A safepoint.
pub fn start(t: &JavaThread, thread: Handle) -> JResult<()> {
    let fields = &t.vm.known.fields;
    if object::get::<i64>(thread.get(), fields.thread_eetop()) != 0 {
        return Err(errors::throw_new(t, "java/lang/IllegalThreadStateException", None));
    }
    start_with(t, thread, run)
}

/// Starts a daemon thread of the VM's own, in the group `system`. A safepoint.
pub fn start_daemon(t: &JavaThread, name: &str, body: Body) -> JResult<()> {
    let _scope = t.scope();
    let klass = t.vm.known.classes.thread();
    let thread = t.root(allocate::new_instance(t, klass)?);
    let name = t.root(strings::from_str(t, name)?);
    let group = t.load_root(&t.vm.threads.system_group);
    let descriptor = "(Ljava/lang/ThreadGroup;Ljava/lang/String;)V";
    let constructor = call::find(klass, "<init>", descriptor);
    let words = [thread.get(), group, name.get()].map(|object| object.address() as u64);
    t.call(constructor, &words)?;
    let fields = &t.vm.known.fields;
    object::put(thread.get(), fields.thread_daemon(), 1i8);
    object::put(thread.get(), fields.thread_priority(), NEAR_MAX_PRIORITY);
    let group = t.load_root(&t.vm.threads.system_group);
    let add = call::find(t.klass_of(group), "add", "(Ljava/lang/Thread;)V");
    t.call(add, &[group.address() as u64, thread.get().address() as u64])?;
    start_with(t, thread, body)
}

/// As `start`, with another body. The object has no thread yet.
fn start_with(t: &JavaThread, thread: Handle, body: Body) -> JResult<()> {
    let fields = &t.vm.known.fields;
    let wished: i64 = object::get(thread.get(), fields.thread_stack_size());
    let stack_bytes = if wished > 0 { wished as usize } else { t.vm.options.stack_bytes };
    let is_daemon = object::get::<i8>(thread.get(), fields.thread_daemon()) != 0;
    let Some(new) = JavaThread::new(t.vm, stack_bytes) else {
        return errors::fail(t, "java/lang/OutOfMemoryError", NO_THREAD);
    };
    // On the list first: from then on the collector keeps the object in the cell up to date.
    t.vm.threads.add(new, is_daemon);
    attach::bind_to(t, new, thread.get());
    status::set_status(t, thread.get(), status::RUNNABLE);
    if spawn(Box::new(Start { thread: new, body }), stack_bytes) {
        return Ok(());
    }
    t.vm.threads.remove(new);
    object::put(thread.get(), fields.thread_eetop(), 0i64);
    status::set_status(t, thread.get(), status::NEW);
    // SAFETY: off the list, and it never ran.
    unsafe { JavaThread::free(new) };
    errors::fail(t, "java/lang/OutOfMemoryError", NO_THREAD)
}

/// The argument of the new OS thread.
struct Start {
    thread: &'static JavaThread,
    body: Body,
}

/// Bytes of the native stack of a thread with a Java stack of this size. Interpreted frames have a stack of their
/// own; this one is for compiled and native code and nested calls.
pub fn native_stack_bytes(java_stack_bytes: usize) -> usize {
    NATIVE_PER_JAVA
        .saturating_mul(java_stack_bytes)
        .clamp(MIN_NATIVE_STACK, MAX_NATIVE_STACK)
        .next_multiple_of(PAGE)
}

fn spawn(start: Box<Start>, stack_bytes: usize) -> bool {
    let bytes = native_stack_bytes(stack_bytes);
    let argument = Box::into_raw(start);
    // SAFETY: the attributes are initialised before use; the new thread takes the box over if it is made.
    unsafe {
        let mut attributes = std::mem::zeroed::<libc::pthread_attr_t>();
        libc::pthread_attr_init(&mut attributes);
        libc::pthread_attr_setstacksize(&mut attributes, bytes);
        libc::pthread_attr_setdetachstate(&mut attributes, libc::PTHREAD_CREATE_DETACHED);
        let mut handle = std::mem::zeroed::<libc::pthread_t>();
        let failed = libc::pthread_create(&mut handle, &attributes, main, argument.cast());
        libc::pthread_attr_destroy(&mut attributes);
        if failed != 0 {
            drop(Box::from_raw(argument));
        }
        failed == 0
    }
}

extern "C" fn main(argument: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn` passes a box of this type.
    let start = unsafe { Box::from_raw(argument.cast::<Start>()) };
    let t = start.thread;
    attach::begin(t);
    set_name(t, &strings::name_of_thread(t, t.thread_object.get()));
    t.vm.recorder.note_thread_start(t);
    if let Err(thrown) = (start.body)(t) {
        // `leave` reports it.
        debug_assert!(thrown == Throw::PENDING && t.has_pending());
    }
    exit::leave(t);
    attach::end(t);
    std::ptr::null_mut()
}

fn run(t: &JavaThread) -> JResult<()> {
    let stillborn = t.vm.known.fields.thread_stillborn();
    if object::get::<i8>(t.thread_object.get(), stillborn) != 0 {
        return Ok(());
    }
    let run = call::find(t.vm.known.classes.thread(), "run", "()V");
    let thread: ObjectRef = t.thread_object.get();
    let run = resolve::select_virtual(run, t.klass_of(thread));
    t.call(run, &[thread.address() as u64])?;
    Ok(())
}

/// The names of the current thread outside of Java: for the system's tools, and for reports of crashes.
pub fn set_name(t: &JavaThread, name: &str) {
    t.shown_name.set(name);
    set_os_name(name);
}

/// The name that the system's tools show: 15 bytes at most.
fn set_os_name(name: &str) {
    let mut bytes = [0u8; 16];
    for (to, from) in bytes.iter_mut().zip(name.bytes().filter(|&byte| byte != 0).take(15)) {
        *to = from;
    }
    // SAFETY: a NUL-terminated string of at most 16 bytes.
    unsafe { libc::pthread_setname_np(libc::pthread_self(), bytes.as_ptr().cast()) };
}

const NO_THREAD: &str =
    "unable to create native thread: possibly out of memory or process/resource limits reached";
const NEAR_MAX_PRIORITY: i32 = 9;
const PAGE: usize = 4096;
const MIN_NATIVE_STACK: usize = 1 << 20;
const MAX_NATIVE_STACK: usize = 1 << 30;
