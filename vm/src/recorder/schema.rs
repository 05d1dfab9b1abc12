//! Adds to a class of events what the class library's instrumentation needs: fields for the handler and for times, and
//! methods of its own, whose code it then replaces.
//!
//! ```text
//!     private static HANDLER eventHandler;
//!     private transient long startTime, duration;
//!     public void begin() { }  public void end() { }  public void commit() { }
//!     public boolean isEnabled() { return false; }  public boolean shouldCommit() { return false; }
//! ```
//!
//! All of it is synthetic. Constants come behind those of the class, fields and methods behind its own.

use classfile::{AccessFlags, ClassFile};

/// The bytes of a class, which have been parsed, with the members above. `handler` is the descriptor of the handler's
/// type. `None` if the class has such a field of its own, or has no room for more constants.
pub fn extend(file: &ClassFile, bytes: &[u8], handler: &str) -> Option<Vec<u8>> {
    let is_taken = |name: &[u8]| file.fields.iter().any(|field| field.name.bytes() == name);
    if FIELDS.iter().any(|(name, _)| is_taken(name.as_bytes())) {
        return None;
    }
    let places = Places::find(bytes)?;
    let mut constants =
        Added { first: u16::try_from(file.constant_pool.len()).ok()?, texts: Vec::new() };
    let mut fields = Vec::new();
    for (name, descriptor) in FIELDS {
        let (flags, descriptor) = match descriptor {
            Some(descriptor) => (AccessFlags::PRIVATE | AccessFlags::TRANSIENT, *descriptor),
            None => (AccessFlags::PRIVATE | AccessFlags::STATIC, handler),
        };
        let flags = (flags | AccessFlags::SYNTHETIC).bits();
        for word in [flags, constants.text(name)?, constants.text(descriptor)?, 0] {
            fields.extend(word.to_be_bytes());
        }
    }
    let mut methods = Vec::new();
    let mut count = 0u16;
    for (name, descriptor) in METHODS {
        let is_own = |method: &classfile::MethodInfo| {
            method.name.bytes() == name.as_bytes()
                && method.descriptor.bytes() == descriptor.as_bytes()
        };
        if file.methods.iter().any(is_own) {
            continue;
        }
        count += 1;
        let flags = (AccessFlags::PUBLIC | AccessFlags::SYNTHETIC).bits();
        let code: &[u8] = if descriptor.ends_with('Z') { &[ICONST_0, IRETURN] } else { &[RETURN] };
        for word in
            [flags, constants.text(name)?, constants.text(descriptor)?, 1, constants.text("Code")?]
        {
            methods.extend(word.to_be_bytes());
        }
        // Stack, locals, code, exception table, attributes.
        methods.extend((8 + code.len() as u32 + 4).to_be_bytes());
        methods.extend([0, 1, 0, 1]);
        methods.extend((code.len() as u32).to_be_bytes());
        methods.extend(code);
        methods.extend([0; 4]);
    }
    let mut new = bytes[..CONSTANT_COUNT_AT].to_vec();
    new.extend(constants.first.checked_add(constants.texts.len() as u16)?.to_be_bytes());
    new.extend(&bytes[CONSTANT_COUNT_AT + 2..places.constants_end]);
    for text in &constants.texts {
        new.push(UTF8);
        new.extend((text.len() as u16).to_be_bytes());
        new.extend(text.as_bytes());
    }
    new.extend(&bytes[places.constants_end..places.field_count]);
    let field_count = u16::try_from(file.fields.len() + FIELDS.len()).ok()?;
    new.extend(field_count.to_be_bytes());
    new.extend(&bytes[places.field_count + 2..places.method_count]);
    new.extend(&fields);
    new.extend(u16::try_from(file.methods.len()).ok()?.checked_add(count)?.to_be_bytes());
    new.extend(&bytes[places.method_count + 2..places.methods_end]);
    new.extend(&methods);
    new.extend(&bytes[places.methods_end..]);
    Some(new)
}

/// Constants that are added.
struct Added {
    first: u16,
    texts: Vec<String>,
}

impl Added {
    /// The index of a text; `None`: the class has too many constants.
    fn text(&mut self, text: &str) -> Option<u16> {
        let known = self.texts.iter().position(|other| other == text);
        let index = known.unwrap_or_else(|| {
            self.texts.push(text.into());
            self.texts.len() - 1
        });
        self.first.checked_add(u16::try_from(index).ok()?)
    }
}

