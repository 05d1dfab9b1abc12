//! Modules and packages as the VM knows them.
//!
//! The class library's `java.lang.Module` is the master; it reports every named module, read edge and export to
//! the VM (`JVM_DefineModule` and its kin), because access checks of the linker need them (JVMS 5.4.4). A class's
//! module follows from its loader and package: the named module that owns the package, else the unnamed module of
//! the loader. Until `java.base` is defined, everything may access everything, and classes have no `Module`
//! object; they get it then.

use crate::machine::JavaThread;
use crate::runtime::{KlassKind, KlassRef, LoaderData, object};
use classfile::symbol::{Kept, Scope, Symbol};
use gc::object::{ObjectRef, RootSlot};
use parking_lot::RwLock;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

/// All modules of one VM.
#[derive(Default)]
pub struct Modules {
    /// By id; `java.base` is the first.
    named: RwLock<BTreeMap<u32, &'static NamedModule>>,
    /// Of the last one.
    last_id: AtomicU32,
    /// Owner of each package, by the id of its loader and the package's internal name.
    /// The modules keep the names.
    packages: RwLock<FxHashMap<(u32, Symbol), &'static NamedModule>>,
    /// The `Module` object of the boot loader's unnamed module.
    boot_unnamed: RootSlot,
}

/// A named module. Lives as long as its loader.
pub struct NamedModule {
    /// From 1; the injected field of the `Module` object.
    pub id: u32,
    pub name: String,
    pub version: Option<String>,
    pub location: Option<String>,
    pub loader: &'static LoaderData,
    /// The `java.lang.Module` object: a root of the loader's holder.
    pub object: &'static RootSlot,
    is_open: bool,
    packages: FxHashSet<Kept>,
    reads: RwLock<Targets>,
    /// The modules that may use each exported package.
    exports: RwLock<FxHashMap<Symbol, Targets>>,
}

