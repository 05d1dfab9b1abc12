//! Native methods that the VM provides itself.

pub mod absent;
#[cfg(test)]
mod coverage;
pub mod java_lang;
pub mod object;
pub mod perf;
pub mod scoped_memory;
pub mod unsafe_access;
pub mod unsafe_classes;
pub mod unsafe_memory;

use crate::ffi::registry::NativeTable;

/// Every table there is.
pub static ALL: &[&NativeTable] = &[
    &crate::agents::natives::INSTRUMENTATION,
    &crate::invoke::natives::METHOD_HANDLES,
    &absent::FOREIGN_LINKER,
    &absent::VECTORS,
    &java_lang::CLASS,
    &java_lang::DOUBLE,
    &java_lang::FLOAT,
    &java_lang::STRING,
    &java_lang::SYSTEM,
    &java_lang::THREAD,
    &object::OBJECT,
    &perf::PERF,
    &crate::recorder::natives::FLIGHT_RECORDER,
    &scoped_memory::SCOPED_MEMORY,
    &unsafe_access::ACCESS,
    &unsafe_classes::CLASSES,
    &unsafe_memory::MEMORY,
];
