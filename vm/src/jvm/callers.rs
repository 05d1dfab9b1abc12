//! Callers: caller-sensitive methods, class contexts, the latest loader of a user.

use crate::ffi::entry::Env;
use crate::ffi::types::{jclass, jobject, jobjectArray};
use crate::frames::walk;
use crate::java::objects;
use crate::loading::errors;
use crate::runtime::method::Intrinsic;
use crate::runtime::{KlassRef, MethodRef};
use classfile::MethodMarks;
use gc::object::ObjectRef;

/// `Reflection.getCallerClass`: frame 0 is itself, frame 1 the method that asks for its caller.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetCallerClass(env: Env) -> jclass {
    env.enter(|t| {
        for (n, visited) in walk::frames(t).enumerate() {
            let method = visited.method();
            if n < 2 {
                if !method.is_caller_sensitive() {
                    let message = format!("CallerSensitive annotation expected at frame {n}");
                    return errors::fail(t, "java/lang/InternalError", &message);
                }
            } else if !is_machinery(method) {
                return Ok(t.mirror(method.holder));
            }
        }
        Ok(ObjectRef::NULL)
    })
}

/// `SecurityManager.getClassContext`: classes of the Java methods on the stack, without itself.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassContext(env: Env) -> jobjectArray {
    env.enter(|t| {
        let methods = walk::frames(t).skip(1).map(|visited| visited.method());
        let shown = methods.filter(|m| !is_machinery(m) && !m.is_native());
        let classes: Vec<KlassRef> = shown.map(|m| m.holder).collect();
        objects::class_array(t, &classes)
    })
}

/// The nearest loader on the stack that is neither the boot nor the platform loader.
#[unsafe(no_mangle)]
extern "C" fn JVM_LatestUserDefinedLoader(env: Env) -> jobject {
    env.enter(|t| {
        let mut holders = walk::frames(t).map(|visited| visited.method().holder);
        let is_users = |holder: &KlassRef| {
            let loader = holder.loader;
            !loader.is_boot() && !t.vm.known.is_platform_loader(loader) && !is_accessor(holder)
        };
        Ok(holders.find(is_users).map_or(ObjectRef::NULL, |h| t.load_root(&h.loader.object)))
    })
}

/// Frames through which reflection and method handles call, which do not count as callers.
pub fn is_machinery(method: MethodRef) -> bool {
    if !matches!(method.intrinsic, Intrinsic::None) {
        return true;
    }
    if method.marks.contains(MethodMarks::LAMBDA_FORM_COMPILED) {
        return true;
    }
    let holder = method.holder;
    let is_invoke = holder.loader.is_boot()
        && holder.name.bytes() == b"java/lang/reflect/Method"
        && method.name().bytes() == b"invoke";
    is_invoke || is_accessor_of(holder, b"jdk/internal/reflect/MethodAccessorImpl")
}

/// Generated or native accessors of methods and constructors.
pub fn is_accessor(klass: KlassRef) -> bool {
    is_accessor_of(klass, b"jdk/internal/reflect/MethodAccessorImpl")
        || is_accessor_of(klass, b"jdk/internal/reflect/ConstructorAccessorImpl")
}

fn is_accessor_of(klass: KlassRef, base: &[u8]) -> bool {
    let mut at = Some(klass);
    while let Some(k) = at {
        if k.loader.is_boot() && k.name.bytes() == base {
            return true;
        }
        at = k.super_klass;
    }
    false
}
