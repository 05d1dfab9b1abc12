//! WRITEs that are in flight while their thread does other work, so that two copies are written in the time of one.
//!
//! A thread that has begun one keeps its line until it is finished, and may meanwhile wait for a line to another
//! server. Lest two such threads wait for each other for ever, one line of each server is never used for this: a
//! thread that waits for a line gets that one in the end.

use std::sync::atomic::Ordering;

use super::{Chunk, Claim, Failure, Piece, SPIN_NS, Shared, bytes_of};
use crate::RdmaError;
use crate::memory::segment::{Begun, Write};
use crate::tcp::PAGE_TIMEOUT;
use crate::tcp::page_frame::{Operation, PAYLOAD_BYTES_MAX, RANGES_MAX};
use crate::tcp::socket::Until;
use base::waiting_ns;

impl Shared {
    /// Sends a WRITE on a line that is free, if there are more than are needed for threads that wait while they hold
    /// another.
    pub(super) fn begin(&self, chunk: &Chunk) -> Option<Begun> {
        let is_sound = |piece: &Piece| self.check(Operation::Write, *piece).is_ok();
        if !self.is_alive() || !chunk.pieces().iter().all(is_sound) {
            return None;
        }
        let most = self.lines.len() - 1;
        let take = |begun: usize| (begun < most).then_some(begun + 1);
        self.begun.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        let begun = self.begin_counted(chunk);
        if begun.is_none() {
            self.begun.fetch_sub(1, Ordering::Relaxed);
        }
        begun
    }

    fn begin_counted(&self, chunk: &Chunk) -> Option<Begun> {
        if self.starving.load(Ordering::SeqCst) > 0 {
            return None;
        }
        let mut claim = self.try_claim()?;
        let line = usize::from(claim.line.number);
        let broken = match claim.begin(chunk, waiting_ns() + PAGE_TIMEOUT.as_nanos() as u64) {
            Ok(false) => return None,
            Ok(true) => {
                // It is released when the answer has arrived.
                std::mem::forget(claim);
                None
            }
            // A part may have been sent.
            Err(_) => Some(claim.give_up().1),
        };
        Some(Begun { line, broken, ..Begun::default() })
    }

    /// Waits for the answer to a WRITE that was begun; as [`settle`](Self::settle).
    pub(super) fn finish(&self, begun: Begun) -> Result<bool, RdmaError> {
        let (line, deadline_ns) =
            (&self.lines[begun.line], waiting_ns() + PAGE_TIMEOUT.as_nanos() as u64);
        let result = match begun.broken {
            Some(generation) => {
                self.await_replacement(line, generation, deadline_ns).map(|()| false)
            }
            None => {
                // Claimed by `begin`, whose claim was forgotten.
                let mut claim = Claim { shared: self, line };
                let done = claim.finish(deadline_ns);
                self.settle(claim, done, Operation::Write, deadline_ns)
            }
        };
        self.begun.fetch_sub(1, Ordering::Relaxed);
        result
    }
}

impl Claim<'_> {
    fn begin(&mut self, chunk: &Chunk, deadline_ns: u64) -> Result<bool, Failure> {
        let shared = self.shared;
        let go_on = || shared.is_alive();
        let until = Until { deadline_ns, spin_ns: 0, go_on: &go_on };
        // SAFETY: this claim is the only one on the line.
        let connection = unsafe { &mut *self.line.connection.get() };
        // SAFETY: callers of begin_write vouch for the memory.
        unsafe { connection.begin(chunk, until) }
    }

    fn finish(&mut self, deadline_ns: u64) -> Result<(), Failure> {
        let shared = self.shared;
        let go_on = || shared.is_alive();
        let until = Until { deadline_ns, spin_ns: SPIN_NS, go_on: &go_on };
        // SAFETY: this claim is the only one on the line.
        unsafe { &mut *self.line.connection.get() }.finish(until)
    }
}

