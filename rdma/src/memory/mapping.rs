//! Memory that processes share: an unnamed file, and its mapping.

use std::ffi::CStr;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use crate::RdmaError;

/// A memfd mapped into this process, readable and writable. Without a name, so it vanishes with the
/// last process that has it. Its size is sealed: no peer can make an access fault by cutting it
/// short.
pub struct SharedMapping {
    fd: OwnedFd,
    base: *mut u8,
    bytes: usize,
    /// What lies in another file instead.
    overlay: Option<Overlay>,
}

/// A part of a mapping that lies in another file. All in bytes, whole pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins in the mapping.
    pub offset: u64,
    /// Where it begins in the file.
    pub place: u64,
    pub bytes: u64,
}

impl Piece {
    /// Where it ends in the mapping. `None`: at no place that there is.
    pub fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.bytes)
    }
}

/// The beginning of a mapping, in pieces of another file, one behind the other.
struct Overlay {
    fd: OwnedFd,
    pieces: Vec<Piece>,
}

/// A range of a file.
struct Place<'a> {
    fd: BorrowedFd<'a>,
    offset: libc::off_t,
    bytes: libc::off_t,
}

// SAFETY: the mapping is plain memory that lives as long as the value; all access goes through
// atomics.
unsafe impl Send for SharedMapping {}
// SAFETY: as above.
unsafe impl Sync for SharedMapping {}

