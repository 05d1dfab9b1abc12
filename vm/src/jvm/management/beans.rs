//! Memory: pools, collectors, usage.
//!
//! Pools have names that dashboards know. The heap's are the collector's: one, or one each for eden, survivors and old
//! objects. `CodeCache` is one, and `Metaspace`: what classes take (`class_memory`).

use super::low_memory::LowMemory;
use super::notifications::Notifications;
use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jboolean, jint, jlong, jobject, jobjectArray, jvalue};
use crate::java::objects;
use crate::loading::{call, initialize, lookup, strings};
use crate::machine::{JavaThread, Vm};
use crate::runtime::{Handle, JResult, KlassRef};
use classfile::symbol::Symbol;
use gc::core::stats::{CollectorCounters, LastCycle, YoungBytes};
use gc::object::ObjectRef;
use libc::c_char;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bean objects, made when they are first asked for; addresses of global references.
#[derive(Default)]
pub struct Beans {
    pools: OnceLock<Vec<usize>>,
    collectors: OnceLock<Vec<usize>>,
    /// Of the pools that no collector manages, in their order.
    managers: OnceLock<Vec<usize>>,
    pub(super) low_memory: LowMemory,
    pub(super) notifications: Notifications,
    /// Largest use of each pool that was observed, bytes.
    peaks: [AtomicUsize; POOLS],
}

pub extern "C" fn memory_pools(env: Env, manager: jobject) -> jobjectArray {
    env.enter(|t| {
        let class = objects::boot_class(t, "java/lang/management/MemoryPoolMXBean")?;
        let pools = pools(t)?;
        if manager.is_null() {
            return array(t, class, pools);
        }
        let of_heap = pools.len() - MANAGERS.len();
        match position(t, managers(t)?, manager) {
            Some(index) => array(t, class, &pools[of_heap + index..of_heap + index + 1]),
            // Every collector manages the whole heap.
            None => array(t, class, &pools[..of_heap]),
        }
    })
}

pub extern "C" fn memory_managers(env: Env, pool: jobject) -> jobjectArray {
    env.enter(|t| {
        let class = objects::boot_class(t, "java/lang/management/MemoryManagerMXBean")?;
        let (collectors, managers) = (collectors(t)?, managers(t)?);
        if pool.is_null() {
            return array(t, class, &[collectors, managers].concat());
        }
        match pool_of(t, pool)? {
            Pool::Code => array(t, class, &managers[..1]),
            Pool::Classes => array(t, class, &managers[1..]),
            Pool::Eden | Pool::Survivors | Pool::Heap => array(t, class, collectors),
        }
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
        for pool in Pool::all(t.vm) {
            let name = strings::from_str(t, pool.name(t.vm))?;
            // -1: not supported; 0: not set.
            let limit = |is_supported| if is_supported { 0 } else { -1i64 as u64 };
            let [usage, collection] = pool.thresholds().map(limit);
            let is_heap = u64::from(pool.is_heap());
            let arguments = [name.address() as u64, is_heap, usage, 0, collection, 0];
            let pool = call::call_static(t, factory, "createMemoryPool", descriptor, &arguments)?;
            made.push(keep(t, pool));
        }
        // Another thread may have been faster; its objects are used then.
        let _ = beans.pools.set(made);
    }
    Ok(beans.pools.get().expect("set above"))
}

fn managers(t: &JavaThread) -> JResult<&'static [usize]> {
    let beans: &'static Beans = &t.vm.jvm.beans;
    if beans.managers.get().is_none() {
        let factory = objects::boot_class(t, "sun/management/ManagementFactoryHelper")?;
        let descriptor = "(Ljava/lang/String;)Ljava/lang/management/MemoryManagerMXBean;";
        let mut made = Vec::new();
        for name in MANAGERS {
            let name = strings::from_str(t, name)?.address() as u64;
            let made_now =
                call::call_static(t, factory, "createMemoryManager", descriptor, &[name])?;
            made.push(keep(t, made_now));
        }
        let _ = beans.managers.set(made);
    }
    Ok(beans.managers.get().expect("set above"))
}

pub(super) fn collectors(t: &JavaThread) -> JResult<&'static [usize]> {
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

/// One of the pools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pool {
    Eden,
    Survivors,
    /// The heap without the two above, which not every collector has.
    Heap,
    Code,
    Classes,
}

impl Pool {
    /// In the order of their numbers.
    pub(super) const ALL: [Pool; POOLS] =
        [Pool::Eden, Pool::Survivors, Pool::Heap, Pool::Code, Pool::Classes];

