//! Monitors: `synchronized`, `Object.wait` and `notify`, identity hash codes.
//!
//! Uncontended locks live in the object's lock word ([`lock_word`](super::lock_word)). The first thread that has
//! to wait, and whoever needs both lock and hash, inflates it: the state moves to a [`Monitor`].

use super::lock_word::{self, FREE, HASH_MAX, LockWord, RECURSION_MAX};
use super::table::Monitor;
use super::{status, time};
use crate::loading::errors;
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult};
use crate::threads::interrupt;
use gc::object::ObjectRef;
use std::sync::atomic::Ordering;

/// Enters the monitor of a non-null object. A safepoint when it has to wait.
#[inline]
pub fn enter(t: &JavaThread, object: ObjectRef) -> JResult<()> {
    let thin = lock_word::thin(t.id);
    let word = object.lock_word();
    if word.compare_exchange(FREE, thin, Ordering::Acquire, Ordering::Relaxed).is_err() {
        enter_slow(t, object);
    }
    Ok(())
}

/// As `enter`, for native code, which may forget to leave: the monitor is inflated, so that it is found when the
/// thread ends.
pub fn enter_from_native(t: &JavaThread, object: Handle) -> JResult<()> {
    enter(t, object.get())?;
    inflate(t, object.get());
    t.native_monitors.set(t.native_monitors.get() + 1);
    Ok(())
}

/// As `exit`, for native code.
pub fn exit_from_native(t: &JavaThread, object: Handle) -> JResult<()> {
    exit(t, object.get())?;
    t.native_monitors.set(t.native_monitors.get().saturating_sub(1));
    Ok(())
}

/// Leaves it; `IllegalMonitorStateException` when this thread is not the owner.
#[inline]
pub fn exit(t: &JavaThread, object: ObjectRef) -> JResult<()> {
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
fn exit_slow(t: &JavaThread, object: ObjectRef) -> JResult<()> {
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
fn inflate(t: &JavaThread, object: ObjectRef) -> &'static Monitor {
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
fn owned(t: &JavaThread, object: ObjectRef) -> JResult<&'static Monitor> {
    if !is_held(t, object) {
        let message = "current thread is not owner";
        return errors::fail(t, "java/lang/IllegalMonitorStateException", message);
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

/// `Object.wait`, milliseconds, 0 for ever. A safepoint.
pub fn wait(t: &JavaThread, object: Handle, millis: i64) -> JResult<()> {
    if millis < 0 {
        let message = "timeout value is negative";
        return errors::fail(t, "java/lang/IllegalArgumentException", message);
    }
    let lock = &owned(t, object.get())?.lock;
    let event = &t.sync.event;
    event.reset();
    interrupt::check(t, None)?;
    let recursion = lock.begin_wait(event);
    let deadline = if millis == 0 { None } else { time::after_millis(millis) };
    let during = match millis {
        0 => status::WAITING_ON_OBJECT,
        _ => status::WAITING_ON_OBJECT_TIMED,
    };
    let is_notified = status::waiting(t, during, || {
        event.wait(deadline);
        lock.stop_waiting(event)
    });
    if !lock.try_enter(t.id) {
        status::waiting(t, status::BLOCKED, || lock.enter(t.id));
    }
    lock.end_wait(recursion);
    // A thread that was notified and interrupted has been notified; the interrupt stays for later.
    if is_notified { Ok(()) } else { interrupt::check(t, None) }
}

/// `Object.notify` or `notifyAll`.
pub fn notify(t: &JavaThread, object: ObjectRef, all: bool) -> JResult<()> {
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
