//! Files that segments lie in.

use super::PAGE_BYTES;
use super::header::HEADER_BYTES;
use crate::PoolError;
use std::ffi::{CString, OsStr};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Where a new segment lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backing<'a> {
    /// Memory without a name: gone with the last process that has it.
    Memory { bytes: u64 },
    /// Memory of this process alone, in no file. A child of `fork` gets a copy of all that is in it.
    Private { bytes: u64 },
    /// A regular file, made anew, for its owner alone. Its file system must be able to make files without a name, as
    /// tmpfs, ext4, xfs and btrfs are.
    File { path: &'a Path, bytes: u64 },
    /// A DAX device that has no pool yet. It is written with zeros, all of it.
    Device { path: &'a Path },
}

impl Backing<'_> {
    pub(super) fn path(&self) -> &Path {
        match self {
            Backing::Memory { .. } | Backing::Private { .. } => Path::new("memory"),
            Backing::File { path, .. } | Backing::Device { path } => path,
        }
    }
}

/// What a segment is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Without a name.
    Memory,
    /// Under a name, or of another process.
    File,
    Device,
    /// In no file.
    Private,
}

/// A file with its length.
pub(super) struct Opened {
    /// `None` for private memory.
    pub fd: Option<OwnedFd>,
    pub bytes: u64,
    pub kind: Kind,
}

/// A file that has no header yet.
pub(super) struct New<'a> {
    pub opened: Opened,
    /// The name that it is to get.
    pub unnamed: Option<&'a Path>,
}

pub(super) fn make<'a>(backing: &Backing<'a>) -> Result<New<'a>, PoolError> {
    match *backing {
        Backing::Memory { bytes } => {
            let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
            // SAFETY: the name is a C string.
            let fd = unsafe { libc::memfd_create(c"farheap-pool".as_ptr(), flags) };
            if fd < 0 {
                return Err(PoolError::last("memfd_create"));
            }
            // SAFETY: the kernel just made it for us.
            let fd = unsafe { OwnedFd::from_raw_fd(fd) };
            Ok(New { opened: sized(fd, bytes, Kind::Memory)?, unnamed: None })
        }
        Backing::Private { bytes } => {
            length_of(bytes)?;
            Ok(New { opened: Opened { fd: None, bytes, kind: Kind::Private }, unnamed: None })
        }
        Backing::File { path, bytes } => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new("."));
            let mut options = OpenOptions::new();
            options.read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE);
            let file = options.open(folder).map_err(|e| failed(path, e))?;
            Ok(New { opened: sized(file.into(), bytes, Kind::File)?, unnamed: Some(path) })
        }
        Backing::Device { path } => {
            let opened = open(path)?;
            if opened.kind != Kind::Device {
                return Err(PoolError::NotMemory { path: path.into() });
            }
            let fd = opened.fd.as_ref().expect("it was just opened").as_raw_fd();
            // SAFETY: no memory is involved.
            if unsafe { libc::flock(fd, libc::LOCK_EX | libc::LOCK_NB) } != 0 {
                return Err(PoolError::last("flock"));
            }
            Ok(New { opened, unnamed: None })
        }
    }
}

pub(super) fn open(path: &Path) -> Result<Opened, PoolError> {
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(|e| failed(path, e))?;
    look(file.into(), path)
}

/// Finds out what a descriptor is. The path is for errors.
pub(super) fn look(fd: OwnedFd, path: &Path) -> Result<Opened, PoolError> {
    let file = File::from(fd);
    let is = file.metadata().map_err(|e| failed(path, e))?;
    let (bytes, kind) = if is.is_file() {
        (is.len(), Kind::File)
    } else if is.file_type().is_char_device() {
        let bytes = dax_bytes(is.rdev());
        (bytes.ok_or_else(|| PoolError::NotMemory { path: path.into() })?, Kind::Device)
    } else {
        return Err(PoolError::NotMemory { path: path.into() });
    };
    Ok(Opened { fd: Some(file.into()), bytes, kind })
}

