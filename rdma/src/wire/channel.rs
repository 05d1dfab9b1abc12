//! Two-sided messages: the traits that both ends program against.

use std::time::Duration;

use crate::{PeerId, RdmaError};

/// The longest message, in bytes. Longer data is passed through a segment, or in several messages.
pub const MESSAGE_BYTES_MAX: usize = 256 * 1024;

/// One end of a connection to one other process. All methods may be called from any thread at any
/// time, but not from a signal handler.
pub trait Channel: Send + Sync {
    /// The process at the other end.
    fn peer(&self) -> PeerId;

    /// Sends a notice: delivered once, in order with the other messages of this direction, no
    /// reply. Blocks only while the peer takes nothing, for at most a few seconds
    /// ([`RdmaError::Deadline`]).
    fn send(&self, notice: &[u8]) -> Result<(), RdmaError>;

    /// Sends a request and waits for its reply, for at most `timeout` of the time in which this process runs. Several
    /// threads may have calls in flight on one channel. Must not be called from within a [`Service`] method *of the
    /// same channel*: the thread that would bring the reply is the one that is running that method.
    fn call(&self, request: &[u8], timeout: Duration) -> Result<Vec<u8>, RdmaError>;

    /// False once the peer was found dead. Final.
    fn is_alive(&self) -> bool;
}

/// The handler of a process for incoming messages. One service may serve several channels.
///
/// Methods run on the receiving thread of the channel in question, one at a time per channel,
/// concurrently for different channels. While one runs, nothing else of that channel is received:
/// long work belongs on a thread of its own, which reports with [`Channel::send`]. Implementations
/// may `send` on any channel and `call` on *other* ones.
pub trait Service: Send + Sync {
    /// A request; the returned bytes are sent back as the reply (at most [`MESSAGE_BYTES_MAX`] bytes).
    fn on_request(&self, from: PeerId, request: &[u8]) -> Vec<u8>;

    /// A notice.
    fn on_notice(&self, from: PeerId, notice: &[u8]);

    /// The peer is lost; nothing further will come from it. Called at most once per channel; calls
    /// in flight have failed with [`RdmaError::PeerLost`] already. Not called when this side closed
    /// the channel.
    fn on_peer_lost(&self, from: PeerId, cause: &RdmaError);
}
