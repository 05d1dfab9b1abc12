//! Names of native methods: as C symbols (JNI specification, "Resolving Native Method Names") and in messages.

use crate::runtime::Method;
use classfile::MethodDescriptor;

/// `Java_pkg_Class_method`; `None` when the names cannot be written as a C symbol.
pub fn short_symbol(method: &Method) -> Option<String> {
    let class = mangle(method.holder.name.bytes())?;
    Some(format!("Java_{class}_{}", mangle(method.name().bytes())?))
}

/// The short symbol with the argument types, for overloaded native methods.
pub fn long_symbol(method: &Method) -> Option<String> {
    let descriptor = method.descriptor().bytes();
    let end = descriptor.iter().position(|&byte| byte == b')')?;
    Some(format!("{}__{}", short_symbol(method)?, mangle(&descriptor[1..end])?))
}

/// `int java.util.Foo.bar(java.lang.String, int[])`
pub fn external(method: &Method) -> String {
    let descriptor = MethodDescriptor::of(method.descriptor());
    let parameters: Vec<String> = descriptor.parameters().map(|p| type_name(p.text)).collect();
    format!(
        "{} {}.{}({})",
        type_name(descriptor.result.text),
        method.holder.java_name(),
        method.name(),
        parameters.join(", ")
    )
}

pub(crate) fn mangle(name: &[u8]) -> Option<String> {
    let text = String::from_utf8(name.to_vec()).ok()?;
    let mut out = String::with_capacity(text.len());
    let mut at_start = true;
    for unit in text.encode_utf16() {
        let is_start = std::mem::replace(&mut at_start, false);
        match u8::try_from(unit) {
            // Such a name would read as an escape.
            Ok(b'0'..=b'3') if is_start => return None,
            Ok(letter) if letter.is_ascii_alphanumeric() => out.push(letter as char),
            Ok(b'/') => {
                out.push('_');
                at_start = true;
            }
            Ok(b'_') => out.push_str("_1"),
            Ok(b';') => out.push_str("_2"),
            Ok(b'[') => out.push_str("_3"),
            _ => out.push_str(&format!("_0{unit:04x}")),
        }
    }
    Some(out)
}

/// A type as Java source writes it, of a checked descriptor.
pub fn type_name(descriptor: &[u8]) -> String {
    let dimensions = descriptor.iter().take_while(|&&letter| letter == b'[').count();
    let element = &descriptor[dimensions..];
    let name = match element[0] {
        b'L' => String::from_utf8_lossy(&element[1..element.len() - 1]).replace('/', "."),
        letter => classfile::BasicType::from_letter(letter)
            .and_then(|basic| basic.java_name())
            .expect("a checked descriptor")
            .to_owned(),
    };
    name + &"[]".repeat(dimensions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangles() {
        assert_eq!(mangle(b"java/lang/Object").unwrap(), "java_lang_Object");
        assert_eq!(mangle(b"a_b").unwrap(), "a_1b");
        assert_eq!(mangle(b"[Lx/Y;I").unwrap(), "_3Lx_Y_2I");
        assert_eq!(mangle("é$".as_bytes()).unwrap(), "_000e9_00024");
        assert_eq!(mangle(b"x/1y"), None);
        assert_eq!(mangle(b"x/4y").unwrap(), "x_4y");
    }

    #[test]
    fn names_types() {
        assert_eq!(type_name(b"[[Ljava/lang/String;"), "java.lang.String[][]");
        assert_eq!(type_name(b"V"), "void");
    }
}
