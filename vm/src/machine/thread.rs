//! A Java thread: everything that belongs to one OS thread inside the VM.
//!
//! `&JavaThread` is passed to everything that may touch the heap; it is only ever used on its own thread
//! (or by a collector while that thread is stopped), so its state is in cells.

use super::vm::Vm;
use crate::frames::frame::Frame;
use crate::runtime::handle::{Handle, HandleArena, HandleScope};
use crate::runtime::klass::{Klass, KlassRef};
use crate::runtime::throw::{JResult, Throw};
use gc::barrier::BarrierSet;
use gc::object::{ObjectRef, RootSlot};
use gc::threads::mutator::Mutator;
use std::cell::Cell;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Instant;

/// One per attached thread; boxed, never moved, freed when the thread has detached and no other thread can name
/// it.
#[repr(C)]
pub struct JavaThread {
    /// First, so that compiled code finds it at the thread register.
    pub mutator: Mutator,
    pub vm: &'static Vm,
    /// The objects that it has locked without a monitor. Roots.
    pub locks: crate::monitors::lock_stack::LockStack,
    /// The exception that is being thrown, or null. A root.
    pub pending: Cell<ObjectRef>,
    /// The innermost Java or native frame; null outside of Java.
    pub top_frame: Cell<*mut Frame>,
    pub java_stack: crate::frames::stack::JavaStack,
    pub handles: HandleArena,
    /// The structure that native code gets as `JNIEnv *`.
    pub jni: crate::ffi::env::JniEnv,
    /// The object whose monitor it is waiting to enter, else null. A root.
    pub wanted_monitor: Cell<ObjectRef>,
    /// The `java.lang.Thread` object. A root.
    pub thread_object: Cell<ObjectRef>,
    /// Small number for monitors, unique among live threads, from 1.
    pub id: u32,
    /// Threads, monitors, parking, signals: everything of `crate::threads`.
    pub sync: &'static crate::monitors::state::ThreadState,
    /// Set while an `OutOfMemoryError` is being made, which may run out of memory itself.
    pub making_out_of_memory: Cell<bool>,
    /// The system's number of the OS thread; 0 until it runs.
    pub os_thread: AtomicI32,
    /// Its name, outside of the heap.
    pub shown_name: crate::threads::shown_name::ShownName,
    /// When it was made, right before its OS thread was.
    pub started: Instant,
    /// How often native code has entered monitors (JNI `MonitorEnter`) without leaving them.
    pub native_monitors: Cell<u32>,
    /// Depth of nested native-to-Java calls, to bound the native stack.
    pub native_depth: Cell<u32>,
    /// Its events on their way to a recording.
    pub recorder: crate::recorder::ThreadRecorder,
    /// Compiled code's state.
    pub jit: crate::frames::anchor::ThreadJit,
}

// SAFETY: a thread's cells are touched by that thread, or by a collector while it is stopped (module text);
// the parts that other threads may touch (`sync`, `mutator`) are synchronized in themselves.
unsafe impl Sync for JavaThread {}
// SAFETY: as above; the box itself may be freed anywhere.
unsafe impl Send for JavaThread {}

