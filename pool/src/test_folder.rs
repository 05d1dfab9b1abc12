//! A folder of one test.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Removed when it is dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("farheap-pool-{}-{number}", std::process::id());
        // Shared memory where there is some: files there are as fast as memory without a name.
        let shared = Path::new("/dev/shm");
        let base = if shared.is_dir() { shared.into() } else { std::env::temp_dir() };
        let folder = base.join(name);
        std::fs::create_dir(&folder).expect("a new folder");
        Folder(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
