//! A server's memory over a network, as its VM sees it.
//!
//! Page faults are served from a signal handler, so an operation only makes system calls that may be
//! made there, and uses memory that is allocated already. It claims one of a few data connections ([`Line`]), if
//! it can the one that the thread used last, and has its [`DataConnection`] carry the words: over TCP
//! (`tcp/data_connection.rs`) or by a queue pair (`verbs/data_connection.rs`).
//!
//! **A line that breaks** while the server is alive is replaced by a thread in the background, which
//! connects again. A READ continues on another line at once. A WRITE or a hole first waits until its
//! line is replaced: the server answers the new connection only after it is done with the old one
//! (`tcp/page_server.rs`), so the first attempt cannot come into effect after something newer.
//!
//! **A server that makes no progress** for [`PAGE_TIMEOUT`] counts as lost: its connections are ended.

mod in_flight;

use std::cell::UnsafeCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::memory::atomic_words::WORD_BYTES;
use crate::memory::segment::{Begun, Read, Write};
use crate::tcp::PAGE_TIMEOUT;
use crate::tcp::page_frame::{Operation, PAYLOAD_BYTES_MAX, RANGES_MAX};
use crate::tcp::socket::{Cut, TcpSocket, Until};
use crate::{PeerId, RdmaError, Segment};
use base::futex;
use base::now_ns;
use base::waiting_ns;

/// One data connection. One thread at a time uses it, maybe in a signal handler: apart from making and dropping
/// it, nothing of it may allocate or wait for a lock.
pub trait DataConnection: Send {
    /// Carries out one operation on all pieces of a chunk, and returns when it has come into effect.
    ///
    /// # Safety
    /// The memory of each piece is aligned, and valid for its length during the call.
    unsafe fn exchange(
        &mut self,
        operation: Operation,
        chunk: &Chunk,
        until: Until<'_>,
    ) -> Result<(), Failure>;

    /// Sends a WRITE of all pieces of a chunk, and does not wait for its answer: nothing but
    /// [`finish`](Self::finish) may follow. False: this connection cannot, and nothing was done.
    ///
    /// # Safety
    /// As for [`exchange`](Self::exchange).
    unsafe fn begin(&mut self, _chunk: &Chunk, _until: Until<'_>) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Waits for the answer to a request that was begun.
    fn finish(&mut self, _until: Until<'_>) -> Result<(), Failure> {
        Err(Failure::Malformed("a reply without a request"))
    }

    /// Ends the connection: the server notices, and all requests in flight fail.
    fn shutdown(&self);
}

/// Makes a new data connection with the given number, ready for requests.
pub type Dial = Box<dyn Fn(u16) -> Result<Box<dyn DataConnection>, RdmaError> + Send + Sync>;

/// The parts that a segment is made from.
pub struct RemoteSegmentParts {
    pub server: PeerId,
    /// Length of the far space.
    pub bytes: u64,
    /// How many data connections, at least 1.
    pub lines: u16,
    pub dial: Dial,
    /// Shut down when the server counts as lost, so that the channel reports it.
    pub control: Arc<TcpSocket>,
    /// Shared with the channel to the same server.
    pub alive: Arc<AtomicBool>,
}

/// The memory of one server. Dropping it closes the data connections, soon.
pub struct RemoteSegment {
    shared: Arc<Shared>,
}

struct Shared {
    server: PeerId,
    bytes: u64,
    dial: Dial,
    control: Arc<TcpSocket>,
    /// Cleared once, by the channel or by [`Shared::lose`]; relaxed.
    alive: Arc<AtomicBool>,
    lines: Box<[Line]>,
    /// Lines with a WRITE that was begun and is not finished. Fewer than there are lines, so that a thread that waits
    /// for a line while it holds another server's gets one: the last one is only used by threads that finish.
    /// Relaxed: a count.
    begun: AtomicUsize,
    /// How many threads sleep until a line is free. Written by them, read by the thread that frees one.
    waiting: AtomicU32,
    /// How many of them have slept for long: only these take lines then. Sequentially consistent, though late news
    /// would do no harm.
    starving: AtomicU32,
    /// Counts lines that became free while a thread waited; slept on.
    freed: AtomicU32,
    /// Counts lines that broke; the repairer sleeps on it.
    broken: AtomicU32,
    /// Set once when the segment is dropped; ends the repairer.
    closing: AtomicBool,
}

/// One data connection.
struct Line {
    /// [`FREE`], [`CLAIMED`] or [`BROKEN`]. Acquired by the thread that claims, released by the one that
    /// frees: so the connection has one user at a time. A broken line belongs to the repairer.
    state: AtomicU32,
    /// Names the thread that used it last. Relaxed: only a hint.
    user: AtomicUsize,
    /// How often it was replaced. Written by the repairer; slept on by writers.
    generation: AtomicU32,
    /// The number of the line, as the server knows it.
    number: u16,
    connection: UnsafeCell<Box<dyn DataConnection>>,
}

// SAFETY: the connection is only touched by the thread that claimed the line, or by the repairer while
// it is broken (see `Line::state`); everything else is atomic.
unsafe impl Sync for Line {}

impl RemoteSegment {
    /// Makes the data connections.
    pub fn open(parts: RemoteSegmentParts) -> Result<RemoteSegment, RdmaError> {
        let mut lines = Vec::new();
        for number in 0..parts.lines.max(1) {
            lines.push(Line {
                state: AtomicU32::new(FREE),
                user: AtomicUsize::new(0),
                generation: AtomicU32::new(0),
                number,
                connection: UnsafeCell::new((parts.dial)(number)?),
            });
        }
        let shared = Arc::new(Shared {
            server: parts.server,
            bytes: parts.bytes,
            dial: parts.dial,
            control: parts.control,
            alive: parts.alive,
            lines: lines.into_boxed_slice(),
            begun: AtomicUsize::new(0),
            waiting: AtomicU32::new(0),
            starving: AtomicU32::new(0),
            freed: AtomicU32::new(0),
            broken: AtomicU32::new(0),
            closing: AtomicBool::new(false),
        });
        let repaired = shared.clone();
        thread::Builder::new()
            .name(format!("lines to {}", parts.server))
            .spawn(move || repaired.repair())
            .map_err(|source| RdmaError::Os { what: "starting a thread", source })?;
        Ok(RemoteSegment { shared })
    }
}

impl Drop for RemoteSegment {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        self.shared.broken.fetch_add(1, Ordering::SeqCst);
        // No thread waits for the repairer, which may be connecting: it ends when that is over.
        futex::wake_all(&self.shared.broken);
    }
}

