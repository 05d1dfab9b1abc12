//! Class initialization (JVMS 5.5).

use super::{constants, errors, link, strings};
use crate::machine::JavaThread;
use crate::runtime::klass::state;
use crate::runtime::{Field, Handle, JResult, Klass, KlassRef, Throw, object};
use classfile::symbol::Symbol;
use classfile::{BasicType, CpEntry};
use gc::object::ObjectRef;
use std::sync::atomic::Ordering;

/// Links and initializes a class, waiting for another thread that does so. A safepoint.
#[inline]
pub fn initialize(t: &JavaThread, klass: KlassRef) -> JResult<()> {
    if klass.is_initialized() {
        return Ok(());
    }
    initialize_slow(t, klass)
}

#[cold]
fn initialize_slow(t: &JavaThread, klass: KlassRef) -> JResult<()> {
    link::link(t, klass)?;
    match begin(t, klass) {
        Begin::Done => return Ok(()),
        Begin::Failed => return Err(not_initializable(t, klass)),
        Begin::Mine => {}
    }
    let result = run(t, klass);
    let outcome = match result {
        Ok(()) => state::INITIALIZED,
        Err(_) => state::FAILED,
    };
    let result = result.map_err(|thrown| record_failure(t, klass, thrown));
    let instance = klass.inst();
    if result.is_ok() && t.vm.options.jit.folds_static_finals {
        let _ = instance.constants.set(constants::constants_of(t, klass));
    }
    let _guard = instance.init_lock.lock();
    instance.init_thread.store(0, Ordering::Relaxed);
    instance.state.store(outcome, Ordering::Release);
    instance.init_done.notify_all();
    result
}

enum Begin {
    /// This thread runs the initializer now.
    Mine,
    /// Initialized, or being initialized by this very thread.
    Done,
    Failed,
}

/// Steps 1 to 6.
fn begin(t: &JavaThread, klass: KlassRef) -> Begin {
    let instance = klass.inst();
    let me = std::ptr::from_ref(t) as usize;
    loop {
        // The lock is held for a moment only and never over a safepoint, so taking it may block here.
        let guard = instance.init_lock.lock();
        match instance.state.load(Ordering::Acquire) {
            state::INITIALIZED => return Begin::Done,
            state::FAILED => return Begin::Failed,
            state::INITIALIZING if instance.init_thread.load(Ordering::Relaxed) == me => {
                return Begin::Done;
            }
            state::INITIALIZING => {
                drop(guard);
                t.safely(|| {
                    let mut guard = instance.init_lock.lock();
                    if instance.state.load(Ordering::Acquire) == state::INITIALIZING {
                        instance.init_done.wait(&mut guard);
                    }
                });
            }
            _ => {
                instance.state.store(state::INITIALIZING, Ordering::Release);
                instance.init_thread.store(me, Ordering::Relaxed);
                return Begin::Mine;
            }
        }
    }
}

/// Steps 6 to 9: constants, supertypes, the static initializer.
fn run(t: &JavaThread, klass: KlassRef) -> JResult<()> {
    for field in klass.fields().iter().filter(|field| field.is_static()) {
        if let Some(index) = field.info.constant_value {
            set_constant(t, klass, field, index)?;
        }
    }
    if !klass.is_interface() {
        if let Some(parent) = klass.super_klass {
            initialize(t, parent)?;
        }
        for interface in klass.inst().interfaces.iter() {
            initialize_with_defaults(t, interface)?;
        }
    }
    t.vm.recorder.note_initialization(t, klass)?;
    let clinit = klass.declared_method(Symbol::of("<clinit>"), Symbol::of("()V"));
    match clinit.filter(|method| method.is_static()) {
        Some(method) => t.call(method, &[]).map(|_| ()),
        None => Ok(()),
    }
}

/// Superinterfaces are initialized only when they declare a default method; those above them first. An interface
/// that is initialized says nothing of those above: a failure of theirs is to be reported again.
fn initialize_with_defaults(t: &JavaThread, interface: KlassRef) -> JResult<()> {
    for parent in interface.inst().interfaces.iter() {
        initialize_with_defaults(t, parent)?;
    }
    let is_default = |m: &&crate::runtime::MethodRef| !m.is_static() && !m.is_abstract();
    match interface.methods().iter().any(|m| is_default(&m)) {
        true => initialize(t, interface),
        false => Ok(()),
    }
}

