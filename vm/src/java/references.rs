//! `java.lang.ref`: reading and clearing references. (Handing cleared ones over is in `threads`.)

use super::fields::{self, F};
use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jboolean, jobject};
use crate::machine::JavaThread;
use crate::runtime::{JResult, KlassKind};
use gc::object::ObjectRef;
use gc::object::layout::ReferenceKind;

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

/// Whether the slot is `Reference.referent`, whose accesses have barriers of their own. No safepoint.
#[inline]
pub fn is_referent(t: &JavaThread, object: ObjectRef, at: usize) -> bool {
    let klass = t.klass_of(object);
    matches!(&klass.kind, KlassKind::Instance(i) if i.reference_kind != ReferenceKind::Strong)
        && fields::offset(t, klass, F::Referent) == at
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
