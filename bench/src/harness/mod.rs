//! The common parts of the runners: processes in groups and folders of their own, jobs on a few threads, progress,
//! random numbers, samples, and packages and files of this machine.

pub mod apt;
pub mod cache;
pub mod exit;
pub mod files;
pub mod pool;
pub mod process;
pub mod progress;
pub mod rng;
pub mod sample;
pub mod scratch;