/// The `ConstantValue` of a static field. A safepoint for strings.
fn set_constant(t: &JavaThread, klass: KlassRef, field: &Field, index: u16) -> JResult<()> {
    let offset = field.offset as usize;
    match klass.inst().file.constant_pool.entry(index) {
        CpEntry::Integer(value) => {
            let mirror = t.mirror(klass);
            match field.ty {
                BasicType::Boolean | BasicType::Byte => object::put(mirror, offset, value as i8),
                BasicType::Char | BasicType::Short => object::put(mirror, offset, value as i16),
                _ => object::put(mirror, offset, value),
            }
        }
        CpEntry::Float(bits) => object::put(t.mirror(klass), offset, bits as i32),
        CpEntry::Long(value) => object::put(t.mirror(klass), offset, value),
        CpEntry::Double(bits) => object::put(t.mirror(klass), offset, bits),
        CpEntry::String { utf8, .. } => {
            let string = strings::intern_modified_utf8(t, utf8.bytes())?;
            t.store_ref(t.mirror(klass), offset, string);
        }
        other => panic!("{other:?} as ConstantValue of {}", field.name()),
    }
    Ok(())
}

/// Step 10: anything but an `Error` is wrapped; the throwable is recorded for later users of the class.
fn record_failure(t: &JavaThread, klass: &Klass, thrown: Throw) -> Throw {
    let _scope = t.scope();
    let cause = t.root(t.take_pending(thrown));
    match summary(t, cause) {
        Ok(summary) => t.store_root(klass.inst().init_error, summary.get()),
        Err(thrown) => {
            t.take_pending(thrown);
        }
    }
    let is_error = t.klass_of(cause.get()).is_subtype_of(t.vm.known.classes.error());
    match is_error {
        true => t.throw_object(cause.get()),
        false => wrap(t, cause),
    }
}

/// An `ExceptionInInitializerError` with text and stack trace of a throwable, but without the throwable, which
/// would keep alive all objects that it refers to.
fn summary(t: &JavaThread, cause: Handle) -> JResult<Handle> {
    let fields = &t.vm.known.fields;
    let message = t.load_ref(cause.get(), fields.throwable_message());
    let message = match message.is_null() {
        true => String::new(),
        false => format!(": {}", strings::to_text(t, message)),
    };
    let class = t.klass_of(cause.get()).java_name();
    let thread = strings::name_of_thread(t, t.thread_object.get());
    let text = format!("Exception {class}{message} [in thread \"{thread}\"]");
    let summary = errors::new_throwable(t, "java/lang/ExceptionInInitializerError", Some(&text))?;
    let descriptor = "()[Ljava/lang/StackTraceElement;";
    let trace = super::call::call_virtual(t, cause, "getStackTrace", descriptor, &[])?;
    let trace = ObjectRef::from_address(trace as usize);
    t.store_ref(summary.get(), fields.throwable_stack_trace(), trace);
    t.store_ref(summary.get(), fields.throwable_backtrace(), ObjectRef::NULL);
    Ok(summary)
}

/// `new ExceptionInInitializerError(cause)`.
fn wrap(t: &JavaThread, cause: Handle) -> Throw {
    let name = Symbol::of("java/lang/ExceptionInInitializerError");
    let made = super::lookup::load_class(t, t.vm.boot_loader, name).and_then(|klass| {
        initialize(t, klass)?;
        let error = super::allocate::new_instance(t, klass)?;
        let error = t.root(error);
        let constructor = super::call::find(klass, "<init>", "(Ljava/lang/Throwable;)V");
        let arguments = [error.get().address() as u64, cause.get().address() as u64];
        t.call(constructor, &arguments)?;
        Ok(error)
    });
    match made {
        Ok(error) => t.throw_object(error.get()),
        Err(thrown) => thrown,
    }
}

/// Step 5: the class failed before.
fn not_initializable(t: &JavaThread, klass: KlassRef) -> Throw {
    let _scope = t.scope();
    let message = format!("Could not initialize class {}", klass.java_name());
    let cause = t.root(t.load_root(klass.inst().init_error));
    let class_name = "java/lang/NoClassDefFoundError";
    match cause.get() == ObjectRef::NULL {
        true => errors::throw_new(t, class_name, Some(&message)),
        false => errors::throw_with_cause(t, class_name, Some(&message), cause),
    }
}
