//! Making classes from bytes (JVMS 5.3.5).

use super::modules::ModuleRef;
use super::{class_memory, constraints, create, errors, holders, lookup};
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, KlassRef, LoaderData, MethodRef};
use classfile::descriptor::package_of;
use classfile::symbol::{Scope, Symbol};
use classfile::{AccessFlags, ClassFile, ParseOptions};
use gc::object::log::{LogLevel, LogLine};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// The options of a definition.
#[derive(Default)]
pub struct DefineOptions {
    /// The name that the class must have; anything when `None`.
    pub expected_name: Option<Symbol>,
    pub protection_domain: Option<Handle>,
    /// The source of the class, for `-verbose:class`.
    pub source: Option<String>,
    /// `Lookup.defineHiddenClass`.
    pub hidden: Option<HiddenOptions>,
}

/// A hidden class (JEP 371).
pub struct HiddenOptions {
    /// The lookup class.
    pub host: KlassRef,
    pub is_nestmate: bool,
    /// Lives as long as the loader: `ClassOption.STRONG`.
    pub is_strong: bool,
    pub class_data: Option<Handle>,
}

/// Parses and defines a class with its supertypes; the class is loaded, not linked. A safepoint.
pub fn define_class(
    t: &JavaThread,
    loader: &'static LoaderData,
    bytes: &[u8],
    options: DefineOptions,
) -> JResult<KlassRef> {
    let _names = Scope::new();
    match options.hidden {
        // No other definition can have its name.
        Some(_) => define(t, loader, bytes, options),
        None => lookup::with_lock(t, loader, || define(t, loader, bytes, options)),
    }
}

fn define(
    t: &JavaThread,
    loader: &'static LoaderData,
    bytes: &[u8],
    options: DefineOptions,
) -> JResult<KlassRef> {
    let transformed = match options.hidden {
        Some(_) => None,
        None => {
            let (name, domain) = (options.expected_name, options.protection_domain);
            t.vm.agents.transform(t, loader, name, domain, bytes)
        }
    };
    let bytes = transformed.as_deref().unwrap_or(bytes);
    let is_trusted = loader.is_boot() || t.vm.known.is_platform_loader(loader);
    let parse = ParseOptions {
        expected_name: options.expected_name,
        is_hidden: options.hidden.is_some(),
        check_format: !is_trusted,
        any_names: false,
        enable_preview: t.vm.options.enable_preview,
    };
    let mut file = match ClassFile::parse(bytes, &parse) {
        Ok(file) => file,
        Err(error) => return Err(errors::bad_class_file(t, &error)),
    };
    let own_name = file.name;
    if options.hidden.is_some() {
        // A definer may define one template under many names.
        file.rename(hidden_name(options.expected_name.unwrap_or(own_name)));
    } else if let Some(duplicate) = loader.find(own_name) {
        return already_there(t, loader, duplicate);
    }
    if !loader.is_boot() && file.name.bytes().starts_with(b"java/") && !is_trusted {
        let package = lookup::dotted(file.name);
        let package = package.rsplit_once('.').map_or("", |(package, _)| package);
        let message = format!(
            "Class loader (instance of): {} tried to load prohibited package name: {package}",
            lookup::describe(t, loader),
        );
        return errors::fail(t, "java/lang/SecurityException", &message);
    }
    let _being_defined = match BeingDefined::enter(loader, own_name) {
        Some(guard) => guard,
        None => {
            let name = own_name.text();
            return errors::fail(t, "java/lang/ClassCircularityError", &name);
        }
    };
    let super_klass = load_super(t, loader, &file)?;
    let mut event = None;
    if options.hidden.is_none() {
        event = t.vm.recorder.extend(t, loader, &mut file, super_klass, bytes);
        if let Some(extended) = &event {
            file = match ClassFile::parse(&extended.bytes, &parse) {
                Ok(file) => file,
                Err(error) => return Err(errors::bad_class_file(t, &error)),
            };
        }
    }
    let holder = match &options.hidden {
        Some(hidden) if !hidden.is_strong => t.vm.holders.of_hidden_class(),
        _ => loader.holder,
    };
    holder.charge(match loader.is_boot() {
        true => t.vm.class_memory.add_boot(bytes.len()),
        false => class_memory::reserve(t, bytes.len())?,
    });
    check_finals(t, loader, &file, super_klass)?;
    let interfaces = load_interfaces(t, loader, &file)?;
    let is_hidden = options.hidden.is_some();
    let class_data = options.hidden.as_ref().and_then(|hidden| hidden.class_data);
    let parts = create::Parts {
        file,
        loader,
        holder,
        super_klass,
        interfaces,
        is_hidden,
        protection_domain: options.protection_domain,
        class_data,
    };
    let klass = create::create(t, parts)?;
    t.vm.recorder.note_class(klass, event);
    if let Some(hidden) = options.hidden.filter(|hidden| hidden.is_nestmate) {
        let host = super::nest::host(t, hidden.host)?;
        holders::depend(t, klass.holder, host);
        klass.inst().nest_host.get_or_init(|| host);
    }
    if !is_hidden {
        match t.vm.constraints.record(loader, klass) {
            Ok(recorded) if recorded == klass => {}
            Ok(recorded) => return already_there(t, loader, recorded),
            Err(other) => {
                let message = constraints::refused(t, loader, klass, other);
                return errors::fail(t, "java/lang/LinkageError", &message);
            }
        }
    }
    loader.defined.write().push(klass);
    if t.vm.options.log.wants_classes() {
        let message = format!("{} source: {}", klass.java_name(), source(t, klass, options.source));
        let line = LogLine { level: LogLevel::Info, tags: "class,load", message: &message };
        t.vm.options.log.line(line);
    }
    Ok(klass)
}

