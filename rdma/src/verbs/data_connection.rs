//! A data connection with a queue pair: READ and WRITE without the server's CPU.
//!
//! The TCP connection that made the pair stays: holes, and keys of blocks that are not registered yet, are asked
//! for on it. Both are rare; and the server drops its end of the pair when it ends.
//!
//! All pieces of a request are posted to the device at once, and only the last one reports completion: requests
//! of a queue pair finish in their order.
//!
//! **WRITE and then READ.** An acknowledged WRITE has reached the server's adapter, not yet its memory; only a
//! request that comes behind it on the same pair is sure to find it in memory. So after the words of a WRITE
//! one of them is READ back: the answer means that they are visible to every process that maps the segment. It
//! travels with the WRITE, so it costs no round trip.
//!
//! Words pass through a registered buffer, copied by `copy_words`, as over TCP, and for the same reasons.

use std::mem;
use std::ptr;
use std::sync::Arc;

use rdma_sys::{ibv_send_flags, ibv_send_wr, ibv_sge, ibv_wr_opcode, rdma_t};

use crate::RdmaError;
use crate::memory::atomic_words::{WORD_BYTES, copy_words};
use crate::tcp::data_connection::TcpDataConnection;
use crate::tcp::page_frame::{HEAD_WORDS, Operation, PAYLOAD_BYTES_MAX, RANGE_WORDS, RANGES_MAX};
use crate::tcp::remote_segment::{Chunk, DataConnection, Failure};
use crate::tcp::socket::{TcpSocket, Until};
use crate::verbs::backoff::Backoff;
use crate::verbs::buffer::Buffer;
use crate::verbs::connect::connect;
use crate::verbs::device::Device;
use crate::verbs::queue::{QueueOptions, QueuePair};
use crate::verbs::remote_keys::{BLOCK_BYTES, RemoteKeys};

/// The client's end.
pub struct QueueDataConnection {
    /// Dropped before the buffer: from then on nothing is written to it.
    queue: QueuePair,
    buffer: Buffer,
    requests: Box<[ibv_send_wr]>,
    elements: Box<[ibv_sge]>,
    /// How many of them are in use.
    count: usize,
    rare: TcpDataConnection,
    keys: Arc<RemoteKeys>,
    segment_bytes: u64,
}

// SAFETY: the pointers in the requests lead to other requests and to elements of the same value, and are set anew
// for each post.
unsafe impl Send for QueueDataConnection {}

impl QueueDataConnection {
    /// Over a data connection that was welcomed. Blocks until both ends are ready.
    pub fn open(
        device: &Arc<Device>,
        socket: TcpSocket,
        keys: &Arc<RemoteKeys>,
        segment_bytes: u64,
        until: Until<'_>,
    ) -> Result<QueueDataConnection, RdmaError> {
        let sends = REQUESTS_MAX as u32 + 1;
        let queue = QueuePair::new(device, QueueOptions { sends, receives: 0, is_served: false })?;
        connect(&socket, &queue, until)?;
        // SAFETY: plain numbers and pointers, for which zero is a value.
        let request = || unsafe { mem::zeroed::<ibv_send_wr>() };
        Ok(QueueDataConnection {
            queue,
            buffer: Buffer::new(device, PAYLOAD_BYTES_MAX + WORD_BYTES)?,
            requests: (0..=REQUESTS_MAX).map(|_| request()).collect(),
            elements: vec![ibv_sge { addr: 0, length: 0, lkey: 0 }; REQUESTS_MAX + 1].into(),
            count: 0,
            rare: TcpDataConnection::new(socket, HEAD_WORDS + RANGE_WORDS * RANGES_MAX, false),
            keys: keys.clone(),
            segment_bytes,
        })
    }

    /// Puts the requests for all pieces together, whose bytes lie in the buffer one after the other.
    fn prepare(&mut self, opcode: u32, chunk: &Chunk, until: Until<'_>) -> Result<(), Failure> {
        self.count = 0;
        let mut at = 0;
        for piece in chunk.pieces() {
            let end = piece.offset + piece.bytes;
            let mut offset = piece.offset;
            while offset < end {
                let block = offset / BLOCK_BYTES;
                let bytes = end.min((block + 1) * BLOCK_BYTES) - offset;
                let key = self.key_of(block, until)?;
                self.add(opcode, offset, key, at, bytes as usize);
                offset += bytes;
                at += bytes as usize;
            }
        }
        Ok(())
    }

    /// One more request, or more of the last one: `bytes` from `at` on in the buffer, from `offset` on in the
    /// segment.
    fn add(&mut self, opcode: u32, offset: u64, key: u32, at: usize, bytes: usize) {
        if let Some(last) = self.count.checked_sub(1) {
            // SAFETY: `add` sets this part of the union in every request.
            let rdma = unsafe { &self.requests[last].wr.rdma };
            let element = &mut self.elements[last];
            let goes_on = rdma.remote_addr + u64::from(element.length) == offset;
            if goes_on && rdma.rkey == key && self.requests[last].opcode == opcode {
                element.length += bytes as u32;
                return;
            }
        }
        self.elements[self.count] = self.buffer.element(at, bytes);
        let request = &mut self.requests[self.count];
        (request.opcode, request.send_flags) = (opcode, 0);
        request.wr.rdma = rdma_t { remote_addr: offset, rkey: key };
        self.count += 1;
    }

