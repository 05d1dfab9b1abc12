//! The beginning and the end of the process, and of its children.

use std::env;

use libc::c_int;

use crate::inside::Inside;
use crate::java::JavaHeap;
use crate::ranges::RANGES;
use crate::real::next;
use crate::recognise::Recogniser;
use crate::settings::{Settings, Wanted};
use crate::stats;

/// Runs before `main`. Without the environment variable the library does nothing.
extern "C" fn start() {
    let Ok(text) = env::var(Settings::VARIABLE) else { return };
    let Some(settings) = Settings::decode(&text) else {
        base::say(format_args!("farheap: malformed {}: no memory is remote", Settings::VARIABLE));
        return;
    };
    let java = match settings.wanted {
        Wanted::Heap => JavaHeap::of_process(),
        Wanted::AtLeast(_) => None,
    };
    // SAFETY: the function does nothing but store a few words.
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    let recogniser = Recogniser::new(settings.wanted, java);
    RANGES.start(settings, recogniser);
}

/// Runs in a forked child. It has none of the ranges (the pager keeps them from children), so that
/// it can hardly do more than start another program; one that the kernel makes without copying
/// memory, as `posix_spawn` does, shares them and is served.
extern "C" fn forked() {
    RANGES.forget();
}

/// Runs at the end of the process.
extern "C" fn end() {
    let Some(settings) = RANGES.settings() else { return };
    let _inside = Inside::enter();
    if RANGES.misses_heap() {
        base::say(format_args!(
            "farheap: no heap of this JVM became remote (ZGC and large pages are not supported)"
        ));
    }
    if let Some(path) = &settings.stats
        && let Err(error) = stats::write(path)
    {
        base::say(format_args!("farheap: {}: {error}", path.display()));
    }
}

/// Interposed: ends the process at once, but not without its counters.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(code: c_int) -> ! {
    if !Inside::is_entered() && RANGES.each_far().next().is_some() {
        end();
    }
    // SAFETY: promised by the caller.
    unsafe { next!(c"_exit" as fn(c_int) -> !)(code) }
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;
