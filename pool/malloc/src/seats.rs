//! Who uses which client of the heap.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering, compiler_fence, fence};

use pool::Allocator;

use crate::cache::Cache;
use crate::ground::{self, CLIENTS};
use crate::{below, thread};

/// A client of the heap.
#[repr(align(128))]
pub struct Seat {
    /// 1 while a thread uses the client. The owner of an own seat sets it by a plain store; a shared one is taken by a
    /// compare-and-swap. Read by `fork`, which pairs its barrier with the one that the owner does not need.
    busy: AtomicU32,
    /// What the seat is, as below. Who takes a seat changes it by a compare-and-swap; then the thread that has the seat
    /// does, or of shared seats the holder of `busy`.
    state: AtomicU32,
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
/// It has a client, and no thread has it.
const FREE: u32 = 1;
/// A thread has it, or it is shared and has a client.
const TAKEN: u32 = 2;
/// Nobody uses it: the thread that was inside does not exist in this child of `fork`.
const LOST: u32 = 3;
/// A thread has it, and makes its client. Not `busy`: it has not begun.
const JOINING: u32 = 4;

// SAFETY: `client` is used by the thread that has set `busy`, alone.
unsafe impl Sync for Seat {}

impl Seat {
    const fn new() -> Seat {
        Seat { busy: AtomicU32::new(0), state: AtomicU32::new(NEW), client: UnsafeCell::new(None) }
    }
}

const SHARED: usize = 8;
/// Seats that one thread has for its own.
const OWN: usize = CLIENTS - SHARED;

static OWN_SEATS: [Seat; OWN] = [const { Seat::new() }; OWN];
static SHARED_SEATS: [Seat; SHARED] = [const { Seat::new() }; SHARED];

/// One more than the highest number of a seat that ever had a client.
static USED: AtomicUsize = AtomicUsize::new(0);
/// Where a free seat may be: the last one given, or the next of the last one taken.
static HINT: AtomicUsize = AtomicUsize::new(0);

/// How often the forker is in `fork` now (a signal handler may fork, too), and whether threads must fence. 0: the way
/// in is free.
static GATE: AtomicU32 = AtomicU32::new(0);
/// In `GATE`: the kernel has no `membarrier` for us.
const FENCED: u32 = 1 << 31;
/// The number of the thread in `fork`, which does not wait for itself. 0: none. Others wait until it is out of it.
static FORKER: AtomicUsize = AtomicUsize::new(0);

/// A thread's word if it has no seat and gets none any more: it is about to end.
const ENDED: usize = 1;
/// If it has none now: the word counts in fours until it asks again.
const REFUSED: usize = 3;
const REFUSED_MAX: usize = REFUSED + 4 * 1000;

const PAUSE_NS: i64 = 100_000;
/// Pauses for a shared seat, and for the end of a `fork`: a second and a half.
const PAUSES: u32 = 10_000;
/// Pauses of `fork` for the `fork` of another thread: at least ten seconds.
const FORKER_PAUSES: u32 = 100_000;
/// Pauses of `fork` for all others together: at least 100 ms.
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
    if GATE.load(Ordering::Acquire) != 0 && !pass_gate(seat) {
        return None;
    }
    Some(Inside { seat })
}

/// Waits outside until no other thread is in `fork`. False: that takes too long, and the seat is not busy any more. To
/// go in all the same would be wrong: the kernel copies page after page, so the child could see what was done inside,
/// and not that somebody was.
#[cold]
fn pass_gate(seat: &Seat) -> bool {
    for _ in 0..PAUSES {
        let gate = GATE.load(Ordering::Acquire);
        if gate & FENCED != 0 {
            fence(Ordering::SeqCst);
        }
        let is_open = GATE.load(Ordering::Acquire) & !FENCED == 0;
        if is_open || FORKER.load(Ordering::Acquire) == thread::number() {
            return true;
        }
        seat.busy.store(0, Ordering::Release);
        pause();
        seat.busy.store(1, Ordering::SeqCst);
    }
    seat.busy.store(0, Ordering::Release);
    false
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

/// A free seat, or a new one. `None`: all identities are leased, or another thread is in `fork` for long.
fn take() -> Option<&'static Seat> {
    if let Some((_, seat)) = claim(USED.load(Ordering::Acquire), FREE, TAKEN) {
        return Some(seat);
    }
    let (number, seat) = claim(OWN, NEW, JOINING)?;
    // `fork` looks at the gate, at this, and at `busy`, in this order.
    USED.fetch_max(number + 1, Ordering::SeqCst);
    seat.busy.store(1, Ordering::SeqCst);
    if GATE.load(Ordering::SeqCst) != 0 && !pass_gate(seat) {
        seat.state.store(NEW, Ordering::Release);
        return None;
    }
    // SAFETY: this thread has set `busy`, and nobody else has the seat.
    let client = unsafe { &mut *seat.client.get() };
    *client = Held::new();
    let is_made = client.is_some();
    seat.state.store(if is_made { TAKEN } else { LOST }, Ordering::Release);
    seat.busy.store(0, Ordering::Release);
    is_made.then_some(seat)
}

