//! The memory in which a thread writes its events.
//!
//! ```text
//!   memory                                                        end
//!     | events that are taken | events to take | event in writing | free |
//!     +-----------------------+----------------+------------------+------+
//!                            top           committed
//! ```
//!
//! Java code (`jdk.jfr.internal.EventWriter`) writes the bytes of an event, and then stores the event's end into
//! `committed`. What is below is not written again before the thread itself asks for room, which takes the lock.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// The buffer of one thread. Its own thread writes to it; any thread takes events out.
pub struct Buffer {
    /// Address behind the last event that is whole. The thread's Java code stores it (a store-store fence pairs with
    /// the acquiring load here), and `make_room` does.
    committed: AtomicU64,
    room: Mutex<Room>,
}

struct Room {
    memory: Box<[AtomicU8]>,
    /// Offset of the first byte that has not been taken.
    top: usize,
}

/// Where a thread goes on writing: addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Of the event that is being written, or of the next one.
    pub start: u64,
    pub end: u64,
    /// Of the word that has the end of the last event that is whole.
    pub committed_at: u64,
}

impl Buffer {
    pub fn new(bytes: usize) -> Buffer {
        let room = Room::new(bytes);
        Buffer { committed: AtomicU64::new(room.start()), room: Mutex::new(room) }
    }

    /// For the thread itself, between two events.
    pub fn position(&self) -> Position {
        self.position_in(&self.room.lock())
    }

    fn position_in(&self, room: &Room) -> Position {
        Position {
            start: self.committed.load(Ordering::Relaxed),
            end: room.start() + room.memory.len() as u64,
            committed_at: std::ptr::from_ref(&self.committed) as u64,
        }
    }

    /// The events that are whole and were not taken before.
    pub fn take(&self) -> Vec<u8> {
        self.room.lock().take(self.committed.load(Ordering::Acquire))
    }

    /// Whether the buffer has grown for a long event.
    pub fn is_grown(&self, bytes: usize) -> bool {
        self.room.lock().memory.len() > bytes
    }

    /// For the thread itself: takes out the events that are whole, and moves the `used` bytes of one that is being
    /// written to the front of a buffer that has `wanted` more bytes, and `bytes` at least.
    pub fn make_room(&self, used: usize, wanted: usize, bytes: usize) -> (Vec<u8>, Position) {
        let mut room = self.room.lock();
        let taken = room.take(self.committed.load(Ordering::Acquire));
        let begun: Vec<u8> = room.bytes(room.top, room.top + used);
        let capacity = bytes.max((used + wanted).next_power_of_two());
        if capacity != room.memory.len() {
            *room = Room::new(capacity);
        }
        room.top = 0;
        for (to, from) in room.memory.iter().zip(begun) {
            to.store(from, Ordering::Relaxed);
        }
        self.committed.store(room.start(), Ordering::Release);
        (taken, self.position_in(&room))
    }
}

impl Room {
    fn new(bytes: usize) -> Room {
        Room { memory: (0..bytes).map(|_| AtomicU8::new(0)).collect(), top: 0 }
    }

    fn start(&self) -> u64 {
        self.memory.as_ptr() as u64
    }

    /// A program that breaks into the class library may have written an address of its own: it gets what there is.
    fn bytes(&self, from: usize, to: usize) -> Vec<u8> {
        let chosen = self.memory.get(from..to.min(self.memory.len())).unwrap_or_default();
        chosen.iter().map(|byte| byte.load(Ordering::Relaxed)).collect()
    }

    fn take(&mut self, committed: u64) -> Vec<u8> {
        let end = committed.saturating_sub(self.start()).min(self.memory.len() as u64) as usize;
        let taken = self.bytes(self.top, end);
        self.top = self.top.max(end);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `EventWriter` does it.
    fn write(buffer: &Buffer, position: Position, at: usize, bytes: &[u8], commits: bool) {
        let room = buffer.room.lock();
        let start = (position.start - room.start()) as usize + at;
        for (to, from) in room.memory[start..].iter().zip(bytes) {
            to.store(*from, Ordering::Relaxed);
        }
        if commits {
            let end = room.start() + (start + bytes.len()) as u64;
            buffer.committed.store(end, Ordering::Release);
        }
    }

    #[test]
    fn whole_events_are_taken_once() {
        let buffer = Buffer::new(16);
        let position = buffer.position();
        assert_eq!(position.end - position.start, 16);
        assert!(buffer.take().is_empty());
        write(&buffer, position, 0, b"one", true);
        write(&buffer, position, 3, b"two", false);
        assert_eq!(buffer.take(), b"one");
        assert!(buffer.take().is_empty());
        write(&buffer, position, 3, b"two", true);
        assert_eq!(buffer.take(), b"two");
    }

    #[test]
    fn an_event_that_is_being_written_moves_with_the_buffer() {
        let buffer = Buffer::new(8);
        write(&buffer, buffer.position(), 0, b"one", true);
        write(&buffer, buffer.position(), 0, b"long", false);
        let (taken, position) = buffer.make_room(4, 30, 8);
        assert_eq!((taken, position.end - position.start), (b"one".to_vec(), 64));
        assert!(buffer.is_grown(8));
        write(&buffer, position, 4, b"er", true);
        let (taken, position) = buffer.make_room(0, 0, 8);
        assert_eq!((taken, position.end - position.start), (b"longer".to_vec(), 8));
        assert!(!buffer.is_grown(8) && buffer.take().is_empty());
    }

    #[test]
    fn wrong_addresses_do_no_harm() {
        let buffer = Buffer::new(8);
        for address in [0, 1, u64::MAX] {
            buffer.committed.store(address, Ordering::Relaxed);
            assert!(buffer.take().len() <= 8);
        }
        assert!(buffer.make_room(100, 0, 8).0.is_empty());
    }
}
