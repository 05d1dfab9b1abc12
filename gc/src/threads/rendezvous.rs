//! The protocol between threads and the threads that stop them.
//!
//! A thread is *running*, *safe* or *waiting* ([`ThreadPoint::state`]). Two operations exist, one at a time:
//!
//! * **stop**: every thread is safe (by itself, or parked in [`Rendezvous::pass`]) while the operation runs.
//! * **handshake**: an action is carried out once for every thread, by the thread itself at a poll, or on its
//!   behalf while it is safe or waiting.
//!
//! A *waiting* thread (inside a barrier, for a memory server) lets handshakes pass but not stops, because it
//! still holds plain addresses in registers.
//!
//! The hot transitions take no lock. They are one half of Dekker's protocol; the requester is the other:
//!
//! ```text
//!     thread: state := SAFE (or RUNNING)          requester: poll |= STOP
//!             ---- store-load fence ----                     ---- store-load fence ----
//!             poll set?  -> take the lock                    state RUNNING?  -> wait
//! ```
//!
//! so at least one of the two sees the other. A thread that sees its poll set goes through the lock; a
//! requester re-reads all states after each wake-up, with the lock held, so no wake-up is lost. A thread that
//! became running during a stop sees its poll set, becomes safe again and sleeps until the end.
//!
//! The list of threads changes only while no operation is running: attaching and detaching wait for that, and
//! no operation waits for a thread that attaches.

use crate::object::sync::{
    AtomicU32, Condvar, Mutex, MutexGuard, Ordering, fence, store_fenced, yield_now,
};
use std::time::Instant;

/// The state that a thread shares with requesters. `repr(C)`, `poll` first: compiled code reads it at offset 0.
#[repr(C)]
pub struct ThreadPoint {
    /// `STOP | HANDSHAKE | ALWAYS | REQUEST`. Set and cleared by requesters with the rendezvous lock held (`ALWAYS`
    /// by the owner at attach, `REQUEST` set by any thread and cleared by the owner). The fast poll reads relaxed;
    /// the slow path takes the lock, which orders.
    poll: AtomicU32,
    /// `RUNNING`, `SAFE` or `WAITING`. Written by its own thread, paired with `poll` as drawn above.
    state: AtomicU32,
}

impl ThreadPoint {
    pub(crate) fn new() -> ThreadPoint {
        ThreadPoint { poll: AtomicU32::new(0), state: AtomicU32::new(SAFE) }
    }

    #[inline]
    pub(crate) fn poll_requested(&self) -> bool {
        self.poll.load(Ordering::Relaxed) != 0
    }

    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.state.load(Ordering::Relaxed) == RUNNING
    }

    /// Makes every poll of the thread take the slow path, for good (zeal).
    pub(crate) fn poll_always(&self) {
        self.poll.fetch_or(ALWAYS, Ordering::Relaxed);
    }

    /// Makes the thread's polls take the slow path until it calls `clear_request`: it has a request from outside of
    /// the rendezvous.
    pub(crate) fn request(&self) {
        self.poll.fetch_or(REQUEST, Ordering::SeqCst);
    }

    #[inline]
    pub(crate) fn has_request(&self) -> bool {
        self.poll.load(Ordering::Relaxed) & REQUEST != 0
    }

    pub(crate) fn clear_request(&self) {
        self.poll.fetch_and(!REQUEST, Ordering::SeqCst);
    }

    #[inline]
    fn is_asked(&self) -> bool {
        self.poll.load(Ordering::SeqCst) & (STOP | HANDSHAKE) != 0
    }
}

/// The registered threads `T` and the running operation.
pub(crate) struct Rendezvous<T> {
    inner: Mutex<Inner<T>>,
    /// The one requester whose operation is running waits on it for threads.
    requester: Condvar,
    /// All other threads wait on it for the operation to end.
    released: Condvar,
}

