//! The thread that keeps some pages free, so that faults seldom have to make room themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rdma::{die, futex, now_ns};

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
        let mut looked_at = 0;
        loop {
            space.reserve.saw(space.free_pages());
            let shortage = space.shortage();
            // Single pages would cost as much as a batch, while others go on taking one by one.
            let most = shortage.max(space.reserve.pages()).min(BATCH_PAGES);
            let began = now_ns();
            let makes_room =
                shortage > 0 && (space.empty_stock() || space.evict_ready(&mut area, most) > 0);
            let evicted = now_ns();
            space.counters.evictor_evicted(evicted.saturating_sub(began));
            if makes_room {
                looked_at = 0;
                continue;
            }
            let looks = space.find_ready(&mut area);
            space.counters.evictor_cleaned(now_ns().saturating_sub(evicted));
            looked_at += looks;
            if looks > 0 && looked_at <= space.looks_max() {
                continue;
            }
            if shortage == 0 || space.evict_some(&mut area, most) == 0 {
                break;
            }
        }
        space.reserve.adapt();
    }
}

/// Asks for a processor before the program's threads: they wait for this one soon, if it gets none. A larger share only
/// who has the privilege gets; but anybody may say (since Linux 6.12) that he wants his share in small slices, and is
/// given a processor as soon as he wakes then, since he does not keep it. Where neither is had, the reserve grows.
fn go_first() {
    // SAFETY: no memory is involved.
    let is_granted = |nice: &i32| unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, *nice) } == 0;
    NICENESS.iter().find(|nice| is_granted(nice));
    let mut attributes = SchedAttributes::default();
    let size = size_of::<SchedAttributes>() as u32;
    // SAFETY: the kernel writes as much as there is room for.
    let rc = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &mut attributes, size, 0) };
    if rc == 0 && attributes.policy == libc::SCHED_OTHER as u32 {
        let attributes = SchedAttributes { size, runtime_ns: SLICE_NS, ..attributes };
        // SAFETY: the kernel reads the structure, whose size it is told.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &attributes, 0) };
    }
}

/// The kernel's `struct sched_attr`, in its first version.
#[repr(C)]
#[derive(Default)]
struct SchedAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

const _: () = assert!(size_of::<SchedAttributes>() == 48);

/// All that it needs, or about three times the share of other threads. It runs as long as room is short only.
const NICENESS: [i32; 2] = [-20, -5];
/// The least that the kernel grants, and as long as a batch takes.
const SLICE_NS: u64 = 100_000;

/// A VM whose evictor died would limp on; better one clear line.
struct MustNotPanic;

impl Drop for MustNotPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            die(format_args!("the evictor died"));
        }
    }
}
