//! The virtual machine: class files, linking, threads, JNI and the `JVM_*` interface, interpreter.
//!
//! Where to find what:
//! * The crate [`classfile`]: bytes to checked structures; no VM state.
//! * [`runtime`]: the data model. Start there: `Klass`, `Method`, `JavaThread`, `Handle`, `Throw`, `Vm`.
//! * [`loading`]: from names to linked and initialized classes, mirrors, strings, constant resolution.
//! * [`interpreter`]: frames, bytecodes, calls, exceptions, stack traces, call sites.
//! * [`jit`]: the compiler tier.
//! * [`threads`]: OS threads, monitors, parking, interrupts, signals.
//! * [`jni`]: the JNI function table. [`jvm`]: the `JVM_*` functions that the JDK's libraries import.
//! * [`natives`]: finding and calling native methods; natives that the VM itself provides (Unsafe, ...).
//! * [`boot`]: the class image, start-up order, the create-VM entry points.
//!
//! Rules that everything relies on: a plain `ObjectRef` is dead after any safepoint (allocation, Java call,
//! class loading, blocking, native transition), so keep `Handle`s; references in the heap are only touched
//! through `JavaThread::load_ref`/`store_ref` and the barrier set; a Java exception is `Err(Throw)` with the
//! throwable in `JavaThread::pending`.

// What is printed goes through `base::say` and its like, which do not panic.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod boot;
pub mod ffi;
pub mod frames;
pub mod interpreter;
pub mod invoke;
pub mod java;
pub mod jit;
pub mod jni;
pub mod jvm;
pub mod loading;
pub mod machine;
pub mod monitors;
pub mod natives;
pub mod options;
pub mod runtime;
pub mod threads;
