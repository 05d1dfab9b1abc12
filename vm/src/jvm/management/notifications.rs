//! `GarbageCollectionNotificationInfo`: listeners of `GarbageCollectorMXBean`s hear of every cycle.
//!
//! The heap keeps the cycles that end while there are listeners, and the thread of [`super::low_memory`] sends them.

use super::beans;
use crate::ffi::entry;
use crate::ffi::types::jobject;
use crate::java::objects;
use crate::loading::{allocate, boxes, call, strings};
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult};
use classfile::BasicType;
use gc::core::stats::LastCycle;
use parking_lot::Mutex;
use std::collections::BTreeSet;

/// The beans with listeners.
#[derive(Default)]
pub struct Notifications {
    /// By index.
    heard: Mutex<BTreeSet<usize>>,
}

impl Notifications {
    /// A bean has its first listener, or has lost its last one. Whether any bean has some.
    pub fn set(&self, t: &JavaThread, bean: usize, is_heard: bool) -> bool {
        let mut heard = self.heard.lock();
        match is_heard {
            true => heard.insert(bean),
            false => heard.remove(&bean),
        };
        t.vm.heap.keep_cycles(!heard.is_empty());
        !heard.is_empty()
    }

    fn is_heard(&self, bean: usize) -> bool {
        self.heard.lock().contains(&bean)
    }
}

/// Sends what has ended since the last call. If a listener throws, its event is dropped. A safepoint.
pub fn send(t: &JavaThread) {
    let names = t.vm.heap.collector_beans();
    for (bean, cycle) in t.vm.heap.take_cycles() {
        if !t.vm.jvm.beans.notifications.is_heard(bean) {
            continue;
        }
        let _scope = t.scope();
        if let Err(thrown) = send_one(t, bean, names[bean].0, &cycle) {
            t.take_pending(thrown);
        }
    }
}

fn send_one(t: &JavaThread, index: usize, name: &str, cycle: &LastCycle) -> JResult<()> {
    let bean = entry::handle(t, beans::collectors(t)?[index] as jobject);
    if !objects::is_instance_of(t, bean.get(), EXTENDED) {
        return Ok(());
    }
    let info = info(t, bean, cycle)?;
    let texts = [name, action(name), cycle.cause];
    let mut arguments = vec![bean, info];
    for text in texts {
        arguments.push(t.root(strings::from_str(t, text)?));
    }
    let word = |handle: Handle| handle.get().address() as u64;
    let [bean, info, name, action, cause] = arguments[..] else { unreachable!("five of them") };
    let create = call::find(
        t.klass_of(bean.get()),
        "createGCNotification",
        "(JLjava/lang/String;Ljava/lang/String;Ljava/lang/String;Lcom/sun/management/GcInfo;)V",
    );
    let time = t.vm.started_at_ms() as u64 + cycle.ended_ms;
    t.call(create, &[word(bean), time, 0, word(name), word(action), word(cause), word(info)])?;
    Ok(())
}

/// A `GcInfo`.
fn info(t: &JavaThread, bean: Handle, cycle: &LastCycle) -> JResult<Handle> {
    let class = objects::boot_class(t, "com/sun/management/GcInfo")?;
    let descriptor = "()Lcom/sun/management/internal/GcInfoBuilder;";
    let builder = call::call_virtual(t, bean, "getGcInfoBuilder", descriptor, &[])?;
    let builder = t.root(gc::object::ObjectRef::from_address(builder as usize));
    let before = beans::usages(t, cycle.used_before_bytes, cycle.young_before)?;
    let after = beans::usages(t, cycle.used_after_bytes, cycle.young_after)?;
    // One thread collects.
    let threads = t.root(boxes::wrap(t, BasicType::Int, 1)?);
    let attributes = objects::array_of(t, t.vm.known.classes.object(), &[threads])?;
    let attributes = t.root(attributes);
    let info = t.root(allocate::new_instance(t, class)?);
    let constructor = call::find(
        class,
        "<init>",
        "(Lcom/sun/management/internal/GcInfoBuilder;JJJ[Ljava/lang/management/MemoryUsage;\
         [Ljava/lang/management/MemoryUsage;[Ljava/lang/Object;)V",
    );
    let word = |handle: Handle| handle.get().address() as u64;
    let mut arguments = vec![word(info), word(builder)];
    for number in [cycle.number, cycle.started_ms, cycle.ended_ms] {
        arguments.extend([number, 0]);
    }
    arguments.extend([before, after, attributes].map(word));
    t.call(constructor, &arguments)?;
    Ok(info)
}

/// In the words of HotSpot, which dashboards know.
fn action(bean: &str) -> &'static str {
    match bean {
        "MarkSweepCompact" => "end of major GC",
        _ if bean.contains("Young") => "end of minor GC",
        _ if bean.contains("Old") => "end of major GC",
        _ => "end of GC cycle",
    }
}

const EXTENDED: &str = "com/sun/management/internal/GarbageCollectorExtImpl";
