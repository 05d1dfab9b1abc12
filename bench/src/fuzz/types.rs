//! The types that generated programs use.

use crate::harness::rng::Rng;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Boolean,
    Byte,
    Short,
    Char,
    Int,
    Long,
    Float,
    Double,
    Text,
    /// The base class of the program's own classes.
    Node,
    Object,
    Array(Element),
}

/// The element types of arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    Boolean,
    Byte,
    Short,
    Char,
    Int,
    Long,
    Float,
    Double,
    Text,
    Node,
    /// Arrays of `int`.
    Ints,
}

impl Element {
    pub const ALL: [Element; 11] = {
        use Element::*;
        [Boolean, Byte, Short, Char, Int, Long, Float, Double, Text, Node, Ints]
    };

    pub fn as_type(self) -> Type {
        match self {
            Element::Boolean => Type::Boolean,
            Element::Byte => Type::Byte,
            Element::Short => Type::Short,
            Element::Char => Type::Char,
            Element::Int => Type::Int,
            Element::Long => Type::Long,
            Element::Float => Type::Float,
            Element::Double => Type::Double,
            Element::Text => Type::Text,
            Element::Node => Type::Node,
            Element::Ints => Type::Array(Element::Int),
        }
    }
}

impl Type {
    pub const NUMBERS: [Type; 7] =
        [Type::Byte, Type::Short, Type::Char, Type::Int, Type::Long, Type::Float, Type::Double];

    /// As Java writes it.
    pub fn name(self) -> &'static str {
        match self {
            Type::Boolean => "boolean",
            Type::Byte => "byte",
            Type::Short => "short",
            Type::Char => "char",
            Type::Int => "int",
            Type::Long => "long",
            Type::Float => "float",
            Type::Double => "double",
            Type::Text => "String",
            Type::Node => "Node",
            Type::Object => "Object",
            Type::Array(element) => match element {
                Element::Boolean => "boolean[]",
                Element::Byte => "byte[]",
                Element::Short => "short[]",
                Element::Char => "char[]",
                Element::Int => "int[]",
                Element::Long => "long[]",
                Element::Float => "float[]",
                Element::Double => "double[]",
                Element::Text => "String[]",
                Element::Node => "Node[]",
                Element::Ints => "int[][]",
            },
        }
    }

    pub fn is_number(self) -> bool {
        Type::NUMBERS.contains(&self)
    }

    pub fn is_integer(self) -> bool {
        self.is_number() && !matches!(self, Type::Float | Type::Double)
    }

    /// Narrower than `int`: its expressions are casts.
    pub fn is_small(self) -> bool {
        matches!(self, Type::Byte | Type::Short | Type::Char)
    }

    /// For a variable or a field.
    pub fn any(rng: &mut Rng) -> Type {
        use Type::*;
        let simple = [
            (20, Int),
            (12, Long),
            (5, Float),
            (8, Double),
            (5, Boolean),
            (3, Byte),
            (3, Short),
            (3, Char),
            (6, Text),
            (8, Node),
            (3, Object),
            (12, Array(Element::Int)),
        ];
        match rng.weighted(&simple) {
            Array(_) => Array(rng.pick(&Element::ALL)),
            other => other,
        }
    }

    /// For a parameter or a result.
    pub fn any_in_signature(rng: &mut Rng) -> Type {
        use Type::*;
        let likely = [(30, Int), (16, Long), (8, Double), (6, Float), (5, Boolean), (5, Node)];
        if rng.chance(75) { rng.weighted(&likely) } else { Type::any(rng) }
    }
}