/// The module of a class, or of a `Module` object.
#[derive(Clone, Copy)]
pub enum ModuleRef {
    Named(&'static NamedModule),
    /// The unnamed module of a loader.
    Unnamed(&'static LoaderData),
}

/// A set of modules to which an access is granted.
#[derive(Default)]
struct Targets {
    everyone: bool,
    all_unnamed: bool,
    /// Named modules by id.
    named: FxHashSet<u32>,
    /// Unnamed modules by the id of their loader.
    unnamed: FxHashSet<u32>,
}

/// The parameters of `define`.
pub struct NewModule {
    pub name: String,
    pub version: Option<String>,
    pub location: Option<String>,
    pub is_open: bool,
    /// Internal names.
    pub packages: FxHashSet<Symbol>,
}

/// Why a module cannot be defined: the message of the `LayerInstantiationException`.
pub struct Conflict(pub String);

impl Modules {
    /// Defines a named module and ties it to its `Module` object. No safepoint.
    pub fn define(
        &self,
        t: &JavaThread,
        loader: &'static LoaderData,
        new: NewModule,
        object: ObjectRef,
    ) -> Result<(), Conflict> {
        let is_base = new.name == BASE;
        let mut named = self.named.write();
        let mut packages = self.packages.write();
        if named.values().any(|m| m.loader == loader && m.name == new.name) {
            return Err(Conflict(format!("Module {} is already defined", new.name)));
        }
        for package in &new.packages {
            if let Some(owner) = packages.get(&(loader.id, *package)) {
                return Err(Conflict(format!(
                    "Package {} is already in another module, {}, defined to the class loader",
                    package.text().replace('/', "."),
                    owner.name
                )));
            }
        }
        let module: &'static NamedModule = Box::leak(Box::new(NamedModule {
            id: self.last_id.fetch_add(1, Ordering::Relaxed) + 1,
            name: new.name,
            version: new.version,
            location: new.location,
            loader,
            object: loader.holder.roots.lock().take(),
            is_open: new.is_open,
            packages: new.packages.into_iter().map(Kept::new).collect(),
            reads: RwLock::default(),
            exports: RwLock::default(),
        }));
        t.store_root(module.object, object);
        object::put(object, t.vm.known.fields.module_id(), module.id as i32);
        packages.extend(module.packages.iter().map(|package| ((loader.id, package.get()), module)));
        named.insert(module.id, module);
        drop((named, packages));
        if is_base {
            self.give_module_to_early_classes(t, object);
        }
        Ok(())
    }

    /// Classes that were made before `java.base` was defined are all its own.
    fn give_module_to_early_classes(&self, t: &JavaThread, base: ObjectRef) {
        for klass in t.vm.klasses.iter(t.vm.heap.layouts().count()) {
            let mirror = t.mirror(klass);
            let at = t.vm.known.fields.class_module();
            if !mirror.is_null() && klass.loader.is_boot() && t.load_ref(mirror, at).is_null() {
                t.store_ref(mirror, at, base);
            }
        }
    }

    pub fn set_boot_unnamed(&self, t: &JavaThread, module: ObjectRef) {
        t.store_root(&self.boot_unnamed, module);
    }

    /// The module of a `Module` object; `None` for one that was never defined, for other objects and null. No
    /// safepoint.
    pub fn of_object(&self, t: &JavaThread, module: ObjectRef) -> Option<ModuleRef> {
        if module.is_null() || !t.klass_of(module).is_subtype_of(t.vm.known.classes.module()) {
            return None;
        }
        let id: i32 = object::get(module, t.vm.known.fields.module_id());
        if id != 0 {
            return Some(ModuleRef::Named(self.named.read()[&(id as u32)]));
        }
        let is_unnamed = t.load_ref(module, t.vm.known.fields.module_name()).is_null();
        is_unnamed.then(|| {
            let loader = t.load_ref(module, t.vm.known.fields.module_loader());
            ModuleRef::Unnamed(super::lookup::loader_data(t, loader))
        })
    }

    /// The module of the classes of a package of a loader.
    pub fn of_package(&self, loader: &'static LoaderData, package: &[u8]) -> ModuleRef {
        let _names = Scope::new();
        match self.packages.read().get(&(loader.id, Symbol::intern(package))) {
            Some(module) => ModuleRef::Named(module),
            None => ModuleRef::Unnamed(loader),
        }
    }

    /// The module of a class; that of the element type for arrays, `java.base` for primitive types.
    pub fn of_class(&self, klass: KlassRef) -> ModuleRef {
        match innermost(klass).kind {
            KlassKind::Instance(_) => self.of_package(klass.loader, klass.package()),
            _ => match self.named.read().values().next() {
                Some(base) => ModuleRef::Named(base),
                None => ModuleRef::Unnamed(klass.loader),
            },
        }
    }

    /// The named module of a class, for stack traces and messages.
    pub fn named_module_of(&self, klass: KlassRef) -> Option<&'static NamedModule> {
        match self.of_class(klass) {
            ModuleRef::Named(module) => Some(module),
            ModuleRef::Unnamed(_) => None,
        }
    }

    /// Whether a package of a loader is in the module of a class. Everything is until `java.base` is defined.
    pub fn is_in_module_of(
        &self,
        loader: &'static LoaderData,
        package: &[u8],
        klass: KlassRef,
    ) -> bool {
        !self.is_base_defined() || self.of_package(loader, package).is_same(self.of_class(klass))
    }

    /// The `java.lang.Module` object for a new class: the named module of the package, else the loader's unnamed
    /// module. Null before `java.base` is defined: classes loaded until then get theirs when it is. No safepoint.
    pub fn module_of(&self, t: &JavaThread, klass: KlassRef) -> ObjectRef {
        if !self.is_base_defined() {
            return ObjectRef::NULL;
        }
        match self.of_class(klass) {
            ModuleRef::Named(module) => t.load_root(module.object),
            ModuleRef::Unnamed(loader) => self.unnamed_object(t, loader),
        }
    }

    /// Once it is, it stays so.
    fn is_base_defined(&self) -> bool {
        !self.named.read().is_empty()
    }

    fn unnamed_object(&self, t: &JavaThread, loader: &'static LoaderData) -> ObjectRef {
        if loader.is_boot() {
            return t.load_root(&self.boot_unnamed);
        }
        let loader = t.load_root(&loader.object);
        t.load_ref(loader, t.vm.known.fields.loader_unnamed_module())
    }

    /// The module in which the boot loader looks for classes of a package: by the tables once `java.base` is
    /// defined; before that by the image, and only `java.base`.
    pub fn boot_module_of(&self, t: &JavaThread, package: &[u8]) -> Option<String> {
        if !self.is_base_defined() {
            return t.vm.image.module_of_package(package).filter(|module| module == BASE);
        }
        match self.of_package(t.vm.boot_loader, package) {
            ModuleRef::Named(module) => Some(module.name.clone()),
            ModuleRef::Unnamed(_) => None,
        }
    }

    /// Packages of the boot loader that named modules own, with the module's location.
    pub fn boot_packages(&self) -> Vec<(Symbol, Option<String>)> {
        let packages = self.packages.read();
        let of_boot = packages.iter().filter(|((loader, _), _)| *loader == 0);
        of_boot.map(|((_, package), module)| (*package, module.location.clone())).collect()
    }

    /// Whether the module of `to` is readable by that of `from` and exports the package to it (JLS 7.3,
    /// JVMS 5.4.4), on top of which `to` must be public.
    pub fn can_access(&self, from: KlassRef, to: KlassRef) -> bool {
        self.access(from, to).is_ok()
    }

    /// As `can_access`, with the reason that `IllegalAccessError` gives.
    pub fn access(&self, from: KlassRef, to: KlassRef) -> Result<(), String> {
        self.access_from(&|| self.of_class(from), &|| from.java_name(), to)
    }

    /// As `access`, for a class of this module and name that may not be made yet. Asks for the module only once
    /// `java.base` is defined: another thread may be defining it.
    pub fn access_from(
        &self,
        reader: &dyn Fn() -> ModuleRef,
        who: &dyn Fn() -> String,
        to: KlassRef,
    ) -> Result<(), String> {
        if !self.is_base_defined() {
            return Ok(());
        }
        let (reader, owner) = (reader(), self.of_class(to));
        if reader.is_same(owner) {
            return Ok(());
        }
        let can_read = reader.can_read(owner);
        if can_read && owner.exports(to.package(), reader) {
            return Ok(());
        }
        let t = JavaThread::current();
        let (reader, owner) = (reader.describe(t), owner.describe(t));
        let (who, what) = (who(), to.java_name());
        let why = if can_read {
            let package = String::from_utf8_lossy(to.package()).replace('/', ".");
            format!("{owner} does not export {package} to {reader}")
        } else {
            format!("{reader} does not read {owner}")
        };
        Err(format!(
            "class {who} (in {reader}) cannot access class {what} (in {owner}) because {why}"
        ))
    }

    /// The root of this table, for the collector; modules are roots of their loaders.
    pub fn visit_strong(&self, visit: &mut dyn FnMut(&RootSlot)) {
        visit(&self.boot_unnamed);
    }

    /// The modules of dead loaders (by their ids) go: takes them out of all tables. World stopped.
    pub fn forget(&self, loaders: &FxHashSet<u32>) -> Vec<&'static NamedModule> {
        let mut named = self.named.write();
        let dead: Vec<_> = named
            .extract_if(.., |_, module| loaders.contains(&module.loader.id))
            .map(|(_, module)| module)
            .collect();
        if !dead.is_empty() {
            self.packages.write().retain(|(loader, _), _| !loaders.contains(loader));
        }
        let modules: FxHashSet<u32> = dead.iter().map(|module| module.id).collect();
        for module in named.values() {
            module.reads.write().forget(loaders, &modules);
            module.exports.write().values_mut().for_each(|to| to.forget(loaders, &modules));
        }
        dead
    }
}

