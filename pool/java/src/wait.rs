//! Waiting until another process has changed a count.
//!
//! The waiting side says so in a word beside the count, looks at the count once more, and sleeps. The other side
//! changes the count, looks at the word, and wakes. A fence on each side lets one of the two see the other. A process
//! that dies between the two is not waited for: a sleep is short, and callers look again.

use base::futex;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

/// How long to look at a count before sleeping.
const SPIN: Duration = Duration::from_micros(20);
/// How long to sleep at most.
const SLEEP: Duration = Duration::from_millis(20);

/// Waits until the count is not `seen`, at most this long and at most 20 ms. True: it has changed. It looks at the
/// count for 20 us before it sleeps.
pub fn for_change(count: &AtomicU64, seen: u64, waits: &AtomicU64, timeout: Duration) -> bool {
    let has_changed = || count.load(Ordering::Acquire) != seen;
    if has_changed() {
        return true;
    }
    let start = Instant::now();
    let spin = SPIN.min(timeout);
    loop {
        for _ in 0..32 {
            spin_loop();
            if has_changed() {
                return true;
            }
        }
        if start.elapsed() >= spin {
            break;
        }
    }
    let left = timeout.saturating_sub(start.elapsed()).min(SLEEP);
    if !left.is_zero() {
        waits.store(1, Ordering::Relaxed);
        // Pairs with that of `notify`.
        fence(Ordering::SeqCst);
        if !has_changed() {
            futex::wait(low_half(count), seen as u32, left);
        }
    }
    has_changed()
}

/// Wakes the other side if it sleeps. The count was just changed.
pub fn notify(count: &AtomicU64, waits: &AtomicU64) {
    fence(Ordering::SeqCst);
    if waits.load(Ordering::Relaxed) != 0 {
        waits.store(0, Ordering::Relaxed);
        futex::wake_all(low_half(count));
    }
}

/// The kernel compares 32 bits only. A count that moves by 2^32 within one sleep is seen after that sleep.
fn low_half(count: &AtomicU64) -> &AtomicU32 {
    // SAFETY: the lower half of a word of this machine is at its address, and both are atomic.
    unsafe { AtomicU32::from_ptr(count.as_ptr().cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_sleeper_is_woken_and_a_wait_ends() {
        let [count, waits] = [AtomicU64::new(5), AtomicU64::new(0)];
        assert!(for_change(&count, 4, &waits, Duration::ZERO));
        assert!(!for_change(&count, 5, &waits, Duration::from_millis(1)));
        thread::scope(|scope| {
            scope.spawn(|| {
                while waits.load(Ordering::Relaxed) == 0 {
                    thread::yield_now();
                }
                count.store(6, Ordering::Release);
                notify(&count, &waits);
            });
            while !for_change(&count, 5, &waits, Duration::from_secs(1)) {}
        });
    }
}
