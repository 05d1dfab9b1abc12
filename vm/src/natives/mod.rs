//! Native methods that the VM provides itself.

pub mod absent;
#[cfg(test)]
mod coverage;
pub mod guarded;
pub mod java_lang;
pub mod object;
pub mod perf;
pub mod scoped_memory;
pub mod unsafe_access;
pub mod unsafe_classes;
pub mod unsafe_memory;