impl NamedModule {
    /// `module@version`, or `module` if it has no version.
    pub fn with_version(&self) -> String {
        let version = self.version.as_deref().map_or(String::new(), |v| format!("@{v}"));
        format!("{}{version}", self.name)
    }

    /// Lets this module read another one, or (`None`) every unnamed module.
    pub fn add_read(&self, other: Option<ModuleRef>) {
        let mut reads = self.reads.write();
        match other {
            Some(module) => reads.add(module),
            None => reads.all_unnamed = true,
        }
    }

    /// Whether everyone may use a package (internal name) of this module.
    pub fn exports_to_all(&self, package: &[u8]) -> bool {
        self.exports_where(package, |targets| targets.everyone)
    }

    /// Whether this module is open, or exports a package (internal name) to targets that are the wanted ones.
    fn exports_where(&self, package: &[u8], are_wanted: impl FnOnce(&Targets) -> bool) -> bool {
        if self.is_open {
            return true;
        }
        let _names = Scope::new();
        self.exports.read().get(&Symbol::intern(package)).is_some_and(are_wanted)
    }

    /// Exports a package (internal name) of this module. `false` when it has no such package.
    pub fn export(&self, package: Symbol, to: ExportTo) -> bool {
        if !self.packages.contains(&package) {
            return false;
        }
        let mut exports = self.exports.write();
        let targets = exports.entry(package).or_default();
        match to {
            ExportTo::Everyone => targets.everyone = true,
            ExportTo::AllUnnamed => targets.all_unnamed = true,
            ExportTo::Module(module) => targets.add(module),
        }
        true
    }
}

