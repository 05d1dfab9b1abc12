//! A ring of frames in shared memory: one process writes, one reads.
//!
//! ```text
//! byte 0     head: bytes ever written      (by the producer)
//!     64     tail: bytes ever read         (by the consumer)
//!    128     consumer's doorbell           (1 = asleep)
//!    192     producer's doorbell           (1 = asleep, waiting for room)
//!   4096     RING_BYTES of frames, wrapping anywhere on a word boundary
//!
//! frame:  word 0  kind << 32 | length of the payload in bytes
//!         word 1  number of the call that it belongs to (0 for notices)
//!         ...     the payload, filled up to whole words
//! ```
//!
//! The other side may be malicious or broken: every number that comes out of shared memory is
//! checked before use.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::memory::atomic_words::WORD_BYTES;
use crate::memory::mapping::SharedMapping;
use crate::wire::channel::MESSAGE_BYTES_MAX;
use crate::wire::frame::{Frame, FrameKind};
use base::Patience;
use base::futex;

/// Shared bytes that one ring takes, a multiple of the page size.
pub const RING_SHARED_BYTES: usize = DATA_OFFSET + RING_BYTES;

/// The writing end. One per ring and process; the owner serialises its threads.
pub struct Producer {
    memory: RingMemory,
}

/// The reading end. One per ring and process.
pub struct Consumer {
    memory: RingMemory,
}

impl Producer {
    /// The writing end of the ring at `offset` of the mapping.
    pub fn new(mapping: Arc<SharedMapping>, offset: usize) -> Producer {
        Producer { memory: RingMemory::new(mapping, offset) }
    }

    /// Appends a frame and wakes the consumer. Waits for room for `timeout`, or as long as
    /// `go_on` says; false when there was none. The payload is at most [`MESSAGE_BYTES_MAX`] bytes.
    pub fn push(
        &mut self,
        kind: FrameKind,
        call: u64,
        payload: &[u8],
        timeout: Duration,
        go_on: impl Fn() -> bool,
    ) -> bool {
        assert!(payload.len() <= MESSAGE_BYTES_MAX, "the channel checks lengths");
        let frame_bytes = frame_bytes(payload.len());
        let memory = &self.memory;
        let head = memory.head().load(Ordering::Relaxed);
        // A peer that moves its tail beyond our head only gets its own messages overwritten.
        let has_room = || {
            let used = head.wrapping_sub(memory.tail().load(Ordering::SeqCst));
            used <= RING_BYTES as u64 && RING_BYTES as u64 - used >= frame_bytes
        };
        let mut patience = Patience::new(timeout);
        while !has_room() {
            let Some(step) = patience.step().filter(|_| go_on()) else { return false };
            doze(memory.producer_bell(), step.min(PEER_CHECK_INTERVAL), has_room);
        }
        memory.put(head, (kind as u64) << 32 | payload.len() as u64);
        memory.put(head.wrapping_add(8), call);
        let mut at = head.wrapping_add(HEADER_BYTES);
        for chunk in payload.chunks(WORD_BYTES) {
            let mut word = [0; WORD_BYTES];
            word[..chunk.len()].copy_from_slice(chunk);
            memory.put(at, u64::from_le_bytes(word));
            at = at.wrapping_add(WORD_BYTES as u64);
        }
        // Publishes the frame's words; also keeps the bell's test after it (see `doze`).
        memory.head().store(head.wrapping_add(frame_bytes), Ordering::SeqCst);
        ring_bell(memory.consumer_bell());
        true
    }
}

impl Consumer {
    /// The reading end of the ring at `offset` of the mapping.
    pub fn new(mapping: Arc<SharedMapping>, offset: usize) -> Consumer {
        Consumer { memory: RingMemory::new(mapping, offset) }
    }

