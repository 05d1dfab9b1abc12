//! The steps of a report, in the order and the form of HotSpot's.

use super::native_frames::{NativeFrame, NativeFrames};
use super::output::{Output, Text};
use super::state::{self, Crash, Prepared};
use super::symbols::{Mapping, Place};
use super::{process, system, thread};
use libc::c_int;
use std::fmt;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// What a step gets: the crash, what is prepared, and where to write.
pub struct Report<'r> {
    pub crash: &'r Crash,
    pub prepared: &'r Prepared,
    pub out: Output,
}

struct Step {
    /// For the line that says it failed.
    title: &'static str,
    /// Whether it is for stdout, and not for the file.
    is_short: bool,
    run: fn(&Report<'_>),
}

const fn short(title: &'static str, run: fn(&Report<'_>)) -> Step {
    Step { title, is_short: true, run }
}

const fn long(title: &'static str, run: fn(&Report<'_>)) -> Step {
    Step { title, is_short: false, run }
}

static STEPS: &[Step] = &[
    short("fatal error message", write_head),
    short("problematic frame", write_problem),
    short("core file", write_core_file),
    short("opening the file", open_file),
    long("fatal error message", write_head),
    long("problematic frame", write_problem),
    long("core file", write_core_file),
    long("summary", system::write_summary),
    long("current thread", thread::write_current),
    long("stack bounds", thread::write_stack_bounds),
    long("native stack", thread::write_native_frames),
    long("Java stack", thread::write_java_frames),
    long("siginfo", thread::write_signal),
    long("registers", thread::write_registers),
    long("register info", thread::write_register_targets),
    long("top of stack", thread::write_top_of_stack),
    long("instructions", thread::write_instructions),
    long("Java threads", process::write_java_threads),
    long("other threads", process::write_other_threads),
    long("VM state", process::write_vm_state),
    long("heap", process::write_heap),
    long("local memory", process::write_local_memory),
    long("code cache", process::write_code_cache),
    long("dynamic libraries", process::write_libraries),
    long("VM arguments", process::write_arguments),
    long("flags", process::write_flags),
    long("environment variables", process::write_environment),
    long("signal handlers", process::write_signal_handlers),
    long("OS information", system::write_system),
    long("memory information", system::write_memory),
    long("process memory", system::write_process_memory),
    long("container information", system::write_container),
    long("CPU information", system::write_cpu),
    long("VM version", system::write_vm_info),
];

/// Whether `run_step` has something to do.
pub fn is_step_left() -> bool {
    NEXT.load(Ordering::Relaxed) < STEPS.len()
}

/// Runs the next step. If it fails, it does not return; then the one behind it is next.
pub fn run_step(crash: &Crash, prepared: &Prepared) {
    let Some(step) = STEPS.get(NEXT.fetch_add(1, Ordering::Relaxed)) else { return };
    let out = match step.is_short {
        true => Output(libc::STDOUT_FILENO),
        false => Output(FILE.load(Ordering::Relaxed)),
    };
    (step.run)(&Report { crash, prepared, out });
}

/// The present step has failed.
pub fn note_error(crash: &Crash) {
    let (out, title) = present();
    match crash.signal {
        0 => out.line(format_args!(
            "\n[error occurred during error reporting ({title}), {}]\n",
            crash.message()
        )),
        signal => out.line(format_args!(
            "\n[error occurred during error reporting ({title}), id {signal:#x}, {} ({signal:#x}) \
             at pc={:#018x}]\n",
            signal_name(signal),
            crash.pc()
        )),
    }
}

/// The present step has taken too long; `took_ms` is the time of the whole report.
pub fn note_delay(took_ms: u64) {
    let (out, title) = present();
    out.line(format_args!(
        "\n[timeout occurred during error reporting in step \"{title}\"] after {took_ms} ms.\n"
    ));
}

fn present() -> (Output, &'static str) {
    let before = NEXT.load(Ordering::Relaxed).saturating_sub(1);
    let (is_short, title) = STEPS.get(before).map_or((true, "end"), |s| (s.is_short, s.title));
    match is_short {
        true => (Output(libc::STDOUT_FILENO), title),
        false => (Output(FILE.load(Ordering::Relaxed)), title),
    }
}

/// Ends the file. Again has no effect.
pub fn finish(prepared: &Prepared) {
    let file = FILE.swap(NO_FILE, Ordering::Relaxed);
    if file == NO_FILE {
        return;
    }
    Output(file).line(format_args!("END."));
    if prepared.descriptor.is_none() && file != libc::STDOUT_FILENO {
        // SAFETY: `open_file` has opened it.
        unsafe { libc::close(file) };
    }
    Output(libc::STDOUT_FILENO).line(format_args!("#"));
}

