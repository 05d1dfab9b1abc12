//! Waiting for a completion: asking again and again for a moment, then sleeping between the questions.

use std::time::Duration;

use crate::tcp::socket::{Cut, Until};
use base::now_ns;
use base::waiting_ns;

/// One wait. Async-signal-safe.
pub struct Backoff {
    spin_end_ns: u64,
    nap: Duration,
}

impl Backoff {
    /// A wait that begins now.
    pub fn new() -> Backoff {
        Backoff { spin_end_ns: now_ns() + SPIN_NS, nap: NAP_MIN }
    }

    /// Between two questions. `Err`: there is no use in another one.
    pub fn wait(&mut self, until: Until<'_>) -> Result<(), Cut> {
        if !(until.go_on)() {
            return Err(Cut::Stopped);
        }
        if waiting_ns() >= until.deadline_ns {
            return Err(Cut::Late);
        }
        if now_ns() < self.spin_end_ns {
            std::hint::spin_loop();
            return Ok(());
        }
        let ns = self.nap.subsec_nanos().into();
        let time = libc::timespec { tv_sec: 0, tv_nsec: ns };
        // SAFETY: the kernel reads one timespec.
        unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
        self.nap = (self.nap * 2).min(NAP_MAX);
        Ok(())
    }
}

/// A page takes 2 to 5 us on a fast network, 256 KiB some 30.
const SPIN_NS: u64 = 50_000;
const NAP_MIN: Duration = Duration::from_micros(20);
const NAP_MAX: Duration = Duration::from_millis(1);
