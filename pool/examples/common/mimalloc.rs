//! The same work with mimalloc, in threads of one process.

use super::clock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Millions of blocks a second of CPU time that threads allocate and free, `count` at a time.
pub fn threadtest(threads: usize, count: usize, bytes: usize, time: Duration) -> f64 {
    let end = AtomicU64::new(0);
    thread::scope(|scope| {
        let work = || {
            let start = clock();
            let mut blocks = vec![std::ptr::null_mut(); count];
            let mut operations = 0u64;
            while end.load(Ordering::Relaxed) == 0 {
                for block in &mut blocks {
                    *block = allocate(bytes);
                }
                for block in &blocks {
                    // SAFETY: each block is freed once.
                    unsafe { free(*block) };
                }
                operations += count as u64;
            }
            operations as f64 * 1e3 / (clock() - start) as f64
        };
        let sides: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        thread::sleep(time);
        end.store(1, Ordering::Release);
        sides.into_iter().map(|side| side.join().expect("a side")).sum()
    })
}

pub fn allocate(bytes: usize) -> *mut u8 {
    // SAFETY: any size may be asked for.
    unsafe { libmimalloc_sys::mi_malloc(bytes).cast() }
}

/// # Safety
/// The block was allocated here, and is freed once.
pub unsafe fn free(block: *mut u8) {
    // SAFETY: the caller's.
    unsafe { libmimalloc_sys::mi_free(block.cast()) }
}
