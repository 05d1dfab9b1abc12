//! Fields and methods of a parsed class file.

use super::access::AccessFlags;
use crate::symbol::Symbol;
use bitflags::bitflags;

/// Raw bytes of the annotation attributes (the attribute's content, without name and length), as
/// reflection parses them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    pub visible: Option<Box<[u8]>>,
    pub visible_type: Option<Box<[u8]>>,
}

#[derive(Clone, Debug)]
pub struct FieldInfo {
    pub access_flags: AccessFlags,
    pub name: Symbol,
    pub name_index: u16,
    pub descriptor: Symbol,
    pub descriptor_index: u16,
    /// Constant pool index of the `ConstantValue`: an Integer, Float, Long, Double or String entry
    /// that fits the descriptor. Only ever set on static fields.
    pub constant_value: Option<u16>,
    pub signature: Option<Symbol>,
    pub signature_index: u16,
    pub is_synthetic: bool,
    pub is_deprecated: bool,
    pub(crate) annotations: Option<Box<Annotations>>,
    pub marks: FieldMarks,
    /// The group of a contended field: a Utf8 constant pool index, 0 for the anonymous group.
    pub contended_group: u16,
}

impl FieldInfo {
    /// `RuntimeVisibleAnnotations`
    pub fn annotations(&self) -> Option<&[u8]> {
        self.annotations.as_ref()?.visible.as_deref()
    }

    /// `RuntimeVisibleTypeAnnotations`
    pub fn type_annotations(&self) -> Option<&[u8]> {
        self.annotations.as_ref()?.visible_type.as_deref()
    }
}

#[derive(Clone, Debug)]
pub struct MethodInfo {
    pub access_flags: AccessFlags,
    pub name: Symbol,
    pub name_index: u16,
    pub descriptor: Symbol,
    pub descriptor_index: u16,
    /// Slots of the arguments, receiver included.
    pub argument_slots: u16,
    /// `None` for native and abstract methods.
    pub code: Option<Code>,
    pub signature: Option<Symbol>,
    pub signature_index: u16,
    pub is_synthetic: bool,
    pub is_deprecated: bool,
    pub marks: MethodMarks,
    /// What most methods do not have.
    pub(crate) rare: Option<Box<RareAttributes>>,
}

/// Attributes that few methods have.
#[derive(Clone, Debug, Default)]
pub(crate) struct RareAttributes {
    pub exceptions: Box<[u16]>,
    pub parameters: Option<Box<[MethodParameter]>>,
    pub annotations: Annotations,
    pub parameter_annotations: Option<Box<[u8]>>,
    pub annotation_default: Option<Box<[u8]>>,
}

impl MethodInfo {
    /// `Class` entries of the `Exceptions` attribute.
    pub fn exceptions(&self) -> &[u16] {
        self.rare.as_ref().map_or(&[], |rare| &rare.exceptions)
    }

    /// `Some` when the `MethodParameters` attribute is present, also when it is empty.
    pub fn parameters(&self) -> Option<&[MethodParameter]> {
        self.rare.as_ref()?.parameters.as_deref()
    }

    /// `RuntimeVisibleAnnotations`
    pub fn annotations(&self) -> Option<&[u8]> {
        self.rare.as_ref()?.annotations.visible.as_deref()
    }

    /// `RuntimeVisibleTypeAnnotations`
    pub fn type_annotations(&self) -> Option<&[u8]> {
        self.rare.as_ref()?.annotations.visible_type.as_deref()
    }

    /// `RuntimeVisibleParameterAnnotations`
    pub fn parameter_annotations(&self) -> Option<&[u8]> {
        self.rare.as_ref()?.parameter_annotations.as_deref()
    }

    /// `AnnotationDefault`
    pub fn annotation_default(&self) -> Option<&[u8]> {
        self.rare.as_ref()?.annotation_default.as_deref()
    }

