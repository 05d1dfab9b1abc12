//! Verification types (JVMS 4.10.1.2) and the rules of assignment between them.

use super::Hierarchy;
use crate::descriptor::{BasicType, FieldType, MethodDescriptor};
use crate::symbol::Symbol;
use rustc_hash::FxHashMap;
use std::fmt;
use std::rc::Rc;

/// The type of one slot. Long and double take two: the second is `Long2` or `Double2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VType {
    /// Unusable.
    Top,
    Integer,
    Float,
    Long,
    Long2,
    Double,
    Double2,
    Null,
    UninitializedThis,
    /// Made by the `new` instruction at this bci.
    Uninitialized(u16),
    /// A class, interface or array, by the name under which it is loaded.
    Reference(Symbol),
    /// The small integers exist only as components of arrays and as results of methods.
    Boolean,
    Byte,
    Short,
    Char,
    /// Only expected, never in a slot: anything that `astore` takes.
    AnyReference,
    /// Only expected: anything of one slot.
    Category1,
    /// Only expected: the first slot of a long or double.
    Category2,
}

impl VType {
    pub fn class(name: &str) -> VType {
        VType::Reference(Symbol::of(name))
    }

    /// The slots of a field, parameter or result; nothing for void.
    pub fn of(field: FieldType) -> &'static [VType] {
        match field.basic {
            BasicType::Boolean | BasicType::Byte | BasicType::Short | BasicType::Char => {
                &[VType::Integer]
            }
            BasicType::Int => &[VType::Integer],
            BasicType::Float => &[VType::Float],
            BasicType::Long => &[VType::Long, VType::Long2],
            BasicType::Double => &[VType::Double, VType::Double2],
            BasicType::Void | BasicType::Object | BasicType::Array => &[],
        }
    }

    /// The slots of a type, references included.
    pub fn push_slots(field: FieldType, into: &mut Vec<VType>) {
        match field.class_name() {
            Some(name) => into.push(VType::Reference(name)),
            None => into.extend(VType::of(field)),
        }
    }

    pub fn is_reference(self) -> bool {
        matches!(self, VType::Reference(_) | VType::Null)
    }

    pub fn is_uninitialized(self) -> bool {
        matches!(self, VType::UninitializedThis | VType::Uninitialized(_))
    }

    /// One slot, with a usable value.
    pub fn is_category1(self) -> bool {
        matches!(self, VType::Integer | VType::Float)
            || self.is_reference()
            || self.is_uninitialized()
    }

    pub fn is_second_slot(self) -> bool {
        matches!(self, VType::Long2 | VType::Double2)
    }

    pub fn second_slot(self) -> Option<VType> {
        match self {
            VType::Long => Some(VType::Long2),
            VType::Double => Some(VType::Double2),
            _ => None,
        }
    }

    /// The name of a class that is no array.
    pub fn class_name(self) -> Option<Symbol> {
        match self {
            VType::Reference(name) if name.bytes().first() != Some(&b'[') => Some(name),
            _ => None,
        }
    }

    /// The descriptor of an array.
    pub fn array(self) -> Option<Symbol> {
        match self {
            VType::Reference(name) if name.bytes().first() == Some(&b'[') => Some(name),
            _ => None,
        }
    }

    /// Null, or an array whose components have a descriptor that begins with one of these letters.
    pub fn is_array_of(self, letters: &[u8]) -> bool {
        self == VType::Null
            || self
                .array()
                .and_then(|name| name.bytes().get(1))
                .is_some_and(|letter| letters.contains(letter))
    }

    /// The component type of an array; `None` for other types and for malformed names.
    pub fn component(self) -> Option<VType> {
        let component = &self.array()?.bytes()[1..];
        let parsed = FieldType::parse(component)?;
        Some(match parsed.basic {
            BasicType::Boolean => VType::Boolean,
            BasicType::Byte => VType::Byte,
            BasicType::Short => VType::Short,
            BasicType::Char => VType::Char,
            BasicType::Int => VType::Integer,
            BasicType::Float => VType::Float,
            BasicType::Long => VType::Long,
            BasicType::Double => VType::Double,
            BasicType::Void => return None,
            BasicType::Object | BasicType::Array => VType::Reference(parsed.class_name()?),
        })
    }
}

