//! The state machine of a contended monitor: owner, contenders, waiters. Knows threads by number and neither
//! heap nor VM; blocking calls are made in the safe state.
//!
//! Entering and leaving are one compare-and-set and one swap without contention. Going to sleep follows
//! Dekker's protocol: a contender counts itself, then tries once more, with the lock held until it sleeps; an
//! owner frees the monitor, then reads the count. One of the two sees the other.

use super::event::Event;
#[cfg(loom)]
use super::sync::fence;
use super::sync::{AtomicU32, Condvar, Mutex, Ordering};
use std::collections::VecDeque;

/// An inflated monitor. Any thread.
#[derive(Default)]
pub struct Inflated {
    /// The owner's number, 0, or [`UNKNOWN`]. Set by the owner itself, except before others see the monitor.
    owner: AtomicU32,
    /// How often the owner has entered beyond the first time. Only the owner touches it.
    recursion: AtomicU32,
    /// Threads that are about to sleep or asleep in `enter`.
    contenders: AtomicU32,
    /// Threads that will look at this monitor after a safepoint: in `enter`, in `Object.wait`.
    pins: AtomicU32,
    entry: Mutex<()>,
    freed: Condvar,
    /// Threads in `Object.wait`, the longest first.
    waiters: Mutex<VecDeque<Waiter>>,
}

type Waiter = &'static Event;

/// The owner of a monitor that another thread made for a locked object: the thread whose lock stack has the object.
pub const UNKNOWN: u32 = u32::MAX;
/// The owner of a monitor that is being taken from its object, or has been.
const RETIRED: u32 = u32::MAX - 1;
/// Threads have numbers below this one.
pub const NUMBERS_END: u32 = RETIRED;

impl Inflated {
    /// Sets the state of a monitor that no other thread sees yet, or whose owner is [`UNKNOWN`] and the caller.
    pub fn begin(&self, owner: u32, recursion: u32) {
        self.owner.store(owner, Ordering::Relaxed);
        self.recursion.store(recursion, Ordering::Relaxed);
        debug_assert!(self.waiters.lock().is_empty());
    }

    pub fn owner(&self) -> u32 {
        self.owner.load(Ordering::Relaxed)
    }

    pub fn is_owned_by(&self, me: u32) -> bool {
        self.owner() == me
    }

