//! The userfaultfd of one range, in SIGBUS mode. All operations on pages are async-signal-safe.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::{PAGE_BYTES, SwapError};

/// Serves missing and write-protected pages of one range of addresses.
pub struct Userfaultfd {
    fd: OwnedFd,
    can_move: bool,
}

impl Userfaultfd {
    /// Takes over the faults of a private anonymous mapping. With `notes_writes` no write to a protected page is one:
    /// the kernel notes it (since Linux 6.7).
    pub fn new(base: usize, bytes: usize, notes_writes: bool) -> Result<Userfaultfd, SwapError> {
        let open = |can_move| Userfaultfd::open(can_move, notes_writes);
        let uffd = open(true).or_else(|_| open(false))?;
        uffd.register(base, bytes)?;
        Ok(uffd)
    }

    /// Takes over the faults of a shared mapping: of pages that nobody has touched, and of those that are not mapped
    /// here (since Linux 5.14).
    pub fn of_shared(base: usize, bytes: usize) -> Result<Userfaultfd, SwapError> {
        let shared = UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM;
        let uffd = Userfaultfd::open_with(false, UFFD_FEATURE_SIGBUS | shared)?;
        let modes = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR;
        let needed = 1 << 4 | 1 << 7;
        uffd.register_for(base, bytes, modes, needed, "zero pages and continue")?;
        Ok(uffd)
    }

    /// Opens one that can move pages, or one that need not.
    fn open(can_move: bool, notes_writes: bool) -> Result<Userfaultfd, SwapError> {
        let moves = if can_move { UFFD_FEATURE_MOVE } else { 0 };
        let notes = if notes_writes { UFFD_FEATURE_WP_ASYNC } else { 0 };
        let features = UFFD_FEATURE_SIGBUS | UFFD_FEATURE_PAGEFAULT_FLAG_WP | moves | notes;
        Userfaultfd::open_with(can_move, features)
    }

    fn open_with(can_move: bool, features: u64) -> Result<Userfaultfd, SwapError> {
        let failed = |what| SwapError::Userfaultfd { what, source: io::Error::last_os_error() };
        let fd = Userfaultfd::by_system_call().or_else(|call| {
            let by_device = Userfaultfd::by_device();
            by_device.map_err(|device| {
                let source = io::Error::new(
                    call.kind(),
                    format!(
                        "{call}, {device}; allow the system call userfaultfd in the seccomp profile, or reading and \
                         writing {DEVICE}"
                    ),
                );
                SwapError::Userfaultfd { what: "system call, device", source }
            })
        })?;
        let uffd = Userfaultfd { fd, can_move };
        let mut api = UffdioApi { api: UFFD_API, features, ioctls: 0 };
        uffd.ioctl(UFFDIO_API, &mut api).map_err(|_| failed("UFFDIO_API"))?;
        Ok(uffd)
    }

