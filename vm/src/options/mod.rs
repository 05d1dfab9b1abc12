//! The options that the command line or the launcher chose.
//!
//! The launcher (`vm run` or the JDK's `java`) hands all VM options over as strings to `JNI_CreateJavaVM`;
//! [`Options::parse`] reads them. Options of far memory have the form of `-XX` options in this list, so that
//! `java` can pass them too: `-XX:Collector=mako`, `-XX:LocalMemory=25%`, `-XX:MemoryServers=2`, ...

pub mod assertions;
mod conflicts;
pub mod environment;
mod ergonomics;
pub mod flags;
pub mod home_file;
pub mod identity;
pub mod jdk;
pub mod jit;
pub mod log;
pub mod manageable;
mod parse;
pub mod pattern;
mod presets;
pub mod recorder;
pub mod shown;
mod xx;
mod young_sizes;

pub use assertions::Assertions;
pub use log::{Log, LogOptions};

use crate::options::jit::JitOptions;
use crate::options::manageable::ManageableOptions;
use crate::options::recorder::RecorderOption;
use base::Resources;
use base::options;
use base::options::{BadSetting, OptionGroup, Setting};
use gc::options::HeapOptions;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

options! {
    /// Options of one VM.
    #[derive(Clone, Debug)]
    pub struct Options, "vm" {
        /// Verify classes that are not the boot loader's. -Xverify:none: do not.
        pub verify_remote: bool as Switch = true, "BytecodeVerificationRemote", Product;
        /// Verify the boot loader's classes, too.
        pub verify_boot: bool as Switch = false, "BytecodeVerificationLocal", Product;
        /// Objects have headers of 8 bytes, and not 12 as in HotSpot 17 (JEP 519).
        pub compact_headers: bool as Switch = true, "UseCompactObjectHeaders", Product;
        /// System.gc() does nothing.
        pub disable_explicit_gc: bool as Switch = false, "DisableExplicitGC", Product;
        /// SIGINT, SIGTERM, SIGHUP and SIGQUIT are left to the program and to the system, as with -Xrs: they run no
        /// shutdown hooks, and there is no thread dump.
        pub reduce_signals: bool as Switch = false, "ReduceSignalUsage", Product;
        /// A class histogram follows the thread dump on SIGQUIT.
        pub prints_histogram: bool as Switch = false, "PrintClassHistogram", Product;
        /// Tools like jcmd cannot attach to the VM.
        pub disable_attach: bool as Switch = false, "DisableAttachMechanism", Product;
        /// The VM listens for tools like jcmd from its start, and not only once one has sent SIGQUIT.
        pub start_attach: bool as Switch = false, "StartAttachListener", Product;
        /// Performance counters, which jps and jstat read, are kept in a file below the folder of temporary files.
        pub use_perf_data: bool as Switch = true, "UsePerfData", Product;
        /// Performance counters are not in a file: jps and jstat do not see the VM.
        pub hide_perf_data: bool as Switch = false, "PerfDisableSharedMem", Product;
        /// Size of the memory for performance counters.
        pub perf_data_bytes: usize as Size = 32 << 10, "PerfDataMemorySize" in 4096..=32 << 20, Product;
        /// How often performance counters are brought up to date, in milliseconds.
        pub perf_data_interval: Duration as Millis = Duration::from_millis(50),
            "PerfDataSamplingInterval" in 10..=3_600_000, Product;
        /// CPUs that the program sees, and that default numbers of threads follow. 0: those that the process may use.
        pub processors: usize as Count = 0, "ActiveProcessorCount" in 0..=1 << 16, Product;
        /// The machine counts as a server however small it is: G1 runs unless an option names a collector. Otherwise
        /// that is so with two CPUs and 1792m of memory or more, as the container limits them; Serial runs on less.
        pub is_always_server: bool as Switch = false, "AlwaysActAsServerClassMachine", Product;
        /// The machine counts as none however large it is: Serial runs unless an option names a collector. Wins over
        /// AlwaysActAsServerClassMachine.
        pub is_never_server: bool as Switch = false, "NeverActAsServerClassMachine", Product;
        /// The limits of the container (cgroups) bound the default heap, default numbers of threads, and the CPUs that
        /// the program sees.
        pub use_container: bool as Switch = true, "UseContainerSupport", Product;
        /// The memory of which the default heap is a part. auto: that of the machine, or the limit of the
        /// container if that is less, and 128g at most unless a percentage is given.
        pub max_ram: Option<usize> as OrAuto of Size = None, "MaxRAM" in 1..=u64::MAX, Product;
        /// The default heap in percent of that memory, where that is 124 MiB or more.
        pub max_ram_percentage: f64 as Decimal = 25.0, "MaxRAMPercentage" in 0..=100, Product;
        /// The same where there is less memory: where this percentage is less than 124 MiB.
        pub min_ram_percentage: f64 as Decimal = 50.0, "MinRAMPercentage" in 0..=100, Product;
        /// The default of -Xms in percent of that memory. auto: 8 MiB.
        pub initial_ram_percentage: Option<f64> as OrAuto of Decimal = None, "InitialRAMPercentage" in 0..=100, Product;
        /// Maximum memory of direct buffers. auto: the size of the heap.
        pub max_direct_memory: Option<usize> as OrAuto of Size = None, "MaxDirectMemorySize", Product;
        /// Maximum memory of the classes that loaders other than the boot loader define: twice their class files, and
        /// about two kilobytes for each. Beyond it, an OutOfMemoryError is thrown.
        pub max_class_bytes: usize as Size = usize::MAX, "MaxMetaspaceSize", Product;
        /// When these classes have taken that much, a collection looks for those that can be unloaded; from then on
        /// when they have taken two thirds more than it has left.
        pub class_bytes_until_collection: usize as Size = 22_020_096, "MetaspaceSize", Product;
        /// Maximum number of frames in the stack trace of an exception. 0: no limit.
        pub max_stack_trace_depth: usize as Count = 1024, "MaxJavaStackTraceDepth" in 0..=1 << 30, Product;
        /// Stack traces show frames of the VM's and the library's own making, such as those of lambda expressions.
        pub shows_hidden_frames: bool as Switch = false, "ShowHiddenFrames", Debug;
        /// Exceptions have stack traces.
        pub stack_trace_in_throwable: bool as Switch = true, "StackTraceInThrowable", Product;
        /// A NullPointerException says what was null.
        pub helpful_null_pointers: bool as Switch = true, "ShowCodeDetailsInExceptionMessages", Product;
        /// Commands for a shell that run at the first OutOfMemoryError of the VM, separated by semicolons. %p in them
        /// is the process id. May be repeated.
        pub on_out_of_memory: Vec<String> as Repeated of Word = Vec::new(), "OnOutOfMemoryError", Product;
        /// The same when the process crashes: at a fault in native code, or when the VM aborts.
        pub on_error: Vec<String> as Repeated of Word = Vec::new(), "OnError", Product;
        /// The first OutOfMemoryError of the VM ends the process with exit code 3, unless CrashOnOutOfMemoryError
        /// aborts it.
        pub exit_on_out_of_memory: bool as Switch = false, "ExitOnOutOfMemoryError", Product;
        /// The first OutOfMemoryError of the VM is a crash: there is a report, and the process aborts.
        pub crash_on_out_of_memory: bool as Switch = false, "CrashOnOutOfMemoryError", Product;
        /// A crash aborts the process, which may leave a core file. Otherwise it ends with exit code 1.
        pub dumps_core: bool as Switch = true, "CreateCoredumpOnCrash", Product;
        /// File for the report of a crash; %p in its name is the process id. Else it is hs_err_pid%p.log in the working
        /// folder, or in /tmp if that cannot be written.
        pub error_file: Option<PathBuf> as File = None, "ErrorFile", Product;
        /// The report of a crash is printed on stdout, and not written to a file.
        pub error_file_to_stdout: bool as Switch = false, "ErrorFileToStdout", Product;
        /// The same on stderr.
        pub error_file_to_stderr: bool as Switch = false, "ErrorFileToStderr", Product;
        /// Time for the report of a crash, in seconds. 0: no limit.
        pub error_log_timeout_s: u64 as Count = 120, "ErrorLogTimeout" in 0..=9_223_372_036_854_775, Product;
        /// Crashes are not reported.
        pub suppress_fatal_error_message: bool as Switch = false, "SuppressFatalErrorMessage", Product;
        /// The VM warns of options that have no effect.
        pub prints_warnings: bool as Switch = true, "PrintWarnings", Product;
        /// Raise the limit of open files to the largest that the system allows.
        pub raises_file_limit: bool as Switch = true, "MaxFDLimit", Product;
        /// Natives for jdk.test.whitebox.WhiteBox, by which the OpenJDK's tests look into the VM.
        pub whitebox: bool as Switch = false, "WhiteBoxAPI", Debug;
        /// Start the management agent, as -Dcom.sun.management.jmxremote.port=N does.
        pub starts_agent: bool as Switch = false, "ManagementServer", Product;
        /// Mako as in its paper (PLDI'22): what is not in it is off, and parameters have its values. Options behind
        /// this one change that.
        pub mako_as_in_paper: bool as Switch = false, "MakoAsInPaper", Paper;
        /// The same for MemLiner (OSDI'22), on G1 and on Shenandoah.
        pub memliner_as_in_paper: bool as Switch = false, "MemLinerAsInPaper", Paper;
        /// The same for G1 and Shenandoah, as the papers compare with them.
        pub baseline_as_in_paper: bool as Switch = false, "BaselineAsInPaper", Paper;
        /// File for the counters, written as JSON at the end: --stats.
        pub stats_file: Option<PathBuf> as File = None, "StatsFile", Product;
        /// File for a profile of page faults by Java method and line, written at the end: --fault-profile.
        pub fault_profile: Option<PathBuf> as File = None, "FaultProfile", Product;
        /// The profile of page faults has a sample of them: one in this many, each of which counts for as many.
        pub fault_profile_interval: u32 as Count = 64, "FaultProfileInterval" in 1..=1 << 24, Product;
        /// Address at which Prometheus can read counters, HOST:PORT: --metrics.
        pub metrics_address: Option<String> as OrNone of Word = None, "MetricsAddress", Product;
    } with {
        /// The JDK's home: `lib/modules` lies below it.
        pub java_home: PathBuf = PathBuf::new();
        /// `-Dkey=value`, in order.
        pub properties: Vec<(String, String)> = Vec::new();
        pub heap: HeapOptions = HeapOptions::default();
        /// Memory and CPUs that this process may use.
        pub resources: Resources = Resources::of_this_process(true);
        /// `-Xss`, bytes of Java stack of each thread.
        pub stack_bytes: usize = STACK_BYTES;
        /// All options as given, for `RuntimeMXBean.getInputArguments`.
        pub arguments: Vec<String> = Vec::new();
        /// `--enable-preview`
        pub enable_preview: bool = false;
        /// `-verbose`, `-Xlog`.
        pub log: Arc<Log> = Arc::new(Log::new(LogOptions::default(), Instant::now()));
        pub assertions: Assertions = Assertions::default();
        /// `-Xbootclasspath/a:`, as given.
        pub boot_class_path_append: Option<String> = None;
        /// `-javaagent:`, in their order.
        pub java_agents: Vec<JavaAgent> = Vec::new();
        /// Values of `-XX:StartFlightRecording`, in their order.
        pub recordings: Vec<String> = Vec::new();
        /// Values of `-XX:FlightRecorderOptions`, in their order.
        pub recorder_options: Vec<Vec<RecorderOption>> = Vec::new();
        pub jit: JitOptions = JitOptions::default();
        /// Warnings that the user gets when the VM starts, each a sentence or two.
        pub warnings: Vec<String> = Vec::new();
        /// As the VM starts with them.
        pub manageable: ManageableOptions = ManageableOptions::default();
        /// `-XX` options as given, name and value, for `HotSpotDiagnosticMXBean`.
        pub flags: Vec<(String, String)> = Vec::new();
    }
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
    /// All tables of options: the VM's own, those that can be changed later, the compiler's, and those of the heap.
    pub fn groups(&self) -> Vec<&dyn OptionGroup> {
        let own: [&dyn OptionGroup; 3] = [self, &self.manageable, &self.jit];
        own.into_iter().chain(self.heap.groups()).collect()
    }

    /// The value that the command line gave an option last, as text; `None` if it names none.
    pub fn given(&self, name: &str) -> Option<&str> {
        let given = self.flags.iter().rev().find(|(given, _)| given == name);
        given.map(|(_, value)| value.as_str())
    }

    /// Sets an option of any of the tables. False: none has this name.
    fn set_any(&mut self, name: &str, setting: Setting<'_>) -> Result<bool, BadSetting> {
        Ok(self.set(name, setting)?
            || self.manageable.set(name, setting)?
            || self.jit.set(name, setting)?
            || self.heap.set_any(name, setting)?)
    }

    /// Whether `-XX:NativeMemoryTracking=` is on.
    pub fn tracks_native_memory(&self) -> bool {
        self.given("NativeMemoryTracking").is_some_and(|level| level != "off")
    }

    /// Adds a warning.
    fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    fn warn_once(&mut self, warning: &str) {
        if !self.warnings.iter().any(|said| said == warning) {
            self.warn(warning.into());
        }
    }

    /// The value of a system property that was set, the last one.
    pub fn property(&self, key: &str) -> Option<&str> {
        let found = self.properties.iter().rev().find(|(k, _)| k == key);
        found.map(|(_, value)| value.as_str())
    }
}

/// As `java` on x86-64 Linux.
const STACK_BYTES: usize = 1 << 20;

/// An agent of `-javaagent:jar=options`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JavaAgent {
    pub jar: String,
    /// `None`: without a `=`.
    pub options: Option<String>,
}
