//! Annotations that the VM itself honours. All others are kept as bytes for reflection.

use super::reader::Reader;
use crate::class::ClassMarks;
use crate::constant_pool::ConstantPool;
use crate::error::ClassFormat;
use crate::member::{FieldMarks, MethodMarks};
use crate::symbol::Symbol;

/// An annotation of which only the type and, if it is a lone string, the value are of interest.
struct Seen {
    type_descriptor: Symbol,
    /// Constant pool index of the string that is the only element and is named `value`; else 0.
    value: u16,
}

pub fn method_marks(pool: &ConstantPool, annotations: &[u8]) -> MethodMarks {
    let mut marks = MethodMarks::empty();
    for_each(pool, annotations, |seen| {
        marks |= match seen.type_descriptor.bytes() {
            b"Ljdk/internal/reflect/CallerSensitive;" => MethodMarks::CALLER_SENSITIVE,
            b"Ljdk/internal/vm/annotation/Hidden;" => MethodMarks::HIDDEN,
            b"Ljava/lang/invoke/LambdaForm$Hidden;" => MethodMarks::HIDDEN,
            b"Ljdk/internal/vm/annotation/ForceInline;" => MethodMarks::FORCE_INLINE,
            b"Ljdk/internal/vm/annotation/DontInline;" => MethodMarks::DONT_INLINE,
            b"Ljdk/internal/vm/annotation/IntrinsicCandidate;" => MethodMarks::INTRINSIC_CANDIDATE,
            b"Ljdk/internal/vm/annotation/ReservedStackAccess;" => {
                MethodMarks::RESERVED_STACK_ACCESS
            }
            b"Ljava/lang/invoke/LambdaForm$Compiled;" => MethodMarks::LAMBDA_FORM_COMPILED,
            b"Ljava/lang/invoke/InjectedProfile;" => MethodMarks::INJECTED_PROFILE,
            b"Ljdk/internal/misc/ScopedMemoryAccess$Scoped;" => MethodMarks::SCOPED,
            _ => MethodMarks::empty(),
        };
    });
    marks
}

/// The marks of a field and the group it is contended in: a Utf8 index, 0 for the anonymous one.
pub fn field_marks(pool: &ConstantPool, annotations: &[u8]) -> (FieldMarks, u16) {
    let mut marks = FieldMarks::empty();
    let mut group = 0;
    for_each(pool, annotations, |seen| match seen.type_descriptor.bytes() {
        b"Ljdk/internal/vm/annotation/Stable;" => marks |= FieldMarks::STABLE,
        b"Ljdk/internal/vm/annotation/Contended;" => {
            marks |= FieldMarks::CONTENDED;
            group = seen.value;
        }
        _ => {}
    });
    (marks, group)
}

pub fn class_marks(pool: &ConstantPool, annotations: &[u8]) -> ClassMarks {
    let mut marks = ClassMarks::empty();
    for_each(pool, annotations, |seen| match seen.type_descriptor.bytes() {
        b"Ljdk/internal/vm/annotation/Contended;" => marks |= ClassMarks::CONTENDED,
        b"Ljdk/internal/ValueBased;" => marks |= ClassMarks::VALUE_BASED,
        _ => {}
    });
    marks
}

/// Visits annotations up to the first malformed one, about which reflection will complain.
fn for_each(pool: &ConstantPool, annotations: &[u8], mut visit: impl FnMut(Seen)) {
    let mut reader = Reader::new(annotations);
    let Ok(count) = reader.u2() else { return };
    for _ in 0..count {
        let Ok(seen) = next(pool, &mut reader) else { return };
        visit(seen);
    }
}

fn next(pool: &ConstantPool, reader: &mut Reader) -> Result<Seen, ClassFormat> {
    let malformed = || ClassFormat::format_error("malformed annotation");
    let type_descriptor = pool.utf8(reader.u2()?).ok_or_else(malformed)?;
    let elements = reader.u2()?;
    let value = if elements == 1 { lone_string(pool, &mut reader.clone()) } else { 0 };
    skip_elements(reader, elements)?;
    Ok(Seen { type_descriptor, value })
}

fn lone_string(pool: &ConstantPool, reader: &mut Reader) -> u16 {
    let mut read = || -> Result<(u16, u8, u16), ClassFormat> {
        Ok((reader.u2()?, reader.u1()?, reader.u2()?))
    };
    let Ok((name, b's', value)) = read() else { return 0 };
    let is_named_value = pool.utf8(name).is_some_and(|name| name.bytes() == b"value");
    let is_empty = pool.utf8(value).is_none_or(|text| text.bytes().is_empty());
    if is_named_value && !is_empty { value } else { 0 }
}

/// Skips the elements of an annotation without recursion: nesting is as deep as the bytes allow.
fn skip_elements(reader: &mut Reader, elements: u16) -> Result<(), ClassFormat> {
    // The values still to be skipped, innermost last: how many, and whether names precede them.
    let mut open = vec![(elements, true)];
    while let Some((left, named)) = open.last_mut() {
        if *left == 0 {
            open.pop();
            continue;
        }
        *left -= 1;
        if *named {
            reader.u2()?;
        }
        match reader.u1()? {
            b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' | b'c' | b's' => {
                reader.u2()?;
            }
            b'e' => {
                reader.u4()?;
            }
            b'[' => open.push((reader.u2()?, false)),
            b'@' => {
                reader.u2()?;
                open.push((reader.u2()?, true));
            }
            _ => return Err(ClassFormat::format_error("malformed annotation")),
        }
    }
    Ok(())
}
