//! SIGBUS belongs to the pager; the program's own handler comes second.
//!
//! The pager passes signals that are not its own to the handler that was installed before it. That is
//! [`on_other_sigbus`], which calls the handler that the program has set last: the program sets and reads a handler
//! in this file, the kernel has the pager's.
//!
//! A fault while SIGBUS is blocked would end the process, so the program cannot block it.

use std::mem;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};

use libc::{c_int, c_void, sighandler_t, sigset_t};

use crate::inside::Inside;
use crate::real::next;

/// The program's action for SIGBUS.
struct Action {
    /// The handler and, in the top bit, whether it wants three arguments: one word, so that no thread sees one
    /// without the other. Written by the program's threads, read by the handler; the others are only given back to
    /// the program.
    handler: AtomicUsize,
    flags: AtomicI32,
    /// The kernel knows 64 signals.
    mask: AtomicU64,
}

static PROGRAM: Action =
    Action { handler: AtomicUsize::new(0), flags: AtomicI32::new(0), mask: AtomicU64::new(0) };
/// Has the pager got SIGBUS?
static TAKEN: AtomicBool = AtomicBool::new(false);

impl Action {
    fn store(&self, action: &libc::sigaction) {
        let three = if action.sa_flags & libc::SA_SIGINFO != 0 { THREE_ARGUMENTS } else { 0 };
        // SAFETY: a signal set is at least 64 bits of plain data.
        let mask = unsafe { (&raw const action.sa_mask).cast::<u64>().read() };
        self.mask.store(mask, Ordering::Relaxed);
        self.flags.store(action.sa_flags, Ordering::Relaxed);
        self.handler.store(action.sa_sigaction | three, Ordering::Release);
    }

    fn load(&self) -> libc::sigaction {
        // SAFETY: all-zero is a valid sigaction.
        let mut action = unsafe { mem::zeroed::<libc::sigaction>() };
        action.sa_sigaction = self.handler.load(Ordering::Acquire) & !THREE_ARGUMENTS;
        action.sa_flags = self.flags.load(Ordering::Relaxed);
        let mask = self.mask.load(Ordering::Relaxed);
        // SAFETY: a signal set is at least 64 bits of plain data.
        unsafe { (&raw mut action.sa_mask).cast::<u64>().write(mask) };
        action
    }
}

/// Before the first pager: keeps the program's handler, and puts itself between the two.
pub fn take_over() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: all-zero is a valid sigaction; the handler has the type that SA_SIGINFO asks for.
        unsafe {
            let (mut ours, mut theirs) = mem::zeroed::<(libc::sigaction, libc::sigaction)>();
            ours.sa_sigaction = on_other_sigbus as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            next_sigaction(libc::SIGBUS, ptr::null(), &mut theirs);
            PROGRAM.store(&theirs);
            next_sigaction(libc::SIGBUS, &ours, ptr::null_mut());
        }
        TAKEN.store(true, Ordering::SeqCst);
        let mut set = empty_set();
        // SAFETY: a local set. Unblocks the signal in the thread that is about to use far memory.
        unsafe {
            libc::sigaddset(&mut set, libc::SIGBUS);
            next_mask(libc::SIG_UNBLOCK, &set, ptr::null_mut());
        }
    });
}

/// A SIGBUS that is not the pager's.
extern "C" fn on_other_sigbus(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let packed = PROGRAM.handler.load(Ordering::Acquire);
    let handler = packed & !THREE_ARGUMENTS;
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        // SAFETY: all-zero is the default action. The instruction runs again and ends the process.
        unsafe {
            let default = mem::zeroed::<libc::sigaction>();
            next_sigaction(signal, &default, ptr::null_mut());
        }
    } else if packed & THREE_ARGUMENTS != 0 {
        // SAFETY: the program has set it with SA_SIGINFO.
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
            unsafe { mem::transmute(handler) };
        handler(signal, info, context);
    } else {
        // SAFETY: the program has set it without SA_SIGINFO.
        let handler: extern "C" fn(c_int) = unsafe { mem::transmute(handler) };
        handler(signal);
    }
}

