//! Memory: pools, collectors, usage.
//!
//! There is one pool for the heap and one for the C heap, where classes and everything else of the VM lies.

use super::low_memory::LowMemory;
use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jboolean, jint, jlong, jobject, jobjectArray, jvalue};
use crate::java::objects;
use crate::loading::{call, initialize, lookup, strings};
use crate::machine::{JavaThread, Vm};
use crate::runtime::{Handle, JResult, KlassRef};
use classfile::symbol::Symbol;
use gc::core::stats::CollectorCounters;
use gc::object::ObjectRef;
use libc::c_char;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bean objects, made when they are first asked for; addresses of global references.
#[derive(Default)]
pub struct Beans {
    pools: OnceLock<Vec<usize>>,
    collectors: OnceLock<Vec<usize>>,
    pub(super) low_memory: LowMemory,
    /// Largest heap use that was observed, bytes.
    heap_peak: AtomicUsize,
}

pub extern "C" fn memory_pools(env: Env, manager: jobject) -> jobjectArray {
    env.enter(|t| {
        let class = objects::boot_class(t, "java/lang/management/MemoryPoolMXBean")?;
        let pools = pools(t)?;
        // Collectors manage the heap alone.
        let shown = if manager.is_null() { pools } else { &pools[..1] };
        array(t, class, shown)
    })
}

pub extern "C" fn memory_managers(env: Env, pool: jobject) -> jobjectArray {
    env.enter(|t| {
        let class = objects::boot_class(t, "java/lang/management/MemoryManagerMXBean")?;
        let is_heap = pool.is_null() || is_heap_pool(t, pool)?;
        let collectors = collectors(t)?;
        array(t, class, if is_heap { collectors } else { &[] })
    })
}

fn array(t: &JavaThread, class: KlassRef, references: &[usize]) -> JResult<ObjectRef> {
    let handles: Vec<Handle> =
        references.iter().map(|reference| entry::handle(t, *reference as jobject)).collect();
    objects::array_of(t, class, &handles)
}

fn pools(t: &JavaThread) -> JResult<&'static [usize]> {
    let beans: &'static Beans = &t.vm.jvm.beans;
    if beans.pools.get().is_none() {
        let factory = objects::boot_class(t, "sun/management/ManagementFactoryHelper")?;
        let descriptor = "(Ljava/lang/String;ZJJ)Ljava/lang/management/MemoryPoolMXBean;";
        let mut made = Vec::new();
        for (name, is_heap) in [(HEAP_POOL, true), (NATIVE_POOL, false)] {
            let name = strings::from_str(t, name)?;
            // Thresholds of -1: not supported; of 0: not set.
            let limit = if is_heap { 0 } else { -1i64 as u64 };
            let arguments = [name.address() as u64, u64::from(is_heap), limit, 0, limit, 0];
            let pool = call::call_static(t, factory, "createMemoryPool", descriptor, &arguments)?;
            made.push(keep(t, pool));
        }
        // Another thread may have been faster; its objects are used then.
        let _ = beans.pools.set(made);
    }
    Ok(beans.pools.get().expect("set above"))
}

fn collectors(t: &JavaThread) -> JResult<&'static [usize]> {
    let beans: &'static Beans = &t.vm.jvm.beans;
    if beans.collectors.get().is_none() {
        // The richer one is in jdk.management, which the boot layer may lack.
        let extended = Symbol::of("com/sun/management/internal/GarbageCollectorExtImpl");
        let class = match lookup::load_boot_class(t, extended)? {
            Some(class) => class,
            None => objects::boot_class(t, "sun/management/ManagementFactoryHelper")?,
        };
        initialize::initialize(t, class)?;
        let descriptor =
            "(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/management/GarbageCollectorMXBean;";
        let mut made = Vec::new();
        for (name, _) in t.vm.heap.collector_beans() {
            let name = strings::from_str(t, name)?;
            let arguments = [name.address() as u64, 0];
            let bean =
                call::call_static(t, class, "createGarbageCollector", descriptor, &arguments)?;
            made.push(keep(t, bean));
        }
        let _ = beans.collectors.set(made);
    }
    Ok(beans.collectors.get().expect("set above"))
}

fn keep(t: &JavaThread, word: u64) -> usize {
    t.vm.globals.new_strong(t, ObjectRef::from_address(word as usize)) as usize
}