impl JavaThread {
    /// A thread with a Java stack of `stack_bytes`, not yet attached to an OS thread. Lives until `free`. `None`
    /// when there is no address space for the stack.
    pub(crate) fn new(vm: &'static Vm, stack_bytes: usize) -> Option<&'static JavaThread> {
        let java_stack = crate::frames::stack::JavaStack::new(stack_bytes)?;
        let sync = vm.threads.states.take();
        let thread: &'static JavaThread = Box::leak(Box::new(JavaThread {
            mutator: Mutator::new(),
            vm,
            locks: Default::default(),
            pending: Cell::new(ObjectRef::NULL),
            top_frame: Cell::new(std::ptr::null_mut()),
            java_stack,
            handles: HandleArena::new(),
            jni: crate::ffi::env::JniEnv::new(crate::jni::table::functions()),
            wanted_monitor: Cell::new(ObjectRef::NULL),
            thread_object: Cell::new(ObjectRef::NULL),
            id: sync.id,
            sync,
            making_out_of_memory: Cell::new(false),
            os_thread: AtomicI32::new(0),
            shown_name: Default::default(),
            started: Instant::now(),
            native_monitors: Cell::new(0),
            native_depth: Cell::new(0),
            recorder: Default::default(),
            jit: crate::frames::anchor::ThreadJit::new(),
        }));
        thread.jni.thread.set(thread);
        Some(thread)
    }

    /// Frees a thread that is not attached and on no list.
    ///
    /// # Safety
    /// `thread` comes from `new`, and is not used any more.
    pub(crate) unsafe fn free(thread: &'static JavaThread) {
        thread.vm.threads.states.give_back(thread.sync);
        // SAFETY: `new` leaked the box; the caller vouches for the rest.
        drop(unsafe { Box::from_raw(std::ptr::from_ref(thread).cast_mut()) });
    }

    /// The thread attached to this OS thread. Panics when there is none.
    #[inline]
    pub fn current() -> &'static JavaThread {
        JavaThread::try_current().expect("this OS thread is attached to the VM")
    }

    pub fn try_current() -> Option<&'static JavaThread> {
        // SAFETY: CURRENT is set while the JavaThread is attached to this OS thread and alive.
        CURRENT.with(|current| unsafe { current.get().as_ref() })
    }

    /// Makes this the `JavaThread` of the current OS thread; `None` when it detaches.
    pub fn set_current(thread: Option<&JavaThread>) {
        if let Some(thread) = thread {
            // SAFETY: gettid has no preconditions.
            thread.os_thread.store(unsafe { libc::gettid() }, Ordering::Relaxed);
        }
        CURRENT.with(|current| current.set(thread.map_or(std::ptr::null(), std::ptr::from_ref)))
    }

    /// Opens a scope: handles made from now on end with it.
    #[inline]
    pub fn scope(&self) -> HandleScope<'_> {
        HandleScope::new(&self.handles)
    }

    /// Roots an object until the current scope ends.
    #[inline]
    pub fn root(&self, object: ObjectRef) -> Handle {
        self.handles.push(object)
    }

    #[inline]
    pub fn barriers(&self) -> &dyn BarrierSet {
        self.vm.heap.barriers()
    }

    /// The class of a non-null object.
    #[inline]
    pub fn klass_of(&self, object: ObjectRef) -> KlassRef {
        self.vm.klasses.get(object.klass())
    }

    /// A safepoint poll: plain addresses are invalid afterwards.
    #[inline]
    pub fn poll(&self) {
        if self.mutator.poll_requested() {
            self.vm.heap.safepoint(&self.mutator);
            if self.mutator.has_poll_request() {
                crate::threads::requests::answer(self);
            }
        }
    }

    /// Calls a Java or native method: see [`interpreter::call`](crate::interpreter::call()). A safepoint.
    pub fn call(&self, method: crate::runtime::MethodRef, arguments: &[u64]) -> JResult<u64> {
        crate::interpreter::call(self, method, arguments)
    }

    /// Runs `f` in the safe state: it may block, and must not touch the heap or plain addresses.
    #[inline]
    pub fn safely<T>(&self, f: impl FnOnce() -> T) -> T {
        self.vm.heap.enter_safe(&self.mutator);
        let result = f();
        self.vm.heap.leave_safe(&self.mutator);
        result
    }

    // References in heap slots. Offsets are bytes from the header.

    #[inline]
    pub fn load_ref(&self, object: ObjectRef, offset: usize) -> ObjectRef {
        self.barriers().load(&self.mutator, object, offset)
    }

    #[inline]
    pub fn store_ref(&self, object: ObjectRef, offset: usize, value: ObjectRef) {
        self.barriers().store(&self.mutator, object, offset, value)
    }

    /// Element of a reference array; the index is in range.
    #[inline]
    pub fn load_element(&self, array: ObjectRef, index: usize) -> ObjectRef {
        debug_assert!(index < array.array_length());
        self.load_ref(array, self.vm.element_offset(index))
    }

    #[inline]
    pub fn store_element(&self, array: ObjectRef, index: usize, value: ObjectRef) {
        debug_assert!(index < array.array_length());
        self.store_ref(array, self.vm.element_offset(index), value)
    }

    #[inline]
    pub fn load_root(&self, slot: &RootSlot) -> ObjectRef {
        self.barriers().load_root(&self.mutator, slot)
    }

    #[inline]
    pub fn store_root(&self, slot: &RootSlot, value: ObjectRef) {
        self.barriers().store_root(&self.mutator, slot, value)
    }

    // Exceptions.

    #[inline]
    pub fn has_pending(&self) -> bool {
        !self.pending.get().is_null()
    }

    /// `Err` when an exception is pending: after calls into native code.
    #[inline]
    pub fn check(&self) -> JResult<()> {
        if self.has_pending() { Err(Throw::PENDING) } else { Ok(()) }
    }

    /// Makes a throwable pending.
    pub fn throw_object(&self, throwable: ObjectRef) -> Throw {
        assert!(!throwable.is_null(), "throwing null");
        if self.vm.options.log.wants_exceptions() {
            crate::loading::errors::log_thrown(self, throwable);
        }
        self.pending.set(throwable);
        Throw::PENDING
    }

    /// An `OutOfMemoryError` is about to be made: writes a heap dump if options ask for one. A safepoint.
    pub fn note_out_of_memory(&self, message: &str) {
        crate::diagnostics::heap_dump::on_out_of_memory(self, message);
    }

    /// Ends the process at once: no handler of `atexit` runs. The files by which tools find it are removed.
    pub fn end_process(&self, code: i32) -> ! {
        crate::diagnostics::end();
        // SAFETY: ends the process.
        unsafe { libc::_exit(code) }
    }

    /// Ends the process with a report, as options ask for at an `OutOfMemoryError`.
    pub fn crash(&self, message: &str) -> ! {
        crate::diagnostics::crash::fatal(message)
    }

    /// Takes the pending exception out.
    pub fn take_pending(&self, _thrown: Throw) -> ObjectRef {
        self.pending.replace(ObjectRef::NULL)
    }

    /// The `Klass` that a `java.lang.Class` object stands for.
    #[inline]
    pub fn klass_of_mirror(&self, mirror: ObjectRef) -> KlassRef {
        crate::loading::mirror::klass_of_mirror(self, mirror)
    }

    /// The `java.lang.Class` object of a class.
    #[inline]
    pub fn mirror(&self, klass: &Klass) -> ObjectRef {
        self.load_root(klass.mirror)
    }
}

thread_local! {
    static CURRENT: Cell<*const JavaThread> = const { Cell::new(std::ptr::null()) };
}
