//! Field and method descriptors (JVMS 4.3), and internal names.

use crate::symbol::Symbol;

/// The basic type of a value: its size and its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BasicType {
    Boolean = 4,
    Char = 5,
    Float = 6,
    Double = 7,
    Byte = 8,
    Short = 9,
    Int = 10,
    Long = 11,
    /// A class or interface.
    Object = 12,
    Array = 13,
    Void = 14,
}

impl BasicType {
    /// The type whose descriptor begins with this letter.
    #[inline]
    pub const fn from_letter(letter: u8) -> Option<BasicType> {
        Some(match letter {
            b'Z' => BasicType::Boolean,
            b'C' => BasicType::Char,
            b'F' => BasicType::Float,
            b'D' => BasicType::Double,
            b'B' => BasicType::Byte,
            b'S' => BasicType::Short,
            b'I' => BasicType::Int,
            b'J' => BasicType::Long,
            b'L' => BasicType::Object,
            b'[' => BasicType::Array,
            b'V' => BasicType::Void,
            _ => return None,
        })
    }

    /// The element type of a `newarray` operand (4 to 11).
    pub const fn from_newarray(operand: u8) -> Option<BasicType> {
        Some(match operand {
            4 => BasicType::Boolean,
            5 => BasicType::Char,
            6 => BasicType::Float,
            7 => BasicType::Double,
            8 => BasicType::Byte,
            9 => BasicType::Short,
            10 => BasicType::Int,
            11 => BasicType::Long,
            _ => return None,
        })
    }

    /// First letter of the descriptor.
    pub const fn letter(self) -> u8 {
        match self {
            BasicType::Boolean => b'Z',
            BasicType::Char => b'C',
            BasicType::Float => b'F',
            BasicType::Double => b'D',
            BasicType::Byte => b'B',
            BasicType::Short => b'S',
            BasicType::Int => b'I',
            BasicType::Long => b'J',
            BasicType::Object => b'L',
            BasicType::Array => b'[',
            BasicType::Void => b'V',
        }
    }

    /// Slots on the operand stack and among locals: 2 for long and double, 0 for void.
    #[inline]
    pub const fn slots(self) -> u16 {
        match self {
            BasicType::Long | BasicType::Double => 2,
            BasicType::Void => 0,
            _ => 1,
        }
    }

    #[inline]
    pub const fn is_reference(self) -> bool {
        matches!(self, BasicType::Object | BasicType::Array)
    }

    /// Bytes of a field or array element of this type; `None` for references, whose size is the
    /// reference codec's, and for void.
    pub const fn bytes(self) -> Option<usize> {
        Some(match self {
            BasicType::Boolean | BasicType::Byte => 1,
            BasicType::Char | BasicType::Short => 2,
            BasicType::Int | BasicType::Float => 4,
            BasicType::Long | BasicType::Double => 8,
            _ => return None,
        })
    }

    /// The Java keyword of a primitive type or void.
    pub const fn java_name(self) -> Option<&'static str> {
        Some(match self {
            BasicType::Boolean => "boolean",
            BasicType::Char => "char",
            BasicType::Float => "float",
            BasicType::Double => "double",
            BasicType::Byte => "byte",
            BasicType::Short => "short",
            BasicType::Int => "int",
            BasicType::Long => "long",
            BasicType::Void => "void",
            _ => return None,
        })
    }
}

/// One type of a descriptor, still as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldType<'a> {
    pub basic: BasicType,
    /// The whole descriptor: `I`, `Ljava/lang/String;`, `[[J`.
    pub text: &'a [u8],
}

impl<'a> FieldType<'a> {
    /// Parses a field descriptor, with nothing behind it. Names inside are not checked.
    pub fn parse(text: &'a [u8]) -> Option<FieldType<'a>> {
        let (parsed, rest) = take_type(text)?;
        (rest.is_empty() && parsed.basic != BasicType::Void).then_some(parsed)
    }

    /// The name by which the class of this type is loaded: the class's internal name, or the whole
    /// descriptor of an array; `None` for primitive types.
    pub fn class_name(&self) -> Option<Symbol> {
        match self.basic {
            BasicType::Object => Some(Symbol::intern(&self.text[1..self.text.len() - 1])),
            BasicType::Array => Some(Symbol::intern(self.text)),
            _ => None,
        }
    }

    #[inline]
    pub fn slots(&self) -> u16 {
        self.basic.slots()
    }
}

/// A method descriptor taken apart. Parsing allocates nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodDescriptor<'a> {
    parameters: &'a [u8],
    pub result: FieldType<'a>,
}