impl Segment for RemoteSegment {
    fn bytes(&self) -> u64 {
        self.shared.bytes
    }

    unsafe fn read_batch(&self, reads: &[Read]) -> Result<(), RdmaError> {
        let pieces = reads.iter().map(|read| Piece {
            offset: read.offset,
            bytes: bytes_of(read.words),
            memory: read.into,
        });
        self.shared.carry_all(Operation::Read, pieces)
    }

    unsafe fn write_batch(&self, writes: &[Write]) -> Result<(), RdmaError> {
        let pieces = writes.iter().map(|write| {
            let memory = write.from.cast_mut();
            Piece { offset: write.offset, bytes: bytes_of(write.words), memory }
        });
        self.shared.carry_all(Operation::Write, pieces)
    }

    unsafe fn begin_write(&self, writes: &[Write]) -> Option<Begun> {
        self.shared.begin(&in_flight::chunk_of(writes)?)
    }

    unsafe fn finish_write(&self, begun: Begun, writes: &[Write]) -> Result<(), RdmaError> {
        match self.shared.finish(begun)? {
            true => Ok(()),
            // SAFETY: the caller's promise is passed on.
            false => unsafe { self.write_batch(writes) },
        }
    }

    fn punch(&self, offset: u64, bytes: u64) -> Result<(), RdmaError> {
        let hole = Piece { offset, bytes, memory: std::ptr::null_mut() };
        self.shared.carry_all(Operation::Punch, [hole].into_iter())
    }

    fn is_alive(&self) -> bool {
        self.shared.alive.load(Ordering::Relaxed)
    }
}

/// A range of the far space, and the source or the target of its words.
#[derive(Clone, Copy)]
pub struct Piece {
    pub offset: u64,
    pub bytes: u64,
    /// Valid for `bytes` during the operation; null for holes.
    pub memory: *mut u64,
}

/// The pieces that one request can hold.
pub struct Chunk {
    pieces: [Piece; RANGES_MAX],
    count: usize,
    /// Bytes to be moved; none for holes.
    bytes: usize,
}

