//! READ, WRITE and punching on the server's side: one thread for each data connection.
//!
//! A thread reads a request, checks every number in it, moves the words between its buffer and the
//! segment, and answers. An error ends that connection, with a line in the log, and nothing else: the
//! VM notices and connects again.
//!
//! No thread spins: on two cores that made a READ of a page three times slower (20 instead of 6.5 us),
//! since the thread that spins has the core that the client needs.
//!
//! **Fence.** Data connections are numbered. A new one takes the place of the one with its number:
//! [`PageServer::adopt`] answers it only after the thread of the old one has ended. So when a VM
//! repeats a WRITE whose connection broke, the first attempt is over, and cannot undo later writes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use crate::memory::atomic_words::{WORD_BYTES, as_bytes, as_bytes_mut};
use crate::memory::segment::{Read, Write};
use crate::tcp::frame::send_opening;
use crate::tcp::page_frame::{FRAME_WORDS_MAX, HEAD_WORDS, Operation, RANGE_WORDS, Reply, Request};
use crate::tcp::socket::{Cut, TcpSocket, Until};
use crate::tcp::traffic::TrafficCounters;
use crate::tcp::upgrade::Upgrade;
use crate::tcp::{HANDSHAKE_TIMEOUT, LINES_MAX, PAGE_TIMEOUT};
use crate::wire::conversation::lock;
use crate::wire::opening::Opening;
use crate::{RdmaError, Segment, ShmSegment};

/// Serves one session's memory.
pub struct PageServer {
    segment: Arc<ShmSegment>,
    traffic: Arc<TrafficCounters>,
    /// The transport that lines are upgraded to.
    upgrade: Option<Arc<dyn Upgrade>>,
    lines: Mutex<HashMap<u16, Line>>,
}

/// A data connection and its thread.
struct Line {
    socket: Arc<TcpSocket>,
    thread: JoinHandle<()>,
}

impl PageServer {
    /// With an `upgrade` every line is upgraded, and the segment can be registered.
    pub fn new(
        segment: Arc<ShmSegment>,
        upgrade: Option<Arc<dyn Upgrade>>,
    ) -> Result<PageServer, RdmaError> {
        let traffic = Arc::new(TrafficCounters::new()?);
        if let Some(upgrade) = &upgrade {
            segment.offer(upgrade.registered());
        }
        Ok(PageServer { segment, traffic, upgrade, lines: Mutex::default() })
    }

    /// Takes over data connection `number`, in place of an earlier one, and starts to serve it.
    pub fn adopt(&self, number: u16, socket: TcpSocket) {
        if number >= LINES_MAX {
            log::warn!("a data connection with number {number} was refused");
            return;
        }
        let mut lines = lock(&self.lines);
        if let Some(old) = lines.remove(&number) {
            old.socket.shutdown();
            // It ends as soon as it looks at its connection.
            let _ = old.thread.join();
        }
        let until = Until::after(HANDSHAKE_TIMEOUT);
        if send_opening(&socket, &Opening::Welcome, until).is_err() {
            return;
        }
        let socket = Arc::new(socket);
        let mut server = LineServer {
            socket: socket.clone(),
            segment: self.segment.clone(),
            traffic: self.traffic.clone(),
            buffer: vec![0; FRAME_WORDS_MAX].into_boxed_slice(),
        };
        let upgrade = self.upgrade.clone();
        let serve = move || {
            let until = Until::after(HANDSHAKE_TIMEOUT);
            let upgraded = upgrade.map(|upgrade| upgrade.serve(&server.socket, until));
            // Lives as long as the connection: so the upgraded end of an earlier one is dropped before there is
            // another.
            let _upgraded = match upgraded.transpose() {
                Ok(upgraded) => upgraded,
                Err(error) => {
                    log::warn!("data connection {number} is closed: {error}");
                    server.socket.shutdown();
                    return;
                }
            };
            server.serve(number);
        };
        let thread = thread::Builder::new().name(format!("pages {number}")).spawn(serve);
        match thread {
            Ok(thread) => {
                lines.insert(number, Line { socket, thread });
            }
            Err(error) => log::warn!("cannot start a thread for a data connection: {error}"),
        }
    }
}

/// The state of one thread.
struct LineServer {
    socket: Arc<TcpSocket>,
    segment: Arc<ShmSegment>,
    traffic: Arc<TrafficCounters>,
    /// The request, then the reply.
    buffer: Box<[u64]>,
}

/// Why a connection ends.
enum End {
    Cut(Cut),
    Malformed(&'static str),
}

impl LineServer {
    fn serve(&mut self, number: u16) {
        loop {
            match self.answer_one() {
                Ok(()) => {}
                Err(End::Malformed(what)) => {
                    log::warn!("data connection {number} is closed: {what}");
                    break;
                }
                Err(End::Cut(cut)) => {
                    log::debug!("data connection {number} ended: {}", cut.explain());
                    break;
                }
            }
        }
        self.socket.shutdown();
    }

