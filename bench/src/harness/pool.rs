//! Running many jobs on a few threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Calls `work` once for each of `items` on `threads` threads, in order of the items; `done` gets
/// each result as it comes, one at a time.
pub fn run<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
    done: impl FnMut(&T, R) + Send,
) {
    // Only hands out numbers; the items are shared before the threads start.
    let next = AtomicUsize::new(0);
    let done = Mutex::new(done);
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = work(item);
                    let mut done = done.lock().expect("a callback that panics ends the run");
                    done(item, result);
                }
            });
        }
    });
}

/// As many as the machine has CPUs.
pub fn default_threads() -> usize {
    thread::available_parallelism().map_or(2, |n| n.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_done_once() {
        let items: Vec<u32> = (0..100).collect();
        let mut seen = Vec::new();
        run(&items, 4, |n| n * 2, |n, r| seen.push((*n, r)));
        seen.sort();
        assert_eq!(seen, items.iter().map(|n| (*n, n * 2)).collect::<Vec<_>>());
    }
}
