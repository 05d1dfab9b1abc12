//! The parts that all tracers share: the stack of objects to be visited, the slots of an object, and `java.lang.ref`
//! references.

pub mod mark_stack;
pub mod references;
pub mod scan;
