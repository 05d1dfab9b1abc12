//! Frames on a TCP connection.
//!
//! ```text
//! byte  0  magic "FARH"
//!       4  length of the payload in bytes, u32
//!       8  kind, u32
//!      12  CRC32C of bytes 4 to 11, 16 to 23 and the payload, u32
//!      16  number of the call that it belongs to, u64
//!      24  the payload
//! ```
//! Little endian. Lengths are limited before anything is allocated.

use std::time::Duration;

use crate::tcp::socket::{Cut, TcpSocket, Until};
use crate::wire::channel::MESSAGE_BYTES_MAX;
use crate::wire::control_socket::CONTROL_BYTES_MAX;
use crate::wire::conversation::SEND_TIMEOUT;
use crate::wire::frame::{Frame, FrameKind};
use crate::wire::opening::Opening;

/// Bytes before the payload.
pub const HEADER_BYTES: usize = 24;

/// The first bytes of a frame, checked.
#[derive(Debug, PartialEq, Eq)]
pub struct FrameHeader {
    pub kind: FrameKind,
    pub call: u64,
    /// Length of the payload; within the limit of its kind.
    pub bytes: usize,
    crc: u32,
}

/// Why no frame came.
#[derive(Debug, PartialEq, Eq)]
pub enum Broken {
    /// The connection ended, or nothing came in time.
    Cut(Cut),
    /// Something came that is no frame.
    Malformed(&'static str),
}

impl FrameHeader {
    /// `Err` names the error in the bytes.
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<FrameHeader, &'static str> {
        let u32_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        if bytes[..4] != MAGIC {
            return Err("not a farheap frame");
        }
        let kind = FrameKind::from_number(u32_at(8)).ok_or("unknown kind")?;
        let limit = match kind {
            FrameKind::Notice | FrameKind::Request | FrameKind::Reply => MESSAGE_BYTES_MAX,
            FrameKind::Opening => CONTROL_BYTES_MAX,
        };
        let length = u32_at(4) as usize;
        if length > limit {
            return Err("invalid length");
        }
        let call = u64::from_le_bytes(std::array::from_fn(|i| bytes[16 + i]));
        Ok(FrameHeader { kind, call, bytes: length, crc: u32_at(12) })
    }

    /// The frame with this payload. `Err` names the error in it.
    pub fn complete(self, payload: Vec<u8>) -> Result<Frame, &'static str> {
        let FrameHeader { kind, call, crc, .. } = self;
        if payload.len() != self.bytes || checksum(kind, call, &payload) != crc {
            return Err("wrong checksum");
        }
        Ok(Frame { kind, call, payload })
    }
}

/// A whole frame. The payload is at most [`MESSAGE_BYTES_MAX`] bytes.
pub fn encode(kind: FrameKind, call: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
    bytes.extend(MAGIC);
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend((kind as u32).to_le_bytes());
    bytes.extend(checksum(kind, call, payload).to_le_bytes());
    bytes.extend(call.to_le_bytes());
    bytes.extend(payload);
    bytes
}

/// Receives one frame and not a byte more; its head may come within `until`, the rest soon after it.
pub fn receive(socket: &TcpSocket, until: Until<'_>) -> Result<Frame, Broken> {
    let mut header = [0; HEADER_BYTES];
    socket.receive(&mut header, until).map_err(Broken::Cut)?;
    let rest = Until { spin_ns: until.spin_ns, ..Until::after(FRAME_TIMEOUT) };
    let rest = Until { deadline_ns: rest.deadline_ns.min(until.deadline_ns), ..rest };
    let header = FrameHeader::decode(&header).map_err(Broken::Malformed)?;
    let mut payload = vec![0; header.bytes];
    socket.receive(&mut payload, rest).map_err(Broken::Cut)?;
    header.complete(payload).map_err(Broken::Malformed)
}

/// Sends a message of the start.
pub fn send_opening(socket: &TcpSocket, message: &Opening, until: Until<'_>) -> Result<(), Cut> {
    socket.send(&encode(FrameKind::Opening, 0, &message.encode()), until)
}

/// Receives a message of the start.
pub fn receive_opening(socket: &TcpSocket, until: Until<'_>) -> Result<Opening, Broken> {
    let frame = receive(socket, until)?;
    if frame.kind != FrameKind::Opening {
        return Err(Broken::Malformed("not a handshake message"));
    }
    Opening::decode(&frame.payload).map_err(Broken::Malformed)
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Broken::Cut(cut) => write!(f, "{}", cut.explain()),
            Broken::Malformed(what) => f.write_str(what),
        }
    }
}

fn checksum(kind: FrameKind, call: u64, payload: &[u8]) -> u32 {
    let mut crc = crc32c::crc32c(&(payload.len() as u32).to_le_bytes());
    crc = crc32c::crc32c_append(crc, &(kind as u32).to_le_bytes());
    crc = crc32c::crc32c_append(crc, &call.to_le_bytes());
    crc32c::crc32c_append(crc, payload)
}

const MAGIC: [u8; 4] = *b"FARH";
/// How long the rest of a frame may take.
const FRAME_TIMEOUT: Duration = SEND_TIMEOUT;

const _: () = assert!(MESSAGE_BYTES_MAX <= u32::MAX as usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_the_wire_and_every_flipped_bit_is_noticed() {
        for kind in [FrameKind::Notice, FrameKind::Request, FrameKind::Reply, FrameKind::Opening] {
            let bytes = encode(kind, 7, b"payload");
            let frame = Frame { kind, call: 7, payload: b"payload".to_vec() };
            assert_eq!(decode(&bytes), Ok(frame));
            for bit in 0..bytes.len() * 8 {
                let mut wrong = bytes.clone();
                wrong[bit / 8] ^= 1 << (bit % 8);
                assert!(decode(&wrong).is_err(), "bit {bit} of a {kind:?}");
            }
        }
    }

    #[test]
    fn lengths_are_limited_by_kind() {
        let header = |kind: u32, length: usize| {
            let mut bytes = [0; HEADER_BYTES];
            bytes[..4].copy_from_slice(&MAGIC);
            bytes[4..8].copy_from_slice(&(length as u32).to_le_bytes());
            bytes[8..12].copy_from_slice(&kind.to_le_bytes());
            FrameHeader::decode(&bytes)
        };
        assert!(header(2, MESSAGE_BYTES_MAX).is_ok());
        assert_eq!(header(2, MESSAGE_BYTES_MAX + 1), Err("invalid length"));
        assert_eq!(header(4, CONTROL_BYTES_MAX + 1), Err("invalid length"));
        assert_eq!(header(5, 0), Err("unknown kind"));
    }

    #[test]
    fn random_headers_never_panic() {
        let mut random = 1_u64;
        for _ in 0..20_000 {
            let mut bytes = [0; HEADER_BYTES];
            for byte in &mut bytes {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *byte = (random >> 56) as u8;
            }
            if random & 1 == 0 {
                bytes[..4].copy_from_slice(&MAGIC);
                bytes[9..12].fill(0);
                bytes[8] %= 6;
            }
            if let Ok(header) = FrameHeader::decode(&bytes) {
                assert!(header.bytes <= MESSAGE_BYTES_MAX);
                let _ = header.complete(Vec::new());
            }
        }
    }

    fn decode(bytes: &[u8]) -> Result<Frame, &'static str> {
        let (header, payload) = bytes.split_first_chunk().ok_or("too short")?;
        FrameHeader::decode(header)?.complete(payload.to_vec())
    }
}