    /// Enters if it need not wait.
    #[inline]
    pub fn try_enter(&self, me: u32) -> bool {
        if self.owner.compare_exchange(0, me, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
            return true;
        }
        if !self.is_owned_by(me) {
            return false;
        }
        self.recursion.store(self.recursion.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        true
    }

    /// Announces an [`enter`](Self::enter), which may follow after safepoints: the monitor stays in use until then.
    pub fn pin(&self) {
        self.pins.fetch_add(1, Ordering::SeqCst);
        // One half of Dekker's protocol with `try_retire`. Loom treats sequentially consistent accesses as acquire and
        // release only; its fences are exact.
        #[cfg(loom)]
        fence(Ordering::SeqCst);
    }

    /// Enters, waiting for the owner. The caller has pinned the monitor and is not the owner. False: the monitor is
    /// being taken from its object. Blocks.
    pub fn enter(&self, me: u32) -> bool {
        let is_entered = self.spin(me) || self.sleep(me);
        self.pins.fetch_sub(1, Ordering::SeqCst);
        is_entered
    }

    fn sleep(&self, me: u32) -> bool {
        let mut entry = self.entry.lock();
        self.contenders.fetch_add(1, Ordering::SeqCst);
        // One half of Dekker's protocol with `free`.
        #[cfg(loom)]
        fence(Ordering::SeqCst);
        let is_entered = loop {
            match self.owner.compare_exchange(0, me, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => break true,
                Err(RETIRED) => break false,
                Err(_) => self.freed.wait(&mut entry),
            }
        };
        self.contenders.fetch_sub(1, Ordering::SeqCst);
        is_entered
    }

    /// Takes the monitor out of use if no thread owns it, waits for it or is about to: nobody will enter it any more.
    pub fn try_retire(&self) -> bool {
        if self.owner.compare_exchange(0, RETIRED, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            return false;
        }
        #[cfg(loom)]
        fence(Ordering::SeqCst);
        if self.is_pinned() {
            self.free();
            return false;
        }
        true
    }

    pub fn is_retired(&self) -> bool {
        self.owner() == RETIRED
    }

    /// Whether a thread will look at the monitor after a safepoint.
    pub fn is_pinned(&self) -> bool {
        self.pins.load(Ordering::SeqCst) != 0
    }

    /// A short critical section is often over before a thread has fallen asleep.
    fn spin(&self, me: u32) -> bool {
        for _ in 0..SPINS {
            let is_free = self.owner.load(Ordering::Relaxed) == 0;
            if is_free
                && self.owner.compare_exchange(0, me, Ordering::SeqCst, Ordering::Relaxed).is_ok()
            {
                return true;
            }
            std::hint::spin_loop();
        }
        false
    }

    /// Leaves once. The caller is the owner.
    #[inline]
    pub fn exit(&self, me: u32) {
        debug_assert!(self.is_owned_by(me));
        match self.recursion.load(Ordering::Relaxed) {
            0 => self.free(),
            recursion => self.recursion.store(recursion - 1, Ordering::Relaxed),
        }
    }

    #[inline]
    fn free(&self) {
        self.owner.swap(0, Ordering::SeqCst);
        // The other half.
        #[cfg(loom)]
        fence(Ordering::SeqCst);
        if self.contenders.load(Ordering::SeqCst) != 0 {
            let _entry = self.entry.lock();
            self.freed.notify_one();
        }
    }

    /// Enters again after a wait. Blocks.
    pub fn enter_again(&self, me: u32) {
        self.pin();
        assert!(self.enter(me), "a monitor was retired in spite of a waiter");
    }

    /// Leaves altogether to wait for a notification, with the monitor pinned; returns the value that `end_wait` takes.
    /// The caller is the owner, and has reset its event.
    pub fn begin_wait(&self, me: &'static Event) -> u32 {
        self.waiters.lock().push_back(me);
        let recursion = self.recursion.swap(0, Ordering::Relaxed);
        self.pin();
        self.free();
        recursion
    }

    /// Whether the thread was notified; otherwise it is taken off the list.
    pub fn stop_waiting(&self, me: &'static Event) -> bool {
        let mut waiters = self.waiters.lock();
        match waiters.iter().position(|waiter| std::ptr::eq(*waiter, me)) {
            Some(at) => {
                waiters.remove(at);
                false
            }
            None => true,
        }
    }

    /// After entering again: as often as before the wait.
    pub fn end_wait(&self, recursion: u32) {
        self.pins.fetch_sub(1, Ordering::SeqCst);
        self.recursion.store(recursion, Ordering::Relaxed);
    }

    /// Wakes the longest waiter or all. The caller is the owner.
    pub fn notify(&self, all: bool) {
        let mut waiters = self.waiters.lock();
        while let Some(waiter) = waiters.pop_front() {
            // With the list locked: `stop_waiting` finds either the waiter or its notification.
            waiter.notify();
            if !all {
                break;
            }
        }
    }
}

/// A model need not try again: every interleaving is explored anyway.
const SPINS: u32 = if cfg!(loom) { 0 } else { 60 };

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::UnsafeCell;
    use std::time::{Duration, Instant};

    struct Counter(UnsafeCell<u64>);
    // SAFETY: the monitor guards it, which is the property under test.
    unsafe impl Sync for Counter {}

    #[test]
    fn excludes_and_recurs() {
        let (monitor, counter) = (Inflated::default(), Counter(UnsafeCell::new(0)));
        std::thread::scope(|scope| {
            for id in 1..=4 {
                let (monitor, counter) = (&monitor, &counter);
                scope.spawn(move || {
                    for _ in 0..20_000 {
                        if !monitor.try_enter(id) {
                            monitor.enter_again(id);
                        }
                        assert!(monitor.try_enter(id));
                        // SAFETY: the monitor is held.
                        unsafe { *counter.0.get() += 1 };
                        monitor.exit(id);
                        monitor.exit(id);
                    }
                });
            }
        });
        // SAFETY: the threads have ended.
        assert_eq!(unsafe { *counter.0.get() }, 80_000);
        assert_eq!(monitor.owner(), 0);
    }

