//! The virtual machine: class files, linking, threads, JNI and the `JVM_*` interface, interpreter.
//!
//! The parts:
//! * The crate [`classfile`]: bytes to checked structures; no VM state.
//! * [`machine`]: [`Vm`](machine::Vm) and [`JavaThread`](machine::JavaThread), which own the parts of all others.
//! * [`runtime`]: the data model. Read it first: `Klass`, `Method`, `Handle`, `Throw`; the code of methods.
//! * [`monitors`]: locks of objects, and the objects that threads wait on.
//! * [`loading`]: from names to linked and initialized classes, mirrors, strings, constants, exceptions.
//! * [`frames`]: frames of the interpreter and of compiled code, and walking them.
//! * [`ffi`]: the interface to native code; calling native methods. [`java`]: library objects that the VM knows.
//! * [`threads`]: OS threads, waiting, parking, interrupts, signals. [`invoke`]: method handles.
//! * [`interpreter`]: bytecodes, calls, exceptions, stack traces, call sites. [`jit`]: the compiler tier.
//! * [`agents`]: Java agents. [`recorder`]: the flight recorder.
//! * [`diagnostics`]: attaching tools, diagnostic commands, heap dumps.
//! * [`jvm`]: the `JVM_*` functions that the JDK's libraries import. [`jni`]: the JNI function table.
//! * [`natives`]: native methods that the VM itself provides (Unsafe, ...).
//! * [`whitebox`]: what the OpenJDK's tests ask of a VM.
//! * [`boot`]: the class image, start-up order, the create-VM entry points.
//!
//! A module imports from those above it in this list only, `machine` excepted (`docs/design/overview.md`).
//!
//! Rules that everything relies on: a plain `ObjectRef` is dead after any safepoint (allocation, Java call,
//! class loading, blocking, native transition), so keep `Handle`s; references in the heap are only touched
//! through `JavaThread::load_ref`/`store_ref` and the barrier set; a Java exception is `Err(Throw)` with the
//! throwable in `JavaThread::pending`.

// Output is printed by `base::say` and its like, which do not panic.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod agents;
mod boot;
mod diagnostics;
mod ffi;
mod frames;
mod interpreter;
mod invoke;
mod java;
pub mod jit;
mod jni;
mod jvm;
mod loading;
mod machine;
mod monitors;
mod natives;
pub mod options;
mod recorder;
mod runtime;
pub mod threads;
mod whitebox;
