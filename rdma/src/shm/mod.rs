//! Messages through shared memory, between processes of one machine. READ and WRITE need nothing of this: the VM maps
//! the segment of its server.

pub mod channel;
pub mod ring;
