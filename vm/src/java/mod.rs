//! Objects of the class library whose fields the VM reads and writes.

pub mod array_copy;
pub mod fields;
pub mod objects;
pub mod references;
pub mod reflect;
pub mod uncaught;
