//! Monitors: `synchronized`, `Object.wait` and `notify`, identity hash codes.
//!
//! An uncontended lock is a bit of the object's header and a place on its owner's
//! [`LockStack`](super::lock_stack::LockStack). The first thread that has to wait inflates it: the state moves to a
//! [`Monitor`]. The protocol is [`lock`](super::lock).

use super::inflated::{Inflated, UNKNOWN};
pub use super::lock::NotOwner;
use super::lock::{Lock, Monitors};
use super::lock_word::{HASH_MAX, LockState, hash_of_entry, value, with_value};
use super::status;
use super::table::Monitor;
use crate::machine::JavaThread;
use gc::object::ObjectRef;
use gc::object::log::{LogLevel, LogLine};
use std::sync::atomic::{AtomicU64, Ordering};

/// Enters the monitor of a non-null object. A safepoint when it has to wait.
#[inline]
pub fn enter(t: &JavaThread, object: ObjectRef) {
    if !lock_of(t, object).enter_quickly() {
        enter_slow(t, object);
    }
}

/// Leaves it.
#[inline]
pub fn exit(t: &JavaThread, object: ObjectRef) -> Result<(), NotOwner> {
    let lock = lock_of(t, object);
    if lock.exit_quickly() { Ok(()) } else { exit_slow(lock) }
}

#[inline(never)]
fn enter_slow(t: &JavaThread, mut object: ObjectRef) {
    loop {
        let lock = lock_of(t, object);
        let Err(monitor) = lock.enter() else { return };
        // Keeps the object, and so the monitor, alive.
        t.wanted_monitor.set(object);
        let is_entered = status::waiting(t, status::BLOCKED, || monitor.enter(t.id));
        object = t.wanted_monitor.replace(ObjectRef::NULL);
        if is_entered {
            return;
        }
        // The monitor is being taken from the object, whose lock is free again in a moment.
        std::thread::yield_now();
    }
}

#[inline(never)]
fn exit_slow(lock: Lock<AtomicU64, Table>) -> Result<(), NotOwner> {
    lock.exit()
}

/// The object's monitor, made if it has none. No safepoint. Stays the object's until the thread's next safepoint, and
/// as long as the thread owns it. If this thread owns the object's lock, it owns the monitor.
pub fn inflate(t: &JavaThread, object: ObjectRef) -> &'static Monitor {
    t.vm.threads.monitors.get(lock_of(t, object).inflate())
}

#[inline]
fn lock_of(t: &JavaThread, object: ObjectRef) -> Lock<'_, AtomicU64, Table<'_>> {
    let header = object.header();
    Lock { header, object, stack: &t.locks, me: t.id, monitors: Table { t, object } }
}

/// The VM's monitors, to a thread that may make one for an object.
struct Table<'a> {
    t: &'a JavaThread,
    object: ObjectRef,
}

impl Monitors for Table<'_> {
    fn prepare(&self) {
        if self.t.vm.threads.monitors.are_by_entry() {
            self.t.vm.heap.entry(self.object);
        }
    }

    fn index(&self, header: u64) -> u32 {
        self.t.vm.threads.monitors.index(key(self.t, self.object, header))
    }

    fn make(&self, header: u64) -> u32 {
        let table = &self.t.vm.threads.monitors;
        let index = table.take();
        let monitor = table.get(index);
        monitor.value.store(key(self.t, self.object, header), Ordering::Relaxed);
        self.t.store_root(&monitor.object, self.object);
        index
    }

    fn publish(&self, header: u64, index: u32) -> bool {
        let table = &self.t.vm.threads.monitors;
        if !table.publish(self.object.header(), header, index) {
            return false;
        }
        if self.t.vm.options.log.wants_monitors() {
            let what = match LockState::of(header) {
                LockState::Locked => "inflate(has_locker)",
                _ => "inflate(neutral)",
            };
            log(self.t, what, self.object);
        }
        if table.is_crowded() {
            // At its next poll this thread retires those that are idle.
            self.t.mutator.request_poll();
        }
        true
    }

    fn give_back(&self, index: u32) {
        let empty = |slot: &_| self.t.store_root(slot, ObjectRef::NULL);
        self.t.vm.threads.monitors.give_back(index, empty);
    }

    fn lock(&self, index: u32) -> &Inflated {
        &self.t.vm.threads.monitors.get(index).lock
    }
}

/// The monitor of an object that this thread must own.
pub fn owned(t: &JavaThread, object: ObjectRef) -> Result<&'static Monitor, NotOwner> {
    if !is_held(t, object) {
        return Err(NotOwner);
    }
    Ok(inflate(t, object))
}

/// Whether this thread owns the monitor of a non-null object.
pub fn is_held(t: &JavaThread, object: ObjectRef) -> bool {
    lock_of(t, object).is_held()
}

