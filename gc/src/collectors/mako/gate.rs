//! Which side may touch the entries of a tablet: mutators, or the agent.
//!
//! ```text
//!        close          (handshake)  depart             release
//! OPEN ─────────► CLOSING ─────────────────► AWAY ──────────────► OPEN
//! used freely     used under the lock        not used: wait
//! ```
//!
//! The handshake makes the free use of open tablets safe: a mutator that found a tablet open has finished with
//! it before the handshake is over, and every mutator has seen it closing after that. A mutator that only reads an
//! entry of a closing tablet needs no lock: the word read counts if the tablet is still closing then, and in the same
//! *round*. A tablet may serve regions of several groups, so it may come back and be closing again while a thread
//! looks: rounds follow each other without a pause, and `close` comes before its handshake. By then the entry that was
//! read may name an object of a region that is free. Therefore the state of a closing tablet says in which round it
//! closed. No thread waits while the handshake lasts. That matters: a thread that waits may hold a lock of the
//! VM that another thread needs before it can pass the handshake.
//!
//! A thread that waits for a tablet holds pauses up, so a thread that makes tablets depart must not ask
//! for a pause or handshake before it has released them.

use crate::hit::TabletId;
use crate::object::sync::{AtomicU32, Condvar, Mutex, Ordering, fence};

/// The state of all tablets.
pub struct Gate {
    /// By tablet. Written by the collector's thread; release and acquire, so that a thread that sees a tablet open
    /// again sees the agent's writes, by way of the pager.
    states: Box<[AtomicU32]>,
    /// Number of the next call of [`close`](Gate::close). The collector's thread alone uses it.
    rounds: AtomicU32,
    /// Held while a closing tablet is used, and while it departs.
    lock: Mutex<()>,
    released: Condvar,
}

impl Gate {
    pub fn new(tablets: usize) -> Gate {
        Gate {
            states: (0..tablets).map(|_| AtomicU32::new(OPEN)).collect(),
            rounds: AtomicU32::new(0),
            lock: Mutex::new(()),
            released: Condvar::new(),
        }
    }

    /// Address of the tablets' states, 32 bits each, 0 for open: a thread that loads that, acquire, may use the
    /// tablet's entries until its next poll, as in [`try_use`](Gate::try_use).
    pub fn states(&self) -> u64 {
        self.states.as_ptr() as u64
    }

