//! Frames: the units that travel on a channel of any transport.

/// The kind of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameKind {
    Notice = 1,
    Request = 2,
    Reply = 3,
    /// A message of the start (`opening.rs`). Only over TCP; with shared memory these are sent over
    /// the control socket.
    Opening = 4,
}

/// One message as it came in.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame {
    pub kind: FrameKind,
    /// Number of the call that it belongs to; 0 for notices.
    pub call: u64,
    pub payload: Vec<u8>,
}
