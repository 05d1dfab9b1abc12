//! Which parts of a server's shared memory the server has populated.
//!
//! The system counts a page of shared memory for the process that touches it first: in a container, for that container.
//! So a server touches its pages itself, part by part, before the VM may write to them. A VM that wants to write to a
//! part asks once; parts once granted stay so until their memory is given back, and cost one load at each write.
//!
//! ```text
//! byte 0     asked: counts requests       (by the VM, the server sleeps on it)
//!     64     answered: counts answers     (by the server, the VM's threads sleep on it)
//!    128     why the last refusal: 0, or an error number of the system
//!    136     the limit that was reached, bytes
//!    144     what of it is in use, bytes
//!    192     REQUESTS words: the number of a part, plus 1; 0 when the slot is free
//!   4096     a byte for each part: NONE, GRANTED or REFUSED
//! ```
//!
//! Both sides check what the other one writes. A VM that does not ask harms nobody but its own container.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::RdmaError;
use crate::memory::grant_requests::{self, Answer, Words};
use crate::memory::mapping::SharedMapping;
use crate::wire::refusal::Refusal;

/// The table of one segment, shared by VM and server.
pub struct Grants {
    table: SharedMapping,
    parts: usize,
    /// The VM has closed the connection: no server populates parts any more. Set once, by the VM; relaxed.
    is_closed: AtomicBool,
}

/// Why a part cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotGranted {
    Refused(Refusal),
    /// The server has ended.
    Lost,
}

impl Grants {
    /// A table without grants for a segment of `segment_bytes`: the server's side.
    pub fn create(segment_bytes: u64) -> Result<Grants, RdmaError> {
        let parts = parts_of(segment_bytes);
        let table = SharedMapping::create(c"farheap-grants", table_bytes(parts))?;
        Ok(Grants { table, parts, is_closed: AtomicBool::new(false) })
    }

    /// Maps the table that a server made.
    pub fn open(fd: OwnedFd, segment_bytes: u64) -> Result<Grants, RdmaError> {
        let parts = parts_of(segment_bytes);
        let table = SharedMapping::open(fd, table_bytes(parts))?;
        Ok(Grants { table, parts, is_closed: AtomicBool::new(false) })
    }

    /// Has all parts of a range, which is not empty, granted before it returns. Async-signal-safe; sleeps while the
    /// server populates a part, as long as the server `is_alive`.
    pub fn ask(
        &self,
        offset: u64,
        bytes: u64,
        is_alive: impl Fn() -> bool,
    ) -> Result<(), NotGranted> {
        let is_closed = || self.is_closed.load(Ordering::Relaxed);
        for part in parts_in(offset, bytes) {
            if grant_requests::is_granted(self, part) {
                continue;
            }
            match grant_requests::ask(self, part, &is_alive, is_closed) {
                Answer::Granted | Answer::Closed => {}
                Answer::Refused => return Err(NotGranted::Refused(self.refusal())),
                Answer::Lost => return Err(NotGranted::Lost),
            }
        }
        Ok(())
    }

    /// The server ends in good order: what is written to its memory from now on needs no grant.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// The memory of a range was given back: what lies in its parts is asked for again before it is written. A part
    /// that the server is populating at the same time may stay granted; pages of it that are touched later then count
    /// for the VM.
    pub fn forget(&self, offset: u64, bytes: u64) {
        if bytes > 0 {
            parts_in(offset, bytes).for_each(|part| grant_requests::forget(self, part));
        }
    }

    /// Answers all requests that there are, having parts populated by `populate` (offset and length in bytes). Waits
    /// for one if there is none, for `timeout` at most. On the server, one thread.
    pub fn answer(
        &self,
        segment_bytes: u64,
        timeout: Duration,
        mut populate: impl FnMut(u64, u64) -> Result<(), Refusal>,
    ) {
        grant_requests::answer(self, self.parts, timeout, |part| {
            let offset = part as u64 * PART_BYTES;
            let populated = populate(offset, PART_BYTES.min(segment_bytes - offset));
            if let Err(refusal) = populated {
                self.set_refusal(refusal);
            }
            populated.is_ok()
        });
    }

    fn refusal(&self) -> Refusal {
        match self.word(128).load(Ordering::SeqCst) as i32 {
            0 => Refusal::ContainerFull {
                limit: self.word(136).load(Ordering::SeqCst),
                used: self.word(144).load(Ordering::SeqCst),
            },
            error => Refusal::System { error },
        }
    }

    fn set_refusal(&self, refusal: Refusal) {
        let (error, limit, used) = match refusal {
            Refusal::ContainerFull { limit, used } => (0, limit, used),
            Refusal::System { error } => (error, 0, 0),
        };
        self.word(128).store(error as u32 as u64, Ordering::SeqCst);
        self.word(136).store(limit, Ordering::SeqCst);
        self.word(144).store(used, Ordering::SeqCst);
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        // SAFETY: callers pass aligned constants below STATES_AT; otherwise as above.
        unsafe { AtomicU64::from_ptr(self.table.base().add(at).cast()) }
    }

    fn half_word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: as in `word`.
        unsafe { AtomicU32::from_ptr(self.table.base().add(at).cast()) }
    }
}

impl Words for Grants {
    const REQUESTS: usize = 64;

    fn asked(&self) -> &AtomicU32 {
        self.half_word(0)
    }

    fn answered(&self) -> &AtomicU32 {
        self.half_word(64)
    }

