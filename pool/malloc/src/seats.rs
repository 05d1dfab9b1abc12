//! Who uses which client of the heap.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering, compiler_fence, fence};

use pool::Allocator;

use crate::cache::Cache;
use crate::ground::{self, CLIENTS};
use crate::thread;

/// A client of the heap.
#[repr(align(128))]
pub struct Seat {
    /// 1 while a thread uses the client. The owner of an own seat sets it by a plain store; a shared one is taken by a
    /// compare-and-swap. Read by `fork`, which pairs its barrier with the one that the owner does not need.
    busy: AtomicU32,
    /// What the seat is, as below. Changed by the holder of `TABLE`, or of `busy` for shared seats.
    state: AtomicU32,
    /// One more than the number of the next free seat. Under `TABLE`.
    next: AtomicUsize,
    client: UnsafeCell<Option<Held>>,
}

/// A client, with what it keeps.
pub struct Held {
    pub client: Allocator<'static>,
    /// Where the client writes new blocks.
    pub cell: u64,
    pub cache: Cache,
}

impl Held {
    fn new() -> Option<Held> {
        let (client, cell) = ground::join()?;
        Some(Held { client, cell, cache: Cache::new() })
    }

    /// Gives all free memory to the heap. What cannot be given stays with the client.
    pub fn trim(&mut self) {
        self.cache.clear(&mut self.client);
        let _ = self.client.trim();
    }
}

/// It has no client yet.
const NEW: u32 = 0;
/// In the list of free seats.
const FREE: u32 = 1;
/// A thread has it, or it is shared and has a client.
const TAKEN: u32 = 2;
/// Nobody uses it: the thread that was inside does not exist in this child of `fork`.
const LOST: u32 = 3;

// SAFETY: `client` is used by the thread that has set `busy`, alone.
unsafe impl Sync for Seat {}

impl Seat {
    const fn new() -> Seat {
        Seat {
            busy: AtomicU32::new(0),
            state: AtomicU32::new(NEW),
            next: AtomicUsize::new(0),
            client: UnsafeCell::new(None),
        }
    }
}

const SHARED: usize = 8;
/// Seats that one thread has for its own.
const OWN: usize = CLIENTS - SHARED;

static OWN_SEATS: [Seat; OWN] = [const { Seat::new() }; OWN];
static SHARED_SEATS: [Seat; SHARED] = [const { Seat::new() }; SHARED];

/// The list of free seats, and how many were ever used, under a lock of one word.
struct Table {
    lock: AtomicU32,
    /// One more than the number of the first free seat.
    free: AtomicUsize,
    used: AtomicUsize,
}

static TABLE: Table =
    Table { lock: AtomicU32::new(0), free: AtomicUsize::new(0), used: AtomicUsize::new(0) };

/// How many threads are in `fork` now, and whether threads must fence. 0: the way in is free.
static GATE: AtomicU32 = AtomicU32::new(0);
/// In `GATE`: the kernel has no `membarrier` for us.
const FENCED: u32 = 1 << 31;
/// The number of the thread in `fork`, which does not wait for itself.
static FORKER: AtomicUsize = AtomicUsize::new(0);

/// A thread's word if it has no seat and gets none any more: it is about to end.
const ENDED: usize = 1;
/// If it has none now: the word counts in fours until it asks again.
const REFUSED: usize = 3;
const REFUSED_MAX: usize = REFUSED + 4 * 1000;

const PAUSE_NS: i64 = 100_000;
/// Pauses for a shared seat, for the table, and for the end of a `fork`: a second.
const PAUSES: u32 = 10_000;
/// Pauses of `fork` for all others together: 100 ms.
const FORK_PAUSES: u32 = 1_000;

/// A seat that this thread is inside of. Dropping it leaves.
pub struct Inside {
    seat: &'static Seat,
}

impl Inside {
    /// The client. `None`: no identity was to be had.
    #[inline(always)]
    pub fn held(&mut self) -> Option<&mut Held> {
        // SAFETY: this thread has set `busy`, and there is one `Inside` for that.
        let held = unsafe { &mut *self.seat.client.get() };
        held.as_mut()
    }
}

impl Drop for Inside {
    #[inline(always)]
    fn drop(&mut self) {
        self.seat.busy.store(0, Ordering::Release);
    }
}

