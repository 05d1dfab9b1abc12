//! The parser against the real JDK and against damaged files.

use super::*;
use crate::symbol::Symbol;

#[test]
fn parses_every_class_of_the_jdk() {
    let Some(image) = jdk_image::open() else { return };
    let mut classes = 0;
    jdk_image::for_each_class(&image, |_, name, bytes| {
        let expected_name = Some(Symbol::of(name));
        let options = ParseOptions { expected_name, ..ParseOptions::default() };
        let class = ClassFile::parse(bytes, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
        for method in &class.methods {
            let Some(code) = &method.code else { continue };
            for instruction in bytecode::Instructions::new(&code.bytecode) {
                instruction.unwrap_or_else(|bad| panic!("{name} {}: {bad:?}", method.name));
            }
        }
        classes += 1;
    });
    assert!(classes > 7000, "only {classes} classes");
}

#[test]
fn reads_what_the_jdk_wrote() {
    let Some(image) = jdk_image::open() else { return };
    let parse = |name: &str| {
        let bytes = jdk_image::java_base(&image, name);
        ClassFile::parse(&bytes, &ParseOptions::default()).expect("a good class")
    };
    let string = parse("java/lang/String");
    assert_eq!((string.major_version, string.name), (61, Symbol::of("java/lang/String")));
    assert_eq!(string.super_name, Some(Symbol::of("java/lang/Object")));
    let interfaces: Vec<_> = string.interface_names().map(|name| name.text()).collect();
    assert_eq!(interfaces[..2], ["java/io/Serializable", "java/lang/Comparable"]);
    assert_eq!(string.source_file, Some(Symbol::of("String.java")));
    let value = string.fields.iter().find(|field| field.name == Symbol::of("value")).unwrap();
    assert_eq!((value.descriptor, value.marks), (Symbol::of("[B"), FieldMarks::STABLE));
    let equals = string.methods.iter().find(|method| method.name == Symbol::of("equals")).unwrap();
    assert_eq!(equals.argument_slots, 2);
    assert!(equals.code.as_ref().unwrap().stack_map_table.is_some());
    let serial = string.fields.iter().find(|f| f.name == Symbol::of("serialVersionUID")).unwrap();
    let constant = string.constant_pool.entry(serial.constant_value.unwrap());
    assert_eq!(constant, CpEntry::Long(-6849794470754667710));

    let class = parse("java/lang/Class");
    let for_name = class.methods.iter().find(|m| m.name == Symbol::of("forName")).unwrap();
    assert!(for_name.marks.contains(MethodMarks::CALLER_SENSITIVE));
    let integer = parse("java/lang/Integer");
    assert_eq!(integer.marks, ClassMarks::VALUE_BASED);
    let thread = parse("java/lang/Thread");
    let seed = thread.fields.iter().find(|f| f.name == Symbol::of("threadLocalRandomSeed"));
    let seed = seed.unwrap();
    let group = thread.constant_pool.utf8(seed.contended_group).unwrap();
    assert_eq!((seed.marks, group), (FieldMarks::CONTENDED, Symbol::of("tlr")));
    let map = parse("java/util/HashMap");
    assert!(map.nest_members.len() > 5 && map.inner_classes.len() > 5);
    let entry = parse("java/util/Map$Entry");
    assert_eq!(
        entry.constant_pool.class_name(entry.nest_host.unwrap()),
        Some(Symbol::of("java/util/Map"))
    );
    assert!(!entry.bootstrap_methods.is_empty());
}

#[test]
fn damaged_files_are_errors() {
    let Some(image) = jdk_image::open() else { return };
    let names = [
        "java/lang/String",
        "java/util/Map$Entry",
        "java/util/concurrent/ConcurrentHashMap",
        "java/lang/invoke/LambdaForm",
        "java/lang/Thread",
    ];
    let files: Vec<_> = names.iter().map(|name| jdk_image::java_base(&image, name)).collect();
    let mut random = Random::from_environment();
    for round in 0..random.rounds {
        let mut bytes = files[round % files.len()].clone();
        random.damage(&mut bytes);
        let options = ParseOptions { check_format: round % 3 != 0, ..ParseOptions::default() };
        // Errors are expected; panics are not.
        let _ = ClassFile::parse(&bytes, &options);
    }
    for file in &files {
        for length in (0..file.len()).step_by(97) {
            assert!(ClassFile::parse(&file[..length], &ParseOptions::default()).is_err());
        }
    }
}

#[test]
fn says_what_java_says() {
    let message = |bytes: &[u8], name: Option<&str>| {
        let expected_name = name.map(Symbol::of);
        let options = ParseOptions { expected_name, ..ParseOptions::default() };
        ClassFile::parse(bytes, &options).unwrap_err().to_string()
    };
    let mut file = minimal("A");
    assert!(ClassFile::parse(&file, &ParseOptions::default()).is_ok());
    assert_eq!(message(&file[..5], Some("A")), "java/lang/ClassFormatError: Truncated class file");
    assert_eq!(message(&file, Some("B")), "java/lang/NoClassDefFoundError: B (wrong name: A)");
    file.push(0);
    assert_eq!(
        message(&file, Some("A")),
        "java/lang/ClassFormatError: Extra bytes at the end of class file A"
    );
    file[7] = 65;
    assert_eq!(
        message(&file, Some("A")),
        "java/lang/UnsupportedClassVersionError: A has been compiled by a more recent version of \
         the Java Runtime (class file version 65.0), this version of the Java Runtime only \
         recognizes class file versions up to 61.0"
    );
    file[..4].copy_from_slice(&1234u32.to_be_bytes());
    assert_eq!(
        message(&file, Some("A")),
        "java/lang/ClassFormatError: Incompatible magic value 1234 in class file A"
    );
}

/// A class without members.
fn minimal(name: &str) -> Vec<u8> {
    let mut file = vec![0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 61, 0, 5];
    for text in [name, "java/lang/Object"] {
        file.extend([tag::UTF8, 0, text.len() as u8]);
        file.extend(text.as_bytes());
    }
    file.extend([tag::CLASS, 0, 1, tag::CLASS, 0, 2]);
    file.extend([0, 0x21, 0, 3, 0, 4]);
    file.extend([0; 8]);
    file
}

/// A small seeded generator. `FUZZ_SEED` and `FUZZ_ROUNDS` in the environment make a long run.
pub(crate) struct Random {
    state: u64,
    pub rounds: usize,
}

impl Random {
    pub fn from_environment() -> Random {
        let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let seed = number("FUZZ_SEED").unwrap_or(0x5eed);
        let rounds = number("FUZZ_ROUNDS").unwrap_or(3000) as usize;
        eprintln!("FUZZ_SEED={seed} FUZZ_ROUNDS={rounds}");
        Random { state: seed | 1, rounds }
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 16) as usize % limit
    }

    /// Changes a few bytes, or cuts a piece out, or repeats one.
    pub fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(8) {
                0 => {
                    let end = (at + self.below(8)).min(bytes.len() - 1);
                    bytes.drain(at..end);
                }
                1 => {
                    let piece = bytes[at..(at + 8).min(bytes.len())].to_vec();
                    bytes.splice(at..at, piece);
                }
                2 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
                3 => bytes[at] = bytes[at].wrapping_add(1),
                _ => bytes[at] = self.below(256) as u8,
            }
        }
    }
}
