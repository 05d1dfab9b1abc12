//! Threads: their states, their locks, their use of CPU and memory.

use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jboolean, jint, jlong, jlongArray, jobjectArray};
use crate::frames::walk;
use crate::interpreter;
use crate::interpreter::backtrace::TraceFrame;
use crate::java::objects;
use crate::jvm::stack_traces;
use crate::loading::{allocate, call};
use crate::machine::{JavaThread, Vm};
use crate::runtime::{Handle, JResult, object};
use crate::threads::blocking::{self, Obstacle};
use crate::threads::cpu_time::cpu_time_ns;
use crate::threads::dump;
use crate::threads::synchronizers::{self, Held, Look};
use classfile::BasicType;
use gc::core::inspection::StoppedHeap;
use gc::object::ObjectRef;
use std::sync::atomic::{AtomicU64, Ordering};

/// Fills `infos` for threads by number; null for those that do not live.
pub extern "C" fn thread_info(env: Env, ids: jlongArray, depth: jint, infos: jobjectArray) -> jint {
    env.enter(|t| {
        let wanted = longs(t, entry::non_null(t, ids)?.get());
        let infos = entry::non_null(t, infos)?;
        let threads = live_threads(t, &wanted);
        for (i, info) in describe(t, threads, depth, Locks::default())?.iter().enumerate() {
            t.store_element(infos.get(), i, info.get());
        }
        Ok(0i32)
    })
}

/// `ThreadInfo[]` for some threads, or (null) all, with the objects that they have locked.
pub extern "C" fn dump(
    env: Env,
    ids: jlongArray,
    locked_monitors: jboolean,
    locked_synchronizers: jboolean,
    depth: jint,
) -> jobjectArray {
    env.enter(|t| {
        let ids = entry::resolve(t, ids);
        let threads = match ids.is_null() {
            true => dump::all_threads(t).into_iter().map(Some).collect(),
            false => live_threads(t, &longs(t, ids)),
        };
        let locks =
            Locks { monitors: locked_monitors != 0, synchronizers: locked_synchronizers != 0 };
        let infos = describe(t, threads, depth, locks)?;
        let class = objects::boot_class(t, "java/lang/management/ThreadInfo")?;
        objects::array_of(t, class, &infos)
    })
}

/// Handles of the live threads with these numbers.
fn live_threads(t: &JavaThread, ids: &[i64]) -> Vec<Option<Handle>> {
    let at = t.vm.known.fields.thread_tid();
    let all = dump::all_threads(t);
    let by_id = |id: &i64| all.iter().copied().find(|h| object::get::<i64>(h.get(), at) == *id);
    ids.iter().map(by_id).collect()
}

fn longs(_t: &JavaThread, array: ObjectRef) -> Vec<i64> {
    (0..array.array_length()).map(|i| object::element(array, i)).collect()
}

/// Which of the locks that a thread holds are reported.
#[derive(Clone, Copy, Default)]
struct Locks {
    monitors: bool,
    /// The heap is walked for them.
    synchronizers: bool,
}

/// Looks at some threads, which may occur more than once, while the world is stopped.
struct Looker {
    threads: Vec<Option<Handle>>,
    depth: usize,
    locks: Locks,
    /// For each of `threads`; `None`: it does not live.
    seen: Vec<Option<Seen>>,
}

impl Looker {
    fn look(&mut self, t: &JavaThread) {
        t.vm.threads.for_each(&mut |thread| {
            let own = thread.thread_object.get();
            for (wanted, seen) in self.threads.iter().zip(&mut self.seen) {
                if !own.is_null() && wanted.is_some_and(|wanted| wanted.get() == own) {
                    *seen = Some(look_at(t, thread, self.depth, self.locks));
                }
            }
        });
    }
}

impl Look for Looker {
    fn look(&mut self, t: &JavaThread, _heap: &StoppedHeap<'_>) {
        Looker::look(self, t);
    }
}

/// A thread at one moment.
#[derive(Default)]
struct Seen {
    status: i32,
    blocked: u64,
    waited: u64,
    /// Milliseconds of both; -1 when that is not measured.
    blocked_ms: i64,
    waited_ms: i64,
    stack: Vec<TraceFrame>,
    obstacle: Obstacle,
    /// Monitors held, with the depth of the frame that holds each.
    locked: Vec<(Handle, i32)>,
}

