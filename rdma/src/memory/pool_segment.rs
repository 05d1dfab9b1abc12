//! A far space in a crash-safe pool: no server, and no copy of it.
//!
//! The far space is cut into pieces of 64 MiB, each of which is a huge block of the pool, so that it does not need one
//! free run of its length. The blocks belong to this process as counted objects ([`PoolLease`]): they are free when it
//! ends, or, if it was killed, when the next client or a manager recovers the pool.
//!
//! ```text
//!   far space   0             64 MiB          128 MiB     its end
//!               +-------------+---------------+-----------+
//!               | piece 0     | piece 1       | piece 2   |
//!               +-------------+---------------+-----------+
//!   pool        ... | page of the object's header | piece 1 | ... | page | piece 0 | ...
//! ```
//!
//! The file of a pool is sparse, and a write to a page without memory ends the process with SIGBUS if its file system
//! is full. So a part of 256 KiB is reserved before the first write to it, and again after memory of it was given back:
//! then a full file system is an error that says so.
//!
//! When the process ends in good order, its memory is freed while other threads of it still run. They must not write
//! what another VM may have by then: see [`Gate`].
//!
//! Agents are processes of their own that map the pieces, one behind the other ([`Share`]). They must not write it
//! either, also if they outlive their VM: see [`PoolLease`].

use std::fmt;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pool::PoolError;

use crate::RdmaError;
use crate::memory::atomic_words::{WORD_BYTES, copy_words};
use crate::memory::gate::{Gate, Inside};
use crate::memory::mapping::{Piece, data_in};
use crate::memory::pool_lease::PoolLease;
use crate::memory::segment::{Mapped, Read, Segment, Write};

/// Which pool, and how much of it.
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// A file, which is made if there is none, or a DAX device.
    pub path: PathBuf,
    /// Bytes of far spaces that a new pool has room for. `None`: this far space. A pool that exists must have been made
    /// for as many.
    pub pool_bytes: Option<u64>,
    /// Length of the far space, a multiple of the page size.
    pub far_bytes: u64,
    /// Whether other processes will map it ([`PoolSegment::share`]).
    pub is_shared: bool,
}

/// What another process needs to map a far space in a pool. As long as any process has the descriptor, or has mapped
/// memory through it, the memory is not freed.
pub(crate) struct Share {
    pub fd: OwnedFd,
    /// The whole far space, without a gap.
    pub pieces: Vec<Piece>,
}

/// A far space in a pool. It is zero at first, as a pager takes for granted.
pub struct PoolSegment {
    path: PathBuf,
    bytes: u64,
    gate: Gate,
    /// A bit for each part that is reserved. Set by the thread that has reserved it, cleared by the one that gives
    /// memory of it back. Relaxed: a thread that sees neither reserves the part again. A part of which memory is given
    /// back while another thread reserves it may stay marked.
    reserved: Box<[AtomicU64]>,
    lease: PoolLease,
}

/// Bytes of a piece.
const PIECE_BYTES: u64 = 64 << 20;
/// Bytes of a part, which is reserved at once: as many pages as are evicted together.
const PART_BYTES: u64 = 64 * 4096;
const PAGE_BYTES: u64 = 4096;

impl PoolSegment {
    /// Opens or makes the pool, recovers its dead clients, and allocates memory for the far space. Blocks on the file
    /// system.
    ///
    /// # Errors
    /// [`RdmaError::Pool`] says which pool it is and why it cannot be used: it has no room, has another version or
    /// length, is not a pool, or cannot be opened.
    pub fn open(options: &PoolOptions) -> Result<PoolSegment, RdmaError> {
        let bytes = options.far_bytes;
        assert!(bytes > 0 && bytes.is_multiple_of(PAGE_BYTES), "a far space of {bytes} bytes");
        let pieces =
            (0..bytes.div_ceil(PIECE_BYTES)).map(|n| PIECE_BYTES.min(bytes - n * PIECE_BYTES));
        let lease = PoolLease::take(options, pieces.collect())?;
        let words = bytes.div_ceil(PART_BYTES).div_ceil(64);
        let reserved = (0..words).map(|_| AtomicU64::new(0)).collect();
        Ok(PoolSegment {
            path: options.path.clone(),
            bytes,
            gate: Gate::default(),
            reserved,
            lease,
        })
    }