/// Enters this thread's own seat. `None`: it has none yet, or is inside already, in a function that this one
/// interrupts.
#[inline(always)]
pub fn enter_own() -> Option<Inside> {
    let word = thread::word();
    if word < size_of::<Seat>() || word & 3 != 0 {
        return None;
    }
    // SAFETY: a word above the constants is the address of a static seat.
    let seat = unsafe { &*std::ptr::with_exposed_provenance::<Seat>(word) };
    enter(seat)
}

#[inline(always)]
fn enter(seat: &'static Seat) -> Option<Inside> {
    if seat.busy.load(Ordering::Relaxed) != 0 {
        return None;
    }
    seat.busy.store(1, Ordering::Relaxed);
    // `fork` closes the gate, and then has all threads of the process pass a barrier: whoever has not seen the gate
    // closed is seen inside.
    compiler_fence(Ordering::SeqCst);
    if GATE.load(Ordering::Acquire) != 0 {
        pass_gate(seat);
    }
    Some(Inside { seat })
}

/// Waits outside until no other thread is in `fork`. After a second it goes in all the same: the child may then lose
/// the seat, and no more.
#[cold]
fn pass_gate(seat: &Seat) {
    for _ in 0..PAUSES {
        let gate = GATE.load(Ordering::Acquire);
        if gate & FENCED != 0 {
            fence(Ordering::SeqCst);
        }
        let is_open = GATE.load(Ordering::Acquire) & !FENCED == 0;
        if is_open || FORKER.load(Ordering::Acquire) == thread::number() {
            return;
        }
        seat.busy.store(0, Ordering::Release);
        pause();
        seat.busy.store(1, Ordering::SeqCst);
    }
}

/// A seat for a thread that is not inside of its own: its own if it gets one now, else a shared one. `None`: there is
/// no pool, or all are busy for a long time.
#[cold]
pub fn enter_any() -> Option<Inside> {
    ground::heap()?;
    let word = thread::word();
    if word == 0 || word == REFUSED_MAX {
        // What is called meanwhile may allocate, and finds that the thread has no seat.
        thread::set_word(REFUSED);
        if let Some(seat) = take() {
            if crate::start::at_thread_end(seat) {
                thread::set_word((seat as *const Seat).expose_provenance());
                if let Some(inside) = enter(seat) {
                    return Some(inside);
                }
            } else {
                give(seat);
            }
        }
    } else if word & 3 == REFUSED {
        thread::set_word(word + 4);
    }
    enter_shared()
}

fn enter_shared() -> Option<Inside> {
    let number = thread::number();
    let first = number >> 12 ^ number >> 23;
    for _ in 0..PAUSES {
        let is_mine = FORKER.load(Ordering::Acquire) == number;
        for n in 0..SHARED {
            let seat = &SHARED_SEATS[(first + n) % SHARED];
            if seat.busy.compare_exchange(0, 1, Ordering::SeqCst, Ordering::Relaxed).is_err() {
                continue;
            }
            let inside = Inside { seat };
            if GATE.load(Ordering::SeqCst) & !FENCED != 0 && !is_mine {
                break;
            }
            if seat.state.load(Ordering::Acquire) == NEW {
                // SAFETY: this thread has set `busy`.
                unsafe { *seat.client.get() = Held::new() };
                seat.state.store(TAKEN, Ordering::Release);
            }
            return Some(inside);
        }
        pause();
    }
    None
}

/// A free seat, or a new one. `None`: all identities are leased.
fn take() -> Option<&'static Seat> {
    let seat = locked(|| {
        if let Some(number) = TABLE.free.load(Ordering::Relaxed).checked_sub(1) {
            let seat = &OWN_SEATS[number];
            TABLE.free.store(seat.next.load(Ordering::Relaxed), Ordering::Relaxed);
            seat.state.store(TAKEN, Ordering::Relaxed);
            return Some(seat);
        }
        let seat = OWN_SEATS.get(TABLE.used.load(Ordering::Relaxed))?;
        TABLE.used.fetch_add(1, Ordering::Relaxed);
        seat.busy.store(1, Ordering::Relaxed);
        Some(seat)
    })??;
    if seat.state.load(Ordering::Relaxed) == NEW {
        // SAFETY: this thread has set `busy`, and nobody else knows the seat.
        let client = unsafe { &mut *seat.client.get() };
        *client = Held::new();
        seat.state.store(if client.is_some() { TAKEN } else { LOST }, Ordering::Release);
        seat.busy.store(0, Ordering::Release);
        client.as_ref()?;
    }
    Some(seat)
}

