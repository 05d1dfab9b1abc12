//! Thresholds of the use of pools: the sensors of `MemoryPoolMXBean`, which notify listeners.
//!
//! The first threshold starts a daemon thread, which checks the pools while there is one, and sends the notifications
//! of collectors ([`super::notifications`]): a sensor is triggered when its limit is crossed upwards, and cleared when
//! it is crossed downwards. Use after a collection is looked at once for each collection, and triggers the sensor each
//! time that it has reached the limit (`MemoryPoolMXBean.getCollectionUsageThresholdCount`).

use super::beans::{POOLS, Pool};
use super::{beans, notifications};
use crate::ffi::entry;
use crate::ffi::types::{jint, jlong, jobject};
use crate::loading::call;
use crate::machine::JavaThread;
use crate::runtime::JResult;
use crate::threads::start;
use gc::object::ObjectRef;
use parking_lot::{Condvar, Mutex};
use std::time::Duration;

/// Of all pools of a VM.
#[derive(Default)]
pub struct LowMemory {
    state: Mutex<State>,
    /// A threshold was set.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    pools: [Limits; POOLS],
    /// Listeners want to hear of every cycle.
    watches_cycles: bool,
    has_thread: bool,
    /// The last collection that was checked, by its end.
    seen_ms: Option<u64>,
}

/// Of one pool.
#[derive(Clone, Copy, Default)]
struct Limits {
    usage: Limit,
    /// Of the use after a collection.
    collection: Limit,
}

#[derive(Clone, Copy, Default)]
struct Limit {
    /// 0: off.
    bytes: i64,
    /// A global reference to the `sun.management.Sensor`, or 0.
    sensor: usize,
    is_crossed: bool,
}

impl LowMemory {
    pub fn set_sensor(&self, t: &JavaThread, pool: Pool, kind: jint, sensor: jobject) {
        let sensor = t.vm.globals.new_strong(t, entry::resolve(t, sensor)) as usize;
        if let Some(limit) = self.state.lock().limit(pool, kind) {
            limit.sensor = sensor;
        }
    }

    /// Sets a threshold; the one before. A safepoint.
    pub fn set_threshold(
        &self,
        t: &JavaThread,
        pool: Pool,
        kind: jint,
        bytes: jlong,
    ) -> JResult<jlong> {
        let mut state = self.state.lock();
        let Some(limit) = state.limit(pool, kind) else {
            return Ok(-1);
        };
        let before = std::mem::replace(&mut limit.bytes, bytes);
        limit.is_crossed = false;
        let is_first = bytes > 0 && !std::mem::replace(&mut state.has_thread, true);
        drop(state);
        self.go_on(t, is_first)?;
        Ok(before)
    }

    /// Listeners want to hear of every cycle, or no more. A safepoint.
    pub fn watch_cycles(&self, t: &JavaThread, are_wanted: bool) -> JResult<()> {
        let mut state = self.state.lock();
        state.watches_cycles = are_wanted;
        let is_first = are_wanted && !std::mem::replace(&mut state.has_thread, true);
        drop(state);
        self.go_on(t, is_first)
    }

    fn go_on(&self, t: &JavaThread, is_first: bool) -> JResult<()> {
        self.changed.notify_all();
        if is_first {
            start::start_daemon(t, "Notification Thread", watch)?;
        }
        Ok(())
    }

    /// Waits for the next look.
    fn wait(&self) {
        let mut state = self.state.lock();
        let is_on = |limits: &Limits| limits.usage.bytes > 0 || limits.collection.bytes > 0;
        if state.pools.iter().any(is_on) || state.watches_cycles {
            self.changed.wait_for(&mut state, PERIOD);
        } else {
            self.changed.wait(&mut state);
        }
    }

    /// The notifications that are due, with their sensors. `used` says how much of a pool is in use, and `collected`
    /// how much was after the last collection; it has that collection's end.
    fn look(
        &self,
        used: impl Fn(Pool) -> i64,
        collected: Option<(u64, impl Fn(Pool) -> i64)>,
    ) -> Vec<Event> {
        let mut state = self.state.lock();
        let mut events = Vec::new();
        for (pool, limits) in Pool::ALL.into_iter().zip(&mut state.pools) {
            events.extend(limits.usage.look(pool, When::Crossed, || used(pool)));
        }
        if let Some((ended_ms, used)) = collected
            && state.seen_ms != Some(ended_ms)
        {
            state.seen_ms = Some(ended_ms);
            for (pool, limits) in Pool::ALL.into_iter().zip(&mut state.pools) {
                events.extend(limits.collection.look(pool, When::Reached, || used(pool)));
            }
        }
        events
    }
}