fn is_heap_pool(t: &JavaThread, pool: jobject) -> JResult<bool> {
    let heap = pools(t)?[0];
    Ok(entry::resolve(t, pool) == entry::resolve(t, heap as jobject))
}

/// Counters of one collector bean, or of all for null.
pub fn collector_counters(env: Env, bean: jobject) -> Option<CollectorCounters> {
    let all = env.thread().vm.heap.collector_beans();
    if bean.is_null() {
        let sum = |of: fn(&CollectorCounters) -> u64| all.iter().map(|(_, c)| of(c)).sum();
        return Some(CollectorCounters {
            collections: sum(|c| c.collections),
            time_ms: sum(|c| c.time_ms),
        });
    }
    let index: i64 = env.enter(|t| {
        let found = collector_index(t, bean)?;
        Ok(found.map_or(-1, |index| index as i64))
    });
    all.get(usize::try_from(index).ok()?).map(|(_, counters)| *counters)
}

/// Which of the collector's beans this object is.
fn collector_index(t: &JavaThread, bean: jobject) -> JResult<Option<usize>> {
    let own = entry::resolve(t, bean);
    Ok(collectors(t)?.iter().position(|c| entry::resolve(t, *c as jobject) == own))
}

pub extern "C" fn pool_usage(env: Env, pool: jobject) -> jobject {
    env.enter(|t| {
        let usage = if is_heap_pool(t, pool)? { Usage::heap(t.vm) } else { Usage::native() };
        usage.object(t)
    })
}

pub extern "C" fn peak_pool_usage(env: Env, pool: jobject) -> jobject {
    env.enter(|t| {
        if !is_heap_pool(t, pool)? {
            return Usage::native().object(t);
        }
        let now = Usage::heap(t.vm);
        now.with_used(t.vm.jvm.beans.heap_peak.load(Ordering::Relaxed)).object(t)
    })
}

/// The usage after the last collection, or null for pools that are not collected.
pub extern "C" fn collection_usage(env: Env, pool: jobject) -> jobject {
    env.enter(|t| {
        if !is_heap_pool(t, pool)? {
            return Ok(ObjectRef::NULL);
        }
        let beans = 0..t.vm.heap.collector_beans().len();
        let last = beans.filter_map(|bean| t.vm.heap.last_cycle(bean)).max_by_key(|c| c.ended_ms);
        Usage::heap(t.vm).with_used(last.map_or(0, |cycle| cycle.used_after_bytes)).object(t)
    })
}

pub extern "C" fn memory_usage(env: Env, is_heap: jboolean) -> jobject {
    env.enter(|t| {
        let usage = if is_heap != 0 { Usage::heap(t.vm) } else { Usage::native() };
        usage.object(t)
    })
}

/// Bytes, as `java.lang.management.MemoryUsage` has them; -1 where not defined.
pub(super) struct Usage {
    init: i64,
    used: i64,
    committed: i64,
    max: i64,
}

impl Usage {
    pub(super) fn heap(vm: &Vm) -> Usage {
        let used = vm.heap.used_bytes();
        vm.jvm.beans.heap_peak.fetch_max(used, Ordering::Relaxed);
        Usage {
            init: vm.options.heap.initial_bytes as i64,
            used: used as i64,
            committed: vm.heap.committed_bytes().max(used) as i64,
            max: vm.heap.max_bytes() as i64,
        }
    }

    fn native() -> Usage {
        // SAFETY: plain query.
        let info = unsafe { libc::mallinfo2() };
        let used = (info.uordblks + info.hblkhd) as i64;
        let committed = (info.arena + info.hblkhd) as i64;
        Usage { init: 0, used, committed: committed.max(used), max: -1 }
    }

    /// The same with another use, which may be of the past.
    pub(super) fn with_used(self, used: usize) -> Usage {
        let used = used as i64;
        Usage { used, committed: self.committed.max(used), ..self }
    }

    pub(super) fn object(&self, t: &JavaThread) -> JResult<ObjectRef> {
        let class = objects::boot_class(t, "java/lang/management/MemoryUsage")?;
        let usage = t.root(crate::loading::allocate::new_instance(t, class)?);
        let constructor = call::find(class, "<init>", "(JJJJ)V");
        let mut arguments = vec![usage.get().address() as u64];
        for value in [self.init, self.used, self.committed, self.max] {
            arguments.extend([value as u64, 0]);
        }
        t.call(constructor, &arguments)?;
        Ok(usage.get())
    }
}

