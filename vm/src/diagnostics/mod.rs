//! Looking into a running VM from outside, as HotSpot's tools do it.
//!
//! * [`attach`]: `jcmd`, `jstack`, `jmap` and `jinfo` connect to a socket of the VM, on which a thread answers
//!   [`operations`].
//! * [`commands`]: the diagnostic commands, one table for `jcmd` and for the bean `DiagnosticCommand`.
//! * [`crash`]: reports of crashes.
//! * [`fault_profile`]: which lines of the program make pages be fetched.
//! * [`heap_dump`]: heap dumps in the format HPROF.
//! * [`perf_data`]: counters in a file, for `jps` and `jstat`.
//! * [`running`]: the options, some of which can be changed while the VM runs.
//!
//! SIGQUIT is the signal with which a tool asks the VM to listen. Without such a request it is one for a thread dump.

pub mod attach;
pub mod commands;
pub mod crash;
pub mod fault_profile;
pub mod heap_dump;
pub mod native_memory;
mod operations;
pub mod perf_data;
pub mod running;

use crate::machine::JavaThread;
use crate::runtime::JResult;
use crate::threads::{dump, histogram};

/// The state of this module for one VM.
pub struct Diagnostics {
    pub options: running::RunningOptions,
    pub heap_dumps: heap_dump::HeapDumps,
    pub perf_data: perf_data::PerfData,
    pub fault_profile: Option<fault_profile::FaultProfile>,
}

impl Diagnostics {
    pub fn new(options: &crate::options::Options) -> Diagnostics {
        Diagnostics {
            options: running::RunningOptions::new(options),
            heap_dumps: heap_dump::HeapDumps::default(),
            perf_data: perf_data::PerfData::new(options),
            fault_profile: fault_profile::FaultProfile::new(options),
        }
    }
}

/// The VM can run Java code: shows its counters, and listens for tools if it is to do so before one asks. A safepoint.
pub fn start(t: &JavaThread) -> JResult<()> {
    perf_data::start(t);
    attach::start(t)
}

/// The process is about to end without running the handlers of `atexit`: removes the files by which tools find it.
pub fn end() {
    attach::remove_socket();
    perf_data::remove_own();
}

/// SIGQUIT has come: a tool wants to attach, or a user wants a thread dump on stdout. A safepoint.
pub fn on_quit(t: &JavaThread) -> JResult<()> {
    if attach::take_request(t)? {
        return Ok(());
    }
    print_dump(t);
    Ok(())
}

/// Prints a thread dump to stdout, and a class histogram if an option asks for it. A safepoint.
fn print_dump(t: &JavaThread) {
    let synchronizers = t.vm.diagnostics.options.manageable().prints_synchronizers;
    let mut text = dump::text(t, dump::Details { synchronizers, allocation: false });
    if t.vm.options.prints_histogram {
        text += &histogram::text(t);
    }
    // One write: the program may write its own output at the same time.
    base::print_part(format_args!("{text}"));
}
