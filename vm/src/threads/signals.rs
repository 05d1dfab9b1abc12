//! Signals for Java code: `jdk.internal.misc.Signal` (Ctrl-C, SIGTERM, ...) and SIGQUIT, which the VM
//! answers itself.
//!
//! The handler only counts and posts a semaphore. A daemon thread, `Signal Dispatcher`, waits for it and runs
//! `Signal.dispatch`. Signals are the process's: the first VM that starts a dispatcher has them.

use super::start::{self, Body};
use crate::loading::{call, initialize, lookup};
use crate::machine::JavaThread;
use crate::runtime::JResult;
use classfile::symbol::Symbol;
use libc::c_int;
use std::cell::UnsafeCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Starts the thread that dispatches signals; it runs `on_quit` for SIGQUIT. A safepoint.
pub fn start_signal_dispatcher(t: &JavaThread, on_quit: Body) -> JResult<()> {
    if !PENDING.start() {
        return Ok(());
    }
    let _ = ON_QUIT.set(on_quit);
    start::start_daemon(t, "Signal Dispatcher", dispatch)?;
    if !t.vm.options.reduce_signals {
        install(libc::SIGQUIT, on_signal as *const () as libc::sighandler_t);
    }
    // Not ignored: a process that this one starts would inherit that.
    install(libc::SIGPIPE, do_nothing as *const () as libc::sighandler_t);
    Ok(())
}

fn dispatch(t: &JavaThread) -> JResult<()> {
    if !t.vm.options.reduce_signals {
        unblock();
    }
    loop {
        let signal = t.safely(|| PENDING.wait());
        if signal == libc::SIGQUIT {
            let _scope = t.scope();
            if let Err(thrown) = ON_QUIT.get().map_or(Ok(()), |on_quit| on_quit(t)) {
                t.take_pending(thrown);
            }
            continue;
        }
        let _scope = t.scope();
        let klass =
            lookup::load_class(t, t.vm.boot_loader, Symbol::of("jdk/internal/misc/Signal"))?;
        initialize::initialize(t, klass)?;
        let result = call::call_static(t, klass, "dispatch", "(I)V", &[signal as u64]);
        if let Err(thrown) = result {
            t.take_pending(thrown);
        }
    }
}

/// Lets the current thread take the signals that are for the VM. A process inherits which ones are blocked, and HotSpot
/// blocks SIGQUIT: a VM that a Java program has started would hear of no tool that wants to attach.
fn unblock() {
    // SAFETY: a set of zero bytes is one; the calls fill and read it.
    unsafe {
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut signals);
        for signal in SHUTDOWN.into_iter().chain([libc::SIGQUIT]) {
            libc::sigaddset(&mut signals, signal);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &signals, std::ptr::null_mut());
    }
}

/// `Signal.findSignal0`: the number of a name without `SIG`, or -1.
pub fn find(name: &str) -> c_int {
    SIGNALS.iter().find(|(known, _)| *known == name).map_or(-1, |(_, number)| *number)
}

/// `Signal.handle0`: 0 default, 1 ignore, 2 by the dispatcher, else a C handler. Returns the previous setting
/// in the same code, -1 when the signal is the VM's own. With `is_reduced` (`-Xrs`), those that end the process are not
/// for Java either.
pub fn register(signal: c_int, handler: usize, is_reduced: bool) -> isize {
    // HotSpot keeps these for itself as well; programs expect the refusal.
    const OWN: [c_int; 5] =
        [libc::SIGFPE, libc::SIGILL, libc::SIGSEGV, libc::SIGQUIT, libc::SIGBUS];
    if OWN.contains(&signal) || !(1..SIGNAL_COUNT as c_int).contains(&signal) {
        return -1;
    }
    if is_reduced && SHUTDOWN.contains(&signal) {
        return -1;
    }
    // Signals that the parent process wants ignored (`nohup`, jobs in the background) stay ignored.
    if handler == JAVA_HANDLER && SHUTDOWN.contains(&signal) && is_ignored(signal) {
        return libc::SIG_IGN as isize;
    }
    let new = if handler == JAVA_HANDLER {
        on_signal as *const () as libc::sighandler_t
    } else {
        handler
    };
    let old = install(signal, new);
    if old == libc::SIG_ERR {
        return -1;
    }
    if old == on_signal as *const () as libc::sighandler_t {
        JAVA_HANDLER as isize
    } else {
        old as isize
    }
}

/// `Signal.raise0`
pub fn raise(signal: c_int) {
    // SAFETY: sends a signal to the process itself.
    unsafe { libc::kill(libc::getpid(), signal) };
}

fn is_ignored(signal: c_int) -> bool {
    // SAFETY: only asks for the present action.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let failed = libc::sigaction(signal, std::ptr::null(), &mut action);
        failed == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

fn install(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: the action is fully initialised; the handlers are async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut old: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigfillset(&mut action.sa_mask);
        match libc::sigaction(signal, &action, &mut old) {
            0 => old.sa_sigaction,
            _ => libc::SIG_ERR,
        }
    }
}

extern "C" fn on_signal(signal: c_int) {
    PENDING.post(signal);
}

