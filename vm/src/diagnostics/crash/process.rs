//! The section `PROCESS`: threads, heap, mappings, options.

use super::files;
use super::output::{Output, Text};
use super::report::{Report, signal_name};
use super::state;
use super::symbols::Mapping;
use super::thread::write_thread;
use crate::machine::JavaThread;
use libc::c_int;
use std::ffi::{CStr, c_char};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub fn write_java_threads(report: &Report<'_>) {
    let out = report.out;
    out.line(format_args!("\n---------------  P R O C E S S  ---------------\n"));
    let Some(vm) = state::vm() else { return };
    out.line(format_args!("Java Threads: ( => current thread )"));
    let me = JavaThread::try_current().map(std::ptr::from_ref);
    let mut write = |thread: &JavaThread| {
        let is_me = me.is_some_and(|me| std::ptr::eq(me, thread));
        let (mark, address) =
            (if is_me { "=>" } else { "  " }, std::ptr::from_ref(thread) as usize);
        out.put(format_args!("{mark}{address:#018x} "));
        write_thread(out, thread);
    };
    // Other threads still run, and hold the list for moments.
    let is_listed = (0..LIST_TRIES).any(|_| {
        let is_listed = vm.threads.try_for_each(&mut write);
        if !is_listed {
            std::thread::sleep(Duration::from_millis(1));
        }
        is_listed
    });
    if !is_listed {
        // SAFETY: changes take moments, so that it is a reader that has the lock, such as a pause that waits at a fault
        // until the end. Were it a thread that died while it changed the list, the fault here would end this step.
        unsafe { vm.threads.for_each_unlocked(&mut write) };
    }
    out.line(format_args!(""));
}

/// How often the list is tried, a millisecond apart.
const LIST_TRIES: usize = 200;

/// All threads of the process, by the names that the system has; Java threads are among them.
pub fn write_other_threads(report: &Report<'_>) {
    report.out.line(format_args!("All threads of the process:"));
    for_each_thread(&mut |tid| {
        let mut path = [0u8; 64];
        let Some(path) = comm_path(tid, &mut path) else { return };
        files::for_each_line(path, &mut |name| {
            report.out.line(format_args!("  \"{}\" [id={}]", Text(name), Text(tid)));
            ControlFlow::Break(())
        });
    });
    report.out.line(format_args!(""));
}

/// `/proc/self/task/N/comm`
fn comm_path<'p>(tid: &[u8], path: &'p mut [u8; 64]) -> Option<&'p CStr> {
    let parts: [&[u8]; 3] = [b"/proc/self/task/", tid, b"/comm\0"];
    let mut used = 0;
    for part in parts {
        path.get_mut(used..used + part.len())?.copy_from_slice(part);
        used += part.len();
    }
    CStr::from_bytes_until_nul(path).ok()
}

/// Calls `visit` with the numbers of all threads, as text.
fn for_each_thread(visit: &mut dyn FnMut(&[u8])) {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the path is a C string.
    let folder = unsafe { libc::open(c"/proc/self/task".as_ptr(), flags) };
    let mut buffer = [0u8; 4096];
    loop {
        // SAFETY: the kernel writes at most the length of the buffer.
        let read = unsafe {
            libc::syscall(libc::SYS_getdents64, folder, buffer.as_mut_ptr(), buffer.len())
        };
        let read = usize::try_from(read).unwrap_or(0).min(buffer.len());
        if read == 0 {
            break;
        }
        let mut entries = &buffer[..read];
        // Number, offset, length of the entry, type, name.
        while let Some(length) = entries.get(16..18) {
            let length = usize::from(u16::from_ne_bytes([length[0], length[1]]));
            let Some(entry) = entries.get(..length).filter(|entry| entry.len() > 19) else { break };
            let name = entry[19..].split(|byte| *byte == 0).next().unwrap_or_default();
            if name.first().is_some_and(u8::is_ascii_digit) {
                visit(name);
            }
            entries = &entries[length..];
        }
    }
    // SAFETY: opened above, or -1, which is no descriptor.
    unsafe { libc::close(folder) };
}

pub fn write_vm_state(report: &Report<'_>) {
    let Some(vm) = state::vm() else { return };
    let state = match vm.init_level.load(Ordering::Relaxed) {
        3 if vm.threads.are_over.load(Ordering::Relaxed) => "the program has ended",
        3 => "running",
        _ => "starting",
    };
    report.out.line(format_args!("VM state: {state}\n"));
}

