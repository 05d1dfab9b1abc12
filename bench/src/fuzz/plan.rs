//! The names that the parts of a generated program may refer to.

use super::types::Type;

/// A field, static or of the class `Node`.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub ty: Type,
    pub is_volatile: bool,
}

/// How a method is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Static,
    /// Static, with a first parameter that bounds how deep it calls itself.
    Recursive,
    /// Of `Node`, overridden in some subclasses.
    Virtual,
    /// Of the interface `Face`.
    Interface,
    /// Private, of `Node`.
    Private,
    /// Of the inner class `Node.Inner`.
    Inner,
}

#[derive(Clone, Debug)]
pub struct Method {
    pub name: String,
    pub kind: Kind,
    /// Without the depth of recursive ones.
    pub params: Vec<Type>,
    pub ret: Type,
    /// The maximum cost of one call, in expressions.
    pub cost: u64,
}

/// The program so far. Methods are added when their bodies are done, so that a body calls only methods that came
/// before it: no call chain is endless.
#[derive(Default)]
pub struct Plan {
    pub class: String,
    pub statics: Vec<Field>,
    pub fields: Vec<Field>,
    pub methods: Vec<Method>,
}

/// The classes below `Node`; those but the last implement `Face`.
pub const CLASSES: [&str; 4] = ["A", "B", "C", "Odd"];

/// Interfaces of lambdas: name, method, parameter and result type, number of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub interface: &'static str,
    pub method: &'static str,
    pub ty: Type,
    pub params: usize,
    /// A static method of the library that fits.
    pub reference: &'static str,
}

pub const SHAPES: [Shape; 3] = [
    Shape {
        interface: "IntBinaryOperator",
        method: "applyAsInt",
        ty: Type::Int,
        params: 2,
        reference: "Math::max",
    },
    Shape {
        interface: "LongBinaryOperator",
        method: "applyAsLong",
        ty: Type::Long,
        params: 2,
        reference: "Long::sum",
    },
    Shape {
        interface: "DoubleUnaryOperator",
        method: "applyAsDouble",
        ty: Type::Double,
        params: 1,
        reference: "Math::abs",
    },
];
