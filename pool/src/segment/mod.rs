//! The memory of a pool: one file, mapped once, at its full size.
//!
//! The file is an unnamed one of memory, a regular one, or a DAX device; memory that only one process has is in none.
//! It is sparse: a segment of terabytes costs
//! what is touched. All of it is mapped from the start, so an offset means the same bytes in every process from the
//! moment on that it was handed out, for loads and for system calls. Nothing is ever mapped later, and no signal
//! handler is needed. A page of data is given back by [`Segment::punch`].
//!
//! A new segment comes into being in one step: a regular file is written without a name, and is linked when its header
//! is complete; a device gets the first word of its header last. A process that dies while it makes one leaves nothing
//! that others would take for a pool.
//!
//! Shared memory is read and written as atomic words only. [`Shared`] is what a type must be for that.

mod file;
mod header;
#[cfg(not(loom))]
pub(crate) mod prefetch;
mod share;

pub use file::Backing;
pub(crate) use header::{HEADER_BYTES, Stamp};

use crate::PoolError;
use crate::sync::{AtomicU64, Ordering};
use file::{Kind, Opened};
use header::Header;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr::NonNull;

/// What segments are multiples of, in bytes.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// Private memory begins at a multiple of this: huge pages fit, and so do all blocks that are aligned in it.
const PRIVATE_ALIGN: usize = 2 << 20;

/// Memory that is shared with other processes, mapped in this one. Any thread may use it. Children of `fork` do not
/// have it: an identity must not have two holders. Of private memory they have a copy, where they hold all identities
/// of their parent.
#[derive(Debug)]
pub struct Segment {
    base: NonNull<u8>,
    bytes: u64,
    /// `None` for private memory.
    fd: Option<OwnedFd>,
    kind: Kind,
    /// Device and number of the file; 0 and the address of private memory.
    name: (u64, u64),
    /// Bytes that this process gave back.
    given_back: AtomicU64,
}

// SAFETY: the mapping lives as long as the segment, and its memory is reached by atomic operations only.
unsafe impl Send for Segment {}
// SAFETY: the same.
unsafe impl Sync for Segment {}

/// Types that may lie in shared memory.
///
/// # Safety
/// `repr(C)`, made of atomic words only, of which any value is valid; no alignment above a page.
pub(crate) unsafe trait Shared {}

// SAFETY: it is a word.
#[cfg(not(loom))]
unsafe impl Shared for AtomicU64 {}

impl Segment {
    /// Makes a segment with the stamp in its header, and zeros behind it. Blocks on the file system.
    pub(crate) fn create(backing: &Backing, stamp: &Stamp) -> Result<Segment, PoolError> {
        let new = file::make(backing)?;
        let segment = Segment::map(new.opened)?;
        if matches!(segment.kind, Kind::Device) {
            // It is nobody else's while the lock is held; the kernel drops it with the descriptor.
            if segment.header()?.is_stamped() {
                return Err(PoolError::Exists { path: backing.path().into() });
            }
            segment.zero(0, segment.bytes);
        }
        segment.header()?.stamp(stamp, segment.bytes);
        if let Some(path) = new.unnamed {
            file::link(segment.fd(), path)?;
        } else if matches!(segment.kind, Kind::Memory) {
            file::seal(segment.fd())?;
        }
        Ok(segment)
    }

    /// Maps the segment at `path`, and checks that it is one. Blocks on the file system.
    pub(crate) fn open(path: &Path) -> Result<(Segment, Stamp), PoolError> {
        Segment::checked(file::open(path)?)
    }

    /// The same of a descriptor, which may come from another process.
    pub(crate) fn of(fd: OwnedFd) -> Result<(Segment, Stamp), PoolError> {
        Segment::checked(file::look(fd, Path::new("descriptor"))?)
    }

    fn checked(opened: Opened) -> Result<(Segment, Stamp), PoolError> {
        if opened.bytes < HEADER_BYTES {
            return Err(PoolError::TooShort { bytes: opened.bytes });
        }
        let segment = Segment::map(opened)?;
        let stamp = segment.header()?.check(segment.bytes)?;
        Ok((segment, stamp))
    }

