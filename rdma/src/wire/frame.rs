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

impl FrameKind {
    /// The kind that travels as this number.
    pub fn from_number(number: u32) -> Option<FrameKind> {
        Some(match number {
            1 => FrameKind::Notice,
            2 => FrameKind::Request,
            3 => FrameKind::Reply,
            4 => FrameKind::Opening,
            _ => return None,
        })
    }
}

/// One message as it came in.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame {
    pub kind: FrameKind,
    /// Number of the call that it belongs to; 0 for notices.
    pub call: u64,
    pub payload: Vec<u8>,
}