/// Resets a peak; other statistics are not collected.
pub extern "C" fn reset_statistic(env: Env, _object: jvalue, kind: jint) -> jboolean {
    let vm = env.thread().vm;
    match kind {
        PEAK_THREADS => vm.threads.peak.store(vm.threads.count(), Ordering::Relaxed),
        PEAK_POOL_USAGE => {
            vm.jvm.beans.heap_peak.store(vm.heap.used_bytes(), Ordering::Relaxed);
        }
        _ => return 0,
    }
    1
}

/// Only called for the heap's pool: no other has thresholds.
pub extern "C" fn set_pool_sensor(env: Env, _pool: jobject, kind: jint, sensor: jobject) {
    env.enter(|t| {
        t.vm.jvm.beans.low_memory.set_sensor(t, kind, sensor);
        Ok(())
    })
}

/// As above. The threshold before.
pub extern "C" fn set_pool_threshold(env: Env, _pool: jobject, kind: jint, bytes: jlong) -> jlong {
    env.enter(|t| t.vm.jvm.beans.low_memory.set_threshold(t, kind, bytes))
}

/// `jmmExtAttributeInfo`
#[repr(C)]
pub struct AttributeInfo {
    name: *const c_char,
    kind: c_char,
    description: *const c_char,
}

/// The one attribute that collections have on top of the standard ones.
pub extern "C" fn gc_attribute_info(
    _env: Env,
    _manager: jobject,
    info: *mut AttributeInfo,
    count: jint,
) -> jint {
    if info.is_null() || count < 1 {
        return 0;
    }
    let only = AttributeInfo {
        name: c"GcThreadCount".as_ptr(),
        kind: b'I' as c_char,
        description: c"Number of GC threads".as_ptr(),
    };
    // SAFETY: the caller's array has `count` elements.
    unsafe { info.write(only) };
    1
}

/// `jmmGCStat`
#[repr(C)]
pub struct LastGc {
    /// From 1; 0: there was none yet, and no other field is read.
    index: jlong,
    started_ms: jlong,
    ended_ms: jlong,
    /// `MemoryUsage[]` by pool, made by the caller.
    usage_before: jobjectArray,
    usage_after: jobjectArray,
    value_count: jint,
    /// Values of the attributes of `gc_attribute_info`.
    values: *mut jvalue,
    values_filled: jint,
}

pub extern "C" fn last_gc(env: Env, manager: jobject, stat: *mut LastGc) {
    // SAFETY: libmanagement_ext passes its own structure.
    let stat = unsafe { &mut *stat };
    stat.index = 0;
    env.enter(|t| {
        let bean = collector_index(t, manager)?;
        let Some(last) = bean.and_then(|bean| t.vm.heap.last_cycle(bean)) else {
            return Ok(());
        };
        let sides = [
            (stat.usage_before, last.used_before_bytes),
            (stat.usage_after, last.used_after_bytes),
        ];
        for (array, used) in sides {
            let array = entry::non_null(t, array)?;
            let of_pools = [Usage::heap(t.vm).with_used(used), Usage::native()];
            for (i, usage) in of_pools.iter().enumerate().take(array.get().array_length()) {
                let usage = usage.object(t)?;
                t.store_element(array.get(), i, usage);
            }
        }
        stat.values_filled = 0;
        if stat.value_count > 0 && !stat.values.is_null() {
            // SAFETY: the caller's array has `value_count` elements. One thread collects.
            unsafe { stat.values.write(jvalue { i: 1 }) };
            stat.values_filled = 1;
        }
        stat.started_ms = last.started_ms as jlong;
        stat.ended_ms = last.ended_ms as jlong;
        stat.index = last.number as jlong;
        Ok(())
    })
}

pub extern "C" fn set_notification(_env: Env, _manager: jobject, _enabled: jboolean) {}

const HEAP_POOL: &str = "Farheap Heap";
const NATIVE_POOL: &str = "Native Memory";

const PEAK_THREADS: jint = 801;
const PEAK_POOL_USAGE: jint = 805;

const _: () = assert!(size_of::<LastGc>() == 64);
