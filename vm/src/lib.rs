//! The virtual machine: class files, linking, threads, JNI and `JVM_*`, interpreter.
pub mod classfile;
pub mod symbol;
