//! Why a memory server does not populate memory.

use std::fmt;
use std::io;

/// Why a server does not populate a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its container has a limit of memory, and too little of it is left. Bytes.
    ContainerFull { limit: u64, used: u64 },
    /// The system has no memory, with its error number.
    System { error: i32 },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::ContainerFull { limit, used } => write!(
                f,
                "its container is full: {} of {} MiB are in use",
                used.div_ceil(1 << 20),
                limit >> 20
            ),
            Refusal::System { error } => {
                write!(f, "{}", io::Error::from_raw_os_error(*error))
            }
        }
    }
}
