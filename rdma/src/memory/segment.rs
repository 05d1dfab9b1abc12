//! One-sided access to a server's memory.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock};

use crate::memory::atomic_words::{WORD_BYTES, copy_words};
use crate::memory::gate::Inside;
use crate::memory::grants::{Grants, NotGranted};
use crate::memory::mapping::{Piece, SharedMapping};
use crate::{PeerId, RdmaError};

/// The memory of one server, as seen from any process: READ and WRITE without the server's agent (and
/// in shared memory without its CPU).
///
/// Offsets are bytes in the far space. Everything is in words of 8 bytes, aligned; a word never
/// tears. Except for `punch`, operations are async-signal-safe (no lock, no allocation), since page
/// faults are served from a signal handler. They return after the data has arrived.
pub trait Segment: Send + Sync {
    /// Length in bytes = length of the whole far space.
    fn bytes(&self) -> u64;

    /// READs that travel together: an injected latency is paid once.
    ///
    /// # Safety
    /// Each `into` is aligned and valid for writes of `words` words during the call.
    unsafe fn read_batch(&self, reads: &[Read]) -> Result<(), RdmaError>;

    /// WRITEs that travel together. Other threads may be writing the source: each word is loaded
    /// once, atomically.
    ///
    /// # Safety
    /// Each `from` is aligned and valid for reads of `words` words during the call.
    unsafe fn write_batch(&self, writes: &[Write]) -> Result<(), RdmaError>;

    /// Begins WRITEs and does not wait for them, where that can be done at once; `None`: nothing was done. A caller
    /// that gets a value hands it to [`finish_write`](Self::finish_write) of this segment soon, from the same thread,
    /// and may meanwhile WRITE to another segment, but to nothing of this one.
    ///
    /// # Safety
    /// As for [`write_batch`](Self::write_batch), until it is finished.
    unsafe fn begin_write(&self, _writes: &[Write]) -> Option<Begun> {
        None
    }

    /// Waits until WRITEs that were begun have arrived, and makes them again if they did not.
    ///
    /// # Safety
    /// As for [`write_batch`](Self::write_batch); `begun` is the value that [`begin_write`](Self::begin_write)
    /// of the same segment returned for the same WRITEs, and is finished once.
    unsafe fn finish_write(&self, _begun: Begun, writes: &[Write]) -> Result<(), RdmaError> {
        // SAFETY: the caller's promise is passed on.
        unsafe { self.write_batch(writes) }
    }

    /// Makes a range (whole pages) zero and gives its memory back to the server.
    fn punch(&self, offset: u64, bytes: u64) -> Result<(), RdmaError>;

    /// False once the server was found dead; every operation then fails.
    fn is_alive(&self) -> bool;

    /// The address of the range (bytes, inside) in this process, if the server's memory is mapped in it: data that
    /// must be copied anyway need not be READ first. It stays valid as long as the returned value, which a thread keeps
    /// for one copy. A thread that reads the range sees words that others are writing at the same time torn.
    fn mapped(&self, _offset: u64, _bytes: u64) -> Option<Mapped<'_>> {
        None
    }

    /// Where there are two copies of the range (bytes, whole pages): copies it from the one that is whole to the one
    /// that is being filled, if that is so, and returns how many bytes it wrote. Concurrent with all other
    /// operations; not async-signal-safe.
    fn repair(&self, _offset: u64, _bytes: u64) -> Result<u64, RdmaError> {
        Ok(0)
    }

    /// The server is lost for good: gives back the memory of it that this process still holds. Every operation
    /// fails from now on, those in flight too.
    fn abandon(&self) {}

    /// READ: copies words from `offset` on.
    fn read(&self, offset: u64, into: &mut [u64]) -> Result<(), RdmaError> {
        let read = Read { offset, into: into.as_mut_ptr(), words: into.len() };
        // SAFETY: a live slice is writable for its whole length.
        unsafe { self.read_batch(&[read]) }
    }

    /// READs that travel together: copies words from each offset on. Allocates, so not for signal handlers.
    fn read_all(&self, parts: &mut [(u64, &mut [u64])]) -> Result<(), RdmaError> {
        let read = |(offset, into): &mut (u64, &mut [u64])| Read {
            offset: *offset,
            into: into.as_mut_ptr(),
            words: into.len(),
        };
        let reads: Vec<_> = parts.iter_mut().map(read).collect();
        // SAFETY: live slices are writable for their whole lengths.
        unsafe { self.read_batch(&reads) }
    }

    /// WRITEs that travel together: copies words to each offset on. Allocates, so not for signal handlers.
    fn write_all(&self, parts: &[(u64, &[u64])]) -> Result<(), RdmaError> {
        let write = |(offset, from): &(u64, &[u64])| Write {
            offset: *offset,
            from: from.as_ptr(),
            words: from.len(),
        };
        let writes: Vec<_> = parts.iter().map(write).collect();
        // SAFETY: live slices are readable for their whole lengths.
        unsafe { self.write_batch(&writes) }
    }

    /// WRITE: copies words to `offset` on.
    fn write(&self, offset: u64, from: &[u64]) -> Result<(), RdmaError> {
        let write = Write { offset, from: from.as_ptr(), words: from.len() };
        // SAFETY: a live slice is readable for its whole length.
        unsafe { self.write_batch(&[write]) }
    }
}

