//! From a crash to its report, and to the end of the process.

use super::report;
use super::state::{Crash, Prepared};
use crate::options::Options;
use libc::{c_int, c_void};
use std::panic::{self, PanicHookInfo};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, Ordering};
use std::time::Duration;

/// Begins to handle crashes of this process, before other handlers are installed, which pass on the faults that are not
/// theirs. The first VM of the process has the reports.
pub fn install(options: &Options) {
    let Some(stack) = Stack::map() else { return };
    if SITE.set(Site { prepared: Prepared::new(options), stack }).is_err() {
        return;
    }
    take_signals();
    // Where panics unwind, they are test cases that fail.
    if cfg!(panic = "abort") {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            before(panic);
            on_panic(panic);
        }));
    }
}

/// Reports a crash for a reason of the VM's own, and ends the process. Any thread.
#[track_caller]
pub fn fatal(message: &str) -> ! {
    let place = panic::Location::caller();
    fatal_at(message, (place.file(), place.line()))
}

fn fatal_at(message: &str, place: (&str, u32)) -> ! {
    let (info, context) = (std::ptr::null(), std::ptr::null());
    let place = (std::ptr::from_ref(place.0), place.1);
    crash(Crash { signal: 0, info, context, place, message })
}

fn on_panic(panic: &PanicHookInfo<'_>) {
    let payload = panic.payload();
    let message = payload.downcast_ref::<&str>().copied();
    let message = message.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let (file, line) = panic.location().map_or(("", 0), |place| (place.file(), place.line()));
    fatal_at(message.unwrap_or("panic"), (file, line))
}

/// All of the signals that are crashes, on the alternate stack.
fn take_signals() {
    for signal in CRASHES {
        set_action(signal, on_signal as *const () as libc::sighandler_t);
    }
}

fn set_action(signal: c_int, handler: libc::sighandler_t) {
    // SAFETY: the action is fully initialised; the handler has the type that SA_SIGINFO asks for, and is
    // async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigfillset(&mut action.sa_mask);
        for open in CRASHES.into_iter().chain([libc::SIGALRM]) {
            libc::sigdelset(&mut action.sa_mask, open);
        }
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}

extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let none: *const str = "";
    crash(Crash { signal, info, context: context.cast(), place: (none, 0), message: none })
}

/// The first crash of the process is reported; one in the report goes on with the next step; those of other threads
/// wait for the end.
fn crash(crash: Crash) -> ! {
    // SAFETY: plain query.
    let me = unsafe { libc::gettid() };
    let Some(site) = SITE.get() else { end(true) };
    match REPORTER.compare_exchange(0, me, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) if site.prepared.is_silent => end(site.prepared.dumps_core),
        Ok(_) => {
            FIRST.store((&raw const crash).cast_mut(), Ordering::Release);
            // SAFETY: the stack is used by this thread alone, once.
            unsafe { on_stack(site, site.stack.end(), begin) }
        }
        Err(reporter) if reporter == me => {
            report::note_error(&crash);
            go_on(site)
        }
        Err(_) => loop {
            // SAFETY: no memory is involved.
            unsafe { libc::pause() };
        },
    }
}

/// On the report's stack.
extern "C" fn begin(site: &'static Site) -> ! {
    site.stack.make_alternate();
    take_signals();
    set_action(libc::SIGALRM, on_alarm as *const () as libc::sighandler_t);
    // SAFETY: the set is initialised. Handlers through which the signal has come may have blocked these.
    unsafe {
        let mut open: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut open);
        for signal in CRASHES.into_iter().chain([libc::SIGALRM]) {
            libc::sigaddset(&mut open, signal);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &open, std::ptr::null_mut());
    }
    BEGUN_MS.store(now_ms(), Ordering::Relaxed);
    go_on(site)
}

/// Runs the steps that are left.
fn go_on(site: &'static Site) -> ! {
    // SAFETY: set before the first step, to a value on a stack that is not left.
    let crash = unsafe { FIRST.load(Ordering::Acquire).as_ref() };
    let prepared = &site.prepared;
    if let Some(crash) = crash {
        while !IS_LATE.load(Ordering::Relaxed) && report::is_step_left() {
            set_alarm(prepared.step_limit);
            report::run_step(crash, prepared);
        }
    }
    set_alarm(Duration::ZERO);
    report::finish(prepared);
    if !HAS_RUN_COMMANDS.swap(true, Ordering::Relaxed) {
        prepared.commands.run();
    }
    end(prepared.dumps_core)
}