impl State {
    fn limit(&mut self, pool: Pool, kind: jint) -> Option<&mut Limit> {
        let limits = &mut self.pools[pool as usize];
        match kind {
            USAGE_HIGH => Some(&mut limits.usage),
            COLLECTION_HIGH => Some(&mut limits.collection),
            // The lower ends are always set to the same value.
            _ => None,
        }
    }
}

impl Limit {
    fn look(&mut self, pool: Pool, when: When, used: impl Fn() -> i64) -> Option<Event> {
        if self.bytes == 0 && !self.is_crossed {
            return None;
        }
        let used = used();
        let is_crossed = self.bytes > 0 && used >= self.bytes;
        let was_crossed = std::mem::replace(&mut self.is_crossed, is_crossed);
        let sensor = self.sensor;
        let is_new = is_crossed != was_crossed || is_crossed && when == When::Reached;
        (is_new && sensor != 0).then_some(Event { pool, sensor, is_crossed, used })
    }
}

/// When a sensor is triggered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// Use has reached the limit, and had not before.
    Crossed,
    /// Use has reached it, each time that it is looked at.
    Reached,
}

#[derive(Debug, PartialEq, Eq)]
struct Event {
    pool: Pool,
    sensor: usize,
    is_crossed: bool,
    used: i64,
}

/// The body of the thread.
fn watch(t: &JavaThread) -> JResult<()> {
    let low_memory = &t.vm.jvm.beans.low_memory;
    loop {
        t.safely(|| low_memory.wait());
        let collected = beans::collected(t.vm).map(|cycle| {
            let left = (cycle.used_after_bytes, cycle.young_after);
            (cycle.ended_ms, move |pool: Pool| pool.part_of(left.0, left.1).unwrap_or(0) as i64)
        });
        for event in low_memory.look(|pool| pool.usage(t.vm).used(), collected) {
            let _scope = t.scope();
            // If a listener throws, its event is dropped, and the next ones are still due.
            if let Err(thrown) = tell(t, &event) {
                t.take_pending(thrown);
            }
        }
        notifications::send(t);
    }
}

fn tell(t: &JavaThread, event: &Event) -> JResult<()> {
    let sensor = entry::handle(t, event.sensor as jobject);
    if !event.is_crossed {
        call::call_virtual(t, sensor, "clear", "()V", &[])?;
        return Ok(());
    }
    let usage = t.root(event.pool.usage(t.vm).with_past(event.used as usize).object(t)?);
    let klass = t.klass_of(sensor.get());
    let trigger = call::find(klass, "trigger", "(ILjava/lang/management/MemoryUsage;)V");
    let word = |object: ObjectRef| object.address() as u64;
    t.call(trigger, &[word(sensor.get()), 1, word(usage.get())])?;
    Ok(())
}

/// How often the heap is checked while there is a threshold.
const PERIOD: Duration = Duration::from_millis(50);

// `jmmThresholdType`
const USAGE_HIGH: jint = 901;
const COLLECTION_HIGH: jint = 903;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sensors_hear_of_crossings_only() {
        let low_memory = LowMemory::default();
        let set = |pool, kind, bytes, sensor| {
            let mut state = low_memory.state.lock();
            *state.limit(pool, kind).unwrap() = Limit { bytes, sensor, is_crossed: false };
        };
        set(Pool::Heap, USAGE_HIGH, 100, 1);
        set(Pool::Heap, COLLECTION_HIGH, 50, 2);
        let of_heap = |bytes| move |pool| if pool == Pool::Heap { bytes } else { 0 };
        let heard = |used, collected: Option<(u64, i64)>| -> Vec<(usize, bool)> {
            let collected = collected.map(|(ended_ms, used)| (ended_ms, of_heap(used)));
            let events = low_memory.look(of_heap(used), collected);
            events.iter().map(|event| (event.sensor, event.is_crossed)).collect()
        };
        assert_eq!(heard(99, None), []);
        assert_eq!(heard(100, Some((7, 60))), [(1, true), (2, true)]);
        assert_eq!(heard(120, Some((7, 60))), []);
        assert_eq!(heard(120, Some((8, 60))), [(2, true)], "once more for each collection");
        assert_eq!(heard(80, Some((9, 40))), [(1, false), (2, false)]);
        set(Pool::Heap, USAGE_HIGH, 0, 1);
        assert_eq!(heard(500, Some((10, 40))), []);
        // Each pool by itself.
        set(Pool::Code, USAGE_HIGH, 1, 3);
        set(Pool::Eden, COLLECTION_HIGH, 10, 4);
        let by_pool = |pool| if pool == Pool::Heap { 7 } else { 20 };
        let events = low_memory.look(by_pool, Some((11, by_pool)));
        let crossed = |pool, sensor| Event { pool, sensor, is_crossed: true, used: 20 };
        assert_eq!(events, [crossed(Pool::Code, 3), crossed(Pool::Eden, 4)]);
    }
}