/// Gives the unnamed file its name. Nothing is replaced.
pub(super) fn link(fd: BorrowedFd, path: &Path) -> Result<(), PoolError> {
    let own = CString::new(format!("/proc/self/fd/{}", fd.as_raw_fd())).expect("no zero in it");
    let c_path = |path: &OsStr| CString::new(path.as_bytes());
    let to = c_path(path.as_os_str()).map_err(|e| failed(path, e.into()))?;
    let here = libc::AT_FDCWD;
    // SAFETY: both are C strings.
    let linked =
        unsafe { libc::linkat(here, own.as_ptr(), here, to.as_ptr(), libc::AT_SYMLINK_FOLLOW) };
    if linked == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::AlreadyExists {
        return Err(PoolError::Exists { path: path.into() });
    }
    Err(failed(path, error))
}

/// Its length stays. Seals against writing would also refuse to punch holes.
pub(super) fn seal(fd: BorrowedFd) -> Result<(), PoolError> {
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: no memory is involved.
    if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals) } != 0 {
        return Err(PoolError::last("fcntl(F_ADD_SEALS)"));
    }
    Ok(())
}

pub(super) fn punch(fd: BorrowedFd, offset: u64, bytes: u64) -> Result<(), PoolError> {
    if bytes == 0 {
        return Ok(());
    }
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: no memory of Rust's is involved: the segment's words are atomic.
    if unsafe { libc::fallocate(fd.as_raw_fd(), mode, offset as i64, bytes as i64) } != 0 {
        return Err(PoolError::last("fallocate"));
    }
    Ok(())
}

/// Has the file system keep memory for a range; what is in it stays. A file system that cannot do it is none of the
/// caller's business.
pub(super) fn reserve(fd: BorrowedFd, offset: u64, bytes: u64) -> Result<(), PoolError> {
    loop {
        let mode = libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: no memory of Rust's is involved: contents do not change.
        if unsafe { libc::fallocate(fd.as_raw_fd(), mode, offset as i64, bytes as i64) } == 0 {
            return Ok(());
        }
        let source = io::Error::last_os_error();
        match source.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EOPNOTSUPP) => return Ok(()),
            _ => return Err(PoolError::Kernel { call: "fallocate", source }),
        }
    }
}

/// Bytes that the file system has left for this user.
pub(super) fn free_bytes(fd: BorrowedFd) -> Result<u64, PoolError> {
    // SAFETY: zeros are a value of this structure of numbers.
    let mut system: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one structure to the place given.
    if unsafe { libc::fstatvfs(fd.as_raw_fd(), &mut system) } != 0 {
        return Err(PoolError::last("fstatvfs"));
    }
    Ok(system.f_bavail.saturating_mul(system.f_frsize))
}

fn length_of(bytes: u64) -> Result<libc::off_t, PoolError> {
    let length = libc::off_t::try_from(bytes).ok();
    let is_whole = bytes >= HEADER_BYTES && bytes.is_multiple_of(PAGE_BYTES);
    length.filter(|_| is_whole).ok_or(PoolError::Bytes { bytes, min: HEADER_BYTES })
}

fn sized(fd: OwnedFd, bytes: u64, kind: Kind) -> Result<Opened, PoolError> {
    let length = length_of(bytes)?;
    // SAFETY: no memory is involved.
    if unsafe { libc::ftruncate(fd.as_raw_fd(), length) } != 0 {
        return Err(PoolError::last("ftruncate"));
    }
    Ok(Opened { fd: Some(fd), bytes, kind })
}

/// Length of a DAX device; `None` for any other device.
fn dax_bytes(device: u64) -> Option<u64> {
    let (major, minor) = (libc::major(device), libc::minor(device));
    let about = format!("/sys/dev/char/{major}:{minor}");
    let is_dax = fs::read_link(format!("{about}/subsystem")).is_ok_and(|to| to.ends_with("dax"));
    let bytes = fs::read_to_string(format!("{about}/size")).ok().filter(|_| is_dax)?;
    bytes.trim().parse().ok()
}

fn failed(path: &Path, source: io::Error) -> PoolError {
    PoolError::File { path: path.into(), source }
}
