//! The protocol of one object's lock, over the word in its header, the lock stacks of threads, and monitors.
//!
//! ```text
//!         enter: compare-and-set, push          enter by another, stack full, entered out of turn, wait
//!  free ─────────────────────────────► locked ────────────────────────────────────────────► inflated
//!   ▲   ◄─────────────────────────────                                                          │
//!   │     exit: compare-and-set, pop                                                            │
//!   └───────────────────────────────────────────────────────────────────────────────────────────┘
//!                              retire, when no thread needs the monitor
//! ```
//!
//! A thread that inflates an object that another has locked does not know the owner, and makes the monitor say so. The
//! owner finds that out when it next enters or leaves: the object is on its stack, so it claims the monitor. An object
//! is on a thread's stack exactly if its word says locked and that thread is the owner, or it is inflated and the owner
//! has not claimed the monitor yet.

use super::inflated::{Inflated, UNKNOWN};
use super::lock_stack::LockStack;
use super::lock_word::LockState;
use gc::object::ObjectRef;
use std::sync::atomic::{AtomicU64, Ordering};

/// This thread does not own the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotOwner;

/// The monitors of inflated objects.
pub trait Monitors {
    /// The object gets a monitor, if it has none: its header may change first.
    fn prepare(&self) {}
    /// The index of the monitor that an inflated header has.
    fn index(&self, header: u64) -> u32;
    /// A monitor for an object with this header, which is not inflated; no other thread sees it yet.
    fn make(&self, header: u64) -> u32;
    /// Inflates the header, which then has this monitor. False, and nothing is done, if it is another by now.
    fn publish(&self, header: u64, index: u32) -> bool;
    /// The monitor was not needed.
    fn give_back(&self, index: u32);
    fn lock(&self, index: u32) -> &Inflated;
}

/// A header.
pub trait Word {
    fn load(&self) -> u64;
    /// A compare-and-set; whether it succeeded.
    fn replace(&self, from: u64, to: u64) -> bool;
}

/// One object's lock as one thread sees it. No operation blocks or reaches a safepoint.
pub struct Lock<'a, W, M> {
    pub header: &'a W,
    pub object: ObjectRef,
    /// The thread's own.
    pub stack: &'a LockStack,
    /// The thread's number.
    pub me: u32,
    pub monitors: M,
}

