//! Class files: bytes in, an owned and format-checked [`ClassFile`] out (JVMS chapter 4).
//!
//! * [`verifier`]: type checking of methods (JVMS 4.10). [`oopmap`]: where references are in a frame.
//! * [`symbol`]: interned names, of crate `base`.
//!
//! This crate loads and resolves nothing. Parsing never panics, regardless of the bytes, and takes
//! memory in proportion to them. An error in a file becomes a [`ClassFormat`]: the Java error to
//! throw, with the message that users of `java` know.

#![forbid(unsafe_code)]

mod access;
pub mod bytecode;
mod class;
mod constant_pool;
pub mod descriptor;
mod error;
#[cfg(any(test, feature = "jdk-image"))]
pub mod jdk_image;
mod member;
pub mod oopmap;
mod parser;
pub mod verifier;

pub use base::symbol;

pub use access::AccessFlags;
pub use class::{
    BootstrapMethod, ClassFile, ClassMarks, EnclosingMethod, InnerClass, RecordComponent,
};
pub use constant_pool::{ConstantPool, CpEntry, DynamicRef, MemberRef, ref_kind, tag};
pub use descriptor::{BasicType, FieldType, MethodDescriptor};
pub use error::{ClassFormat, ErrorKind};
pub use member::{
    Annotations, Code, ExceptionHandler, FieldInfo, FieldMarks, LineNumber, LocalVariable,
    MethodInfo, MethodMarks, MethodParameter,
};
pub use parser::{MAJOR_VERSION, ParseOptions};

#[cfg(test)]
pub(crate) mod tests;
