//! The places of memory servers in a fleet that keeps two copies of everything.
//!
//! Server `s` holds the pages that it owns, and a copy of those that server `s - 1` owns (of server 0: the last
//! one). So each page is on its owner and on the next server, the *mirror*, at the same offset. A server can
//! die, and another process takes its seat:
//!
//! ```text
//!             lose                       lose
//!   WHOLE ───────────► EMPTY ◄─────────────────── FILLING
//!     ▲                  └──────── fill ─────────►  │
//!     └───────────────── complete ──────────────────┘
//! ```
//!
//! *Whole*: it has all that the seat should hold; reads are served by it. *Filling*: a new process, to
//! which all changes are written, while unchanged data is copied (`Mirrored::repair`). The processes of a
//! seat are numbered, so that no thread takes the new one for the old one. Memory of a lost process is
//! never read again, even where it is still mapped.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::{PeerId, RdmaError, Segment};
use base::{die, futex};

/// The state of a seat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum SeatState {
    /// No process has the seat.
    Empty = 0,
    /// Written, not yet read.
    Filling = 1,
    /// Written and read.
    Whole = 2,
}

/// A seat at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look(u64);

impl Look {
    pub fn state(self) -> SeatState {
        match self.0 & STATE_MASK {
            0 => SeatState::Empty,
            1 => SeatState::Filling,
            _ => SeatState::Whole,
        }
    }

    /// Which process of the seat, counted from 0; in an empty seat the one that was lost.
    pub fn incarnation(self) -> u32 {
        (self.0 >> STATE_BITS) as u32
    }

    fn new(incarnation: u32, state: SeatState) -> Look {
        Look(u64::from(incarnation) << STATE_BITS | state as u64)
    }
}

/// The seat of one server.
struct Seat {
    /// A [`Look`]. Written by the thread that finds the process lost and by the one that replaces it; read
    /// by every operation. Sequentially consistent: a writer that sees no process filling the seat has
    /// written the other copy before anything is copied from it.
    word: AtomicU64,
    /// The memory of each process that ever had this seat. Set before the word names it; stays, since
    /// signal handlers may be using it.
    segments: Box<[OnceLock<Arc<dyn Segment>>]>,
}

/// All seats of a fleet. Any thread; everything but [`fill`](Self::fill) is async-signal-safe.
pub struct Seats {
    seats: Box<[Seat]>,
    /// Counts losses; slept on.
    losses: AtomicU32,
    /// Reads that a mirror served. Relaxed, a count.
    mirror_reads: AtomicU64,
}

impl Seats {
    /// Empty seats for `servers` servers, at least 2.
    pub fn new(servers: usize) -> Seats {
        assert!(servers >= 2, "two copies need two servers");
        let seat = |_| Seat {
            word: AtomicU64::new(0),
            segments: (0..INCARNATIONS_MAX).map(|_| OnceLock::new()).collect(),
        };
        Seats {
            seats: (0..servers).map(seat).collect(),
            losses: AtomicU32::new(0),
            mirror_reads: AtomicU64::new(0),
        }
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.seats.len()
    }

    /// The server that has a copy of the pages that `server` owns.
    pub fn mirror_of(&self, server: usize) -> usize {
        (server + 1) % self.count()
    }

    /// The present state.
    pub fn look(&self, server: usize) -> Look {
        Look(self.seats[server].word.load(Ordering::SeqCst))
    }

    /// Whether all seats are whole.
    pub fn are_whole(&self) -> bool {
        self.missing() == 0
    }

    /// How many are not: of the pages that these should hold there is one copy.
    pub fn missing(&self) -> usize {
        (0..self.count()).filter(|server| self.look(*server).state() != SeatState::Whole).count()
    }

    /// The memory of the process that was seen in a seat that was not empty.
    pub fn segment(&self, server: usize, seen: Look) -> &Arc<dyn Segment> {
        let segment = self.seats[server].segments[seen.incarnation() as usize].get();
        segment.expect("set before the seat was not empty")
    }

