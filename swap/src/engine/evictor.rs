//! The thread that keeps some pages free, so that faults seldom have to make room themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use base::{die, now_ns};

use crate::SwapError;
use crate::engine::FarSpace;
use crate::kernel::priority;
use crate::transfer::work_area::{BATCH_PAGES, WorkArea};

/// The evictor of one far space. Dropping it ends the thread.
pub struct Evictor {
    space: Arc<FarSpace>,
    /// Set once by drop, read by the thread after it was rung.
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Evictor {
    /// Starts the thread.
    pub fn start(space: Arc<FarSpace>) -> Result<Evictor, SwapError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (their_space, their_stop) = (space.clone(), stop.clone());
        let thread = thread::Builder::new()
            .name("farheap evictor".into())
            .spawn(move || {
                let _guard = MustNotPanic;
                run(&their_space, &their_stop);
            })
            .map_err(|source| SwapError::Os { what: "starting the evictor", source })?;
        Ok(Evictor { space, stop, thread: Some(thread) })
    }
}

impl Drop for Evictor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.space.frames.ring_evictor();
        if let Some(thread) = self.thread.take() {
            // It cannot have panicked: that ends the process.
            let _ = thread.join();
        }
    }
}

fn run(space: &FarSpace, stop: &AtomicBool) {
    // It runs as long as room is short only.
    priority::go_first();
    let mut area = WorkArea::boxed();
    loop {
        space.frames.await_ring();
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let (mut looked_at, mut freed) = (0, 0);
        loop {
            let shortage = space.frames.shortage();
            // Single pages would cost as much as a batch, while others go on taking one by one.
            let most = shortage.max(space.frames.reserve_pages()).min(BATCH_PAGES);
            let began = now_ns();
            let mut made = 0;
            if shortage > 0 {
                made = space.frames.empty_cached();
                if made == 0 {
                    made = space.evict_ready(&mut area, most);
                }
            }
            freed += made;
            let evicted = now_ns();
            space.counters.evictor_evicted(evicted.saturating_sub(began));
            if made > 0 {
                looked_at = 0;
                continue;
            }
            let looks = space.find_ready(&mut area);
            space.counters.evictor_cleaned(now_ns().saturating_sub(evicted));
            looked_at += looks;
            if looks > 0 && looked_at <= space.looks_max() {
                continue;
            }
            let made = if shortage == 0 { 0 } else { space.evict_some(&mut area, most) };
            if made == 0 {
                break;
            }
            freed += made;
        }
        space.frames.adapt(freed);
    }
}

/// A VM whose evictor died would limp on; one clear line is better.
struct MustNotPanic;

impl Drop for MustNotPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            die(format_args!("the evictor died"));
        }
    }
}