    /// Takes the next frame, waiting for it at most `wait`. `Err` names the error in the bytes that
    /// the peer wrote.
    pub fn pop(&mut self, wait: Duration) -> Result<Option<Frame>, &'static str> {
        let memory = &self.memory;
        let tail = memory.tail().load(Ordering::Relaxed);
        let has_frame = || memory.head().load(Ordering::SeqCst) != tail;
        for _ in 0..SPINS {
            if has_frame() {
                break;
            }
            std::hint::spin_loop();
        }
        if !has_frame() && !wait.is_zero() {
            doze(memory.consumer_bell(), wait, has_frame);
        }
        let ready = memory.head().load(Ordering::SeqCst).wrapping_sub(tail);
        if ready == 0 {
            return Ok(None);
        }
        if ready > RING_BYTES as u64 || ready < HEADER_BYTES {
            return Err("invalid fill level");
        }
        let header = memory.take(tail);
        let payload_bytes = (header & u64::from(u32::MAX)) as usize;
        let kind = match FrameKind::from_number((header >> 32) as u32) {
            Some(kind) if kind != FrameKind::Opening => kind,
            _ => return Err("unknown kind"),
        };
        if payload_bytes > MESSAGE_BYTES_MAX || frame_bytes(payload_bytes) > ready {
            return Err("invalid length");
        }
        let call = memory.take(tail.wrapping_add(8));
        let mut payload = Vec::with_capacity(payload_bytes.next_multiple_of(WORD_BYTES));
        for at in (0..payload_bytes).step_by(WORD_BYTES) {
            let word = memory.take(tail.wrapping_add(HEADER_BYTES + at as u64));
            payload.extend_from_slice(&word.to_le_bytes());
        }
        payload.truncate(payload_bytes);
        memory.tail().store(tail.wrapping_add(frame_bytes(payload_bytes)), Ordering::SeqCst);
        ring_bell(memory.producer_bell());
        Ok(Some(Frame { kind, call, payload }))
    }
}

/// Wakes the thread that reads the ring at `offset` of the mapping, so that it looks at its other
/// conditions.
pub fn wake_consumer(mapping: &Arc<SharedMapping>, offset: usize) {
    ring_bell(RingMemory::new(mapping.clone(), offset).consumer_bell());
}

/// The shared words of one ring.
struct RingMemory {
    mapping: Arc<SharedMapping>,
    offset: usize,
}

impl RingMemory {
    fn new(mapping: Arc<SharedMapping>, offset: usize) -> RingMemory {
        assert!(offset.is_multiple_of(WORD_BYTES) && offset + RING_SHARED_BYTES <= mapping.bytes());
        RingMemory { mapping, offset }
    }

    /// Written by the producer, read by the consumer; its store publishes frames.
    fn head(&self) -> &AtomicU64 {
        self.word(0)
    }

    /// Written by the consumer, read by the producer; its store gives room back.
    fn tail(&self) -> &AtomicU64 {
        self.word(64)
    }

    fn consumer_bell(&self) -> &AtomicU32 {
        self.half_word(128)
    }

    fn producer_bell(&self) -> &AtomicU32 {
        self.half_word(192)
    }

    /// Stores the word at a position of the byte stream.
    fn put(&self, position: u64, word: u64) {
        self.data(position).store(word, Ordering::Relaxed);
    }

    fn take(&self, position: u64) -> u64 {
        self.data(position).load(Ordering::Relaxed)
    }

    fn data(&self, position: u64) -> &AtomicU64 {
        // Positions are multiples of a word unless a peer corrupted its index.
        let wrapped = position as usize % RING_BYTES / WORD_BYTES * WORD_BYTES;
        self.word(DATA_OFFSET + wrapped)
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        debug_assert!(at.is_multiple_of(WORD_BYTES) && at + WORD_BYTES <= RING_SHARED_BYTES);
        // SAFETY: inside the mapping by the assertion in new() and the one above; aligned; lives as
        // long as self.
        unsafe { AtomicU64::from_ptr(self.mapping.base().add(self.offset + at).cast()) }
    }

    fn half_word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: as in word(); both callers pass constants below DATA_OFFSET.
        unsafe { AtomicU32::from_ptr(self.mapping.base().add(self.offset + at).cast()) }
    }
}