/// Where a class is from, as `java` says it: the place that its definer gives, or its module in the JDK.
fn source(t: &JavaThread, klass: KlassRef, given: Option<String>) -> String {
    let module = t.vm.modules.named_module_of(klass).map(|module| module.name.to_string());
    match (given, module) {
        (Some(given), _) => given,
        (None, Some(module)) => format!("jrt:/{module}"),
        // Before there are modules.
        (None, None) if t.vm.init_level() < 2 => "jrt:/java.base".into(),
        (None, None) => "__JVM_DefineClass__".into(),
    }
}

/// Another thread was faster (boot loader), or the loader defines the name again.
fn already_there(
    t: &JavaThread,
    loader: &'static LoaderData,
    klass: KlassRef,
) -> JResult<KlassRef> {
    if loader.is_boot() {
        return Ok(klass);
    }
    let message = format!(
        "loader {} attempted duplicate {} definition for {}. ({} is in {})",
        lookup::describe(t, loader),
        if klass.is_interface() { "interface" } else { "class" },
        klass.java_name(),
        klass.java_name(),
        super::messages::location_with_parent(t, klass),
    );
    errors::fail(t, "java/lang/LinkageError", &message)
}

fn load_super(
    t: &JavaThread,
    loader: &'static LoaderData,
    file: &ClassFile,
) -> JResult<Option<KlassRef>> {
    let Some(super_name) = file.super_name else {
        return Ok(None);
    };
    let parent = load_supertype(t, loader, super_name)?;
    let name = lookup::dotted(file.name);
    if parent.is_interface() {
        let message = format!("class {name} has interface {} as super class", parent.java_name());
        return errors::fail(t, "java/lang/IncompatibleClassChangeError", &message);
    }
    if parent.flags.is_final() {
        let message =
            format!("class {name} cannot inherit from final class {}", parent.java_name());
        return errors::fail(t, "java/lang/IncompatibleClassChangeError", &message);
    }
    check_super(t, loader, file, parent)?;
    Ok(Some(parent))
}

