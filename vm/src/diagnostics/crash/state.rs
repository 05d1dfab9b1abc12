//! What a report needs: prepared when the VM starts, and what has happened.

use crate::machine::Vm;
use crate::options::Options;
use crate::options::identity::{VM_NAME, library_version, vm_info, vm_version};
use crate::options::shown::{self, Origin};
use crate::runtime::commands::{self, Commands};
use libc::c_int;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::{Duration, Instant};

/// Texts and choices of one VM.
pub struct Prepared {
    pub jre: String,
    pub java_vm: String,
    pub arguments: String,
    pub command: String,
    pub class_path: String,
    pub launcher: String,
    /// Options that differ from their defaults, in lines.
    pub flags: String,
    pub resources: String,
    pub started: Instant,
    /// Where the file may be, the first choice first, and whether one that exists is replaced.
    pub files: Vec<(CString, bool)>,
    /// The descriptor that gets the report instead of a file.
    pub descriptor: Option<c_int>,
    /// How long the report may take, and each step of it; zero: as long as it wants.
    pub time_limit: Duration,
    pub step_limit: Duration,
    pub is_silent: bool,
    pub dumps_core: bool,
    pub commands: Commands,
}

impl Prepared {
    pub fn new(options: &Options) -> Prepared {
        let home = &options.java_home;
        let (version, info) = (vm_version(home), vm_info(&options.jit));
        let library = library_version(home).unwrap_or_default();
        let collector = options.heap.collector.name();
        let property = |key: &str, default: &str| options.property(key).unwrap_or(default).into();
        let mut flags = String::new();
        let mut all = shown::shown(options);
        all.retain(|shown| shown.origin != Origin::Default);
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all.iter().for_each(|shown| shown.write_line(&mut flags));
        let time_limit = Duration::from_secs(options.error_log_timeout_s);
        Prepared {
            jre: format!("OpenJDK Runtime Environment ({library})"),
            java_vm: format!("{VM_NAME} ({version}, {info}, {collector} gc, linux-amd64)"),
            arguments: options.arguments.join(" "),
            command: property("sun.java.command", "<unknown>"),
            class_path: property("java.class.path", "<not set>"),
            launcher: property("sun.java.launcher", "generic"),
            flags,
            resources: options.resources.describe().join("\n"),
            started: Instant::now(),
            files: candidates(options.error_file.as_deref()),
            descriptor: match (options.error_file_to_stdout, options.error_file_to_stderr) {
                (true, _) => Some(libc::STDOUT_FILENO),
                (_, true) => Some(libc::STDERR_FILENO),
                _ => None,
            },
            time_limit,
            step_limit: (time_limit / 4).min(STEP_LIMIT),
            is_silent: options.suppress_fatal_error_message,
            dumps_core: options.dumps_core,
            commands: Commands::new("OnError", &options.on_error),
        }
    }
}

/// The chosen file; one in the working folder; one in the folder of temporary files.
fn candidates(chosen: Option<&Path>) -> Vec<(CString, bool)> {
    let default = format!("hs_err_pid{}.log", std::process::id());
    let mut all = Vec::new();
    if let Some(chosen) = chosen.filter(|path| !path.as_os_str().is_empty()) {
        let expanded = match chosen.to_str() {
            Some(text) => commands::expand(text).into_bytes(),
            None => chosen.as_os_str().as_bytes().to_vec(),
        };
        all.push((expanded, true));
    }
    all.push((default.clone().into_bytes(), false));
    all.push((format!("/tmp/{default}").into_bytes(), false));
    let ready = |(path, replaces): (Vec<u8>, bool)| Some((CString::new(path).ok()?, replaces));
    all.into_iter().filter_map(ready).collect()
}

/// The process's VM, for reports of crashes on other threads than its own.
pub fn set_vm(vm: &'static Vm) {
    VM.store(std::ptr::from_ref(vm).cast_mut(), Ordering::Release);
}

/// As `set_vm` has set it.
pub fn vm() -> Option<&'static Vm> {
    // SAFETY: null or a VM, which lives for ever.
    unsafe { VM.load(Ordering::Acquire).as_ref() }
}

/// What has happened.
pub struct Crash {
    /// 0: no signal.
    pub signal: c_int,
    /// Null if there was no signal.
    pub info: *const libc::siginfo_t,
    pub context: *const libc::ucontext_t,
    /// Of a fatal error, else empty: file and line of the source.
    pub place: (*const str, u32),
    pub message: *const str,
}

impl Crash {
    pub fn context(&self) -> Option<&libc::ucontext_t> {
        // SAFETY: the kernel's, on the stack of the handler, which does not return.
        unsafe { self.context.as_ref() }
    }

    pub fn file(&self) -> &str {
        // SAFETY: `handler::fatal` keeps it, and does not return.
        unsafe { &*self.place.0 }
    }

    pub fn message(&self) -> &str {
        // SAFETY: as above.
        unsafe { &*self.message }
    }

    /// Where the thread was; 0 if there was no signal.
    pub fn pc(&self) -> usize {
        self.context().map_or(0, |c| c.uc_mcontext.gregs[libc::REG_RIP as usize] as usize)
    }

    /// Its stack pointer.
    pub fn sp(&self) -> usize {
        self.context().map_or(0, |c| c.uc_mcontext.gregs[libc::REG_RSP as usize] as usize)
    }
}

static VM: AtomicPtr<Vm> = AtomicPtr::new(std::ptr::null_mut());

/// The longest time of a step.
const STEP_LIMIT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_and_chosen_in_order() {
        let pid = std::process::id();
        let names = |chosen: Option<&str>| -> Vec<(String, bool)> {
            let files = candidates(chosen.map(Path::new)).into_iter();
            files.map(|(path, replaces)| (path.into_string().unwrap(), replaces)).collect()
        };
        let defaults =
            [(format!("hs_err_pid{pid}.log"), false), (format!("/tmp/hs_err_pid{pid}.log"), false)];
        assert_eq!(names(None), defaults);
        assert_eq!(names(Some("")), defaults);
        let chosen = names(Some("/a/%p-%%.log"));
        assert_eq!(chosen[0], (format!("/a/{pid}-%.log"), true));
        assert_eq!(chosen[1..], defaults);
    }
}
