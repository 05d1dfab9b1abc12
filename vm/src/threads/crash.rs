//! `-XX:OnError`: commands that run when the process crashes.

use crate::runtime::commands::Commands;
use libc::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Has the commands run at the first fault of native code and when the VM aborts. Then the process ends with SIGABRT,
/// as that of `java` does. The handlers are the process's; the first VM with such commands has them. Without commands,
/// nothing is installed.
pub fn run_at_crashes(given: &[String]) {
    let commands = Commands::new("OnError", given);
    if commands.is_empty() || COMMANDS.set(commands).is_err() {
        return;
    }
    for signal in CRASHES {
        // SAFETY: the action is fully initialised, and the handler is async-signal-safe.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_crash as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            // An abort inside of the handler ends the process.
            libc::sigfillset(&mut action.sa_mask);
            libc::sigdelset(&mut action.sa_mask, libc::SIGABRT);
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

extern "C" fn on_crash(_signal: c_int, _info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    if IS_OVER.swap(true, Ordering::Relaxed) {
        // Another thread runs the commands, and ends the process.
        loop {
            // SAFETY: no memory is involved.
            unsafe { libc::pause() };
        }
    }
    if let Some(commands) = COMMANDS.get() {
        commands.run();
    }
    // SAFETY: the default action of SIGABRT ends the process, which `abort` raises.
    unsafe {
        libc::signal(libc::SIGABRT, libc::SIG_DFL);
        libc::abort()
    }
}

static COMMANDS: OnceLock<Commands> = OnceLock::new();
/// Set by the first thread that crashes. Relaxed: the commands were set before the handlers were.
static IS_OVER: AtomicBool = AtomicBool::new(false);

const CRASHES: [c_int; 5] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];
