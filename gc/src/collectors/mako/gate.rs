//! Who may touch the entries of a tablet: mutators, or the agent.
//!
//! ```text
//!        close          (handshake)  depart             release
//! OPEN ─────────► CLOSING ─────────────────► AWAY ──────────────► OPEN
//! used freely     used under the lock        not used: wait
//! ```
//!
//! The handshake is what makes the free use of open tablets safe: who found a tablet open has
//! finished with it before the handshake is over, and everybody has seen it closing after that.
//! Who only reads an entry of a closing tablet needs no lock: what was read counts if the tablet is
//! still closing then. (It cannot have come back and be closing again, which takes a pause.)
//! Nobody waits while the handshake lasts. That matters: a thread that waits may hold a lock of the
//! VM that another thread needs before it can pass the handshake.
//!
//! A thread that waits for a tablet holds pauses up, so whoever makes tablets depart must not ask
//! for a pause or handshake before it has released them.

use crate::hit::TabletId;
use crate::sync::{AtomicU32, Condvar, Mutex, Ordering, fence};

/// The state of all tablets.
pub struct Gate {
    /// By tablet. Written by the collector's thread; release and acquire, so that who sees a tablet
    /// open again sees what the agent wrote, by way of the pager.
    states: Box<[AtomicU32]>,
    /// Held while a closing tablet is used, and while it departs.
    lock: Mutex<()>,
    released: Condvar,
}

impl Gate {
    pub fn new(tablets: usize) -> Gate {
        Gate {
            states: (0..tablets).map(|_| AtomicU32::new(OPEN)).collect(),
            lock: Mutex::new(()),
            released: Condvar::new(),
        }
    }

    /// Address of the tablets' states, 32 bits each, 0 for open: who loads that, acquire, may use the tablet's entries
    /// until its next poll, as in [`try_use`](Gate::try_use).
    pub fn states(&self) -> u64 {
        self.states.as_ptr() as u64
    }

    /// Uses entries of a tablet; `None`, and nothing is done, when it is away. On a running
    /// mutator. While the tablet is closing `look` comes first: it may only read, perhaps of a tablet that has just
    /// departed, and returns nothing if that is not enough.
    #[inline]
    pub fn try_use<R>(
        &self,
        tablet: TabletId,
        look: impl FnOnce() -> Option<R>,
        action: impl FnOnce() -> R,
    ) -> Option<R> {
        let state = || self.state(tablet).load(Ordering::Acquire);
        match state() {
            OPEN => return Some(action()),
            CLOSING => {
                let seen = look();
                fence(Ordering::Acquire);
                if seen.is_some() && state() == CLOSING {
                    return seen;
                }
            }
            _ => {}
        }
        self.try_use_locked(tablet, action)
    }

    #[cold]
    fn try_use_locked<R>(&self, tablet: TabletId, action: impl FnOnce() -> R) -> Option<R> {
        let _lock = self.lock.lock();
        match self.state(tablet).load(Ordering::Relaxed) {
            AWAY => None,
            _ => Some(action()),
        }
    }

    /// Returns when a tablet that was away is not. What it is by then must be asked anew.
    pub fn wait(&self, tablet: TabletId) {
        let mut lock = self.lock.lock();
        while self.state(tablet).load(Ordering::Relaxed) == AWAY {
            self.released.wait(&mut lock);
        }
    }

    /// Open -> closing. A handshake with all mutators must follow.
    pub fn close(&self, tablets: &[TabletId]) {
        tablets.iter().for_each(|t| self.state(*t).store(CLOSING, Ordering::SeqCst));
    }

    /// Closing -> away, after the handshake: from now on nobody uses them.
    pub fn depart(&self, tablets: &[TabletId]) {
        let _lock = self.lock.lock();
        tablets.iter().for_each(|t| self.state(*t).store(AWAY, Ordering::Relaxed));
    }

    /// Away -> open.
    pub fn release(&self, tablets: &[TabletId]) {
        let _lock = self.lock.lock();
        tablets.iter().for_each(|t| self.state(*t).store(OPEN, Ordering::Release));
        self.released.notify_all();
    }

    #[inline]
    fn state(&self, tablet: TabletId) -> &AtomicU32 {
        &self.states[tablet.0 as usize]
    }
}

const OPEN: u32 = 0;
const CLOSING: u32 = 1;
const AWAY: u32 = 2;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// What is seen without the lock counts while the tablet is closing only.
    #[test]
    fn who_looks_needs_no_lock_and_is_not_believed_when_the_tablet_has_departed() {
        let gate = Gate::new(1);
        let tablets = [TabletId(0)];
        let seen = || Some("seen");
        assert_eq!(gate.try_use(tablets[0], seen, || "used"), Some("used"), "open");
        gate.close(&tablets);
        let lock = gate.lock.lock();
        assert_eq!(gate.try_use(tablets[0], seen, || "used"), Some("seen"));
        drop(lock);
        assert_eq!(gate.try_use(tablets[0], || None, || "used"), Some("used"), "under the lock");
        let seen_too_late = || {
            gate.depart(&tablets);
            Some("seen")
        };
        assert_eq!(gate.try_use(tablets[0], seen_too_late, || "used"), None);
        assert_eq!(gate.try_use(tablets[0], seen, || "used"), None, "away");
        gate.release(&tablets);
        assert_eq!(gate.try_use(tablets[0], seen, || "used"), Some("used"));
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::rendezvous::{Rendezvous, ThreadPoint};
    use loom::sync::Arc;

    struct Thread(ThreadPoint);

    impl AsRef<ThreadPoint> for Thread {
        fn as_ref(&self) -> &ThreadPoint {
            &self.0
        }
    }

    struct World {
        gate: Gate,
        rendezvous: Rendezvous<Thread>,
        /// Stands for the entries of the tablet: mutators use it through the gate, the agent while
        /// it is away.
        entries: loom::cell::UnsafeCell<u32>,
    }

    // SAFETY: the cell is what the model checks.
    unsafe impl Sync for World {}
    // SAFETY: as above.
    unsafe impl Send for World {}

    const TABLET: TabletId = TabletId(0);

    /// A mutator's use of an entry and the agent's never overlap, and nobody waits for ever.
    #[test]
    fn a_tablet_has_one_user_at_a_time() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let world = Arc::new(World {
                gate: Gate::new(1),
                rendezvous: Rendezvous::new(),
                entries: loom::cell::UnsafeCell::new(0),
            });
            let mutator = Arc::new(Thread(ThreadPoint::new()));
            world.rendezvous.attach(&mutator, |_| ());
            let theirs = world.clone();
            let collector = loom::thread::spawn(move || {
                theirs.gate.close(&[TABLET]);
                theirs.rendezvous.handshake(None, &|_| ());
                theirs.gate.depart(&[TABLET]);
                // SAFETY: loom reports the access if it races.
                theirs.entries.with_mut(|e| unsafe { *e += 1 });
                theirs.gate.release(&[TABLET]);
            });
            for _ in 0..2 {
                // SAFETY: as above.
                let read = || world.entries.with(|e| unsafe { *e });
                while world.gate.try_use(TABLET, || None, read).is_none() {
                    world.rendezvous.enter_waiting(&mutator);
                    world.gate.wait(TABLET);
                    world.rendezvous.leave_waiting(&mutator);
                }
                if mutator.0.poll_requested() {
                    world.rendezvous.pass(&mutator);
                }
            }
            world.rendezvous.enter_safe(&mutator);
            collector.join().unwrap();
        });
    }
}
