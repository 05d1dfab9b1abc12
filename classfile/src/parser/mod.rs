//! The parser: one pass over the bytes, the checks of JVMS 4.8 on the way.
//!
//! With any options, a parsed file is safe to link: indices lead to constants of the right kind,
//! descriptors are well-formed, tables lie within the code. The options only drop the checks that
//! `java` drops for classes of the JDK itself.

mod annotations;
mod class_attributes;
mod code;
mod fields;
mod member_attributes;
mod methods;
mod modifiers;
mod names;
mod pool;
mod reader;
mod record;

use super::access::AccessFlags;
use super::class::{ClassFile, ClassMarks};
use super::constant_pool::{ConstantPool, CpEntry};
use super::error::{ClassFormat, ErrorKind};
use super::member::Annotations;
use crate::symbol::Symbol;
use reader::Reader;
use rustc_hash::FxHashSet;

/// Returns a `ClassFormatError` with this message.
macro_rules! fail {
    ($($message:tt)*) => {
        return Err($crate::error::ClassFormat::format_error(format!($($message)*)))
    };
}

/// Returns a `ClassFormatError` with this message unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            fail!($($message)*);
        }
    };
}

use {ensure, fail};

/// The newest class file version: Java 17.
pub const MAJOR_VERSION: u16 = 61;
const PREVIEW_MINOR_VERSION: u16 = 65535;

/// The options of the parser, set by the defining class loader and the command line.
#[derive(Clone, Copy, Debug)]
pub struct ParseOptions {
    /// The name asked for; a file of another class is a `NoClassDefFoundError`. `None` takes any.
    /// Without effect for hidden classes.
    pub expected_name: Option<Symbol>,
    /// A hidden class: its methods are marked hidden. It is still to be
    /// [renamed](ClassFile::rename).
    pub is_hidden: bool,
    /// Check flags, duplicates and names. `java` does so for all but the boot loader's classes.
    pub check_format: bool,
    /// With `check_format`: take any name of classes, fields and methods.
    pub any_names: bool,
    /// Accept class files that use preview features.
    pub enable_preview: bool,
}

impl Default for ParseOptions {
    /// All checks, for a class of an application.
    fn default() -> ParseOptions {
        ParseOptions {
            expected_name: None,
            is_hidden: false,
            check_format: true,
            any_names: false,
            enable_preview: false,
        }
    }
}

impl ClassFile {
    /// Parses and checks a class file.
    pub fn parse(bytes: &[u8], options: &ParseOptions) -> Result<ClassFile, ClassFormat> {
        let mut reader = Reader::new(bytes);
        let class_name = options.expected_name.unwrap_or_else(|| Symbol::of("<Unknown>"));
        // HotSpot reads eight bytes before it looks at the first.
        let mut header = Reader::new(reader.take(8)?);
        let magic = header.u4()?;
        ensure!(
            magic == 0xCAFE_BABE,
            "Incompatible magic value {magic} in class file {class_name}"
        );
        let (minor_version, major_version) = (header.u2()?, header.u2()?);
        check_version(major_version, minor_version, class_name, options.enable_preview)?;
        let mut parser = Parser {
            reader,
            options,
            class_name,
            major_version,
            minor_version,
            pool: ConstantPool::default(),
            bootstrap_methods_needed: 0,
            module_constant: None,
        };
        parser.class()
    }
}

struct Parser<'a> {
    reader: Reader<'a>,
    options: &'a ParseOptions,
    /// For messages: the name asked for, then the name in the file.
    class_name: Symbol,
    major_version: u16,
    minor_version: u16,
    pool: ConstantPool,
    /// One more than the largest bootstrap method index of the constant pool; 0 without any.
    bootstrap_methods_needed: u32,
    /// Tag of the first `Module` or `Package` constant, which only module descriptors may have.
    module_constant: Option<u8>,
}