/// Interposed.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    if Inside::is_entered() {
        // SAFETY: promised by the caller.
        return unsafe { next_sigaction(signal, new, old) };
    }
    if signal == libc::SIGBUS && TAKEN.load(Ordering::Relaxed) {
        let before = PROGRAM.load();
        // SAFETY: promised by the caller.
        unsafe {
            if !new.is_null() {
                PROGRAM.store(&*new);
            }
            if !old.is_null() {
                *old = before;
            }
        }
        return 0;
    }
    // SAFETY: promised by the caller.
    let without = unsafe { new.as_ref() }.map(|new| {
        let mut copy = *new;
        // SAFETY: a local set.
        unsafe { libc::sigdelset(&mut copy.sa_mask, libc::SIGBUS) };
        copy
    });
    let new = without.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: promised by the caller.
    unsafe { next_sigaction(signal, new, old) }
}

/// Interposed.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(number: c_int, handler: sighandler_t) -> sighandler_t {
    if number != libc::SIGBUS || !TAKEN.load(Ordering::Relaxed) {
        // SAFETY: promised by the caller.
        return unsafe {
            next!(c"signal" as fn(c_int, sighandler_t) -> sighandler_t)(number, handler)
        };
    }
    let before = PROGRAM.load().sa_sigaction;
    // SAFETY: all-zero is a valid sigaction.
    let mut action = unsafe { mem::zeroed::<libc::sigaction>() };
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_RESTART;
    PROGRAM.store(&action);
    before
}

/// Interposed.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    set: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    // SAFETY: promised by the caller.
    unsafe { with_unblocked(how, set, |set| next_mask(how, set, old)) }
}

/// Interposed.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigprocmask(
    how: c_int,
    set: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    type Mask = unsafe extern "C" fn(c_int, *const sigset_t, *mut sigset_t) -> c_int;
    // SAFETY: promised by the caller.
    unsafe {
        let next: Mask =
            next!(c"sigprocmask" as fn(c_int, *const sigset_t, *mut sigset_t) -> c_int);
        with_unblocked(how, set, |set| next(how, set, old))
    }
}

/// Calls with a set that does not block SIGBUS.
///
/// # Safety
/// `set` is null or points to a signal set.
unsafe fn with_unblocked(
    how: c_int,
    set: *const sigset_t,
    call: impl FnOnce(*const sigset_t) -> c_int,
) -> c_int {
    // SAFETY: promised by the caller.
    match unsafe { set.as_ref() } {
        Some(set) if how != libc::SIG_UNBLOCK && !Inside::is_entered() => {
            let mut copy = *set;
            // SAFETY: a local set.
            unsafe { libc::sigdelset(&mut copy, libc::SIGBUS) };
            call(&copy)
        }
        _ => call(set),
    }
}

/// While it lives, the calling thread gets no signals but those of its own faults, and threads that
/// it starts never do.
pub struct Blocked {
    before: sigset_t,
}

impl Blocked {
    /// Blocks.
    pub fn new() -> Blocked {
        let (mut all, mut before) = (empty_set(), empty_set());
        // SAFETY: local sets.
        unsafe {
            libc::sigfillset(&mut all);
            for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP] {
                libc::sigdelset(&mut all, fault);
            }
            next_mask(libc::SIG_SETMASK, &all, &mut before);
            libc::sigdelset(&mut before, libc::SIGBUS);
        }
        Blocked { before }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: our own set.
        unsafe { next_mask(libc::SIG_SETMASK, &self.before, ptr::null_mut()) };
    }
}

fn empty_set() -> sigset_t {
    // SAFETY: all-zero is the empty set.
    unsafe { mem::zeroed() }
}

/// # Safety
/// As the C library's `sigaction`.
unsafe fn next_sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        next!(c"sigaction" as fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int)(
            signal, new, old,
        )
    }
}

/// # Safety
/// As the C library's `pthread_sigmask`.
unsafe fn next_mask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        next!(c"pthread_sigmask" as fn(c_int, *const sigset_t, *mut sigset_t) -> c_int)(
            how, set, old,
        )
    }
}

/// No address of a program has it.
const THREE_ARGUMENTS: usize = 1 << 63;
