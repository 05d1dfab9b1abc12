//! Access and property flags of classes, fields and methods (JVMS 4.1, 4.5, 4.6).

use bitflags::bitflags;

bitflags! {
    /// The `access_flags` item. Some bits mean different things for classes, fields and methods,
    /// and so have several names.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct AccessFlags: u16 {
        const PUBLIC = 0x0001;
        const PRIVATE = 0x0002;
        const PROTECTED = 0x0004;
        const STATIC = 0x0008;
        const FINAL = 0x0010;
        /// Classes only.
        const SUPER = 0x0020;
        /// Methods only.
        const SYNCHRONIZED = 0x0020;
        /// Fields only.
        const VOLATILE = 0x0040;
        /// Methods only.
        const BRIDGE = 0x0040;
        /// Fields only.
        const TRANSIENT = 0x0080;
        /// Methods only.
        const VARARGS = 0x0080;
        /// Methods only.
        const NATIVE = 0x0100;
        const INTERFACE = 0x0200;
        const ABSTRACT = 0x0400;
        /// Methods only; without meaning from class file version 60 on.
        const STRICT = 0x0800;
        const SYNTHETIC = 0x1000;
        const ANNOTATION = 0x2000;
        const ENUM = 0x4000;
        /// Classes only.
        const MODULE = 0x8000;
        /// Method parameters only.
        const MANDATED = 0x8000;
    }
}

impl AccessFlags {
    /// The bits of a class file, known or not.
    pub const fn from_class_file(bits: u16) -> AccessFlags {
        AccessFlags::from_bits_retain(bits)
    }

    #[inline]
    pub const fn is_public(self) -> bool {
        self.contains(AccessFlags::PUBLIC)
    }

    #[inline]
    pub const fn is_private(self) -> bool {
        self.contains(AccessFlags::PRIVATE)
    }

    #[inline]
    pub const fn is_protected(self) -> bool {
        self.contains(AccessFlags::PROTECTED)
    }

    /// Neither public, protected nor private.
    #[inline]
    pub const fn is_package_private(self) -> bool {
        self.bits() & 0x0007 == 0
    }

    #[inline]
    pub const fn is_static(self) -> bool {
        self.contains(AccessFlags::STATIC)
    }

    #[inline]
    pub const fn is_final(self) -> bool {
        self.contains(AccessFlags::FINAL)
    }

    #[inline]
    pub const fn is_synchronized(self) -> bool {
        self.contains(AccessFlags::SYNCHRONIZED)
    }

    #[inline]
    pub const fn is_volatile(self) -> bool {
        self.contains(AccessFlags::VOLATILE)
    }

    #[inline]
    pub const fn is_varargs(self) -> bool {
        self.contains(AccessFlags::VARARGS)
    }

    #[inline]
    pub const fn is_native(self) -> bool {
        self.contains(AccessFlags::NATIVE)
    }

    #[inline]
    pub const fn is_interface(self) -> bool {
        self.contains(AccessFlags::INTERFACE)
    }

    #[inline]
    pub const fn is_abstract(self) -> bool {
        self.contains(AccessFlags::ABSTRACT)
    }
}
