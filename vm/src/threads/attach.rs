//! Becoming a thread of the VM, and ceasing to be one.

use super::{exit, requests};
use crate::ffi::entry;
use crate::ffi::types::jobject;
use crate::loading::{allocate, call, strings};
use crate::machine::{JavaThread, Vm};
use crate::monitors::status;
use crate::runtime::{Handle, JResult, object};
use gc::object::ObjectRef;

/// Attaches this OS thread, running, as a non-daemon without a `Thread` object: the main thread of a VM that
/// starts. [`bind_object`] follows when there are objects. `None` when there is no memory for its stack.
pub fn attach(vm: &'static Vm) -> Option<&'static JavaThread> {
    let t = JavaThread::new(vm, vm.options.stack_bytes)?;
    vm.threads.add(t, false);
    t.shown_name.set("main");
    begin(t);
    Some(t)
}

/// Makes this OS thread the one that runs `t`, which is on the list.
pub(super) fn begin(t: &'static JavaThread) {
    JavaThread::set_current(Some(t));
    alternate_stack();
    t.vm.heap.attach(&t.mutator);
}

/// Ends this OS thread's life as `t`, and `t`. It is running, and holds no monitor but those that native code has
/// entered and not left: they are given up, since another thread will get the number that owns them.
pub(super) fn end(t: &'static JavaThread) {
    let vm = t.vm;
    requests::clear(t);
    vm.recorder.note_thread_end(t);
    if t.native_monitors.get() > 0 {
        vm.threads.monitors.leave_all(t.id);
    }
    vm.heap.detach(&t.mutator);
    JavaThread::set_current(None);
    vm.threads.remove(t);
    // SAFETY: `new` boxed it; no other thread names a thread that is not on the list.
    unsafe { JavaThread::free(t) };
}

/// Ties a `Thread` object to this thread.
pub fn bind_object(t: &JavaThread, thread: Handle) {
    bind_to(t, t, thread.get())
}

/// As `bind_object`, for another thread that does not run yet.
pub(super) fn bind_to(t: &JavaThread, new: &JavaThread, thread: ObjectRef) {
    new.thread_object.set(thread);
    let state = std::ptr::from_ref(new.sync) as i64;
    object::put(thread, t.vm.known.fields.thread_eetop(), state);
}

/// `AttachCurrentThread`: with a `Thread` object of this name (`None`: one is made up) in a group (`None`: the
/// main one). Returns in the safe state; `None` when there is no memory for its stack or the object.
pub fn attach_native(
    vm: &'static Vm,
    name: Option<&str>,
    group: Option<jobject>,
    is_daemon: bool,
) -> Option<&'static JavaThread> {
    let t = JavaThread::new(vm, vm.options.stack_bytes)?;
    vm.threads.add(t, is_daemon);
    begin(t);
    let made = make_object(t, name, group, is_daemon);
    if made.is_ok() {
        t.shown_name.set(&strings::name_of_thread(t, t.thread_object.get()));
    }
    t.handles.release(0);
    if let Err(thrown) = made {
        t.take_pending(thrown);
        end(t);
        return None;
    }
    t.vm.heap.enter_safe(&t.mutator);
    Some(t)
}

fn make_object(
    t: &JavaThread,
    name: Option<&str>,
    group: Option<jobject>,
    is_daemon: bool,
) -> JResult<()> {
    let klass = t.vm.known.classes.thread();
    let group = match group {
        Some(group) => entry::handle(t, group),
        None => t.root(t.load_root(&t.vm.threads.main_group)),
    };
    let thread = t.root(allocate::new_instance(t, klass)?);
    // The constructor asks for the current thread and its priority.
    bind_object(t, thread);
    let fields = &t.vm.known.fields;
    object::put(thread.get(), fields.thread_priority(), NORMAL_PRIORITY);
    let (last, descriptor) = match name {
        None => (t.root(ObjectRef::NULL), "(Ljava/lang/ThreadGroup;Ljava/lang/Runnable;)V"),
        Some(name) => {
            let name = strings::from_str(t, name)?;
            (t.root(name), "(Ljava/lang/ThreadGroup;Ljava/lang/String;)V")
        }
    };
    let words = |handles: [Handle; 3]| handles.map(|handle| handle.get().address() as u64);
    t.call(call::find(klass, "<init>", descriptor), &words([thread, group, last]))?;
    if is_daemon {
        object::put(thread.get(), fields.thread_daemon(), 1i8);
    }
    status::set_status(t, thread.get(), status::RUNNABLE);
    let add = call::find(t.klass_of(group.get()), "add", "(Ljava/lang/Thread;)V");
    let arguments = [group.get().address() as u64, thread.get().address() as u64];
    t.call(add, &arguments)?;
    Ok(())
}

/// `DetachCurrentThread`, from the safe state: the thread ends as one does whose `run` has returned or thrown.
pub fn detach_native(t: &'static JavaThread) {
    t.vm.heap.leave_safe(&t.mutator);
    exit::leave(t);
    end(t);
}

/// Signal handlers (the pager's, the interpreter's) run on a stack of their own: the thread's may be
/// exhausted, or its page the one that faults.
fn alternate_stack() {
    // SAFETY: plain system calls; the mapping is given to the kernel for the rest of the thread's life.
    unsafe {
        let mut old: libc::stack_t = std::mem::zeroed();
        libc::sigaltstack(std::ptr::null(), &mut old);
        if old.ss_flags & libc::SS_DISABLE == 0 && old.ss_size >= ALTERNATE_BYTES {
            return;
        }
        let memory = libc::mmap(
            std::ptr::null_mut(),
            ALTERNATE_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert!(memory != libc::MAP_FAILED, "no memory for a signal stack");
        let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: ALTERNATE_BYTES };
        libc::sigaltstack(&stack, std::ptr::null_mut());
        ALTERNATE.with(|stack| stack.0.set(memory as usize));
    }
}

/// Frees the stack when the OS thread ends.
struct Alternate(std::cell::Cell<usize>);

impl Drop for Alternate {
    fn drop(&mut self) {
        if self.0.get() == 0 {
            return;
        }
        // SAFETY: the mapping of `alternate_stack`, no longer used once `sigaltstack` has disabled it.
        unsafe {
            let none = libc::stack_t {
                ss_sp: std::ptr::null_mut(),
                ss_flags: libc::SS_DISABLE,
                ss_size: ALTERNATE_BYTES,
            };
            libc::sigaltstack(&none, std::ptr::null_mut());
            libc::munmap(self.0.get() as *mut libc::c_void, ALTERNATE_BYTES);
        }
    }
}

thread_local! {
    static ALTERNATE: Alternate = const { Alternate(std::cell::Cell::new(0)) };
}

const NORMAL_PRIORITY: i32 = 5;
const ALTERNATE_BYTES: usize = 128 << 10;