impl fmt::Display for VType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            VType::Top => "top",
            VType::Integer => "integer",
            VType::Float => "float",
            VType::Long => "long",
            VType::Long2 => "long_2nd",
            VType::Double => "double",
            VType::Double2 => "double_2nd",
            VType::Null => "null",
            VType::UninitializedThis => "uninitializedThis",
            VType::Uninitialized(bci) => return write!(f, "uninitialized {bci}"),
            VType::Reference(name) => return write!(f, "'{name}'"),
            VType::Boolean => "boolean",
            VType::Byte => "byte",
            VType::Short => "short",
            VType::Char => "char",
            VType::AnyReference => "reference type",
            VType::Category1 => "category1 type",
            VType::Category2 => "category2 type",
        };
        f.write_str(text)
    }
}

/// The questions about types that may need other classes.
pub struct Types<'a, H> {
    pub hierarchy: &'a mut H,
    object: Symbol,
}

impl<'a, H: Hierarchy> Types<'a, H> {
    pub fn new(hierarchy: &'a mut H) -> Types<'a, H> {
        Types { hierarchy, object: Symbol::of("java/lang/Object") }
    }

    pub fn object(&self) -> VType {
        VType::Reference(self.object)
    }

    /// Whether a value of type `from` may stand where `to` is wanted.
    pub fn is_assignable(&mut self, from: VType, to: VType) -> Result<bool, H::Error> {
        self.is_assignable_for(from, to, false)
    }

    /// `for_protected`: the value is the object of a protected member's access. Then
    /// `java/lang/Object` is not assignable to interfaces.
    pub fn is_assignable_for(
        &mut self,
        from: VType,
        to: VType,
        for_protected: bool,
    ) -> Result<bool, H::Error> {
        if from == to {
            return Ok(true);
        }
        Ok(match to {
            VType::Top => true,
            VType::Category1 => from.is_category1(),
            VType::Category2 => matches!(from, VType::Long | VType::Double),
            VType::AnyReference => from.is_reference() || from.is_uninitialized(),
            VType::Boolean | VType::Byte | VType::Short | VType::Char => from == VType::Integer,
            VType::Reference(name) => {
                return self.is_reference_assignable(from, name, for_protected);
            }
            _ => false,
        })
    }

    fn is_reference_assignable(
        &mut self,
        from: VType,
        to: Symbol,
        for_protected: bool,
    ) -> Result<bool, H::Error> {
        let from_name = match from {
            VType::Null => return Ok(true),
            VType::Reference(name) => name,
            _ => return Ok(false),
        };
        if to == self.object {
            return Ok(true);
        }
        let to = VType::Reference(to);
        if let Some(to_class) = to.class_name() {
            let is_interface = self.hierarchy.is_interface(to_class)?;
            if is_interface && !(for_protected && from_name == self.object) {
                // Interfaces are treated like Object, except that arrays implement only two.
                let is_implemented_by_arrays =
                    matches!(to_class.bytes(), b"java/lang/Cloneable" | b"java/io/Serializable");
                return Ok(from.array().is_none() || is_implemented_by_arrays);
            }
            return match from.class_name() {
                Some(from_class) => self.hierarchy.is_subclass(from_class, to_class),
                None => Ok(false),
            };
        }
        match (to.component(), from.component()) {
            (Some(to), Some(from)) if from.is_reference() || to == from => {
                self.is_assignable_for(from, to, for_protected)
            }
            _ => Ok(false),
        }
    }
}

/// Method descriptors as slots.
#[derive(Default)]
pub struct Descriptors {
    known: FxHashMap<Symbol, Rc<MethodSlots>>,
}

pub struct MethodSlots {
    pub arguments: Vec<VType>,
    /// Empty for void.
    pub result: Vec<VType>,
}

impl Descriptors {
    pub fn slots(&mut self, descriptor: Symbol) -> Rc<MethodSlots> {
        let slots = self.known.entry(descriptor).or_insert_with(|| {
            let parsed = MethodDescriptor::of(descriptor);
            let mut slots = MethodSlots { arguments: Vec::new(), result: Vec::new() };
            for parameter in parsed.parameters() {
                VType::push_slots(parameter, &mut slots.arguments);
            }
            VType::push_slots(parsed.result, &mut slots.result);
            Rc::new(slots)
        });
        slots.clone()
    }
}