impl<W: Word, M: Monitors> Lock<'_, W, M> {
    /// Enters if that takes no monitor. Compiled code does the same (`vm/src/jit/translate/locks.rs`).
    #[inline]
    pub fn enter_quickly(&self) -> bool {
        if self.stack.is_full() {
            return false;
        }
        if self.stack.last() != self.object {
            let header = self.header.load();
            if LockState::of(header) != LockState::Free
                || !self.header.replace(header, LockState::Locked.set(header))
            {
                return false;
            }
        }
        self.stack.push(self.object);
        true
    }

    /// Enters, or says which monitor to wait for; it is pinned.
    pub fn enter(&self) -> Result<(), &Inflated> {
        while LockState::of(self.header.load()) == LockState::Free && !self.stack.is_full() {
            if self.enter_quickly() {
                return Ok(());
            }
        }
        let monitor = self.monitors.lock(self.inflate());
        if monitor.try_enter(self.me) {
            return Ok(());
        }
        monitor.pin();
        Err(monitor)
    }

    /// Leaves once if that takes no monitor. Compiled code does the same.
    #[inline]
    pub fn exit_quickly(&self) -> bool {
        if self.stack.last() != self.object {
            return false;
        }
        if self.stack.last_but_one() != self.object {
            let header = self.header.load();
            if LockState::of(header) != LockState::Locked
                || !self.header.replace(header, LockState::Free.set(header))
            {
                return false;
            }
        }
        self.stack.pop();
        true
    }

    /// Leaves once.
    pub fn exit(&self) -> Result<(), NotOwner> {
        loop {
            let header = self.header.load();
            match LockState::of(header) {
                LockState::Locked => match self.stack.count(self.object) {
                    0 => return Err(NotOwner),
                    1 if !self.header.replace(header, LockState::Free.set(header)) => continue,
                    _ => {
                        self.stack.remove(self.object);
                        return Ok(());
                    }
                },
                LockState::Free => return Err(NotOwner),
                LockState::Inflated => {
                    let monitor = self.monitors.lock(self.monitors.index(header));
                    self.claim(monitor);
                    if !monitor.is_owned_by(self.me) {
                        return Err(NotOwner);
                    }
                    monitor.exit(self.me);
                    return Ok(());
                }
            }
        }
    }

    /// The index of the object's monitor, which is made if there is none. If this thread owns the lock, it owns the
    /// monitor afterwards.
    pub fn inflate(&self) -> u32 {
        self.monitors.prepare();
        loop {
            let header = self.header.load();
            let state = LockState::of(header);
            if state == LockState::Inflated {
                let index = self.monitors.index(header);
                self.claim(self.monitors.lock(index));
                return index;
            }
            let index = self.monitors.make(header);
            let monitor = self.monitors.lock(index);
            monitor.begin(if state == LockState::Locked { UNKNOWN } else { 0 }, 0);
            if self.monitors.publish(header, index) {
                self.claim(monitor);
                return index;
            }
            self.monitors.give_back(index);
        }
    }

    /// Whether this thread owns the lock.
    pub fn is_held(&self) -> bool {
        let header = self.header.load();
        self.stack.contains(self.object)
            || LockState::of(header) == LockState::Inflated
                && self.monitors.lock(self.monitors.index(header)).is_owned_by(self.me)
    }

    /// The owner of an object that was locked before it was inflated says who it is.
    fn claim(&self, monitor: &Inflated) {
        if monitor.owner() == UNKNOWN
            && let Some(recursion) = self.stack.remove_all(self.object).checked_sub(1)
        {
            monitor.begin(self.me, recursion);
        }
    }
}

impl Word for AtomicU64 {
    #[inline]
    fn load(&self) -> u64 {
        self.load(Ordering::Acquire)
    }

    #[inline]
    fn replace(&self, from: u64, to: u64) -> bool {
        self.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::lock_word::with_value;
    use super::*;

    /// One object, which may get one monitor.
    #[derive(Default)]
    struct World {
        header: AtomicU64,
        monitor: Inflated,
    }

    impl Monitors for &World {
        fn index(&self, _header: u64) -> u32 {
            0
        }

        fn make(&self, _header: u64) -> u32 {
            0
        }

        fn publish(&self, header: u64, index: u32) -> bool {
            self.header.replace(header, with_value(LockState::Inflated.set(header), index))
        }

        fn give_back(&self, _index: u32) {}

        fn lock(&self, _index: u32) -> &Inflated {
            &self.monitor
        }
    }

    fn lock<'a>(world: &'a World, stack: &'a LockStack, me: u32) -> Lock<'a, AtomicU64, &'a World> {
        let object = ObjectRef::from_address(8);
        Lock { header: &world.header, object, stack, me, monitors: world }
    }

    #[test]
    fn a_lock_that_nobody_contends_for_takes_no_monitor() {
        let (world, stacks) = (World::default(), [LockStack::default(), LockStack::default()]);
        let (mine, other) = (lock(&world, &stacks[0], 1), lock(&world, &stacks[1], 2));
        assert_eq!(mine.exit(), Err(NotOwner));
        assert!(mine.enter_quickly() && mine.enter_quickly());
        assert!(mine.is_held() && !other.is_held());
        assert!(!other.enter_quickly() && other.exit() == Err(NotOwner));
        assert!(mine.exit_quickly() && mine.is_held());
        assert!(mine.exit_quickly() && !mine.is_held());
        assert_eq!(Word::load(&world.header), 0);
        assert!(other.enter_quickly() && other.exit_quickly());
    }

