//! Local, global and weak references, and local frames.

use crate::ffi::entry::{self, Env, TAG_GLOBAL, TAG_LOCAL, TAG_MASK, TAG_WEAK};
use crate::ffi::types::{JNI_OK, jboolean, jint, jobject, jweak};
use crate::runtime::Handle;
use gc::object::ObjectRef;

pub extern "C" fn push_local_frame(env: Env, _capacity: jint) -> jint {
    let t = env.thread();
    t.jni.push_frame(t.handles.mark());
    JNI_OK
}

pub extern "C" fn pop_local_frame(env: Env, result: jobject) -> jobject {
    env.enter(|t| {
        let result = entry::resolve(t, result);
        let mark = t.jni.pop_frame().unwrap_or_else(|| t.handles.mark());
        // The result is given out again in the frame before.
        t.handles.release(mark.min(t.handles.mark()));
        Ok(Frameless(result))
    })
}

/// A reference that is returned after the handles of the call have been freed.
struct Frameless(ObjectRef);

impl entry::ToNative for Frameless {
    type Native = jobject;
    const NOTHING: jobject = std::ptr::null_mut();

    fn to_native(self, t: &crate::machine::JavaThread, _mark: usize) -> jobject {
        entry::local(t, self.0)
    }
}

pub extern "C" fn new_global_ref(env: Env, object: jobject) -> jobject {
    env.enter(|t| Ok(t.vm.globals.new_strong(t, entry::resolve(t, object))))
}

pub extern "C" fn delete_global_ref(env: Env, object: jobject) {
    env.enter(|t| {
        t.vm.globals.delete(t, object);
        Ok(())
    })
}

pub extern "C" fn new_weak_global_ref(env: Env, object: jobject) -> jweak {
    env.enter(|t| Ok(t.vm.globals.new_weak(t, entry::resolve(t, object))))
}

pub extern "C" fn delete_weak_global_ref(env: Env, object: jweak) {
    delete_global_ref(env, object)
}

/// Empties the word. If it was the last handle of the native method, it and the empty ones before it are free
/// for reuse: native loops that delete the references they make use a bounded number of words.
pub extern "C" fn delete_local_ref(env: Env, object: jobject) {
    if object.is_null() || object as usize & TAG_MASK != TAG_LOCAL {
        return;
    }
    let t = env.thread();
    // The collector may be at work on the handles: only a running thread changes them.
    t.vm.heap.leave_safe(&t.mutator);
    Handle::from_address(object as usize).set(ObjectRef::NULL);
    t.handles.pop_empty(t.jni.base());
    t.vm.heap.enter_safe(&t.mutator);
}

pub extern "C" fn new_local_ref(env: Env, object: jobject) -> jobject {
    env.enter(|t| Ok(entry::resolve(t, object)))
}

pub extern "C" fn is_same_object(env: Env, one: jobject, other: jobject) -> jboolean {
    env.enter(|t| {
        let one = entry::handle(t, one);
        let other = entry::resolve(t, other);
        Ok(one.get() == other)
    })
}

pub extern "C" fn ensure_local_capacity(_env: Env, _capacity: jint) -> jint {
    JNI_OK
}

/// `jobjectRefType`: 0 invalid, 1 local, 2 global, 3 weak.
pub extern "C" fn get_object_ref_type(_env: Env, object: jobject) -> jint {
    match object as usize & TAG_MASK {
        _ if object.is_null() => 0,
        TAG_LOCAL => 1,
        TAG_GLOBAL => 2,
        TAG_WEAK => 3,
        _ => 0,
    }
}
