//! Resolved constants of one class.
//!
//! The class file's pool stays as it is; in addition there is one [`Resolved`] for each constant that is resolved to a
//! class or a member, and a root for each that is an object. An entry changes from empty to resolved once and never
//! again (JVMS 5.4.3); failed resolutions are kept and thrown again.

use super::klass::KlassRef;
use super::method::MethodRef;
use super::root_table::RootTable;
use classfile::{ConstantPool, CpEntry};
use gc::object::RootSlot;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The resolution state of every constant of one class.
pub struct RuntimePool {
    /// By constant index: the place in `entries`, or in `objects` if the constant is an object; [`NOTHING`] for the
    /// others, which are most.
    places: Box<[u16]>,
    entries: Box<[Resolved]>,
    /// Objects: strings, method handles, method types, dynamic constants, appendices. Encoded slots, roots.
    objects: &'static [RootSlot],
    /// Signature-polymorphic methods have an object, too, the appendix: index of the constant, place in `objects`.
    appendices: Box<[(u16, u16)]>,
    /// Dynamic constants whose value is null. Locked by those who find no object, rarely.
    nulls: Mutex<Vec<u16>>,
    /// Failed resolutions: the throwable to throw again.
    errors: Mutex<FxHashMap<u32, &'static RootSlot>>,
}

/// A class, field or method, once it is resolved.
#[derive(Default)]
pub struct Resolved {
    /// 0: not resolved. Otherwise a pointer: `Klass`, `Field` or `Method` by the kind of the entry.
    pointer: AtomicUsize,
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
    /// Where the appendix is a method handle: the method that calling it leads to, else 0. Set before the adapter. The
    /// library may give the handle another form, so code checks it.
    pub target: AtomicUsize,
    pub error: &'static RootSlot,
}

/// No place: a pool has at most 65,534 constants.
const NOTHING: u16 = u16::MAX;

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
            target: AtomicUsize::new(0),
            error: roots.take(),
        }
    }
}

impl RuntimePool {
    /// Of a class whose loader has these roots.
    pub fn new(pool: &ConstantPool, roots: &mut RootTable) -> RuntimePool {
        let (mut entries, mut objects) = (0u16, 0u16);
        let mut appendices = Vec::new();
        let next = |count: &mut u16| {
            *count += 1;
            *count - 1
        };
        let place = |(index, entry): (usize, CpEntry)| match entry {
            CpEntry::String { .. }
            | CpEntry::MethodHandle { .. }
            | CpEntry::MethodType { .. }
            | CpEntry::Dynamic { .. } => next(&mut objects),
            CpEntry::Class { .. } | CpEntry::Fieldref { .. } => next(&mut entries),
            CpEntry::Methodref { class_index, .. } if is_polymorphic(pool, class_index) => {
                appendices.push((index as u16, next(&mut objects)));
                next(&mut entries)
            }
            _ => NOTHING,
        };
        let places = pool.entries().enumerate().map(place).collect();
        RuntimePool {
            places,
            entries: (0..entries).map(|_| Resolved::default()).collect(),
            objects: roots.take_together(objects.into()),
            appendices: appendices.into(),
            nulls: Mutex::default(),
            errors: Mutex::default(),
        }
    }

    /// Of a class, a field, or a signature-polymorphic method.
    #[inline]
    pub fn entry(&self, index: u16) -> &Resolved {
        &self.entries[self.places[index as usize] as usize]
    }

    /// The slot of an entry that is an object (or the appendix of a method reference).
    #[inline]
    pub fn object(&self, index: u16) -> &'static RootSlot {
        let appendix = self.appendices.binary_search_by_key(&index, |(constant, _)| *constant);
        let place = match appendix {
            Ok(at) => self.appendices[at].1,
            Err(_) => self.places[index as usize],
        };
        &self.objects[place as usize]
    }

    /// Whether a dynamic constant was resolved to null.
    pub fn is_null(&self, index: u16) -> bool {
        self.nulls.lock().contains(&index)
    }

    /// A dynamic constant was resolved to null.
    pub fn set_null(&self, index: u16) {
        self.nulls.lock().push(index);
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
}

/// Whether methods of the class that a constant names may be signature-polymorphic (JVMS 2.9.3).
fn is_polymorphic(pool: &ConstantPool, class_index: u16) -> bool {
    let name = pool.class_name(class_index).map_or(&[][..], |name| name.bytes());
    matches!(name, b"java/lang/invoke/MethodHandle" | b"java/lang/invoke/VarHandle")
}
