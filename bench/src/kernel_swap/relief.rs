//! What a confined program gets when the kernel finds nothing in its cgroup to swap out.
//!
//! A collector that goes through its whole heap uses each page again as soon as it is back, and then the kernel gives
//! up after some rounds, though nearly all of swap is free, and kills (`oom-kill: constraint=CONSTRAINT_MEMCG`). Nobody
//! would run a program so; a cgroup v2 with `memory.high` makes its threads wait instead. Here the kernel is told
//! not to kill, so threads wait, and a thread of the runner gives the cgroup a little more memory, which wakes them,
//! and takes it away again as soon as the kernel can. What it got, and for how long, stands in its row.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::kernel_swap::{counter, read, write};

/// Looks after one cgroup of one program until it is dropped or [`end`](Relief::end)ed.
pub struct Relief {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<Relieved>>,
}

/// What a program got beyond its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relieved {
    /// How often all of its threads that needed memory waited.
    pub times: u64,
    /// The most that it had more, bytes.
    pub bytes_max: u64,
    /// How long it had more.
    pub time: Duration,
}

impl Relieved {
    pub fn add(&mut self, other: Relieved) {
        self.times += other.times;
        self.bytes_max = self.bytes_max.max(other.bytes_max);
        self.time += other.time;
    }
}

impl Relief {
    /// The limit of the cgroup is `limit` bytes by now.
    pub fn new(cgroup: &Path, limit: u64) -> Result<Relief, String> {
        write(cgroup.join(CONTROL), "1")?;
        let (stop, stopped) = channel();
        let cgroup = Cgroup { path: cgroup.to_path_buf(), limit, extra: 0 };
        let look = move || cgroup.look_after(&stopped);
        let thread = thread::Builder::new().name("relief".into()).spawn(look);
        let thread = thread.map_err(|error| format!("no thread for {CONTROL}: {error}"))?;
        Ok(Relief { stop: Some(stop), thread: Some(thread) })
    }

    pub fn end(mut self) -> Relieved {
        self.finish()
    }

    fn finish(&mut self) -> Relieved {
        drop(self.stop.take());
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Relief {
    fn drop(&mut self) {
        self.finish();
    }
}

struct Cgroup {
    path: PathBuf,
    /// What it should have, bytes.
    limit: u64,
    /// What it has more at the moment.
    extra: u64,
}

impl Cgroup {
    fn look_after(mut self, stopped: &Receiver<()>) -> Relieved {
        let mut relieved = Relieved::default();
        let mut since = Instant::now();
        while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(LOOK_EVERY) {
            let now = Instant::now();
            if self.extra > 0 {
                relieved.time += now - since;
            }
            since = now;
            if self.is_stuck() {
                relieved.times += 1;
                self.set(self.extra + (self.limit / STEPS).max(STEP_BYTES_MIN));
                relieved.bytes_max = relieved.bytes_max.max(self.extra);
            } else if self.extra > 0 {
                // Refused while the kernel finds too little to swap out.
                self.set(0);
            }
        }
        self.set(0);
        relieved
    }

    fn is_stuck(&self) -> bool {
        read(self.path.join(CONTROL)).is_ok_and(|text| counter(&text, "under_oom") == 1)
    }

    fn set(&mut self, extra: u64) {
        if write(self.path.join(LIMIT), &(self.limit + extra).to_string()).is_ok() {
            self.extra = extra;
        }
    }
}

/// A fault that waits for a device of 5 us takes a tenth of it, a look 5 us.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// What it gets at once: such a part of its limit, but at least so many bytes.
const STEPS: u64 = 32;
const STEP_BYTES_MIN: u64 = 1 << 20;

const CONTROL: &str = "memory.oom_control";
pub const LIMIT: &str = "memory.limit_in_bytes";
