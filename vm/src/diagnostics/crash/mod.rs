//! Reports of crashes, as HotSpot writes them: a few lines on stdout, and the file `hs_err_pidN.log`.
//!
//! Causes are signals (a fault of native code, of compiled code or of the VM that nobody else handles, an abort),
//! panics of the VM, and `-XX:+CrashOnOutOfMemoryError`. Then:
//!
//! 1. The first thread that crashes writes the report ([`handler`]). Others that crash, or that touch memory of the
//!    heap that is remote, wait for the end: from now on SIGBUS is this module's too, so that nothing is fetched for
//!    the report. The rest of the program goes on.
//! 2. The thread changes to a stack of the report's own, since its own one may be full or too small.
//! 3. The report is a list of steps ([`report`]). A fault in one of them ends this step with a line that says so, and
//!    the next one follows, on top of the failed one; so does a step that takes too long, by a timer.
//! 4. The commands of `-XX:OnError` run. The process ends by SIGABRT, which gives the exit code 134.
//!
//! What steps need is prepared when the VM starts ([`state`]). They allocate nothing and wait for no lock (one that is
//! taken is left alone, and what it guards left out). The list of threads is tried for a while, and then read without
//! its lock: a pause that met a fault of remote memory has it until the end. Memory that may not be there is read by
//! way of the kernel ([`memory`]). No step reads the heap.

mod files;
mod handler;
mod memory;
pub(super) mod native_frames;
mod output;
mod process;
mod report;
mod state;
mod symbols;
mod system;
mod thread;

pub use handler::{fatal, install};
pub use state::set_vm;
