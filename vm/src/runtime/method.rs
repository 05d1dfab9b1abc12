//! Methods at run time.

use super::klass::KlassRef;
use classfile::symbol::Symbol;
use classfile::{AccessFlags, BasicType, Code, MethodInfo, MethodMarks};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8};

pub type MethodRef = &'static Method;

/// A declared method. Lives as long as its class.
pub struct Method {
    pub holder: KlassRef,
    pub info: &'static MethodInfo,
    /// Index in the class file: the reflective `slot`.
    pub slot: u32,
    /// Slots of the arguments, receiver included.
    pub argument_slots: u16,
    pub max_locals: u16,
    pub max_stack: u16,
    /// Parameter types without the receiver.
    pub parameters: Box<[BasicType]>,
    pub return_type: BasicType,
    /// Marks of the class file where the defining loader may set them, else empty.
    pub marks: MethodMarks,
    /// Signature-polymorphic methods of `MethodHandle` and `VarHandle`: which one.
    pub intrinsic: Intrinsic,
    /// Index in the vtable, or [`NOT_VIRTUAL`].
    pub vtable_index: AtomicI32,
    /// Index in the rows of the declaring interface's itables, or [`NOT_VIRTUAL`].
    pub itable_index: AtomicI32,
    /// The interpreter's copy of the bytecode, which it rewrites to quicker forms; same length and bcis as
    /// `info.code`. Null until the class is linked.
    pub quick_code: AtomicPtr<u8>,
    /// The C function of a native method, once found; null before.
    pub native: AtomicPtr<libc::c_void>,
    /// How the interpreter enters it; the interpreter's own (see there). 0 = not yet decided.
    pub entry: AtomicU8,
    /// Compiled code, and how hot the method is.
    pub jit: crate::runtime::code::compiled::MethodJit,
    /// Roots in frames of this method, by bci.
    pub oop_maps: OnceLock<Box<classfile::oopmap::MethodOopMaps>>,
}

/// `vtable_index` and `itable_index` of methods that are not dispatched that way.
pub const NOT_VIRTUAL: i32 = -1;

/// Methods that the VM links by itself (JVMS 2.9.3, `java.lang.invoke`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Intrinsic {
    None,
    /// `MethodHandle.invoke`, `invokeExact`; `VarHandle` accessors: linked by upcall.
    Generic,
    InvokeBasic,
    LinkToVirtual,
    LinkToStatic,
    LinkToSpecial,
    LinkToInterface,
    LinkToNative,
}

impl Method {
    #[inline]
    pub fn name(&self) -> Symbol {
        self.info.name
    }

    #[inline]
    pub fn descriptor(&self) -> Symbol {
        self.info.descriptor
    }

    #[inline]
    pub fn flags(&self) -> AccessFlags {
        self.info.access_flags
    }

    #[inline]
    pub fn is_static(&self) -> bool {
        self.flags().is_static()
    }

    pub fn is_native(&self) -> bool {
        self.flags().is_native()
    }

    pub fn is_abstract(&self) -> bool {
        self.flags().is_abstract()
    }

    pub fn code(&self) -> Option<&'static Code> {
        self.info.code.as_ref()
    }

    pub fn is_initializer(&self) -> bool {
        self.info.name.bytes() == b"<init>"
    }

    /// The constructor of `Object`, with which every construction ends that comes to an end.
    pub fn is_object_initializer(&self) -> bool {
        self.holder.super_klass.is_none() && self.is_initializer()
    }

    pub fn is_class_initializer(&self) -> bool {
        self.info.name.bytes() == b"<clinit>"
    }

    /// Not shown in stack traces.
    pub fn is_hidden(&self) -> bool {
        self.marks.contains(MethodMarks::HIDDEN)
    }

    pub fn is_caller_sensitive(&self) -> bool {
        self.marks.contains(MethodMarks::CALLER_SENSITIVE)
    }
}

impl PartialEq for Method {
    fn eq(&self, other: &Method) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Method {}

impl std::fmt::Debug for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}{}", self.holder.name, self.name(), self.descriptor())
    }
}