/// Where a range of a segment is mapped in this process. The memory stays there until this is dropped.
pub struct Mapped<'a> {
    at: *const u8,
    /// Keeps memory that is taken away at the end of the process.
    _inside: Option<Inside<'a>>,
}

impl<'a> Mapped<'a> {
    /// Memory that stays as long as the segment.
    pub(crate) fn always(at: *const u8) -> Mapped<'a> {
        Mapped { at, _inside: None }
    }

    /// Memory behind a gate.
    #[cfg(not(loom))]
    pub(crate) fn inside(at: *const u8, inside: Inside<'a>) -> Mapped<'a> {
        Mapped { at, _inside: Some(inside) }
    }

    /// The address of the first byte.
    pub fn at(&self) -> *const u8 {
        self.at
    }
}

/// One READ of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// Where in the far space, in bytes.
    pub offset: u64,
    /// Where to.
    pub into: *mut u64,
    /// How many words.
    pub words: usize,
}

/// One WRITE of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    /// Where in the far space, in bytes.
    pub offset: u64,
    /// Where from.
    pub from: *const u64,
    /// How many words.
    pub words: usize,
}

/// WRITEs that are in flight.
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct Begun {
    /// The data connection.
    pub(crate) line: usize,
    /// If that broke meanwhile: which one of this number it was.
    pub(crate) broken: Option<u32>,
    /// Nothing was sent yet.
    pub(crate) is_deferred: bool,
    /// When an injected latency is over.
    pub(crate) goal_ns: u64,
}

/// Blocks of one mapping that a device may read and write by itself, for another process. They are pinned. Any thread;
/// not for signal handlers.
pub trait Registered: Send + Sync {
    /// Registers the block of `bytes` at `offset`, if it is not; returns its key. `None`: there is no such block.
    ///
    /// # Safety
    /// `mapping` is the same in every call, and outlives this value.
    unsafe fn register(
        &self,
        mapping: &SharedMapping,
        offset: u64,
        bytes: u64,
    ) -> Option<Result<u32, RdmaError>>;

    /// Makes a range of whole pages zero, and gives back the memory that is not pinned.
    fn punch(&self, mapping: &SharedMapping, offset: usize, bytes: usize) -> Result<(), RdmaError>;
}

/// A segment in memory that this process maps: a memfd made by the server.
pub struct ShmSegment {
    /// The blocks of it that a device may use. Dropped before the mapping.
    registered: OnceLock<Box<dyn Registered>>,
    mapping: SharedMapping,
    /// Which parts the server has populated; `None` in the server itself.
    grants: Option<Grants>,
    /// The server that owns it, for error messages.
    server: PeerId,
    /// Written once by the thread that finds the server dead, read by every operation. Relaxed:
    /// nothing else depends on it.
    alive: Arc<AtomicBool>,
}

impl ShmSegment {
    /// Makes a new, zeroed segment: the server's side, and tests.
    pub fn create(server: PeerId, bytes: u64) -> Result<ShmSegment, RdmaError> {
        let mapping = SharedMapping::create(c"farheap-segment", bytes as usize)?;
        let (registered, alive) = (OnceLock::new(), Arc::new(AtomicBool::new(true)));
        Ok(ShmSegment { registered, mapping, grants: None, server, alive })
    }

    /// Maps the segment of a server, which populates the parts that are written. `alive` is shared with the channel to
    /// that server.
    pub fn open(
        server: PeerId,
        fd: OwnedFd,
        grants: OwnedFd,
        bytes: u64,
        alive: Arc<AtomicBool>,
    ) -> Result<ShmSegment, RdmaError> {
        let mapping = SharedMapping::open(fd, bytes as usize)?;
        let grants = Some(Grants::open(grants, bytes)?);
        Ok(ShmSegment { registered: OnceLock::new(), mapping, grants, server, alive })
    }

    /// Has the beginning lie in a pool: as [`SharedMapping::lay_over`]. On the server, before anybody uses it.
    pub(crate) fn lay_over(&mut self, fd: OwnedFd, pieces: Vec<Piece>) -> Result<(), RdmaError> {
        self.mapping.lay_over(fd, pieces)
    }