    fn event() -> &'static Event {
        Box::leak(Box::default())
    }

    #[test]
    fn notifications_are_not_lost() {
        let monitor: &'static Inflated = Box::leak(Box::default());
        let turn: &'static AtomicU32 = Box::leak(Box::default());
        // Two threads pass a token to each other by wait and notify.
        let play = move |me: u32| {
            let event = event();
            for _ in 0..5_000 {
                if !monitor.try_enter(me) {
                    monitor.enter_again(me);
                }
                while turn.load(Ordering::Relaxed) % 2 != me % 2 {
                    event.reset();
                    let recursion = monitor.begin_wait(event);
                    event.wait(None);
                    monitor.stop_waiting(event);
                    monitor.enter_again(me);
                    monitor.end_wait(recursion);
                }
                turn.fetch_add(1, Ordering::Relaxed);
                monitor.notify(me == 1);
                monitor.exit(me);
            }
        };
        let threads = [1, 2].map(|me| std::thread::spawn(move || play(me)));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(turn.load(Ordering::Relaxed), 10_000);
    }

    #[test]
    fn a_timed_wait_ends_by_itself() {
        let monitor = Inflated::default();
        let event = event();
        assert!(monitor.try_enter(1) && monitor.try_enter(1));
        event.reset();
        let recursion = monitor.begin_wait(event);
        assert_eq!((recursion, monitor.owner()), (1, 0));
        event.wait(Some(Instant::now() + Duration::from_millis(5)));
        assert!(!monitor.stop_waiting(event));
        assert!(monitor.try_enter(1));
        monitor.end_wait(recursion);
        monitor.exit(1);
        assert!(monitor.is_owned_by(1));
        monitor.exit(1);
        monitor.notify(true);
        assert_eq!(monitor.owner(), 0);
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    struct Guarded {
        monitor: Inflated,
        /// The data that the monitor guards; loom reports accesses that race.
        value: UnsafeCell<u32>,
    }

    // SAFETY: the model checks the accesses of the cell.
    unsafe impl Sync for Guarded {}
    // SAFETY: as above.
    unsafe impl Send for Guarded {}

    fn guarded() -> Arc<Guarded> {
        Arc::new(Guarded { monitor: Inflated::default(), value: UnsafeCell::new(0) })
    }

    fn enter(monitor: &Inflated, me: u32) {
        if !monitor.try_enter(me) {
            monitor.enter_again(me);
        }
    }

    fn add(guarded: &Guarded, me: u32) {
        enter(&guarded.monitor, me);
        // SAFETY: loom reports the access if it races.
        guarded.value.with_mut(|value| unsafe { *value += 1 });
        guarded.monitor.exit(me);
    }

    /// No thread is left asleep, and no two threads are in the monitor at once.
    #[test]
    fn contenders_exclude_each_other() {
        loom::model(|| {
            let guarded = guarded();
            let other = guarded.clone();
            let thread = loom::thread::spawn(move || add(&other, 1));
            add(&guarded, 2);
            thread.join().unwrap();
            // SAFETY: the thread has ended.
            guarded.value.with(|value| assert_eq!(unsafe { *value }, 2));
        });
    }

    /// A waiter that has begun to wait before the notification is woken by it.
    #[test]
    fn a_waiter_is_notified() {
        loom::model(|| {
            let guarded = guarded();
            let event: &'static Event = Box::leak(Box::default());
            let other = guarded.clone();
            let notifier = loom::thread::spawn(move || {
                add(&other, 2);
                enter(&other.monitor, 2);
                other.monitor.notify(false);
                other.monitor.exit(2);
            });
            let monitor = &guarded.monitor;
            enter(monitor, 1);
            // SAFETY: as in `add`.
            while guarded.value.with(|value| unsafe { *value }) == 0 {
                event.reset();
                let recursion = monitor.begin_wait(event);
                event.wait(None);
                assert!(monitor.stop_waiting(event));
                enter(monitor, 1);
                monitor.end_wait(recursion);
            }
            monitor.exit(1);
            notifier.join().unwrap();
        });
    }
}