/// A step takes too long: the report goes on with the next one, or ends when all of it does.
extern "C" fn on_alarm(_signal: c_int, _info: *mut libc::siginfo_t, _context: *mut c_void) {
    let reporter = REPORTER.load(Ordering::Acquire);
    // SAFETY: plain calls. The signal is the process's, and may have come to another thread.
    if unsafe { libc::gettid() } != reporter {
        // SAFETY: as above.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), reporter, libc::SIGALRM) };
        return;
    }
    let Some(site) = SITE.get() else { return };
    let took = now_ms().saturating_sub(BEGUN_MS.load(Ordering::Relaxed));
    report::note_delay(took);
    if u128::from(took) >= site.prepared.time_limit.as_millis() {
        IS_LATE.store(true, Ordering::Relaxed);
    }
    go_on(site)
}

fn set_alarm(after: Duration) {
    let value =
        libc::timeval { tv_sec: after.as_secs() as i64, tv_usec: after.subsec_micros().into() };
    let once = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let timer = libc::itimerval { it_interval: once, it_value: value };
    // SAFETY: the structure is the caller's.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()) };
}

/// By SIGABRT, with a core file if the system wants one; else with exit code 1, as `java` does.
fn end(dumps_core: bool) -> ! {
    // SAFETY: the default action of SIGABRT ends the process, which `abort` raises.
    unsafe {
        if !dumps_core {
            libc::_exit(1);
        }
        libc::signal(libc::SIGABRT, libc::SIG_DFL);
        libc::abort()
    }
}

fn now_ms() -> u64 {
    base::now_ns() / 1_000_000
}

/// The memory of a stack, below which a fault is one.
struct Stack {
    start: usize,
}

impl Stack {
    fn map() -> Option<Stack> {
        // SAFETY: a fresh mapping, of which the lowest page is made a guard.
        unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let start = libc::mmap(std::ptr::null_mut(), STACK, protection, flags, -1, 0);
            if start == libc::MAP_FAILED {
                return None;
            }
            libc::mprotect(start, PAGE, libc::PROT_NONE);
            Some(Stack { start: start as usize })
        }
    }

    fn end(&self) -> usize {
        self.start + STACK
    }

    /// Signals from now on are handled below the present frame, and not where the first one is still kept.
    fn make_alternate(&self) {
        let memory = std::ptr::with_exposed_provenance_mut(self.start + PAGE);
        let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: STACK - PAGE };
        // SAFETY: the mapping lives for ever; the thread is not on its former alternate stack any more.
        unsafe { libc::sigaltstack(&stack, std::ptr::null_mut()) };
    }
}

/// Calls a function on another stack. Unwinding finds the way back by the frame pointer.
///
/// # Safety
/// `end` is the end of memory that nobody else uses, aligned to 16 bytes.
#[unsafe(naked)]
unsafe extern "C" fn on_stack(
    site: &'static Site,
    end: usize,
    run: extern "C" fn(&'static Site) -> !,
) -> ! {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rsp, rsi",
        "call rdx",
        "ud2",
        ".cfi_endproc",
    )
}

struct Site {
    prepared: Prepared,
    stack: Stack,
}

static SITE: OnceLock<Site> = OnceLock::new();
/// The thread that writes the report; 0 before there is one. Taken with acquire and release: `FIRST` is its own.
static REPORTER: AtomicI32 = AtomicI32::new(0);
/// What the report is about. Written and read by the reporter.
static FIRST: AtomicPtr<Crash> = AtomicPtr::new(std::ptr::null_mut());
// Of the reporter, relaxed.
static BEGUN_MS: AtomicU64 = AtomicU64::new(0);
static IS_LATE: AtomicBool = AtomicBool::new(false);
static HAS_RUN_COMMANDS: AtomicBool = AtomicBool::new(false);

const CRASHES: [c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGABRT];
/// Each step that fails leaves its frames and those of its signal.
const STACK: usize = 1 << 20;
const PAGE: usize = 4096;