    fn by_system_call() -> io::Result<OwnedFd> {
        // SAFETY: no memory is involved.
        let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, FLAGS | UFFD_USER_MODE_ONLY) };
        Userfaultfd::made(fd as i32)
    }

    /// By the device, for which the rights to a file decide and no filter of system calls (Linux 6.1).
    fn by_device() -> io::Result<OwnedFd> {
        let device = File::options().read(true).write(true).open(DEVICE)?;
        // SAFETY: no memory is involved.
        Userfaultfd::made(unsafe {
            libc::ioctl(device.as_raw_fd(), USERFAULTFD_IOC_NEW as _, FLAGS)
        })
    }

    fn made(fd: i32) -> io::Result<OwnedFd> {
        match fd {
            ..0 => Err(io::Error::last_os_error()),
            // SAFETY: the kernel just made it for us.
            fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        }
    }

    /// Takes over the faults of another private anonymous mapping.
    pub fn register(&self, base: usize, bytes: usize) -> Result<(), SwapError> {
        let modes = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP;
        self.register_for(base, bytes, modes, NEEDED_IOCTLS, "copy and write-protect")
    }

    fn register_for(
        &self,
        base: usize,
        bytes: usize,
        mode: u64,
        needed: u64,
        what: &'static str,
    ) -> Result<(), SwapError> {
        let failed = |what| SwapError::Userfaultfd { what, source: io::Error::last_os_error() };
        let range = UffdioRange { start: base as u64, len: bytes as u64 };
        let mut register = UffdioRegister { range, mode, ioctls: 0 };
        self.ioctl(UFFDIO_REGISTER, &mut register).map_err(|_| failed("UFFDIO_REGISTER"))?;
        if register.ioctls & needed != needed {
            let source = io::Error::from(io::ErrorKind::Unsupported);
            return Err(SwapError::Userfaultfd { what, source });
        }
        Ok(())
    }

    /// Maps the page at `at` of a range that was registered by [`of_shared`](Self::of_shared), with the contents that
    /// it has, or zero if nobody has touched it.
    pub fn resolve_shared(&self, at: usize) -> io::Result<Resolved> {
        for _ in 0..MOVE_TRIES {
            let range = UffdioRange { start: at as u64, len: PAGE_BYTES as u64 };
            let mut with_contents = UffdioMap { range, mode: 0, mapped: 0 };
            let missing = match self.ioctl(UFFDIO_CONTINUE, &mut with_contents) {
                Ok(()) => return Ok(Resolved::Mapped),
                Err(error) => error,
            };
            match missing.raw_os_error() {
                Some(libc::EEXIST) => return Ok(Resolved::Already),
                Some(libc::EAGAIN) => continue,
                Some(libc::EFAULT) => {}
                _ => return Err(missing),
            }
            let range = UffdioRange { start: at as u64, len: PAGE_BYTES as u64 };
            let mut with_zeros = UffdioMap { range, mode: 0, mapped: 0 };
            match self.ioctl(UFFDIO_ZEROPAGE, &mut with_zeros) {
                Ok(()) => return Ok(Resolved::Fresh),
                // Another process has touched it meanwhile, or the address space is being changed.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EEXIST | libc::EAGAIN)) => {
                }
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::from(io::ErrorKind::TimedOut))
    }

    /// Does the kernel have [`Userfaultfd::move_pages`]? Since Linux 6.8.
    pub fn can_move(&self) -> bool {
        self.can_move
    }

    /// Moves the frames of `pages` mapped pages at `from` to `to`, where nothing is mapped, both in registered
    /// mappings, and returns how many were moved before the kernel refused. They arrive writable. When it
    /// returns, no CPU knows them at their old place.
    pub fn move_pages(&self, to: usize, from: usize, pages: usize) -> usize {
        let bytes = pages * PAGE_BYTES;
        let (mut done, mut tries) = (0, 0);
        while done < bytes && tries < MOVE_TRIES {
            let mut request = UffdioMove {
                dst: (to + done) as u64,
                src: (from + done) as u64,
                len: (bytes - done) as u64,
                mode: 0,
                moved: 0,
            };
            let result = self.ioctl(UFFDIO_MOVE, &mut request);
            let moved = usize::try_from(request.moved).unwrap_or(0);
            done += moved;
            tries = if moved > 0 { 0 } else { tries + 1 };
            if result.is_err_and(|error| error.raw_os_error() != Some(libc::EAGAIN)) {
                break;
            }
        }
        done / PAGE_BYTES
    }

    /// Maps `pages` missing pages at `to` with the contents at `from`. No thread sees one of them
    /// before it is complete. The caller holds their locks, so that they are missing. Where the
    /// program has given parts of the range different protections, the kernel may know them as
    /// several mappings, and takes pages of one at a time only (ENOENT).
    pub fn copy(&self, to: usize, from: *const u8, pages: usize, protect: bool) -> io::Result<()> {
        let bytes = pages * PAGE_BYTES;
        let (mut done, mut step) = (0, bytes);
        while done < bytes {
            let mut copy = UffdioCopy {
                dst: (to + done) as u64,
                src: (from.addr() + done) as u64,
                len: step.min(bytes - done) as u64,
                mode: if protect { UFFDIO_COPY_MODE_WP } else { 0 },
                copy: 0,
            };
            let result = self.ioctl(UFFDIO_COPY, &mut copy);
            // The kernel stops early when another thread changes the address space; it reports how
            // far it came.
            done += usize::try_from(copy.copy).unwrap_or(0);
            match result {
                Ok(()) => {}
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) && step > PAGE_BYTES => {
                    step = PAGE_BYTES;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Removes or restores the permission to write mapped pages. When it returns, no CPU still
    /// writes with an older permission.
    pub fn protect(&self, at: usize, pages: usize, protect: bool) -> io::Result<()> {
        // As in `copy`.
        let (mut done, mut step) = (0, pages);
        while done < pages {
            let count = step.min(pages - done);
            let (start, len) = (at + done * PAGE_BYTES, count * PAGE_BYTES);
            let mut request = UffdioWriteprotect {
                range: UffdioRange { start: start as u64, len: len as u64 },
                mode: if protect { UFFDIO_WRITEPROTECT_MODE_WP } else { 0 },
            };
            match self.ioctl(UFFDIO_WRITEPROTECT, &mut request) {
                Ok(()) => done += count,
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) && count > 1 => step = 1,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn ioctl<T>(&self, request: u64, argument: &mut T) -> io::Result<()> {
        // SAFETY: every request above is passed its own structure, as the kernel's userfaultfd.h
        // defines it.
        if unsafe { libc::ioctl(self.fd.as_raw_fd(), request as _, argument) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

/// How a page of a shared mapping came to be mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resolved {
    /// With the contents that it had.
    Mapped,
    /// Zero: nobody had touched it.
    Fresh,
    /// Another thread has mapped it.
    Already,
}

#[repr(C)]
struct UffdioApi {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct UffdioRange {
    start: u64,
    len: u64,
}

#[repr(C)]
struct UffdioRegister {
    range: UffdioRange,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct UffdioCopy {
    dst: u64,
    src: u64,
    len: u64,
    mode: u64,
    copy: i64,
}

#[repr(C)]
struct UffdioMove {
    dst: u64,
    src: u64,
    len: u64,
    mode: u64,
    moved: i64,
}

/// Of `UFFDIO_ZEROPAGE` and `UFFDIO_CONTINUE`.
#[repr(C)]
struct UffdioMap {
    range: UffdioRange,
    mode: u64,
    mapped: i64,
}

#[repr(C)]
struct UffdioWriteprotect {
    range: UffdioRange,
    mode: u64,
}

/// `_IOWR(family, number, T)`.
pub(crate) const fn iowr<T>(family: u8, number: u64) -> u64 {
    3 << 30 | (size_of::<T>() as u64) << 16 | (family as u64) << 8 | number
}

const UFFD_API: u64 = 0xAA;
const FAMILY: u8 = UFFD_API as u8;
const FLAGS: i32 = libc::O_CLOEXEC | libc::O_NONBLOCK;
const DEVICE: &str = "/dev/userfaultfd";
/// `_IO(family, 0)`
const USERFAULTFD_IOC_NEW: u64 = (FAMILY as u64) << 8;
/// All that SIGBUS mode needs, and allowed without privileges.
const UFFD_USER_MODE_ONLY: i32 = 1;
const UFFD_FEATURE_PAGEFAULT_FLAG_WP: u64 = 1 << 0;
const UFFD_FEATURE_MISSING_SHMEM: u64 = 1 << 5;
const UFFD_FEATURE_SIGBUS: u64 = 1 << 7;
const UFFD_FEATURE_MINOR_SHMEM: u64 = 1 << 10;
const UFFD_FEATURE_WP_ASYNC: u64 = 1 << 15;
const UFFD_FEATURE_MOVE: u64 = 1 << 16;
const UFFDIO_REGISTER_MODE_MISSING: u64 = 1 << 0;
const UFFDIO_REGISTER_MODE_WP: u64 = 1 << 1;
const UFFDIO_REGISTER_MODE_MINOR: u64 = 1 << 2;
const UFFDIO_COPY_MODE_WP: u64 = 1 << 1;
const UFFDIO_WRITEPROTECT_MODE_WP: u64 = 1 << 0;
const NEEDED_IOCTLS: u64 = 1 << 3 | 1 << 6;
const UFFDIO_API: u64 = iowr::<UffdioApi>(FAMILY, 0x3F);
const UFFDIO_REGISTER: u64 = iowr::<UffdioRegister>(FAMILY, 0x00);
const UFFDIO_COPY: u64 = iowr::<UffdioCopy>(FAMILY, 0x03);
const UFFDIO_ZEROPAGE: u64 = iowr::<UffdioMap>(FAMILY, 0x04);
const UFFDIO_CONTINUE: u64 = iowr::<UffdioMap>(FAMILY, 0x07);
const UFFDIO_MOVE: u64 = iowr::<UffdioMove>(FAMILY, 0x05);
const UFFDIO_WRITEPROTECT: u64 = iowr::<UffdioWriteprotect>(FAMILY, 0x06);

const _: () = assert!(UFFDIO_API == 0xc018_aa3f && UFFDIO_COPY == 0xc028_aa03);
const _: () = assert!(UFFDIO_WRITEPROTECT == 0xc018_aa06 && UFFDIO_REGISTER == 0xc020_aa00);
/// In a row, because other threads change the address space.
const MOVE_TRIES: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    /// Skipped where a user may not open the device.
    #[test]
    fn the_device_does_as_the_system_call() {
        let fd = match Userfaultfd::by_device() {
            Ok(fd) => fd,
            Err(error) => return eprintln!("skipped: {DEVICE}: {error}"),
        };
        let uffd = Userfaultfd { fd, can_move: false };
        let features = UFFD_FEATURE_SIGBUS | UFFD_FEATURE_PAGEFAULT_FLAG_WP;
        uffd.ioctl(UFFDIO_API, &mut UffdioApi { api: UFFD_API, features, ioctls: 0 }).unwrap();
        let range = crate::Reservation::new(PAGE_BYTES, PAGE_BYTES).unwrap();
        uffd.register(range.base(), range.bytes()).unwrap();
        let page = [7_u8; PAGE_BYTES];
        uffd.copy(range.base(), page.as_ptr(), 1, false).unwrap();
        let first = std::ptr::with_exposed_provenance::<u8>(range.base());
        // SAFETY: mapped by the line before, and alive until the end.
        assert_eq!(unsafe { first.read_volatile() }, 7);
    }
}
