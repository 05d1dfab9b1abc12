//! The `Code` attribute (JVMS 4.7.3) and its debugging tables. The instructions themselves are the
//! verifier's.

use super::{Parser, ensure, fail};
use crate::error::ClassFormat;
use crate::member::{Code, ExceptionHandler, LineNumber, LocalVariable};
use crate::symbol::Symbol;
use rustc_hash::FxHashMap;

/// Tables of a `Code` attribute, which may come in several attributes each.
#[derive(Default)]
struct Tables {
    line_numbers: Vec<LineNumber>,
    local_variables: Vec<LocalVariable>,
    /// `LocalVariableTypeTable` entries; only checked against the others, then dropped.
    local_variable_types: Vec<LocalVariable>,
    stack_map_table: Option<Box<[u8]>>,
}

impl Parser<'_> {
    pub(super) fn code(
        &mut self,
        attribute_length: usize,
        argument_slots: u16,
    ) -> Result<Code, ClassFormat> {
        let class = self.class_name;
        let start = self.reader.position();
        let max_stack = self.reader.u2()?;
        let max_locals = self.reader.u2()?;
        let code_length = self.reader.u4()?;
        ensure!(
            argument_slots <= max_locals,
            "Arguments can't fit into locals in class file {class}"
        );
        ensure!(
            (1..=65535).contains(&code_length),
            "Invalid method Code length {code_length} in class file {class}"
        );
        let bytecode: Box<[u8]> = self.reader.take(code_length as usize)?.into();
        let exception_table = self.exception_table(code_length)?;
        let mut tables = Tables::default();
        for _ in 0..self.reader.u2()? {
            self.code_attribute(code_length, max_locals, &mut tables)?;
        }
        ensure!(
            self.reader.position() - start == attribute_length,
            "Code segment has wrong length in class file {class}"
        );
        if self.options.check_format && !tables.local_variables.is_empty() {
            self.check_local_variables(&tables)?;
        }
        Ok(Code {
            max_stack,
            max_locals,
            bytecode,
            exception_table,
            line_numbers: tables.line_numbers.into_boxed_slice(),
            local_variables: tables.local_variables.into_boxed_slice(),
            stack_map_table: tables.stack_map_table,
        })
    }

    fn exception_table(
        &mut self,
        code_length: u32,
    ) -> Result<Box<[ExceptionHandler]>, ClassFormat> {
        let class = self.class_name;
        let count = self.reader.u2()?;
        self.reader.require(8 * count as usize)?;
        let mut handlers = self.reader.vec_for(count, 8);
        for _ in 0..count {
            let handler = ExceptionHandler {
                start_pc: self.reader.u2()?,
                end_pc: self.reader.u2()?,
                handler_pc: self.reader.u2()?,
                catch_type: self.reader.u2()?,
            };
            ensure!(
                handler.start_pc < handler.end_pc && handler.end_pc as u32 <= code_length,
                "Illegal exception table range in class file {class}"
            );
            ensure!(
                (handler.handler_pc as u32) < code_length,
                "Illegal exception table handler in class file {class}"
            );
            ensure!(
                handler.catch_type == 0 || self.has_class(handler.catch_type),
                "Catch type in exception table has bad constant type in class file {class}"
            );
            handlers.push(handler);
        }
        Ok(handlers.into_boxed_slice())
    }

    fn code_attribute(
        &mut self,
        code_length: u32,
        max_locals: u16,
        tables: &mut Tables,
    ) -> Result<(), ClassFormat> {
        let class = self.class_name;
        let (name, length) = self.attribute_header("Invalid code attribute name index")?;
        match name.bytes() {
            b"LineNumberTable" => self.line_numbers(length, code_length, &mut tables.line_numbers),
            b"LocalVariableTable" => {
                let into = &mut tables.local_variables;
                self.local_variables(name, length, code_length, max_locals, into)
            }
            b"LocalVariableTypeTable" if self.major_version >= 49 => {
                let into = &mut tables.local_variable_types;
                self.local_variables(name, length, code_length, max_locals, into)
            }
            b"StackMapTable" if self.major_version >= 50 => {
                ensure!(
                    tables.stack_map_table.is_none(),
                    "Multiple StackMapTable attributes in class file {class}"
                );
                tables.stack_map_table = Some(self.reader.take(length)?.into());
                Ok(())
            }
            _ => self.reader.take(length).map(drop),
        }
    }

    fn line_numbers(
        &mut self,
        length: usize,
        code_length: u32,
        into: &mut Vec<LineNumber>,
    ) -> Result<(), ClassFormat> {
        let class = self.class_name;
        let count = self.reader.u2()?;
        ensure!(
            length == 2 + 4 * count as usize,
            "LineNumberTable attribute has wrong length in class file {class}"
        );
        self.reader.require(4 * count as usize)?;
        for _ in 0..count {
            let entry = LineNumber { start_pc: self.reader.u2()?, line: self.reader.u2()? };
            ensure!(
                (entry.start_pc as u32) < code_length,
                "Invalid pc in LineNumberTable in class file {class}"
            );
            into.push(entry);
        }
        Ok(())
    }

    fn local_variables(
        &mut self,
        table: Symbol,
        length: usize,
        code_length: u32,
        max_locals: u16,
        into: &mut Vec<LocalVariable>,
    ) -> Result<(), ClassFormat> {
        let class = self.class_name;
        let count = self.reader.u2()?;
        ensure!(
            length == 2 + 10 * count as usize,
            "{table} has wrong length in class file {class}"
        );
        self.reader.require(10 * count as usize)?;
        for _ in 0..count {
            let start_pc = self.reader.u2()?;
            let length = self.reader.u2()?;
            let name_index = self.reader.u2()?;
            let descriptor_index = self.reader.u2()?;
            let slot = self.reader.u2()?;
            ensure!(
                (start_pc as u32) < code_length,
                "Invalid start_pc {start_pc} in {table} in class file {class}"
            );
            ensure!(
                start_pc as u32 + length as u32 <= code_length,
                "Invalid length {length} in {table} in class file {class}"
            );
            let Some(name) = self.pool.utf8(name_index) else {
                fail!(
                    "Name index {name_index} in {table} has bad constant type in class file {class}"
                );
            };
            let Some(descriptor) = self.pool.utf8(descriptor_index) else {
                fail!(
                    "Signature index {descriptor_index} in {table} has bad constant type in class \
                     file {class}"
                );
            };
            self.check_field_name(name)?;
            let mut last_slot = slot as u32;
            if table.bytes() == b"LocalVariableTable" {
                self.check_field_descriptor(name, descriptor)?;
                last_slot += u32::from(matches!(descriptor.bytes(), b"J" | b"D"));
            }
            ensure!(
                last_slot < max_locals as u32,
                "Invalid index {slot} in {table} in class file {class}"
            );
            into.push(LocalVariable { start_pc, length, name, descriptor, slot });
        }
        Ok(())
    }

    /// Each variable has one entry, and each generic type belongs to one of them.
    fn check_local_variables(&self, tables: &Tables) -> Result<(), ClassFormat> {
        let class = self.class_name;
        let key = |entry: &LocalVariable| (entry.start_pc, entry.length, entry.name, entry.slot);
        // Whether the variable has a generic type yet.
        let mut variables = FxHashMap::default();
        for entry in &tables.local_variables {
            ensure!(
                variables.insert(key(entry), false).is_none() || self.major_version < 49,
                "Duplicated LocalVariableTable attribute entry for '{}' in class file {class}",
                entry.name
            );
        }
        for entry in &tables.local_variable_types {
            let name = entry.name;
            let Some(has_type) = variables.get_mut(&key(entry)) else {
                fail!("LVTT entry for '{name}' in class file {class} does not match any LVT entry");
            };
            ensure!(
                !std::mem::replace(has_type, true),
                "Duplicated LocalVariableTypeTable attribute entry for '{name}' in class file \
                 {class}"
            );
        }
        Ok(())
    }
}
