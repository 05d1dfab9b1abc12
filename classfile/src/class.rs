//! The contents of a class file, owned: the result of parsing.

use super::access::AccessFlags;
use super::constant_pool::ConstantPool;
use super::member::{Annotations, FieldInfo, MethodInfo};
use crate::symbol::Symbol;

/// A parsed and format-checked class file. Immutable after parsing; any thread.
#[derive(Debug)]
pub struct ClassFile {
    pub minor_version: u16,
    pub major_version: u16,
    pub constant_pool: ConstantPool,
    pub access_flags: AccessFlags,
    /// `Class` entry of this class.
    pub this_class: u16,
    pub name: Symbol,
    /// `Class` entry of the superclass; 0 for `java/lang/Object`.
    pub super_class: u16,
    pub super_name: Option<Symbol>,
    /// `Class` entries of the direct superinterfaces.
    pub interfaces: Box<[u16]>,
    pub fields: Box<[FieldInfo]>,
    pub methods: Box<[MethodInfo]>,
    pub source_file: Option<Symbol>,
    pub source_debug_extension: Option<Box<[u8]>>,
    pub inner_classes: Box<[InnerClass]>,
    pub enclosing_method: Option<EnclosingMethod>,
    pub signature: Option<Symbol>,
    pub bootstrap_methods: Box<[BootstrapMethod]>,
    /// `Class` entry.
    pub nest_host: Option<u16>,
    /// `Class` entries.
    pub nest_members: Box<[u16]>,
    /// `Some` for a record class, also without components.
    pub record: Option<Box<[RecordComponent]>>,
    /// `Class` entries; `Some` for a sealed class.
    pub permitted_subclasses: Option<Box<[u16]>>,
    pub is_synthetic: bool,
    pub is_deprecated: bool,
    pub annotations: Annotations,
    pub marks: ClassMarks,
}

impl ClassFile {
    /// Gives the class another name, in the constant pool too: hidden classes are named after
    /// parsing.
    pub fn rename(&mut self, name: Symbol) {
        self.name = name;
        self.constant_pool.rename_class(self.this_class, name);
    }

    pub fn is_interface(&self) -> bool {
        self.access_flags.is_interface()
    }

    /// Names of the direct superinterfaces, in order.
    pub fn interface_names(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.interfaces.iter().filter_map(|&index| self.constant_pool.class_name(index))
    }
}

/// An entry of the `InnerClasses` attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnerClass {
    /// `Class` entry.
    pub inner_class: u16,
    /// `Class` entry, or 0 when not a member.
    pub outer_class: u16,
    /// Simple name; `None` when anonymous.
    pub inner_name: Option<Symbol>,
    pub inner_name_index: u16,
    pub access_flags: AccessFlags,
}

/// The `EnclosingMethod` attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnclosingMethod {
    /// `Class` entry.
    pub class_index: u16,
    /// `NameAndType` entry, or 0 when not inside a method.
    pub method_index: u16,
}

/// An entry of the `BootstrapMethods` attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootstrapMethod {
    /// `MethodHandle` entry.
    pub method_ref: u16,
    /// Loadable constants.
    pub arguments: Box<[u16]>,
}

/// An entry of the `Record` attribute.
#[derive(Clone, Debug)]
pub struct RecordComponent {
    pub name: Symbol,
    pub name_index: u16,
    pub descriptor: Symbol,
    pub descriptor_index: u16,
    pub signature: Option<Symbol>,
    pub signature_index: u16,
    pub annotations: Annotations,
}

bitflags::bitflags! {
    /// Class annotations that the VM itself honours, for classes of the boot and platform loaders.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct ClassMarks: u8 {
        /// `jdk.internal.vm.annotation.Contended`
        const CONTENDED = 1;
        /// `jdk.internal.ValueBased`
        const VALUE_BASED = 2;
    }
}
