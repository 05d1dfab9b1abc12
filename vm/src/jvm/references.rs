//! `java.lang.ref`: clearing references, and handing cleared ones to the reference handler thread.

use super::fields::{self, F};
use crate::jni::entry::{self, Env};
use crate::jni::types::{jboolean, jobject};
use crate::runtime::{JResult, JavaThread};
use gc::object::ObjectRef;
use parking_lot::{Condvar, Mutex};

/// Wakes the reference handler when a collection has left something in the pending list.
#[derive(Default)]
pub struct PendingSignal {
    /// Held between looking at the list and waiting.
    lock: Mutex<()>,
    filled: Condvar,
}

impl PendingSignal {
    /// After a cycle that may have filled the list. The waiter holds the lock for a few instructions only.
    /// Any thread.
    pub fn notify(&self) {
        let _guard = self.lock.lock();
        self.filled.notify_all();
    }
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetAndClearReferencePendingList(env: Env) -> jobject {
    env.enter(|t| {
        // Only the reference handler takes, and collectors add at pauses, of which there is none in between.
        let list = t.load_root(&t.vm.pending_references);
        t.store_root(&t.vm.pending_references, ObjectRef::NULL);
        Ok(list)
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_HasReferencePendingList(env: Env) -> jboolean {
    env.enter(|t| Ok(!t.vm.pending_references.is_null()))
}

/// Blocks in the safe state until the list is not empty.
#[unsafe(no_mangle)]
extern "C" fn JVM_WaitForReferencePendingList(env: Env) {
    let vm = env.thread().vm;
    let signal = &vm.jvm.pending_signal;
    let mut guard = signal.lock.lock();
    while vm.pending_references.is_null() {
        signal.filled.wait(&mut guard);
    }
}

#[unsafe(no_mangle)]
extern "C" fn JVM_ReferenceRefersTo(env: Env, reference: jobject, object: jobject) -> jboolean {
    env.enter(|t| refers_to(t, reference, object))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_PhantomReferenceRefersTo(
    env: Env,
    reference: jobject,
    object: jobject,
) -> jboolean {
    env.enter(|t| refers_to(t, reference, object))
}

fn refers_to(t: &JavaThread, reference: jobject, object: jobject) -> JResult<bool> {
    let reference = entry::non_null(t, reference)?.get();
    let at = fields::offset(t, t.klass_of(reference), F::Referent);
    let object = entry::resolve(t, object);
    Ok(t.barriers().referent_is(&t.mutator, reference, at, object))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_ReferenceClear(env: Env, reference: jobject) {
    env.enter(|t| {
        let reference = entry::non_null(t, reference)?.get();
        let at = fields::offset(t, t.klass_of(reference), F::Referent);
        t.barriers().clear_referent(&t.mutator, reference, at);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_ReferenceGet(env: Env, reference: jobject) -> jobject {
    env.enter(|t| {
        let reference = entry::non_null(t, reference)?.get();
        let at = fields::offset(t, t.klass_of(reference), F::Referent);
        Ok(t.barriers().load_referent(&t.mutator, reference, at))
    })
}
