//! The messages of the start. With shared memory they are datagrams of the control socket, which
//! carries descriptors too; over TCP they are frames, and the part in brackets is the same protocol
//! between the processes of one memory server.
//!
//! ```text
//! shared memory
//!   VM -> server       Hello { server, servers, far_bytes, share_bytes, peers }  + the rings of their channel
//!                      Piece { offset, place, bytes }        + the pool's file; for each piece of a pool, if there are
//!                      Peer { peer, side }                   + socket and rings to a peer; for each peer
//!                      Start
//!   server -> VM       Welcome                               + the segment, and the table of its grants
//!                  or  Refused { reason }
//!
//! TCP: every connection begins with the handshake, for all purposes
//!   client -> listener Knock { nonce, purpose }
//!   listener -> client Challenge { nonce }
//!   client -> listener Proof { hash, sealed }
//!   listener -> client Accepted { hash, session }        or  Refused { reason } at any step
//!
//! then, on the control connection
//!   VM -> session      Hello { server, servers, far_bytes, share_bytes, peers }
//!                      Dial { peer, session, host, port }    for each server with a higher number
//!                      Expect { peer }                       for each one with a lower number
//!                      Verbs                                 if READ, WRITE and calls use queue pairs
//!                      Start
//!   session -> VM      Welcome                           or  Refused { reason }
//! and on a data connection
//!   session -> VM      Welcome                               requests for pages may begin
//! and with verbs, on all of these and on those between servers, last
//!   both               Queue(address)                        its own queue pair
//!                      Welcome                               it receives from the other's
//!
//! [ VM -> own listener      Listen { token }                 + the socket to listen on
//!   listener -> session     Adopt { mesh_key }               + the control connection
//!                           Line { number }                  + a data connection
//!                           Mesh { from }                    + a connection from a memory server ]
//! ```
//!
//! Everything that comes in is checked; no byte string makes decoding panic.

use std::time::Duration;

use crate::wire::token::HASH_BYTES;

/// A message, without its descriptors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opening {
    /// `peers` other servers will be named to it: all, or none in the place of a lost one. `share_bytes`: the bytes
    /// that the VM will keep at this server if its heap is full, all copies and all of its sessions together.
    Hello {
        server: u16,
        servers: u16,
        far_bytes: u64,
        share_bytes: u64,
        peers: u16,
    },
    Peer {
        peer: u16,
        side: Side,
    },
    Start,
    Welcome,
    Refused {
        reason: String,
    },
    Knock {
        nonce: Nonce,
        purpose: Purpose,
    },
    Challenge {
        nonce: Nonce,
    },
    Proof {
        hash: Nonce,
        sealed: Nonce,
    },
    Accepted {
        hash: Nonce,
        session: SessionId,
    },
    Dial {
        peer: u16,
        session: SessionId,
        host: String,
        port: u16,
    },
    Expect {
        peer: u16,
    },
    Listen {
        token: Vec<u8>,
    },
    Adopt {
        mesh_key: Nonce,
    },
    Line {
        number: u16,
    },
    Mesh {
        from: u16,
    },
    Verbs,
    Queue(QueueAddress),
    /// What of the far space lies in a pool: `bytes` from `offset` on are at `place` of its file.
    Piece {
        offset: u64,
        place: u64,
        bytes: u64,
    },
}

/// Which of the two rings of a channel in shared memory an end writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    First = 0,
    Second = 1,
}

/// The address of a queue pair, and its capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueAddress {
    /// 24 bits.
    pub number: u32,
    /// Number of the first packet that it sends, 24 bits.
    pub first_packet: u32,
    /// Address of its port within an InfiniBand subnet; 0 on Ethernet.
    pub lid: u16,
    /// The longest packet: 1 for 256 bytes to 5 for 4096.
    pub mtu: u8,
    /// READs that it answers at a time, at least 1.
    pub reads: u8,
    /// Address of its port.
    pub gid: [u8; 16],
}

/// The purpose of a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The control connection of a new session.
    Session,
    /// A data connection of a session: READ and WRITE.
    Line { session: SessionId, number: u16 },
    /// The channel from another memory server of the same VM.
    Mesh { session: SessionId, from: u16 },
}

