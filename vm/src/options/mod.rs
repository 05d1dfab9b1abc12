//! What the command line or the launcher chose.
//!
//! The launcher (`vm run` or the JDK's `java`) hands all VM options over as strings to `JNI_CreateJavaVM`;
//! [`Options::parse`] reads them. Options of far memory have the form of `-XX` options there, so that `java`
//! can pass them too: `-XX:Collector=mako`, `-XX:LocalMemory=25%`, `-XX:MemoryServers=2`, ...

pub mod assertions;
pub mod environment;
pub mod flags;
pub mod jdk;
pub mod jit;
pub mod log;
mod parse;
pub mod pattern;
pub mod shown;
mod xx;

pub use assertions::Assertions;
pub use log::{Log, LogOption};

use crate::options::jit::JitOptions;
use gc::options::HeapOptions;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Options of one VM.
#[derive(Clone, Debug)]
pub struct Options {
    /// The JDK's home: `lib/modules` lies below it.
    pub java_home: PathBuf,
    /// `-Dkey=value`, in order.
    pub properties: Vec<(String, String)>,
    pub heap: HeapOptions,
    /// `-Xss`, bytes of Java stack of each thread.
    pub stack_bytes: usize,
    /// All options as given, for `RuntimeMXBean.getInputArguments`.
    pub arguments: Vec<String>,
    /// `-Xverify:none`, `-XX:-BytecodeVerificationRemote`.
    pub verify_remote: bool,
    pub verify_boot: bool,
    /// `--enable-preview`
    pub enable_preview: bool,
    /// `-verbose`, `-Xlog`.
    pub log: Arc<Log>,
    pub assertions: Assertions,
    /// `-Xbootclasspath/a:`, as given.
    pub boot_class_path_append: Option<String>,
    /// `-XX:+DisableExplicitGC`
    pub disable_explicit_gc: bool,
    /// `-Xrs`: the program handles SIGINT, SIGTERM, SIGHUP, SIGQUIT itself.
    pub reduce_signals: bool,
    /// `-XX:ActiveProcessorCount=`; 0: ask the system.
    pub processors: usize,
    /// `-XX:MaxDirectMemorySize=`, bytes.
    pub max_direct_memory: Option<usize>,
    /// `-XX:MaxJavaStackTraceDepth=`; 0 is no limit.
    pub max_stack_trace_depth: usize,
    /// `-XX:-StackTraceInThrowable`
    pub stack_trace_in_throwable: bool,
    /// `-XX:-ShowCodeDetailsInExceptionMessages`
    pub helpful_null_pointers: bool,
    /// `-XX:+ExitOnOutOfMemoryError`: the first `OutOfMemoryError` of the VM ends the process with exit code 3.
    pub exit_on_out_of_memory: bool,
    /// `-XX:+CrashOnOutOfMemoryError`: it aborts the process, if nothing else has ended it.
    pub crash_on_out_of_memory: bool,
    /// `-XX:-CreateCoredumpOnCrash`: such an end is exit code 1, not an abort, which may leave a core file.
    pub dumps_core: bool,
    /// `--stats FILE`: where counters are written at the end.
    pub stats_file: Option<PathBuf>,
    /// `--metrics HOST:PORT`: where Prometheus may ask for counters.
    pub metrics_address: Option<String>,
    pub jit: JitOptions,
    /// `-XX` options as given, name and value, for `HotSpotDiagnosticMXBean`.
    pub flags: Vec<(String, String)>,
}

/// Why options cannot be used: the lines to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadOption(pub String);

impl std::fmt::Display for BadOption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl std::error::Error for BadOption {}

impl Options {
    /// The value of a system property that was set, the last one.
    pub fn property(&self, key: &str) -> Option<&str> {
        let found = self.properties.iter().rev().find(|(k, _)| k == key);
        found.map(|(_, value)| value.as_str())
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            java_home: PathBuf::new(),
            properties: Vec::new(),
            heap: HeapOptions { max_bytes: default_heap_bytes(), ..HeapOptions::default() },
            stack_bytes: STACK_BYTES,
            arguments: Vec::new(),
            verify_remote: true,
            verify_boot: false,
            enable_preview: false,
            log: Arc::new(Log::new(Vec::new(), Instant::now())),
            assertions: Assertions::default(),
            boot_class_path_append: None,
            disable_explicit_gc: false,
            reduce_signals: false,
            processors: 0,
            max_direct_memory: None,
            max_stack_trace_depth: 1024,
            stack_trace_in_throwable: true,
            helpful_null_pointers: true,
            exit_on_out_of_memory: false,
            crash_on_out_of_memory: false,
            dumps_core: true,
            stats_file: None,
            metrics_address: None,
            jit: JitOptions::default(),
            flags: Vec::new(),
        }
    }
}

/// A quarter of the machine's memory, as `java` does.
fn default_heap_bytes() -> usize {
    // SAFETY: plain queries.
    let (pages, page) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    (pages.max(0) as usize * page.max(0) as usize / 4).max(64 << 20)
}

/// As `java` on x86-64 Linux.
const STACK_BYTES: usize = 1 << 20;