    /// The key of a block; has the server register it if need be.
    fn key_of(&mut self, block: u64, until: Until<'_>) -> Result<u32, Failure> {
        if let Some(key) = self.keys.of(block) {
            return Ok(key);
        }
        let offset = block * BLOCK_BYTES;
        let bytes = BLOCK_BYTES.min(self.segment_bytes - offset);
        let key = self.register(offset, bytes, until)?;
        self.keys.learn(block, key);
        Ok(key)
    }

    /// Has the server register a block of its memory, and returns the key.
    fn register(&mut self, offset: u64, bytes: u64, until: Until<'_>) -> Result<u32, Failure> {
        let block = [(offset, bytes)].into_iter();
        match self.rare.ask(Operation::Register, block, WORD_BYTES, until) {
            Ok(words) => u32::try_from(u64::from_le(words[0]))
                .map_err(|_| Failure::Malformed("a key of more than 32 bits")),
            Err(Failure::Errno(_, errno)) => {
                Err(Failure::Errno("registering memory of a memory server (ulimit -l)", errno))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Hands the requests to the device, and waits until the last one is done.
    fn carry_out(&mut self, until: Until<'_>) -> Result<(), Failure> {
        for n in 0..self.count {
            let element = &raw mut self.elements[n];
            let next = match n + 1 < self.count {
                true => &raw mut self.requests[n + 1],
                false => ptr::null_mut(),
            };
            let request = &mut self.requests[n];
            (request.sg_list, request.num_sge, request.next) = (element, 1, next);
        }
        self.requests[self.count - 1].send_flags = ibv_send_flags::IBV_SEND_SIGNALED.0;
        // SAFETY: the list was just made; it names our buffer, which is used again when the last request is done,
        // or dropped after the queue pair.
        let posted = unsafe { self.queue.post(&mut self.requests[0]) };
        posted.map_err(|_| Failure::Broken)?;
        let mut backoff = Backoff::new();
        loop {
            match self.queue.poll_sent() {
                Ok(Some(_)) => return Ok(()),
                Ok(None) => backoff.wait(until).map_err(Failure::from)?,
                // Also when access is refused: a process that ends loses its registrations before its queue pairs,
                // and both before any process is notified of its end.
                Err(_) => return Err(Failure::Broken),
            }
        }
    }
}

impl DataConnection for QueueDataConnection {
    unsafe fn exchange(
        &mut self,
        operation: Operation,
        chunk: &Chunk,
        until: Until<'_>,
    ) -> Result<(), Failure> {
        let mut at = 0;
        match operation {
            Operation::Read => {
                self.prepare(ibv_wr_opcode::IBV_WR_RDMA_READ, chunk, until)?;
                self.carry_out(until)?;
                for piece in chunk.pieces() {
                    let from = self.buffer.at(at).cast::<u64>();
                    // SAFETY: the caller vouches for the target; the pieces' bytes lie in the buffer one after the
                    // other, and all requests are done.
                    unsafe { copy_words(from, piece.memory, piece.bytes as usize / WORD_BYTES) };
                    at += piece.bytes as usize;
                }
                Ok(())
            }
            Operation::Write => {
                self.prepare(ibv_wr_opcode::IBV_WR_RDMA_WRITE, chunk, until)?;
                for piece in chunk.pieces() {
                    let into = self.buffer.at(at).cast::<u64>();
                    // SAFETY: the caller vouches for the source; no transfer of the buffer is in flight.
                    unsafe { copy_words(piece.memory, into, piece.bytes as usize / WORD_BYTES) };
                    at += piece.bytes as usize;
                }
                // SAFETY: `prepare` set this part of the union; a chunk has at least one piece.
                let last = unsafe { self.requests[self.count - 1].wr.rdma };
                let read = ibv_wr_opcode::IBV_WR_RDMA_READ;
                self.add(read, last.remote_addr, last.rkey, PAYLOAD_BYTES_MAX, WORD_BYTES);
                self.carry_out(until)
            }
            // SAFETY: holes have no memory, and registering none of the caller's.
            Operation::Punch | Operation::Register => unsafe {
                self.rare.exchange(operation, chunk, until)
            },
        }
    }

    fn shutdown(&self) {
        self.rare.shutdown();
    }
}

/// A piece is at most as long as a block, so it lies in two of them at most.
const REQUESTS_MAX: usize = 2 * RANGES_MAX;
const _: () = assert!(PAYLOAD_BYTES_MAX as u64 <= BLOCK_BYTES);