/// Names a session; unguessable.
pub type SessionId = [u8; SESSION_BYTES];
/// Random bytes, a keyed hash, or a key.
pub type Nonce = [u8; HASH_BYTES];

impl Opening {
    /// As bytes: magic, protocol version, tag, fields; little endian.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(PROTOCOL_VERSION);
        let mut put = |tag: u8, fields: &[&[u8]]| {
            bytes.push(tag);
            fields.iter().for_each(|field| bytes.extend_from_slice(field));
        };
        match self {
            Opening::Hello { server, servers, far_bytes, share_bytes, peers } => {
                let numbers = [server.to_le_bytes(), servers.to_le_bytes()];
                let bytes = [far_bytes.to_le_bytes(), share_bytes.to_le_bytes()];
                put(1, &[&numbers.concat(), &bytes.concat(), &peers.to_le_bytes()]);
            }
            Opening::Peer { peer, side } => put(2, &[&peer.to_le_bytes(), &[*side as u8]]),
            Opening::Start => put(3, &[]),
            Opening::Welcome => put(4, &[]),
            Opening::Refused { reason } => {
                put(5, &[&reason.as_bytes()[..reason.len().min(REASON_BYTES_MAX)]]);
            }
            Opening::Knock { nonce, purpose } => put(6, &[nonce, &purpose.encode()]),
            Opening::Challenge { nonce } => put(7, &[nonce]),
            Opening::Proof { hash, sealed } => put(8, &[hash, sealed]),
            Opening::Accepted { hash, session } => put(9, &[hash, session]),
            Opening::Dial { peer, session, host, port } => {
                put(10, &[&peer.to_le_bytes(), session, &port.to_le_bytes(), host.as_bytes()]);
            }
            Opening::Expect { peer } => put(11, &[&peer.to_le_bytes()]),
            Opening::Listen { token } => put(12, &[token]),
            Opening::Adopt { mesh_key } => put(13, &[mesh_key]),
            Opening::Line { number } => put(14, &[&number.to_le_bytes()]),
            Opening::Mesh { from } => put(15, &[&from.to_le_bytes()]),
            Opening::Verbs => put(16, &[]),
            Opening::Queue(address) => put(17, &[&address.encode()]),
            Opening::Piece { offset, place, bytes } => {
                put(18, &[&[offset, place, bytes].map(|n| n.to_le_bytes()).concat()]);
            }
        }
        bytes
    }

    /// `Err` names the error in the bytes.
    pub fn decode(bytes: &[u8]) -> Result<Opening, &'static str> {
        let rest = bytes.strip_prefix(MAGIC).ok_or("not a farheap peer")?;
        let [version, tag, fields @ ..] = rest else { return Err("too short") };
        if *version != PROTOCOL_VERSION {
            return Err(WRONG_VERSION);
        }
        let mut fields = Fields(fields);
        let message = match tag {
            1 => Opening::Hello {
                server: fields.u16()?,
                servers: fields.u16()?,
                far_bytes: u64::from_le_bytes(fields.array()?),
                share_bytes: u64::from_le_bytes(fields.array()?),
                peers: fields.u16()?,
            },
            2 => Opening::Peer {
                peer: fields.u16()?,
                side: match fields.array()? {
                    [0] => Side::First,
                    [1] => Side::Second,
                    _ => return Err("unknown side"),
                },
            },
            3 => Opening::Start,
            4 => Opening::Welcome,
            5 => {
                let reason = String::from_utf8_lossy(fields.rest());
                // It is shown to people: no line breaks, no control sequences of terminals.
                Opening::Refused { reason: reason.replace(char::is_control, " ") }
            }
            6 => Opening::Knock { nonce: fields.array()?, purpose: Purpose::decode(&mut fields)? },
            7 => Opening::Challenge { nonce: fields.array()? },
            8 => Opening::Proof { hash: fields.array()?, sealed: fields.array()? },
            9 => Opening::Accepted { hash: fields.array()?, session: fields.array()? },
            10 => {
                let (peer, session, port) = (fields.u16()?, fields.array()?, fields.u16()?);
                let host = String::from_utf8(fields.rest().into()).map_err(|_| "strange host")?;
                Opening::Dial { peer, session, host, port }
            }
            11 => Opening::Expect { peer: fields.u16()? },
            12 => Opening::Listen { token: fields.rest().into() },
            13 => Opening::Adopt { mesh_key: fields.array()? },
            14 => Opening::Line { number: fields.u16()? },
            15 => Opening::Mesh { from: fields.u16()? },
            16 => Opening::Verbs,
            17 => Opening::Queue(QueueAddress::decode(&mut fields)?),
            18 => Opening::Piece {
                offset: u64::from_le_bytes(fields.array()?),
                place: u64::from_le_bytes(fields.array()?),
                bytes: u64::from_le_bytes(fields.array()?),
            },
            _ => return Err("unknown message"),
        };
        if fields.0.is_empty() { Ok(message) } else { Err("too long") }
    }
}

