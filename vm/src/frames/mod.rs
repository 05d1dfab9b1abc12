//! Frames of Java code on a thread's stacks: those of the interpreter, of native methods, and of compiled code.

pub mod activation;
pub mod anchor;
pub mod crashed;
pub mod enter;
pub mod frame;
pub mod holders;
pub mod interrupted;
pub mod roots;
pub mod stack;
pub mod walk;
