//! Methods as Java programmers write them, for messages.

use crate::classfile::MethodDescriptor;
use crate::loading::messages::type_text;
use crate::runtime::MethodRef;

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
    format!("{text}{} {name}({})", type_text(descriptor.result), parameters(&descriptor))
}

fn parameters(descriptor: &MethodDescriptor<'_>) -> String {
    descriptor.parameters().map(type_text).collect::<Vec<_>>().join(", ")
}
