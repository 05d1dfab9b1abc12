//! The messages of the start, on the control socket.
//!
//! ```text
//! VM -> server   Hello { server, servers, far_bytes }   + the rings of the channel between the two
//!                Peer  { peer, side }                   + socket and rings to a peer; for each peer
//!                Start
//! server -> VM   Welcome                                + the segment
//!            or  Refused { reason }
//! ```

use crate::shm_channel::Side;

/// A message, without its descriptors.
#[derive(Debug, PartialEq, Eq)]
pub enum Opening {
    Hello { server: u16, servers: u16, far_bytes: u64 },
    Peer { peer: u16, side: Side },
    Start,
    Welcome,
    Refused { reason: String },
}

impl Opening {
    /// As bytes: magic, protocol version, tag, fields; little endian.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(VERSION);
        match self {
            Opening::Hello { server, servers, far_bytes } => {
                bytes.push(1);
                bytes.extend(server.to_le_bytes());
                bytes.extend(servers.to_le_bytes());
                bytes.extend(far_bytes.to_le_bytes());
            }
            Opening::Peer { peer, side } => {
                bytes.push(2);
                bytes.extend(peer.to_le_bytes());
                bytes.push(*side as u8);
            }
            Opening::Start => bytes.push(3),
            Opening::Welcome => bytes.push(4),
            Opening::Refused { reason } => {
                bytes.push(5);
                bytes.extend(reason.bytes().take(1000));
            }
        }
        bytes
    }

    /// `Err` says what is wrong with the bytes.
    pub fn decode(bytes: &[u8]) -> Result<Opening, &'static str> {
        let rest = bytes.strip_prefix(MAGIC).ok_or("not a farheap peer")?;
        let [version, tag, fields @ ..] = rest else { return Err("too short") };
        if *version != VERSION {
            return Err("another version of the protocol; VM and memory server must match");
        }
        let u16_at = |at: usize| u16::from_le_bytes([fields[at], fields[at + 1]]);
        match (tag, fields.len()) {
            (1, 12) => {
                let far_bytes = fields[4..12].try_into().expect("eight bytes");
                let far_bytes = u64::from_le_bytes(far_bytes);
                Ok(Opening::Hello { server: u16_at(0), servers: u16_at(2), far_bytes })
            }
            (2, 3) => {
                let side = match fields[2] {
                    0 => Side::First,
                    1 => Side::Second,
                    _ => return Err("unknown side"),
                };
                Ok(Opening::Peer { peer: u16_at(0), side })
            }
            (3, 0) => Ok(Opening::Start),
            (4, 0) => Ok(Opening::Welcome),
            (5, _) => Ok(Opening::Refused { reason: String::from_utf8_lossy(fields).into_owned() }),
            _ => Err("unknown message or wrong length"),
        }
    }
}

const MAGIC: &[u8] = b"farheap";
const VERSION: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_wire_and_nonsense_is_refused() {
        let messages = [
            Opening::Hello { server: 1, servers: 3, far_bytes: 1 << 40 },
            Opening::Peer { peer: 2, side: Side::Second },
            Opening::Start,
            Opening::Welcome,
            Opening::Refused { reason: "no room".into() },
        ];
        for message in messages {
            let bytes = message.encode();
            assert_eq!(Opening::decode(&bytes).as_ref(), Ok(&message));
            for cut in 0..bytes.len().min(9) {
                assert!(Opening::decode(&bytes[..cut]).is_err());
            }
        }
        assert!(Opening::decode(b"GET / HTTP/1.1").is_err());
    }
}