/// No method overrides a final one (JVMS 5.3.5).
fn check_finals(
    t: &JavaThread,
    loader: &'static LoaderData,
    file: &ClassFile,
    parent: Option<KlassRef>,
) -> JResult<()> {
    let above = std::iter::successors(parent, |klass| klass.super_klass);
    let is_overridable = |flags: AccessFlags| !flags.is_static() && !flags.is_private();
    let is_final = |m: &MethodRef| m.flags().is_final() && is_overridable(m.flags());
    let finals: Vec<MethodRef> =
        above.flat_map(|klass| klass.methods().iter().copied().filter(is_final)).collect();
    for method in file.methods.iter().filter(|m| is_overridable(m.access_flags)) {
        let is_same =
            |m: &&MethodRef| m.name() == method.name && m.descriptor() == method.descriptor;
        let Some(found) = finals.iter().find(is_same) else { continue };
        let holder = found.holder;
        let is_visible = !found.flags().is_package_private()
            || (std::ptr::eq(holder.loader, loader)
                && holder.package() == package_of(file.name.bytes()));
        if is_visible {
            let message = format!(
                "class {} overrides final method {}.{}{}",
                lookup::dotted(file.name),
                holder.java_name(),
                method.name,
                method.descriptor,
            );
            return errors::fail(t, "java/lang/IncompatibleClassChangeError", &message);
        }
    }
    Ok(())
}

fn load_interfaces(
    t: &JavaThread,
    loader: &'static LoaderData,
    file: &ClassFile,
) -> JResult<Box<[KlassRef]>> {
    let mut interfaces = Vec::with_capacity(file.interfaces.len());
    for name in file.interface_names() {
        let interface = load_supertype(t, loader, name)?;
        if !interface.is_interface() {
            let message = format!(
                "class {} can not implement {}, because it is not an interface ({} is in {} of loader {})",
                lookup::dotted(file.name),
                interface.java_name(),
                interface.java_name(),
                super::messages::module_text(t, interface),
                lookup::describe(t, interface.loader),
            );
            return errors::fail(t, "java/lang/IncompatibleClassChangeError", &message);
        }
        check_super(t, loader, file, interface)?;
        interfaces.push(interface);
    }
    Ok(interfaces.into_boxed_slice())
}

/// Modules and loaders of a class that is being made and of its supertype, for messages.
fn where_both_are(
    t: &JavaThread,
    name: &str,
    loader: &'static LoaderData,
    module: ModuleRef,
    parent: KlassRef,
) -> String {
    let module = match module {
        ModuleRef::Named(module) => format!("module {}", module.name),
        ModuleRef::Unnamed(_) => "unnamed module".into(),
    };
    let own = format!("{module} of loader {}", lookup::describe(t, loader));
    let parents = super::messages::module_and_loader(t, parent);
    let parent = parent.java_name();
    match own == parents {
        true => format!("{name} and {parent} are in {own}"),
        false => format!("{name} is in {own}; {parent} is in {parents}"),
    }
}

