//! The locks and conditions that threads wait for, and cycles of waiting threads.

use crate::ffi::entry::Env;
use crate::ffi::types::{jboolean, jobjectArray};
use crate::frames::walk;
use crate::java::fields::{self, F};
use crate::java::objects;
use crate::machine::JavaThread;
use crate::monitors::{monitor, status};
use crate::runtime::{Handle, object};
use classfile::symbol::Symbol;
use gc::object::ObjectRef;
use std::sync::atomic::Ordering;

/// The reason why a thread is blocked.
#[derive(Default)]
pub struct Obstacle {
    /// The object whose monitor it wants, or in whose `wait` it is.
    pub monitor: Option<Handle>,
    /// It wants the monitor; otherwise it waits to be notified.
    is_entering: bool,
    is_parked: bool,
}

impl Obstacle {
    /// Of a thread with this status; the world is stopped.
    pub fn of(t: &JavaThread, thread: &JavaThread, status: i32) -> Obstacle {
        let mut obstacle = Obstacle::default();
        match status {
            status::PARKED | status::PARKED_TIMED => obstacle.is_parked = true,
            status::WAITING_ON_OBJECT | status::WAITING_ON_OBJECT_TIMED => {
                obstacle.monitor = waited_for(thread).map(|object| t.root(object));
            }
            status::BLOCKED => {
                obstacle.monitor = wanted(thread).map(|object| t.root(object));
                obstacle.is_entering = true;
            }
            _ => (),
        }
        obstacle
    }

    /// The object itself; for parked threads the object that they gave as blocker. May be null. No safepoint,
    /// but the world runs.
    pub fn object(&self, t: &JavaThread, thread: Handle) -> Handle {
        match self.monitor {
            Some(monitor) => monitor,
            None if self.is_parked => {
                t.root(fields::get_ref(t, thread.get(), F::ThreadParkBlocker))
            }
            None => t.root(ObjectRef::NULL),
        }
    }
}

/// The owner of the lock that a thread waits for: a `Thread` object or null. No safepoint.
pub fn owner(t: &JavaThread, obstacle: &Obstacle, object: Handle) -> Handle {
    let mut owner = ObjectRef::NULL;
    if object.is_null() {
        return t.root(owner);
    }
    if obstacle.monitor.is_some() {
        let id = monitor::owner(t, object.get());
        t.vm.threads.for_each(&mut |thread| {
            if id != 0 && thread.id == id {
                owner = thread.thread_object.get();
            }
        });
    } else {
        owner = synchronizer_owner(t, object.get());
    }
    t.root(owner)
}

/// `AbstractOwnableSynchronizer.exclusiveOwnerThread`, or null.
fn synchronizer_owner(t: &JavaThread, object: ObjectRef) -> ObjectRef {
    let class = "java/util/concurrent/locks/AbstractOwnableSynchronizer";
    if !objects::is_instance_of(t, object, class) {
        return ObjectRef::NULL;
    }
    let (name, ty) = (Symbol::of("exclusiveOwnerThread"), Symbol::of("Ljava/lang/Thread;"));
    match t.klass_of(object).find_field(name, ty) {
        Some(field) => t.load_ref(object, field.offset as usize),
        None => ObjectRef::NULL,
    }
}

/// The receiver of the `Object.wait` that is on top.
fn waited_for(thread: &JavaThread) -> Option<ObjectRef> {
    let top = walk::frames(thread).next()?;
    let method = top.method();
    let is_wait = method.is_native() && method.name().bytes() == b"wait";
    let receiver = is_wait.then(|| top.local(0)).flatten()?;
    Some(ObjectRef::from_address(receiver as usize))
}

/// The object that the thread is about to lock; in `wait`, the one that it will lock again.
fn wanted(thread: &JavaThread) -> Option<ObjectRef> {
    let wanted = thread.wanted_monitor.get();
    if wanted.is_null() { waited_for(thread) } else { Some(wanted) }
}

/// Threads in cycles of monitors.
pub extern "C" fn circular(env: Env) -> jobjectArray {
    deadlocks(env, 1)
}

/// `Thread[]` of those in cycles of monitors, and (unless `monitors_only`) of ownable synchronizers; null when
/// there are none.
pub extern "C" fn deadlocks(env: Env, monitors_only: jboolean) -> jobjectArray {
    env.enter(|t| {
        let circles = circles(t, monitors_only != 0);
        let threads: Vec<Handle> = circles.iter().flatten().map(|member| member.thread).collect();
        match threads.as_slice() {
            [] => Ok(ObjectRef::NULL),
            threads => objects::array_of(t, t.vm.known.classes.thread(), threads),
        }
    })
}