    /// Uses entries of a tablet; `None`, and nothing is done, when it is away. On a running
    /// mutator. While the tablet is closing `look` comes first: it may only read, perhaps of a tablet that has departed
    /// or come back meanwhile, and returns nothing if that is not enough.
    #[inline]
    pub fn try_use<R>(
        &self,
        tablet: TabletId,
        look: impl FnOnce() -> Option<R>,
        action: impl FnOnce() -> R,
    ) -> Option<R> {
        let state = || self.state(tablet).load(Ordering::Acquire);
        let before = state();
        match before & KIND {
            OPEN => return Some(action()),
            CLOSING => {
                let seen = look();
                fence(Ordering::Acquire);
                if seen.is_some() && state() == before {
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

    /// Returns when a tablet that was away is not. Its state by then must be read anew.
    pub fn wait(&self, tablet: TabletId) {
        let mut lock = self.lock.lock();
        while self.state(tablet).load(Ordering::Relaxed) == AWAY {
            self.released.wait(&mut lock);
        }
    }

    /// Open -> closing, in a new round. A handshake with all mutators must follow. The collector's thread.
    pub fn close(&self, tablets: &[TabletId]) {
        // Numbers wrap after 2^30 rounds. A thread that looks holds up the handshake of the next one.
        let round = self.rounds.fetch_add(1, Ordering::Relaxed);
        let closing = round << ROUND_SHIFT | CLOSING;
        tablets.iter().for_each(|t| self.state(*t).store(closing, Ordering::SeqCst));
    }

    /// Closing -> away, after the handshake: from now on no mutator uses them.
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

/// The states. Above a closing one's two bits: the number of its round.
const OPEN: u32 = 0;
const CLOSING: u32 = 1;
const AWAY: u32 = 2;
const KIND: u32 = 3;
const ROUND_SHIFT: u32 = 2;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Results of reading without the lock count only while the tablet is closing.
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

    #[test]
    fn what_was_seen_in_a_round_before_does_not_count() {
        let gate = Gate::new(1);
        let tablets = [TabletId(0)];
        gate.close(&tablets);
        let seen_a_round_ago = || {
            gate.depart(&tablets);
            gate.release(&tablets);
            gate.close(&tablets);
            Some("seen")
        };
        assert_eq!(gate.try_use(tablets[0], seen_a_round_ago, || "used"), Some("used"));
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::super::group_table::GroupTable;
    use super::*;
    use crate::object::geometry::RegionId;
    use crate::threads::rendezvous::{Rendezvous, ThreadPoint};
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

    // SAFETY: the model checks accesses to the cell.
    unsafe impl Sync for World {}
    // SAFETY: as above.
    unsafe impl Send for World {}

    const TABLET: TabletId = TabletId(0);

    /// A mutator's use of an entry and the agent's never overlap, and no thread waits for ever.
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

    /// Two regions of one tablet that are evacuated in two rounds, as [`Evacuations`](super::super::evacuation) does
    /// it: with the table of groups and the real look.
    struct TwoRounds {
        gate: Gate,
        groups: GroupTable,
        rendezvous: Rendezvous<Thread>,
        /// The region that the tablet's entry names.
        entry: AtomicU32,
        /// Stands for the memory of the first region, which is freed after the first round.
        freed: loom::cell::UnsafeCell<bool>,
    }

    // SAFETY: the model checks accesses to the cell.
    unsafe impl Sync for TwoRounds {}
    // SAFETY: as above.
    unsafe impl Send for TwoRounds {}

    const FIRST: RegionId = RegionId(0);
    const SECOND: RegionId = RegionId(1);
    const TO: RegionId = RegionId(2);

    impl TwoRounds {
        fn look(&self) -> Result<RegionId, u32> {
            self.groups.unless_moving(|| {
                let region = RegionId(self.entry.load(Ordering::Acquire));
                (region, region)
            })
        }

        /// The actions of the load barrier; its object lies in the region that this returns.
        fn resolve(&self) -> Option<RegionId> {
            self.gate.try_use(
                TABLET,
                || self.look().ok(),
                || {
                    self.look().unwrap_or_else(|_number| {
                        self.entry.store(TO.0, Ordering::Release);
                        TO
                    })
                },
            )
        }

        /// A round for the group of one region.
        fn evacuate(&self, from: RegionId) {
            self.gate.close(&[TABLET]);
            self.rendezvous.handshake(None, &|_| ());
            self.gate.depart(&[TABLET]);
            if from == FIRST {
                self.entry.store(TO.0, Ordering::Release);
            }
            self.groups.end(from);
            self.gate.release(&[TABLET]);
        }
    }

    /// No thread gets the address of an object in a free region, even if the tablet is closing again when the thread
    /// that looks continues.
    #[test]
    fn what_is_found_while_a_tablet_closes_is_not_of_the_round_before() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let world = Arc::new(TwoRounds {
                gate: Gate::new(1),
                groups: GroupTable::new(3),
                rendezvous: Rendezvous::new(),
                entry: AtomicU32::new(FIRST.0),
                freed: loom::cell::UnsafeCell::new(false),
            });
            world.groups.begin(FIRST, 0);
            world.groups.begin(SECOND, 1);
            let mutator = Arc::new(Thread(ThreadPoint::new()));
            world.rendezvous.attach(&mutator, |_| ());
            let theirs = world.clone();
            let collector = loom::thread::spawn(move || {
                theirs.evacuate(FIRST);
                // SAFETY: loom reports the access if a thread reads the region.
                theirs.freed.with_mut(|freed| unsafe { *freed = true });
                theirs.evacuate(SECOND);
            });
            for _ in 0..2 {
                if mutator.0.poll_requested() {
                    world.rendezvous.pass(&mutator);
                }
                let region = loop {
                    if let Some(region) = world.resolve() {
                        break region;
                    }
                    world.rendezvous.enter_waiting(&mutator);
                    world.gate.wait(TABLET);
                    world.rendezvous.leave_waiting(&mutator);
                };
                if region == FIRST {
                    // SAFETY: as above.
                    world.freed.with(|freed| unsafe { assert!(!*freed, "the region is free") });
                }
            }
            world.rendezvous.enter_safe(&mutator);
            collector.join().unwrap();
        });
    }
}