/// The error in the numbers of a Hello, if there is one.
pub fn hello_error(server: u16, servers: u16, far_bytes: u64, peers: u16) -> Option<&'static str> {
    let is_possible = server < servers
        && servers <= SERVERS_MAX
        && far_bytes > 0
        && far_bytes.is_multiple_of(4096);
    let are_told = peers == 0 || usize::from(peers) + 1 == usize::from(servers);
    (!is_possible || !are_told).then_some("invalid numbers")
}

/// Why a server with this limit does not take its share of a far space; `None`: it does.
pub fn share_refusal(share_bytes: u64, memory_bytes_max: Option<u64>) -> Option<String> {
    let limit = memory_bytes_max.filter(|limit| share_bytes > *limit)?;
    Some(format!(
        "it offers {limit} bytes, and its share of the remote memory would be {share_bytes} bytes"
    ))
}

/// How long either side waits for the other's next message at the start.
pub const START_TIMEOUT: Duration = Duration::from_secs(10);
/// The most servers of a fleet.
const SERVERS_MAX: u16 = 1024;

impl Purpose {
    fn encode(self) -> Vec<u8> {
        let (tag, session, number) = match self {
            Purpose::Session => (1, [0; SESSION_BYTES], 0),
            Purpose::Line { session, number } => (2, session, number),
            Purpose::Mesh { session, from } => (3, session, from),
        };
        [&[tag][..], &session, &number.to_le_bytes()].concat()
    }

    fn decode(fields: &mut Fields<'_>) -> Result<Purpose, &'static str> {
        let [tag] = fields.array()?;
        let (session, number) = (fields.array()?, fields.u16()?);
        match tag {
            1 => Ok(Purpose::Session),
            2 => Ok(Purpose::Line { session, number }),
            3 => Ok(Purpose::Mesh { session, from: number }),
            _ => Err("unknown purpose"),
        }
    }
}

impl QueueAddress {
    fn encode(self) -> Vec<u8> {
        let numbers = [self.number.to_le_bytes(), self.first_packet.to_le_bytes()].concat();
        [&numbers[..], &self.lid.to_le_bytes(), &[self.mtu, self.reads], &self.gid].concat()
    }

    fn decode(fields: &mut Fields<'_>) -> Result<QueueAddress, &'static str> {
        let (number, first_packet) = (fields.array()?, fields.array()?);
        let (number, first_packet) = (u32::from_le_bytes(number), u32::from_le_bytes(first_packet));
        let (lid, [mtu, reads], gid) = (fields.u16()?, fields.array()?, fields.array()?);
        if number >= 1 << 24 || first_packet >= 1 << 24 || !(1..=5).contains(&mtu) || reads == 0 {
            return Err("invalid queue pair");
        }
        Ok(QueueAddress { number, first_packet, lid, mtu, reads, gid })
    }
}

/// The fields of a message that are left to decode.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let (first, rest) = self.0.split_first_chunk().ok_or("too short")?;
        self.0 = rest;
        Ok(*first)
    }

    fn u16(&mut self) -> Result<u16, &'static str> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    fn rest(&mut self) -> &[u8] {
        std::mem::take(&mut self.0)
    }
}