    #[test]
    fn the_owner_claims_the_monitor_that_another_made() {
        let (world, stacks) = (World::default(), [LockStack::default(), LockStack::default()]);
        let (mine, other) = (lock(&world, &stacks[0], 1), lock(&world, &stacks[1], 2));
        assert!(mine.enter_quickly() && mine.enter_quickly());
        assert!(other.enter().is_err() && world.monitor.is_pinned());
        assert_eq!(world.monitor.owner(), UNKNOWN);
        // Once more than the other saw.
        assert!(mine.enter_quickly());
        assert!(mine.is_held() && !other.is_held());
        for _ in 0..2 {
            mine.exit().unwrap();
        }
        assert!(mine.is_held() && stacks[0].is_empty());
        assert!(other.enter().is_err());
        mine.exit().unwrap();
        assert!(!mine.is_held() && other.enter().is_ok() && other.is_held());
        other.exit().unwrap();
        assert_eq!(other.exit(), Err(NotOwner));
    }

    #[test]
    fn an_object_entered_out_of_turn_and_a_full_stack_take_monitors() {
        let (world, stack) = (World::default(), LockStack::default());
        let mine = lock(&world, &stack, 1);
        let another = ObjectRef::from_address(16);
        assert!(mine.enter_quickly());
        stack.push(another);
        assert!(!mine.enter_quickly() && mine.enter().is_ok());
        assert!(mine.is_held() && stack.last() == another && stack.count(mine.object) == 0);
        mine.exit().unwrap();
        mine.exit().unwrap();
        assert_eq!(mine.exit(), Err(NotOwner));
        let world = World::default();
        let mine = lock(&world, &stack, 1);
        while !stack.is_full() {
            stack.push(another);
        }
        assert!(!mine.enter_quickly() && mine.enter().is_ok() && mine.is_held());
        mine.exit().unwrap();
    }

    #[test]
    fn a_hash_stays_while_the_lock_is_entered_and_left() {
        let (world, stack) = (World::default(), LockStack::default());
        let hashed = with_value(0, 77);
        world.header.store(hashed, Ordering::Relaxed);
        let mine = lock(&world, &stack, 1);
        assert!(mine.enter_quickly());
        assert_eq!(Word::load(&world.header), LockState::Locked.set(hashed));
        // Left out of turn.
        stack.push(ObjectRef::from_address(16));
        mine.exit().unwrap();
        assert_eq!(Word::load(&world.header), hashed);
        assert_eq!(stack.count(mine.object), 0);
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::super::lock_word::{value, with_value};
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64;

    impl Word for AtomicU64 {
        fn load(&self) -> u64 {
            self.load(Ordering::Acquire)
        }

        fn replace(&self, from: u64, to: u64) -> bool {
            self.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        }
    }

    /// One object, and a monitor for each thread that may want to inflate it.
    struct World {
        header: AtomicU64,
        monitors: [Inflated; 3],
        /// What the lock guards; loom reports accesses that race.
        value: UnsafeCell<u32>,
    }

    // SAFETY: the model checks the accesses of the cell.
    unsafe impl Sync for World {}
    // SAFETY: as above.
    unsafe impl Send for World {}

    /// The monitors as the thread of this number sees them: it takes its own one.
    struct Mine<'a>(&'a World, u32);

    impl Monitors for Mine<'_> {
        fn index(&self, header: u64) -> u32 {
            value(header)
        }

        fn make(&self, _header: u64) -> u32 {
            self.1
        }

        fn publish(&self, header: u64, index: u32) -> bool {
            let inflated = with_value(LockState::Inflated.set(header), index);
            self.0.header.replace(header, inflated)
        }

        fn give_back(&self, _index: u32) {}

