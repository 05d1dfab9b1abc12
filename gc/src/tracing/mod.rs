//! The parts that all tracers share: the stack of objects to be visited, the slots of an object, `java.lang.ref`
//! references, and the holders of classes that are in use.

pub mod holders;
pub mod mark_stack;
pub mod references;
pub mod scan;