/// Puts a seat that nobody is inside of into the list of free ones.
fn give(seat: &'static Seat) {
    locked(|| push(seat));
}

fn push(seat: &'static Seat) {
    let distance = (seat as *const Seat).addr() - OWN_SEATS.as_ptr().addr();
    seat.state.store(FREE, Ordering::Relaxed);
    seat.next.store(TABLE.free.load(Ordering::Relaxed), Ordering::Relaxed);
    TABLE.free.store(distance / size_of::<Seat>() + 1, Ordering::Relaxed);
}

/// The thread ends: its free memory is the heap's, and its seat the next thread's. What it does from now on, it does
/// on a shared seat.
pub extern "C" fn leave(seat: *mut c_void) {
    thread::set_word(ENDED);
    // SAFETY: it is the address that `at_thread_end` was given, of a static.
    let seat = unsafe { &*seat.cast::<Seat>() };
    let Some(mut inside) = enter(seat) else { return };
    if let Some(held) = inside.held() {
        held.trim();
    }
    drop(inside);
    give(seat);
}

/// Does something under the lock of the table. `None`: the lock is taken for a long time.
fn locked<T>(action: impl FnOnce() -> T) -> Option<T> {
    if !lock() {
        return None;
    }
    let done = action();
    TABLE.lock.store(0, Ordering::Release);
    Some(done)
}

fn lock() -> bool {
    for _ in 0..PAUSES {
        if TABLE.lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return true;
        }
        pause();
    }
    false
}

fn pause() {
    let time = libc::timespec { tv_sec: 0, tv_nsec: PAUSE_NS };
    // SAFETY: no memory but `time` is involved.
    unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
}

/// Has threads fence by themselves.
pub fn set_fenced() {
    GATE.fetch_or(FENCED, Ordering::SeqCst);
}

/// Before `fork`: closes the gate, and waits until no other thread is inside.
pub fn close_gate(barrier: impl FnOnce()) -> bool {
    let is_locked = lock();
    FORKER.store(thread::number(), Ordering::SeqCst);
    GATE.fetch_add(1, Ordering::SeqCst);
    barrier();
    let own = thread::word();
    let used = TABLE.used.load(Ordering::Relaxed).min(OWN);
    let mut pauses = 0;
    for seat in OWN_SEATS[..used].iter().chain(&SHARED_SEATS) {
        let is_own = (seat as *const Seat).addr() == own;
        while !is_own && seat.busy.load(Ordering::Acquire) != 0 && pauses < FORK_PAUSES {
            pause();
            pauses += 1;
        }
    }
    is_locked
}

/// After `fork`, in the parent.
pub fn open_gate(is_locked: bool) {
    FORKER.store(0, Ordering::SeqCst);
    GATE.fetch_sub(1, Ordering::SeqCst);
    if is_locked {
        TABLE.lock.store(0, Ordering::Release);
    }
}

/// After `fork`, in the child, which has this thread alone.
pub fn inherit() {
    let own = thread::word();
    TABLE.free.store(0, Ordering::Relaxed);
    for seat in &OWN_SEATS[..TABLE.used.load(Ordering::Relaxed).min(OWN)] {
        let is_own = (seat as *const Seat).addr() == own;
        let is_known = [FREE, TAKEN].contains(&seat.state.load(Ordering::Relaxed));
        if is_own || !is_known {
            continue;
        }
        if seat.busy.load(Ordering::Relaxed) == 0 {
            push(seat);
        } else {
            seat.state.store(LOST, Ordering::Relaxed);
        }
    }
    // A shared seat that somebody was inside of stays busy: nobody gets it.
    FORKER.store(0, Ordering::Relaxed);
    GATE.fetch_and(FENCED, Ordering::Relaxed);
    TABLE.lock.store(0, Ordering::Release);
}
