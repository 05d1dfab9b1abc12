//! The errors of this crate.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::{PeerId, Refusal};

/// Errors between two processes.
#[derive(Debug, thiserror::Error)]
pub enum RdmaError {
    /// The other process ended, or its connection did. Detected within a second, or ten if its
    /// machine or the network vanished; final for this channel.
    #[error("connection to {0} is lost")]
    PeerLost(PeerId),
    /// No reply (or no room for the request) within the deadline. The call may still be executed. For
    /// pages over TCP also: the server counts as lost.
    #[error("{peer} did not answer within {after:?}")]
    Deadline { peer: PeerId, after: Duration },
    /// Both copies of the pages of one server are lost. Final.
    #[error("connections to {owner} and to its mirror, {mirror}, are lost")]
    CopiesLost { owner: PeerId, mirror: PeerId },
    /// A message longer than [`crate::MESSAGE_BYTES_MAX`].
    #[error("a message of {bytes} bytes exceeds the limit of {}", crate::MESSAGE_BYTES_MAX)]
    MessageTooLong { bytes: usize },
    /// A peer sent something that no correct peer sends.
    #[error("{peer} sent a malformed frame: {what}")]
    Malformed { peer: PeerId, what: &'static str },
    /// A byte range outside the segment, or not a whole number of aligned words.
    #[error(
        "bytes {offset}+{bytes} are outside the segment of {segment_bytes} bytes or not aligned"
    )]
    OutOfSegment { offset: u64, bytes: u64, segment_bytes: u64 },
    /// A server has no memory for a part of its segment that is to be written.
    #[error("{peer} has no more memory for this VM: {refusal}")]
    NoMemory { peer: PeerId, refusal: Refusal },
    /// The memory server could not be started, or refused the VM.
    #[error("no memory server {server}: {reason}")]
    Start { server: u16, reason: String },
    /// The other side of a new TCP connection is not the expected one, or does not want us.
    #[error("{0}")]
    Refused(String),
    /// The other side of a new TCP connection closed it before it answered: too many others want in, or it ends.
    #[error("no answer: it closed the connection")]
    TurnedAway,
    /// A memory server cannot wait at this address.
    #[error("listening at {address}: {reason}")]
    Listen { address: String, reason: String },
    /// A prerequisite of RDMA is missing: the library, a device, or the feature `verbs` of the build.
    #[error("no verbs: {0}")]
    NoVerbs(String),
    /// The file with the shared secret cannot be used.
    #[error("token file {}: {reason}", path.display())]
    Token { path: PathBuf, reason: String },
    /// The far space cannot lie in this crash-safe pool.
    #[error("memory pool {}: {reason}", path.display())]
    Pool { path: PathBuf, reason: String },
    /// The operating system refused.
    #[error("{what}: {source}")]
    Os { what: &'static str, source: io::Error },
}

impl RdmaError {
    /// The last operating system error of this thread, with the operation that was tried.
    pub fn last_os(what: &'static str) -> RdmaError {
        RdmaError::Os { what, source: io::Error::last_os_error() }
    }
}