/// A `ThreadInfo` of each thread, which may occur more than once; a null handle for `None`. `depth` limits the
/// stack traces, negative is no limit. A safepoint.
fn describe(
    t: &JavaThread,
    threads: Vec<Option<Handle>>,
    depth: i32,
    locks: Locks,
) -> JResult<Vec<Handle>> {
    let depth = usize::try_from(depth).unwrap_or(usize::MAX);
    let _hold = t.vm.unloading.hold();
    let (seen, held) = loop {
        let (seen, held) = look(t, &threads, depth, locks);
        if seen.iter().flatten().all(|seen| interpreter::backtrace::keep(t, &seen.stack)) {
            break (seen, held);
        }
    };
    let mut infos = Vec::new();
    for (thread, seen) in threads.iter().zip(seen) {
        infos.push(match (thread, seen) {
            (Some(thread), Some(seen)) => info(t, *thread, &seen, locks, &held)?,
            _ => t.root(ObjectRef::NULL),
        });
    }
    Ok(infos)
}

/// What is to be seen of the threads at one moment, and the synchronizers held. A safepoint.
fn look(
    t: &JavaThread,
    threads: &[Option<Handle>],
    depth: usize,
    locks: Locks,
) -> (Vec<Option<Seen>>, Vec<synchronizers::Held>) {
    let looker = || {
        let threads = threads.to_vec();
        Looker { seen: threads.iter().map(|_| None).collect(), threads, depth, locks }
    };
    if let Some((looker, held)) =
        locks.synchronizers.then(|| synchronizers::held(t, looker())).flatten()
    {
        return (looker.seen, held);
    }
    let mut looker = looker();
    t.vm.heap.stop_world(Some(&t.mutator), &mut |_| looker.look(t));
    (looker.seen, Vec::new())
}

/// The world is stopped: handles may be made, references in the heap may not be loaded.
fn look_at(t: &JavaThread, thread: &JavaThread, depth: usize, locks: Locks) -> Seen {
    let status_at = t.vm.known.fields.thread_status();
    let status: i32 = object::get(thread.thread_object.get(), status_at);
    let mut stack = interpreter::backtrace::current(thread);
    stack.truncate(depth);
    let mut locked = Vec::new();
    if locks.monitors {
        for (at, visited) in walk::frames(thread).enumerate().take(depth) {
            let objects = visited.locked(thread);
            locked.extend(objects.into_iter().map(|object| (t.root(object), at as i32)));
        }
    }
    let obstacle = Obstacle::of(t, thread, status);
    // The object that the thread is about to lock is not locked yet.
    locked.retain(|(object, _)| obstacle.monitor.is_none_or(|m| m.get() != object.get()));
    Seen {
        status,
        blocked: thread.sync.times_blocked.load(Ordering::Relaxed),
        waited: thread.sync.times_waited.load(Ordering::Relaxed),
        blocked_ms: millis(t, &thread.sync.blocked_ns),
        waited_ms: millis(t, &thread.sync.waited_ns),
        stack,
        obstacle,
        locked,
    }
}

fn millis(t: &JavaThread, nanos: &AtomicU64) -> i64 {
    match t.vm.threads.is_contention_timed.load(Ordering::Relaxed) {
        true => (nanos.load(Ordering::Relaxed) / 1_000_000) as i64,
        false => -1,
    }
}