/// Sleeps on a bell unless `is_ready`. The thread that makes it ready stores first and looks at the
/// bell second, both sequentially consistent, as this one does in the opposite order: so one of the
/// two sees the other.
fn doze(bell: &AtomicU32, timeout: Duration, is_ready: impl Fn() -> bool) {
    bell.store(ASLEEP, Ordering::SeqCst);
    if !is_ready() {
        futex::wait(bell, ASLEEP, timeout);
    }
    bell.store(AWAKE, Ordering::SeqCst);
}

fn ring_bell(bell: &AtomicU32) {
    if bell.load(Ordering::SeqCst) == ASLEEP {
        bell.store(AWAKE, Ordering::SeqCst);
        futex::wake_all(bell);
    }
}

fn frame_bytes(payload_bytes: usize) -> u64 {
    HEADER_BYTES + payload_bytes.next_multiple_of(WORD_BYTES) as u64
}

/// How often a sleeper looks whether its peer still lives.
pub const PEER_CHECK_INTERVAL: Duration = Duration::from_millis(100);

const RING_BYTES: usize = 1 << 20;
const DATA_OFFSET: usize = 4096;
const HEADER_BYTES: u64 = 16;
const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;

/// A few microseconds: less than a sleep and a wake-up cost, and little on a machine with few
/// cores.
const SPINS: usize = 500;

const _: () = assert!(RING_BYTES.is_power_of_two() && RING_SHARED_BYTES.is_multiple_of(4096));
const _: () = assert!(MESSAGE_BYTES_MAX * 2 + 64 <= RING_BYTES);

#[cfg(test)]
mod tests {
    use super::*;

    fn ring() -> (Producer, Consumer) {
        let mapping = SharedMapping::create(c"ring", RING_SHARED_BYTES).unwrap();
        let mapping = Arc::new(mapping);
        (Producer::new(mapping.clone(), 0), Consumer::new(mapping, 0))
    }

    fn soon() -> Duration {
        Duration::from_secs(10)
    }

    #[test]
    fn frames_of_all_lengths_come_out_as_they_went_in() {
        let (mut producer, mut consumer) = ring();
        let sender = std::thread::spawn(move || {
            for n in 0..3000_usize {
                let payload: Vec<u8> = (0..n * 37 % 5000).map(|i| (i * n) as u8).collect();
                assert!(producer.push(FrameKind::Request, n as u64, &payload, soon(), || true));
            }
        });
        for n in 0..3000_usize {
            let frame = loop {
                if let Some(frame) = consumer.pop(PEER_CHECK_INTERVAL).unwrap() {
                    break frame;
                }
            };
            assert_eq!((frame.kind, frame.call), (FrameKind::Request, n as u64));
            let expected: Vec<u8> = (0..n * 37 % 5000).map(|i| (i * n) as u8).collect();
            assert_eq!(frame.payload, expected, "frame {n}");
        }
        sender.join().unwrap();
    }

    #[test]
    fn a_full_ring_refuses_after_the_deadline() {
        let (mut producer, _consumer) = ring();
        let payload = vec![0; MESSAGE_BYTES_MAX];
        let soon = || Duration::from_millis(10);
        let mut sent = 0;
        while producer.push(FrameKind::Notice, 0, &payload, soon(), || true) {
            sent += 1;
        }
        assert_eq!(sent, RING_BYTES / (MESSAGE_BYTES_MAX + 16));
    }

    #[test]
    fn a_hostile_peer_gets_an_error_and_nothing_else() {
        let attacks: [fn(&RingMemory); 4] = [
            |m| m.head().store(u64::MAX, Ordering::SeqCst),
            |m| m.head().store(8, Ordering::SeqCst),
            |m| {
                m.put(0, 9 << 32);
                m.head().store(16, Ordering::SeqCst);
            },
            |m| {
                m.put(0, 1 << 32 | 4000);
                m.head().store(64, Ordering::SeqCst);
            },
        ];
        for (n, attack) in attacks.iter().enumerate() {
            let (producer, mut consumer) = ring();
            attack(&producer.memory);
            assert!(consumer.pop(PEER_CHECK_INTERVAL).is_err(), "attack {n}");
        }
    }
}
