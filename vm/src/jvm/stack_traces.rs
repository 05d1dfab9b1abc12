//! Stack traces, and who calls whom: what `Throwable`, `Reflection`, `SecurityManager` and
//! `AccessController` ask about the current thread's stack.

use super::objects;
use crate::classfile::MethodMarks;
use crate::interpreter::backtrace::{self, NATIVE_BCI, TraceFrame};
use crate::interpreter::walk;
use crate::invoke::member_name;
use crate::jni::entry::{self, Env};
use crate::jni::types::{jclass, jobject, jobjectArray};
use crate::loading::{allocate, call, errors, initialize};
use crate::runtime::{Handle, JResult, JavaThread, KlassRef, MethodRef, object};
use crate::symbol::Symbol;
use gc::object::ObjectRef;

#[unsafe(no_mangle)]
extern "C" fn JVM_FillInStackTrace(env: Env, throwable: jobject) {
    env.enter(|t| {
        backtrace::fill_in(t, entry::handle(t, throwable));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_InitStackTraceElementArray(env: Env, elements: jobjectArray, throwable: jobject) {
    env.enter(|t| {
        let (elements, throwable) = (entry::handle(t, elements), entry::handle(t, throwable));
        backtrace::fill_elements(t, elements, throwable)
    })
}

/// `frame` is a `StackFrameInfo`.
#[unsafe(no_mangle)]
extern "C" fn JVM_InitStackTraceElement(env: Env, element: jobject, frame: jobject) {
    env.enter(|t| {
        let info = entry::resolve(t, frame);
        let member = t.load_ref(info, frame_info_offset(t, "memberName", "Ljava/lang/Object;"));
        let method = member_name::method_of(t, member);
        let method = method.expect("a StackFrameInfo's member is filled in before Java sees it");
        let bci: i32 = object::get(info, frame_info_offset(t, "bci", "I"));
        let bci = if method.is_native() { NATIVE_BCI } else { bci as u16 };
        backtrace::fill_element(t, entry::handle(t, element), TraceFrame { method, bci })
    })
}

/// Offset of a field of `StackFrameInfo`.
pub(super) fn frame_info_offset(t: &JavaThread, name: &str, descriptor: &str) -> usize {
    let klass = t.vm.known.classes.stack_frame_info();
    let field = klass.declared_field(Symbol::of(name), Symbol::of(descriptor));
    field.unwrap_or_else(|| panic!("no StackFrameInfo.{name}")).offset as usize
}

/// The caller of the `@CallerSensitive` method that asks (`Reflection.getCallerClass`).
#[unsafe(no_mangle)]
extern "C" fn JVM_GetCallerClass(env: Env) -> jclass {
    env.enter(|t| {
        let mut methods = walk::frames(t).map(|frame| frame.method());
        let native = methods.next();
        if native.is_none_or(|method| method.name().bytes() != b"getCallerClass") {
            let message = "JVM_GetCallerClass must only be called from Reflection.getCallerClass";
            return errors::fail(t, "java/lang/InternalError", message);
        }
        if methods.next().is_none_or(|method| !method.is_caller_sensitive()) {
            let message = "CallerSensitive annotation expected at frame 1";
            return errors::fail(t, "java/lang/InternalError", message);
        }
        let caller = methods.find(|method| !is_plumbing(t, method));
        Ok(caller.map_or(ObjectRef::NULL, |method| t.mirror(method.holder)))
    })
}

/// Frames of reflection and of method handles, which stand for nobody.
pub(super) fn is_plumbing(t: &JavaThread, method: MethodRef) -> bool {
    let classes = &t.vm.known.classes;
    let is_invoke = method.holder == classes.reflect_method() && method.name().bytes() == b"invoke";
    is_invoke
        || method.holder.is_subtype_of(classes.magic_accessor())
        || method.marks.contains(MethodMarks::LAMBDA_FORM_COMPILED)
}

/// `SecurityManager.getClassContext`: the classes of all frames that can be responsible for something.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassContext(env: Env) -> jobjectArray {
    env.enter(|t| {
        let methods = walk::frames(t).map(|frame| frame.method());
        // The first is the native method itself.
        let shown = methods.skip(1).filter(|m| !m.is_native() && !is_plumbing(t, m));
        let holders: Vec<KlassRef> = shown.map(|method| method.holder).collect();
        objects::class_array(t, &holders)
    })
}

/// The nearest loader on the stack that is neither the boot nor the platform loader.
#[unsafe(no_mangle)]
extern "C" fn JVM_LatestUserDefinedLoader(env: Env) -> jobject {
    env.enter(|t| {
        let methods = walk::frames(t).map(|frame| frame.method());
        let loaders = methods.filter(|m| !is_plumbing(t, m)).map(|method| method.holder.loader);
        let mut loaders = loaders.filter(|l| !l.is_boot() && !t.vm.known.is_platform_loader(l));
        Ok(loaders.next().map_or(ObjectRef::NULL, |loader| t.load_root(&loader.object)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetInheritedAccessControlContext(env: Env, _class: jclass) -> jobject {
    env.enter(|t| Ok(t.load_ref(t.thread_object.get(), t.vm.known.fields.thread_acc())))
}

/// `AccessController.getStackAccessControlContext`: the protection domains on the stack, down to the last
/// privileged frame. Null when only system domains are privileged.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetStackAccessControlContext(env: Env, _class: jclass) -> jobject {
    env.enter(|t| {
        let mut domains: Vec<Handle> = Vec::new();
        let mut previous = ObjectRef::NULL;
        let mut privileged = None;
        for frame in walk::frames(t) {
            let method = frame.method();
            let mut holder = method.holder;
            if is_execute_privileged(method) {
                // executePrivileged(action, context, caller)
                let context = ObjectRef::from_address(frame.local(1) as usize);
                let caller = ObjectRef::from_address(frame.local(2) as usize);
                privileged = Some(t.root(context));
                holder = t.klass_of_mirror(caller);
            }
            let domain = protection_domain(t, holder);
            if !domain.is_null() && domain != previous {
                previous = domain;
                domains.push(t.root(domain));
            }
            if privileged.is_some() {
                break;
            }
        }
        if domains.is_empty() && privileged.is_some_and(Handle::is_null) {
            return Ok(ObjectRef::NULL);
        }
        new_context(t, &domains, privileged)
    })
}

fn is_execute_privileged(method: MethodRef) -> bool {
    method.name().bytes() == b"executePrivileged"
        && method.holder.name.bytes() == b"java/security/AccessController"
}

fn protection_domain(t: &JavaThread, klass: KlassRef) -> ObjectRef {
    t.load_ref(t.mirror(klass), t.vm.known.fields.mirror_protection_domain())
}

fn new_context(
    t: &JavaThread,
    domains: &[Handle],
    privileged: Option<Handle>,
) -> JResult<ObjectRef> {
    let array = match domains {
        [] => ObjectRef::NULL,
        _ => {
            let element = objects::boot_class(t, "java/security/ProtectionDomain")?;
            objects::array_of(t, element, domains)?
        }
    };
    let array = t.root(array);
    let klass = objects::boot_class(t, "java/security/AccessControlContext")?;
    initialize::initialize(t, klass)?;
    let context = allocate::new_instance(t, klass)?;
    let offset = |name: &str, descriptor: &str| {
        let field = klass.declared_field(Symbol::of(name), Symbol::of(descriptor));
        field.unwrap_or_else(|| panic!("no AccessControlContext.{name}")).offset as usize
    };
    let domains_at = offset("context", "[Ljava/security/ProtectionDomain;");
    t.store_ref(context, domains_at, array.get());
    let outer = privileged.map_or(ObjectRef::NULL, Handle::get);
    t.store_ref(
        context,
        offset("privilegedContext", "Ljava/security/AccessControlContext;"),
        outer,
    );
    object::put(context, offset("isPrivileged", "Z"), i8::from(privileged.is_some()));
    object::put(context, offset("isAuthorized", "Z"), 1i8);
    Ok(context)
}

/// Walks started by [`super::stack_walk`] call back into Java through this method.
pub(super) fn do_stack_walk(klass: KlassRef) -> MethodRef {
    call::find(klass, "doStackWalk", "(JIIII)Ljava/lang/Object;")
}
