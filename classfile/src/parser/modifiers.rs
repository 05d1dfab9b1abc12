//! Which access flags may be combined (JVMS 4.1, 4.5, 4.6).

use super::{Parser, fail};
use crate::access::AccessFlags;
use crate::error::{ClassFormat, ErrorKind};
use crate::symbol::Symbol;

/// Flags that are kept of a class; `MODULE` only to refuse it.
pub const CLASS_MODIFIERS: AccessFlags = AccessFlags::PUBLIC
    .union(AccessFlags::FINAL)
    .union(AccessFlags::SUPER)
    .union(AccessFlags::INTERFACE)
    .union(AccessFlags::ABSTRACT)
    .union(AccessFlags::ANNOTATION)
    .union(AccessFlags::ENUM)
    .union(AccessFlags::SYNTHETIC)
    .union(AccessFlags::MODULE);

/// Flags that are kept of an entry of `InnerClasses`.
pub const INNER_CLASS_MODIFIERS: AccessFlags = CLASS_MODIFIERS
    .union(AccessFlags::PRIVATE)
    .union(AccessFlags::PROTECTED)
    .union(AccessFlags::STATIC);

pub const FIELD_MODIFIERS: AccessFlags = AccessFlags::PUBLIC
    .union(AccessFlags::PRIVATE)
    .union(AccessFlags::PROTECTED)
    .union(AccessFlags::STATIC)
    .union(AccessFlags::FINAL)
    .union(AccessFlags::VOLATILE)
    .union(AccessFlags::TRANSIENT)
    .union(AccessFlags::ENUM)
    .union(AccessFlags::SYNTHETIC);

pub const METHOD_MODIFIERS: AccessFlags = AccessFlags::PUBLIC
    .union(AccessFlags::PRIVATE)
    .union(AccessFlags::PROTECTED)
    .union(AccessFlags::STATIC)
    .union(AccessFlags::FINAL)
    .union(AccessFlags::SYNCHRONIZED)
    .union(AccessFlags::BRIDGE)
    .union(AccessFlags::VARARGS)
    .union(AccessFlags::NATIVE)
    .union(AccessFlags::ABSTRACT)
    .union(AccessFlags::STRICT)
    .union(AccessFlags::SYNTHETIC);

impl Parser<'_> {
    pub(super) fn check_class_modifiers(&self, flags: AccessFlags) -> Result<(), ClassFormat> {
        let class = self.class_name;
        if flags.contains(AccessFlags::MODULE) {
            return Err(ClassFormat {
                kind: ErrorKind::NoClassDefFoundError,
                message: format!("{class} is not a class because access_flag ACC_MODULE is set"),
            });
        }
        let since_5 = self.major_version >= 49;
        let is_illegal = flags.contains(AccessFlags::ABSTRACT | AccessFlags::FINAL)
            || flags.is_interface() && !flags.is_abstract()
            || since_5
                && flags.is_interface()
                && flags.intersects(AccessFlags::SUPER | AccessFlags::ENUM)
            || since_5 && !flags.is_interface() && flags.contains(AccessFlags::ANNOTATION);
        if self.options.check_format && is_illegal {
            fail!("Illegal class modifiers in class {class}: 0x{:X}", flags.bits());
        }
        Ok(())
    }

    pub(super) fn check_field_modifiers(
        &self,
        flags: AccessFlags,
        in_interface: bool,
    ) -> Result<(), ClassFormat> {
        let is_illegal = if in_interface {
            const REQUIRED: AccessFlags =
                AccessFlags::PUBLIC.union(AccessFlags::STATIC).union(AccessFlags::FINAL);
            let mut forbidden = AccessFlags::PRIVATE
                | AccessFlags::PROTECTED
                | AccessFlags::VOLATILE
                | AccessFlags::TRANSIENT;
            if self.major_version >= 49 {
                forbidden |= AccessFlags::ENUM;
            }
            !flags.contains(REQUIRED) || flags.intersects(forbidden)
        } else {
            has_illegal_visibility(flags)
                || flags.contains(AccessFlags::FINAL | AccessFlags::VOLATILE)
        };
        if self.options.check_format && is_illegal {
            fail!("Illegal field modifiers in class {}: 0x{:X}", self.class_name, flags.bits());
        }
        Ok(())
    }

    pub(super) fn check_method_modifiers(
        &self,
        flags: AccessFlags,
        in_interface: bool,
        name: Symbol,
    ) -> Result<(), ClassFormat> {
        if !self.options.check_format {
            return Ok(());
        }
        let is_illegal = if in_interface {
            self.is_illegal_in_interface(flags)
        } else {
            has_illegal_visibility(flags) || self.is_illegal_in_class(flags, name)
        };
        if is_illegal {
            let class = self.class_name;
            fail!("Method {name} in class {class} has illegal modifiers: 0x{:X}", flags.bits());
        }
        Ok(())
    }

    fn is_illegal_in_interface(&self, flags: AccessFlags) -> bool {
        use AccessFlags as A;
        match self.major_version {
            52.. => {
                let strict = if self.major_version >= 61 { A::empty() } else { A::STRICT };
                flags.is_public() == flags.is_private()
                    || flags.intersects(A::NATIVE | A::PROTECTED | A::FINAL | A::SYNCHRONIZED)
                    || flags.is_abstract() && flags.intersects(A::PRIVATE | A::STATIC | strict)
            }
            49.. => {
                const FORBIDDEN: A = A::PRIVATE
                    .union(A::PROTECTED)
                    .union(A::STATIC)
                    .union(A::FINAL)
                    .union(A::SYNCHRONIZED)
                    .union(A::NATIVE)
                    .union(A::STRICT);
                !flags.contains(A::PUBLIC | A::ABSTRACT) || flags.intersects(FORBIDDEN)
            }
            _ => {
                !flags.contains(A::PUBLIC | A::ABSTRACT)
                    || flags.intersects(A::STATIC | A::FINAL | A::NATIVE)
            }
        }
    }

    fn is_illegal_in_class(&self, flags: AccessFlags, name: Symbol) -> bool {
        use AccessFlags as A;
        let since_5 = self.major_version >= 49;
        if name.bytes() == b"<init>" {
            let bridge = if since_5 { A::BRIDGE } else { A::empty() };
            let forbidden =
                A::STATIC | A::FINAL | A::SYNCHRONIZED | A::NATIVE | A::ABSTRACT | bridge;
            return flags.intersects(forbidden);
        }
        let mut forbidden = A::FINAL | A::NATIVE | A::PRIVATE | A::STATIC;
        if since_5 {
            forbidden |= A::SYNCHRONIZED;
        }
        if since_5 && self.major_version < 61 {
            forbidden |= A::STRICT;
        }
        flags.is_abstract() && flags.intersects(forbidden)
    }
}

fn has_illegal_visibility(flags: AccessFlags) -> bool {
    let visibility = AccessFlags::PUBLIC | AccessFlags::PRIVATE | AccessFlags::PROTECTED;
    (flags & visibility).bits().count_ones() > 1
}
