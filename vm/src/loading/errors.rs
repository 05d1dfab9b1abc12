//! Throwing Java exceptions from VM code.

use super::{allocate, call, initialize, lookup, out_of_memory, strings};
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, Throw};
use classfile::ClassFormat;
use classfile::symbol::Symbol;
use gc::core::outcome::AllocFailure;
use gc::object::log::{LogLevel, LogLine};
use gc::object::{ObjectRef, RootSlot};

/// Makes a new exception pending: `class_name` is internal (`java/lang/NullPointerException`), its
/// constructor `(String)` (or `()` without message) is run. A safepoint.
pub fn throw_new(t: &JavaThread, class_name: &str, message: Option<&str>) -> Throw {
    let _scope = t.scope();
    match new_throwable(t, class_name, message) {
        Ok(throwable) => t.throw_object(throwable.get()),
        Err(thrown_meanwhile) => thrown_meanwhile,
    }
}

/// `IllegalMonitorStateException`: the current thread does not own a monitor. A safepoint.
#[cold]
pub fn not_owner(t: &JavaThread) -> Throw {
    throw_new(t, "java/lang/IllegalMonitorStateException", Some("current thread is not owner"))
}

/// As `throw_new`, with `initCause(cause)`.
pub fn throw_with_cause(
    t: &JavaThread,
    class_name: &str,
    message: Option<&str>,
    cause: Handle,
) -> Throw {
    let _scope = t.scope();
    let made = new_throwable(t, class_name, message).and_then(|throwable| {
        let descriptor = "(Ljava/lang/Throwable;)Ljava/lang/Throwable;";
        call::call_virtual(t, throwable, "initCause", descriptor, &[cause])?;
        Ok(throwable)
    });
    match made {
        Ok(throwable) => t.throw_object(throwable.get()),
        Err(thrown_meanwhile) => thrown_meanwhile,
    }
}

/// A new throwable, constructed, not thrown; the handle is the caller's scope's. A safepoint.
pub fn new_throwable(t: &JavaThread, class_name: &str, message: Option<&str>) -> JResult<Handle> {
    let klass = lookup::load_class(t, t.vm.boot_loader, Symbol::of(class_name))?;
    initialize::initialize(t, klass)?;
    let throwable = allocate::new_instance(t, klass)?;
    let throwable = t.root(throwable);
    match message {
        Some(message) => {
            let message = strings::from_str(t, message)?;
            let constructor = call::find(klass, "<init>", "(Ljava/lang/String;)V");
            let arguments = [throwable.get().address() as u64, message.address() as u64];
            t.call(constructor, &arguments)?;
        }
        None => {
            let constructor = call::find(klass, "<init>", "()V");
            t.call(constructor, &[throwable.get().address() as u64])?;
        }
    }
    Ok(throwable)
}

/// Throws the throwable of a resolution again that is not repeated (JVMS 5.4.3): another object of the same class,
/// with the same message and cause, as HotSpot does. A safepoint.
pub fn throw_again(t: &JavaThread, kept: &RootSlot) -> Throw {
    let kept = t.load_root(kept);
    let klass = t.klass_of(kept);
    if !klass.loader.is_boot() {
        // It may have any constructors.
        return t.throw_object(kept);
    }
    let _scope = t.scope();
    let fields = &t.vm.known.fields;
    let cause = t.load_ref(kept, fields.throwable_cause());
    // Without a cause, a throwable is its own.
    let cause = (!cause.is_null() && cause != kept).then(|| t.root(cause));
    let message = t.load_ref(kept, fields.throwable_message());
    let message = (!message.is_null()).then(|| strings::to_text(t, message));
    let class_name = klass.name.text();
    match cause {
        Some(cause) => throw_with_cause(t, &class_name, message.as_deref(), cause),
        None => throw_new(t, &class_name, message.as_deref()),
    }
}

/// As `throw_new`, as a result.
#[cold]
pub fn fail<T>(t: &JavaThread, class_name: &str, message: &str) -> JResult<T> {
    Err(throw_new(t, class_name, Some(message)))
}

#[cold]
pub fn null_pointer(t: &JavaThread) -> Throw {
    throw_new(t, "java/lang/NullPointerException", None)
}

/// A class file that is none.
#[cold]
pub fn bad_class_file(t: &JavaThread, error: &ClassFormat) -> Throw {
    throw_new(t, error.kind.class_name(), Some(&error.message))
}

/// The heap has no room.
#[cold]
pub fn out_of_memory(t: &JavaThread, failure: AllocFailure) -> Throw {
    let message = match failure {
        AllocFailure::HeapFull => "Java heap space",
        AllocFailure::TooLarge => "Requested array size exceeds VM limit",
    };
    out_of_memory::throw(t, message)
}

/// The log line of a throwable that is thrown, for `-Xlog:exceptions`. No safepoint.
pub fn log_thrown(t: &JavaThread, throwable: ObjectRef) {
    let class = t.klass_of(throwable).name.text();
    let text = |object, offset| {
        let text = t.load_ref(object, offset);
        (!text.is_null()).then(|| strings::to_text(t, text))
    };
    let fields = &t.vm.known.fields;
    let message = text(throwable, fields.throwable_message());
    let message = message.map_or(String::new(), |message| format!(": {message}"));
    let thread = t.thread_object.get();
    let thread = if thread.is_null() { None } else { text(thread, fields.thread_name()) };
    let thread = thread.unwrap_or_default();
    let message = format!("Exception <a '{class}'{message}> thrown in thread {thread}");
    let line = LogLine { level: LogLevel::Info, tags: "exceptions", message: &message };
    t.vm.options.log.line(line);
}

/// The text of a thrown exception, for messages of the VM. Takes the exception out.
pub fn describe(t: &JavaThread, thrown: Throw) -> String {
    let _scope = t.scope();
    let throwable = t.root(t.take_pending(thrown));
    let name = t.klass_of(throwable.get()).java_name();
    let message = t.load_ref(throwable.get(), t.vm.known.fields.throwable_message());
    match message.is_null() {
        true => name,
        false => format!("{name}: {}", strings::to_text(t, message)),
    }
}

/// Whether the pending exception is an instance of a boot class.
pub fn pending_is(t: &JavaThread, class_name: &str) -> bool {
    let pending = t.pending.get();
    let wanted = t.vm.boot_loader.find(Symbol::of(class_name));
    !pending.is_null() && wanted.is_some_and(|klass| t.klass_of(pending).is_subtype_of(klass))
}
