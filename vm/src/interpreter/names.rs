//! Methods and types as Java programmers write them, for messages.

use crate::classfile::{BasicType, FieldType, MethodDescriptor, descriptor};
use crate::runtime::MethodRef;
use crate::symbol::Symbol;

/// `abstract void m(int, java.lang.String)`: modifiers, result, name and parameters without the class.
pub fn method_with_flags(method: MethodRef) -> String {
    let flags = method.flags();
    let mut text = String::new();
    for (is_set, name) in [
        (flags.is_public(), "public "),
        (flags.is_private(), "private "),
        (flags.is_protected(), "protected "),
        (flags.is_static(), "static "),
        (flags.is_final(), "final "),
        (flags.is_native(), "native "),
        (flags.is_abstract(), "abstract "),
    ] {
        if is_set {
            text.push_str(name);
        }
    }
    let descriptor = MethodDescriptor::of(method.descriptor());
    let name = method.name();
    format!("{text}{} {name}({})", type_name(descriptor.result), parameters(&descriptor))
}

/// `void p.C.m(int)` of a descriptor.
pub fn method_of_class(class_name: Symbol, name: Symbol, of: Symbol) -> String {
    let parsed = MethodDescriptor::of(of);
    let class_name = descriptor::external_name(class_name);
    format!("{} {class_name}.{name}({})", type_name(parsed.result), parameters(&parsed))
}

/// `p.C.m(int)`: without the result.
pub fn method_without_result(class_name: Symbol, name: Symbol, of: Symbol) -> String {
    let parsed = MethodDescriptor::of(of);
    format!("{}.{name}({})", descriptor::external_name(class_name), parameters(&parsed))
}

/// `int`, `java.lang.String[]`.
pub fn type_name(ty: FieldType<'_>) -> String {
    let dimensions = ty.text.iter().take_while(|letter| **letter == b'[').count();
    let element = &ty.text[dimensions..];
    let base = match BasicType::from_letter(element[0]).and_then(BasicType::java_name) {
        Some(name) => name.to_string(),
        None => String::from_utf8_lossy(&element[1..element.len() - 1]).replace('/', "."),
    };
    base + &"[]".repeat(dimensions)
}

fn parameters(descriptor: &MethodDescriptor<'_>) -> String {
    descriptor.parameters().map(type_name).collect::<Vec<_>>().join(", ")
}