/// Why an exchange failed.
pub enum Failure {
    /// The connection is of no use any more.
    Broken,
    /// No progress, and none to be expected.
    Late,
    /// The server sent a reply that no server sends.
    Malformed(&'static str),
    /// The server's system refused the operation that is named; the line is as good as before.
    Errno(&'static str, i32),
}

impl Shared {
    /// Moves pieces, in as few requests as possible.
    fn carry_all(
        &self,
        operation: Operation,
        pieces: impl Iterator<Item = Piece> + Clone,
    ) -> Result<(), RdmaError> {
        for piece in pieces.clone() {
            self.check(operation, piece)?;
        }
        let mut chunk = Chunk::new();
        for mut rest in pieces {
            while rest.bytes > 0 {
                if chunk.is_full() {
                    self.carry(operation, &chunk)?;
                    (chunk.count, chunk.bytes) = (0, 0);
                }
                rest = chunk.add(operation, rest);
            }
        }
        if chunk.count > 0 { self.carry(operation, &chunk) } else { Ok(()) }
    }

    fn check(&self, operation: Operation, piece: Piece) -> Result<(), RdmaError> {
        let Piece { offset, bytes, .. } = piece;
        let inside = offset <= self.bytes && bytes <= self.bytes - offset;
        let unit = if operation == Operation::Punch { PAGE_BYTES } else { WORD_BYTES as u64 };
        if !inside || !offset.is_multiple_of(unit) || !bytes.is_multiple_of(unit) {
            return Err(RdmaError::OutOfSegment { offset, bytes, segment_bytes: self.bytes });
        }
        Ok(())
    }

    /// One request, repeated as long as that makes sense.
    fn carry(&self, operation: Operation, chunk: &Chunk) -> Result<(), RdmaError> {
        let deadline_ns = waiting_ns() + PAGE_TIMEOUT.as_nanos() as u64;
        for _ in 0..ATTEMPTS_MAX {
            let mut claim = self.claim(deadline_ns)?;
            let done = claim.exchange(operation, chunk, deadline_ns);
            if self.settle(claim, done, operation, deadline_ns)? {
                return Ok(());
            }
        }
        Err(self.lose())
    }

    /// After an exchange: whether it was done. `Ok(false)`: it may be tried again, on another line.
    fn settle(
        &self,
        claim: Claim<'_>,
        done: Result<(), Failure>,
        operation: Operation,
        deadline_ns: u64,
    ) -> Result<bool, RdmaError> {
        match done {
            Ok(()) => Ok(true),
            Err(Failure::Broken) => {
                let (line, generation) = claim.give_up();
                if operation != Operation::Read {
                    self.await_replacement(line, generation, deadline_ns)?;
                }
                Ok(false)
            }
            Err(Failure::Late) => {
                claim.give_up();
                Err(self.lose())
            }
            Err(Failure::Malformed(what)) => {
                claim.give_up();
                self.lose();
                Err(RdmaError::Malformed { peer: self.server, what })
            }
            Err(Failure::Errno(what, errno)) => {
                let source = io::Error::from_raw_os_error(errno);
                Err(RdmaError::Os { what, source })
            }
        }
    }

    /// A line of one's own. Waits for one until the deadline.
    ///
    /// A running thread is quicker than a woken one: threads that use lines again and again would keep them from the
    /// others for seconds. So a thread that has waited for [`STARVING_NS`] is served first.
    fn claim(&self, deadline_ns: u64) -> Result<Claim<'_>, RdmaError> {
        let nobody_starves = || self.starving.load(Ordering::SeqCst) == 0;
        if let Some(claim) = nobody_starves().then(|| self.try_claim()).flatten() {
            self.check_alive()?;
            return Ok(claim);
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let (began_ns, mut starves) = (now_ns(), false);
        let claim = loop {
            let freed = self.freed.load(Ordering::SeqCst);
            let may_take = starves || nobody_starves();
            if let Some(claim) = may_take.then(|| self.try_claim()).flatten() {
                break self.check_alive().map(|()| claim);
            }
            if let Err(lost) = self.check_alive() {
                break Err(lost);
            }
            if waiting_ns() >= deadline_ns {
                break Err(self.lose());
            }
            if !starves && now_ns() >= began_ns + STARVING_NS {
                self.starving.fetch_add(1, Ordering::SeqCst);
                starves = true;
            } else {
                futex::wait(&self.freed, freed, NAP);
            }
        };
        self.starving.fetch_sub(u32::from(starves), Ordering::SeqCst);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        claim
    }

    fn try_claim(&self) -> Option<Claim<'_>> {
        // SAFETY: no memory is involved; the call only reads a register.
        let me = unsafe { libc::pthread_self() } as usize;
        let mine = self.lines.iter().filter(|line| line.user.load(Ordering::Relaxed) == me);
        let others = self.lines.iter().filter(|line| line.user.load(Ordering::Relaxed) != me);
        let line = mine.chain(others).find(|line| {
            let order = (Ordering::Acquire, Ordering::Relaxed);
            line.state.compare_exchange(FREE, CLAIMED, order.0, order.1).is_ok()
        })?;
        line.user.store(me, Ordering::Relaxed);
        Some(Claim { shared: self, line })
    }

    fn check_alive(&self) -> Result<(), RdmaError> {
        if self.is_alive() { Ok(()) } else { Err(RdmaError::PeerLost(self.server)) }
    }

    fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Relaxed)
    }

    /// Waits until the line was replaced.
    fn await_replacement(
        &self,
        line: &Line,
        generation: u32,
        deadline_ns: u64,
    ) -> Result<(), RdmaError> {
        while line.generation.load(Ordering::SeqCst) == generation {
            self.check_alive()?;
            if waiting_ns() >= deadline_ns {
                return Err(self.lose());
            }
            futex::wait(&line.generation, generation, NAP);
        }
        Ok(())
    }

    /// The server counts as lost from now on.
    fn lose(&self) -> RdmaError {
        self.alive.store(false, Ordering::Relaxed);
        self.control.shutdown();
        RdmaError::Deadline { peer: self.server, after: PAGE_TIMEOUT }
    }

    /// The repairer's thread: replaces broken lines while the server lives.
    fn repair(&self) {
        let mut pause = PAUSE_MIN;
        while !self.closing.load(Ordering::SeqCst) {
            let broken = self.broken.load(Ordering::SeqCst);
            let mut failed = false;
            for line in &self.lines {
                if self.is_alive() && line.state.load(Ordering::Acquire) == BROKEN {
                    failed |= !self.replace(line);
                }
            }
            if failed {
                futex::wait(&self.broken, broken, pause);
                pause = (pause * 2).min(PAUSE_MAX);
            } else {
                pause = PAUSE_MIN;
                futex::wait(&self.broken, broken, IDLE);
            }
        }
    }

    /// Replaces a broken line; false if that failed.
    fn replace(&self, line: &Line) -> bool {
        match (self.dial)(line.number) {
            Ok(connection) => {
                // SAFETY: the line is broken, so it is ours alone until the store of FREE below.
                unsafe { *line.connection.get() = connection };
                log::warn!("a data connection to {} broke and was replaced", self.server);
                line.generation.fetch_add(1, Ordering::SeqCst);
                line.state.store(FREE, Ordering::SeqCst);
                futex::wake_all(&line.generation);
                self.tell_free();
                true
            }
            Err(error) => {
                // A server that died takes its data connections along a moment before the channel
                // knows.
                log::debug!("a data connection to {} cannot be replaced: {error}", self.server);
                false
            }
        }
    }

    /// After a line became free: pairs with the sleepers in `claim`, which announce themselves first
    /// and look at the lines second.
    fn tell_free(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.freed.fetch_add(1, Ordering::SeqCst);
            futex::wake_all(&self.freed);
        }
    }
}

