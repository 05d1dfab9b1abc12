//! Classes of events: finding them when they are loaded, and making them work.
//!
//! HotSpot adds members to such a class when it is loaded, and changes its methods when the first recording needs it.
//! Loaded classes cannot be changed here, so methods get their code at once: the class library writes it
//! (`jdk.jfr.internal.JVMUpcalls`). This also makes the class of the handler.
//!
//! Events of the JDK outside of the module `jdk.jfr` (subclasses of `jdk.internal.event.Event`) may be loaded by every
//! program. Before there is a recorder they only get the members, and then never occur.

use super::schema;
use crate::java::objects;
use crate::loading::call;
use crate::loading::errors::describe;
use crate::machine::JavaThread;
use crate::runtime::{JResult, KlassRef, LoaderData};
use classfile::symbol::Symbol;
use classfile::{AccessFlags, ClassFile};
use gc::object::ObjectRef;
use gc::object::log::LogLevel;
use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The classes of events of a VM.
#[derive(Default)]
pub struct EventClasses {
    /// `jdk.internal.event.Event`, from which all descend.
    base: OnceLock<KlassRef>,
    /// `jdk.jfr.Event`: that of classes outside of the JDK.
    public_base: OnceLock<KlassRef>,
    /// By number of the class.
    all: RwLock<FxHashMap<u32, Known>>,
    /// One of them registers itself. Relaxed: it is set before the class is seen by any other thread.
    some_register: AtomicBool,
    extended: AtomicU64,
}

struct Known {
    klass: KlassRef,
    type_id: u64,
    /// The class is registered when it is initialized.
    registers: bool,
}

/// A class that was changed while it is loaded.
pub struct Extended {
    pub bytes: Vec<u8>,
    type_id: u64,
    registers: bool,
}

impl EventClasses {
    /// What becomes of a class that is being loaded. `parent` is its superclass. `None`: it is none of events, or stays
    /// as it is. A safepoint, and it runs Java code.
    pub(super) fn extend(
        &self,
        t: &JavaThread,
        file: &ClassFile,
        parent: KlassRef,
        bytes: &[u8],
    ) -> Option<Extended> {
        let base = self.base.get()?;
        if !parent.is_subtype_of(base) || file.access_flags.is_abstract() {
            return None;
        }
        let is_public = self.public_base.get().is_some_and(|base| parent.is_subtype_of(base));
        let handler = if is_public { HANDLER } else { "Ljava/lang/Object;" };
        let bytes = schema::extend(file, bytes, handler)?;
        let type_id = FIRST_EVENT_ID + self.extended.fetch_add(1, Ordering::Relaxed);
        let registers = is_public && is_registered(file, parent);
        let bytes =
            match (is_public || t.vm.recorder.is_created()).then(Instrumenting::enter).flatten() {
                Some(_instrumenting) => instrumented(t, type_id, parent, &bytes).unwrap_or(bytes),
                None => bytes,
            };
        Some(Extended { bytes, type_id, registers })
    }

    /// A class was loaded.
    pub(super) fn note(&self, klass: KlassRef, extended: Option<Extended>) {
        if let Some(Extended { type_id, registers, .. }) = extended {
            self.some_register.fetch_or(registers, Ordering::Relaxed);
            self.all.write().insert(klass.serial, Known { klass, type_id, registers });
        } else if klass.loader.is_boot() {
            match klass.name.bytes() {
                BASE => _ = self.base.set(klass),
                PUBLIC_BASE => _ = self.public_base.set(klass),
                _ => {}
            }
        }
    }

    /// Classes were unloaded.
    pub(super) fn forget_unloaded(&self) {
        self.all.write().retain(|_, known| !known.klass.holder.is_dead());
    }

    /// A class is being initialized: registers it if it is one of events that are to be. A safepoint, and it runs Java
    /// code.
    pub(super) fn register(&self, t: &JavaThread, klass: KlassRef) -> JResult<()> {
        let registers = self.some_register.load(Ordering::Relaxed)
            && self.all.read().get(&klass.serial).is_some_and(|known| known.registers);
        if !registers {
            return Ok(());
        }
        let recorder = objects::boot_class(t, "jdk/jfr/FlightRecorder")?;
        let mirror = t.mirror(klass).address() as u64;
        call::call_static(t, recorder, "register", "(Ljava/lang/Class;)V", &[mirror])?;
        Ok(())
    }

    /// The number of a class as a type.
    pub(super) fn type_id(&self, klass: KlassRef) -> u64 {
        let known = self.all.read().get(&klass.serial).map(|known| known.type_id);
        known.unwrap_or(FIRST_ID + u64::from(klass.serial))
    }

    /// Those that are initialized.
    pub(super) fn initialized(&self) -> Vec<KlassRef> {
        let all = self.all.read();
        all.values().map(|known| known.klass).filter(|klass| klass.is_initialized()).collect()
    }

    /// The object that has been set as the handler of a class. No safepoint.
    pub(super) fn handler(&self, t: &JavaThread, klass: KlassRef) -> ObjectRef {
        match handler_offset(klass) {
            Some(offset) => t.load_ref(t.mirror(klass), offset),
            None => ObjectRef::NULL,
        }
    }