    fn map(opened: Opened) -> Result<Segment, PoolError> {
        let Opened { fd, bytes, kind } = opened;
        let too_long = |_| PoolError::Bytes { bytes, min: HEADER_BYTES };
        let length = usize::try_from(bytes).map_err(too_long)?;
        let Some(fd) = fd else { return Segment::map_private(bytes, length) };
        let file = File::from(fd);
        let about =
            file.metadata().map_err(|source| PoolError::Kernel { call: "fstat", source })?;
        let (fd, name) = (OwnedFd::from(file), (about.dev(), about.ino()));
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        let base = mapped(length, flags, fd.as_raw_fd())?;
        let given_back = AtomicU64::new(0);
        let segment = Segment { base, bytes, fd: Some(fd), kind, name, given_back };
        // SAFETY: the range is the mapping just made.
        if unsafe { libc::madvise(base.as_ptr().cast(), length, libc::MADV_DONTFORK) } != 0 {
            return Err(PoolError::last("madvise"));
        }
        Ok(segment)
    }

    /// Begins at a multiple of `PRIVATE_ALIGN`.
    fn map_private(bytes: u64, length: usize) -> Result<Segment, PoolError> {
        let too_long = PoolError::Bytes { bytes, min: HEADER_BYTES };
        let longer = length.checked_add(PRIVATE_ALIGN).ok_or(too_long)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let first = mapped(longer, flags, -1)?;
        let before = first.as_ptr().align_offset(PRIVATE_ALIGN);
        // SAFETY: `before` is less than `PRIVATE_ALIGN`, by which the mapping is longer.
        let base = unsafe { first.add(before) };
        for (from, count) in [(0, before), (before + length, PRIVATE_ALIGN - before)] {
            if count > 0 {
                // SAFETY: these pages are of the mapping just made, and not of the segment.
                unsafe { libc::munmap(first.add(from).as_ptr().cast(), count) };
            }
        }
        let name = (0, base.as_ptr() as u64);
        let given_back = AtomicU64::new(0);
        Ok(Segment { base, bytes, fd: None, kind: Kind::Private, name, given_back })
    }

    /// Length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Device and number of the file: the same in all processes, and for all mappings of it.
    pub(crate) fn name(&self) -> (u64, u64) {
        self.name
    }

