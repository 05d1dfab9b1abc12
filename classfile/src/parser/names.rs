//! Which byte strings are names and descriptors (JVMS 4.2, 4.3).

use super::{Parser, ensure, fail};
use crate::descriptor::{BasicType, FieldType, MethodDescriptor, take_type};
use crate::error::ClassFormat;
use crate::symbol::Symbol;

/// The entity that an unqualified name names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Class,
    Field,
    Method,
}

impl Parser<'_> {
    pub(super) fn check_class_name(&self, name: Symbol) -> Result<(), ClassFormat> {
        if !self.checks_names() {
            return Ok(());
        }
        let bytes = name.bytes();
        let is_legal = if bytes.first() == Some(&b'[') {
            self.is_field_descriptor(bytes)?
        } else {
            self.is_legal_name(bytes, Kind::Class)
        };
        let class = self.class_name;
        ensure!(is_legal, "Illegal class name \"{name}\" in class file {class}");
        Ok(())
    }

    pub(super) fn check_field_name(&self, name: Symbol) -> Result<(), ClassFormat> {
        let is_legal = !self.checks_names() || self.is_legal_name(name.bytes(), Kind::Field);
        ensure!(is_legal, "Illegal field name \"{name}\" in class {}", self.class_name);
        Ok(())
    }

    pub(super) fn check_method_name(&self, name: Symbol) -> Result<(), ClassFormat> {
        let is_legal = !self.checks_names()
            || matches!(name.bytes(), b"<init>" | b"<clinit>")
            || self.is_legal_name(name.bytes(), Kind::Method);
        ensure!(is_legal, "Illegal method name \"{name}\" in class {}", self.class_name);
        Ok(())
    }

    pub(super) fn check_field_descriptor(
        &self,
        name: Symbol,
        descriptor: Symbol,
    ) -> Result<(), ClassFormat> {
        if !self.is_field_descriptor(descriptor.bytes())? {
            return self.illegal_signature("Field", name, descriptor);
        }
        Ok(())
    }

    /// Checks a method descriptor and counts the slots of its parameters.
    pub(super) fn check_method_descriptor(
        &self,
        name: Symbol,
        descriptor: Symbol,
    ) -> Result<usize, ClassFormat> {
        let text = descriptor.bytes();
        let is_special = name.bytes().first() == Some(&b'<');
        let has_parameters_of_clinit =
            name.bytes() == b"<clinit>" && text != b"()V" && self.major_version >= 51;
        let Some(parsed) = MethodDescriptor::parse(text) else {
            self.check_broken(text.strip_prefix(b"(").unwrap_or_default())?;
            return self.illegal_signature("Method", name, descriptor).map(|()| 0);
        };
        let returns_value = parsed.result.basic != BasicType::Void;
        if has_parameters_of_clinit || is_special && returns_value {
            self.illegal_signature("Method", name, descriptor)?;
        }
        for part in parsed.parameters().chain([parsed.result]) {
            if !self.has_legal_class_name(part)? {
                self.illegal_signature("Method", name, descriptor)?;
            }
        }
        Ok(parsed.parameter_slots())
    }

    pub(super) fn illegal_signature(
        &self,
        kind: &str,
        name: Symbol,
        descriptor: Symbol,
    ) -> Result<(), ClassFormat> {
        let class = self.class_name;
        fail!("{kind} \"{name}\" in class {class} has illegal signature \"{descriptor}\"");
    }

    fn checks_names(&self) -> bool {
        self.options.check_format && !self.options.any_names
    }

    fn is_field_descriptor(&self, text: &[u8]) -> Result<bool, ClassFormat> {
        match FieldType::parse(text) {
            Some(parsed) => self.has_legal_class_name(parsed),
            None => self.check_broken(text).map(|()| false),
        }
    }

    /// HotSpot has messages of its own for some mistakes before the place where a descriptor ends
    /// to be one.
    fn check_broken(&self, mut text: &[u8]) -> Result<(), ClassFormat> {
        while let Some((part, behind)) = take_type(text) {
            self.has_legal_class_name(part)?;
            text = behind;
        }
        // The parameters were sound.
        let text = text.strip_prefix(b")").unwrap_or(text);
        let element =
            text.iter().position(|&byte| byte != b'[').map_or(&text[..0], |at| &text[at..]);
        let checks = self.options.check_format && self.major_version >= 49;
        ensure!(!(checks && element.starts_with(b"L;")), "{}", self.illegal_class_name());
        let has_too_many = text.windows(256).any(|window| window.iter().all(|&byte| byte == b'['));
        ensure!(
            !has_too_many,
            "Array type descriptor has more than 255 dimensions in class file {}",
            self.class_name
        );
        Ok(())
    }

    fn has_legal_class_name(&self, parsed: FieldType) -> Result<bool, ClassFormat> {
        let text = parsed.text;
        if !self.options.check_format || text.last() != Some(&b';') {
            return Ok(true);
        }
        let dimensions = text.iter().take_while(|&&byte| byte == b'[').count();
        let name = &text[dimensions + 1..text.len() - 1];
        if self.major_version < 49 {
            return Ok(is_java_identifier(name, true));
        }
        ensure!(is_unqualified(name, Kind::Class), "{}", self.illegal_class_name());
        Ok(true)
    }

    fn illegal_class_name(&self) -> String {
        let problem = "Class name is empty or contains illegal character";
        format!("{problem} in descriptor in class file {}", self.class_name)
    }

    fn is_legal_name(&self, name: &[u8], kind: Kind) -> bool {
        if self.major_version < 49 {
            is_java_identifier(name, kind == Kind::Class)
        } else {
            is_unqualified(name, kind)
        }
    }
}