/// Offsets in a class file.
struct Places {
    constants_end: usize,
    field_count: usize,
    method_count: usize,
    methods_end: usize,
}

impl Places {
    /// The file has been parsed, so `None` does not happen; if it did, the class would be loaded as it is.
    fn find(bytes: &[u8]) -> Option<Places> {
        let mut at = CONSTANT_COUNT_AT;
        let u16_at = |at: usize| {
            Some(usize::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
        };
        let u32_at =
            |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
        let constants = u16_at(at)?;
        at += 2;
        let mut index = 1;
        while index < constants {
            let tag = *bytes.get(at)?;
            at += 1 + match tag {
                UTF8 => 2 + u16_at(at + 1)?,
                // Class, String, MethodType, Module, Package.
                7 | 8 | 16 | 19 | 20 => 2,
                // MethodHandle.
                15 => 3,
                LONG | DOUBLE => 8,
                _ => 4,
            };
            index += if matches!(tag, LONG | DOUBLE) { 2 } else { 1 };
        }
        let constants_end = at;
        // Flags, this class, its superclass, interfaces.
        at += 6;
        at += 2 + 2 * u16_at(at)?;
        let field_count = at;
        let members_end = |mut at: usize| {
            let members = u16_at(at)?;
            at += 2;
            for _ in 0..members {
                let attributes = u16_at(at + 6)?;
                at += 8;
                for _ in 0..attributes {
                    at += 6 + u32_at(at + 2)?;
                }
            }
            Some(at)
        };
        let method_count = members_end(field_count)?;
        let methods_end = members_end(method_count)?;
        (methods_end <= bytes.len()).then_some(Places {
            constants_end,
            field_count,
            method_count,
            methods_end,
        })
    }
}

/// The name of the field that has the handler.
pub const HANDLER: &str = "eventHandler";

/// Names and descriptors; the handler's is the caller's.
const FIELDS: &[(&str, Option<&str>)] =
    &[(HANDLER, None), ("startTime", Some("J")), ("duration", Some("J"))];

const METHODS: &[(&str, &str)] = &[
    ("begin", "()V"),
    ("end", "()V"),
    ("commit", "()V"),
    ("isEnabled", "()Z"),
    ("shouldCommit", "()Z"),
];

const CONSTANT_COUNT_AT: usize = 8;

const UTF8: u8 = 1;
const LONG: u8 = 5;
const DOUBLE: u8 = 6;

const ICONST_0: u8 = 0x03;
const IRETURN: u8 = 0xac;
const RETURN: u8 = 0xb1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::image::ClassImage;
    use classfile::ParseOptions;
    use std::path::Path;

    #[test]
    fn every_class_can_be_extended_once() {
        let home =
            std::env::var("JAVA_HOME").unwrap_or("/usr/lib/jvm/java-17-openjdk-amd64".into());
        let image = ClassImage::open(&Path::new(&home).join("lib/modules")).unwrap();
        for name in ["java/lang/Math", "java/lang/String", "java/lang/Thread", "java/util/HashMap"]
        {
            let bytes = image.class("java.base", name).unwrap();
            let options = ParseOptions {
                expected_name: None,
                is_hidden: false,
                check_format: false,
                any_names: false,
                enable_preview: false,
            };
            let file = ClassFile::parse(bytes, &options).unwrap();
            let new = extend(&file, bytes, "Ljava/lang/Object;").unwrap();
            let extended = ClassFile::parse(&new, &options).unwrap();
            assert_eq!(extended.fields.len(), file.fields.len() + FIELDS.len(), "{name}");
            assert_eq!(extended.methods.len(), file.methods.len() + METHODS.len(), "{name}");
            for (name, descriptor) in METHODS {
                let is_it =
                    |method: &&classfile::MethodInfo| method.name.bytes() == name.as_bytes();
                let method = extended.methods.iter().rev().find(is_it).unwrap();
                assert_eq!(method.descriptor.bytes(), descriptor.as_bytes());
                assert!(method.code.is_some());
            }
            assert!(extend(&extended, &new, "Ljava/lang/Object;").is_none(), "{name}");
            for cut in 0..bytes.len().min(2000) {
                let _ = Places::find(&bytes[..cut]);
            }
        }
    }
}