    fn answer_one(&mut self) -> Result<(), End> {
        let idle = Until::forever();
        let bytes = as_bytes_mut(&mut self.buffer);
        let least = HEAD_WORDS * WORD_BYTES;
        let received = self.socket.receive_some(bytes, least, idle).map_err(End::Cut)?;
        let head = [self.buffer[0], self.buffer[1], self.buffer[2]];
        let request = Request::decode(head).map_err(End::Malformed)?;

        let ranges_end = HEAD_WORDS + request.ranges * RANGE_WORDS;
        let end = ranges_end + request.payload_bytes / WORD_BYTES;
        let rest = as_bytes_mut(&mut self.buffer[..end]).get_mut(received..);
        let rest = rest.ok_or(End::Malformed("a request before the last one was answered"))?;
        let until = Until::after(PAGE_TIMEOUT);
        self.socket.receive(rest, until).map_err(End::Cut)?;
        let body = &self.buffer[HEAD_WORDS..end];
        if request.has_checksum && crc32c::crc32c(as_bytes(body)) != request.crc {
            return Err(End::Malformed("a request with a wrong checksum"));
        }
        let ranges = &self.buffer[HEAD_WORDS..ranges_end];
        let bytes = request.check(ranges, self.segment.bytes()).map_err(End::Malformed)?;
        let (errno, reply_bytes) = match request.operation {
            Operation::Read => (self.read(ranges_end), bytes),
            Operation::Write => (self.write(ranges_end), 0),
            Operation::Punch => (self.punch(ranges_end), 0),
            Operation::Register => (self.register(ranges_end)?, WORD_BYTES),
        };
        match request.operation {
            Operation::Read => self.traffic.read(bytes),
            Operation::Write => self.traffic.written(bytes),
            Operation::Punch | Operation::Register => {}
        }
        self.reply(&request, errno, ranges_end, reply_bytes, until)
    }

    /// Puts the words of the ranges behind them. Returns 0, or the system's error number.
    fn read(&mut self, ranges_end: usize) -> u32 {
        let (ranges, mut payload) = self.buffer.split_at_mut(ranges_end);
        for (offset, bytes) in ranges_of(ranges) {
            let (into, rest) = payload.split_at_mut(bytes as usize / WORD_BYTES);
            let read = Read { offset, into: into.as_mut_ptr(), words: into.len() };
            // SAFETY: `into` is a part of the buffer of just this length.
            if let Err(error) = unsafe { self.segment.read_batch(&[read]) } {
                return errno_of(&error);
            }
            payload = rest;
        }
        0
    }

    fn write(&self, ranges_end: usize) -> u32 {
        let (ranges, mut payload) = self.buffer.split_at(ranges_end);
        for (offset, bytes) in ranges_of(ranges) {
            let (from, rest) = payload.split_at(bytes as usize / WORD_BYTES);
            let write = Write { offset, from: from.as_ptr(), words: from.len() };
            // SAFETY: `from` is a part of the buffer of just this length.
            if let Err(error) = unsafe { self.segment.write_batch(&[write]) } {
                return errno_of(&error);
            }
            payload = rest;
        }
        0
    }

    fn punch(&self, ranges_end: usize) -> u32 {
        for (offset, bytes) in ranges_of(&self.buffer[..ranges_end]) {
            if let Err(error) = self.segment.punch(offset, bytes) {
                return errno_of(&error);
            }
        }
        0
    }

    /// Puts the key of a block behind its range.
    fn register(&mut self, ranges_end: usize) -> Result<u32, End> {
        let (offset, bytes) = ranges_of(&self.buffer[..ranges_end]).next().expect("it has one");
        match self.segment.register(offset, bytes) {
            None => Err(End::Malformed("a block that cannot be registered")),
            Some(Ok(key)) => {
                self.buffer[ranges_end] = u64::from(key).to_le();
                Ok(0)
            }
            Some(Err(error)) => {
                log::warn!("{error}");
                Ok(errno_of(&error))
            }
        }
    }

    /// The head is placed right before the payload, over the last words of the request, so that one
    /// call sends both.
    fn reply(
        &mut self,
        request: &Request,
        errno: u32,
        ranges_end: usize,
        payload_bytes: usize,
        until: Until<'_>,
    ) -> Result<(), End> {
        let end = ranges_end + payload_bytes / WORD_BYTES;
        let crc = match request.has_checksum {
            true => crc32c::crc32c(as_bytes(&self.buffer[ranges_end..end])),
            false => 0,
        };
        let reply = Reply { errno, sequence: request.sequence, payload_bytes, crc };
        let start = ranges_end - HEAD_WORDS;
        self.buffer[start..ranges_end].copy_from_slice(&reply.encode());
        self.socket.send(as_bytes(&self.buffer[start..end]), until).map_err(End::Cut)
    }
}

/// Offset and length in bytes of each range of a request.
fn ranges_of(request: &[u64]) -> impl Iterator<Item = (u64, u64)> {
    let ranges = request[HEAD_WORDS..].chunks_exact(RANGE_WORDS);
    ranges.map(|range| (u64::from_le(range[0]), u64::from_le(range[1])))
}

fn errno_of(error: &RdmaError) -> u32 {
    let errno = match error {
        RdmaError::Os { source, .. } => source.raw_os_error(),
        _ => None,
    };
    errno.unwrap_or(libc::EIO) as u32
}