extern "C" fn do_nothing(_signal: c_int) {}

/// Signals that were delivered and not dispatched yet.
struct Pending {
    counts: [AtomicU32; SIGNAL_COUNT],
    semaphore: UnsafeCell<libc::sem_t>,
    is_started: AtomicBool,
}

// SAFETY: semaphores are for use by several threads; the rest is atomic.
unsafe impl Sync for Pending {}

/// Set before the first signal is dispatched.
static ON_QUIT: OnceLock<Body> = OnceLock::new();

static PENDING: Pending = Pending {
    counts: [const { AtomicU32::new(0) }; SIGNAL_COUNT],
    // SAFETY: plain data; `start` initialises it before any thread posts.
    semaphore: UnsafeCell::new(unsafe { std::mem::zeroed() }),
    is_started: AtomicBool::new(false),
};

impl Pending {
    /// Whether the caller is the first.
    fn start(&self) -> bool {
        if self.is_started.swap(true, Ordering::SeqCst) {
            return false;
        }
        // SAFETY: no thread uses the semaphore yet.
        unsafe { libc::sem_init(self.semaphore.get(), 0, 0) };
        true
    }

    /// Async-signal-safe; keeps errno.
    fn post(&self, signal: c_int) {
        self.counts[signal as usize].fetch_add(1, Ordering::SeqCst);
        // SAFETY: handlers are installed after `start`; sem_post is async-signal-safe.
        unsafe {
            let errno = *libc::__errno_location();
            libc::sem_post(self.semaphore.get());
            *libc::__errno_location() = errno;
        }
    }

    /// The next signal. Blocks.
    fn wait(&self) -> c_int {
        loop {
            for (signal, count) in self.counts.iter().enumerate() {
                let taken = count
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1));
                if taken.is_ok() {
                    return signal as c_int;
                }
            }
            // SAFETY: initialised in `start`.
            unsafe { libc::sem_wait(self.semaphore.get()) };
        }
    }
}

const SIGNAL_COUNT: usize = 65;
const JAVA_HANDLER: usize = 2;

const SIGNALS: &[(&str, c_int)] = &[
    ("HUP", libc::SIGHUP),
    ("INT", libc::SIGINT),
    ("QUIT", libc::SIGQUIT),
    ("ILL", libc::SIGILL),
    ("TRAP", libc::SIGTRAP),
    ("ABRT", libc::SIGABRT),
    ("IOT", libc::SIGIOT),
    ("BUS", libc::SIGBUS),
    ("FPE", libc::SIGFPE),
    ("KILL", libc::SIGKILL),
    ("USR1", libc::SIGUSR1),
    ("SEGV", libc::SIGSEGV),
    ("USR2", libc::SIGUSR2),
    ("PIPE", libc::SIGPIPE),
    ("ALRM", libc::SIGALRM),
    ("TERM", libc::SIGTERM),
    ("STKFLT", libc::SIGSTKFLT),
    ("CHLD", libc::SIGCHLD),
    ("CLD", libc::SIGCHLD),
    ("CONT", libc::SIGCONT),
    ("STOP", libc::SIGSTOP),
    ("TSTP", libc::SIGTSTP),
    ("TTIN", libc::SIGTTIN),
    ("TTOU", libc::SIGTTOU),
    ("URG", libc::SIGURG),
    ("XCPU", libc::SIGXCPU),
    ("XFSZ", libc::SIGXFSZ),
    ("VTALRM", libc::SIGVTALRM),
    ("PROF", libc::SIGPROF),
    ("WINCH", libc::SIGWINCH),
    ("POLL", libc::SIGPOLL),
    ("IO", libc::SIGIO),
    ("PWR", libc::SIGPWR),
    ("SYS", libc::SIGSYS),
];

/// Those that end the process, unless Java takes them.
const SHUTDOWN: [c_int; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_that_the_parent_has_blocked_are_taken() {
        let is_blocked = || {
            // SAFETY: as in `unblock`.
            unsafe {
                let mut blocked: libc::sigset_t = std::mem::zeroed();
                libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut blocked);
                libc::sigismember(&blocked, libc::SIGQUIT) == 1
            }
        };
        let thread = std::thread::spawn(move || {
            // SAFETY: as in `unblock`.
            unsafe {
                let mut quit: libc::sigset_t = std::mem::zeroed();
                libc::sigaddset(&mut quit, libc::SIGQUIT);
                libc::pthread_sigmask(libc::SIG_BLOCK, &quit, std::ptr::null_mut());
            }
            let before = is_blocked();
            unblock();
            (before, is_blocked())
        });
        assert_eq!(thread.join().expect("it does not panic"), (true, false));
    }

    #[test]
    fn knows_names_and_refuses_its_own() {
        assert_eq!((find("TERM"), find("SIGTERM"), find("NOPE")), (libc::SIGTERM, -1, -1));
        for (signal, handler) in [(libc::SIGSEGV, 2), (0, 2), (99, 0)] {
            assert_eq!(register(signal, handler, false), -1);
        }
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
            assert_eq!(register(signal, JAVA_HANDLER, true), -1);
        }
    }
}
