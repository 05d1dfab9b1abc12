//! Methods and their attributes (JVMS 4.6).

use super::annotations::method_marks;
use super::member_attributes::AnnotationAttributes;
use super::{Parser, ensure, fail, modifiers};
use crate::access::AccessFlags;
use crate::descriptor::external_name;
use crate::error::ClassFormat;
use crate::member::{Annotations, MethodInfo, MethodMarks, MethodParameter, RareAttributes};
use rustc_hash::FxHashSet;

/// Attributes of a method of which a second one is an error, and those that belong to none of its fields.
#[derive(Default)]
struct Seen {
    annotations: AnnotationAttributes,
    has_exceptions: bool,
    has_invisible_parameter_annotations: bool,
}

fn rare(method: &mut MethodInfo) -> &mut RareAttributes {
    method.rare.get_or_insert_default()
}

impl Parser<'_> {
    pub(super) fn methods(&mut self, in_interface: bool) -> Result<Box<[MethodInfo]>, ClassFormat> {
        let count = self.reader.u2()?;
        let mut methods = self.reader.vec_for(count, 8);
        for _ in 0..count {
            methods.push(self.method(in_interface)?);
        }
        if self.options.check_format {
            let mut seen = FxHashSet::default();
            for MethodInfo { name, descriptor, .. } in &methods {
                ensure!(
                    seen.insert((*name, *descriptor)),
                    "Duplicate method name \"{name}\" with signature \"{}\" in class file {}",
                    external_name(*descriptor),
                    self.class_name
                );
            }
        }
        Ok(methods.into_boxed_slice())
    }

    fn method(&mut self, in_interface: bool) -> Result<MethodInfo, ClassFormat> {
        let mut method = self.method_header(in_interface)?;
        let mut seen = Seen::default();
        for _ in 0..self.reader.u2()? {
            self.method_attribute(&mut method, &mut seen)?;
        }
        let has_no_code =
            method.access_flags.intersects(AccessFlags::NATIVE | AccessFlags::ABSTRACT);
        ensure!(
            has_no_code || method.code.is_some(),
            "Absent Code attribute in method that is not native or abstract in class file {}",
            self.class_name
        );
        if seen.annotations.kept != Annotations::default() {
            rare(&mut method).annotations = seen.annotations.kept;
        }
        if let Some(visible) = method.annotations() {
            method.marks = method_marks(&self.pool, visible);
        }
        if self.options.is_hidden {
            method.marks |= MethodMarks::HIDDEN;
        }
        Ok(method)
    }

    fn method_header(&mut self, in_interface: bool) -> Result<MethodInfo, ClassFormat> {
        let class = self.class_name;
        self.reader.require(8)?;
        let flags = AccessFlags::from_class_file(self.reader.u2()?);
        let name_index = self.reader.u2()?;
        let Some(name) = self.pool.utf8(name_index) else {
            fail!("Illegal constant pool index {name_index} for method name in class file {class}");
        };
        self.check_method_name(name)?;
        let descriptor_index = self.reader.u2()?;
        let Some(descriptor) = self.pool.utf8(descriptor_index) else {
            fail!(
                "Illegal constant pool index {descriptor_index} for method signature in class file \
                 {class}"
            );
        };
        let access_flags = if name.bytes() == b"<clinit>" {
            self.initializer_flags(flags)?
        } else {
            self.check_method_modifiers(flags, in_interface, name)?;
            flags & modifiers::METHOD_MODIFIERS
        };
        ensure!(
            !(in_interface && name.bytes() == b"<init>"),
            "Interface cannot have a method named <init>, class file {class}"
        );
        let parameters = self.check_method_descriptor(name, descriptor)?;
        let argument_slots = parameters + usize::from(!access_flags.is_static());
        ensure!(
            argument_slots <= 255,
            "Too many arguments in method signature in class file {class}"
        );
        Ok(MethodInfo {
            access_flags,
            name,
            name_index,
            descriptor,
            descriptor_index,
            argument_slots: argument_slots as u16,
            code: None,
            signature: None,
            signature_index: 0,
            is_synthetic: access_flags.contains(AccessFlags::SYNTHETIC),
            is_deprecated: false,
            marks: MethodMarks::empty(),
            rare: None,
        })
    }

    /// Of a class initializer only `static` counts, and before Java 7 not even that.
    fn initializer_flags(&self, flags: AccessFlags) -> Result<AccessFlags, ClassFormat> {
        if self.major_version < 51 {
            return Ok(AccessFlags::STATIC);
        }
        ensure!(
            flags.is_static(),
            "Method <clinit> is not static in class file {}",
            self.class_name
        );
        let strict =
            if self.major_version <= 60 { AccessFlags::STRICT } else { AccessFlags::empty() };
        Ok(flags & (AccessFlags::STATIC | strict))
    }

    fn method_attribute(
        &mut self,
        method: &mut MethodInfo,
        seen: &mut Seen,
    ) -> Result<(), ClassFormat> {
        let class = self.class_name;
        let (name, length) = self.attribute_header("Invalid method attribute name index")?;
        let since_5 = self.major_version >= 49;
        match name.bytes() {
            b"Code" => {
                let forbidden = AccessFlags::NATIVE | AccessFlags::ABSTRACT;
                ensure!(
                    !method.access_flags.intersects(forbidden),
                    "Code attribute in native or abstract methods in class file {class}"
                );
                ensure!(method.code.is_none(), "Multiple Code attributes in class file {class}");
                method.code = Some(self.code(length, method.argument_slots)?);
            }
            b"Exceptions" => {
                ensure!(
                    !std::mem::replace(&mut seen.has_exceptions, true),
                    "Multiple Exceptions attributes in class file {class}"
                );
                rare(method).exceptions = self.exceptions(length)?;
            }
            b"MethodParameters" => {
                ensure!(
                    method.parameters().is_none(),
                    "Multiple MethodParameters attributes in class file {class}"
                );
                rare(method).parameters = Some(self.method_parameters(length)?);
            }
            b"Synthetic" | b"Deprecated" => {
                ensure!(
                    length == 0,
                    "Invalid {name} method attribute length {length} in class file {class}"
                );
                if name.bytes() == b"Synthetic" {
                    method.is_synthetic = true;
                    method.access_flags.insert(AccessFlags::SYNTHETIC);
                } else {
                    method.is_deprecated = true;
                }
            }
            _ if !since_5 => {
                self.reader.take(length)?;
            }
            b"Signature" => {
                ensure!(
                    method.signature.is_none(),
                    "Multiple Signature attributes for method in class file {class}"
                );
                ensure!(
                    length == 2,
                    "Invalid Signature attribute length {length} in class file {class}"
                );
                let (signature, index) = self.signature_attribute()?;
                (method.signature, method.signature_index) = (Some(signature), index);
            }
            b"RuntimeVisibleParameterAnnotations" => {
                self.check_first(method.parameter_annotations().is_some(), name.bytes())?;
                rare(method).parameter_annotations = Some(self.reader.take(length)?.into());
            }
            b"RuntimeInvisibleParameterAnnotations" => {
                let was_there =
                    std::mem::replace(&mut seen.has_invisible_parameter_annotations, true);
                self.check_first(was_there, name.bytes())?;
                self.reader.take(length)?;
            }
            b"AnnotationDefault" => {
                self.check_first(method.annotation_default().is_some(), name.bytes())?;
                rare(method).annotation_default = Some(self.reader.take(length)?.into());
            }
            _ => {
                let place = "for method ";
                if !self.annotation_attribute(name, length, place, &mut seen.annotations)? {
                    self.reader.take(length)?;
                }
            }
        }
        Ok(())
    }

    fn check_first(&self, was_there: bool, attribute: &[u8]) -> Result<(), ClassFormat> {
        ensure!(
            !was_there,
            "Multiple {} attributes for method in class file {}",
            String::from_utf8_lossy(attribute),
            self.class_name
        );
        Ok(())
    }

    fn exceptions(&mut self, length: usize) -> Result<Box<[u16]>, ClassFormat> {
        let class = self.class_name;
        let count = self.reader.u2()?;
        self.reader.require(2 * count as usize)?;
        let mut exceptions = self.reader.vec_for(count, 2);
        for _ in 0..count {
            let index = self.reader.u2()?;
            ensure!(
                self.has_class(index),
                "Exception name has bad type at constant pool {index} in class file {class}"
            );
            exceptions.push(index);
        }
        ensure!(
            length == 2 + 2 * count as usize,
            "Exceptions attribute has wrong length in class file {class}"
        );
        Ok(exceptions.into_boxed_slice())
    }

    /// Names are not checked by the parser: reflection checks them, so that it can throw its own exception.
    fn method_parameters(&mut self, length: usize) -> Result<Box<[MethodParameter]>, ClassFormat> {
        let count = self.reader.u1()?;
        ensure!(
            length == 1 + 4 * count as usize,
            "Invalid MethodParameters method attribute length {length} in class file"
        );
        let mut parameters = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let name_index = self.reader.u2()?;
            let access_flags = AccessFlags::from_class_file(self.reader.u2()?);
            parameters.push(MethodParameter { name_index, access_flags });
        }
        Ok(parameters.into_boxed_slice())
    }
}
