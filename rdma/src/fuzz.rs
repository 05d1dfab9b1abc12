//! Every decoder of this crate against damaged input: nothing panics, limits hold, and a decoded message means what
//! its bytes say.
//!
//! `cargo test` tries a few thousand inputs of each, `make fuzz` runs for minutes. Failing inputs
//! are printed, minimized.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;

use crate::memory::mapping::SharedMapping;
use crate::shm::ring::{Consumer, RING_SHARED_BYTES};
use crate::tcp::frame::{self, FrameHeader, HEADER_BYTES};
use crate::tcp::handshake::Visitor;
use crate::tcp::page_frame::{Operation, PAYLOAD_BYTES_MAX, RANGES_MAX, Reply, Request};
use crate::tcp::socket::TcpSocket;
use crate::wire::channel::MESSAGE_BYTES_MAX;
use crate::wire::frame::FrameKind;
use crate::wire::opening::{Opening, examples};
use crate::{ServerAddress, Token};
use base::units;

/// One of the messages, with some bytes changed, removed or added; now and then just bytes.
fn damaged(messages: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let edits = prop::collection::vec((any::<Index>(), any::<u8>(), 0..6_u8), 0..5);
    let noise = prop::collection::vec(any::<u8>(), 0..200);
    (prop::sample::select(messages), edits, noise, 0..10_u8).prop_map(
        |(message, edits, noise, kind)| {
            if kind == 0 {
                return noise;
            }
            let mut bytes = message;
            for (place, byte, edit) in edits {
                let at = place.index(bytes.len() + 1);
                match edit {
                    0 => bytes.truncate(at),
                    1 => bytes.insert(at, byte),
                    2 => bytes.extend_from_slice(&noise),
                    3 => _ = (at < bytes.len()).then(|| bytes[at] ^= 1 << (byte % 8)),
                    _ => _ = (at < bytes.len()).then(|| bytes[at] = byte),
                }
            }
            bytes
        },
    )
}

fn frames() -> Vec<Vec<u8>> {
    let openings = examples();
    let openings = openings.iter().map(|one| frame::encode(FrameKind::Opening, 0, &one.encode()));
    let kinds = [FrameKind::Notice, FrameKind::Request, FrameKind::Reply];
    openings.chain(kinds.map(|kind| frame::encode(kind, 7, b"payload"))).collect()
}

/// As many cases as `PROPTEST_CASES` says, times this; no files with failing inputs.
fn cases(times: u32) -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases * times, failure_persistence: None, ..usual }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn openings_mean_what_they_say(
        bytes in damaged(examples().iter().map(Opening::encode).collect())
    ) {
        if let Ok(message) = Opening::decode(&bytes) {
            let is_text = matches!(message, Opening::Refused { .. });
            prop_assert!(is_text || Opening::decode(&message.encode()) == Ok(message));
        }
    }

    #[test]
    fn frames_are_whole_or_refused(bytes in damaged(frames())) {
        if let Some((head, payload)) = bytes.split_first_chunk::<HEADER_BYTES>()
            && let Ok(header) = FrameHeader::decode(head)
        {
            prop_assert!(header.bytes <= MESSAGE_BYTES_MAX);
            if let Ok(frame) = header.complete(payload.to_vec()) {
                prop_assert_eq!(frame::encode(frame.kind, frame.call, &frame.payload), bytes);
            }
        }
    }

    #[test]
    fn requests_for_pages_stay_inside(
        operation in prop::sample::select(vec![Operation::Read, Operation::Write, Operation::Punch]),
        flips in prop::collection::vec(0..192_usize, 0..4),
        ranges in prop::collection::vec(number(), 2 * RANGES_MAX),
        segment_bytes in number(),
    ) {
        let payload_bytes = if operation == Operation::Write { 4096 } else { 0 };
        let request =
            Request { operation, has_checksum: true, ranges: 2, sequence: 9, payload_bytes, crc: 7 };
        let mut words = request.encode();
        flips.iter().for_each(|bit| words[bit / 64] ^= 1 << (bit % 64));
        if let Ok(request) = Request::decode(words) {
            prop_assert_eq!(Request::decode(request.encode()), Ok(request));
            prop_assert!(request.ranges <= RANGES_MAX && request.payload_bytes <= PAYLOAD_BYTES_MAX);
            let ranges = &ranges[..2 * request.ranges];
            if let Ok(bytes) = request.check(ranges, segment_bytes) {
                prop_assert!(bytes <= PAYLOAD_BYTES_MAX);
                for range in ranges.chunks_exact(2) {
                    let end = u128::from(range[0]) + u128::from(range[1]);
                    prop_assert!(end <= u128::from(segment_bytes));
                }
            }
        }
    }

    #[test]
    fn replies_with_pages_answer_what_was_asked(
        words in prop::array::uniform3(number()),
        good in any::<bool>(),
        expected in 0..PAYLOAD_BYTES_MAX,
    ) {
        let reply = Reply { errno: 0, sequence: words[0], payload_bytes: expected, crc: 1 };
        let words = if good { reply.encode() } else { words };
        if let Ok(reply) = Reply::decode(words, words[1], expected) {
            prop_assert_eq!(reply.payload_bytes, expected);
        }
    }

    #[test]
    fn addresses_are_read_back_as_they_are_shown(text in "(unix:)?[\\PC]{0,40}(:[0-9]{0,6})?") {
        if let Ok(address) = text.parse::<ServerAddress>() {
            prop_assert_eq!(address.to_string().parse(), Ok(address));
        }
    }

    #[test]
    fn amounts_never_overflow(text in "[0-9.]{0,22}(k|m|g|t|K|M|G|T|gbit|mbit|ns|us|ms|s|%|\\PC)?") {
        let _ = (units::parse_bytes(&text), units::parse_bandwidth(&text));
        let _ = (units::parse_duration(&text), units::parse_percent(&text));
    }
}