impl SharedMapping {
    /// Makes new zeroed memory. Only pages that are touched cost anything.
    pub fn create(name: &CStr, bytes: usize) -> Result<SharedMapping, RdmaError> {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: the name is a C string; the call has no other memory effects.
        let fd = unsafe { libc::memfd_create(name.as_ptr(), flags) };
        if fd < 0 {
            return Err(RdmaError::last_os("memfd_create"));
        }
        // SAFETY: the kernel just gave us this descriptor, it has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: no memory is involved.
        if unsafe { libc::ftruncate(fd.as_raw_fd(), bytes as libc::off_t) } != 0 {
            return Err(RdmaError::last_os("ftruncate of shared memory"));
        }
        // SAFETY: no memory is involved.
        if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, SIZE_SEALS) } != 0 {
            return Err(RdmaError::last_os("sealing of shared memory"));
        }
        SharedMapping::map(fd, bytes)
    }

    /// Maps memory that another process made. Fails unless it is `bytes` long and sealed.
    pub fn open(fd: OwnedFd, bytes: usize) -> Result<SharedMapping, RdmaError> {
        // SAFETY: no memory is involved.
        let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
        // SAFETY: all-zero is a valid stat.
        let mut stat = unsafe { std::mem::zeroed::<libc::stat>() };
        // SAFETY: the kernel writes one stat to the place given.
        let rc = unsafe { libc::fstat(fd.as_raw_fd(), &mut stat) };
        if rc != 0 || seals < 0 {
            return Err(RdmaError::last_os("looking at shared memory"));
        }
        let sized = u64::try_from(stat.st_size) == Ok(bytes as u64);
        if !sized || seals & SIZE_SEALS != SIZE_SEALS {
            let source = std::io::Error::from(std::io::ErrorKind::InvalidData);
            return Err(RdmaError::Os { what: "shared memory of a peer: wrong size", source });
        }
        SharedMapping::map(fd, bytes)
    }

    fn map(fd: OwnedFd, bytes: usize) -> Result<SharedMapping, RdmaError> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
        let base =
            unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, fd.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(RdmaError::last_os("mmap of shared memory"));
        }
        // A forked child must not access this memory.
        // SAFETY: changes the inheritance of our own mapping, not its contents.
        unsafe { libc::madvise(base, bytes, libc::MADV_DONTFORK) };
        Ok(SharedMapping { fd, base: base.cast(), bytes, overlay: None })
    }

    /// Has the beginning lie in another file, instead of memory that nobody has used yet: in these pieces, one behind
    /// the other. The addresses stay the same. Fails unless each piece is inside of the mapping and of the file. A file
    /// that is cut later ends this process with SIGBUS.
    pub fn lay_over(&mut self, fd: OwnedFd, pieces: Vec<Piece>) -> Result<(), RdmaError> {
        let file_bytes = file_bytes(fd.as_fd())?;
        let mut end = 0;
        for piece in &pieces {
            let is_whole =
                [piece.place, piece.bytes].iter().all(|n| n.is_multiple_of(PAGE_BYTES as u64));
            let inside = piece.end().filter(|end| *end <= self.bytes as u64);
            let in_file = piece.place.checked_add(piece.bytes).filter(|end| *end <= file_bytes);
            let is_next = piece.offset == end && piece.bytes > 0 && is_whole;
            let (true, Some(next), Some(_)) = (is_next, inside, in_file) else {
                let source = io::Error::from(io::ErrorKind::InvalidData);
                return Err(RdmaError::Os { what: "a piece of a pool that cannot be", source });
            };
            end = next;
        }
        for piece in &pieces {
            let at = self.base.wrapping_add(piece.offset as usize).cast();
            let (bytes, place) = (piece.bytes as usize, piece.place as libc::off_t);
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_SHARED | libc::MAP_NORESERVE | libc::MAP_FIXED;
            // SAFETY: the range was checked to be inside of our own mapping, which nobody else has: we have it
            // exclusively. Its addresses stay ours until it is dropped.
            let mapped = unsafe { libc::mmap(at, bytes, protection, flags, fd.as_raw_fd(), place) };
            if mapped == libc::MAP_FAILED {
                return Err(RdmaError::last_os("mmap of a piece of a pool"));
            }
            // SAFETY: as for the mapping itself.
            unsafe { libc::madvise(at, bytes, libc::MADV_DONTFORK) };
        }
        self.overlay = Some(Overlay { fd, pieces });
        Ok(())
    }

    /// Where a range is, which must be inside: in one file, or in several places of two.
    fn places(&self, offset: usize, bytes: usize) -> impl Iterator<Item = Place<'_>> {
        let (mut at, end) = (offset, offset + bytes);
        assert!(end <= self.bytes, "{bytes} bytes at {offset}");
        std::iter::from_fn(move || {
            let place = (at < end).then(|| self.place(at, end - at))?;
            at += place.bytes as usize;
            Some(place)
        })
    }

    /// The first place of a range.
    fn place(&self, at: usize, bytes: usize) -> Place<'_> {
        let piece_at = |overlay: &Overlay| {
            let after = overlay.pieces.partition_point(|piece| piece.offset <= at as u64);
            let piece = overlay.pieces[after.checked_sub(1)?];
            (piece.end()? > at as u64).then_some(piece)
        };
        match self.overlay.as_ref().and_then(|overlay| Some((overlay, piece_at(overlay)?))) {
            Some((overlay, piece)) => {
                let within = at as u64 - piece.offset;
                let bytes = (piece.bytes - within).min(bytes as u64) as libc::off_t;
                let offset = (piece.place + within) as libc::off_t;
                Place { fd: overlay.fd.as_fd(), offset, bytes }
            }
            None => {
                let (offset, bytes) = (at as libc::off_t, bytes as libc::off_t);
                Place { fd: self.fd.as_fd(), offset, bytes }
            }
        }
    }

    /// Has the file system keep memory for what of a range lies in another file, so that writing it does not end this
    /// process with SIGBUS where the file system is full; contents stay. File systems that cannot, and devices, which
    /// have their memory, do nothing. Blocks on the file system.
    pub fn reserve(&self, offset: usize, bytes: usize) -> io::Result<()> {
        let Some(overlay) = &self.overlay else { return Ok(()) };
        let pooled = overlay.fd.as_raw_fd();
        self.places(offset, bytes).filter(|place| place.fd.as_raw_fd() == pooled).try_for_each(
            |place| match place.allocate(libc::FALLOC_FL_KEEP_SIZE) {
                Err(error)
                    if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENODEV)) =>
                {
                    Ok(())
                }
                end => end,
            },
        )
    }

    /// Address of the first byte; aligned to a page.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// Length in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Touches a range of whole pages, so that they count as this process's. Fails where the system has no memory.
    pub fn populate(&self, offset: usize, bytes: usize) -> io::Result<()> {
        assert!(offset + bytes <= self.bytes, "{bytes} bytes at {offset}");
        let start = self.base.wrapping_add(offset).cast();
        // SAFETY: our own mapping; the contents stay.
        if unsafe { libc::madvise(start, bytes, libc::MADV_POPULATE_WRITE) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINVAL) {
            return Err(error);
        }
        // A kernel before 5.14.
        self.places(offset, bytes).try_for_each(|place| place.allocate(0))
    }

    /// Bytes of memory that the whole file takes, without what lies in another one.
    pub fn held_bytes(&self) -> u64 {
        // SAFETY: all-zero is a valid stat.
        let mut stat = unsafe { std::mem::zeroed::<libc::stat>() };
        // SAFETY: the kernel writes one stat to the place given.
        match unsafe { libc::fstat(self.fd.as_raw_fd(), &mut stat) } {
            0 => stat.st_blocks as u64 * 512,
            _ => 0,
        }
    }

    /// Bytes of a range of whole pages that the system has given memory for: pages that any process has touched since
    /// they were last given back, swapped out or not. Two system calls for each run of such pages, so for figures.
    pub fn allocated_bytes(&self, offset: usize, bytes: usize) -> usize {
        let data = self.places(offset, bytes).flat_map(|place| data_in(place.fd, place.range()));
        data.map(|data| (data.end - data.start) as usize).sum()
    }

    /// Gives a range of whole pages back; it reads as zero afterwards.
    pub fn punch(&self, offset: usize, bytes: usize) -> Result<(), RdmaError> {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let what = "punching a hole into shared memory";
        self.places(offset, bytes)
            .try_for_each(|place| place.allocate(mode))
            .map_err(|source| RdmaError::Os { what, source })
    }
}

