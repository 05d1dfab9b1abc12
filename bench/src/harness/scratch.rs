//! Temporary folders that vanish with their owner.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A new, empty folder under the system's temporary folder; removed when dropped.
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes a folder whose name begins with `farheap-` and `label`.
    pub fn new(label: &str) -> io::Result<Scratch> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("farheap-{label}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path)?;
        Ok(Scratch { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the folder `name` inside this one and returns its path.
    pub fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path.join(name);
        std::fs::create_dir_all(&path)?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A program may have left a folder that cannot be read; leaving it behind is no failure.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Read and written by `new` only; the numbers need to differ, in any order.
static NEXT: AtomicU64 = AtomicU64::new(0);