/// Whether a Utf8 constant is modified UTF-8; old class files may have overlong forms.
pub fn is_legal_utf8(bytes: &[u8], major_version: u16) -> bool {
    let allows_overlong = major_version <= 47;
    let mut rest = bytes;
    loop {
        let plain = rest.iter().take_while(|&&byte| byte.wrapping_sub(1) < 0x7f).count();
        rest = &rest[plain..];
        rest = match *rest {
            [] => return true,
            [first @ 0xC0..=0xDF, second @ 0x80..=0xBF, ref behind @ ..] => {
                let code = (first as u32 & 0x1F) << 6 | second as u32 & 0x3F;
                if code != 0 && code < 0x80 && !allows_overlong {
                    return false;
                }
                behind
            }
            [first @ 0xE0..=0xEF, second @ 0x80..=0xBF, 0x80..=0xBF, ref behind @ ..] => {
                let high = (first as u32 & 0x0F) << 12 | (second as u32 & 0x3F) << 6;
                if high < 0x800 && !allows_overlong {
                    return false;
                }
                behind
            }
            _ => return false,
        };
    }
}

/// Names since Java 5: anything but a few separators.
fn is_unqualified(name: &[u8], kind: Kind) -> bool {
    if name.is_empty() {
        return false;
    }
    if kind == Kind::Class {
        let mut parts = name.split(|&byte| byte == b'/');
        return parts
            .all(|part| !part.is_empty() && !part.iter().any(|byte| b".;[".contains(byte)));
    }
    let forbidden: &[u8] = if kind == Kind::Method { b".;[/<>" } else { b".;[/" };
    !name.iter().any(|byte| forbidden.contains(byte))
}

/// Names before Java 5: identifiers of the language, with slashes between them for classes.
fn is_java_identifier(name: &[u8], with_slashes: bool) -> bool {
    let Ok(text) = std::str::from_utf8(name) else {
        // Characters outside of the plane that a class file writes in one piece.
        return false;
    };
    let is_start = |c: char| c.is_alphabetic() || matches!(c, '_' | '$') || is_currency(c);
    let is_identifier = |part: &str| {
        let mut chars = part.chars();
        chars.next().is_some_and(is_start) && chars.all(|c| is_start(c) || c.is_alphanumeric())
    };
    if with_slashes { text.split('/').all(is_identifier) } else { is_identifier(text) }
}

fn is_currency(c: char) -> bool {
    matches!(c, '\u{a2}'..='\u{a5}' | '\u{20a0}'..='\u{20c0}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modified_utf8() {
        for good in [&b"abc"[..], &[0xC0, 0x80], &[0xC3, 0xA4], &[0xED, 0xA0, 0x80], b""] {
            assert!(is_legal_utf8(good, 61), "{good:x?}");
        }
        for bad in [&[0u8][..], &[0xC1, 0x81], &[0x80], &[0xE0, 0x80, 0x81], &[0xF0, 0x9F], &[0xC3]]
        {
            assert!(!is_legal_utf8(bad, 61), "{bad:x?}");
        }
        assert!(is_legal_utf8(&[0xC1, 0x81], 46));
    }

    #[test]
    fn unqualified_names() {
        assert!(is_unqualified(b"java/lang/Object", Kind::Class));
        assert!(is_unqualified("a-b c".as_bytes(), Kind::Field));
        for bad in ["", "/a", "a/", "a//b", "a.b", "a;", "[a"] {
            assert!(!is_unqualified(bad.as_bytes(), Kind::Class), "{bad}");
        }
        assert!(!is_unqualified(b"a/b", Kind::Field));
        assert!(is_unqualified(b"a<", Kind::Field));
        assert!(!is_unqualified(b"a<", Kind::Method));
        assert!(is_java_identifier(b"a/b$1", true));
        assert!(!is_java_identifier(b"1a", false));
    }
}
