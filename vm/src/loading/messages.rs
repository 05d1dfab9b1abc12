//! The wording of linkage errors: names of methods, modules and loaders as `java` prints them.

use super::lookup;
use crate::machine::JavaThread;
use crate::runtime::{Klass, KlassKind, KlassRef, Method};
use classfile::descriptor::FieldType;
use classfile::symbol::Symbol;
use classfile::{BasicType, MethodDescriptor};

/// `'void a.B.c(int, java.lang.String[])'`, quotes included.
pub fn method_text(klass: &Klass, name: Symbol, descriptor: Symbol) -> String {
    let Some(parsed) = MethodDescriptor::parse(descriptor.bytes()) else {
        return format!("'{}.{name}{descriptor}'", klass.java_name());
    };
    let parameters: Vec<String> = parsed.parameters().map(type_text).collect();
    let result = type_text(parsed.result);
    format!("'{result} {}.{name}({})'", klass.java_name(), parameters.join(", "))
}

/// [`method_text`] of a method.
pub fn of_method(method: &Method) -> String {
    method_text(method.holder, method.name(), method.descriptor())
}

/// `int`, `java.lang.String[]`.
pub fn type_text(ty: FieldType<'_>) -> String {
    if let Some(name) = ty.basic.java_name() {
        return name.into();
    }
    let dimensions = ty.text.iter().take_while(|byte| **byte == b'[').count();
    let element = FieldType::parse(&ty.text[dimensions..]);
    let element = match element {
        Some(element) if element.basic == BasicType::Object => {
            element.class_name().map_or(String::new(), lookup::dotted)
        }
        Some(element) => element.basic.java_name().unwrap_or_default().into(),
        None => String::from_utf8_lossy(ty.text).into_owned(),
    };
    element + &"[]".repeat(dimensions)
}

/// `unnamed module` or `module java.base`. No safepoint.
pub fn module_text(t: &JavaThread, klass: KlassRef) -> String {
    let fields = &t.vm.known.fields;
    let module = t.load_ref(t.mirror(klass), fields.class_module());
    let name = match module.is_null() {
        true => return "module java.base".into(),
        false => t.load_ref(module, fields.module_name()),
    };
    match name.is_null() {
        true => "unnamed module".into(),
        false => format!("module {}", super::strings::to_text(t, name)),
    }
}

/// `unnamed module of loader 'app'`, `module java.base of loader 'bootstrap'`. No safepoint.
pub fn module_and_loader(t: &JavaThread, klass: KlassRef) -> String {
    let innermost = innermost(klass);
    let loader = lookup::describe(t, innermost.loader);
    format!("{} of loader {loader}", module_text(t, innermost))
}

/// As [`module_and_loader`], and for loaders other than the JDK's own `, parent loader 'app'`. No safepoint.
pub fn location_with_parent(t: &JavaThread, klass: KlassRef) -> String {
    let location = module_and_loader(t, klass);
    let loader = innermost(klass).loader;
    let known = &t.vm.known;
    if loader.is_boot() || known.is_platform_loader(loader) || known.is_system_loader(loader) {
        return location;
    }
    let parent = t.load_ref(t.load_root(&loader.object), known.fields.loader_parent());
    let parent = lookup::loader_data(t, parent);
    format!("{location}, parent loader {}", lookup::describe(t, parent))
}

/// `A and B are in unnamed module of loader 'app'`, or where each is. No safepoint.
pub fn joint_location(t: &JavaThread, one: KlassRef, other: KlassRef) -> String {
    let (first, second) = (module_and_loader(t, one), module_and_loader(t, other));
    let (one, other) = (one.java_name(), other.java_name());
    match first == second {
        true => format!("{one} and {other} are in {first}"),
        false => format!("{one} is in {first}; {other} is in {second}"),
    }
}

/// The type of an array's innermost elements, or the class itself.
pub fn innermost(mut klass: KlassRef) -> KlassRef {
    while let KlassKind::ObjectArray { component } = klass.kind {
        klass = component;
    }
    klass
}
