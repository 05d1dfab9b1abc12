//! Fields and their attributes (JVMS 4.5).

use super::annotations::field_marks;
use super::member_attributes::AnnotationAttributes;
use super::{Parser, ensure, fail, modifiers};
use crate::access::AccessFlags;
use crate::constant_pool::CpEntry;
use crate::descriptor::{BasicType, external_name};
use crate::error::ClassFormat;
use crate::member::{Annotations, FieldInfo, FieldMarks};
use crate::symbol::Symbol;
use rustc_hash::FxHashSet;

impl Parser<'_> {
    pub(super) fn fields(&mut self, in_interface: bool) -> Result<Box<[FieldInfo]>, ClassFormat> {
        let count = self.reader.u2()?;
        let mut fields = self.reader.vec_for(count, 8);
        for _ in 0..count {
            fields.push(self.field(in_interface)?);
        }
        if self.options.check_format {
            let mut seen = FxHashSet::default();
            for FieldInfo { name, descriptor, .. } in &fields {
                ensure!(
                    seen.insert((*name, *descriptor)),
                    "Duplicate field name \"{name}\" with signature \"{}\" in class file {}",
                    external_name(*descriptor),
                    self.class_name
                );
            }
        }
        Ok(fields.into_boxed_slice())
    }

    fn field(&mut self, in_interface: bool) -> Result<FieldInfo, ClassFormat> {
        let class = self.class_name;
        self.reader.require(8)?;
        let flags = AccessFlags::from_class_file(self.reader.u2()?) & modifiers::FIELD_MODIFIERS;
        self.check_field_modifiers(flags, in_interface)?;
        let name_index = self.reader.u2()?;
        let Some(name) = self.pool.utf8(name_index) else {
            fail!("Invalid constant pool index {name_index} for field name in class file {class}");
        };
        self.check_field_name(name)?;
        let descriptor_index = self.reader.u2()?;
        let Some(descriptor) = self.pool.utf8(descriptor_index) else {
            fail!(
                "Invalid constant pool index {descriptor_index} for field signature in class file \
                 {class}"
            );
        };
        self.check_field_descriptor(name, descriptor)?;
        let mut field = FieldInfo {
            access_flags: flags,
            name,
            name_index,
            descriptor,
            descriptor_index,
            constant_value: None,
            signature: None,
            signature_index: 0,
            is_synthetic: flags.contains(AccessFlags::SYNTHETIC),
            is_deprecated: false,
            annotations: None,
            marks: FieldMarks::empty(),
            contended_group: 0,
        };
        let mut annotations = AnnotationAttributes::default();
        for _ in 0..self.reader.u2()? {
            self.field_attribute(&mut field, &mut annotations)?;
        }
        if annotations.kept != Annotations::default() {
            field.annotations = Some(Box::new(annotations.kept));
        }
        if let Some(visible) = field.annotations() {
            (field.marks, field.contended_group) = field_marks(&self.pool, visible);
        }
        Ok(field)
    }

    fn field_attribute(
        &mut self,
        field: &mut FieldInfo,
        annotations: &mut AnnotationAttributes,
    ) -> Result<(), ClassFormat> {
        let class = self.class_name;
        let (name, length) = self.attribute_header("Invalid field attribute index")?;
        let since_5 = self.major_version >= 49;
        match name.bytes() {
            b"ConstantValue" if field.access_flags.is_static() => {
                ensure!(
                    field.constant_value.is_none(),
                    "Duplicate ConstantValue attribute in class file {class}"
                );
                ensure!(
                    length == 2,
                    "Invalid ConstantValue field attribute length {length} in class file {class}"
                );
                let index = self.reader.u2()?;
                self.check_constant_value(index, field.descriptor)?;
                field.constant_value = Some(index);
            }
            b"Synthetic" | b"Deprecated" => {
                ensure!(
                    length == 0,
                    "Invalid {name} field attribute length {length} in class file {class}"
                );
                if name.bytes() == b"Synthetic" {
                    field.is_synthetic = true;
                    field.access_flags.insert(AccessFlags::SYNTHETIC);
                } else {
                    field.is_deprecated = true;
                }
            }
            b"Signature" if since_5 => {
                ensure!(
                    field.signature.is_none(),
                    "Multiple Signature attributes for field in class file {class}"
                );
                ensure!(
                    length == 2,
                    "Wrong size {length} for field's Signature attribute in class file {class}"
                );
                let (signature, index) = self.signature_attribute()?;
                (field.signature, field.signature_index) = (Some(signature), index);
            }
            _ => {
                if !since_5
                    || !self.annotation_attribute(name, length, "for field ", annotations)?
                {
                    self.reader.take(length)?;
                }
            }
        }
        Ok(())
    }

    fn check_constant_value(&self, index: u16, descriptor: Symbol) -> Result<(), ClassFormat> {
        let class = self.class_name;
        ensure!(
            (1..self.pool.len()).contains(&(index as usize)),
            "Bad initial value index {index} in ConstantValue attribute in class file {class}"
        );
        let value = self.pool.entry(index);
        let basic = descriptor.bytes().first().and_then(|&letter| BasicType::from_letter(letter));
        let is_consistent = match basic {
            Some(BasicType::Long) => matches!(value, CpEntry::Long(_)),
            Some(BasicType::Float) => matches!(value, CpEntry::Float(_)),
            Some(BasicType::Double) => matches!(value, CpEntry::Double(_)),
            Some(BasicType::Object) => {
                ensure!(
                    descriptor.bytes() == b"Ljava/lang/String;"
                        && matches!(value, CpEntry::String { .. }),
                    "Bad string initial value in class file {class}"
                );
                true
            }
            Some(BasicType::Array) | None => {
                fail!("Unable to set initial value {index} in class file {class}")
            }
            Some(_) => matches!(value, CpEntry::Integer(_)),
        };
        ensure!(is_consistent, "Inconsistent constant value type in class file {class}");
        Ok(())
    }
}