/// Of the first `count` seats, the first one from the hint on that is in one state, which becomes the other one.
fn claim(count: usize, state: u32, next: u32) -> Option<(usize, &'static Seat)> {
    let first = HINT.load(Ordering::Relaxed);
    for n in 0..count {
        let number = (first + n) % count;
        let seat = &OWN_SEATS[number];
        if seat.state.load(Ordering::Relaxed) == state
            && seat.state.compare_exchange(state, next, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        {
            HINT.store(number + 1, Ordering::Relaxed);
            return Some((number, seat));
        }
    }
    None
}

/// Lets other threads have a seat that nobody is inside of.
fn give(seat: &'static Seat) {
    let distance = (seat as *const Seat).addr() - OWN_SEATS.as_ptr().addr();
    seat.state.store(FREE, Ordering::Release);
    HINT.store(distance / size_of::<Seat>(), Ordering::Relaxed);
}

/// The thread ends: its free memory is the heap's, and its seat the next thread's. What it does from now on, it does
/// on a shared seat.
pub extern "C" fn leave(seat: *mut c_void) {
    thread::set_word(ENDED);
    // SAFETY: it is the address that `at_thread_end` was given, of a static.
    let seat = unsafe { &*seat.cast::<Seat>() };
    match enter(seat) {
        Some(mut inside) => {
            if let Some(held) = inside.held() {
                held.trim();
            }
        }
        // It ends in a signal handler that has interrupted the allocator.
        None if seat.busy.load(Ordering::Relaxed) != 0 => return,
        // Another thread is in `fork` for long. The next thread has what the client keeps.
        None => {}
    }
    give(seat);
}

/// Sleeps for a moment. Not by the C library's `nanosleep`: a thread could be cancelled there, which no function of the
/// allocator allows.
fn pause() {
    let time = libc::timespec { tv_sec: 0, tv_nsec: PAUSE_NS };
    let none = std::ptr::null_mut::<libc::timespec>();
    // A signal ends the sleep, which is no error of the caller's function.
    let before = below::errno();
    // SAFETY: no memory but `time` is involved.
    unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, none) };
    below::set_errno(before);
}

/// Has threads fence by themselves.
pub fn set_fenced() {
    GATE.fetch_or(FENCED, Ordering::SeqCst);
}

/// Before `fork`: closes the gate, and waits until no other thread is inside. If another thread does not come out of
/// `fork`, the gate stays as that one has it.
pub fn close_gate(barrier: impl FnOnce()) {
    if !become_forker() {
        return;
    }
    GATE.fetch_add(1, Ordering::SeqCst);
    barrier();
    let own = thread::word();
    let mut pauses = 0;
    for seat in OWN_SEATS[..USED.load(Ordering::SeqCst)].iter().chain(&SHARED_SEATS) {
        let is_own = (seat as *const Seat).addr() == own;
        if is_own || seat.state.load(Ordering::Acquire) == LOST {
            continue;
        }
        while seat.busy.load(Ordering::SeqCst) != 0 && pauses < FORK_PAUSES {
            pause();
            pauses += 1;
        }
    }
}

fn become_forker() -> bool {
    let number = thread::number();
    for _ in 0..FORKER_PAUSES {
        match FORKER.compare_exchange(0, number, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => return true,
            Err(forker) if forker == number => return true,
            Err(_) => pause(),
        }
    }
    false
}

/// After `fork`, in the parent.
pub fn open_gate() {
    if FORKER.load(Ordering::SeqCst) == thread::number()
        && GATE.fetch_sub(1, Ordering::SeqCst) & !FENCED == 1
    {
        FORKER.store(0, Ordering::SeqCst);
    }
}

/// After `fork`, in the child, which has this thread alone.
pub fn inherit() {
    let own = thread::word();
    for seat in &OWN_SEATS[..USED.load(Ordering::Relaxed)] {
        let is_own = (seat as *const Seat).addr() == own;
        let is_busy = seat.busy.load(Ordering::Relaxed) != 0;
        let state = match seat.state.load(Ordering::Relaxed) {
            FREE | TAKEN | JOINING if is_own => continue,
            FREE | TAKEN | JOINING if is_busy => LOST,
            FREE | TAKEN => FREE,
            JOINING => NEW,
            _ => continue,
        };
        seat.state.store(state, Ordering::Relaxed);
    }
    for seat in &SHARED_SEATS {
        // It stays busy: nobody gets it. If this thread is inside of it, it is as before when the thread has left it.
        if seat.busy.load(Ordering::Relaxed) != 0 && seat.state.load(Ordering::Relaxed) == TAKEN {
            seat.state.store(LOST, Ordering::Relaxed);
        }
    }
    HINT.store(0, Ordering::Relaxed);
    FORKER.store(0, Ordering::Relaxed);
    GATE.fetch_and(FENCED, Ordering::Relaxed);
}