impl<'a> MethodDescriptor<'a> {
    /// `None` when it is none. Names inside are not checked.
    pub fn parse(text: &'a [u8]) -> Option<MethodDescriptor<'a>> {
        let inside = text.strip_prefix(b"(")?;
        let mut rest = inside;
        while *rest.first()? != b')' {
            let (parameter, behind) = take_type(rest)?;
            if parameter.basic == BasicType::Void {
                return None;
            }
            rest = behind;
        }
        let parameters = &inside[..inside.len() - rest.len()];
        let (result, behind) = take_type(&rest[1..])?;
        behind.is_empty().then_some(MethodDescriptor { parameters, result })
    }

    /// Parses the descriptor of a method that has passed the format checks.
    ///
    /// # Panics
    /// When it is none.
    pub fn of(descriptor: Symbol) -> MethodDescriptor<'static> {
        MethodDescriptor::parse(descriptor.bytes())
            .unwrap_or_else(|| panic!("unchecked method descriptor {descriptor}"))
    }

    pub fn parameters(&self) -> Parameters<'a> {
        Parameters { rest: self.parameters }
    }

    /// Slots of the parameters, without a receiver. Larger than 255 only in unchecked descriptors.
    pub fn parameter_slots(&self) -> usize {
        self.parameters().map(|parameter| parameter.slots() as usize).sum()
    }
}

/// The parameter types of a method, in order.
#[derive(Clone, Debug)]
pub struct Parameters<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Parameters<'a> {
    type Item = FieldType<'a>;

    #[inline]
    fn next(&mut self) -> Option<FieldType<'a>> {
        let (parameter, rest) = take_type(self.rest)?;
        self.rest = rest;
        Some(parameter)
    }
}

/// Dimensions and element type of an array descriptor, `[[I` for example; `None` for others.
pub fn array_element(descriptor: &[u8]) -> Option<(usize, FieldType<'_>)> {
    let dimensions = descriptor.iter().take_while(|&&letter| letter == b'[').count();
    if dimensions == 0 {
        return None;
    }
    Some((dimensions, FieldType::parse(&descriptor[dimensions..])?))
}

/// An internal name with dots for slashes, for messages.
pub fn external_name(class_name: Symbol) -> String {
    class_name.text().replace('/', ".")
}

/// The type at the start of a text, and the rest behind it. Void counts as a type.
pub(super) fn take_type(text: &[u8]) -> Option<(FieldType<'_>, &[u8])> {
    let basic = BasicType::from_letter(*text.first()?)?;
    let length = match basic {
        BasicType::Object => name_end(text, 0)?,
        BasicType::Array => {
            let dimensions = text.iter().take_while(|&&letter| letter == b'[').count();
            match BasicType::from_letter(*text.get(dimensions)?)? {
                _ if dimensions > 255 => return None,
                BasicType::Void => return None,
                BasicType::Object => name_end(text, dimensions)?,
                _ => dimensions + 1,
            }
        }
        _ => 1,
    };
    let (text, rest) = text.split_at(length);
    Some((FieldType { basic, text }, rest))
}

/// Behind the `;` of the class name whose `L` is at `start`; names are not empty.
fn name_end(text: &[u8], start: usize) -> Option<usize> {
    let semicolon = start + text[start..].iter().position(|&byte| byte == b';')?;
    (semicolon > start + 1).then_some(semicolon + 1)
}

/// The package part of an internal class name; array descriptors have their element's.
pub fn package_of(name: &[u8]) -> &[u8] {
    let brackets = name.iter().take_while(|b| **b == b'[').count();
    let element = &name[brackets..];
    let element =
        if brackets > 0 && element.first() == Some(&b'L') { &element[1..] } else { element };
    // The suffix of a hidden class is set off by '+', and holds no slash before it.
    element.iter().rposition(|b| *b == b'/').map_or(&[], |at| &element[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_methods() {
        let descriptor = MethodDescriptor::parse(b"(IJ[[DLjava/lang/String;Z)[I").unwrap();
        let letters: Vec<_> = descriptor.parameters().map(|p| p.basic.letter()).collect();
        assert_eq!(letters, b"IJ[LZ");
        assert_eq!(descriptor.parameter_slots(), 6);
        assert_eq!(descriptor.result.text, b"[I");
        let names: Vec<_> = descriptor.parameters().filter_map(|p| p.class_name()).collect();
        assert_eq!(names, [Symbol::of("[[D"), Symbol::of("java/lang/String")]);
        assert_eq!(MethodDescriptor::parse(b"()V").unwrap().result.basic, BasicType::Void);
    }

    #[test]
    fn refuses_broken_descriptors() {
        for bad in ["", "(", "()", "(V)V", "()VV", "(L;)V", "([)V", "([V)V", "(Lx)V", "()L", "V"] {
            assert_eq!(MethodDescriptor::parse(bad.as_bytes()), None, "{bad}");
        }
        for bad in ["", "V", "L", "Lx", "L;", "[", "II", "X"] {
            assert_eq!(FieldType::parse(bad.as_bytes()), None, "{bad}");
        }
        assert!(FieldType::parse(&[&[b'['; 256][..], b"I"].concat()).is_none());
        assert!(FieldType::parse(&[&[b'['; 255][..], b"I"].concat()).is_some());
    }

    #[test]
    fn takes_names_apart() {
        let (dimensions, element) = array_element(b"[[Lx/Y;").unwrap();
        assert_eq!((dimensions, element.class_name()), (2, Some(Symbol::of("x/Y"))));
    }
}
