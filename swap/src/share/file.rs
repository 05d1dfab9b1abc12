//! A pool's file: its path, its owner, and the lock of the member that may change it now.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::table::{CHANGES_AT, FILE_BYTES, Table};
use super::{PoolOptions, lease};

/// The open file.
pub struct PoolFile {
    file: File,
    path: PathBuf,
}

/// The file while no other process may change it. Dropping it releases the lock.
pub struct LockedFile<'a> {
    of: &'a PoolFile,
}

impl PoolFile {
    /// Opens the file of a pool, or makes an empty one if that is said how large the pool is.
    pub fn open(options: &PoolOptions) -> Result<PoolFile, String> {
        // SAFETY: no memory is involved.
        let user = unsafe { libc::geteuid() };
        let path = options.folder.join(format!("farheap-pool.{user}.{}", options.name));
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(options.bytes.is_some())
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(&path);
        let file = opened.map_err(|error| match (error.kind(), error.raw_os_error()) {
            (io::ErrorKind::NotFound, _) if options.bytes.is_none() => no_size(options),
            (io::ErrorKind::PermissionDenied, _) => OTHER_USER.into(),
            (_, Some(libc::ELOOP)) => format!("{} is a link", path.display()),
            _ => at(&path, &error),
        })?;
        let found = file.metadata().map_err(|error| at(&path, &error))?;
        if found.uid() != user || found.mode() & 0o077 != 0 {
            return Err(OTHER_USER.into());
        }
        if !found.is_file() {
            return Err(format!("{} is not a regular file", path.display()));
        }
        Ok(PoolFile { file, path })
    }

    /// Waits until no other process holds it, for at most `timeout`: others hold it for microseconds only, unless
    /// they were stopped in this moment.
    pub fn lock(&self, timeout: Duration) -> Result<LockedFile<'_>, String> {
        let deadline = Instant::now() + timeout;
        loop {
            match self.file.try_lock() {
                Ok(()) => return Ok(LockedFile { of: self }),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    thread::sleep(Duration::from_millis(1));
                }
                Err(TryLockError::WouldBlock) => {
                    let path = self.path.display();
                    return Err(format!(
                        "another process has held the lock of {path} for {timeout:?}"
                    ));
                }
                Err(TryLockError::Error(error)) => return Err(at(&self.path, &error)),
            }
        }
    }

    /// Has its name been removed?
    pub fn is_removed(&self) -> bool {
        let same = |found: fs::Metadata| Some((found.dev(), found.ino()));
        let by_name = fs::symlink_metadata(&self.path).ok().and_then(same);
        self.file.metadata().ok().and_then(same) != by_name
    }

    /// The count of changes that concern other members, read without the lock.
    pub fn changes(&self) -> Option<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, CHANGES_AT as u64).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    /// Takes a member's slot, until the file is closed. False: another process has it.
    pub fn take_slot(&self, slot: usize) -> Result<bool, String> {
        lease::take(&self.file, slot).map_err(|error| at(&self.path, &error))
    }
}

impl LockedFile<'_> {
    /// `None`: no process has written anything yet.
    pub fn read(&self) -> Result<Option<Table>, String> {
        let failed = |error| at(&self.of.path, &error);
        match self.of.file.metadata().map_err(failed)?.len() {
            0 => return Ok(None),
            bytes if bytes != FILE_BYTES as u64 => {
                return Err("its file is not that of a pool".into());
            }
            _ => {}
        }
        let mut bytes = [0; FILE_BYTES];
        self.of.file.read_exact_at(&mut bytes, 0).map_err(failed)?;
        Ok(Some(Table::decode(&bytes)?))
    }

    pub fn write(&self, table: &Table) -> Result<(), String> {
        let written = self.of.file.write_all_at(&table.encode(), 0);
        written.map_err(|error| at(&self.of.path, &error))
    }

    /// Clears the slots of members that have ended, except for `own`. Says whether there were any.
    pub fn bury(&self, table: &mut Table, own: Option<usize>) -> Result<bool, String> {
        let mut found = false;
        for (n, slot) in table.slots.iter_mut().enumerate() {
            if slot.is_some() && Some(n) != own {
                let is_there = lease::is_taken(&self.of.file, n);
                if !is_there.map_err(|error| at(&self.of.path, &error))? {
                    *slot = None;
                    found = true;
                }
            }
        }
        table.changes += u64::from(found);
        Ok(found)
    }

    /// Removes the file's name: the last member leaves.
    pub fn remove(&self) {
        // Another process may have been faster.
        let _ = fs::remove_file(&self.of.path);
    }
}

impl Drop for LockedFile<'_> {
    fn drop(&mut self) {
        // Closing the file would do it too.
        let _ = self.of.file.unlock();
    }
}

fn at(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// The refusal of a pool that no member has given a size.
pub fn no_size(options: &PoolOptions) -> String {
    format!("it has no members; the first one must give its size: {}=2g", options.name)
}

const OTHER_USER: &str = "its file belongs to another user, or other users may write to it";
