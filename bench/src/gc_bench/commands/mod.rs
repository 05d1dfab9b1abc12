//! The subcommands of `gc-bench`, one file each.
//!
//! Single barriers, waits and tracing are measured by `cargo bench` instead (`bench/benches`): they link the VM and its
//! heap, without which `gc-bench` is built.

pub mod compare;
mod comparison;
pub mod demo;
pub mod explain;
pub mod far;
pub mod faults;
pub mod hit;
pub mod interp;
pub mod jit;
pub mod list;
pub mod replay;
pub mod report;
pub mod run;
pub mod swap_guard;