    /// The file. Another process maps it by [`Pool::of`](crate::Pool::of). Panics for private memory, which has none.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_ref().expect("private memory is in no file").as_fd()
    }

    /// Where the segment begins in this process. What lies there is shared: others may change it at any time.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Whether only this process has it.
    pub(crate) fn is_private(&self) -> bool {
        matches!(self.kind, Kind::Private)
    }

    /// Whether it is a device, which keeps its memory: [`Segment::punch`] writes it.
    pub(crate) fn is_device(&self) -> bool {
        matches!(self.kind, Kind::Device)
    }

    /// Bytes that this process gave back by [`Segment::punch`], all in all.
    pub fn given_back(&self) -> u64 {
        self.given_back.load(Ordering::Relaxed)
    }

    /// `count` values that lie at `offset` bytes.
    #[inline]
    pub(crate) fn array<T: Shared>(&self, offset: u64, count: usize) -> Result<&[T], PoolError> {
        let bytes = (count as u64).checked_mul(size_of::<T>() as u64);
        let end = bytes.and_then(|bytes| offset.checked_add(bytes));
        let is_inside = end.is_some_and(|end| end <= self.bytes);
        if !is_inside || !offset.is_multiple_of(align_of::<T>() as u64) {
            return Err(PoolError::Range { offset, bytes: bytes.unwrap_or(u64::MAX) });
        }
        // SAFETY: the range is inside of the mapping, which lives as long as `self`, and is aligned, as the mapping
        // begins at a page. `Shared` promises that any bytes are a value, and that all access is atomic.
        Ok(unsafe {
            let first = self.base.as_ptr().add(offset as usize).cast::<T>();
            std::slice::from_raw_parts(first, count)
        })
    }

    /// Gives whole pages back: they are zero afterwards. Blocks on the file system. A device keeps its memory, and the
    /// pages are written, as are those of private memory that are locked. Others must not use the range meanwhile.
    pub fn punch(&self, offset: u64, bytes: u64) -> Result<(), PoolError> {
        let end = offset.checked_add(bytes).filter(|end| *end <= self.bytes);
        let is_whole = offset.is_multiple_of(PAGE_BYTES) && bytes.is_multiple_of(PAGE_BYTES);
        if end.is_none() || !is_whole || offset < HEADER_BYTES {
            return Err(PoolError::Range { offset, bytes });
        }
        match self.kind {
            Kind::Device => {
                self.zero(offset, bytes);
                return Ok(());
            }
            Kind::Memory | Kind::File => file::punch(self.fd(), offset, bytes)?,
            Kind::Private => {
                // SAFETY: the range is of the mapping, as was checked, and its words are atomic.
                let refused = unsafe {
                    let first = self.base.add(offset as usize).as_ptr();
                    libc::madvise(first.cast(), bytes as usize, libc::MADV_DONTNEED) != 0
                };
                if refused {
                    self.zero(offset, bytes);
                    return Ok(());
                }
            }
        }
        self.given_back.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Words of the header for those that use the pool. Each is 0 until it is written, once.
    pub(crate) fn marks(&self) -> Result<&[AtomicU64], PoolError> {
        self.array(header::MARKS_AT, header::MARKS)
    }

    /// Has the file system keep memory for a range that is not empty, so that writing it does not end this process with
    /// SIGBUS where the file system is full; what is in the range stays. Async-signal-safe; blocks on the file system.
    /// A device has its memory, no file system limits private memory, and some cannot keep any: then nothing happens.
    pub fn reserve(&self, offset: u64, bytes: u64) -> Result<(), PoolError> {
        let end = offset.checked_add(bytes).filter(|end| *end <= self.bytes);
        if end.is_none() || bytes == 0 {
            return Err(PoolError::Range { offset, bytes });
        }
        match self.kind {
            Kind::Device | Kind::Private => Ok(()),
            Kind::Memory | Kind::File => file::reserve(self.fd(), offset, bytes),
        }
    }

    /// Bytes that the file system has left for pages of the segment that were never touched. A device has all of its
    /// memory, and private memory is not limited. One system call.
    pub fn free_bytes(&self) -> Result<u64, PoolError> {
        match self.kind {
            Kind::Device | Kind::Private => Ok(self.bytes),
            Kind::Memory | Kind::File => file::free_bytes(self.fd()),
        }
    }

    fn header(&self) -> Result<Header<'_>, PoolError> {
        Ok(Header::new(self.array(0, header::WORDS)?))
    }

    /// Writes zeros into a range inside of the segment.
    fn zero(&self, offset: u64, bytes: u64) {
        let words = self.array::<AtomicU64>(offset, (bytes / 8) as usize);
        for word in words.expect("callers check the range") {
            word.store(0, Ordering::Relaxed);
        }
    }
}

