//! The rest of JNI: version, registering natives, monitors, direct buffers.

use super::value;
use crate::ffi::entry::{self, Env};
use crate::ffi::natives::Natives;
use crate::ffi::registry::Native;
use crate::ffi::types::{
    JNI_ERR, JNI_OK, JNI_VERSION_10, JNINativeMethod, jboolean, jclass, jint, jlong, jobject,
};
use crate::loading::{errors, initialize, lookup, names};
use crate::machine::JavaThread;
use crate::runtime::{JResult, KlassRef};
use crate::threads::monitor;
use classfile::symbol::{Scope, Symbol};
use libc::c_void;

pub extern "C" fn version(_env: Env) -> jint {
    JNI_VERSION_10
}

pub extern "C" fn register_natives(
    env: Env,
    class: jclass,
    methods: *const JNINativeMethod,
    count: jint,
) -> jint {
    let done: jboolean = env.enter(|t| {
        let klass = entry::klass(t, class)?;
        for index in 0..count.max(0) as usize {
            // SAFETY: JNI callers pass `count` entries.
            register(t, klass, unsafe { &*methods.add(index) })?;
        }
        Ok(true)
    });
    if done != 0 { JNI_OK } else { JNI_ERR }
}

fn register(t: &JavaThread, klass: KlassRef, entry: &JNINativeMethod) -> JResult<()> {
    // SAFETY: JNI callers pass C strings.
    let (name, descriptor) =
        unsafe { (entry::c_bytes(entry.name), entry::c_bytes(entry.signature)) };
    let _names = Scope::new();
    let (name, descriptor) = (Symbol::intern(name), Symbol::intern(descriptor));
    // A superclass's will do: it is that class's method from then on.
    let method = match klass.find_method(name, descriptor) {
        Some(method) if method.is_native() => method,
        other => {
            let message = match other {
                None => format!("Method {}.{name}{descriptor} not found", klass.java_name()),
                Some(method) => {
                    format!("Method '{}' is not declared as native", names::external(method))
                }
            };
            return errors::fail(t, "java/lang/NoSuchMethodError", &message);
        }
    };
    if t.vm.natives.is_own(method) {
        return Ok(());
    }
    if entry.function.is_null() {
        Natives::unset(method);
    } else {
        Natives::set(method, Native::C(entry.function));
    }
    Ok(())
}

pub extern "C" fn unregister_natives(env: Env, class: jclass) -> jint {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        klass.methods().iter().filter(|method| method.is_native()).for_each(|m| Natives::unset(m));
        Ok(JNI_OK)
    })
}

pub extern "C" fn monitor_enter(env: Env, object: jobject) -> jint {
    let done: jboolean = env.enter(|t| {
        monitor::enter_from_native(t, entry::non_null(t, object)?);
        Ok(true)
    });
    if done != 0 { JNI_OK } else { JNI_ERR }
}

pub extern "C" fn monitor_exit(env: Env, object: jobject) -> jint {
    let done: jboolean = env.enter(|t| {
        monitor::exit_from_native(t, entry::non_null(t, object)?)?;
        Ok(true)
    });
    if done != 0 { JNI_OK } else { JNI_ERR }
}

// Direct buffers.

pub extern "C" fn new_direct_buffer(env: Env, address: *mut c_void, capacity: jlong) -> jobject {
    env.enter(|t| {
        let klass = boot_class(t, "java/nio/DirectByteBuffer")?;
        initialize::initialize(t, klass)?;
        let constructor = klass.declared_method(Symbol::of("<init>"), Symbol::of("(JI)V"));
        let constructor = constructor.expect("DirectByteBuffer(long, int) exists");
        let buffer = t.root(crate::loading::allocate::new_instance(t, klass)?);
        let arguments =
            [buffer.get().address() as u64, address as u64, 0, capacity as i32 as i64 as u64];
        t.call(constructor, &arguments)?;
        Ok(buffer)
    })
}

pub extern "C" fn direct_buffer_address(env: Env, buffer: jobject) -> *mut c_void {
    env.enter(|t| {
        let address = direct_field::<jlong>(t, buffer, "address", "J")?;
        Ok(address.unwrap_or(0) as *mut c_void)
    })
}

pub extern "C" fn direct_buffer_capacity(env: Env, buffer: jobject) -> jlong {
    env.enter(|t| Ok(direct_field::<jint>(t, buffer, "capacity", "I")?.map_or(-1, jlong::from)))
}

/// A field of `java.nio.Buffer`; `None` for objects that are no direct buffers.
fn direct_field<T: value::FieldValue>(
    t: &JavaThread,
    buffer: jobject,
    name: &str,
    descriptor: &str,
) -> JResult<Option<T::Inside>> {
    let direct = boot_class(t, "sun/nio/ch/DirectBuffer")?;
    let object = entry::resolve(t, buffer);
    if object.is_null() || !t.klass_of(object).is_subtype_of(direct) {
        return Ok(None);
    }
    let field = t.klass_of(object).find_field(Symbol::of(name), Symbol::of(descriptor));
    let Some(field) = field else { return Ok(None) };
    Ok(Some(value::load_field::<T>(t, object, field)))
}

fn boot_class(t: &JavaThread, name: &str) -> JResult<KlassRef> {
    let name = Symbol::of(name);
    match t.vm.boot_loader.find(name) {
        Some(klass) => Ok(klass),
        None => lookup::load_class(t, t.vm.boot_loader, name),
    }
}