    /// Has the file system keep memory for what of a range (bytes) lies in a pool, before an agent writes to it.
    /// Contents stay. At once where nothing lies in a pool; else it blocks on the file system.
    ///
    /// # Errors
    /// [`RdmaError::Os`]: the file system is full.
    pub fn reserve(&self, offset: u64, bytes: u64) -> Result<(), RdmaError> {
        let reserved = self.mapping.reserve(offset as usize, bytes as usize);
        reserved.map_err(|source| RdmaError::Os { what: "memory of the pool", source })
    }

    /// Address of offset 0 in this process. Agents read and write their own memory through it.
    pub fn base(&self) -> *mut u8 {
        self.mapping.base()
    }

    /// Bytes of a range of whole pages that the system has given memory for, swapped out or not: pages that any process
    /// has touched since they were last punched. Two system calls for each run of such pages, so for figures.
    pub fn allocated_bytes(&self, offset: u64, bytes: u64) -> u64 {
        self.mapping.allocated_bytes(offset as usize, bytes as usize) as u64
    }

    /// Bytes of memory that the whole segment takes, populated parts included. One system call.
    pub fn held_bytes(&self) -> u64 {
        self.mapping.held_bytes()
    }

    /// Loads one word (acquire). `offset` in bytes, aligned and inside, or it panics.
    pub fn load(&self, offset: u64) -> u64 {
        self.word(offset).load(Ordering::Acquire)
    }

    /// Stores one word (release). `offset` in bytes, aligned and inside, or it panics.
    pub fn store(&self, offset: u64, word: u64) {
        self.word(offset).store(word, Ordering::Release);
    }

    /// The word at `offset` (bytes), aligned and inside, or it panics.
    pub fn word(&self, offset: u64) -> &AtomicU64 {
        self.check(offset, 1).expect("callers of word() stay inside the segment");
        // SAFETY: checked to lie inside the mapping, which lives as long as self, and to be
        // aligned.
        unsafe { AtomicU64::from_ptr(self.base().add(offset as usize).cast()) }
    }

    /// The server whose memory it is.
    pub(crate) fn server(&self) -> PeerId {
        self.server
    }

    /// From now on blocks of it can be registered. Once per segment.
    pub(crate) fn offer(&self, registered: Box<dyn Registered>) {
        self.registered.get_or_init(|| registered);
    }

    /// Registers the block of `bytes` at `offset`, and returns its key. `None`: there is no such block, or no device.
    pub(crate) fn register(&self, offset: u64, bytes: u64) -> Option<Result<u32, RdmaError>> {
        // SAFETY: always this mapping, which is dropped after its registrations.
        unsafe { self.registered.get()?.register(&self.mapping, offset, bytes) }
    }

    /// Touches a range of whole pages, so that they count as this process's.
    pub(crate) fn populate(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.mapping.populate(offset as usize, bytes as usize)
    }

    /// Has the server populate what will be written, if it has not.
    #[inline]
    fn obtain(&self, offset: u64, words: usize) -> Result<(), RdmaError> {
        let Some(grants) = self.grants.as_ref().filter(|_| words > 0) else { return Ok(()) };
        let granted = grants.ask(offset, (words * WORD_BYTES) as u64, || self.is_alive());
        granted.map_err(|why| match why {
            NotGranted::Lost => RdmaError::PeerLost(self.server),
            NotGranted::Refused(refusal) => RdmaError::NoMemory { peer: self.server, refusal },
        })
    }

    /// The server ends in good order. The memory can still be read and written.
    pub(crate) fn close(&self) {
        self.grants.iter().for_each(Grants::close);
    }

    /// Marks the server dead, as if its process had died.
    pub fn mark_dead(&self) {
        self.alive.store(false, Ordering::Relaxed);
    }

    fn check(&self, offset: u64, words: usize) -> Result<(), RdmaError> {
        if !self.alive.load(Ordering::Relaxed) {
            return Err(RdmaError::PeerLost(self.server));
        }
        let (bytes, segment_bytes) = ((words * WORD_BYTES) as u64, self.bytes());
        let inside = offset <= segment_bytes && bytes <= segment_bytes - offset;
        if !inside || !offset.is_multiple_of(WORD_BYTES as u64) {
            return Err(RdmaError::OutOfSegment { offset, bytes, segment_bytes });
        }
        Ok(())
    }
}

impl Segment for ShmSegment {
    fn bytes(&self) -> u64 {
        self.mapping.bytes() as u64
    }

    unsafe fn read_batch(&self, reads: &[Read]) -> Result<(), RdmaError> {
        for read in reads {
            self.check(read.offset, read.words)?;
            // SAFETY: the range was checked to be inside the mapping; the caller vouches for the
            // target.
            unsafe {
                let from = self.base().add(read.offset as usize).cast();
                copy_words(from, read.into, read.words);
            }
        }
        // A read of an abandoned segment is an error: the flag is cleared before the memory.
        fence(Ordering::Acquire);
        self.check(0, 0)
    }