impl Chunk {
    /// Room for as much as one request can hold.
    pub fn new() -> Chunk {
        let nowhere = Piece { offset: 0, bytes: 0, memory: std::ptr::null_mut() };
        Chunk { pieces: [nowhere; RANGES_MAX], count: 0, bytes: 0 }
    }

    /// The pieces that it holds.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces[..self.count]
    }

    /// Bytes to be moved; none for holes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn is_full(&self) -> bool {
        self.count == RANGES_MAX || self.bytes == PAYLOAD_BYTES_MAX
    }

    /// Takes as much of a piece as there is room for; returns the rest.
    fn add(&mut self, operation: Operation, piece: Piece) -> Piece {
        if operation == Operation::Punch {
            self.pieces[self.count] = piece;
            self.count += 1;
            return Piece { bytes: 0, ..piece };
        }
        let bytes = piece.bytes.min((PAYLOAD_BYTES_MAX - self.bytes) as u64);
        self.pieces[self.count] = Piece { bytes, ..piece };
        self.count += 1;
        self.bytes += bytes as usize;
        Piece {
            // Pieces are checked before they are carried, not always before they are put together.
            offset: piece.offset.wrapping_add(bytes),
            bytes: piece.bytes - bytes,
            memory: piece.memory.wrapping_byte_add(bytes as usize),
        }
    }
}

/// The right to use one line. Released when dropped.
struct Claim<'a> {
    shared: &'a Shared,
    line: &'a Line,
}