        fn lock(&self, index: u32) -> &Inflated {
            &self.0.monitors[index as usize]
        }
    }

    fn world() -> Arc<World> {
        let monitors = std::array::from_fn(|_| Inflated::default());
        Arc::new(World { header: AtomicU64::new(0), monitors, value: UnsafeCell::new(0) })
    }

    /// What a thread does: enters `times` times, adds, leaves.
    fn add(world: &World, me: u32, times: u32) {
        let stack = LockStack::default();
        let object = ObjectRef::from_address(8);
        let lock =
            Lock { header: &world.header, object, stack: &stack, me, monitors: Mine(world, me) };
        for _ in 0..times {
            while !lock.enter_quickly()
                && let Err(monitor) = lock.enter()
                && !monitor.enter(me)
            {
                loom::thread::yield_now();
            }
            assert!(lock.is_held());
        }
        // SAFETY: loom reports the access if it races.
        world.value.with_mut(|value| unsafe { *value += 1 });
        for _ in 0..times {
            if !lock.exit_quickly() {
                lock.exit().expect("the thread has entered");
            }
        }
        assert!(!lock.is_held() && stack.is_empty());
    }

    fn check(times: u32) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(4);
        builder.check(move || {
            let world = world();
            let other = world.clone();
            let thread = loom::thread::spawn(move || add(&other, 1, times));
            add(&world, 2, 1);
            thread.join().unwrap();
            // SAFETY: the thread has ended.
            world.value.with(|value| assert_eq!(unsafe { *value }, 2));
        });
    }

    /// Threads exclude each other, and none is left asleep, whoever makes the monitor.
    #[test]
    fn lockers_exclude_each_other() {
        check(1);
    }

    #[test]
    fn an_owner_that_has_entered_twice_claims_as_much() {
        check(2);
    }

    /// A hash that comes meanwhile, and a third party that inflates, lose nothing.
    #[test]
    fn hashes_and_monitors_may_come_at_any_time() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(4);
        builder.check(|| {
            let world = world();
            let other = world.clone();
            let thread = loom::thread::spawn(move || add(&other, 1, 1));
            let stack = LockStack::default();
            let object = ObjectRef::from_address(8);
            let (header, monitors) = (&world.header, Mine(&world, 2));
            let lock = Lock { header, object, stack: &stack, me: 2, monitors };
            let old = Word::load(header);
            if LockState::of(old) != LockState::Inflated {
                // It may fail: the other thread has changed the header.
                header.replace(old, with_value(old, 77));
            }
            let index = lock.inflate();
            let now = Word::load(header);
            assert_eq!((LockState::of(now), value(now)), (LockState::Inflated, index));
            thread.join().unwrap();
            assert_eq!(world.monitors[index as usize].owner(), 0);
        });
    }

    /// A monitor is taken from its object while threads enter and leave: it takes part in nothing any more.
    #[test]
    fn a_retired_monitor_is_left_alone() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(4);
        builder.check(|| {
            let world = world();
            let stack = LockStack::default();
            let object = ObjectRef::from_address(8);
            let (header, monitors) = (&world.header, Mine(&world, 2));
            let lock = Lock { header, object, stack: &stack, me: 2, monitors };
            let index = lock.inflate();
            let other = world.clone();
            let thread = loom::thread::spawn(move || add(&other, 1, 1));
            let monitor = &world.monitors[index as usize];
            let is_retired = monitor.try_retire();
            if is_retired {
                let inflated = Word::load(header);
                assert!(header.replace(inflated, with_value(LockState::Free.set(inflated), 77)));
            }
            thread.join().unwrap();
            assert!(!monitor.is_pinned());
            let now = Word::load(header);
            let now = (LockState::of(now), value(now));
            // The other thread may have begun to look for a monitor before this one was retired, and made its own.
            match is_retired {
                true => assert!(
                    now == (LockState::Free, 77) || now == (LockState::Inflated, 1),
                    "{now:?}"
                ),
                false => assert_eq!(now, (LockState::Inflated, index)),
            }
            // SAFETY: the thread has ended.
            world.value.with(|value| assert_eq!(unsafe { *value }, 1));
        });
    }
}