    /// Frees the memory, if threads that use it now leave it within `patience`: for the end of the process. A thread
    /// that uses the memory later sleeps until then. `end_others` ends the other processes that have mapped it. False:
    /// the next client of the pool frees it.
    pub fn close(&self, patience: Duration, end_others: impl FnOnce()) -> bool {
        if !self.gate.close(patience) {
            return false;
        }
        end_others();
        self.lease.end()
    }

    /// For the processes that are to map it; once, and `None` unless that was asked for. To be dropped when they have
    /// it: descriptors are inherited by children that know nothing of them.
    pub(crate) fn share(&self) -> Option<Share> {
        let fd = self.lease.take_shared()?;
        Some(Share { fd, pieces: self.pieces().collect() })
    }

    /// The pieces, one behind the other.
    fn pieces(&self) -> impl Iterator<Item = Piece> {
        self.lease.places().iter().zip(0..).map(|(place, n)| {
            let offset = n * PIECE_BYTES;
            Piece { offset, place: *place, bytes: PIECE_BYTES.min(self.bytes - offset) }
        })
    }

    /// For what is to be finished before the memory is freed. Once that has begun it does not return: the process is
    /// about to end. Async-signal-safe. A thread that is inside already may wait for itself.
    pub(crate) fn enter(&self) -> Inside<'_> {
        self.gate.enter()
    }

    /// The file or device.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of memory that the pool's file keeps for the far space, or a little more: parts that are reserved here, or
    /// that have data, as those that agents have written. Two system calls for each run of data, so for figures.
    pub fn held_bytes(&self) -> u64 {
        let mut held: Vec<u64> =
            self.reserved.iter().map(|word| word.load(Ordering::Relaxed)).collect();
        let fd = self.lease.pool().segment().fd();
        for Piece { offset, place, bytes } in self.pieces() {
            for data in data_in(fd, place..place + bytes) {
                for part in parts_of(offset + (data.start - place), data.end - data.start) {
                    held[(part / 64) as usize] |= 1 << (part % 64);
                }
            }
        }
        let parts: u64 = held.iter().map(|word| u64::from(word.count_ones())).sum();
        (parts * PART_BYTES).min(self.bytes)
    }

    /// The words of the pool that are at an offset of the far space: at least one, at most `words`.
    fn words(&self, offset: u64, words: usize) -> Result<&[AtomicU64], RdmaError> {
        let within = offset % PIECE_BYTES;
        let left = (PIECE_BYTES.min(self.bytes - (offset - within)) - within) / WORD_BYTES as u64;
        let place = self.lease.places()[(offset / PIECE_BYTES) as usize] + within;
        let words = self.lease.pool().atomics(place, words.min(left as usize));
        words.map_err(|_| RdmaError::OutOfSegment {
            offset,
            bytes: left * WORD_BYTES as u64,
            segment_bytes: self.bytes,
        })
    }

    fn check(&self, offset: u64, words: usize) -> Result<(), RdmaError> {
        let (bytes, segment_bytes) = ((words * WORD_BYTES) as u64, self.bytes);
        let is_inside = offset <= segment_bytes && bytes <= segment_bytes - offset;
        if !is_inside || !offset.is_multiple_of(WORD_BYTES as u64) {
            return Err(RdmaError::OutOfSegment { offset, bytes, segment_bytes });
        }
        Ok(())
    }

    /// Has all parts of a range of words reserved. Async-signal-safe.
    #[inline]
    fn reserve(&self, offset: u64, words: usize) -> Result<(), RdmaError> {
        for part in parts_of(offset, (words * WORD_BYTES) as u64) {
            let bit = 1 << (part % 64);
            let word = &self.reserved[(part / 64) as usize];
            if word.load(Ordering::Relaxed) & bit == 0 {
                self.reserve_part(part)?;
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    #[cold]
    fn reserve_part(&self, part: u64) -> Result<(), RdmaError> {
        let offset = part * PART_BYTES;
        let bytes = PART_BYTES.min(self.bytes - offset);
        self.lease.pool().segment().reserve(self.place(offset), bytes).map_err(os_error)
    }

    /// Where a byte of the far space is in the pool.
    fn place(&self, offset: u64) -> u64 {
        self.lease.places()[(offset / PIECE_BYTES) as usize] + offset % PIECE_BYTES
    }
}

impl fmt::Debug for PoolSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes in {}", self.bytes, self.path.display())
    }
}