    unsafe fn write_batch(&self, writes: &[Write]) -> Result<(), RdmaError> {
        for write in writes {
            self.check(write.offset, write.words)?;
            self.obtain(write.offset, write.words)?;
            // SAFETY: the range was checked to be inside the mapping; the caller vouches for the
            // source.
            unsafe {
                let into = self.base().add(write.offset as usize).cast();
                copy_words(write.from, into, write.words);
            }
        }
        Ok(())
    }

    fn punch(&self, offset: u64, bytes: u64) -> Result<(), RdmaError> {
        self.check(offset, bytes as usize / WORD_BYTES)?;
        match self.registered.get() {
            Some(registered) => registered.punch(&self.mapping, offset as usize, bytes as usize),
            None => self.mapping.punch(offset as usize, bytes as usize),
        }?;
        if let Some(grants) = &self.grants {
            grants.forget(offset, bytes);
        }
        Ok(())
    }

    fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Relaxed)
    }

    fn abandon(&self) {
        self.alive.store(false, Ordering::SeqCst);
        if let Err(error) = self.mapping.punch(0, self.mapping.bytes()) {
            log::warn!("memory of {} cannot be released: {error}", self.server);
        }
    }

    fn mapped(&self, offset: u64, bytes: u64) -> Option<Mapped<'_>> {
        self.check(offset, bytes as usize / WORD_BYTES).ok()?;
        Some(Mapped::always(self.base().wrapping_add(offset as usize)))
    }
}

impl AsFd for ShmSegment {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.mapping.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment() -> ShmSegment {
        ShmSegment::create(PeerId::Server(0), 1 << 20).unwrap()
    }

    #[test]
    fn only_touched_pages_are_allocated() {
        const PAGE: u64 = 4096;
        let segment = ShmSegment::create(PeerId::Server(0), 1 << 40).unwrap();
        let all = segment.bytes();
        assert_eq!(segment.allocated_bytes(0, all), 0);
        for page in [0, 1, 7, all / PAGE / 2, all / PAGE - 1] {
            segment.store(page * PAGE, 1);
        }
        assert_eq!(segment.allocated_bytes(0, all), 5 * PAGE);
        assert_eq!(segment.allocated_bytes(PAGE, 7 * PAGE), 2 * PAGE);
        assert_eq!(segment.allocated_bytes(2 * PAGE, 5 * PAGE), 0);
        segment.punch(0, PAGE).unwrap();
        assert_eq!(segment.allocated_bytes(0, all), 4 * PAGE);
    }

    #[test]
    fn what_was_written_is_read_and_a_hole_is_zero() {
        let segment = segment();
        segment.write(8192, &[1, 2, 3]).unwrap();
        let mut words = [0; 4];
        segment.read(8192, &mut words).unwrap();
        assert_eq!(words, [1, 2, 3, 0]);
        assert_eq!(segment.load(8200), 2);
        segment.punch(8192, 4096).unwrap();
        segment.read(8192, &mut words).unwrap();
        assert_eq!(words, [0; 4]);
    }

    #[test]
    fn ranges_outside_and_unaligned_ones_are_refused() {
        let segment = segment();
        for offset in [1 << 20, (1 << 20) - 8, 4, u64::MAX - 7] {
            let refused = segment.read(offset, &mut [0; 2]);
            assert!(matches!(refused, Err(RdmaError::OutOfSegment { .. })), "{offset}");
        }
    }

    #[test]
    fn a_dead_server_serves_nothing() {
        let segment = segment();
        segment.mark_dead();
        let refused = segment.write(0, &[1]);
        assert!(matches!(refused, Err(RdmaError::PeerLost(PeerId::Server(0)))));
    }

    #[test]
    fn an_abandoned_segment_gives_its_memory_back() {
        let segment = segment();
        segment.write(0, &[1]).unwrap();
        segment.abandon();
        assert!(segment.read(0, &mut [0]).is_err());
        // SAFETY: the first word of a mapping that no other thread has.
        assert_eq!(unsafe { segment.base().cast::<u64>().read_volatile() }, 0);
    }

    #[test]
    fn memory_of_the_wrong_size_is_not_mapped() {
        let segment = segment();
        let fd = || segment.as_fd().try_clone_to_owned().unwrap();
        let grants = |bytes| Grants::create(bytes).unwrap().as_fd().try_clone_to_owned().unwrap();
        let open = |grants, bytes| {
            let alive = Arc::new(AtomicBool::new(true));
            ShmSegment::open(PeerId::Server(0), fd(), grants, bytes, alive)
        };
        assert!(open(grants(2 << 20), 2 << 20).is_err());
        assert!(open(grants(1 << 40), 1 << 20).is_err());
        assert!(open(grants(1 << 20), 1 << 20).is_ok());
    }
}