proptest! {
    #![proptest_config(cases(2))]

    /// Everything that another process may write into a ring, its own indices and ours included.
    #[test]
    fn a_ring_gives_frames_within_limits_or_an_error(
        indices in prop::array::uniform2(number()),
        words in prop::collection::vec(prop_oneof![number(), header()], 64),
    ) {
        let mapping = Arc::new(SharedMapping::create(c"ring", RING_SHARED_BYTES).unwrap());
        let word = |at: usize| {
            // SAFETY: inside the mapping, which lives as long as this test, and aligned.
            unsafe { AtomicU64::from_ptr(mapping.base().add(at).cast()) }
        };
        for (n, index) in indices.into_iter().enumerate() {
            word(n * 64).store(index, Ordering::Relaxed);
        }
        for (n, value) in words.into_iter().enumerate() {
            let at = indices[1].wrapping_add(8 * n as u64) as usize % (1 << 20) / 8 * 8;
            word(4096 + at).store(value, Ordering::Relaxed);
        }
        let mut consumer = Consumer::new(mapping, 0);
        for _ in 0..100 {
            match consumer.pop(Duration::ZERO) {
                Ok(Some(frame)) => prop_assert!(frame.payload.len() <= MESSAGE_BYTES_MAX),
                Ok(None) | Err(_) => break,
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(1).cases / 4, ..cases(1) })]

    /// A whole connection, from a stranger's first byte to its last.
    #[test]
    fn no_stranger_gets_in(bytes in prop::collection::vec(damaged(frames()), 1..4)) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stranger = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = listener.accept().unwrap();
        let socket = TcpSocket::new(socket.into()).unwrap();
        let _ = stranger.write_all(&bytes.concat());
        let _ = stranger.shutdown(std::net::Shutdown::Write);
        prop_assert!(Visitor::receive(socket, |_| Token::from([9; 32])).is_err());
    }
}

/// Numbers of all sizes, most of them near a border.
fn number() -> impl Strategy<Value = u64> {
    let border = (0..64_u32, 0..3_u64)
        .prop_map(|(shift, more)| (1_u64 << shift).wrapping_add(more).wrapping_sub(1));
    prop_oneof![
        any::<u64>(),
        border,
        (0..200_u64).prop_map(|n| n * 8),
        (0..64_u64).prop_map(|n| n << 12)
    ]
}

/// The first word of a frame in a ring, or nearly.
fn header() -> impl Strategy<Value = u64> {
    (0..6_u64, 0..300_000_u64).prop_map(|(kind, bytes)| kind << 32 | bytes)
}