impl Segment for PoolSegment {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    unsafe fn read_batch(&self, reads: &[Read]) -> Result<(), RdmaError> {
        let _inside = self.gate.enter();
        for read in reads {
            self.check(read.offset, read.words)?;
            let mut done = 0;
            while done < read.words {
                let from =
                    self.words(read.offset + (done * WORD_BYTES) as u64, read.words - done)?;
                // SAFETY: the caller vouches for the target; the source is a slice of words that are atomic.
                unsafe { copy_words(from.as_ptr().cast(), read.into.add(done), from.len()) };
                done += from.len();
            }
        }
        Ok(())
    }

    unsafe fn write_batch(&self, writes: &[Write]) -> Result<(), RdmaError> {
        let _inside = self.gate.enter();
        for write in writes {
            self.check(write.offset, write.words)?;
            if write.words > 0 {
                self.reserve(write.offset, write.words)?;
            }
            let mut done = 0;
            while done < write.words {
                let offset = write.offset + (done * WORD_BYTES) as u64;
                let into = self.words(offset, write.words - done)?;
                let target = into.as_ptr().cast_mut().cast::<u64>();
                // SAFETY: the caller vouches for the source; the target is a slice of words that are atomic, of a
                // block that the lease owns while a thread is inside the gate.
                unsafe { copy_words(write.from.add(done), target, into.len()) };
                done += into.len();
            }
        }
        Ok(())
    }

    fn punch(&self, offset: u64, bytes: u64) -> Result<(), RdmaError> {
        let _inside = self.gate.enter();
        self.check(offset, bytes as usize / WORD_BYTES)?;
        let end = offset + bytes;
        let mut at = offset;
        while at < end {
            let piece_end = (at / PIECE_BYTES + 1) * PIECE_BYTES;
            let until = end.min(piece_end);
            let segment = self.lease.pool().segment();
            segment.punch(self.place(at), until - at).map_err(os_error)?;
            at = until;
        }
        for part in parts_of(offset, bytes) {
            self.reserved[(part / 64) as usize].fetch_and(!(1 << (part % 64)), Ordering::Relaxed);
        }
        Ok(())
    }

    /// There is no server that could die.
    fn is_alive(&self) -> bool {
        true
    }

    fn mapped(&self, offset: u64, bytes: u64) -> Option<Mapped<'_>> {
        let words = bytes as usize / WORD_BYTES;
        self.check(offset, words).ok()?;
        let inside = self.gate.enter();
        let there = self.words(offset, words).ok().filter(|there| there.len() == words)?;
        Some(Mapped::inside(there.as_ptr().cast(), inside))
    }
}

/// The parts that have any byte of a range.
fn parts_of(offset: u64, bytes: u64) -> std::ops::Range<u64> {
    offset / PART_BYTES..(offset + bytes).div_ceil(PART_BYTES)
}

/// An error of a system call on the pool's file. Allocates nothing.
fn os_error(error: PoolError) -> RdmaError {
    match error {
        PoolError::Kernel { source, .. } => RdmaError::Os { what: "memory of the pool", source },
        _ => unreachable!("the range was checked to be inside of a block"),
    }
}

#[cfg(test)]
mod tests;