/// The number of the thread that owns the monitor of a non-null object, or 0. Of another thread that enters and
/// leaves meanwhile, it may be out of date. Takes the lock of the list of threads.
pub fn owner(t: &JavaThread, object: ObjectRef) -> u32 {
    let header = object.header().load(Ordering::Acquire);
    match LockState::of(header) {
        LockState::Free => 0,
        LockState::Locked => find_owner(t, object),
        LockState::Inflated => match monitor_of(t, object, header).lock.owner() {
            UNKNOWN => find_owner(t, object),
            owner => owner,
        },
    }
}

/// The monitor of an object with this inflated header.
fn monitor_of(t: &JavaThread, object: ObjectRef, header: u64) -> &'static Monitor {
    let table = &t.vm.threads.monitors;
    table.get(table.index(key(t, object, header)))
}

/// What leads to the monitor of an object with this header: its entry, or the header's value.
fn key(t: &JavaThread, object: ObjectRef, header: u64) -> u32 {
    match t.vm.threads.monitors.are_by_entry() {
        true => t.vm.heap.entry(object),
        false => value(header),
    }
}

/// The number of the thread whose lock stack has the object, or 0.
fn find_owner(t: &JavaThread, object: ObjectRef) -> u32 {
    let mut owner = 0;
    t.vm.threads.for_each(&mut |thread| {
        if thread.locks.contains(object) {
            owner = thread.id;
        }
    });
    owner
}

/// `Object.notify` or `notifyAll`.
pub fn notify(t: &JavaThread, object: ObjectRef, all: bool) -> Result<(), NotOwner> {
    let state = LockState::of(object.header().load(Ordering::Acquire));
    // Without a monitor there are no waiters: they would have inflated it.
    if t.locks.contains(object) && state == LockState::Locked {
        return Ok(());
    }
    owned(t, object)?.lock.notify(all);
    Ok(())
}

/// The identity hash code of a non-null object: positive, stable over moves. It is made of the object's entry, or kept
/// in its header or monitor. No safepoint.
pub fn identity_hash(t: &JavaThread, object: ObjectRef) -> i32 {
    if t.vm.threads.monitors.are_by_entry() {
        return hash_of_entry(t.vm.heap.entry(object)) as i32;
    }
    let word = object.header();
    loop {
        let header = word.load(Ordering::Acquire);
        if LockState::of(header) == LockState::Inflated {
            return hash_of(t, monitor_of(t, object, header)) as i32;
        }
        if value(header) != 0 {
            return value(header) as i32;
        }
        let hash = new_hash(t);
        let new = with_value(header, hash);
        if word.compare_exchange(header, new, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            return hash as i32;
        }
    }
}

/// When there are many monitors, takes those from their objects whose locks are idle. A safepoint.
pub fn retire_idle(t: &JavaThread) {
    if t.vm.threads.monitors.take_crowded() {
        retire_all_idle(t);
    }
}

/// Takes monitors whose locks are idle from their objects. A safepoint.
pub fn retire_all_idle(t: &JavaThread) {
    let table = &t.vm.threads.monitors;
    let (retired, used) = table.retire();
    for index in &retired {
        deflate(t, *index);
    }
    // Threads that have read an inflated word have gone on, or pinned the monitor.
    t.vm.heap.stop_world(Some(&t.mutator), &mut |_| ());
    let retired = table.free_retired(retired, |slot| t.store_root(slot, ObjectRef::NULL));
    let message = format!("Retired {retired} of {used} monitors, which were idle");
    let line = LogLine { level: LogLevel::Debug, tags: "monitorinflation", message: &message };
    t.vm.options.log.line(line);
}

/// Takes a retired monitor from its object, if that lives. No safepoint.
fn deflate(t: &JavaThread, index: u32) {
    let monitor = t.vm.threads.monitors.get(index);
    let object = t.barriers().load_weak_root(&t.mutator, &monitor.object);
    if object.is_null() {
        return;
    }
    let table = &t.vm.threads.monitors;
    if !table.are_by_entry() {
        // A thread that asks the monitor for a hash meanwhile gets the one that the object will have.
        hash_of(t, monitor);
    }
    if t.vm.options.log.wants_monitors() {
        log(t, "deflate_monitor", object);
    }
    table.deflate(object.header(), index);
}

/// Logs what happens to an inflated object, in the words of HotSpot.
#[cold]
fn log(t: &JavaThread, what: &str, object: ObjectRef) {
    let (at, mark) = (object.address(), object.header().load(Ordering::Relaxed));
    let class = t.klass_of(object).java_name();
    let message = format!("{what}: object={at:#018x}, mark={mark:#018x}, type='{class}'");
    let line = LogLine { level: LogLevel::Trace, tags: "monitorinflation", message: &message };
    t.vm.options.log.line(line);
}

/// The hash that a monitor keeps for its object, made if there is none.
fn hash_of(t: &JavaThread, monitor: &Monitor) -> u32 {
    let new = new_hash(t);
    let old = monitor.value.compare_exchange(0, new, Ordering::AcqRel, Ordering::Acquire);
    old.map_or_else(|known| known, |_| new)
}

fn new_hash(t: &JavaThread) -> u32 {
    t.sync.next_hash() % HASH_MAX + 1
}