/// The error of both sides when they are of different releases.
pub const WRONG_VERSION: &str = "another version of the protocol; VM and memory server must match";

const MAGIC: &[u8] = b"farheap";
/// The version of the protocol that VM and memory servers speak at the start. Grows with every change of
/// the messages, those of agents too.
pub const PROTOCOL_VERSION: u8 = 14;
const SESSION_BYTES: usize = 16;
const REASON_BYTES_MAX: usize = 1000;

/// At least one message of each kind.
#[cfg(test)]
pub(crate) fn examples() -> Vec<Opening> {
    let session = [5; SESSION_BYTES];
    vec![
        Opening::Hello {
            server: 1,
            servers: 3,
            far_bytes: 1 << 40,
            share_bytes: 1 << 39,
            peers: 2,
        },
        Opening::Piece { offset: 1 << 26, place: 4096, bytes: 1 << 26 },
        Opening::Peer { peer: 2, side: Side::Second },
        Opening::Start,
        Opening::Welcome,
        Opening::Refused { reason: "no room".into() },
        Opening::Knock { nonce: [1; 32], purpose: Purpose::Session },
        Opening::Knock { nonce: [1; 32], purpose: Purpose::Line { session, number: 3 } },
        Opening::Knock { nonce: [1; 32], purpose: Purpose::Mesh { session, from: 1 } },
        Opening::Challenge { nonce: [2; 32] },
        Opening::Proof { hash: [3; 32], sealed: [4; 32] },
        Opening::Accepted { hash: [3; 32], session },
        Opening::Dial { peer: 1, session, host: "::1".into(), port: 7411 },
        Opening::Expect { peer: 0 },
        Opening::Listen { token: b"secret".to_vec() },
        Opening::Adopt { mesh_key: [6; 32] },
        Opening::Line { number: 7 },
        Opening::Mesh { from: 1 },
        Opening::Verbs,
        Opening::Queue(QueueAddress {
            number: 17,
            first_packet: 0xff_ffff,
            lid: 2,
            mtu: 5,
            reads: 16,
            gid: [7; 16],
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_wire_and_nonsense_is_refused() {
        for message in examples() {
            let bytes = message.encode();
            assert_eq!(Opening::decode(&bytes).as_ref(), Ok(&message));
            let open_ended = matches!(
                message,
                Opening::Refused { .. } | Opening::Dial { .. } | Opening::Listen { .. }
            );
            let cuts = if open_ended { 9 } else { bytes.len() };
            for cut in 0..cuts {
                assert!(Opening::decode(&bytes[..cut]).is_err(), "{message:?} cut to {cut}");
            }
            if !open_ended {
                assert!(Opening::decode(&[&bytes[..], &[0]].concat()).is_err(), "{message:?}");
            }
        }
        assert!(Opening::decode(b"GET / HTTP/1.1").is_err());
        let other = [MAGIC, &[PROTOCOL_VERSION + 1, 3]].concat();
        assert_eq!(Opening::decode(&other), Err(WRONG_VERSION));
    }

    /// A decoded message means what its bytes say, and nothing panics.
    #[test]
    fn random_bytes_are_refused_or_mean_what_they_say() {
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        let messages = examples();
        let mut decoded = 0;
        for _ in 0..20_000 {
            // A correct message with some bytes changed gets further than noise does.
            let mut bytes = messages[next() as usize % messages.len()].encode();
            for _ in 0..next() % 4 {
                let at = next() as usize % bytes.len();
                bytes[at] = next() as u8;
            }
            bytes.truncate(bytes.len() - next() as usize % 3 * (next() as usize % 4));
            if let Ok(message) = Opening::decode(&bytes) {
                decoded += 1;
                assert_eq!(Opening::decode(&message.encode()), Ok(message));
            }
        }
        assert!(decoded > 1000, "{decoded}");
    }

    #[test]
    fn a_refusal_cannot_play_with_the_terminal() {
        let bytes = Opening::Refused { reason: "\x1b[2Jgone\nnext".into() }.encode();
        let Ok(Opening::Refused { reason }) = Opening::decode(&bytes) else { panic!() };
        assert_eq!(reason, " [2Jgone next");
    }
}
