//! Judging and measuring the VM: the runners behind `gc-bench` and `judge`.
//!
//! Every runner compares our VM with the JDK's own on the same machine and in the same run: no
//! expected output is stored, but for hashes in the manifest of [`gc_bench`]. A run is one process in a process group
//! and a folder of its own ([`harness::process`]), so that a hanging program can be ended with everything it started.
//! The programs themselves only parse their command lines; their subcommands are in [`judge`] and in
//! [`gc_bench::commands`].

pub mod faults;
pub mod fuzz;
pub mod gc_bench;
pub mod harness;
pub mod java;
pub mod judge;
pub mod kernel_swap;
pub mod replay;
pub mod torture;
