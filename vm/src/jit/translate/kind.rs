//! The types that compiled code distinguishes.

use classfile::BasicType;
use cranelift_codegen::ir::{Type, types};

/// Type of a local or operand. Smaller integers are ints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Kind {
    Int,
    Long,
    Float,
    Double,
    Ref,
}

impl Kind {
    /// `None` for void.
    pub fn of(ty: BasicType) -> Option<Kind> {
        Some(match ty {
            BasicType::Void => return None,
            BasicType::Long => Kind::Long,
            BasicType::Float => Kind::Float,
            BasicType::Double => Kind::Double,
            BasicType::Object | BasicType::Array => Kind::Ref,
            _ => Kind::Int,
        })
    }

    pub fn clif(self) -> Type {
        match self {
            Kind::Int => types::I32,
            Kind::Long | Kind::Ref => types::I64,
            Kind::Float => types::F32,
            Kind::Double => types::F64,
        }
    }

    /// In the interpreter's frames.
    pub fn slots(self) -> usize {
        if self.is_wide() { 2 } else { 1 }
    }

    pub fn is_wide(self) -> bool {
        matches!(self, Kind::Long | Kind::Double)
    }
}
