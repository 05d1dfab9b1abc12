//! Threads of the VM as the heap sees them: mutators, safepoints and handshakes, reasons of waits, and the
//! threads of collectors. One place knows how roots are found: the VM's [`VmBinding`](binding::VmBinding).

pub mod binding;
pub mod blocked;
pub mod mutator;
pub mod quiescence;
pub(crate) mod rendezvous;
pub mod safepoint;
pub(crate) mod stealing;
pub(crate) mod steps;
pub(crate) mod thread_data;
pub mod workers;
