//! The subcommands of `judge`, one file each, and their common parts.

pub mod check_javac;
pub mod conformance;
mod directives;
pub mod fuzz_java;
mod guest;
pub mod java_home;
pub mod jdk_tests;
mod jtreg;
pub mod server_loss;
pub mod survive;
pub mod torture;
pub mod verbs;