    /// `false`: the class has no place for a handler. No safepoint.
    pub(super) fn set_handler(&self, t: &JavaThread, klass: KlassRef, handler: ObjectRef) -> bool {
        let offset = handler_offset(klass);
        offset.inspect(|offset| t.store_ref(t.mirror(klass), *offset, handler)).is_some()
    }
}

/// `jdk.jfr.Event` declares its methods final, so that programs do not override what subclasses get here.
pub(super) fn open_base(file: &mut ClassFile, loader: &LoaderData) {
    if loader.is_boot() && file.name.bytes() == PUBLIC_BASE {
        for method in &mut file.methods {
            method.access_flags.remove(AccessFlags::FINAL);
        }
    }
}

fn handler_offset(klass: KlassRef) -> Option<usize> {
    let field =
        klass.fields().iter().find(|field| field.name().bytes() == schema::HANDLER.as_bytes())?;
    let is_ours = field.is_static()
        && [HANDLER, "Ljava/lang/Object;"].map(Symbol::of).contains(&field.descriptor());
    is_ours.then_some(field.offset as usize)
}

/// The class with the code of its methods. `None`: there is none, which the log says.
fn instrumented(t: &JavaThread, type_id: u64, parent: KlassRef, bytes: &[u8]) -> Option<Vec<u8>> {
    let _scope = t.scope();
    let make = || -> JResult<Vec<u8>> {
        let upcalls = objects::boot_class(t, "jdk/jfr/internal/JVMUpcalls")?;
        let method =
            call::find(upcalls, "bytesForEagerInstrumentation", "(JZLjava/lang/Class;[B)[B");
        let bytes = t.root(objects::byte_array(t, Some(bytes))?);
        // Whether a recording runs makes no difference: the class cannot be changed later.
        let is_forced = 1;
        let [parent, bytes] = [t.mirror(parent), bytes.get()].map(|object| object.address() as u64);
        let new = ObjectRef::from_address(
            t.call(method, &[type_id, 0, is_forced, parent, bytes])? as usize
        );
        Ok(if new.is_null() { Vec::new() } else { objects::bytes_of(new) })
    };
    match make() {
        Ok(new) => (!new.is_empty()).then_some(new),
        Err(thrown) => {
            let message = format!("no instrumentation of an event class: {}", describe(t, thrown));
            super::log(t, LogLevel::Warning, &message);
            None
        }
    }
}

/// The value of the annotation `@Registered`, which is inherited; true where no class has it.
fn is_registered(file: &ClassFile, parent: KlassRef) -> bool {
    let above = std::iter::successors(Some(parent), |klass| klass.super_klass);
    let files =
        std::iter::once(file).chain(above.filter_map(|klass| Some(&klass.instance()?.file)));
    files.into_iter().find_map(annotated).unwrap_or(true)
}

/// The value of a class's own annotation `@Registered`.
fn annotated(file: &ClassFile) -> Option<bool> {
    let bytes = file.annotations.visible.as_deref()?;
    let u16_at = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let mut at = 2;
    for _ in 0..u16_at(0)? {
        let ty = file.constant_pool.utf8(u16_at(at)?)?;
        let pairs = u16_at(at + 2)?;
        at += 4;
        let mut value = true;
        for _ in 0..pairs {
            at += 2;
            if *bytes.get(at)? == b'Z'
                && let classfile::CpEntry::Integer(number) =
                    file.constant_pool.entry(u16_at(at + 1)?)
            {
                value = number != 0;
            }
            at = value_end(bytes, at, 0)?;
        }
        if ty.bytes() == b"Ljdk/jfr/Registered;" {
            return Some(value);
        }
    }
    None
}

/// The offset behind an element value (JVMS 4.7.16.1).
fn value_end(bytes: &[u8], at: usize, depth: usize) -> Option<usize> {
    let u16_at = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    if depth > VALUE_DEPTH_MAX {
        return None;
    }
    match *bytes.get(at)? {
        b'e' => Some(at + 5),
        b'@' => {
            let mut end = at + 5;
            for _ in 0..u16_at(at + 3)? {
                end = value_end(bytes, end + 2, depth + 1)?;
            }
            Some(end)
        }
        b'[' => {
            let mut end = at + 3;
            for _ in 0..u16_at(at + 1)? {
                end = value_end(bytes, end, depth + 1)?;
            }
            Some(end)
        }
        _ => Some(at + 3),
    }
}

/// Held while this thread runs the class library's instrumentation: classes of events that it loads itself get no code.
struct Instrumenting;

impl Instrumenting {
    fn enter() -> Option<Instrumenting> {
        (!RUNS.replace(true)).then_some(Instrumenting)
    }
}

impl Drop for Instrumenting {
    fn drop(&mut self) {
        RUNS.set(false);
    }
}

thread_local! {
    static RUNS: Cell<bool> = const { Cell::new(false) };
}

const BASE: &[u8] = b"jdk/internal/event/Event";
const PUBLIC_BASE: &[u8] = b"jdk/jfr/Event";
const HANDLER: &str = "Ljdk/jfr/internal/handlers/EventHandler;";

/// Types below are those of the layout.
const FIRST_ID: u64 = 500;
const FIRST_EVENT_ID: u64 = FIRST_ID + (1 << 32);

/// Values nested deeper than any compiler writes them.
const VALUE_DEPTH_MAX: usize = 64;