/// A blocked thread.
struct Stuck {
    thread: Handle,
    obstacle: Obstacle,
    /// How often it had waited by then: the same number later says that it has not moved since.
    times_stopped: u64,
}

/// A thread of a deadlock.
pub struct Member {
    pub thread: Handle,
    /// What it waits for.
    pub object: Handle,
    /// The object is wanted for its monitor, and is no ownable synchronizer.
    pub is_monitor: bool,
}

/// Deadlocks: in each, a thread waits for what the next one holds, and the last for what the first holds. A safepoint.
///
/// Owners cannot be looked up while the world is stopped, and may change once it runs. So
/// the state of each thread is read before and after: one that has not moved in between was stuck for the
/// whole time, and so it owned its locks for the whole time.
pub fn circles(t: &JavaThread, monitors_only: bool) -> Vec<Vec<Member>> {
    let stuck = stuck_threads(t, monitors_only);
    let objects: Vec<Handle> = stuck.iter().map(|one| one.obstacle.object(t, one.thread)).collect();
    let owners: Vec<Option<usize>> = stuck
        .iter()
        .enumerate()
        .map(|(i, one)| {
            let owner = owner(t, &one.obstacle, objects[i]);
            let found = stuck.iter().position(|other| other.thread.get() == owner.get());
            // A thread that has just got the monitor may not have noticed yet.
            found.filter(|found| *found != i || !one.obstacle.is_entering)
        })
        .collect();
    if owners.iter().all(Option::is_none) {
        return Vec::new();
    }
    let later = stuck_threads(t, monitors_only);
    let stayed = |i: usize| {
        let same = |other: &Stuck| {
            other.thread.get() == stuck[i].thread.get()
                && other.times_stopped == stuck[i].times_stopped
        };
        later.iter().any(same)
    };
    let next: Vec<Option<usize>> =
        owners.iter().enumerate().map(|(i, owner)| owner.filter(|_| stayed(i))).collect();
    let member = |i: usize| Member {
        thread: stuck[i].thread,
        object: objects[i],
        is_monitor: stuck[i].obstacle.is_entering,
    };
    all_circles(&next).into_iter().map(|circle| circle.into_iter().map(member).collect()).collect()
}

/// Threads that want a monitor, and (unless `monitors_only`) those that are parked. A safepoint.
fn stuck_threads(t: &JavaThread, monitors_only: bool) -> Vec<Stuck> {
    let mut stuck = Vec::new();
    t.vm.heap.stop_world(Some(&t.mutator), &mut |_| {
        t.vm.threads.for_each(&mut |thread| {
            let own = thread.thread_object.get();
            if own.is_null() {
                return;
            }
            let status = object::get(own, t.vm.known.fields.thread_status());
            let obstacle = Obstacle::of(t, thread, status);
            if obstacle.is_entering || (obstacle.is_parked && !monitors_only) {
                let counts = [&thread.sync.times_blocked, &thread.sync.times_waited];
                let times_stopped = counts.iter().map(|c| c.load(Ordering::Relaxed)).sum();
                stuck.push(Stuck { thread: t.root(own), obstacle, times_stopped });
            }
        });
    });
    stuck
}

/// The circles that following `next` leads to, each once, from its smallest member on.
fn all_circles(next: &[Option<usize>]) -> Vec<Vec<usize>> {
    let circle = |start: usize| -> Option<Vec<usize>> {
        let mut members = vec![start];
        for _ in 0..next.len() {
            let last = *members.last()?;
            match next[last]? {
                here if here == start => return Some(members),
                // Of the circle of a smaller one, or before one.
                here if here < start => return None,
                here => members.push(here),
            }
        }
        None
    };
    (0..next.len()).filter_map(circle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_have_those_in_them_and_not_those_before_them() {
        // 0 -> 1 -> 2 -> 1, 3 -> 3, 4 -> nothing, 5 -> 7 -> 6 -> 5, 8 -> 5.
        let next = [1, 2, 1, 3, usize::MAX, 7, 5, 6, 5].map(|to| (to < 9).then_some(to));
        assert_eq!(all_circles(&next), [vec![1, 2], vec![3], vec![5, 7, 6]]);
    }
}
