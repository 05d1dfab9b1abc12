//! Classes at run time.
//!
//! A [`Klass`] is made once per class and loader: `&'static Klass` is the one way to name it. It lives until its
//! [`ClassHolder`] is reclaimed, when nothing names it any more (see `machine::unload`). Arrays and primitive types
//! have one too. The heap knows it by its [`KlassId`] and layout
//! only; `java.lang.Class` objects (mirrors) know it by that id.

use super::constants::Constant;
use super::field_placer::FieldPlacer;
use super::holder::ClassHolder;
use super::loader::LoaderData;
use super::method::Method;
use super::pool::RuntimePool;
use classfile::descriptor::package_of;
use classfile::symbol::{Kept, Symbol};
use classfile::{AccessFlags, BasicType, ClassFile, FieldInfo};
use gc::object::{KlassId, RootSlot};
use parking_lot::{Condvar, Mutex};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicUsize, Ordering};

/// How classes are named everywhere.
pub type KlassRef = &'static Klass;

/// A class, interface, array type or primitive type.
pub struct Klass {
    /// What the heap knows it by. When it is unloaded, another class may get the id.
    pub id: KlassId,
    /// Its number among all classes that ever were.
    pub serial: u32,
    /// Internal name (`java/lang/Object`, `[I`, `int`).
    pub name: Symbol,
    /// Keeps the name: no pool of constants may have that of an array type.
    #[expect(dead_code, reason = "it is an owner")]
    pub(crate) kept_name: Kept,
    /// The loader that defined it; for arrays the loader of the innermost element type, for primitives the boot
    /// loader.
    pub loader: &'static LoaderData,
    /// What keeps it: the loader's, or its own.
    pub holder: &'static ClassHolder,
    /// Flags of the class file; `Class.getModifiers` also looks into `InnerClasses`.
    pub flags: AccessFlags,
    pub super_klass: Option<KlassRef>,
    pub kind: KlassKind,
    /// The `java.lang.Class` object. Empty only while the VM starts.
    pub mirror: &'static RootSlot,
    /// The array type whose elements are of this type, once it was needed.
    pub array_of_this: OnceLock<KlassRef>,
    /// Classes from `java/lang/Object` (0) down to this one, the first [`DISPLAY`] of them.
    pub display: [Option<KlassRef>; DISPLAY],
    /// Number of superclasses; for arrays as if the direct superclass were `java/lang/Object`.
    pub depth: u32,
    /// All interfaces, direct and inherited, each once.
    pub all_interfaces: Box<[KlassRef]>,
    /// The last type that a slow subtype check found to be a supertype.
    pub(crate) super_cache: AtomicPtr<Klass>,
    pub vtable: OnceLock<Box<[&'static Method]>>,
    /// First entry of `vtable`, for compiled code; null before there is one.
    pub vtable_start: AtomicPtr<&'static Method>,
    /// One row per interface with methods.
    pub itable: OnceLock<Box<[ItableRow]>>,
    /// Of an array of references: the id of the type of its elements, one dimension down; else 0.
    pub component_id: u32,
    /// Aligned bytes of an instance; 0 where there are none.
    pub instance_bytes: u32,
    /// Declares or inherits a finalizer that is not empty.
    pub has_finalizer: bool,
    /// The class or one of its subclasses has a finalizer. Set before there is an instance of it, never reset; relaxed,
    /// since whoever has an instance has seen its class.
    pub(crate) may_be_finalized: AtomicBool,
}

/// The data of the different kinds of types.
pub enum KlassKind {
    /// A class or interface from a class file.
    Instance(Box<InstanceKlass>),
    /// `component` is the element type one dimension down.
    ObjectArray {
        component: KlassRef,
    },
    PrimitiveArray {
        element: BasicType,
    },
    /// `int`, `void`, ...: has only a mirror.
    Primitive(BasicType),
}

/// Methods with which a class implements one interface.
pub struct ItableRow {
    pub interface: KlassRef,
    /// By `Method::itable_index`. `None` where the class has no implementation (AbstractMethodError) .
    pub methods: Box<[Option<&'static Method>]>,
}

/// The data that only classes from class files have.
pub struct InstanceKlass {
    pub file: ClassFile,
    pub interfaces: Box<[KlassRef]>,
    /// In class file order: the index is the reflective `slot`. Set right after the `Klass` exists.
    pub methods: OnceLock<Box<[&'static Method]>>,
    pub fields: OnceLock<Box<[&'static Field]>>,
    pub pool: RuntimePool,
    pub state: AtomicU8,
    /// The thread that runs the static initializer (`JavaThread` address), or 0.
    pub init_thread: AtomicUsize,
    pub init_lock: Mutex<()>,
    pub init_done: Condvar,
    /// Taken by the thread that links the class; see `loading::link`.
    pub link_thread: AtomicUsize,
    /// The failure of the initialization, or null: the cause of later NoClassDefFoundErrors.
    pub init_error: &'static RootSlot,
    pub is_hidden: bool,
    /// Nest host as resolved; hidden nestmates have theirs set when defined.
    pub nest_host: OnceLock<KlassRef>,
    /// How the class descends from `java.lang.ref.Reference`.
    pub reference_kind: gc::object::layout::ReferenceKind,
    /// Has placed the instance fields, and places those of subclasses.
    pub placer: FieldPlacer,
    /// Byte offsets of all reference slots of instances that collectors trace, inherited ones included.
    pub refs: Box<[u32]>,
    /// Fields that the VM adds to classes of the library: name and byte offset.
    pub injected: Box<[(&'static str, u32)]>,
    /// Aligned bytes of the mirror, statics included.
    pub mirror_bytes: u32,
    /// Static reference slots, which lie first among the statics.
    pub static_refs: u32,
    /// One per `invokedynamic` instruction, by site number; made when the class is linked.
    pub call_sites: OnceLock<Box<[super::pool::CallSite]>>,
    /// The values of static final fields, by their slots; empty if there are none. Set before the class counts as
    /// initialized.
    pub constants: OnceLock<Box<[Option<Constant>]>>,
}

// SAFETY: everything mutable is atomic, locked, or written before the class is published.
unsafe impl Sync for InstanceKlass {}
// SAFETY: as above.
unsafe impl Send for InstanceKlass {}

/// A declared field.
pub struct Field {
    pub holder: KlassRef,
    pub info: &'static FieldInfo,
    pub ty: BasicType,
    /// Byte offset in the object, or in the mirror for statics.
    pub offset: u32,
    /// Index in the class file: the reflective `slot`.
    pub slot: u32,
    pub settling: Settling,
    /// Reflection or JNI has handed out a way to the field that can set it although it is final.
    pub is_exposed: AtomicBool,
}

/// When code that has read a field of an object need not read it again as long as it runs. JLS 17.5.3 allows it of all
/// final fields, but some programs set theirs by reflection and mean to see it at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Settling {
    Never,
    /// As long as only the constructor can set it.
    UntilExposed,
    /// Not even reflection sets it, or it is the class library's own.
    Always,
}

impl Field {
    /// Whether code that is being compiled may take a value that it has read from an object for settled. Any thread.
    pub fn is_settled(&self) -> bool {
        match self.settling {
            Settling::Never => false,
            Settling::UntilExposed => !self.is_exposed.load(Ordering::Relaxed),
            Settling::Always => true,
        }
    }

    /// From now on code other than the constructor may set the field. Any thread.
    pub fn expose(&self) {
        self.is_exposed.store(true, Ordering::Relaxed);
    }

    pub fn name(&self) -> Symbol {
        self.info.name
    }

    pub fn descriptor(&self) -> Symbol {
        self.info.descriptor
    }

    pub fn is_static(&self) -> bool {
        self.info.access_flags.is_static()
    }

    pub fn is_volatile(&self) -> bool {
        self.info.access_flags.is_volatile()
    }

    /// The value that the field keeps for good: of static final fields of initialized classes, with exceptions. Any
    /// thread.
    pub fn constant(&self) -> Option<&'static Constant> {
        let constants = self.holder.instance()?.constants.get()?;
        constants.get(self.slot as usize)?.as_ref()
    }
}

/// `InstanceKlass::state`, in the order in which a class passes through them (JVMS 5.5).
pub mod state {
    pub const LOADED: u8 = 0;
    pub const LINKED: u8 = 1;
    pub const INITIALIZING: u8 = 2;
    pub const INITIALIZED: u8 = 3;
    pub const FAILED: u8 = 4;
}

/// Depth of the superclass display.
pub const DISPLAY: usize = 8;

impl Klass {
    #[inline]
    pub fn instance(&self) -> Option<&InstanceKlass> {
        match &self.kind {
            KlassKind::Instance(instance) => Some(instance),
            _ => None,
        }
    }

    /// The class file part; panics for arrays and primitives.
    #[inline]
    pub fn inst(&self) -> &InstanceKlass {
        self.instance().unwrap_or_else(|| panic!("{} has no class file", self.name))
    }

    /// Sets the vtable, unless another thread has.
    pub fn set_vtable(&self, table: Box<[&'static Method]>) {
        let table = self.vtable.get_or_init(|| table);
        self.vtable_start.store(table.as_ptr().cast_mut(), Ordering::Release);
    }

    pub fn methods(&self) -> &'static [&'static Method] {
        let methods = self.instance().and_then(|i| i.methods.get()).map_or(&[][..], |m| &m[..]);
        // SAFETY: who has a KlassRef knows that its holder is not reclaimed, and then knows that of its methods.
        unsafe { std::mem::transmute::<&[&'static Method], &'static [&'static Method]>(methods) }
    }

    pub fn fields(&self) -> &'static [&'static Field] {
        let fields = self.instance().and_then(|i| i.fields.get()).map_or(&[][..], |f| &f[..]);
        // SAFETY: as in `methods`.
        unsafe { std::mem::transmute::<&[&'static Field], &'static [&'static Field]>(fields) }
    }

    #[inline]
    pub fn is_interface(&self) -> bool {
        self.flags.is_interface() && self.instance().is_some()
    }

    pub fn is_array(&self) -> bool {
        matches!(self.kind, KlassKind::ObjectArray { .. } | KlassKind::PrimitiveArray { .. })
    }

    pub fn is_primitive(&self) -> bool {
        matches!(self.kind, KlassKind::Primitive(_))
    }

    /// As `Class.isRecord` (JVMS 4.7.30).
    pub fn is_record(&self) -> bool {
        self.flags.is_final()
            && self.instance().is_some_and(|i| i.file.record.is_some())
            && self.super_klass.is_some_and(|of| of.name.bytes() == b"java/lang/Record")
    }

    pub fn is_hidden(&self) -> bool {
        self.instance().is_some_and(|i| i.is_hidden)
    }

    /// Whether code may use the class without running its initializer first.
    #[inline]
    pub fn is_initialized(&self) -> bool {
        self.instance().is_none_or(|i| i.state.load(Ordering::Acquire) == state::INITIALIZED)
    }

    #[inline]
    pub fn is_linked(&self) -> bool {
        self.instance().is_none_or(|i| i.state.load(Ordering::Acquire) >= state::LINKED)
    }

    /// The type of an array's elements one dimension down, as a class (also for primitive arrays: `None`).
    pub fn component(&self) -> Option<KlassRef> {
        match self.kind {
            KlassKind::ObjectArray { component } => Some(component),
            _ => None,
        }
    }

    /// Whether a value of this type can be assigned to `other` (JVMS 2.10, `instanceof`). No loading.
    #[inline]
    pub fn is_subtype_of(&'static self, other: KlassRef) -> bool {
        if std::ptr::eq(self, other) {
            return true;
        }
        let depth = other.depth as usize;
        if depth < DISPLAY && !other.flags.is_interface() {
            if let Some(at) = self.display[depth]
                && std::ptr::eq(at, other)
            {
                return true;
            }
            if !other.is_array() {
                return false;
            }
        }
        if std::ptr::eq(self.super_cache.load(Ordering::Relaxed), other) {
            return true;
        }
        let found = self.is_subtype_slow(other);
        if found {
            self.super_cache.store(std::ptr::from_ref(other).cast_mut(), Ordering::Relaxed);
        }
        found
    }

    fn is_subtype_slow(&'static self, other: KlassRef) -> bool {
        if other.is_interface() {
            return self.all_interfaces.iter().any(|i| std::ptr::eq(*i, other));
        }
        if let (Some(mine), Some(theirs)) = (self.component(), other.component()) {
            return mine.is_subtype_of(theirs);
        }
        let mut at = self.super_klass;
        while let Some(klass) = at {
            if std::ptr::eq(klass, other) {
                return true;
            }
            at = klass.super_klass;
        }
        false
    }

    /// A method declared by this very class.
    pub fn declared_method(&self, name: Symbol, descriptor: Symbol) -> Option<&'static Method> {
        self.methods().iter().copied().find(|m| m.name() == name && m.descriptor() == descriptor)
    }

    /// A method of this class or the nearest superclass, of any access; no interfaces.
    pub fn find_method(&self, name: Symbol, descriptor: Symbol) -> Option<&'static Method> {
        let mut at: Option<&Klass> = Some(self);
        while let Some(klass) = at {
            if let Some(method) = klass.declared_method(name, descriptor) {
                return Some(method);
            }
            at = klass.super_klass.map(|k| k as &Klass);
        }
        None
    }

    /// A field declared by this very class.
    pub fn declared_field(&self, name: Symbol, descriptor: Symbol) -> Option<&'static Field> {
        self.fields().iter().copied().find(|f| f.name() == name && f.descriptor() == descriptor)
    }

    /// Byte offset of a field that this very class of the library must have; panics with its name when it does not.
    pub fn offset_of(&self, name: &str, descriptor: &str) -> usize {
        let field = self.declared_field(Symbol::of(name), Symbol::of(descriptor));
        field.unwrap_or_else(|| panic!("no field {self:?}.{name}{descriptor}")).offset as usize
    }

    /// Field resolution (JVMS 5.4.3.2): this class, its superinterfaces, then its superclass.
    pub fn find_field(&self, name: Symbol, descriptor: Symbol) -> Option<&'static Field> {
        if let Some(field) = self.declared_field(name, descriptor) {
            return Some(field);
        }
        for interface in self.instance().map_or(&[][..], |i| &i.interfaces[..]) {
            if let Some(field) = interface.find_field(name, descriptor) {
                return Some(field);
            }
        }
        self.super_klass.and_then(|s| s.find_field(name, descriptor))
    }

    /// The package part of the name, `java/lang`; empty for the unnamed package.
    pub fn package(&self) -> &'static [u8] {
        package_of(self.name.bytes())
    }

    /// Same run-time package (JVMS 5.3): same name, same defining loader.
    pub fn same_package(&self, other: &Klass) -> bool {
        std::ptr::eq(self.loader, other.loader) && self.package() == other.package()
    }

    /// Name with dots, as `Class.getName` gives it.
    pub fn java_name(&self) -> String {
        java_name(self.name, self.is_hidden())
    }
}

impl PartialEq for Klass {
    fn eq(&self, other: &Klass) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Klass {}

impl std::fmt::Debug for Klass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.name)
    }
}

/// Dots for slashes; a hidden class keeps the slash before its suffix (`p.Name/0x1`), which the VM
/// stores as `+`.
pub fn java_name(name: Symbol, is_hidden: bool) -> String {
    let text = name.text().replace('/', ".");
    match text.rfind('+') {
        Some(at) if is_hidden => format!("{}/{}", &text[..at], &text[at + 1..]),
        _ => text,
    }
}