struct Inner<T> {
    threads: Vec<*const T>,
    operation: Operation,
    /// The action of the running handshake; valid while `operation` is `Handshake`.
    action: Option<Action<T>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    None,
    Stop,
    Handshake,
}

type Action<T> = *const (dyn Fn(&T) + 'static);

// SAFETY: the pointers name threads that stay in place while attached and are `Sync`; the action is only
// called with the lock held while the requester's borrow of it lasts.
unsafe impl<T: Sync> Send for Inner<T> {}

impl<T: AsRef<ThreadPoint> + Sync> Rendezvous<T> {
    pub(crate) fn new() -> Rendezvous<T> {
        let inner = Inner { threads: Vec::new(), operation: Operation::None, action: None };
        Rendezvous { inner: Mutex::new(inner), requester: Condvar::new(), released: Condvar::new() }
    }

    /// Registers a thread, running. `begin` runs before any operation can see the thread. Blocks while an
    /// operation is on. `thread` must stay in place until `detach`.
    pub(crate) fn attach(&self, thread: &T, begin: impl FnOnce(&T)) {
        let mut inner = self.idle();
        thread.as_ref().state.store(RUNNING, Ordering::Relaxed);
        begin(thread);
        inner.threads.push(thread);
    }

    /// Unregisters a running or safe thread, which is safe afterwards. `end` runs while no operation is running.
    pub(crate) fn detach(&self, thread: &T, end: impl FnOnce(&T)) {
        thread.as_ref().state.store(SAFE, Ordering::SeqCst);
        let mut inner = self.inner.lock();
        self.requester.notify_one();
        while inner.operation != Operation::None {
            self.released.wait(&mut inner);
        }
        end(thread);
        let before = inner.threads.len();
        inner.threads.retain(|other| !std::ptr::eq(*other, thread));
        assert_eq!(inner.threads.len() + 1, before, "a thread detached that was not attached");
    }

    #[inline]
    pub(crate) fn enter_safe(&self, thread: &T) {
        self.leave_running(thread, SAFE);
    }

    /// From safe to running, unless something is asked of the thread: then false, and it must
    /// [`pass`](Self::pass) to become running.
    #[inline]
    #[must_use]
    pub(crate) fn try_leave_safe(&self, thread: &T) -> bool {
        store_fenced(&thread.as_ref().state, RUNNING);
        !thread.as_ref().is_asked()
    }

    /// From safe to running; waits for a stop to end.
    fn leave_safe(&self, thread: &T) {
        if !self.try_leave_safe(thread) {
            self.pass(thread);
        }
    }

    /// From running to waiting: handshakes pass on the thread's behalf, stops wait for it.
    #[inline]
    pub(crate) fn enter_waiting(&self, thread: &T) {
        self.leave_running(thread, WAITING);
    }

    /// From waiting to running. Does not wait for stops: the thread stops at its next poll.
    #[inline]
    pub(crate) fn leave_waiting(&self, thread: &T) {
        store_fenced(&thread.as_ref().state, RUNNING);
        if thread.as_ref().is_asked() {
            let inner = self.inner.lock();
            self.act(&inner, thread);
        }
    }

    /// Answers all requests to a running thread; returns running. True when it waited for a stop to end.
    #[cold]
    pub(crate) fn pass(&self, thread: &T) -> bool {
        let point = thread.as_ref();
        let mut inner = self.inner.lock();
        let stopped = inner.operation == Operation::Stop;
        if stopped {
            point.state.store(SAFE, Ordering::SeqCst);
            self.requester.notify_one();
            while inner.operation == Operation::Stop {
                self.released.wait(&mut inner);
            }
            point.state.store(RUNNING, Ordering::SeqCst);
        }
        // The stop may have been followed by a handshake before this thread had the lock.
        self.act(&inner, thread);
        let is_waited_for = inner.operation == Operation::Handshake;
        drop(inner);
        if is_waited_for {
            // Those that have not passed yet may be waiting for this CPU. Else each of them would get it only
            // when the one before has had its time slice, and the requester waits for them all.
            yield_now();
        }
        stopped
    }

    /// Stops all threads, runs `f` with the list of them, releases them. `me` is the caller when it is a running
    /// thread; it counts as safe from the call on. `f` runs without the lock.
    /// The second argument of `f` is when the threads were asked.
    pub(crate) fn stop<R>(&self, me: Option<&T>, f: impl FnOnce(&[*const T], Instant) -> R) -> R {
        if let Some(thread) = me {
            self.enter_safe(thread);
        }
        let mut inner = self.idle();
        inner.operation = Operation::Stop;
        // The list is not touched while an operation is running, so it may leave the lock.
        let threads = std::mem::take(&mut inner.threads);
        let asked = Instant::now();
        ask(&threads, STOP);
        while threads.iter().any(|t| point(*t).state.load(Ordering::SeqCst) != SAFE) {
            self.requester.wait(&mut inner);
        }
        drop(inner);
        let result = f(&threads, asked);
        let mut inner = self.inner.lock();
        for thread in &threads {
            point(*thread).poll.fetch_and(!STOP, Ordering::SeqCst);
        }
        inner.threads = threads;
        self.end(inner);
        if let Some(thread) = me {
            self.leave_safe(thread);
        }
        result
    }

    /// Carries `action` out once for each attached thread (see the module text) and returns when that is done.
    /// `action` runs with the lock held: it must be short and not block. `me` as in [`stop`](Self::stop).
    pub(crate) fn handshake(&self, me: Option<&T>, action: &dyn Fn(&T)) {
        if let Some(thread) = me {
            self.enter_safe(thread);
        }
        let mut inner = self.idle();
        inner.operation = Operation::Handshake;
        // SAFETY: only the lifetime changes; the pointer is removed below, before the borrow ends.
        inner.action = Some(unsafe { std::mem::transmute::<*const dyn Fn(&T), Action<T>>(action) });
        ask(&inner.threads, HANDSHAKE);
        loop {
            let mut all_passed = true;
            for thread in &inner.threads {
                if point(*thread).state.load(Ordering::SeqCst) != RUNNING {
                    // SAFETY: attached, so in place. It is safe or waiting with its poll set: before it
                    // touches its block again it takes the lock, which we hold.
                    self.act(&inner, unsafe { &**thread });
                } else if point(*thread).poll.load(Ordering::Relaxed) & HANDSHAKE != 0 {
                    all_passed = false;
                }
            }
            if all_passed {
                break;
            }
            self.requester.wait(&mut inner);
        }
        inner.action = None;
        self.end(inner);
        if let Some(thread) = me {
            self.leave_safe(thread);
        }
    }

    /// Number of attached threads; 0 during a stop.
    pub(crate) fn count(&self) -> usize {
        self.inner.lock().threads.len()
    }

    /// The lock, with no operation on.
    fn idle(&self) -> MutexGuard<'_, Inner<T>> {
        let mut inner = self.inner.lock();
        while inner.operation != Operation::None {
            self.released.wait(&mut inner);
        }
        inner
    }

    fn end(&self, mut inner: MutexGuard<'_, Inner<T>>) {
        inner.operation = Operation::None;
        drop(inner);
        self.released.notify_all();
    }

    #[inline]
    fn leave_running(&self, thread: &T, state: u32) {
        store_fenced(&thread.as_ref().state, state);
        if thread.as_ref().is_asked() {
            // With the lock the requester is either before its reading of the states or in its wait.
            let _inner = self.inner.lock();
            self.requester.notify_one();
        }
    }

    /// Carries out the handshake's action for `thread` if it has not been yet. The lock is held.
    fn act(&self, inner: &Inner<T>, thread: &T) {
        if thread.as_ref().poll.load(Ordering::Relaxed) & HANDSHAKE == 0 {
            return;
        }
        let action = inner.action.expect("the bit is only set while a handshake is on");
        // SAFETY: the requester waits for us with the closure alive (it clears the bits of all first).
        unsafe { (*action)(thread) };
        thread.as_ref().poll.fetch_and(!HANDSHAKE, Ordering::SeqCst);
        self.requester.notify_one();
    }
}

