//! What holds classes: the unit in which they are unloaded.
//!
//! A loader's classes come and go together, and a hidden class that is not strong (`Lookup.defineHiddenClass`) by
//! itself. The classes of the boot, platform and application loaders never go: they share one permanent holder.

use super::root_table::RootTable;
use gc::object::layout::HolderId;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// See the module text. Metadata of its classes names it as `&'static` as long as it is alive.
pub struct ClassHolder {
    pub id: HolderId,
    /// Roots of its classes: mirrors, resolved constants, and the like. Alive as long as the holder.
    pub roots: Mutex<RootTable>,
    /// A collection has found its classes dead. Written in a stopped world, read also by compiler threads, which do not
    /// stop: they look again under `Jit::publishing`, which orders the two.
    is_dead: AtomicBool,
}

impl ClassHolder {
    pub fn new(id: HolderId) -> ClassHolder {
        ClassHolder { id, roots: Mutex::default(), is_dead: AtomicBool::new(false) }
    }

    /// Whether its classes never go.
    #[inline]
    pub fn is_permanent(&self) -> bool {
        self.id == HolderId::PERMANENT
    }

    /// Whether a collection has found its classes dead: nothing may begin to use them.
    pub fn is_dead(&self) -> bool {
        self.is_dead.load(Ordering::Relaxed)
    }

    /// Its classes are dead. The world is stopped.
    pub fn set_dead(&self) {
        assert!(!self.is_permanent(), "permanent classes do not die");
        self.is_dead.store(true, Ordering::Relaxed);
    }
}

impl PartialEq for ClassHolder {
    fn eq(&self, other: &ClassHolder) -> bool {
        std::ptr::eq(self, other)
    }
}

impl std::fmt::Debug for ClassHolder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "holder {}", self.id.0)
    }
}