impl<'a> Claim<'a> {
    fn exchange(
        &mut self,
        operation: Operation,
        chunk: &Chunk,
        deadline_ns: u64,
    ) -> Result<(), Failure> {
        let shared = self.shared;
        let go_on = || shared.is_alive();
        let until = Until { deadline_ns, spin_ns: SPIN_NS, go_on: &go_on };
        // SAFETY: this claim is the only one on the line.
        let connection = unsafe { &mut *self.line.connection.get() };
        // SAFETY: callers of read_batch and write_batch vouch for the memory; holes have none.
        unsafe { connection.exchange(operation, chunk, until) }
    }

    /// The line is of no use: the repairer gets it. Returns which it was.
    fn give_up(self) -> (&'a Line, u32) {
        let (shared, line) = (self.shared, self.line);
        std::mem::forget(self);
        // SAFETY: still claimed by us.
        unsafe { &*line.connection.get() }.shutdown();
        let generation = line.generation.load(Ordering::SeqCst);
        line.state.store(BROKEN, Ordering::SeqCst);
        shared.broken.fetch_add(1, Ordering::SeqCst);
        futex::wake_all(&shared.broken);
        (line, generation)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.line.state.store(FREE, Ordering::SeqCst);
        self.shared.tell_free();
    }
}

impl From<Cut> for Failure {
    fn from(cut: Cut) -> Failure {
        match cut {
            Cut::Late => Failure::Late,
            // Stopped: the server is lost; the next claim reports it.
            Cut::Closed | Cut::Stopped | Cut::Failed(_) => Failure::Broken,
        }
    }
}

fn bytes_of(words: usize) -> u64 {
    (words as u64).saturating_mul(WORD_BYTES as u64)
}

const FREE: u32 = 0;
const CLAIMED: u32 = 1;
const BROKEN: u32 = 2;

