//! What judges the VM: the runners behind `make test`, `make jdk-tests`, `make check-javac`,
//! `make bench`, `make bench-interp`, `make bench-jit` and `make bench-far-run`.
//!
//! Every runner compares our VM with the JDK's own on the same machine and in the same run: no
//! expected output is stored, but for hashes in the manifest of [`gc_bench`]. A run is one process in a process group
//! and a folder of its own ([`harness::process`]), so that a hanging program can be ended with everything it started.

pub mod faults;
pub mod fuzz;
pub mod gc_bench;
pub mod harness;
pub mod java;
pub mod judge;
pub mod kernel_swap;
pub mod torture;