impl Place<'_> {
    fn allocate(&self, mode: i32) -> io::Result<()> {
        loop {
            // SAFETY: no memory is involved. Where a hole is made, sharers see zeros instead of the old contents.
            let done =
                unsafe { libc::fallocate(self.fd.as_raw_fd(), mode, self.offset, self.bytes) };
            match io::Error::last_os_error() {
                _ if done == 0 => return Ok(()),
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            }
        }
    }

    fn range(&self) -> Range<u64> {
        self.offset as u64..(self.offset + self.bytes) as u64
    }
}

/// The parts of a range of a file, in bytes, that have data: pages that were touched since they were last given back.
/// Two system calls for each.
pub fn data_in(fd: BorrowedFd<'_>, range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    // Nothing reads or writes at the position of the file.
    let seek = move |at: u64, whence| {
        // SAFETY: no memory is involved.
        let place = unsafe { libc::lseek(fd.as_raw_fd(), at as libc::off_t, whence) };
        u64::try_from(place).ok()
    };
    let (mut at, end) = (range.start, range.end);
    std::iter::from_fn(move || {
        let data = (at < end).then(|| seek(at, libc::SEEK_DATA))??;
        let hole = seek(data, libc::SEEK_HOLE).map_or(end, |hole| hole.min(end));
        at = hole.max(at);
        (data < end).then_some(data..hole)
    })
}

/// The length of a file; of a device, which has no such length, the largest that there is.
fn file_bytes(fd: BorrowedFd<'_>) -> Result<u64, RdmaError> {
    // SAFETY: all-zero is a valid stat.
    let mut stat = unsafe { std::mem::zeroed::<libc::stat>() };
    // SAFETY: the kernel writes one stat to the place given.
    if unsafe { libc::fstat(fd.as_raw_fd(), &mut stat) } != 0 {
        return Err(RdmaError::last_os("looking at the file of a pool"));
    }
    Ok(match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG => stat.st_size as u64,
        _ => i64::MAX as u64,
    })
}