/// Memory of this length; the kernel chooses where.
fn mapped(length: usize, flags: libc::c_int, fd: libc::c_int) -> Result<NonNull<u8>, PoolError> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the kernel chooses where, so no mapping of ours is replaced.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, fd, 0) };
    if base == libc::MAP_FAILED {
        return Err(PoolError::last("mmap"));
    }
    Ok(NonNull::new(base.cast()).expect("the kernel maps nothing at address 0"))
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and what borrowed from it is gone.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes as usize) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::test_folder::Folder;
    use std::fs::{self, OpenOptions};
    use std::os::unix::fs::FileExt;
    use std::sync::atomic::Ordering::Relaxed;

    const BYTES: u64 = 1 << 20;
    const STAMP: Stamp = Stamp { layout: 7, clients: 3, namespace: 9 };

    fn file(folder: &Folder) -> (std::path::PathBuf, Segment) {
        let path = folder.path("pool");
        let segment = Segment::create(&Backing::File { path: &path, bytes: BYTES }, &STAMP);
        (path, segment.unwrap())
    }

    fn word(segment: &Segment, offset: u64) -> &AtomicU64 {
        &segment.array::<AtomicU64>(offset, 1).unwrap()[0]
    }

    #[test]
    fn two_mappings_are_the_same_memory() {
        let folder = Folder::new();
        let (path, first) = file(&folder);
        let (second, stamp) = Segment::open(&path).unwrap();
        assert_eq!(stamp, STAMP);
        word(&first, BYTES - 8).store(5, Relaxed);
        assert_eq!(word(&second, BYTES - 8).load(Relaxed), 5);
        assert_eq!(first.bytes(), BYTES);
    }

    #[test]
    fn a_large_segment_costs_what_is_touched() {
        let bytes = 4 << 40;
        let segment = Segment::create(&Backing::Memory { bytes }, &STAMP).unwrap();
        word(&segment, bytes - 8).store(1, Relaxed);
        let copy = segment.fd().try_clone_to_owned().unwrap();
        let (other, _) = Segment::of(copy).unwrap();
        assert_eq!(word(&other, bytes - 8).load(Relaxed), 1);
        let held = || fs::File::from(segment.fd().try_clone_to_owned().unwrap()).metadata();
        assert!(held().unwrap().blocks() * 512 <= 4 * PAGE_BYTES);
        // Nobody can cut it under those that have mapped it.
        assert!(fs::File::from(segment.fd().try_clone_to_owned().unwrap()).set_len(0).is_err());
    }

    #[test]
    fn punched_pages_are_zero_and_given_back() {
        let folder = Folder::new();
        let (path, segment) = file(&folder);
        for offset in (PAGE_BYTES..BYTES).step_by(PAGE_BYTES as usize) {
            word(&segment, offset).store(1, Relaxed);
        }
        let before = fs::metadata(&path).unwrap().blocks();
        segment.punch(BYTES / 2, BYTES / 2).unwrap();
        assert_eq!(word(&segment, BYTES / 2).load(Relaxed), 0);
        assert_eq!(word(&segment, BYTES / 2 - PAGE_BYTES).load(Relaxed), 1);
        assert!(fs::metadata(&path).unwrap().blocks() < before);
        for (offset, bytes) in
            [(0, PAGE_BYTES), (PAGE_BYTES, 8), (BYTES, PAGE_BYTES), (u64::MAX, 1)]
        {
            let refused = segment.punch(offset, bytes);
            assert!(matches!(refused, Err(PoolError::Range { .. })), "{offset} {bytes}");
        }
    }

    #[test]
    fn reserved_pages_take_memory_and_keep_their_contents() {
        let folder = Folder::new();
        let (path, segment) = file(&folder);
        word(&segment, BYTES / 2).store(7, Relaxed);
        let held = || fs::metadata(&path).unwrap().blocks() * 512;
        let before = held();
        segment.reserve(BYTES / 2, 16 * PAGE_BYTES).unwrap();
        assert!(held() >= before + 15 * PAGE_BYTES);
        assert_eq!(word(&segment, BYTES / 2).load(Relaxed), 7);
        assert!(segment.free_bytes().unwrap() > 0);
        for (offset, bytes) in [(BYTES, PAGE_BYTES), (PAGE_BYTES, 0), (u64::MAX, 1)] {
            let refused = segment.reserve(offset, bytes);
            assert!(matches!(refused, Err(PoolError::Range { .. })), "{offset} {bytes}");
        }
    }

    #[test]
    fn private_memory_is_copied_by_fork_and_zero_when_it_is_given_back() {
        let backing = Backing::Private { bytes: BYTES };
        let segment = Segment::create(&backing, &STAMP).unwrap();
        assert_eq!(segment.base().as_ptr().align_offset(PRIVATE_ALIGN), 0);
        word(&segment, BYTES - 8).store(5, Relaxed);
        word(&segment, BYTES / 2).store(1, Relaxed);
        // SAFETY: the child touches the memory, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let found = word(&segment, BYTES - 8).swap(6, Relaxed);
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(found as i32) };
        }
        let mut status = 0;
        // SAFETY: the kernel writes the status.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(libc::WEXITSTATUS(status), 5);
        assert_eq!(word(&segment, BYTES - 8).load(Relaxed), 5);
        segment.punch(BYTES / 2, PAGE_BYTES).unwrap();
        assert_eq!(word(&segment, BYTES / 2).load(Relaxed), 0);
        assert_eq!(segment.given_back(), PAGE_BYTES);
        // Locked pages cannot be given back.
        let at = segment.base().as_ptr().wrapping_add(BYTES as usize / 2);
        word(&segment, BYTES / 2).store(1, Relaxed);
        // SAFETY: the page is the segment's.
        if unsafe { libc::mlock(at.cast(), PAGE_BYTES as usize) } == 0 {
            segment.punch(BYTES / 2, PAGE_BYTES).unwrap();
            assert_eq!(word(&segment, BYTES / 2).load(Relaxed), 0);
            assert_eq!(segment.given_back(), PAGE_BYTES);
        }
    }

    #[test]
    fn ranges_outside_are_refused() {
        let segment = Segment::create(&Backing::Memory { bytes: BYTES }, &STAMP).unwrap();
        for (offset, count) in
            [(BYTES, 1), (BYTES - 8, 2), (4, 1), (u64::MAX - 7, 1), (0, usize::MAX)]
        {
            let refused = segment.array::<AtomicU64>(offset, count);
            assert!(matches!(refused, Err(PoolError::Range { .. })), "{offset} {count}");
        }
    }

    #[test]
    fn wrong_files_are_refused_by_name() {
        let folder = Folder::new();
        let (path, segment) = file(&folder);
        let again = Segment::create(&Backing::File { path: &path, bytes: BYTES }, &STAMP);
        assert!(matches!(again, Err(PoolError::Exists { .. })));
        drop(segment);

        let open = || Segment::open(&path).map(|_| ()).unwrap_err();
        let edit = OpenOptions::new().write(true).open(&path).unwrap();
        let put = |at: u64, value: u64| edit.write_all_at(&value.to_le_bytes(), at).unwrap();
        let saved = fs::read(&path).unwrap();
        edit.set_len(BYTES + PAGE_BYTES).unwrap();
        assert!(matches!(open(), PoolError::Size { header: BYTES, .. }));
        edit.set_len(BYTES - PAGE_BYTES).unwrap();
        assert!(matches!(open(), PoolError::Size { header: BYTES, .. }));
        edit.set_len(100).unwrap();
        assert!(matches!(open(), PoolError::TooShort { bytes: 100 }));
        edit.set_len(0).unwrap();
        assert!(matches!(open(), PoolError::TooShort { bytes: 0 }));
        fs::write(&path, &saved).unwrap();
        assert!(Segment::open(&path).is_ok());
        put(8, 99);
        assert!(matches!(open(), PoolError::Version { found: 99, supported: 2 }));
        put(0, 0x1234);
        assert!(matches!(open(), PoolError::NotAPool { found: 0x1234 }));

        let missing = Segment::open(&folder.path("missing")).unwrap_err();
        assert!(matches!(missing, PoolError::File { .. }), "{missing}");
        for wrong in [folder.path(""), "/dev/zero".into()] {
            let refused = Segment::open(&wrong).unwrap_err();
            let is_named = matches!(refused, PoolError::NotMemory { .. } | PoolError::File { .. });
            assert!(is_named, "{refused}");
        }
        let device = Segment::create(&Backing::Device { path: Path::new("/dev/zero") }, &STAMP);
        assert!(matches!(device, Err(PoolError::NotMemory { .. })));
    }

    #[test]
    fn sizes_that_are_no_pages_are_refused() {
        for bytes in [0, 100, PAGE_BYTES + 8, u64::MAX] {
            let refused = Segment::create(&Backing::Memory { bytes }, &STAMP).unwrap_err();
            assert!(matches!(refused, PoolError::Bytes { .. }), "{bytes}: {refused}");
        }
    }

    /// A child of fork that touched the memory would act under its parent's identity.
    #[test]
    fn children_of_fork_do_not_have_the_memory() {
        let segment = Segment::create(&Backing::Memory { bytes: BYTES }, &STAMP).unwrap();
        let base = segment.base.as_ptr() as usize;
        let maps = fs::read_to_string("/proc/self/smaps").unwrap();
        let own = maps.split_once(&format!("{base:x}-")).expect("it is mapped").1;
        let flags = own.lines().find(|line| line.starts_with("VmFlags:")).unwrap();
        assert!(flags.split_whitespace().any(|flag| flag == "dc"), "{flags}");
    }
}