fn open_file(report: &Report<'_>) {
    if let Some(descriptor) = report.prepared.descriptor {
        FILE.store(descriptor, Ordering::Relaxed);
        return;
    }
    for (path, replaces) in &report.prepared.files {
        let flags = match replaces {
            true => libc::O_TRUNC,
            false => libc::O_EXCL,
        };
        let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_CLOEXEC | flags;
        // SAFETY: the path is a C string.
        let file = unsafe { libc::open(path.as_ptr(), flags, 0o666) };
        if file < 0 {
            continue;
        }
        FILE.store(file, Ordering::Relaxed);
        report.out.line(format_args!("# An error report file with more information is saved as:"));
        let mut folder = [0u8; libc::PATH_MAX as usize];
        let path = path.to_bytes();
        // SAFETY: the buffer is as long as said.
        let found = unsafe { libc::getcwd(folder.as_mut_ptr().cast(), folder.len()) };
        if path.starts_with(b"/") || found.is_null() {
            report.out.line(format_args!("# {}", Text(path)));
        } else {
            let length = folder.iter().position(|byte| *byte == 0).unwrap_or(0);
            let folder = &folder[..length];
            report.out.line(format_args!("# {}/{}", Text(folder), Text(path)));
        }
        return;
    }
    report.out.line(format_args!("# Can not save log file, dump to screen.."));
    FILE.store(libc::STDOUT_FILENO, Ordering::Relaxed);
}

fn write_head(report: &Report<'_>) {
    let (crash, out) = (report.crash, report.out);
    // SAFETY: plain queries.
    let (pid, tid) = unsafe { (libc::getpid(), libc::gettid()) };
    out.put(format_args!(
        "#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n"
    ));
    match crash.signal {
        0 => out.put(format_args!(
            "#  Internal Error ({}:{}), pid={pid}, tid={tid}\n#  fatal error: {}\n",
            crash.file(),
            crash.place.1,
            crash.message()
        )),
        signal => out.line(format_args!(
            "#  {} ({signal:#x}) at pc={:#018x}, pid={pid}, tid={tid}",
            signal_name(signal),
            crash.pc()
        )),
    }
    let Prepared { jre, java_vm, .. } = report.prepared;
    out.put(format_args!("#\n# JRE version: {jre}\n# Java VM: {java_vm}\n"));
}

fn write_problem(report: &Report<'_>) {
    let Some(context) = report.crash.context() else { return };
    report.out.line(format_args!("# Problematic frame:"));
    if let Some(frame) = NativeFrames::walk(Some(context)).iter().next() {
        report.out.line(format_args!("# {}", Frame(frame)));
    }
}

fn write_core_file(report: &Report<'_>) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is the caller's.
    unsafe { libc::getrlimit(libc::RLIMIT_CORE, &mut limit) };
    let text = match (report.prepared.dumps_core, limit.rlim_cur) {
        (false, _) => "CreateCoredumpOnCrash turned off, no core file dumped",
        (_, 0) => {
            "No core dump will be written. Core dumps have been disabled. To enable core dumping, \
             try \"ulimit -c unlimited\" before starting Java again"
        }
        _ => "Core dump will be written. Default location: that of the system's core_pattern",
    };
    report.out.put(format_args!("#\n# {text}\n#\n"));
}

/// A native frame in a line: `C` for a library, `V` for the VM, `J` for compiled Java code.
pub struct Frame<'f>(pub &'f NativeFrame);

impl fmt::Display for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NativeFrame { pc, is_return, .. } = *self.0;
        if let Some(vm) = state::vm()
            && vm.jit.cache.covers(pc)
        {
            return thread::write_compiled(f, vm, pc, is_return);
        }
        let own = write_head as *const () as usize;
        let is_own = |found: &Mapping| {
            Mapping::of(own).is_some_and(|mapping| mapping.path() == found.path())
        };
        let kind = if Mapping::of(pc).is_some_and(|found| is_own(&found)) { 'V' } else { 'C' };
        write!(f, "{kind}  {}", Place { pc, is_return })
    }
}

/// `SIGSEGV`
pub fn signal_name(signal: c_int) -> &'static str {
    match signal {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGILL => "SIGILL",
        libc::SIGFPE => "SIGFPE",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGTERM => "SIGTERM",
        libc::SIGQUIT => "SIGQUIT",
        _ => "UNKNOWN",
    }
}

// Of the thread that writes the report; relaxed.

/// The next step.
static NEXT: AtomicUsize = AtomicUsize::new(0);
/// The descriptor of the file. Before it is open, what fails is not lost.
static FILE: AtomicI32 = AtomicI32::new(NO_FILE);
const NO_FILE: c_int = -1;
