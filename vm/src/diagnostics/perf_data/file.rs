//! The file of performance counters: `/tmp/hsperfdata_USER/PID`.
//!
//! The process that owns a file holds a lock on it (`flock`) as long as it lives. A VM that starts removes the files of
//! its user whose processes are dead; the lock tells a dead one from one in another container with the same `/tmp`.

use memmap2::{Mmap, MmapMut};
use parking_lot::Mutex;
use std::ffi::CStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Makes the file of this process, and maps it. It is removed when the process exits.
pub fn create(bytes: usize) -> io::Result<MmapMut> {
    let folder = folder_of(&user()?);
    make_folder(&folder)?;
    remove_stale(&folder);
    let path = folder.join(std::process::id().to_string());
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(&path)?;
    if !lock(&file) {
        // Of a process with this number in another container.
        return Err(io::ErrorKind::WouldBlock.into());
    }
    file.set_len(0)?;
    // Really there: a full disk must not end the process when it writes a counter.
    // SAFETY: the descriptor is open.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as libc::off_t) } {
        0 => {}
        error => {
            let _ = fs::remove_file(&path);
            return Err(io::Error::from_raw_os_error(error));
        }
    }
    // SAFETY: nobody else writes to the file: it is locked, and only its user may.
    let map = unsafe { MmapMut::map_mut(&file)? };
    let owned = Owned { path, process: std::process::id(), _locked: file };
    if OWN.lock().replace(owned).is_none() {
        // SAFETY: the handler may run at any time from now on.
        unsafe { libc::atexit(remove_own) };
    }
    Ok(map)
}

/// The counters of another process, read-only; of a user, or of any. Lives as long as the process.
pub fn map_of(user: Option<&str>, process: u32) -> io::Result<&'static Mmap> {
    let path = match user {
        Some(user) => folder_of(user).join(process.to_string()),
        None => find(process)?,
    };
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path)?;
    if file.metadata()?.len() == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    // SAFETY: the other process changes numbers in it, and readers expect that.
    Ok(Box::leak(Box::new(unsafe { Mmap::map(&file)? })))
}

fn find(process: u32) -> io::Result<PathBuf> {
    for entry in fs::read_dir(TEMPORARY)?.flatten() {
        let path = entry.path().join(process.to_string());
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && path.is_file() {
            return Ok(path);
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

fn folder_of(user: &str) -> PathBuf {
    Path::new(TEMPORARY).join(format!("{PREFIX}{user}"))
}

/// A folder that others cannot have put there, or write to.
fn make_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o755).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let metadata = fs::symlink_metadata(folder)?;
    // SAFETY: plain query.
    let is_own = metadata.uid() == unsafe { libc::geteuid() };
    if metadata.is_dir() && is_own && metadata.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(io::ErrorKind::PermissionDenied.into())
}

/// Removes the files of processes that have ended without doing so.
fn remove_stale(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let is_own = process as u32 == std::process::id();
        if is_own || lives(process) {
            continue;
        }
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(entry.path());
        if file.is_ok_and(|file| lock(&file)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn lives(process: i32) -> bool {
    // SAFETY: signal 0 only asks.
    let found = unsafe { libc::kill(process, 0) } == 0;
    found || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

/// Locks a file until its descriptor is closed. False: another process has.
fn lock(file: &File) -> bool {
    // SAFETY: the descriptor is open.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// The name of the user whose rights the process has.
fn user() -> io::Result<String> {
    let mut buffer = vec![0; 16 << 10];
    // SAFETY: the buffers are valid for the call, and the name lies in `buffer`.
    unsafe {
        let mut entry: libc::passwd = std::mem::zeroed();
        let mut found = std::ptr::null_mut();
        let length = buffer.len();
        let user = libc::geteuid();
        libc::getpwuid_r(user, &mut entry, buffer.as_mut_ptr(), length, &mut found);
        if found.is_null() || entry.pw_name.is_null() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let name = CStr::from_ptr(entry.pw_name).to_string_lossy().into_owned();
        if name.is_empty() || name.contains('/') {
            Err(io::ErrorKind::NotFound.into())
        } else {
            Ok(name)
        }
    }
}

/// The file of this process.
struct Owned {
    path: PathBuf,
    /// A child that was forked has no file.
    process: u32,
    _locked: File,
}

static OWN: Mutex<Option<Owned>> = Mutex::new(None);

/// The process ends: removes its file. Never blocks.
pub extern "C" fn remove_own() {
    // Not where a thread holds the lock: it must not block the end of the process.
    if let Some(own) = OWN.try_lock()
        && let Some(own) = &*own
        && own.process == std::process::id()
    {
        let _ = fs::remove_file(&own.path);
    }
}

/// Tools look nowhere else, whatever `java.io.tmpdir` is.
const TEMPORARY: &str = "/tmp";
const PREFIX: &str = "hsperfdata_";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_dead_are_removed_and_no_others() {
        let folder = std::env::temp_dir().join(format!("perf-data-{}", std::process::id()));
        DirBuilder::new().mode(0o755).create(&folder).unwrap();
        // A child that has ended, and that somebody has waited for.
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let dead = child.id();
        child.wait().unwrap();
        let locked = folder.join(i32::MAX.to_string());
        let names = [dead.to_string(), std::process::id().to_string(), "1".into(), "other".into()];
        names.iter().for_each(|name| fs::write(folder.join(name), "x").unwrap());
        fs::write(&locked, "x").unwrap();
        let holder = File::open(&locked).unwrap();
        assert!(lock(&holder));
        remove_stale(&folder);
        let exists = |name: &String| folder.join(name).exists();
        assert_eq!(names.each_ref().map(exists), [false, true, true, true]);
        assert!(locked.exists());
        drop(holder);
        remove_stale(&folder);
        assert!(!locked.exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn folders_of_others_are_not_used() {
        let folder = std::env::temp_dir().join(format!("perf-folder-{}", std::process::id()));
        make_folder(&folder).unwrap();
        make_folder(&folder).unwrap();
        let link = folder.join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert!(make_folder(&link).is_err());
        let mut open = fs::metadata(&folder).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut open, 0o777);
        fs::set_permissions(&folder, open).unwrap();
        assert!(make_folder(&folder).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
