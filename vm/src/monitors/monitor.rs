//! Monitors: `synchronized`, `Object.wait` and `notify`, identity hash codes.
//!
//! Uncontended locks live in the object's lock word ([`lock_word`]). The first thread that has
//! to wait, or that needs both lock and hash, inflates it: the state moves to a [`Monitor`].

use super::lock_word::{self, FREE, HASH_MAX, LockWord, RECURSION_MAX};
use super::status;
use super::table::Monitor;
use crate::machine::JavaThread;
use gc::object::ObjectRef;
use std::sync::atomic::Ordering;

/// This thread does not own the monitor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotOwner;

/// Enters the monitor of a non-null object. A safepoint when it has to wait.
#[inline]
pub fn enter(t: &JavaThread, object: ObjectRef) {
    let thin = lock_word::thin(t.id);
    let word = object.lock_word();
    if word.compare_exchange(FREE, thin, Ordering::Acquire, Ordering::Relaxed).is_err() {
        enter_slow(t, object);
    }
}

/// Leaves it.
#[inline]
pub fn exit(t: &JavaThread, object: ObjectRef) -> Result<(), NotOwner> {
    let thin = lock_word::thin(t.id);
    let word = object.lock_word();
    if word.compare_exchange(thin, FREE, Ordering::Release, Ordering::Relaxed).is_ok() {
        return Ok(());
    }
    exit_slow(t, object)
}

#[inline(never)]
fn enter_slow(t: &JavaThread, object: ObjectRef) {
    if let Some(recursion) = own_thin(t, object)
        && recursion < RECURSION_MAX
        && set_recursion(t, object, recursion, recursion + 1)
    {
        return;
    }
    let monitor = inflate(t, object);
    if monitor.lock.try_enter(t.id) {
        return;
    }
    // Keeps the object, and so the monitor, alive.
    t.wanted_monitor.set(object);
    status::waiting(t, status::BLOCKED, || monitor.lock.enter(t.id));
    t.wanted_monitor.set(ObjectRef::NULL);
}

#[inline(never)]
fn exit_slow(t: &JavaThread, object: ObjectRef) -> Result<(), NotOwner> {
    if let Some(recursion) = own_thin(t, object)
        && recursion > 0
        && set_recursion(t, object, recursion, recursion - 1)
    {
        return Ok(());
    }
    owned(t, object)?.lock.exit(t.id);
    Ok(())
}

/// The recursion of a thin lock of this thread.
fn own_thin(t: &JavaThread, object: ObjectRef) -> Option<u32> {
    match LockWord::decode(object.lock_word().load(Ordering::Relaxed)) {
        LockWord::Thin { owner, recursion } if owner == t.id => Some(recursion),
        _ => None,
    }
}

fn set_recursion(t: &JavaThread, object: ObjectRef, from: u32, to: u32) -> bool {
    let word = |recursion| LockWord::Thin { owner: t.id, recursion }.encode();
    object
        .lock_word()
        .compare_exchange(word(from), word(to), Ordering::Relaxed, Ordering::Relaxed)
        .is_ok()
}

/// The object's monitor, made if it has none. No safepoint. Stays the object's as long as that lives.
pub fn inflate(t: &JavaThread, object: ObjectRef) -> &'static Monitor {
    let table = &t.vm.threads.monitors;
    loop {
        let word = object.lock_word().load(Ordering::Acquire);
        let (hash, owner, recursion) = match LockWord::decode(word) {
            LockWord::Inflated { index } => return table.get(index),
            LockWord::Neutral { hash } => (hash, 0, 0),
            LockWord::Thin { owner, recursion } => (0, owner, recursion),
        };
        let index = table.take();
        let monitor = table.get(index);
        monitor.lock.begin(owner, recursion);
        monitor.hash.store(hash, Ordering::Relaxed);
        t.store_root(&monitor.object, object);
        table.use_for_object(index);
        let inflated = LockWord::Inflated { index }.encode();
        let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
        if object.lock_word().compare_exchange(word, inflated, success, failure).is_ok() {
            return monitor;
        }
        table.give_back(index, |slot| t.store_root(slot, ObjectRef::NULL));
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
    owner(t, object) == t.id
}

/// The number of the thread that owns the monitor of a non-null object, or 0.
pub fn owner(t: &JavaThread, object: ObjectRef) -> u32 {
    match LockWord::decode(object.lock_word().load(Ordering::Acquire)) {
        LockWord::Neutral { .. } => 0,
        LockWord::Thin { owner, .. } => owner,
        LockWord::Inflated { index } => t.vm.threads.monitors.get(index).lock.owner(),
    }
}

/// `Object.notify` or `notifyAll`.
pub fn notify(t: &JavaThread, object: ObjectRef, all: bool) -> Result<(), NotOwner> {
    // A thin lock has no waiters: they would have inflated it.
    if own_thin(t, object).is_some() {
        return Ok(());
    }
    owned(t, object)?.lock.notify(all);
    Ok(())
}

/// The identity hash code of a non-null object: positive, stable over moves, kept in its lock word or monitor.
/// No safepoint.
pub fn identity_hash(t: &JavaThread, object: ObjectRef) -> i32 {
    let word = object.lock_word();
    if let LockWord::Neutral { hash } = LockWord::decode(word.load(Ordering::Acquire)) {
        if hash != 0 {
            return hash as i32;
        }
        let hash = t.sync.next_hash() % HASH_MAX + 1;
        let new = LockWord::Neutral { hash }.encode();
        if word.compare_exchange(FREE, new, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            return hash as i32;
        }
    }
    if let LockWord::Neutral { hash } = LockWord::decode(word.load(Ordering::Acquire))
        && hash != 0
    {
        return hash as i32;
    }
    let hash = &inflate(t, object).hash;
    let new = t.sync.next_hash() % HASH_MAX + 1;
    match hash.compare_exchange(0, new, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => new as i32,
        Err(known) => known as i32,
    }
}