    /// Those of a VM, in the order in which the class library sees them.
    fn all(vm: &Vm) -> &'static [Pool] {
        match vm.heap.young_pool_names() {
            Some(_) => &Pool::ALL,
            None => &Pool::ALL[2..],
        }
    }

    /// Whether there are thresholds of its use, and of its use after a collection, as in HotSpot: eden and survivors
    /// are full again and again, and what is outside of the heap is not collected.
    fn thresholds(self) -> [bool; 2] {
        match self {
            Pool::Eden | Pool::Survivors => [false, true],
            Pool::Heap => [true, true],
            Pool::Code | Pool::Classes => [true, false],
        }
    }

    fn is_heap(self) -> bool {
        matches!(self, Pool::Eden | Pool::Survivors | Pool::Heap)
    }

    /// What the pool has of `used` bytes of the heap, `young` of which are young; `None` if it is no pool of the heap.
    pub(super) fn part_of(self, used: usize, young: YoungBytes) -> Option<usize> {
        match self {
            Pool::Eden => Some(young.eden),
            Pool::Survivors => Some(young.survivors),
            Pool::Heap => Some(used.saturating_sub(young.all())),
            Pool::Code | Pool::Classes => None,
        }
    }

    fn name(self, vm: &Vm) -> &'static str {
        let young = |index: usize| vm.heap.young_pool_names().expect("a pool of its own")[index];
        match self {
            Pool::Eden => young(0),
            Pool::Survivors => young(1),
            Pool::Heap => vm.heap.pool_name(),
            Pool::Code => "CodeCache",
            Pool::Classes => "Metaspace",
        }
    }

    pub(super) fn usage(self, vm: &Vm) -> Usage {
        let usage = match self {
            Pool::Code => Usage::code(vm),
            Pool::Classes => Usage::classes(vm),
            Pool::Eden | Pool::Survivors | Pool::Heap => {
                let young = vm.heap.young_bytes();
                let used = self.part_of(vm.heap.used_bytes(), young).expect("a pool of the heap");
                match self {
                    Pool::Heap => Usage::heap(vm).without(young.all()),
                    // They may become as large as the heap: that is not theirs to say.
                    _ => Usage { init: 0, used: 0, committed: 0, max: -1 },
                }
                .with_used(used)
            }
        };
        vm.jvm.beans.peaks[self as usize].fetch_max(usage.used as usize, Ordering::Relaxed);
        usage
    }
}

fn pool_of(t: &JavaThread, pool: jobject) -> JResult<Pool> {
    // Native code passes only beans that were made here.
    Ok(position(t, pools(t)?, pool).map_or(Pool::Classes, |index| Pool::all(t.vm)[index]))
}

/// Which of these references is to the same object.
fn position(t: &JavaThread, references: &[usize], object: jobject) -> Option<usize> {
    let wanted = entry::resolve(t, object);
    references.iter().position(|reference| entry::resolve(t, *reference as jobject) == wanted)
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
    Ok(position(t, collectors(t)?, bean))
}

pub extern "C" fn pool_usage(env: Env, pool: jobject) -> jobject {
    env.enter(|t| pool_of(t, pool)?.usage(t.vm).object(t))
}

pub extern "C" fn peak_pool_usage(env: Env, pool: jobject) -> jobject {
    env.enter(|t| {
        let pool = pool_of(t, pool)?;
        let now = pool.usage(t.vm);
        let peak = t.vm.jvm.beans.peaks[pool as usize].load(Ordering::Relaxed);
        now.with_past(peak).object(t)
    })
}

/// The usage after the last collection, or null for pools that are not collected.
pub extern "C" fn collection_usage(env: Env, pool: jobject) -> jobject {
    env.enter(|t| {
        let pool = pool_of(t, pool)?;
        if !pool.is_heap() {
            return Ok(ObjectRef::NULL);
        }
        let used = collected(t.vm).and_then(|c| pool.part_of(c.used_after_bytes, c.young_after));
        pool.usage(t.vm).with_used(used.unwrap_or(0)).object(t)
    })
}

/// The last cycle of any collector.
pub(super) fn collected(vm: &Vm) -> Option<LastCycle> {
    let beans = 0..vm.heap.collector_beans().len();
    beans.filter_map(|bean| vm.heap.last_cycle(bean)).max_by_key(|cycle| cycle.ended_ms)
}

