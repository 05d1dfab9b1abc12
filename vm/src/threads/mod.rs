//! Java threads on OS threads: start, end, monitors, waiting, parking, interrupts, signals.
pub mod monitor;
pub mod state;

pub use monitor::{enter as monitor_enter, exit as monitor_exit};

use crate::runtime::JavaThread;
use gc::object::{ObjectRef, RootSlot};

/// All attached threads of one VM.
#[derive(Default)]
pub struct Threads {}

impl Threads {
    /// Every attached thread, while nobody attaches or detaches (lock held): for the collector with the world
    /// stopped, thread dumps, shutdown.
    pub fn for_each(&self, _visit: &mut dyn FnMut(&JavaThread)) {}

    /// Monitors' weak object slots, for the collector.
    pub fn visit_monitors(&self, _visit: &mut dyn FnMut(&RootSlot)) {}
}

/// The identity hash code of a non-null object: positive, stable over moves, kept in its lock word or monitor.
pub fn identity_hash(_t: &JavaThread, _object: ObjectRef) -> i32 {
    panic!("threads::identity_hash is not there yet")
}