impl AsFd for SharedMapping {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for SharedMapping {
    fn drop(&mut self) {
        // SAFETY: we mapped exactly this range, some of it twice, and everything that borrows from it has been dropped.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

const SIZE_SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
const PAGE_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(pages: usize) -> SharedMapping {
        SharedMapping::create(c"test", pages * PAGE_BYTES).unwrap()
    }

    fn word(mapping: &SharedMapping, page: usize) -> *mut u64 {
        assert!(page * PAGE_BYTES < mapping.bytes());
        mapping.base().wrapping_add(page * PAGE_BYTES).cast()
    }

    fn put(mapping: &SharedMapping, page: usize, value: u64) {
        // SAFETY: inside of a mapping that no other thread has.
        unsafe { word(mapping, page).write_volatile(value) }
    }

    fn get(mapping: &SharedMapping, page: usize) -> u64 {
        // SAFETY: as above.
        unsafe { word(mapping, page).read_volatile() }
    }

    fn piece(offset: u64, place: u64, pages: u64) -> Piece {
        let [offset, place, bytes] = [offset, place, pages].map(|n| n * PAGE_BYTES as u64);
        Piece { offset, place, bytes }
    }

    /// Pages 0 to 4 of it are pages 7, 8, 2, 3, 4 of the file, and those behind are its own.
    fn over(file: &SharedMapping) -> SharedMapping {
        let mut mapping = memory(8);
        let fd = file.as_fd().try_clone_to_owned().unwrap();
        mapping.lay_over(fd, vec![piece(0, 7, 2), piece(2, 2, 3)]).unwrap();
        mapping
    }

    #[test]
    fn pieces_of_a_file_lie_one_behind_the_other() {
        let file = memory(10);
        (0..10).for_each(|page| put(&file, page, 100 + page as u64));
        let mapping = over(&file);
        let seen: Vec<u64> = (0..8).map(|page| get(&mapping, page)).collect();
        assert_eq!(seen, [107, 108, 102, 103, 104, 0, 0, 0]);
        (0..8).for_each(|page| put(&mapping, page, page as u64));
        let seen: Vec<u64> = (0..10).map(|page| get(&file, page)).collect();
        assert_eq!(seen, [100, 101, 2, 3, 4, 105, 106, 0, 1, 109]);
        drop(mapping);
        assert_eq!(get(&file, 8), 1, "the file stays");
    }

    #[test]
    fn holes_and_reserves_are_where_the_pieces_are() {
        let file = memory(10);
        (0..10).for_each(|page| put(&file, page, 1));
        let mapping = over(&file);
        (5..8).for_each(|page| put(&mapping, page, 1));
        // The end of a piece, another piece, and a page of its own.
        mapping.punch(PAGE_BYTES, 5 * PAGE_BYTES).unwrap();
        let seen: Vec<u64> = (0..8).map(|page| get(&mapping, page)).collect();
        assert_eq!(seen, [1, 0, 0, 0, 0, 0, 1, 1]);
        let seen: Vec<u64> = (0..10).map(|page| get(&file, page)).collect();
        assert_eq!(seen, [1, 1, 0, 0, 0, 1, 1, 1, 0, 1]);
        mapping.punch(0, 8 * PAGE_BYTES).unwrap();
        let all =
            |mapping: &SharedMapping| mapping.allocated_bytes(0, mapping.bytes()) / PAGE_BYTES;
        assert_eq!((all(&mapping), all(&file)), (0, 5));
        mapping.populate(PAGE_BYTES, 5 * PAGE_BYTES).unwrap();
        assert_eq!((all(&mapping), all(&file)), (5, 9));
        mapping.punch(0, 8 * PAGE_BYTES).unwrap();
        let before = file.held_bytes();
        // Its own memory needs none.
        mapping.reserve(4 * PAGE_BYTES, 4 * PAGE_BYTES).unwrap();
        assert_eq!(file.held_bytes(), before + PAGE_BYTES as u64);
        file.reserve(0, PAGE_BYTES).unwrap();
    }

    #[test]
    fn pieces_that_cannot_be_are_refused() {
        let file = memory(10);
        for pieces in [
            vec![piece(1, 0, 1)],
            vec![piece(0, 0, 9)],
            vec![piece(0, 9, 2)],
            vec![piece(0, 0, 0)],
            vec![piece(0, 0, 2), piece(3, 4, 1)],
            vec![piece(0, 0, 2), piece(1, 4, 1)],
            vec![Piece { place: 8, ..piece(0, 0, 1) }],
            vec![Piece { bytes: u64::MAX - 4095, ..piece(0, 2, 1) }],
        ] {
            let mut mapping = memory(8);
            let fd = file.as_fd().try_clone_to_owned().unwrap();
            let refused = mapping.lay_over(fd, pieces.clone());
            assert!(matches!(refused, Err(RdmaError::Os { .. })), "{pieces:?}");
            put(&mapping, 0, 1);
        }
    }
}
