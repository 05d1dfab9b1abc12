//! What the benchmarks of several processes share.

use pool::{Backing, Pool};
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A pool in a file, which is removed when it is dropped.
pub struct Shared {
    path: PathBuf,
    pub pool: Pool,
}

impl Shared {
    /// A pool of this many bytes for eight clients, in shared memory if there is some.
    pub fn new(name: &str, bytes: u64) -> Shared {
        let shared = Path::new("/dev/shm");
        let folder = if shared.is_dir() { shared.into() } else { env::temp_dir() };
        let path = folder.join(format!("farheap-{name}-{}", std::process::id()));
        let pool = Pool::create(&Backing::File { path: &path, bytes }, 8).expect("a pool");
        Shared { path, pool }
    }

    /// Starts this program again as `child PATH ROLE...`.
    pub fn start(&self, role: &[&str]) -> Child {
        let mut command = Command::new(env::current_exe().expect("this program"));
        command.arg("child").arg(&self.path).args(role).stdout(Stdio::null());
        command.spawn().expect("a child")
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