    fn request(&self, number: usize) -> &AtomicU64 {
        self.word(192 + number * size_of::<u64>())
    }

    fn state(&self, part: usize) -> &AtomicU8 {
        assert!(part < self.parts, "part {part} of {}", self.parts);
        // SAFETY: inside the mapping, which has a byte for each part and lives as long as self; all access is atomic.
        unsafe { AtomicU8::from_ptr(self.table.base().add(STATES_AT + part)) }
    }
}

impl AsFd for Grants {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.table.as_fd()
    }
}

fn parts_of(segment_bytes: u64) -> usize {
    segment_bytes.div_ceil(PART_BYTES) as usize
}

/// The numbers of the parts that have any byte of a range, which is not empty.
fn parts_in(offset: u64, bytes: u64) -> std::ops::RangeInclusive<usize> {
    (offset / PART_BYTES) as usize..=((offset + bytes - 1) / PART_BYTES) as usize
}

fn table_bytes(parts: usize) -> usize {
    (STATES_AT + parts).next_multiple_of(4096)
}

/// Bytes of a part: as many pages as are evicted at once, so that few are populated that stay empty.
pub const PART_BYTES: u64 = 64 * 4096;
const STATES_AT: usize = 4096;

const _: () = assert!(192 + Grants::REQUESTS * size_of::<u64>() <= STATES_AT);

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;

    const BYTES: u64 = 100 * PART_BYTES + 4096;

    /// Both sides, each with its own mapping, and a server that populates by `populate` while `body` runs.
    fn with_server(
        populate: impl Fn(u64, u64) -> Result<(), Refusal> + Sync,
        body: impl FnOnce(&Grants, &Grants),
    ) {
        let server = Grants::create(BYTES).unwrap();
        let fd = server.as_fd().try_clone_to_owned().unwrap();
        let vm = Grants::open(fd, BYTES).unwrap();
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::SeqCst) {
                    server.answer(BYTES, Duration::from_millis(5), &populate);
                }
            });
            body(&vm, &server);
            is_done.store(true, Ordering::SeqCst);
        });
    }

    #[test]
    fn each_part_is_populated_once_however_many_threads_ask() {
        let populated: Vec<_> = (0..=100).map(|_| AtomicUsize::new(0)).collect();
        let populate = |offset: u64, bytes: u64| {
            assert_eq!(bytes, if offset == 100 * PART_BYTES { 4096 } else { PART_BYTES });
            populated[(offset / PART_BYTES) as usize].fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        with_server(populate, |vm, _| {
            thread::scope(|scope| {
                for t in 0..80_u64 {
                    scope.spawn(move || {
                        for n in 0..100 {
                            let part = (n * 7 + t) % 100;
                            // The end of a part and the beginning of the next one.
                            vm.ask((part + 1) * PART_BYTES - 8, 16, || true).unwrap();
                        }
                    });
                }
            });
        });
        // Threads may ask for one part at the same moment in several slots, and it is populated for each; nothing
        // happens then the second time.
        let counts: Vec<usize> = populated.iter().map(|n| n.load(Ordering::SeqCst)).collect();
        assert!(counts.iter().all(|count| (1..=80).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_part_that_was_given_back_is_asked_for_again() {
        let calls = AtomicUsize::new(0);
        let populate = |_, _| {
            calls.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        with_server(populate, |vm, _| {
            for _ in 0..3 {
                vm.ask(PART_BYTES, 8, || true).unwrap();
            }
            assert_eq!(calls.load(Ordering::SeqCst), 1);
            vm.forget(PART_BYTES + 4096, 4096);
            vm.ask(PART_BYTES, 8, || true).unwrap();
            assert_eq!(calls.load(Ordering::SeqCst), 2);
        });
    }

    #[test]
    fn a_refusal_says_why_and_is_not_for_ever() {
        let is_full = AtomicBool::new(true);
        let full = Refusal::ContainerFull { limit: 300 << 20, used: 299 << 20 };
        let populate = |offset, _| match offset {
            0 => Err(Refusal::System { error: libc::ENOMEM }),
            _ if is_full.load(Ordering::SeqCst) => Err(full),
            _ => Ok(()),
        };
        with_server(populate, |vm, _| {
            let refused = vm.ask(PART_BYTES, 8, || true);
            assert_eq!(refused, Err(NotGranted::Refused(full)));
            assert!(full.to_string().contains("299 of 300 MiB"));
            is_full.store(false, Ordering::SeqCst);
            assert_eq!(vm.ask(PART_BYTES, 8, || true), Ok(()));
            let Err(NotGranted::Refused(refusal)) = vm.ask(0, 8, || true) else { panic!() };
            assert!(refusal.to_string().contains("memory"), "{refusal}");
        });
    }

    #[test]
    fn a_server_that_has_ended_or_writes_nonsense_holds_nobody() {
        let server = Grants::create(BYTES).unwrap();
        assert_eq!(server.ask(0, 8, || false), Err(NotGranted::Lost));
        // A request for a part that does not exist is dropped.
        server.request(3).store(u64::MAX, Ordering::SeqCst);
        server.answer(BYTES, Duration::ZERO, |_, _| panic!("no such part"));
        assert_eq!(server.request(3).load(Ordering::SeqCst), 0);
        let fd = server.as_fd().try_clone_to_owned().unwrap();
        assert!(Grants::open(fd, BYTES * 1000).is_err());
        server.close();
        assert_eq!(server.ask(PART_BYTES, 8, || true), Ok(()));
    }
}
