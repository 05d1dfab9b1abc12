//! The `JVM_*` functions that the JDK's native libraries import from `libjvm.so`.
//!
//! Signatures are those of the JDK's `jvm.h`; each file is one topic of it. All of them are entered by
//! [`Env::enter`](crate::jni::entry::Env::enter).

#![allow(non_snake_case)]

mod access_control;
mod archive;
pub mod array_copy;
mod assertions;
pub mod callers;
mod class_attributes;
mod classes;
mod constant_pool;
pub mod fields;
mod formatted_output;
mod invocation;
mod io;
mod libraries;
mod management;
mod members;
mod modules;
pub mod objects;
mod old_verifier;
mod packages;
pub mod properties;
pub mod references;
pub mod reflect;
mod reflect_arrays;
pub mod stack_traces;
mod stack_walk;
pub mod stats;
mod strings;
pub mod system;

/// What the functions of this module keep for one VM.
#[derive(Default)]
pub struct JvmState {
    pub fields: fields::FieldOffsets,
    pub beans: management::Beans,
    /// Set once the process has begun to end.
    pub exiting: std::sync::atomic::AtomicBool,
}
