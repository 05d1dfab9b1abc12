//! The Java Native Interface.
//!
//! [`entry`](crate::ffi::entry) is the way of native code into the VM; read it first. [`table`] lists all functions;
//! they are in the modules named after the chapters of the specification.
// The functions of the table dereference the pointers that native code passes, as the JNI specification has
// it: the promise is in their C type, and no Rust code calls them.
#![allow(clippy::not_unsafe_ptr_arg_deref)]

pub mod arrays;
pub mod calls;
pub mod classes;
pub mod exceptions;
pub mod fields;
pub mod invoke;
mod memory;
pub mod misc;
pub mod references;
pub mod strings;
pub mod table;
pub mod trampolines;
pub mod value;
pub mod variadic;
