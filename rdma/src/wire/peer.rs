//! The identity of the process at the other end of a channel.

use std::fmt;

/// One process of a running heap: the VM, or one of its memory servers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum PeerId {
    /// The process that runs the program.
    Vm,
    /// A memory server, counted from 0.
    Server(u16),
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerId::Vm => write!(f, "the VM"),
            PeerId::Server(n) => write!(f, "memory server {n}"),
        }
    }
}
