//! A data connection over TCP: requests for pages, and their replies.
//!
//! A request is put together in the wire's buffer and sent; the reply comes into the same buffer.
//!
//! Words are copied between the caller's memory and the buffer by [`copy_words`], not by the kernel:
//! the kernel may tear words that other threads write meanwhile, and a system call would fail on a
//! page that is not there, where a copy faults and is served (by another line). It costs 0.1 to 0.5 us
//! for a page, beside 10 us or more for the transfer.

use crate::memory::atomic_words::{WORD_BYTES, as_bytes, as_bytes_mut, copy_words};
use crate::tcp::page_frame::{HEAD_WORDS, Operation, RANGE_WORDS, Reply, Request};
use crate::tcp::remote_segment::{Chunk, Failure, Wire};
use crate::tcp::socket::{TcpSocket, Until};

/// The client's end.
pub struct TcpWire {
    socket: TcpSocket,
    /// The request, then the reply.
    buffer: Box<[u64]>,
    sequence: u64,
    /// Whether requests and replies have checksums.
    checksums: bool,
}

impl TcpWire {
    /// Over a connection that was welcomed. `buffer_words` bounds what a request and its reply may hold, head
    /// included.
    pub fn new(socket: TcpSocket, buffer_words: usize, checksums: bool) -> TcpWire {
        let buffer = vec![0; buffer_words].into_boxed_slice();
        TcpWire { socket, buffer, sequence: 0, checksums }
    }

    /// Has the server register a block of its memory, and returns the key. `offset` and `bytes` as the server cuts
    /// blocks.
    #[cfg(feature = "verbs")]
    pub fn register(&mut self, offset: u64, bytes: u64, until: Until<'_>) -> Result<u32, Failure> {
        self.buffer[HEAD_WORDS..HEAD_WORDS + RANGE_WORDS]
            .copy_from_slice(&[offset.to_le(), bytes.to_le()]);
        let request = Request {
            operation: Operation::Register,
            ranges: 1,
            payload_bytes: 0,
            has_checksum: false,
            sequence: 0,
            crc: 0,
        };
        let answer = self.converse(request, HEAD_WORDS + RANGE_WORDS, WORD_BYTES, until);
        match answer {
            Ok(words) => u32::try_from(u64::from_le(words[0]))
                .map_err(|_| Failure::Malformed("a key of more than 32 bits")),
            Err(Failure::Errno(_, errno)) => {
                Err(Failure::Errno("registering memory of a memory server (ulimit -l)", errno))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Sends the request that lies in the buffer up to `words`, its head excepted, and waits for the reply. Returns
    /// the reply's payload of `expected_bytes`.
    fn converse(
        &mut self,
        request: Request,
        words: usize,
        expected_bytes: usize,
        until: Until<'_>,
    ) -> Result<&[u64], Failure> {
        self.send(request, words, until)?;
        self.receive(expected_bytes, until)
    }

    /// The first half.
    fn send(&mut self, request: Request, words: usize, until: Until<'_>) -> Result<(), Failure> {
        self.sequence += 1;
        let crc = match self.checksums {
            true => crc32c::crc32c(as_bytes(&self.buffer[HEAD_WORDS..words])),
            false => 0,
        };
        let (sequence, has_checksum) = (self.sequence, self.checksums);
        let request = Request { sequence, has_checksum, crc, ..request };
        self.buffer[..HEAD_WORDS].copy_from_slice(&request.encode());
        self.socket.send(as_bytes(&self.buffer[..words]), until).map_err(Failure::from)
    }

    /// The second half.
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
}

impl TcpWire {
    /// Puts the request for a chunk into the buffer, its head excepted. Returns what will be the head, and words in
    /// all.
    ///
    /// # Safety
    /// As for [`Wire::exchange`].
    unsafe fn put_together(&mut self, operation: Operation, chunk: &Chunk) -> (Request, usize) {
        let mut at = HEAD_WORDS;
        for piece in chunk.pieces() {
            self.buffer[at] = piece.offset.to_le();
            self.buffer[at + 1] = piece.bytes.to_le();
            at += RANGE_WORDS;
        }
        let mut payload_bytes = 0;
        if operation == Operation::Write {
            payload_bytes = chunk.bytes();
            for piece in chunk.pieces() {
                let words = piece.bytes as usize / WORD_BYTES;
                let into = self.buffer[at..at + words].as_mut_ptr();
                // SAFETY: the caller vouches for the source; the target was just checked.
                unsafe { copy_words(piece.memory, into, words) };
                at += words;
            }
        }
        let request = Request {
            operation,
            ranges: chunk.pieces().len(),
            payload_bytes,
            has_checksum: false,
            sequence: 0,
            crc: 0,
        };
        (request, at)
    }
}

impl Wire for TcpWire {
    unsafe fn exchange(
        &mut self,
        operation: Operation,
        chunk: &Chunk,
        until: Until<'_>,
    ) -> Result<(), Failure> {
        // SAFETY: the caller's promise is passed on.
        let (request, at) = unsafe { self.put_together(operation, chunk) };
        let expected_bytes = if operation == Operation::Read { chunk.bytes() } else { 0 };
        let mut payload = self.converse(request, at, expected_bytes, until)?;
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
        let (request, words) = unsafe { self.put_together(Operation::Write, chunk) };
        self.send(request, words, until).map(|()| true)
    }

    fn finish(&mut self, until: Until<'_>) -> Result<(), Failure> {
        self.receive(0, until).map(|_| ())
    }

    fn shutdown(&self) {
        self.socket.shutdown();
    }
}