fn ask<T: AsRef<ThreadPoint>>(threads: &[*const T], bit: u32) {
    for thread in threads {
        point(*thread).poll.fetch_or(bit, Ordering::SeqCst);
    }
    fence(Ordering::SeqCst);
}

fn point<'a, T: AsRef<ThreadPoint> + 'a>(thread: *const T) -> &'a ThreadPoint {
    // SAFETY: only called for attached threads, which stay in place until an operation-free moment.
    unsafe { &*thread }.as_ref()
}

const RUNNING: u32 = 0;
const SAFE: u32 = 1;
const WAITING: u32 = 2;

const STOP: u32 = 1;
const HANDSHAKE: u32 = 2;
const ALWAYS: u32 = 4;
const REQUEST: u32 = 8;

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;

    struct Thread {
        point: ThreadPoint,
        /// Stands for the heap: touched by the thread while running, by the requester while stopped.
        heap: loom::cell::UnsafeCell<u32>,
    }

    // SAFETY: the model checks accesses to the cell.
    unsafe impl Sync for Thread {}
    // SAFETY: as above.
    unsafe impl Send for Thread {}

    impl AsRef<ThreadPoint> for Thread {
        fn as_ref(&self) -> &ThreadPoint {
            &self.point
        }
    }

    fn thread() -> Arc<Thread> {
        Arc::new(Thread { point: ThreadPoint::new(), heap: loom::cell::UnsafeCell::new(0) })
    }

    fn touch(t: &Thread) {
        // SAFETY: loom reports the access if it races.
        t.heap.with_mut(|p| unsafe { *p += 1 });
    }

    /// The heap is never touched by thread and requester at once, through native transitions.
    #[test]
    fn a_stop_excludes_a_thread_that_comes_back() {
        loom::model(|| {
            let r = Arc::new(Rendezvous::<Thread>::new());
            let t = thread();
            r.attach(&t, |_| ());
            let (r2, t2) = (r.clone(), t.clone());
            let other = loom::thread::spawn(move || {
                r2.stop(None, |threads, _| threads.iter().for_each(|_| touch(&t2)))
            });
            touch(&t);
            r.enter_safe(&t);
            r.leave_safe(&t);
            touch(&t);
            r.detach(&t, |_| ());
            other.join().unwrap();
        });
    }

    /// Polling threads are stopped too, and two requesters do not overlap.
    #[test]
    fn two_requesters_take_turns() {
        loom::model(|| {
            let r = Arc::new(Rendezvous::<Thread>::new());
            let t = thread();
            r.attach(&t, |_| ());
            let (r2, t2) = (r.clone(), t.clone());
            let other = loom::thread::spawn(move || r2.stop(None, |_, _| touch(&t2)));
            touch(&t);
            r.stop(Some(&*t), |_, _| touch(&t));
            if t.point.poll_requested() {
                r.pass(&t);
            }
            touch(&t);
            r.enter_safe(&t);
            other.join().unwrap();
        });
    }

    /// The action runs exactly once for each thread, and never beside the thread itself.
    #[test]
    fn a_handshake_passes_each_thread_once() {
        loom::model(|| {
            let r = Arc::new(Rendezvous::<Thread>::new());
            let t = thread();
            r.attach(&t, |_| ());
            let r2 = r.clone();
            let other = loom::thread::spawn(move || r2.handshake(None, &|t| touch(t)));
            r.enter_waiting(&t);
            r.leave_waiting(&t);
            touch(&t);
            r.enter_safe(&t);
            other.join().unwrap();
            r.leave_safe(&t);
            // SAFETY: the other thread has ended.
            t.heap.with(|p| assert_eq!(unsafe { *p }, 2));
        });
    }
}