pub extern "C" fn memory_usage(env: Env, is_heap: jboolean) -> jobject {
    env.enter(|t| {
        let usage = match is_heap {
            0 => Usage::classes(t.vm).and(Usage::code(t.vm)),
            _ => Usage::heap(t.vm),
        };
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
        Usage {
            init: vm.options.heap.initial_bytes as i64,
            used: used as i64,
            committed: vm.heap.committed_bytes().max(used) as i64,
            max: vm.heap.max_bytes() as i64,
        }
    }

    /// The limit is one of the classes of other loaders than the boot loader, whose classes are beside it.
    fn classes(vm: &Vm) -> Usage {
        let bytes = vm.class_memory.of_all_loaders();
        let (used, limited) = (bytes.descriptions + bytes.others, vm.class_memory.used_bytes());
        let limit = vm.options.max_class_bytes;
        let max = match limit {
            usize::MAX => -1,
            // Others may define classes meanwhile.
            _ => used.max(used.saturating_sub(limited).saturating_add(limit)) as i64,
        };
        Usage { init: 0, used: used as i64, committed: used as i64, max }
    }

    fn code(vm: &Vm) -> Usage {
        let (used, max) = (vm.jit.cache.used_bytes(), vm.jit.cache.capacity_bytes());
        let committed = used.next_multiple_of(PAGE_BYTES).min(max);
        Usage { init: 0, used: used as i64, committed: committed as i64, max: max as i64 }
    }

    /// Of both; the limit is not defined.
    fn and(self, other: Usage) -> Usage {
        Usage {
            init: self.init + other.init,
            used: self.used + other.used,
            committed: self.committed + other.committed,
            max: -1,
        }
    }

    /// What remains when other pools have `bytes` of it.
    fn without(self, bytes: usize) -> Usage {
        let rest = |all: i64| (all - bytes as i64).max(0);
        Usage { used: rest(self.used), committed: rest(self.committed), ..self }
    }

    pub(super) fn used(&self) -> i64 {
        self.used
    }

    /// The same with another use, which may be of the past.
    pub(super) fn with_used(self, used: usize) -> Usage {
        let used = used as i64;
        Usage { used, committed: self.committed.max(used), ..self }
    }

    /// The same with a use of the past, when the maximum of a pool of classes may have been larger.
    pub(super) fn with_past(self, used: usize) -> Usage {
        let past = self.with_used(used);
        let max = if past.max < 0 { past.max } else { past.max.max(past.used) };
        Usage { max, ..past }
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
pub extern "C" fn reset_statistic(env: Env, object: jvalue, kind: jint) -> jboolean {
    let vm = env.thread().vm;
    match kind {
        PEAK_THREADS => vm.threads.peak.store(vm.threads.count(), Ordering::Relaxed),
        PEAK_POOL_USAGE => env.enter(|t| {
            // SAFETY: for this kind the argument is the pool.
            let pool = pool_of(t, unsafe { object.l })?;
            t.vm.jvm.beans.peaks[pool as usize].store(0, Ordering::Relaxed);
            // Is the largest again.
            pool.usage(t.vm);
            Ok(())
        }),
        _ => return 0,
    }
    1
}

/// Only called for thresholds that the pool has.
pub extern "C" fn set_pool_sensor(env: Env, pool: jobject, kind: jint, sensor: jobject) {
    env.enter(|t| {
        t.vm.jvm.beans.low_memory.set_sensor(t, pool_of(t, pool)?, kind, sensor);
        Ok(())
    })
}

/// As above. The threshold before.
pub extern "C" fn set_pool_threshold(env: Env, pool: jobject, kind: jint, bytes: jlong) -> jlong {
    env.enter(|t| t.vm.jvm.beans.low_memory.set_threshold(t, pool_of(t, pool)?, kind, bytes))
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
            (stat.usage_before, last.used_before_bytes, last.young_before),
            (stat.usage_after, last.used_after_bytes, last.young_after),
        ];
        for (array, used, young) in sides {
            let array = entry::non_null(t, array)?;
            let usages = usages(t, used, young)?;
            for i in 0..array.get().array_length().min(usages.get().array_length()) {
                let usage = t.load_element(usages.get(), i);
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

/// `MemoryUsage[]` of all pools, with this use of the heap.
pub(super) fn usages(t: &JavaThread, heap_used: usize, young: YoungBytes) -> JResult<Handle> {
    let mut usages = Vec::new();
    for pool in Pool::all(t.vm) {
        let now = pool.usage(t.vm);
        let usage = match pool.part_of(heap_used, young) {
            Some(used) => now.with_used(used),
            None => now,
        };
        usages.push(t.root(usage.object(t)?));
    }
    let class = objects::boot_class(t, "java/lang/management/MemoryUsage")?;
    Ok(t.root(objects::array_of(t, class, &usages)?))
}

/// Listeners of a collector's bean want to hear of cycles, or no more.
pub extern "C" fn set_notification(env: Env, manager: jobject, enabled: jboolean) {
    env.enter(|t| {
        let beans = &t.vm.jvm.beans;
        let Some(bean) = collector_index(t, manager)? else {
            return Ok(());
        };
        let are_wanted = beans.notifications.set(t, bean, enabled != 0);
        beans.low_memory.watch_cycles(t, are_wanted)
    })
}

/// Of `Pool::Code` and `Pool::Classes`, which come last.
const MANAGERS: [&str; 2] = ["CodeCacheManager", "Metaspace Manager"];
const PAGE_BYTES: usize = 4096;
pub(super) const POOLS: usize = 5;

const PEAK_THREADS: jint = 801;
const PEAK_POOL_USAGE: jint = 805;

const _: () = assert!(size_of::<LastGc>() == 64);
