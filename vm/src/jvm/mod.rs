//! The `JVM_*` functions that the JDK's native libraries import from `libjvm.so`.
//!
//! Signatures are those of the JDK's `jvm.h`; each file is one topic of it. All of them are entered by
//! [`Env::enter`](crate::ffi::entry::Env::enter).

#![allow(non_snake_case)]

mod access_control;
mod archive;
mod assertions;
pub mod callers;
mod class_attributes;
mod classes;
mod constant_pool;
mod formatted_output;
mod io;
mod libraries;
mod management;
mod members;
pub mod modules;
mod old_verifier;
mod packages;
pub mod properties;
mod reflect_arrays;
pub mod stack_traces;
mod stack_walk;
pub mod stats;
mod strings;
pub mod system;

/// The state of this module's functions for one VM.
#[derive(Default)]
pub struct JvmState {
    pub fields: crate::java::fields::FieldOffsets,
    pub beans: management::Beans,
    /// Set once the process has begun to end.
    pub exiting: std::sync::atomic::AtomicBool,
}
