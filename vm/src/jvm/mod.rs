//! The `JVM_*` functions that the JDK's native libraries import from `libjvm.so`.
//!
//! Signatures are those of the JDK's `jvm.h`; each file is one topic of it. All of them are entered by
//! [`Env::enter`](crate::jni::entry::Env::enter).

pub mod fields;

/// What the functions of this module keep for one VM.
#[derive(Default)]
pub struct JvmState {
    pub fields: fields::FieldOffsets,
}