/// How often one request is tried on lines that break, before its server counts as lost.
const ATTEMPTS_MAX: usize = 8;
/// How long a thread asks for its reply again and again before it sleeps. On two cores a READ of a page
/// over loopback takes 6.5 us with any value up to 50 us: the server's thread runs at once where the
/// client just slept or was displaced. With longer ones the slowest hundredth suffers.
const SPIN_NS: u64 = 10_000;
/// A line is used for some ten microseconds at a time: a thread that has waited for this long was passed over often.
const STARVING_NS: u64 = 2_000_000;
/// How often a thread that waits for a line checks whether the server still lives.
const NAP: Duration = Duration::from_millis(20);
/// How often the repairer looks by itself.
const IDLE: Duration = Duration::from_secs(10);
/// Between two attempts to connect again.
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(1);
const PAGE_BYTES: u64 = 4096;

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
    use std::sync::Mutex;

    use super::*;
    use crate::fleet::upgrade;
    use crate::tcp::data_connection::TcpDataConnection;
    use crate::tcp::frame::receive_opening;
    use crate::tcp::page_frame::FRAME_WORDS_MAX;
    use crate::tcp::page_server::PageServer;
    use crate::wire::conversation::lock;
    use crate::wire::opening::Opening;
    use crate::{ShmSegment, Transport};

    const BYTES: u64 = 8 << 20;

    /// Over verbs too where there is a device.
    pub(super) fn transports() -> impl Iterator<Item = Transport> {
        let verbs = upgrade::is_tested().then_some(Transport::Verbs);
        [Transport::Tcp].into_iter().chain(verbs)
    }

    /// A server's memory, the VM's view of it, and copies of the server's sockets.
    pub(super) struct Both {
        pub(super) memory: Arc<ShmSegment>,
        pub(super) remote: RemoteSegment,
        pub(super) sockets: Arc<Mutex<Vec<TcpStream>>>,
    }

    impl Both {
        pub(super) fn new(transport: Transport, lines: u16) -> Both {
            let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
            let over_verbs = transport == Transport::Verbs;
            let open = || over_verbs.then(|| upgrade::open(loopback).unwrap());
            let server = PeerId::Server(0);
            let memory = Arc::new(ShmSegment::create(server, BYTES).unwrap());
            let pages = PageServer::new(memory.clone(), open()).unwrap();
            let upgrade = open().map(|upgrade| upgrade.data(BYTES));
            let sockets = Arc::new(Mutex::new(Vec::new()));
            let copies = sockets.clone();
            let dial = move |number| -> Result<Box<dyn DataConnection>, RdmaError> {
                let listener = TcpListener::bind((loopback, 0)).unwrap();
                let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                let (theirs, _) = listener.accept().unwrap();
                lock(&copies).push(theirs.try_clone().unwrap());
                pages.adopt(number, TcpSocket::new(theirs.into()).unwrap());
                let (ours, until) = (TcpSocket::new(ours.into())?, Until::after(PAGE_TIMEOUT));
                let gone = |_| RdmaError::PeerLost(server);
                assert_eq!(receive_opening(&ours, until).map_err(gone)?, Opening::Welcome);
                match &upgrade {
                    Some(upgrade) => upgrade(ours, until),
                    None => Ok(Box::new(TcpDataConnection::new(ours, FRAME_WORDS_MAX, false))),
                }
            };
            let listener = TcpListener::bind((loopback, 0)).unwrap();
            let control = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let remote = RemoteSegment::open(RemoteSegmentParts {
                server,
                bytes: BYTES,
                lines,
                dial: Box::new(dial),
                control: Arc::new(TcpSocket::new(control.into()).unwrap()),
                alive: Arc::new(AtomicBool::new(true)),
            });
            Both { memory, remote: remote.unwrap(), sockets }
        }
    }

    /// Connections end in the middle of everything: each word that was written is on the server afterwards, and no
    /// older one.
    #[test]
    fn lines_that_break_are_replaced_and_no_write_comes_late() {
        for transport in transports() {
            let both = Both::new(transport, 2);
            let is_over = AtomicBool::new(false);
            thread::scope(|scope| {
                let (both, is_over) = (&both, &is_over);
                let writers: Vec<_> = (0..3_u64)
                    .map(|writer| {
                        scope.spawn(move || {
                            for n in 0..600_u64 {
                                // From block to block of registered memory, in some of them across the border.
                                let offset =
                                    writer * (2 << 20) + n % 4 * (256 << 10) + 4096 * (n % 64);
                                let words = [writer << 32 | n; 1024];
                                both.remote.write(offset, &words).unwrap();
                                let mut back = [0; 1024];
                                both.remote.read(offset, &mut back).unwrap();
                                assert!(back == words, "{transport:?}: {back:?} for {n}");
                            }
                        })
                    })
                    .collect();
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        thread::sleep(Duration::from_millis(30));
                        let sockets = std::mem::take(&mut *lock(&both.sockets));
                        for socket in sockets {
                            let _ = socket.shutdown(std::net::Shutdown::Both);
                        }
                    }
                });
                let ended: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
                is_over.store(true, Ordering::Relaxed);
                assert!(ended.iter().all(Result::is_ok), "{transport:?}");
            });
        }
    }

    /// Also where a device has the addresses of the pages.
    #[test]
    fn a_hole_is_zero_for_both_sides_and_both_see_what_is_written_there_later() {
        for transport in transports() {
            let Both { memory, remote, .. } = &Both::new(transport, 1);
            for (round, offset) in [0, 300 << 10, 4 << 20].into_iter().enumerate() {
                let round = round as u64 + 1;
                let mut words = [0; 600];
                remote.write(offset, &[round; 600]).unwrap();
                assert_eq!((memory.load(offset), memory.load(offset + 4096)), (round, round));
                // By the agent, and by the VM.
                memory.punch(offset, 4096).unwrap();
                remote.read(offset, &mut words).unwrap();
                assert!(words[..512] == [0; 512] && words[512..] == [round; 88], "{transport:?}");
                remote.write(offset, &[round + 10]).unwrap();
                assert_eq!(memory.load(offset), round + 10, "{transport:?}");
                memory.store(offset + 8, round + 20);
                remote.read(offset, &mut words[..2]).unwrap();
                assert_eq!(words[..2], [round + 10, round + 20], "{transport:?}");
                remote.punch(offset, 1 << 20).unwrap();
                remote.read(offset, &mut words).unwrap();
                assert!(words == [0; 600] && memory.load(offset) == 0, "{transport:?}");
            }
        }
    }

    #[test]
    fn ranges_outside_and_unaligned_ones_are_refused() {
        for transport in transports() {
            let Both { remote, .. } = &Both::new(transport, 1);
            for offset in [BYTES, BYTES - 8, 4, u64::MAX - 7] {
                let refused = remote.read(offset, &mut [0; 2]);
                assert!(matches!(refused, Err(RdmaError::OutOfSegment { .. })), "{offset}");
            }
            remote.write(BYTES - 16, &[1, 2]).unwrap();
        }
    }
}
