//! Java threads on OS threads: start, end, monitors, waiting, parking, interrupts, signals.
//!
//! Life of a thread: [`mod@attach`] makes its `JavaThread` and puts it on the list, where the collector finds its
//! roots, before the OS thread runs; the OS thread becomes a mutator of the heap, runs, and takes itself off the
//! list ([`exit`]). `Thread.eetop` points to its [`ThreadState`](crate::monitors::state::ThreadState), which
//! outlives it.
//!
//! No lock of this module is held across a safepoint: threads block in the safe state.

pub mod attach;
pub mod blocking;
pub mod cpu_time;
pub mod deduplication;
pub mod dump;
pub mod exit;
pub mod exports;
pub mod guarded;
pub mod histogram;
pub mod interrupt;
pub mod monitor;
pub mod references;
pub mod requests;
pub mod shown_name;
pub mod signals;
pub mod sleep;
pub mod start;
pub mod synchronizers;

pub use attach::{attach, bind_object};
pub use monitor::exit as monitor_exit;
pub use signals::start_signal_dispatcher;
pub use start::{native_stack_bytes, start};

use crate::machine::JavaThread;
use crate::monitors::state::StatePool;
use crate::monitors::table::MonitorTable;
use gc::object::RootSlot;
use parking_lot::{Condvar, Mutex};
use references::PendingSignal;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// All attached threads of one VM.
#[derive(Default)]
pub struct Threads {
    list: Mutex<Vec<Listed>>,
    /// Threads that `DestroyJavaVM` waits for, on the list.
    non_daemons: AtomicUsize,
    /// Notified, with the list locked, when a thread has left.
    left: Condvar,
    /// Threads that were ever started, and the most at a time.
    pub started: AtomicU64,
    pub peak: AtomicUsize,
    /// Whether waits are timed (`ThreadMXBean.setThreadContentionMonitoringEnabled`).
    pub is_contention_timed: AtomicBool,
    /// Whether `DestroyJavaVM` has stopped the world for good: native code that still runs is refused.
    pub are_over: AtomicBool,
    pub states: StatePool,
    pub monitors: MonitorTable,
    /// The groups to which native threads are attached: `system` and `main`.
    pub system_group: RootSlot,
    pub main_group: RootSlot,
    /// Wakes the reference handler.
    pub pending: PendingSignal,
    pub deduplication: deduplication::Deduplication,
}

struct Listed {
    thread: *const JavaThread,
    is_daemon: bool,
}

// SAFETY: threads on the list are alive, and are only touched as `for_each` says.
unsafe impl Send for Listed {}

fn visit_all(list: &[Listed], visit: &mut dyn FnMut(&JavaThread)) {
    for listed in list {
        // SAFETY: a thread is taken off the list before it is freed, which takes the lock.
        visit(unsafe { &*listed.thread });
    }
}

impl Threads {
    /// Every attached thread, while no thread attaches or detaches (lock held): for the collector with the world
    /// stopped, thread dumps, shutdown. `visit` reaches no safepoint.
    pub fn for_each(&self, visit: &mut dyn FnMut(&JavaThread)) {
        visit_all(&self.list.lock(), visit);
    }

    /// As `for_each`, for a report of a crash; `false`, and no visit, if the list is locked.
    pub fn try_for_each(&self, visit: &mut dyn FnMut(&JavaThread)) -> bool {
        let Some(list) = self.list.try_lock() else { return false };
        visit_all(&list, visit);
        true
    }

    /// As `for_each`, without the lock.
    ///
    /// # Safety
    /// The thread that holds the lock only reads the list, until the visits end.
    pub unsafe fn for_each_unlocked(&self, visit: &mut dyn FnMut(&JavaThread)) {
        // SAFETY: by the contract nobody changes the list.
        visit_all(unsafe { &*self.list.data_ptr() }, visit);
    }

    pub fn count(&self) -> usize {
        self.list.lock().len()
    }

    pub fn daemon_count(&self) -> usize {
        self.list.lock().iter().filter(|listed| listed.is_daemon).count()
    }

    /// Monitors' weak object slots, for the collector.
    pub fn visit_monitors(&self, visit: &mut dyn FnMut(&RootSlot)) {
        self.monitors.visit(visit)
    }

    fn add(&self, thread: &JavaThread, is_daemon: bool) {
        let mut list = self.list.lock();
        list.push(Listed { thread, is_daemon });
        if !is_daemon {
            self.non_daemons.fetch_add(1, Ordering::Relaxed);
        }
        self.peak.fetch_max(list.len(), Ordering::Relaxed);
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    fn remove(&self, thread: &JavaThread) {
        let mut list = self.list.lock();
        let at = list.iter().position(|listed| std::ptr::eq(listed.thread, thread));
        let listed = list.swap_remove(at.expect("an attached thread is on the list"));
        if !listed.is_daemon {
            self.non_daemons.fetch_sub(1, Ordering::Relaxed);
        }
        self.left.notify_all();
    }

    /// Blocks until one non-daemon thread is left: the caller.
    fn wait_for_the_last(&self) {
        let mut list = self.list.lock();
        while self.non_daemons.load(Ordering::Relaxed) > 1 {
            self.left.wait(&mut list);
        }
    }
}
