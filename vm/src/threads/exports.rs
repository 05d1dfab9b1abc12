//! The `JVM_*` functions of `java.lang.Thread`, `Signal` and reference handling.

#![allow(non_snake_case)]

use super::{dump, interrupt, references, requests, signals, sleep, start};
use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jboolean, jclass, jint, jlong, jobject, jobjectArray, jstring};
use crate::loading::{allocate, arrays, strings};
use crate::machine::JavaThread;
use crate::monitors::{monitor, status};
use crate::runtime::object;
use libc::{c_char, c_void};

#[unsafe(no_mangle)]
extern "C" fn JVM_CurrentThread(env: Env, _class: jclass) -> jobject {
    env.enter(|t| Ok(t.thread_object.get()))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_StartThread(env: Env, thread: jobject) {
    env.enter(|t| start::start(t, entry::non_null(t, thread)?))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_Sleep(env: Env, _class: jclass, millis: jlong) {
    env.enter(|t| sleep::sleep(t, millis))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_Yield(env: Env, _class: jclass) {
    env.enter(|t| {
        sleep::yield_now(t);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_Interrupt(env: Env, thread: jobject) {
    env.enter(|t| {
        let thread = entry::non_null(t, thread)?;
        interrupt::wake(t, thread.get());
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_HoldsLock(env: Env, _class: jclass, object: jobject) -> jboolean {
    env.enter(|t| Ok(monitor::is_held(t, entry::non_null(t, object)?.get())))
}

/// Priorities are the scheduler's business, as HotSpot leaves them by default.
#[unsafe(no_mangle)]
extern "C" fn JVM_SetThreadPriority(_env: Env, _thread: jobject, _priority: jint) {}

#[unsafe(no_mangle)]
extern "C" fn JVM_SetNativeThreadName(env: Env, thread: jobject, name: jstring) {
    env.enter(|t| {
        let name = entry::non_null(t, name)?;
        if entry::resolve(t, thread) == t.thread_object.get() {
            start::set_name(t, &strings::to_text(t, name.get()));
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetAllThreads(env: Env, _class: jclass) -> jobjectArray {
    env.enter(|t| {
        let threads = dump::all_threads(t);
        let class = arrays::array_class(t, t.vm.known.classes.thread())?;
        let array = allocate::new_array(t, class, threads.len() as i32)?;
        for (index, thread) in threads.iter().enumerate() {
            t.store_element(array, index, thread.get());
        }
        Ok(array)
    })
}

/// One that was not started ends at once when it is (`Thread.stop` has no effect on a thread that has
/// ended).
#[unsafe(no_mangle)]
extern "C" fn JVM_StopThread(env: Env, thread: jobject, throwable: jobject) {
    env.enter(|t| {
        let thread = entry::non_null(t, thread)?;
        let throwable = entry::non_null(t, throwable)?;
        if status::status(t, thread.get()) == status::NEW {
            object::put(thread.get(), t.vm.known.fields.thread_stillborn(), 1i8);
        }
        requests::stop(t, thread, throwable)
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_SuspendThread(env: Env, thread: jobject) {
    env.enter(|t| {
        requests::suspend(t, entry::non_null(t, thread)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_ResumeThread(env: Env, thread: jobject) {
    env.enter(|t| {
        requests::resume(t, entry::non_null(t, thread)?);
        Ok(())
    })
}

// Signals.

#[unsafe(no_mangle)]
extern "C" fn JVM_FindSignal(name: *const c_char) -> jint {
    // SAFETY: libjava passes a C string.
    signals::find(&String::from_utf8_lossy(unsafe { entry::c_bytes(name) }))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_RegisterSignal(signal: jint, handler: *mut c_void) -> *mut c_void {
    let is_reduced = JavaThread::try_current().is_some_and(|t| t.vm.options.reduce_signals);
    signals::register(signal, handler as usize, is_reduced) as *mut c_void
}

#[unsafe(no_mangle)]
extern "C" fn JVM_RaiseSignal(signal: jint) -> jboolean {
    signals::raise(signal);
    1
}

// Reference handling.

#[unsafe(no_mangle)]
extern "C" fn JVM_GetAndClearReferencePendingList(env: Env) -> jobject {
    env.enter(|t| Ok(references::take(t)))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_HasReferencePendingList(env: Env) -> jboolean {
    env.enter(|t| Ok(references::has_pending(t)))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_WaitForReferencePendingList(env: Env) {
    env.enter(|t| {
        references::wait(t);
        Ok(())
    })
}