    /// `<init>` or `<clinit>`.
    pub fn is_special(&self) -> bool {
        self.name.bytes().first() == Some(&b'<')
    }

    pub fn is_static(&self) -> bool {
        self.access_flags.is_static()
    }
}

/// An entry of the `MethodParameters` attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodParameter {
    /// 0 when the parameter has no name.
    pub name_index: u16,
    pub access_flags: AccessFlags,
}

/// The `Code` attribute.
#[derive(Clone, Debug)]
pub struct Code {
    pub max_stack: u16,
    pub max_locals: u16,
    /// 1 to 65535 bytes.
    pub bytecode: Box<[u8]>,
    pub exception_table: Box<[ExceptionHandler]>,
    /// All `LineNumberTable` attributes joined, in file order.
    pub line_numbers: Box<[LineNumber]>,
    pub local_variables: Box<[LocalVariable]>,
    /// Contents of the `StackMapTable` attribute, from `number_of_entries` on.
    pub stack_map_table: Option<Box<[u8]>>,
}

impl Code {
    /// The source line of an instruction: the entry with the largest start that is not past `bci`.
    pub fn line_number(&self, bci: u16) -> Option<u16> {
        let before = self.line_numbers.iter().filter(|entry| entry.start_pc <= bci);
        // Of equal starts the first counts.
        before.rev().max_by_key(|entry| entry.start_pc).map(|entry| entry.line)
    }

    /// The name of the variable in a local slot at an instruction, where the compiler left it.
    pub fn local_variable(&self, slot: u16, bci: u16) -> Option<&LocalVariable> {
        self.local_variables.iter().find(|variable| {
            let start = variable.start_pc as u32;
            let end = start + variable.length as u32;
            variable.slot == slot && (start..end).contains(&(bci as u32))
        })
    }
}

/// An entry of the exception table: `start_pc <= bci < end_pc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExceptionHandler {
    pub start_pc: u16,
    pub end_pc: u16,
    pub handler_pc: u16,
    /// `Class` entry, or 0 for any.
    pub catch_type: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineNumber {
    pub start_pc: u16,
    pub line: u16,
}

/// An entry of the `LocalVariableTable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalVariable {
    pub start_pc: u16,
    pub length: u16,
    pub name: Symbol,
    pub descriptor: Symbol,
    pub slot: u16,
}

bitflags! {
    /// Field annotations that the VM itself honours, for classes of the boot and platform loaders.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct FieldMarks: u8 {
        /// `jdk.internal.vm.annotation.Stable`
        const STABLE = 1;
        /// `jdk.internal.vm.annotation.Contended`
        const CONTENDED = 2;
    }
}

bitflags! {
    /// Method annotations that the VM itself honours, for classes of the boot and platform loaders.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct MethodMarks: u16 {
        /// `jdk.internal.reflect.CallerSensitive`
        const CALLER_SENSITIVE = 1;
        /// `jdk.internal.vm.annotation.Hidden`, or `java.lang.invoke.LambdaForm.Hidden`
        const HIDDEN = 1 << 1;
        /// `jdk.internal.vm.annotation.ForceInline`
        const FORCE_INLINE = 1 << 2;
        /// `jdk.internal.vm.annotation.DontInline`
        const DONT_INLINE = 1 << 3;
        /// `jdk.internal.vm.annotation.IntrinsicCandidate`
        const INTRINSIC_CANDIDATE = 1 << 4;
        /// `jdk.internal.vm.annotation.ReservedStackAccess`
        const RESERVED_STACK_ACCESS = 1 << 5;
        /// `java.lang.invoke.LambdaForm.Compiled`
        const LAMBDA_FORM_COMPILED = 1 << 6;
        /// `java.lang.invoke.InjectedProfile`
        const INJECTED_PROFILE = 1 << 7;
        /// `jdk.internal.misc.ScopedMemoryAccess.Scoped`
        const SCOPED = 1 << 8;
    }
}
