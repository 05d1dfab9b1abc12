//! What judges the VM: the runners behind `make test`, `make jdk-tests`, `make check-javac`,
//! `make bench`, `make bench-interp`, `make bench-jit` and `make bench-far-run`.
//!
//! Every runner compares our VM with the JDK's own on the same machine and in the same run: no
//! expected output is stored, but for hashes in the manifest of [`gc_bench`]. A run is one process in a process group
//! and a folder of its own ([`process`]), so that a hanging program can be ended with everything it started.

pub mod apt;
pub mod cache;
pub mod compiler;
pub mod directives;
pub mod far_run;
pub mod faults;
pub mod files;
pub mod footprint;
pub mod fuzz;
pub mod gc_bench;
pub mod guest;
pub mod jdk;
pub mod jtreg;
pub mod kernel_swap;
pub mod pool;
pub mod process;
pub mod progress;
pub mod sample;
pub mod scratch;
pub mod suite;
pub mod survive;
pub mod torture;
pub mod vm;
pub mod zero;
