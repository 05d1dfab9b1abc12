//! Ends the process when nothing gets done any more.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Watches until it is dropped.
pub struct Watchdog {
    shared: Arc<Shared>,
}

struct Shared {
    /// Incremented by every thread that makes progress. Relaxed.
    beats: AtomicU64,
    over: AtomicBool,
}

impl Watchdog {
    /// `seed` is named when it comes to the worst.
    pub fn start(seed: u64) -> io::Result<Watchdog> {
        let shared = Arc::new(Shared { beats: AtomicU64::new(0), over: AtomicBool::new(false) });
        let watched = shared.clone();
        let watch = move || watched.watch(seed);
        thread::Builder::new().name("watchdog".into()).spawn(watch)?;
        Ok(Watchdog { shared })
    }

    pub fn beats(&self) -> &AtomicU64 {
        &self.shared.beats
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn watch(&self, seed: u64) {
        let (mut last, mut since) = (0, Instant::now());
        while !self.over.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(200));
            let beats = self.beats.load(Ordering::Relaxed);
            if beats != last {
                (last, since) = (beats, Instant::now());
            } else if since.elapsed() > PATIENCE {
                base::die(format_args!("seed {seed}: no progress for {PATIENCE:?}"));
            }
        }
    }
}

/// Longer than any transport waits for a page.
const PATIENCE: Duration = Duration::from_secs(30);
