//! Attributes that classes, fields, methods and record components share.

use super::{Parser, fail};
use crate::error::ClassFormat;
use crate::member::Annotations;
use crate::symbol::Symbol;

/// Annotation attributes of one item, met so far.
#[derive(Default)]
pub struct AnnotationAttributes {
    pub kept: Annotations,
    has_invisible: bool,
    has_invisible_type: bool,
}

impl Parser<'_> {
    /// Reads the attribute if it holds annotations; `place` ends the message about a second one.
    pub(super) fn annotation_attribute(
        &mut self,
        name: Symbol,
        length: usize,
        place: &str,
        seen: &mut AnnotationAttributes,
    ) -> Result<bool, ClassFormat> {
        let was_there = match name.bytes() {
            b"RuntimeVisibleAnnotations" => seen.kept.visible.is_some(),
            b"RuntimeVisibleTypeAnnotations" => seen.kept.visible_type.is_some(),
            b"RuntimeInvisibleAnnotations" => std::mem::replace(&mut seen.has_invisible, true),
            b"RuntimeInvisibleTypeAnnotations" => {
                std::mem::replace(&mut seen.has_invisible_type, true)
            }
            _ => return Ok(false),
        };
        if was_there {
            fail!("Multiple {name} attributes {place}in class file {}", self.class_name);
        }
        let bytes = self.reader.take(length)?;
        match name.bytes() {
            b"RuntimeVisibleAnnotations" => seen.kept.visible = Some(bytes.into()),
            b"RuntimeVisibleTypeAnnotations" => seen.kept.visible_type = Some(bytes.into()),
            _ => {}
        }
        Ok(true)
    }

    /// The content of a `Signature` attribute of a field, method or record component.
    pub(super) fn signature_attribute(&mut self) -> Result<(Symbol, u16), ClassFormat> {
        let index = self.reader.u2()?;
        match self.pool.utf8(index) {
            Some(signature) => Ok((signature, index)),
            None => fail!(
                "Invalid Signature attribute at constant pool index {index} in class file {}",
                self.class_name
            ),
        }
    }
}
