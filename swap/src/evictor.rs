//! The thread that keeps some pages free, so that faults seldom have to make room themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rdma::{die, futex};

use crate::SwapError;
use crate::far_space::FarSpace;
use crate::work_area::{BATCH_PAGES, WorkArea};

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
        self.space.evictor_bell.store(1, Ordering::SeqCst);
        futex::wake_all(&self.space.evictor_bell);
        if let Some(thread) = self.thread.take() {
            // It cannot have panicked: that ends the process.
            let _ = thread.join();
        }
    }
}

fn run(space: &FarSpace, stop: &AtomicBool) {
    go_first();
    let mut area = WorkArea::boxed();
    loop {
        while space.evictor_bell.swap(0, Ordering::AcqRel) == 0 {
            futex::wait(&space.evictor_bell, 0, Duration::from_secs(10));
        }
        if stop.load(Ordering::SeqCst) {
            return;
        }
        loop {
            let shortage = space.shortage();
            if shortage == 0 || space.evict_some(&mut area, shortage.min(BATCH_PAGES)) == 0 {
                break;
            }
        }
        space.reserve.adapt();
    }
}

/// Asks for a processor before the program's threads: they wait for this one soon, if it gets none. Only who has the
/// privilege gets it; without, the reserve grows instead.
fn go_first() {
    // SAFETY: no memory is involved.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) };
}

/// About three times the share of other threads.
const NICENESS: i32 = -5;

/// A VM whose evictor died would limp on; better one clear line.
struct MustNotPanic;

impl Drop for MustNotPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            die(format_args!("the evictor died"));
        }
    }
}