/// Accessible (JVMS 5.4.4) and, if sealed, permitting the class (JVMS 5.3.5).
fn check_super(
    t: &JavaThread,
    loader: &'static LoaderData,
    file: &ClassFile,
    parent: KlassRef,
) -> JResult<()> {
    let package = classfile::descriptor::package_of(file.name.bytes());
    let same_package = std::ptr::eq(parent.loader, loader) && parent.package() == package;
    // Generated accessors of reflection extend a class that no other class can.
    let is_magic = || super::access::is_magic(t, parent);
    let kind = if parent.is_interface() { "superinterface" } else { "superclass" };
    let module = || t.vm.modules.of_package(loader, package);
    let name = || lookup::dotted(file.name);
    if parent.package() == b"jdk/internal/reflect"
        && !parent.is_interface()
        && !may_extend_reflection(t, loader)
    {
        let message = format!(
            "class {} loaded by {} cannot access jdk/internal/reflect superclass {}",
            name(),
            lookup::describe(t, loader),
            parent.java_name(),
        );
        return errors::fail(t, "java/lang/IllegalAccessError", &message);
    }
    if !same_package && !parent.flags.contains(AccessFlags::PUBLIC) && !is_magic() {
        let message = format!(
            "class {} cannot access its {kind} {} ({})",
            name(),
            parent.java_name(),
            where_both_are(t, &name(), loader, module(), parent),
        );
        return errors::fail(t, "java/lang/IllegalAccessError", &message);
    }
    if let Err(why) = t.vm.modules.access_from(&module, &name, parent)
        && !is_magic()
    {
        let check = if parent.is_interface() { "check" } else { "access check" };
        let message = format!("{kind} {check} failed: {why}");
        return errors::fail(t, "java/lang/IllegalAccessError", &message);
    }
    let sealed = &parent.inst().file;
    if let Some(permitted) = &sealed.permitted_subclasses {
        let names = |index: &u16| sealed.constant_pool.class_name(*index) == Some(file.name);
        // Both in one module, and if the subclass is not public, in one package (JVMS 5.3.5).
        let is_near = t.vm.modules.is_in_module_of(loader, package, parent)
            && (same_package || file.access_flags.contains(AccessFlags::PUBLIC));
        if !is_near || !permitted.iter().any(names) {
            let message = format!(
                "class {} cannot {} sealed {} {}",
                lookup::dotted(file.name),
                match (parent.is_interface(), file.is_interface()) {
                    (true, true) => "extend",
                    (true, false) => "implement",
                    _ => "inherit from",
                },
                if parent.is_interface() { "interface" } else { "class" },
                parent.java_name(),
            );
            return errors::fail(t, "java/lang/IncompatibleClassChangeError", &message);
        }
    }
    Ok(())
}

/// Only the boot loader and the loaders of generated accessors may extend classes of `jdk.internal.reflect`.
fn may_extend_reflection(t: &JavaThread, loader: &'static LoaderData) -> bool {
    loader.is_boot()
        || t.klass_of(t.load_root(&loader.object)).name.bytes()
            == b"jdk/internal/reflect/DelegatingClassLoader"
}

/// A missing supertype is a `NoClassDefFoundError`.
fn load_supertype(t: &JavaThread, loader: &'static LoaderData, name: Symbol) -> JResult<KlassRef> {
    if BeingDefined::contains(loader, name) {
        return errors::fail(t, "java/lang/ClassCircularityError", &name.text());
    }
    lookup::load_named_class(t, loader, name)
}

/// `p/Name` becomes `p/Name+0x...`, unique in the VM.
fn hidden_name(name: Symbol) -> Symbol {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let suffix = format!("+0x{:016x}", HIDDEN_BASE + number * 0x400);
    Symbol::intern(&[name.bytes(), suffix.as_bytes()].concat())
}

const HIDDEN_BASE: u64 = 0x8_0000_0000;

thread_local! {
    static BEING_DEFINED: RefCell<Vec<(u32, Symbol)>> = const { RefCell::new(Vec::new()) };
}

/// Marks a name as being defined by this thread, to find circular supertypes.
struct BeingDefined;

impl BeingDefined {
    fn enter(loader: &LoaderData, name: Symbol) -> Option<BeingDefined> {
        if BeingDefined::contains(loader, name) {
            return None;
        }
        BEING_DEFINED.with_borrow_mut(|names| names.push((loader.id, name)));
        Some(BeingDefined)
    }

    fn contains(loader: &LoaderData, name: Symbol) -> bool {
        BEING_DEFINED.with_borrow(|names| names.contains(&(loader.id, name)))
    }
}

impl Drop for BeingDefined {
    fn drop(&mut self) {
        BEING_DEFINED.with_borrow_mut(|names| names.pop());
    }
}
