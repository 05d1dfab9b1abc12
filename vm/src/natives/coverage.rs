//! That every native method of `java.base` has an implementation somewhere.

use super::ALL;
use crate::loading::names::mangle;
use classfile::{ClassFile, MethodInfo, ParseOptions, jdk_image};
use std::collections::HashSet;

#[test]
fn every_native_method_of_java_base_is_provided() {
    let (Some(image), Some(home)) = (jdk_image::open(), jdk_image::home()) else {
        return;
    };
    let exported = exported_names(&home.join("lib"));
    let mut missing = Vec::new();
    jdk_image::for_each_class(&image, |module, class, bytes| {
        if module != "java.base" {
            return;
        }
        let file = ClassFile::parse(bytes, &ParseOptions::default()).expect("a sound class");
        for method in file.methods.iter().filter(|m| m.access_flags.is_native()) {
            if !is_provided(class, method, &exported) {
                missing.push(format!("{class}.{}{}", method.name, method.descriptor));
            }
        }
    });
    // Exists on other systems only; Linux has no C function either.
    missing.retain(|name| !name.starts_with("sun/nio/ch/Net.discardOOB"));
    assert!(missing.is_empty(), "natives without an implementation: {missing:#?}");
}

fn is_provided(class: &str, method: &MethodInfo, exported: &HashSet<Vec<u8>>) -> bool {
    let (name, descriptor) = (method.name.text(), method.descriptor.text());
    let own = ALL.iter().filter(|table| table.class == class).flat_map(|table| table.entries);
    let is_own = |entry: &crate::ffi::registry::NativeEntry| {
        entry.name == name && (entry.descriptor.is_empty() || entry.descriptor == descriptor)
    };
    // Signature-polymorphic methods are linked by upcalls and never bound.
    let is_polymorphic = class == "java/lang/invoke/VarHandle"
        || class == "java/lang/invoke/MethodHandle"
        || (class.starts_with("java/lang/invoke/VarHandle") && name.contains("Set"));
    if is_polymorphic || name == "registerNatives" || own.into_iter().any(is_own) {
        return true;
    }
    let mangled = |text: &[u8]| mangle(text).expect("names of java.base can be mangled");
    let short = format!("Java_{}_{}", mangled(class.as_bytes()), mangled(name.as_bytes()));
    let arguments = &descriptor[1..descriptor.find(')').expect("a method descriptor")];
    let long = format!("{short}__{}", mangled(arguments.as_bytes()));
    exported.contains(short.as_bytes())
        || exported.contains(long.as_bytes())
        || REGISTERED_BY_LIBJAVA.contains(&class)
}

/// All strings of the JDK's libraries that look like names of native methods.
fn exported_names(libraries: &std::path::Path) -> HashSet<Vec<u8>> {
    let mut names = HashSet::new();
    for library in ["libjava", "libnio", "libnet", "libzip", "libjimage"] {
        let bytes = std::fs::read(libraries.join(format!("{library}.so"))).expect("a JDK library");
        let strings = bytes.split(|byte| *byte == 0);
        names.extend(strings.filter(|s| s.starts_with(b"Java_")).map(<[u8]>::to_vec));
    }
    names
}

/// Classes whose `registerNatives` (or equivalent) is a C function that registers `JVM_*` functions.
const REGISTERED_BY_LIBJAVA: [&str; 5] = [
    "java/lang/Class",
    "java/lang/ClassLoader",
    "java/lang/System",
    "java/lang/Thread",
    "jdk/internal/misc/VM",
];
