//! A gate before memory that is taken away when the process ends, while other threads still run.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Counts the threads that use some memory, until it is closed. Any thread.
#[derive(Default)]
pub struct Gate {
    /// How many are inside, and [`CLOSED`]. Written by all; a thread that enters acquires nothing, and what it did
    /// inside is before the end of [`Gate::close`]: release and acquire.
    word: AtomicU32,
}

/// A thread inside. Dropping it leaves.
pub struct Inside<'a>(&'a Gate);

const CLOSED: u32 = 1 << 31;

impl Gate {
    /// Enters. Once the gate is closed it does not return: the process is about to end. Async-signal-safe.
    #[inline]
    pub fn enter(&self) -> Inside<'_> {
        if self.word.fetch_add(1, Ordering::Acquire) & CLOSED != 0 {
            self.sleep_for_ever();
        }
        Inside(self)
    }

    /// Closes the gate, and waits until nobody is inside, for `patience` at most. False: somebody still is.
    pub fn close(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        self.word.fetch_or(CLOSED, Ordering::AcqRel);
        while self.word.load(Ordering::Acquire) != CLOSED {
            if Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        true
    }

    #[cold]
    fn sleep_for_ever(&self) -> ! {
        self.word.fetch_sub(1, Ordering::Release);
        loop {
            // SAFETY: no memory is involved. Signals end it.
            unsafe { libc::pause() };
        }
    }
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.word.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn it_closes_when_nobody_is_inside_and_keeps_all_others_out() {
        let gate = Arc::new(Gate::default());
        let inside = gate.enter();
        assert!(!gate.close(Duration::from_millis(1)));
        drop(inside);
        assert!(gate.close(Duration::ZERO));
        let (other, entered) = (gate.clone(), Arc::new(AtomicU32::new(0)));
        let has_entered = entered.clone();
        // Sleeps until the process of the tests ends.
        std::thread::spawn(move || {
            let _inside = other.enter();
            has_entered.store(1, Ordering::SeqCst);
        });
        std::thread::sleep(Duration::from_millis(20));
        assert!(gate.close(Duration::from_secs(1)));
        assert_eq!(entered.load(Ordering::SeqCst), 0);
    }
}
