//! The `Record` attribute (JVMS 4.7.30).

use super::member_attributes::AnnotationAttributes;
use super::{Parser, ensure, fail};
use crate::class::RecordComponent;
use crate::error::ClassFormat;
use crate::member::Annotations;

impl Parser<'_> {
    pub(super) fn record(&mut self, length: usize) -> Result<Box<[RecordComponent]>, ClassFormat> {
        let start = self.reader.position();
        let count = self.reader.u2()?;
        let mut components = self.reader.vec_for(count, 6);
        for _ in 0..count {
            components.push(self.record_component()?);
        }
        ensure!(
            self.reader.position() - start == length,
            "Record attribute has wrong length in class file {}",
            self.class_name
        );
        Ok(components.into_boxed_slice())
    }

    fn record_component(&mut self) -> Result<RecordComponent, ClassFormat> {
        let class = self.class_name;
        self.reader.require(6)?;
        let name_index = self.reader.u2()?;
        let Some(name) = self.pool.utf8(name_index) else {
            fail!(
                "Invalid constant pool index {name_index} for name in Record attribute in class \
                 file {class}"
            );
        };
        self.check_field_name(name)?;
        let descriptor_index = self.reader.u2()?;
        let Some(descriptor) = self.pool.utf8(descriptor_index) else {
            fail!(
                "Invalid constant pool index {descriptor_index} for descriptor in Record attribute \
                 in class file {class}"
            );
        };
        self.check_field_descriptor(name, descriptor)?;
        let mut component = RecordComponent {
            name,
            name_index,
            descriptor,
            descriptor_index,
            signature: None,
            signature_index: 0,
            annotations: Annotations::default(),
        };
        let mut annotations = AnnotationAttributes::default();
        for _ in 0..self.reader.u2()? {
            let (name, length) = self.attribute_header("Invalid Record attribute name index")?;
            if name.bytes() == b"Signature" {
                ensure!(
                    component.signature.is_none(),
                    "Multiple Signature attributes for Record component in class file {class}"
                );
                ensure!(
                    length == 2,
                    "Invalid Signature attribute length {length} in Record component in class file \
                     {class}"
                );
                let (signature, index) = self.signature_attribute()?;
                (component.signature, component.signature_index) = (Some(signature), index);
                continue;
            }
            let place = "for Record component ";
            if !self.annotation_attribute(name, length, place, &mut annotations)? {
                self.reader.take(length)?;
            }
        }
        component.annotations = annotations.kept;
        Ok(component)
    }
}
