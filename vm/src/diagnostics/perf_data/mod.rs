//! Performance counters as HotSpot has them: in a file that `jps` and `jstat` map.
//!
//! * [`region`]: the layout of the memory.
//! * [`file`]: the file, who may read it, and what becomes of it.
//! * [`counters`]: the counters of the VM, and the thread that brings them up to date.
//!
//! The class library adds counters of its own (`jdk.internal.perf.Perf`). Where there is no file, the same memory is
//! private to the process.

mod counters;
mod file;
mod region;

pub use file::{map_of, remove_own};
pub use region::{Region, Units, Variability};

use crate::machine::{JavaThread, Vm};
use crate::options::Options;
use memmap2::MmapMut;

/// The counters of one VM.
pub struct PerfData {
    region: Region,
    /// Whether other processes can see them.
    is_shared: bool,
}

impl PerfData {
    /// The memory, with a file unless options or the system forbid it.
    pub fn new(options: &Options) -> PerfData {
        let is_wanted = options.use_perf_data && !options.hide_perf_data;
        let shared = is_wanted.then(|| file::create(options.perf_data_bytes).ok()).flatten();
        let is_shared = shared.is_some();
        let map = shared.unwrap_or_else(|| {
            MmapMut::map_anon(options.perf_data_bytes).expect("memory for performance counters")
        });
        PerfData { region: Region::new(map), is_shared }
    }

    pub fn region(&self) -> &Region {
        &self.region
    }
}

/// Makes the VM's counters, and keeps them up to date. From then on tools see the VM. The calling thread can run Java
/// code; no safepoint.
pub fn start(t: &JavaThread) {
    let vm: &'static Vm = t.vm;
    let perf = &vm.diagnostics.perf_data;
    if perf.is_shared {
        counters::start(vm);
    }
    perf.region.open();
}