/// Whom a package is exported to.
#[derive(Clone, Copy)]
pub enum ExportTo {
    Everyone,
    AllUnnamed,
    Module(ModuleRef),
}

impl ModuleRef {
    pub fn is_same(self, other: ModuleRef) -> bool {
        match (self, other) {
            (ModuleRef::Named(a), ModuleRef::Named(b)) => a.id == b.id,
            (ModuleRef::Unnamed(a), ModuleRef::Unnamed(b)) => a == b,
            _ => false,
        }
    }

    fn can_read(self, other: ModuleRef) -> bool {
        match (self, other) {
            (ModuleRef::Unnamed(_), _) => true,
            (_, ModuleRef::Named(module)) if module.name == BASE => true,
            (ModuleRef::Named(reader), _) => reader.reads.read().contains(other),
        }
    }

    /// Whether a package of this module may be used by `reader`.
    fn exports(self, package: &[u8], reader: ModuleRef) -> bool {
        match self {
            ModuleRef::Unnamed(_) => true,
            ModuleRef::Named(owner) => {
                owner.exports_where(package, |to| to.everyone || to.contains(reader))
            }
        }
    }

    /// As messages name it: `module java.base`, `unnamed module @0x1b2c3d`.
    fn describe(self, t: &JavaThread) -> String {
        match self {
            ModuleRef::Named(module) => format!("module {}", module.name),
            ModuleRef::Unnamed(loader) => {
                let module = t.vm.modules.unnamed_object(t, loader);
                if module.is_null() {
                    return "unnamed module".into();
                }
                format!(
                    "unnamed module @0x{:x}",
                    crate::monitors::monitor::identity_hash(t, module)
                )
            }
        }
    }
}

impl Targets {
    fn forget(&mut self, loaders: &FxHashSet<u32>, modules: &FxHashSet<u32>) {
        self.named.retain(|module| !modules.contains(module));
        self.unnamed.retain(|loader| !loaders.contains(loader));
    }

    fn add(&mut self, module: ModuleRef) {
        match module {
            ModuleRef::Named(module) => self.named.insert(module.id),
            ModuleRef::Unnamed(loader) => self.unnamed.insert(loader.id),
        };
    }

    fn contains(&self, module: ModuleRef) -> bool {
        match module {
            ModuleRef::Named(module) => self.named.contains(&module.id),
            ModuleRef::Unnamed(loader) => self.all_unnamed || self.unnamed.contains(&loader.id),
        }
    }
}

/// The type of an array's innermost elements, or the class itself.
fn innermost(klass: KlassRef) -> KlassRef {
    let mut at = klass;
    while let Some(component) = at.component() {
        at = component;
    }
    at
}

const BASE: &str = "java.base";
