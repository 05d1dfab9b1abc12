//! Resolved constants of one class.
//!
//! The class file's pool stays as it is; in addition there is one [`Resolved`] per index. An entry changes from
//! empty to resolved once and never again (JVMS 5.4.3); failed resolutions are kept and thrown again.

use super::klass::KlassRef;
use super::method::MethodRef;
use super::root_table::RootTable;
use classfile::{ConstantPool, CpEntry};
use gc::object::RootSlot;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The resolution state of every constant of one class.
pub struct RuntimePool {
    entries: Box<[Resolved]>,
    /// Objects: strings, method handles, method types, dynamic constants, appendices. Encoded slots, roots.
    objects: &'static [RootSlot],
    /// Index into `objects` by constant index; [`NO_OBJECT`] for entries that are no objects.
    object_index: Box<[u16]>,
    /// Failed resolutions: the throwable to throw again.
    errors: Mutex<FxHashMap<u32, &'static RootSlot>>,
}

/// Two words, written value first, tag last (release), read tag first (acquire).
#[derive(Default)]
pub struct Resolved {
    /// 0: not resolved. Otherwise a pointer: `Klass`, `Field` or `Method` by the kind of the entry.
    pointer: AtomicUsize,
    /// Extra bits, the resolver's and interpreter's own (access already checked, vtable index, ...).
    extra: AtomicU64,
}

/// One `invokedynamic` instruction. Each links by itself.
pub struct CallSite {
    pub pool_index: u16,
    /// The place of the instruction: sites are in this order.
    pub method_slot: u32,
    pub bci: u32,
    /// The adapter to call (a static method of a LambdaForm class), 0 before linking.
    pub adapter: AtomicUsize,
    /// Its extra trailing argument, may be null.
    pub appendix: &'static RootSlot,
    /// Where the site does nothing but make an object, as for lambdas that capture: the constructor, else 0. Set
    /// before the adapter.
    pub constructor: AtomicUsize,
    pub error: &'static RootSlot,
}

pub const NO_OBJECT: u16 = u16::MAX;

impl CallSite {
    /// One that is not linked, of a class whose loader has these roots.
    pub fn new(pool_index: u16, method_slot: u32, bci: u32, roots: &mut RootTable) -> CallSite {
        CallSite {
            pool_index,
            method_slot,
            bci,
            adapter: AtomicUsize::new(0),
            appendix: roots.take(),
            constructor: AtomicUsize::new(0),
            error: roots.take(),
        }
    }
}

impl RuntimePool {
    /// Of a class whose loader has these roots.
    pub fn new(pool: &ConstantPool, roots: &mut RootTable) -> RuntimePool {
        let mut count = 0u16;
        let object_index = pool
            .entries()
            .iter()
            .map(|entry| match entry {
                CpEntry::String { .. }
                | CpEntry::MethodHandle { .. }
                | CpEntry::MethodType { .. }
                | CpEntry::Dynamic { .. }
                // Signature-polymorphic calls keep their appendix here.
                | CpEntry::Methodref { .. } => {
                    count += 1;
                    count - 1
                }
                _ => NO_OBJECT,
            })
            .collect();
        RuntimePool {
            entries: (0..pool.len()).map(|_| Resolved::default()).collect(),
            objects: roots.take_together(count.into()),
            object_index,
            errors: Mutex::default(),
        }
    }

    #[inline]
    pub fn entry(&self, index: u16) -> &Resolved {
        &self.entries[index as usize]
    }

    /// The slot of an entry that is an object (or the appendix of a method reference).
    #[inline]
    pub fn object(&self, index: u16) -> &'static RootSlot {
        &self.objects[self.object_index[index as usize] as usize]
    }

    /// The slot that keeps the error of a failed resolution, if there was one. `key` is the constant's index,
    /// or another number that the caller keeps apart (call sites).
    pub fn error(&self, key: u32) -> Option<&'static RootSlot> {
        self.errors.lock().get(&key).copied()
    }

    /// The slot to keep an error in, made empty if there was none: one of `roots`, those of the class's loader.
    pub fn error_slot(&self, key: u32, roots: &Mutex<RootTable>) -> &'static RootSlot {
        let mut errors = self.errors.lock();
        errors.entry(key).or_insert_with(|| roots.lock().take())
    }
}

impl Resolved {
    #[inline]
    pub fn klass(&self) -> Option<KlassRef> {
        // SAFETY: `set_klass` stored a KlassRef; the entry's kind never changes.
        unsafe { (self.pointer.load(Ordering::Acquire) as *const super::klass::Klass).as_ref() }
    }

    pub fn set_klass(&self, klass: KlassRef) {
        self.pointer.store(std::ptr::from_ref(klass) as usize, Ordering::Release)
    }

    #[inline]
    pub fn field(&self) -> Option<&'static super::klass::Field> {
        // SAFETY: as in `klass`, by `set_field`.
        unsafe { (self.pointer.load(Ordering::Acquire) as *const super::klass::Field).as_ref() }
    }

    pub fn set_field(&self, field: &'static super::klass::Field) {
        self.pointer.store(std::ptr::from_ref(field) as usize, Ordering::Release)
    }

    #[inline]
    pub fn method(&self) -> Option<MethodRef> {
        // SAFETY: as in `klass`, by `set_method`.
        unsafe { (self.pointer.load(Ordering::Acquire) as *const super::method::Method).as_ref() }
    }

    pub fn set_method(&self, method: MethodRef) {
        self.pointer.store(std::ptr::from_ref(method) as usize, Ordering::Release)
    }

    #[inline]
    pub fn is_resolved(&self) -> bool {
        self.pointer.load(Ordering::Acquire) != 0
    }

    #[inline]
    pub fn extra(&self) -> u64 {
        self.extra.load(Ordering::Acquire)
    }

    pub fn set_extra(&self, extra: u64) {
        self.extra.store(extra, Ordering::Release)
    }
}
