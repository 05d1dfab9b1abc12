//! Stack traces of throwables and threads.

use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jclass, jobject, jobjectArray, jstring};
use crate::interpreter::backtrace::{self, TraceFrame};
use crate::interpreter::npe;
use crate::java::objects;
use crate::loading::{allocate, arrays, errors, member, strings};
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, object};
use gc::object::ObjectRef;

#[unsafe(no_mangle)]
extern "C" fn JVM_FillInStackTrace(env: Env, throwable: jobject) {
    env.enter(|t| {
        if t.vm.options.stack_trace_in_throwable {
            backtrace::fill_in(t, entry::non_null(t, throwable)?);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_InitStackTraceElementArray(env: Env, elements: jobjectArray, throwable: jobject) {
    env.enter(|t| {
        let elements = entry::non_null(t, elements)?;
        backtrace::fill_elements(t, elements, entry::non_null(t, throwable)?)
    })
}

/// The message that names the null value and the failed action; null when the code does not show them.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetExtendedNPEMessage(env: Env, throwable: jobject) -> jstring {
    env.enter(|t| {
        if !t.vm.options.helpful_null_pointers {
            return Ok(ObjectRef::NULL);
        }
        match npe::message(t, entry::non_null(t, throwable)?.get()) {
            Some(message) => strings::from_str(t, &message),
            None => Ok(ObjectRef::NULL),
        }
    })
}

/// The element of a `StackFrameInfo`, which knows its method and bci.
#[unsafe(no_mangle)]
extern "C" fn JVM_InitStackTraceElement(env: Env, element: jobject, info: jobject) {
    env.enter(|t| {
        let element = entry::non_null(t, element)?;
        let info = entry::non_null(t, info)?.get();
        let (member_at, bci_at) = frame_info_offsets(t);
        let member = t.load_ref(info, member_at);
        let Some(method) = member::method_of(t, member) else {
            return errors::fail(t, "java/lang/InternalError", "a frame without a method");
        };
        let bci: i32 = object::get(info, bci_at);
        let bci = if method.is_native() { backtrace::NATIVE_BCI } else { bci as u16 };
        backtrace::fill_element(t, element, TraceFrame { method, bci })
    })
}

/// Offsets of `StackFrameInfo.memberName` and `bci`.
pub fn frame_info_offsets(t: &JavaThread) -> (usize, usize) {
    let klass = t.vm.known.classes.stack_frame_info();
    (klass.offset_of("memberName", "Ljava/lang/Object;"), klass.offset_of("bci", "I"))
}

/// `Thread.getAllStackTraces` and `getStackTrace` of other threads: a `StackTraceElement[][]`.
#[unsafe(no_mangle)]
extern "C" fn JVM_DumpThreads(env: Env, _class: jclass, threads: jobjectArray) -> jobjectArray {
    env.enter(|t| {
        let threads = entry::non_null(t, threads)?;
        let count = threads.get().array_length();
        if count == 0 {
            return Err(errors::throw_new(t, "java/lang/IllegalArgumentException", None));
        }
        let wanted: Vec<Handle> =
            (0..count).map(|i| t.root(t.load_element(threads.get(), i))).collect();
        let stacks = capture(t, &wanted);
        let traces = arrays::array_class(t, t.vm.known.classes.stack_trace_element())?;
        let result = allocate::new_object_array(t, traces, count as i32)?;
        let result = t.root(result);
        for (i, stack) in stacks.iter().enumerate() {
            let _scope = t.scope();
            // Threads that have not begun or have ended keep null.
            if let Some(stack) = stack {
                let trace = elements(t, stack)?;
                t.store_element(result.get(), i, trace);
            }
        }
        Ok(result)
    })
}

/// The stacks of some `Thread` objects at one moment, hidden frames included; `None` for those that do not run. Their
/// classes live until the end of the scope. A safepoint.
pub fn capture(t: &JavaThread, wanted: &[Handle]) -> Vec<Option<Vec<TraceFrame>>> {
    let _hold = t.vm.unloading.hold();
    loop {
        let stacks = capture_now(t, wanted);
        if stacks.iter().flatten().all(|stack: &Vec<TraceFrame>| backtrace::keep(t, stack)) {
            return stacks;
        }
    }
}

fn capture_now(t: &JavaThread, wanted: &[Handle]) -> Vec<Option<Vec<TraceFrame>>> {
    let mut stacks = vec![None; wanted.len()];
    t.vm.heap.stop_world(Some(&t.mutator), &mut |_| {
        t.vm.threads.for_each(&mut |thread| {
            let object = thread.thread_object.get();
            for (i, handle) in wanted.iter().enumerate() {
                if !object.is_null() && handle.get() == object {
                    stacks[i] = Some(backtrace::current(thread));
                }
            }
        });
    });
    stacks
}

/// A `StackTraceElement[]`. A safepoint.
pub fn elements(t: &JavaThread, stack: &[TraceFrame]) -> JResult<ObjectRef> {
    let class = objects::boot_class(t, "java/lang/StackTraceElement")?;
    let array = allocate::new_object_array(t, class, stack.len() as i32)?;
    let array = t.root(array);
    for (i, frame) in stack.iter().enumerate() {
        let _scope = t.scope();
        let element = t.root(allocate::new_instance(t, class)?);
        backtrace::fill_element(t, element, *frame)?;
        t.store_element(array.get(), i, element.get());
    }
    Ok(array.get())
}
