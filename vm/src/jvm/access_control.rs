//! `java.security.AccessController`: the protection domains on the stack.

use crate::ffi::entry::Env;
use crate::ffi::types::{jclass, jobject};
use crate::frames::walk::{self, Visited};
use crate::java::fields::{self, F};
use crate::java::objects;
use crate::loading::allocate;
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, KlassRef};
use gc::object::ObjectRef;

#[unsafe(no_mangle)]
extern "C" fn JVM_GetInheritedAccessControlContext(env: Env, _class: jclass) -> jobject {
    env.enter(|t| Ok(fields::get_ref(t, t.thread_object.get(), F::ThreadInheritedContext)))
}

/// Domains from the innermost frame out to the first privileged one, consecutive duplicates once; null when
/// all are the system's.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetStackAccessControlContext(env: Env, _class: jclass) -> jobject {
    env.enter(|t| {
        let mut domains: Vec<Handle> = Vec::new();
        let mut privileged = None;
        for visited in walk::frames(t) {
            let is_privileged = is_privileged_call(t, &visited);
            let holder = if is_privileged {
                // Such a method is never compiled: see the compiler's policy.
                let local = |slot| visited.local(slot).expect("an interpreted frame");
                privileged = Some(t.root(ObjectRef::from_address(local(1) as usize)));
                t.klass_of_mirror(ObjectRef::from_address(local(2) as usize))
            } else {
                visited.method().holder
            };
            let domain = domain_of(t, holder);
            if !domain.is_null() && domains.last().is_none_or(|last| last.get() != domain) {
                domains.push(t.root(domain));
            }
            if is_privileged {
                break;
            }
        }
        if domains.is_empty() && privileged.is_none_or(|context| context.is_null()) {
            // An unprivileged stack of system code needs a context only to say that it is not privileged.
            return match privileged {
                Some(_) => Ok(ObjectRef::NULL),
                None => new_context(t, None, None),
            };
        }
        let domains = match domains.as_slice() {
            [] => None,
            domains => {
                let class = objects::boot_class(t, "java/security/ProtectionDomain")?;
                Some(t.root(objects::array_of(t, class, domains)?))
            }
        };
        new_context(t, domains, privileged)
    })
}

/// `AccessController.executePrivileged(action, context, caller)`.
fn is_privileged_call(t: &JavaThread, visited: &Visited<'_>) -> bool {
    let method = visited.method();
    let holder = method.holder;
    holder.loader == t.vm.boot_loader
        && holder.name.bytes() == b"java/security/AccessController"
        && method.name().bytes() == b"executePrivileged"
}

fn domain_of(t: &JavaThread, klass: KlassRef) -> ObjectRef {
    t.load_ref(t.mirror(klass), t.vm.known.fields.mirror_protection_domain())
}

fn new_context(
    t: &JavaThread,
    domains: Option<Handle>,
    privileged: Option<Handle>,
) -> JResult<ObjectRef> {
    let class = objects::boot_class(t, "java/security/AccessControlContext")?;
    let context = allocate::new_instance(t, class)?;
    if let Some(domains) = domains {
        fields::put_ref(t, context, F::ContextContext, domains.get());
    }
    if let Some(privileged) = privileged {
        fields::put_ref(t, context, F::ContextPrivileged, privileged.get());
    }
    fields::put(t, context, F::ContextIsPrivileged, i8::from(privileged.is_some()));
    fields::put(t, context, F::ContextIsAuthorized, 1i8);
    Ok(context)
}
