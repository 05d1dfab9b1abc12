//! What holds classes: the unit in which they are unloaded.
//!
//! A loader's classes come and go together, and a hidden class that is not strong (`Lookup.defineHiddenClass`) by
//! itself. The classes of the boot, platform and application loaders never go: they share one permanent holder.

use super::root_table::RootTable;
use gc::object::layout::HolderId;
use parking_lot::Mutex;

/// See the module text. Metadata of its classes names it as `&'static` as long as it is alive.
pub struct ClassHolder {
    pub id: HolderId,
    /// Roots of its classes: mirrors, resolved constants, and the like. Alive as long as the holder.
    pub roots: Mutex<RootTable>,
}

impl ClassHolder {
    pub fn new(id: HolderId) -> ClassHolder {
        ClassHolder { id, roots: Mutex::default() }
    }

    /// Whether its classes never go.
    #[inline]
    pub fn is_permanent(&self) -> bool {
        self.id == HolderId::PERMANENT
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
