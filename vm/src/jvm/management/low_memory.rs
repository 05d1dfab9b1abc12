//! Thresholds of the heap's use: the sensors of `MemoryPoolMXBean`, which notify listeners.
//!
//! The first threshold starts a daemon thread, which checks the heap while there is one, and sends the notifications of
//! collectors ([`super::notifications`]): a sensor is triggered
//! when its limit is crossed upwards, and cleared when it is crossed downwards. Use after a collection is looked
//! at once for each collection.

use super::beans::Pool;
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

/// Of the pool of the heap, without those of young objects.
#[derive(Default)]
pub struct LowMemory {
    state: Mutex<State>,
    /// A threshold was set.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    usage: Limit,
    collection: Limit,
    /// Listeners want to hear of every cycle.
    watches_cycles: bool,
    has_thread: bool,
    /// The last collection that was checked, by its end.
    seen_ms: Option<u64>,
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
    pub fn set_sensor(&self, t: &JavaThread, kind: jint, sensor: jobject) {
        let sensor = t.vm.globals.new_strong(t, entry::resolve(t, sensor)) as usize;
        if let Some(limit) = self.state.lock().limit(kind) {
            limit.sensor = sensor;
        }
    }

    /// Sets a threshold; the one before. A safepoint.
    pub fn set_threshold(&self, t: &JavaThread, kind: jint, bytes: jlong) -> JResult<jlong> {
        let mut state = self.state.lock();
        let Some(limit) = state.limit(kind) else {
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
        if state.usage.bytes > 0 || state.collection.bytes > 0 || state.watches_cycles {
            self.changed.wait_for(&mut state, PERIOD);
        } else {
            self.changed.wait(&mut state);
        }
    }

    /// The notifications that are due, with their sensors.
    fn look(&self, used: i64, collected: Option<(u64, i64)>) -> Vec<Event> {
        let mut state = self.state.lock();
        let mut events = Vec::new();
        events.extend(state.usage.look(used));
        if let Some((ended_ms, used)) = collected
            && state.seen_ms != Some(ended_ms)
        {
            state.seen_ms = Some(ended_ms);
            events.extend(state.collection.look(used));
        }
        events
    }
}

impl State {
    fn limit(&mut self, kind: jint) -> Option<&mut Limit> {
        match kind {
            USAGE_HIGH => Some(&mut self.usage),
            COLLECTION_HIGH => Some(&mut self.collection),
            // The lower ends are always set to the same value.
            _ => None,
        }
    }
}

impl Limit {
    fn look(&mut self, used: i64) -> Option<Event> {
        let is_crossed = self.bytes > 0 && used >= self.bytes;
        let was_crossed = std::mem::replace(&mut self.is_crossed, is_crossed);
        (is_crossed != was_crossed && self.sensor != 0).then_some(Event {
            sensor: self.sensor,
            is_crossed,
            used,
        })
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Event {
    sensor: usize,
    is_crossed: bool,
    used: i64,
}

/// The body of the thread.
fn watch(t: &JavaThread) -> JResult<()> {
    let low_memory = &t.vm.jvm.beans.low_memory;
    loop {
        t.safely(|| low_memory.wait());
        let part =
            |used, young| Pool::Heap.part_of(used, young).expect("a pool of the heap") as i64;
        let collected = beans::collected(t.vm)
            .map(|cycle| (cycle.ended_ms, part(cycle.used_after_bytes, cycle.young_after)));
        let used = part(t.vm.heap.used_bytes(), t.vm.heap.young_bytes());
        for event in low_memory.look(used, collected) {
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
    let usage = t.root(Pool::Heap.usage(t.vm).with_used(event.used as usize).object(t)?);
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
        {
            let mut state = low_memory.state.lock();
            state.usage = Limit { bytes: 100, sensor: 1, is_crossed: false };
            state.collection = Limit { bytes: 50, sensor: 2, is_crossed: false };
        }
        let heard = |used, collected| -> Vec<(usize, bool)> {
            let events = low_memory.look(used, collected);
            events.iter().map(|event| (event.sensor, event.is_crossed)).collect()
        };
        assert_eq!(heard(99, None), []);
        assert_eq!(heard(100, Some((7, 60))), [(1, true), (2, true)]);
        assert_eq!(heard(120, Some((7, 60))), []);
        assert_eq!(heard(80, Some((9, 40))), [(1, false), (2, false)]);
        low_memory.state.lock().usage.bytes = 0;
        assert_eq!(heard(500, Some((10, 40))), []);
    }
}
