//! The constant pool: read all entries, then follow their indices.

use super::names::is_legal_utf8;
use super::{Parser, ensure, fail};
use crate::constant_pool::{ConstantPool, CpEntry, ref_kind, tag};
use crate::error::ClassFormat;
use crate::symbol::Symbol;

/// An entry with its indices, which may lead forward.
#[derive(Clone, Copy)]
enum Raw {
    Done(CpEntry),
    Class(u16),
    String(u16),
    NameAndType(u16, u16),
    MethodType(u16),
}

impl Parser<'_> {
    pub(super) fn constant_pool(&mut self) -> Result<ConstantPool, ClassFormat> {
        let raw = self.raw_entries()?;
        if self.module_constant.is_some() {
            // The access flags decide about the error, and nothing else is looked at.
            return Ok(ConstantPool::default());
        }
        let pool = self.link_entries(&raw)?;
        for index in 1..pool.len() as u16 {
            self.check_names(&pool, &raw, index)?;
        }
        Ok(pool)
    }

    fn raw_entries(&mut self) -> Result<Vec<Raw>, ClassFormat> {
        let class = self.class_name;
        let count = self.reader.u2()?;
        ensure!(count >= 1, "Illegal constant pool size {count} in class file {class}");
        let mut entries = self.reader.vec_for(count, 2);
        entries.push(Raw::Done(CpEntry::Unusable));
        while entries.len() < count as usize {
            let tag = self.reader.u1()?;
            if matches!(tag, tag::LONG | tag::DOUBLE) {
                let index = entries.len();
                ensure!(
                    index + 1 < count as usize,
                    "Invalid constant pool entry {index} in class file {class}"
                );
                let bits = self.reader.u8()?;
                let entry = match tag {
                    tag::LONG => CpEntry::Long(bits as i64),
                    _ => CpEntry::Double(bits),
                };
                entries.extend([Raw::Done(entry), Raw::Done(CpEntry::Unusable)]);
                continue;
            }
            entries.push(self.raw_entry(tag)?);
        }
        Ok(entries)
    }

    fn raw_entry(&mut self, tag: u8) -> Result<Raw, ClassFormat> {
        let class = self.class_name;
        let version_needed = match tag {
            tag::METHOD_HANDLE | tag::METHOD_TYPE | tag::INVOKE_DYNAMIC => 51,
            tag::DYNAMIC => 55,
            _ => 0,
        };
        ensure!(
            self.major_version >= version_needed,
            "Class file version does not support constant tag {tag} in class file {class}"
        );
        let reader = &mut self.reader;
        let entry = match tag {
            tag::UTF8 => {
                let length = reader.u2()?;
                reader.require(length as usize + 1)?;
                let bytes = reader.take(length as usize)?;
                ensure!(
                    is_legal_utf8(bytes, self.major_version),
                    "Illegal UTF8 string in constant pool in class file {class}"
                );
                CpEntry::Utf8(Symbol::intern(bytes))
            }
            tag::INTEGER => CpEntry::Integer(reader.u4()? as i32),
            tag::FLOAT => CpEntry::Float(reader.u4()?),
            tag::CLASS => return Ok(Raw::Class(reader.u2()?)),
            tag::STRING => return Ok(Raw::String(reader.u2()?)),
            tag::METHOD_TYPE => return Ok(Raw::MethodType(reader.u2()?)),
            tag::NAME_AND_TYPE => return Ok(Raw::NameAndType(reader.u2()?, reader.u2()?)),
            tag::FIELDREF => {
                CpEntry::Fieldref { class_index: reader.u2()?, name_and_type_index: reader.u2()? }
            }
            tag::METHODREF => {
                CpEntry::Methodref { class_index: reader.u2()?, name_and_type_index: reader.u2()? }
            }
            tag::INTERFACE_METHODREF => CpEntry::InterfaceMethodref {
                class_index: reader.u2()?,
                name_and_type_index: reader.u2()?,
            },
            tag::METHOD_HANDLE => CpEntry::MethodHandle { kind: reader.u1()?, index: reader.u2()? },
            tag::DYNAMIC | tag::INVOKE_DYNAMIC => {
                let (bootstrap_index, name_and_type_index) = (reader.u2()?, reader.u2()?);
                let needed = &mut self.bootstrap_methods_needed;
                *needed = (*needed).max(bootstrap_index as u32 + 1);
                if tag == tag::DYNAMIC {
                    CpEntry::Dynamic { bootstrap_index, name_and_type_index }
                } else {
                    CpEntry::InvokeDynamic { bootstrap_index, name_and_type_index }
                }
            }
            tag::MODULE | tag::PACKAGE if self.major_version >= 53 => {
                reader.u2()?;
                self.module_constant.get_or_insert(tag);
                CpEntry::Unusable
            }
            _ => fail!("Unknown constant tag {tag} in class file {class}"),
        };
        Ok(Raw::Done(entry))
    }

    /// Looks up the names that entries consist of.
    fn link_entries(&self, raw: &[Raw]) -> Result<ConstantPool, ClassFormat> {
        let utf8 = |index: u16| match raw.get(index as usize) {
            Some(&Raw::Done(CpEntry::Utf8(text))) => Ok(text),
            _ => fail!("Invalid constant pool index {index} in class file {}", self.class_name),
        };
        let link = |index: usize| -> Result<CpEntry, ClassFormat> {
            Ok(match raw[index] {
                Raw::Done(entry) => {
                    self.check_references(raw, index, entry)?;
                    entry
                }
                Raw::Class(name_index) => CpEntry::Class { name_index, name: utf8(name_index)? },
                Raw::String(utf8_index) => CpEntry::String { utf8_index, utf8: utf8(utf8_index)? },
                Raw::NameAndType(name, descriptor) => {
                    CpEntry::NameAndType { name: utf8(name)?, descriptor: utf8(descriptor)? }
                }
                Raw::MethodType(descriptor) => {
                    CpEntry::MethodType { descriptor: utf8(descriptor)? }
                }
            })
        };
        let entries: Result<Vec<CpEntry>, ClassFormat> = (0..raw.len()).map(link).collect();
        Ok(ConstantPool::new(entries?))
    }

    /// Checks that an entry's indices lead to entries of the right kind.
    fn check_references(
        &self,
        raw: &[Raw],
        index: usize,
        entry: CpEntry,
    ) -> Result<(), ClassFormat> {
        let class = self.class_name;
        let invalid = |index: u16| -> Result<(), ClassFormat> {
            fail!("Invalid constant pool index {index} in class file {class}")
        };
        let is_class = |class: u16| matches!(raw.get(class as usize), Some(Raw::Class(_)));
        let is_nat = |nat: u16| matches!(raw.get(nat as usize), Some(Raw::NameAndType(..)));
        match entry {
            CpEntry::Fieldref { class_index, .. }
            | CpEntry::Methodref { class_index, .. }
            | CpEntry::InterfaceMethodref { class_index, .. }
                if !is_class(class_index) =>
            {
                invalid(class_index)
            }
            CpEntry::Fieldref { name_and_type_index, .. }
            | CpEntry::Methodref { name_and_type_index, .. }
            | CpEntry::InterfaceMethodref { name_and_type_index, .. }
            | CpEntry::Dynamic { name_and_type_index, .. }
            | CpEntry::InvokeDynamic { name_and_type_index, .. }
                if !is_nat(name_and_type_index) =>
            {
                invalid(name_and_type_index)
            }
            CpEntry::MethodHandle { kind, index: reference } => {
                let target = match raw.get(reference as usize) {
                    _ if reference == 0 => return invalid(0),
                    None => return invalid(reference),
                    Some(&Raw::Done(target)) => target,
                    Some(_) => CpEntry::Unusable,
                };
                self.check_handle_kind(index, kind, reference, target)
            }
            _ => Ok(()),
        }
    }

    fn check_handle_kind(
        &self,
        index: usize,
        kind: u8,
        reference: u16,
        target: CpEntry,
    ) -> Result<(), ClassFormat> {
        let class = self.class_name;
        let is_field = matches!(target, CpEntry::Fieldref { .. });
        let is_method = matches!(target, CpEntry::Methodref { .. });
        let is_interface_method = matches!(target, CpEntry::InterfaceMethodref { .. });
        let (is_right, wanted) = match kind {
            ref_kind::GET_FIELD..=ref_kind::PUT_STATIC => (is_field, "a field"),
            ref_kind::INVOKE_VIRTUAL | ref_kind::NEW_INVOKE_SPECIAL => (is_method, "a method"),
            ref_kind::INVOKE_STATIC | ref_kind::INVOKE_SPECIAL => {
                let allows_interface = self.major_version >= 52;
                (is_method || allows_interface && is_interface_method, "a method")
            }
            ref_kind::INVOKE_INTERFACE => (is_interface_method, "an interface method"),
            _ => {
                fail!("Bad method handle kind at constant pool index {index} in class file {class}")
            }
        };
        ensure!(
            is_right,
            "Invalid constant pool index {reference} in class file {class} (not {wanted})"
        );
        Ok(())
    }

    /// Checks the names and descriptors of an entry whose indices are right.
    fn check_names(&self, pool: &ConstantPool, raw: &[Raw], index: u16) -> Result<(), ClassFormat> {
        match pool.entry(index) {
            CpEntry::Class { name, .. } => self.check_class_name(name),
            CpEntry::NameAndType { name, descriptor } => {
                if let Raw::NameAndType(name_index, descriptor_index) = raw[index as usize] {
                    self.check_not_empty(descriptor, descriptor_index)?;
                    self.check_not_empty(name, name_index)?;
                }
                if is_method(descriptor) {
                    self.check_method_name(name)?;
                    self.check_method_descriptor(name, descriptor).map(drop)
                } else {
                    self.check_field_name(name)?;
                    self.check_field_descriptor(name, descriptor)
                }
            }
            CpEntry::MethodType { descriptor } => {
                self.check_method_descriptor(Symbol::of("type"), descriptor).map(drop)
            }
            entry => self.check_use_of_name(pool, raw, entry),
        }
    }

    /// Checks that a member or dynamic constant has a name and descriptor that fit its kind.
    fn check_use_of_name(
        &self,
        pool: &ConstantPool,
        raw: &[Raw],
        entry: CpEntry,
    ) -> Result<(), ClassFormat> {
        let class = self.class_name;
        let (nat_index, kind, wants_method) = match entry {
            CpEntry::Fieldref { name_and_type_index, .. } => (name_and_type_index, "Field", false),
            CpEntry::Dynamic { name_and_type_index, .. } => {
                (name_and_type_index, "CONSTANT_Dynamic", false)
            }
            CpEntry::Methodref { name_and_type_index, .. }
            | CpEntry::InterfaceMethodref { name_and_type_index, .. }
            | CpEntry::InvokeDynamic { name_and_type_index, .. } => {
                (name_and_type_index, "Method", true)
            }
            CpEntry::MethodHandle { kind, index } if kind > ref_kind::PUT_STATIC => {
                return self.check_handle_name(pool, raw, kind, index);
            }
            _ => return Ok(()),
        };
        let Some((name, descriptor)) = pool.name_and_type(nat_index) else { return Ok(()) };
        if is_method(descriptor) != wants_method {
            return self.illegal_signature(kind, name, descriptor);
        }
        let is_class_method = matches!(entry, CpEntry::Methodref { .. });
        ensure!(
            !is_class_method || name.bytes() == b"<init>" || name.bytes().first() != Some(&b'<'),
            "Bad method name at constant pool index {} in class file {class}",
            name_index(raw, nat_index)
        );
        Ok(())
    }

    fn check_handle_name(
        &self,
        pool: &ConstantPool,
        raw: &[Raw],
        kind: u8,
        reference: u16,
    ) -> Result<(), ClassFormat> {
        let class = self.class_name;
        let nat_index = match pool.entry(reference) {
            CpEntry::Methodref { name_and_type_index, .. }
            | CpEntry::InterfaceMethodref { name_and_type_index, .. } => name_and_type_index,
            _ => return Ok(()),
        };
        let is_constructor =
            pool.name_and_type(nat_index).is_some_and(|(name, _)| name.bytes() == b"<init>");
        let at = name_index(raw, nat_index);
        match kind {
            ref_kind::NEW_INVOKE_SPECIAL => ensure!(
                is_constructor,
                "Bad constructor name at constant pool index {at} in class file {class}"
            ),
            ref_kind::INVOKE_INTERFACE => {}
            _ => ensure!(
                !is_constructor,
                "Bad method name at constant pool index {at} in class file {class}"
            ),
        }
        Ok(())
    }

    fn check_not_empty(&self, text: Symbol, index: u16) -> Result<(), ClassFormat> {
        ensure!(
            !text.bytes().is_empty(),
            "Illegal zero length constant pool entry at {index} in class {}",
            self.class_name
        );
        Ok(())
    }
}

/// Where the name of a name-and-type entry is.
fn name_index(raw: &[Raw], name_and_type: u16) -> u16 {
    match raw.get(name_and_type as usize) {
        Some(&Raw::NameAndType(name, _)) => name,
        _ => 0,
    }
}

fn is_method(descriptor: Symbol) -> bool {
    descriptor.bytes().first() == Some(&b'(')
}