/// Makes one `ThreadInfo`. A safepoint.
fn info(
    t: &JavaThread,
    thread: Handle,
    seen: &Seen,
    locks: Locks,
    held: &[Held],
) -> JResult<Handle> {
    let class = objects::boot_class(t, "java/lang/management/ThreadInfo")?;
    let lock = seen.obstacle.object(t, thread);
    let owner = blocking::owner(t, &seen.obstacle, lock);
    let trace = t.root(stack_traces::elements(t, &seen.stack)?);
    let info = t.root(allocate::new_instance(t, class)?);
    let mut lists = None;
    if locks.monitors || locks.synchronizers {
        let object_class = t.vm.known.classes.object();
        let monitors: Vec<Handle> = seen.locked.iter().map(|(object, _)| *object).collect();
        let monitors = t.root(objects::array_of(t, object_class, &monitors)?);
        let ints = t.vm.known.primitive_array(BasicType::Int);
        let depths = t.root(allocate::new_array(t, ints, seen.locked.len() as i32)?);
        for (i, (_, depth)) in seen.locked.iter().enumerate() {
            object::put_element(depths.get(), i, *depth);
        }
        let id: i64 = object::get(thread.get(), t.vm.known.fields.thread_tid());
        let own = held.iter().filter(|held| held.owner == id);
        let own: Vec<Handle> = own.map(|held| held.synchronizer).collect();
        let synchronizers = t.root(objects::array_of(t, object_class, &own)?);
        lists = Some([monitors, depths, synchronizers]);
    }
    let word = |handle: Handle| handle.get().address() as u64;
    let mut arguments = vec![word(info), word(thread), seen.status as i64 as u64];
    arguments.extend([word(lock), word(owner)]);
    for number in [seen.blocked as i64, seen.blocked_ms, seen.waited as i64, seen.waited_ms] {
        arguments.extend([number as u64, 0]);
    }
    arguments.push(word(trace));
    arguments.extend(lists.iter().flatten().map(|handle| word(*handle)));
    let more = if lists.is_some() { "[Ljava/lang/Object;[I[Ljava/lang/Object;" } else { "" };
    let descriptor = format!(
        "(Ljava/lang/Thread;ILjava/lang/Object;Ljava/lang/Thread;JJJJ\
         [Ljava/lang/StackTraceElement;{more})V"
    );
    let constructor = call::find(class, "<init>", &descriptor);
    t.call(constructor, &arguments)?;
    Ok(info)
}

/// CPU time in ns of a thread by its number, 0 for the current one; -1 when it does not live.
pub extern "C" fn cpu_time(env: Env, id: jlong) -> jlong {
    cpu_time_of_kind(env, id, 1)
}

/// User and system time, or user time alone.
pub extern "C" fn cpu_time_of_kind(env: Env, id: jlong, with_system: jboolean) -> jlong {
    env.enter(|t| Ok(number_of(t, id, |thread| cpu_time_ns(thread, with_system != 0))))
}

pub extern "C" fn cpu_times_of_kind(
    env: Env,
    ids: jlongArray,
    times: jlongArray,
    with_system: jboolean,
) {
    env.enter(|t| {
        let times = entry::non_null(t, times)?;
        for (i, id) in longs(t, entry::non_null(t, ids)?.get()).into_iter().enumerate() {
            let time = number_of(t, id, |thread| cpu_time_ns(thread, with_system != 0));
            object::put_element(times.get(), i, time);
        }
        Ok(())
    })
}

pub extern "C" fn allocated_memory(env: Env, id: jlong) -> jlong {
    env.enter(|t| Ok(number_of(t, id, |thread| thread.mutator.allocated_bytes() as i64)))
}

pub extern "C" fn allocated_memories(env: Env, ids: jlongArray, sizes: jlongArray) {
    env.enter(|t| {
        let sizes = entry::non_null(t, sizes)?;
        for (i, id) in longs(t, entry::non_null(t, ids)?.get()).into_iter().enumerate() {
            let size = number_of(t, id, |thread| thread.mutator.allocated_bytes() as i64);
            object::put_element(sizes.get(), i, size);
        }
        Ok(())
    })
}

/// Of all threads that there ever were.
pub extern "C" fn total_allocated_memory(env: Env) -> jlong {
    total_allocated(env.thread().vm)
}

fn total_allocated(vm: &Vm) -> i64 {
    vm.heap.stats().allocated_bytes as i64
}

/// A number of a live thread, 0 for the current one; -1 when it does not live.
fn number_of(t: &JavaThread, id: i64, of: impl Fn(&JavaThread) -> i64) -> i64 {
    if id == 0 {
        return of(t);
    }
    let at = t.vm.known.fields.thread_tid();
    let mut found = -1;
    t.vm.threads.for_each(&mut |thread| {
        let own = thread.thread_object.get();
        // Objects of other threads may be read: this thread runs, so nothing moves.
        if !own.is_null() && object::get::<i64>(own, at) == id {
            found = of(thread);
        }
    });
    found
}