pub fn write_heap(report: &Report<'_>) {
    let (Some(vm), out) = (state::vm(), report.out) else { return };
    let core = vm.heap.core();
    let (base, max) =
        (core.geometry.region_start(gc::object::geometry::RegionId(0)), vm.heap.max_bytes());
    let wide = match vm.slot_bytes {
        4 => "compressed",
        _ => "of 8 bytes",
    };
    out.line(format_args!(
        "Heap address: {base:#018x}, size: {} MB, references {wide}\n",
        max >> 20
    ));
    let (committed, used) = (vm.heap.committed_bytes() >> 10, vm.heap.used_bytes() >> 10);
    out.line(format_args!(
        "Heap:\n {} heap   total {committed}K, used {used}K [{base:#018x}, {:#018x})",
        vm.options.heap.collector.name(),
        base + max
    ));
    out.line(format_args!("  region size {}K", core.geometry.region_bytes() >> 10));
}

pub fn write_local_memory(report: &Report<'_>) {
    let Some(vm) = state::vm() else { return };
    if let Some(pager) = vm.heap.core().space.pager() {
        let (budget, resident) = (pager.budget_pages() * 4, pager.resident_pages() * 4);
        report.out.line(format_args!("  local memory {budget}K, resident {resident}K"));
    }
    report.out.line(format_args!(""));
}

pub fn write_code_cache(report: &Report<'_>) {
    let Some(vm) = state::vm() else { return };
    let cache = &vm.jit.cache;
    let (size, used) = (cache.capacity_bytes() >> 10, cache.used_bytes() >> 10);
    let free = size.saturating_sub(used);
    report.out.line(format_args!("CodeCache: size={size}Kb used={used}Kb free={free}Kb\n"));
}

pub fn write_libraries(report: &Report<'_>) {
    report.out.line(format_args!("Dynamic libraries:"));
    files::copy(c"/proc/self/maps", report.out);
    report.out.line(format_args!("\n"));
}

pub fn write_arguments(report: &Report<'_>) {
    let prepared = report.prepared;
    report.out.line(format_args!(
        "VM Arguments:\njvm_args: {}\njava_command: {}\njava_class_path (initial): {}\n\
         Launcher Type: {}\n",
        prepared.arguments, prepared.command, prepared.class_path, prepared.launcher
    ));
}

pub fn write_flags(report: &Report<'_>) {
    report.out.line(format_args!("[Global flags]\n{}", report.prepared.flags));
}

/// Those that HotSpot shows: others may hold secrets.
pub fn write_environment(report: &Report<'_>) {
    report.out.line(format_args!("Environment Variables:"));
    for name in VARIABLES {
        // SAFETY: the name is a C string; nothing changes the environment while the report runs but the program, which
        // must not.
        let value = unsafe { libc::getenv(name.as_ptr()) };
        if !value.is_null() {
            // SAFETY: values are C strings.
            let value = unsafe { CStr::from_ptr(value.cast::<c_char>()) };
            let name = Text(name.to_bytes());
            report.out.line(format_args!("{name}={}", Text(value.to_bytes())));
        }
    }
    report.out.line(format_args!(""));
}

pub fn write_signal_handlers(report: &Report<'_>) {
    report.out.line(format_args!("Signal Handlers:"));
    for signal in SIGNALS {
        write_handler(report.out, *signal);
    }
    report.out.line(format_args!("\n"));
}

fn write_handler(out: Output, signal: c_int) {
    // SAFETY: only asks for the present action.
    let action = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut action);
        action
    };
    out.put(format_args!("{:>10}: ", signal_name(signal)));
    match action.sa_sigaction {
        libc::SIG_DFL => out.put(format_args!("SIG_DFL")),
        libc::SIG_IGN => out.put(format_args!("SIG_IGN")),
        handler => match Mapping::of(handler) {
            Some(mapping) => {
                let (name, offset) = (Text(mapping.name()), mapping.offset(handler));
                out.put(format_args!("{name}+{offset:#x}"));
            }
            None => out.put(format_args!("{handler:#018x}")),
        },
    }
    out.line(format_args!(", flags={:#x}", action.sa_flags));
}

const SIGNALS: &[c_int] = &[
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGPIPE,
    libc::SIGXFSZ,
    libc::SIGILL,
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGQUIT,
    libc::SIGTRAP,
    libc::SIGABRT,
];

const VARIABLES: &[&CStr] = &[
    c"JAVA_HOME",
    c"JAVA_TOOL_OPTIONS",
    c"_JAVA_OPTIONS",
    c"JDK_JAVA_OPTIONS",
    c"CLASSPATH",
    c"PATH",
    c"USERNAME",
    c"LD_LIBRARY_PATH",
    c"LD_PRELOAD",
    c"SHELL",
    c"DISPLAY",
    c"LANG",
    c"LC_ALL",
    c"LC_COLLATE",
    c"LC_CTYPE",
    c"LC_MESSAGES",
    c"LC_MONETARY",
    c"LC_NUMERIC",
    c"LC_TIME",
    c"TERM",
    c"TMPDIR",
    c"TZ",
];
