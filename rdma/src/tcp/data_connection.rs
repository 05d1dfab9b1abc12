//! A data connection over TCP: requests for pages, and their replies.
//!
//! A request is put together in the connection's buffer and sent; the reply comes into the same buffer.
//!
//! Words are copied between the caller's memory and the buffer by [`copy_words`], not by the kernel:
//! the kernel may tear words that other threads write meanwhile, and a system call would fail on a
//! page that is not resident, where a copy faults and is served (by another line). It costs 0.1 to 0.5
//! us for a page, beside 10 us or more for the transfer.

use crate::memory::atomic_words::{WORD_BYTES, as_bytes, as_bytes_mut, copy_words};
use crate::tcp::page_frame::{HEAD_WORDS, Operation, RANGE_WORDS, Reply, Request};
use crate::tcp::remote_segment::{Chunk, DataConnection, Failure};
use crate::tcp::socket::{TcpSocket, Until};

/// The client's end.
pub struct TcpDataConnection {
    socket: TcpSocket,
    /// The request, then the reply.
    buffer: Box<[u64]>,
    sequence: u64,
    /// Whether requests and replies have checksums.
    checksums: bool,
}

impl TcpDataConnection {
    /// Over a connection that was welcomed. `buffer_words` bounds the size of a request and of its reply,
    /// head included.
    pub fn new(socket: TcpSocket, buffer_words: usize, checksums: bool) -> TcpDataConnection {
        let buffer = vec![0; buffer_words].into_boxed_slice();
        TcpDataConnection { socket, buffer, sequence: 0, checksums }
    }

    /// Sends a request without words for ranges (offset and length in bytes), and waits for the reply. Returns its
    /// payload of `expected_bytes`.
    pub fn ask(
        &mut self,
        operation: Operation,
        ranges: impl ExactSizeIterator<Item = (u64, u64)>,
        expected_bytes: usize,
        until: Until<'_>,
    ) -> Result<&[u64], Failure> {
        let count = ranges.len();
        let words = self.put_ranges(ranges);
        self.send(operation, count, 0, words, until)?;
        self.receive(expected_bytes, until)
    }

    /// Puts the ranges of a request into the buffer. Returns where they end.
    fn put_ranges(&mut self, ranges: impl Iterator<Item = (u64, u64)>) -> usize {
        let mut at = HEAD_WORDS;
        for (offset, bytes) in ranges {
            self.buffer[at] = offset.to_le();
            self.buffer[at + 1] = bytes.to_le();
            at += RANGE_WORDS;
        }
        at
    }

    /// Sends the request that lies in the buffer up to `words`, its head excepted.
    fn send(
        &mut self,
        operation: Operation,
        ranges: usize,
        payload_bytes: usize,
        words: usize,
        until: Until<'_>,
    ) -> Result<(), Failure> {
        self.sequence += 1;
        let crc = match self.checksums {
            true => crc32c::crc32c(as_bytes(&self.buffer[HEAD_WORDS..words])),
            false => 0,
        };
        let (sequence, has_checksum) = (self.sequence, self.checksums);
        let request = Request { operation, has_checksum, ranges, sequence, payload_bytes, crc };
        self.buffer[..HEAD_WORDS].copy_from_slice(&request.encode());
        self.socket.send(as_bytes(&self.buffer[..words]), until).map_err(Failure::from)
    }

    /// Waits for the reply. Returns its payload of `expected_bytes`.
    fn receive(&mut self, expected_bytes: usize, until: Until<'_>) -> Result<&[u64], Failure> {
        let (sequence, has_checksum) = (self.sequence, self.checksums);
        let reply = &mut self.buffer[..HEAD_WORDS + expected_bytes / WORD_BYTES];
        self.socket.receive(as_bytes_mut(reply), until).map_err(Failure::from)?;
        let (head, payload) = reply.split_at(HEAD_WORDS);
        let reply = Reply::decode([head[0], head[1], head[2]], sequence, expected_bytes);
        let reply = reply.map_err(Failure::Malformed)?;
        if reply.errno != 0 {
            return Err(Failure::Errno("memory of a memory server", reply.errno as i32));
        }
        if has_checksum && crc32c::crc32c(as_bytes(payload)) != reply.crc {
            return Err(Failure::Broken);
        }
        Ok(payload)
    }

    /// Sends a WRITE of all pieces of a chunk.
    ///
    /// # Safety
    /// As for [`DataConnection::exchange`].
    unsafe fn send_write(&mut self, chunk: &Chunk, until: Until<'_>) -> Result<(), Failure> {
        let mut at = self.put_ranges(ranges_of(chunk));
        for piece in chunk.pieces() {
            let words = piece.bytes as usize / WORD_BYTES;
            let into = self.buffer[at..at + words].as_mut_ptr();
            // SAFETY: the caller vouches for the source; the target was just checked.
            unsafe { copy_words(piece.memory, into, words) };
            at += words;
        }
        self.send(Operation::Write, chunk.pieces().len(), chunk.bytes(), at, until)
    }
}

/// Offset and length in bytes of each piece.
fn ranges_of(chunk: &Chunk) -> impl ExactSizeIterator<Item = (u64, u64)> {
    chunk.pieces().iter().map(|piece| (piece.offset, piece.bytes))
}

impl DataConnection for TcpDataConnection {
    unsafe fn exchange(
        &mut self,
        operation: Operation,
        chunk: &Chunk,
        until: Until<'_>,
    ) -> Result<(), Failure> {
        if operation == Operation::Write {
            // SAFETY: the caller's promise is passed on.
            unsafe { self.send_write(chunk, until) }?;
            return self.finish(until);
        }
        let expected_bytes = if operation == Operation::Read { chunk.bytes() } else { 0 };
        let mut payload = self.ask(operation, ranges_of(chunk), expected_bytes, until)?;
        if operation == Operation::Read {
            for piece in chunk.pieces() {
                let (from, rest) = payload.split_at(piece.bytes as usize / WORD_BYTES);
                // SAFETY: the caller vouches for the target; the pieces' lengths sum up to that of the
                // payload.
                unsafe { copy_words(from.as_ptr(), piece.memory, from.len()) };
                payload = rest;
            }
        }
        Ok(())
    }

    unsafe fn begin(&mut self, chunk: &Chunk, until: Until<'_>) -> Result<bool, Failure> {
        // SAFETY: the caller's promise is passed on.
        unsafe { self.send_write(chunk, until) }.map(|()| true)
    }

    fn finish(&mut self, until: Until<'_>) -> Result<(), Failure> {
        self.receive(0, until).map(|_| ())
    }

    fn shutdown(&self) {
        self.socket.shutdown();
    }
}
