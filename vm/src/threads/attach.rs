//! OS threads become Java threads.

use super::state::ThreadState;
use crate::interpreter::stack::JavaStack;
use crate::jni::env::JniEnv;
use crate::runtime::handle::HandleArena;
use crate::runtime::{Handle, JavaThread, Vm, object};
use gc::mutator::Mutator;
use gc::object::ObjectRef;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

/// Makes the calling OS thread a Java thread, in the running state, without a `Thread` object yet.
pub fn attach(vm: &'static Vm) -> &'static JavaThread {
    static NEXT_ID: AtomicU32 = AtomicU32::new(1);
    assert!(JavaThread::try_current().is_none(), "this OS thread is attached already");
    let thread: &'static JavaThread = Box::leak(Box::new(JavaThread {
        mutator: Mutator::new(),
        vm,
        pending: Cell::new(ObjectRef::NULL),
        top_frame: Cell::new(std::ptr::null_mut()),
        java_stack: JavaStack::new(vm.options.stack_bytes),
        handles: HandleArena::new(),
        jni: JniEnv::new(),
        thread_object: Cell::new(ObjectRef::NULL),
        id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        sync: ThreadState::default(),
        making_out_of_memory: Cell::new(false),
        native_depth: Cell::new(0),
    }));
    thread.jni.thread.set(thread);
    vm.threads.list.lock().push(thread);
    vm.heap.attach(&thread.mutator);
    JavaThread::set_current(Some(thread));
    thread
}

/// Gives a thread its `java.lang.Thread` object, which from now on names it (`eetop`).
pub fn bind_object(t: &JavaThread, thread: Handle) {
    let eetop = std::ptr::from_ref(t) as usize as i64;
    object::put(thread.get(), t.vm.known.fields.thread_eetop(), eetop);
    t.thread_object.set(thread.get());
}