    /// The number that the next process in an empty seat gets. An error when there were too many.
    pub fn next_incarnation(&self, server: usize) -> Result<u32, RdmaError> {
        let seat = &self.seats[server];
        let used = seat.segments.iter().take_while(|segment| segment.get().is_some()).count();
        if used == INCARNATIONS_MAX {
            let reason = format!("it was lost {INCARNATIONS_MAX} times, the maximum");
            return Err(RdmaError::Start { server: server as u16, reason });
        }
        Ok(used as u32)
    }

    /// A process sits down in an empty seat; `incarnation` is the next one. One thread at a time.
    pub fn fill(
        &self,
        server: usize,
        incarnation: u32,
        segment: Arc<dyn Segment>,
        state: SeatState,
    ) {
        let seat = &self.seats[server];
        assert_eq!(self.look(server).state(), SeatState::Empty, "seat {server} is taken");
        let is_new = seat.segments[incarnation as usize].set(segment).is_ok();
        assert!(is_new, "incarnation {incarnation} of server {server} comes twice");
        seat.word.store(Look::new(incarnation, state).0, Ordering::SeqCst);
    }

    /// The process has everything. False when it was lost meanwhile.
    pub fn complete(&self, server: usize, incarnation: u32) -> bool {
        self.change(server, incarnation, SeatState::Filling, SeatState::Whole)
    }

    /// The process is lost, or counts as lost. False when that is known already.
    pub fn lose(&self, server: usize, incarnation: u32) -> bool {
        let lost = [SeatState::Whole, SeatState::Filling]
            .into_iter()
            .any(|state| self.change(server, incarnation, state, SeatState::Empty));
        if lost {
            self.losses.fetch_add(1, Ordering::SeqCst);
            futex::wake_all(&self.losses);
        }
        lost
    }

    /// Ends the process with one line if a server is lost and no other copy of its pages exists.
    pub fn die_if_lost(&self, server: usize) {
        let is_whole = |server| self.look(server).state() == SeatState::Whole;
        let before = (server + self.count() - 1) % self.count();
        for other in [before, self.mirror_of(server)] {
            if !is_whole(server) && !is_whole(other) {
                let (server, other) = (peer(server), peer(other));
                die(format_args!(
                    "connection to {server} is lost, and {other} is not repaired: both copies of their pages are lost"
                ));
            }
        }
    }

    /// How many processes were lost so far.
    pub fn losses(&self) -> u32 {
        self.losses.load(Ordering::SeqCst)
    }

    /// Sleeps until more than `before` processes were lost, at most `timeout`; wakes up for no reason at times.
    pub fn await_loss(&self, before: u32, timeout: Duration) {
        futex::wait(&self.losses, before, timeout);
    }

    /// Wakes the threads that sleep in [`await_loss`](Self::await_loss) without a loss.
    pub fn wake(&self) {
        futex::wake_all(&self.losses);
    }

    /// Reads that a mirror served because the owner was lost.
    pub fn mirror_reads(&self) -> u64 {
        self.mirror_reads.load(Ordering::Relaxed)
    }

    pub(crate) fn count_mirror_read(&self) {
        self.mirror_reads.fetch_add(1, Ordering::Relaxed);
    }

    fn change(&self, server: usize, incarnation: u32, from: SeatState, to: SeatState) -> bool {
        let (from, to) = (Look::new(incarnation, from).0, Look::new(incarnation, to).0);
        let word = &self.seats[server].word;
        word.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

/// How messages name a server.
fn peer(server: usize) -> PeerId {
    PeerId::Server(server as u16)
}

/// Processes that may sit in one seat, one after the other.
const INCARNATIONS_MAX: usize = 1024;
const STATE_BITS: u32 = 2;
const STATE_MASK: u64 = (1 << STATE_BITS) - 1;
