//! How many bytes a session of a memory server has moved for its VM.
//!
//! Counted in a page of shared memory without a name, which the process that listens finds among the session's open
//! files: so a session that hangs can be looked at too, and counting costs one addition. Only sessions over TCP count.
//! In shared memory and over RDMA, VMs read and write pages without their server.
//!
//! ```text
//! byte 0  bytes read by the VM, u64 in the machine's order
//!      8  bytes written by the VM
//! ```

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::RdmaError;
use crate::memory::mapping::SharedMapping;

/// The traffic of a session so far, in bytes of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// From the server's memory to the VM.
    pub read_bytes: u64,
    /// From the VM to the server's memory.
    pub written_bytes: u64,
}

impl Traffic {
    /// That of the session which the process `pid` of this machine serves. `None`: it counts nothing, has ended,
    /// or belongs to another user. Asks the system; may block for as long as that.
    pub fn of_process(pid: u32) -> Option<Traffic> {
        let folder: PathBuf = ["/proc", &pid.to_string(), "fd"].iter().collect();
        let mut files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
        Traffic::of_file(&files.find(|path| has_counters(path))?)
    }

    /// That in the counters that a process has open under this path.
    fn of_file(path: &Path) -> Option<Traffic> {
        let file = File::open(path).ok()?;
        let mut bytes = [0; 16];
        file.read_exact_at(&mut bytes, 0).ok()?;
        let (read, written) = bytes.split_at(8);
        let number = |bytes: &[u8]| Some(u64::from_ne_bytes(bytes.try_into().ok()?));
        Some(Traffic { read_bytes: number(read)?, written_bytes: number(written)? })
    }
}

/// Whether this is the path of an open file that has counters.
fn has_counters(path: &Path) -> bool {
    fs::read_link(path).is_ok_and(|to| to.to_string_lossy().starts_with(LINK))
}

/// The counters of this process's session.
pub struct TrafficCounters(SharedMapping);

impl TrafficCounters {
    pub fn new() -> Result<TrafficCounters, RdmaError> {
        Ok(TrafficCounters(SharedMapping::create(c"farheap-traffic", 4096)?))
    }

    /// Adds to the bytes that the VM has read.
    pub fn read(&self, bytes: usize) {
        self.counter(0).fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Adds to the bytes that the VM has written.
    pub fn written(&self, bytes: usize) {
        self.counter(1).fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Written by the threads of data connections, read by other processes; relaxed: only counts.
    fn counter(&self, number: usize) -> &AtomicU64 {
        // SAFETY: one of the first two words of the mapping, which lives as long as self.
        unsafe { AtomicU64::from_ptr(self.0.base().cast::<u64>().add(number)) }
    }
}

/// The beginning of the link to the counters.
const LINK: &str = "/memfd:farheap-traffic";

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, AsRawFd};

    use super::*;

    #[test]
    fn what_is_counted_is_seen_from_outside() {
        // Other tests have counters in this process too.
        let counters = TrafficCounters::new().unwrap();
        assert!(Traffic::of_process(std::process::id()).is_some());
        let fd = counters.0.as_fd().as_raw_fd().to_string();
        let path: PathBuf = ["/proc/self/fd", &fd].iter().collect();
        assert!(has_counters(&path));
        assert_eq!(Traffic::of_file(&path), Some(Traffic::default()));
        counters.read(4096);
        counters.read(8);
        counters.written(16);
        let traffic = Traffic { read_bytes: 4104, written_bytes: 16 };
        assert_eq!(Traffic::of_file(&path), Some(traffic));
        assert_eq!(Traffic::of_process(u32::MAX), None);
    }
}