/// WRITEs as one request; `None` if they are too much for one.
pub(super) fn chunk_of(writes: &[Write]) -> Option<Chunk> {
    let bytes = writes.iter().map(|write| bytes_of(write.words)).fold(0, u64::saturating_add);
    if writes.is_empty() || writes.len() > RANGES_MAX || bytes > PAYLOAD_BYTES_MAX as u64 {
        return None;
    }
    let mut chunk = Chunk::new();
    for write in writes.iter().filter(|write| write.words > 0) {
        let (memory, bytes) = (write.from.cast_mut(), bytes_of(write.words));
        chunk.add(Operation::Write, Piece { offset: write.offset, bytes, memory });
    }
    (chunk.count > 0).then_some(chunk)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize};
    use std::time::Duration;

    use super::super::tests::{Both, transports};
    use super::super::{DataConnection, RemoteSegment, RemoteSegmentParts};
    use super::*;
    use crate::tcp::socket::TcpSocket;
    use crate::wire::conversation::lock;
    use crate::{PeerId, Segment, Transport};

    fn write_of(words: &[u64], offset: u64) -> Write {
        Write { offset, from: words.as_ptr(), words: words.len() }
    }

    #[test]
    fn what_was_begun_is_there_when_it_is_finished_and_one_line_is_left() {
        let tcp = transports().filter(|transport| *transport == Transport::Tcp);
        for transport in tcp {
            let Both { memory, remote, .. } = Both::new(transport, 3);
            let page = vec![7; 512];
            let writes = [0, 1, 2].map(|n| [write_of(&page, n * 4096)]);
            // SAFETY: the page outlives the operations.
            unsafe {
                let first = remote.begin_write(&writes[0]).unwrap();
                let second = remote.begin_write(&writes[1]).unwrap();
                assert!(remote.begin_write(&writes[2]).is_none(), "the last line is for others");
                remote.write_batch(&writes[2]).unwrap();
                remote.finish_write(first, &writes[0]).unwrap();
                assert_eq!((memory.load(0), memory.load(8192)), (7, 7));
                remote.finish_write(second, &writes[1]).unwrap();
                assert_eq!(memory.load(4096), 7);
                let begun = remote.begin_write(&writes[2]).unwrap();
                remote.finish_write(begun, &writes[2]).unwrap();
                let long = vec![1; PAYLOAD_BYTES_MAX / 8 + 1];
                assert!(remote.begin_write(&[write_of(&long, 0)]).is_none(), "too much for one");
                assert!(remote.begin_write(&[write_of(&page, u64::MAX - 7)]).is_none());
            }
            let Both { remote, .. } = Both::new(transport, 1);
            // SAFETY: as above.
            assert!(unsafe { remote.begin_write(&writes[0]) }.is_none(), "there is only one line");
        }
    }

    #[test]
    fn what_was_begun_on_a_line_that_breaks_is_done_again_and_nothing_comes_late() {
        let Both { memory, remote, sockets } = Both::new(Transport::Tcp, 2);
        for round in 1..200_u64 {
            let page = vec![round; 512];
            let writes = [write_of(&page, round % 16 * 4096)];
            // SAFETY: the page outlives the operation.
            unsafe {
                let Some(begun) = remote.begin_write(&writes) else {
                    remote.write_batch(&writes).unwrap();
                    continue;
                };
                if round % 3 == 0 {
                    for socket in lock(&sockets).drain(..) {
                        let _ = socket.shutdown(std::net::Shutdown::Both);
                    }
                }
                remote.finish_write(begun, &writes).unwrap();
            }
            assert_eq!(memory.load(round % 16 * 4096 + 4088), round);
        }
    }

    /// The events on the wires of a test.
    #[derive(Default)]
    struct Log {
        /// A WRITE fails while it is sent; else while its answer is waited for.
        fails_at_once: bool,
        dialled: AtomicUsize,
        written: AtomicUsize,
        written_before_it_was_replaced: AtomicUsize,
    }

    /// A connection that breaks when a WRITE was begun on it.
    struct Brittle(Arc<Log>);

    impl DataConnection for Brittle {
        unsafe fn exchange(&mut self, _: Operation, _: &Chunk, _: Until) -> Result<(), Failure> {
            let is_early = self.0.dialled.load(Ordering::SeqCst) <= LINES;
            self.0.written_before_it_was_replaced.fetch_add(is_early.into(), Ordering::SeqCst);
            self.0.written.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }

        unsafe fn begin(&mut self, _: &Chunk, _: Until) -> Result<bool, Failure> {
            if self.0.fails_at_once { Err(Failure::Broken) } else { Ok(true) }
        }

        fn finish(&mut self, _: Until) -> Result<(), Failure> {
            Err(Failure::Broken)
        }

        fn shutdown(&self) {}
    }

    const LINES: usize = 2;

    /// The first attempt may still come into effect until its line was replaced.
    #[test]
    fn what_was_begun_and_failed_is_done_again_when_its_line_was_replaced() {
        for fails_at_once in [true, false] {
            let log = Arc::new(Log { fails_at_once, ..Log::default() });
            let dialled = log.clone();
            let dial = move |_| -> Result<Box<dyn DataConnection>, RdmaError> {
                if dialled.dialled.load(Ordering::SeqCst) >= LINES {
                    std::thread::sleep(Duration::from_millis(50));
                }
                dialled.dialled.fetch_add(1, Ordering::SeqCst);
                Ok(Box::new(Brittle(dialled.clone())))
            };
            let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
            let control = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let remote = RemoteSegment::open(RemoteSegmentParts {
                server: PeerId::Server(0),
                bytes: 1 << 20,
                lines: LINES as u16,
                dial: Box::new(dial),
                control: Arc::new(TcpSocket::new(control.into()).unwrap()),
                alive: Arc::new(AtomicBool::new(true)),
            })
            .unwrap();
            let page = vec![7; 512];
            let writes = [write_of(&page, 0)];
            // SAFETY: the page outlives the operation.
            unsafe {
                let begun = remote.begin_write(&writes).unwrap();
                remote.finish_write(begun, &writes).unwrap();
            }
            let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
            assert_eq!(count(&log.written), 1, "{fails_at_once}");
            assert_eq!(count(&log.written_before_it_was_replaced), 0, "{fails_at_once}");
        }
    }
}
