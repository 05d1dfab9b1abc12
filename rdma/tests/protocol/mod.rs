//! The protocol over TCP once more, from its description: this module can send messages that the
//! crate's own code never sends. And a VM's side that sends nothing by itself.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hmac::{Hmac, KeyInit, Mac};
use rdma::{PeerId, RdmaError, Service};
use sha2::Sha256;

pub type Session = [u8; 16];

/// A message of the start.
pub struct Message {
    pub tag: u8,
    pub fields: Vec<u8>,
}

pub const HELLO: u8 = 1;
pub const START: u8 = 3;
pub const WELCOME: u8 = 4;
pub const REFUSED: u8 = 5;
pub const KNOCK: u8 = 6;
pub const CHALLENGE: u8 = 7;
pub const PROOF: u8 = 8;
pub const ACCEPTED: u8 = 9;

/// Kind of the frames that carry such messages.
pub const OPENING: u32 = 4;

/// A frame as it travels.
pub fn frame(kind: u32, call: u64, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    let kind = kind.to_le_bytes();
    let call = call.to_le_bytes();
    let crc = crc32c::crc32c(&[&length[..], &kind, &call, payload].concat()).to_le_bytes();
    [b"FARH", &length[..], &kind, &crc, &call, payload].concat()
}

/// Kind, call and payload of the next frame; `None` when the connection ends.
pub fn receive_frame(stream: &mut TcpStream) -> Option<(u32, u64, Vec<u8>)> {
    let mut head = [0; 24];
    stream.read_exact(&mut head).ok()?;
    let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
    let mut payload = vec![0; number(4) as usize];
    stream.read_exact(&mut payload).ok()?;
    Some((number(8), u64::from_le_bytes(head[16..].try_into().unwrap()), payload))
}

/// The payload of a message of the start.
pub fn opening(version: u8, tag: u8, fields: &[&[u8]]) -> Vec<u8> {
    [b"farheap", &[version, tag][..], &fields.concat()].concat()
}

pub const VERSION: u8 = rdma::PROTOCOL_VERSION;

pub fn send(stream: &mut TcpStream, tag: u8, fields: &[&[u8]]) -> Vec<u8> {
    let payload = opening(VERSION, tag, fields);
    // The other side may have disconnected: its behaviour is the subject of the test.
    let _ = stream.write_all(&frame(OPENING, 0, &payload));
    payload
}

pub fn receive(stream: &mut TcpStream) -> Option<(Message, Vec<u8>)> {
    let (kind, _, payload) = receive_frame(stream)?;
    assert_eq!(kind, OPENING);
    assert!(payload.starts_with(&opening(VERSION, payload[8], &[])));
    Some((Message { tag: payload[8], fields: payload[9..].to_vec() }, payload))
}

/// Purpose of a connection: 1 a new session, 2 pages, 3 from another server.
pub fn purpose(tag: u8, session: &Session, number: u16) -> Vec<u8> {
    [&[tag][..], session, &number.to_le_bytes()].concat()
}

/// The client's side of the handshake. Returns the listener's last answer.
pub fn knock(stream: &mut TcpStream, key: &[u8], purpose: &[u8]) -> Option<Message> {
    let knock = send(stream, KNOCK, &[&[7; 32], purpose]);
    let (message, challenge) = receive(stream)?;
    if message.tag != CHALLENGE {
        return Some(message);
    }
    let sealed = [0; 32];
    let hash = hash(key, &[b"farheap client", &knock, &challenge, &sealed]);
    send(stream, PROOF, &[&hash, &sealed]);
    Some(receive(stream)?.0)
}

/// The listener's side, for every client that has the key. Returns the purpose of the knock.
pub fn answer(stream: &mut TcpStream, key: &[u8], session: &Session) -> Option<Vec<u8>> {
    let (message, knock) = receive(stream)?;
    assert_eq!(message.tag, KNOCK);
    let challenge = send(stream, CHALLENGE, &[&[9; 32]]);
    let (proof, _) = receive(stream)?;
    assert_eq!(proof.tag, PROOF);
    let (theirs, sealed) = proof.fields.split_at(32);
    assert_eq!(theirs, hash(key, &[b"farheap client", &knock, &challenge, sealed]));
    let hash = hash(key, &[b"farheap server", &knock, &challenge, sealed, session]);
    send(stream, ACCEPTED, &[&hash, session]);
    Some(message.fields[32..].to_vec())
}

/// The head of a request for pages with its ranges.
pub fn page_request(operation: u64, ranges: u64, payload: u64, words: &[u64]) -> Vec<u8> {
    let magic = u64::from(u32::from_le_bytes(*b"FARQ"));
    let head = [magic | operation << 32 | ranges << 48, 1, payload];
    head.iter().chain(words).flat_map(|word| word.to_le_bytes()).collect()
}

fn hash(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    for part in parts {
        mac.update(&(part.len() as u64).to_le_bytes());
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// Echoes requests; counts losses.
#[derive(Default)]
pub struct Quiet {
    pub lost: AtomicUsize,
}

impl Service for Quiet {
    fn on_request(&self, _from: PeerId, request: &[u8]) -> Vec<u8> {
        request.to_vec()
    }

    fn on_notice(&self, _from: PeerId, _notice: &[u8]) {}

    fn on_peer_lost(&self, _from: PeerId, _cause: &RdmaError) {
        self.lost.fetch_add(1, Ordering::SeqCst);
    }
}

/// Stops the worker when dropped, also by a panic.
pub struct Stopping<'a>(pub &'a AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