impl Parser<'_> {
    fn class(&mut self) -> Result<ClassFile, ClassFormat> {
        self.pool = self.constant_pool()?;
        self.reader.require(8)?;
        let access_flags = self.class_access_flags()?;
        if let Some(tag) = self.module_constant {
            fail!("Unknown constant tag {tag} in class file {}", self.class_name);
        }
        let (this_class, name) = self.this_class()?;
        let (super_class, super_name) = self.super_class()?;
        let interfaces = self.interfaces()?;
        let fields = self.fields(access_flags.is_interface())?;
        let methods = self.methods(access_flags.is_interface())?;
        let mut class = ClassFile {
            minor_version: self.minor_version,
            major_version: self.major_version,
            constant_pool: ConstantPool::default(),
            access_flags,
            this_class,
            name,
            super_class,
            super_name,
            interfaces,
            fields,
            methods,
            source_file: None,
            source_debug_extension: None,
            inner_classes: Box::default(),
            enclosing_method: None,
            signature: None,
            bootstrap_methods: Box::default(),
            nest_host: None,
            nest_members: Box::default(),
            record: None,
            permitted_subclasses: None,
            is_synthetic: false,
            is_deprecated: false,
            annotations: Annotations::default(),
            marks: ClassMarks::empty(),
        };
        self.class_attributes(&mut class)?;
        class.constant_pool = std::mem::take(&mut self.pool);
        ensure!(
            self.reader.remaining() == 0,
            "Extra bytes at the end of class file {}",
            self.class_name
        );
        self.check_object(&class)?;
        Ok(class)
    }

    /// `java/lang/Object` is the superclass of interfaces, and implements none.
    fn check_object(&self, class: &ClassFile) -> Result<(), ClassFormat> {
        let object = Symbol::of("java/lang/Object");
        ensure!(
            class.name != object || class.interfaces.is_empty(),
            "java.lang.Object cannot implement an interface in class file {object}"
        );
        ensure!(
            !class.is_interface() || class.super_name.is_none_or(|name| name == object),
            "Interfaces must have java.lang.Object as superclass in class file {}",
            class.name
        );
        Ok(())
    }

    fn class_access_flags(&mut self) -> Result<AccessFlags, ClassFormat> {
        let mut flags =
            AccessFlags::from_class_file(self.reader.u2()?) & modifiers::CLASS_MODIFIERS;
        if self.major_version < 53 {
            flags.remove(AccessFlags::MODULE);
        }
        if flags.is_interface() && self.major_version < 50 {
            flags.insert(AccessFlags::ABSTRACT);
        }
        self.check_class_modifiers(flags)?;
        Ok(flags)
    }

    fn this_class(&mut self) -> Result<(u16, Symbol), ClassFormat> {
        let index = self.reader.u2()?;
        let Some(name) = self.pool.class_name(index) else {
            fail!(
                "Invalid this class index {index} in constant pool in class file {}",
                self.class_name
            );
        };
        ensure!(!is_array(name), "Bad class name in class file {}", self.class_name);
        match self.options.expected_name {
            Some(expected) if !self.options.is_hidden && expected != name => {
                return Err(ClassFormat {
                    kind: ErrorKind::NoClassDefFoundError,
                    message: format!("{expected} (wrong name: {name})"),
                });
            }
            _ => self.class_name = name,
        }
        Ok((index, name))
    }

    fn super_class(&mut self) -> Result<(u16, Option<Symbol>), ClassFormat> {
        let index = self.reader.u2()?;
        let class = self.class_name;
        if index == 0 {
            let is_object = class.bytes() == b"java/lang/Object";
            ensure!(is_object, "Invalid superclass index 0 in class file {class}");
            return Ok((0, None));
        }
        let Some(name) = self.pool.class_name(index) else {
            fail!("Invalid superclass index {index} in class file {class}");
        };
        ensure!(!is_array(name), "Bad superclass name in class file {class}");
        Ok((index, Some(name)))
    }

    fn interfaces(&mut self) -> Result<Box<[u16]>, ClassFormat> {
        let class = self.class_name;
        let count = self.reader.u2()?;
        let mut interfaces = self.reader.vec_for(count, 2);
        let mut names = FxHashSet::default();
        let mut duplicate = None;
        for _ in 0..count {
            let index = self.reader.u2()?;
            let Some(name) = self.pool.class_name(index) else {
                fail!("Interface name has bad constant pool index {index} in class file {class}");
            };
            ensure!(!is_array(name), "Bad interface name in class file {class}");
            if !names.insert(name) {
                duplicate.get_or_insert(name);
            }
            interfaces.push(index);
        }
        if let Some(name) = duplicate.filter(|_| self.options.check_format) {
            fail!("Duplicate interface name \"{name}\" in class file {class}");
        }
        Ok(interfaces.into_boxed_slice())
    }

    /// Name and length of an attribute, with the caller's message for a bad name.
    fn attribute_header(&mut self, message: &str) -> Result<(Symbol, usize), ClassFormat> {
        self.reader.require(6)?;
        let index = self.reader.u2()?;
        let length = self.reader.u4()? as usize;
        let Some(name) = self.pool.utf8(index) else {
            fail!("{message} {index} in class file {}", self.class_name);
        };
        Ok((name, length))
    }

    fn has_class(&self, index: u16) -> bool {
        matches!(self.pool.entry(index), CpEntry::Class { .. })
    }
}

fn is_array(class_name: Symbol) -> bool {
    class_name.bytes().first() == Some(&b'[')
}

fn check_version(
    major: u16,
    minor: u16,
    class: Symbol,
    enable_preview: bool,
) -> Result<(), ClassFormat> {
    let problem = if major < 45 {
        format!(
            "{class} (class file version {major}.{minor}) was compiled with an invalid major \
             version"
        )
    } else if major > MAJOR_VERSION {
        format!(
            "{class} has been compiled by a more recent version of the Java Runtime \
             (class file version {major}.{minor}), this version of the Java Runtime only \
             recognizes class file versions up to {MAJOR_VERSION}.0"
        )
    } else if major < 56 || minor == 0 {
        return Ok(());
    } else if minor != PREVIEW_MINOR_VERSION {
        format!(
            "{class} (class file version {major}.{minor}) was compiled with an invalid non-zero \
             minor version"
        )
    } else if major != MAJOR_VERSION {
        format!(
            "{class} (class file version {major}.{minor}) was compiled with preview features that \
             are unsupported. This version of the Java Runtime only recognizes preview features \
             for class file version {MAJOR_VERSION}.{PREVIEW_MINOR_VERSION}"
        )
    } else if !enable_preview {
        format!(
            "Preview features are not enabled for {class} (class file version {major}.{minor}). \
             Try running with '--enable-preview'"
        )
    } else {
        return Ok(());
    };
    Err(ClassFormat { kind: ErrorKind::UnsupportedClassVersionError, message: problem })
}
