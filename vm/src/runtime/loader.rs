//! Class loaders as the VM sees them: which classes each has defined, and which names it has been seen to
//! load (initiated).

use super::holder::ClassHolder;
use super::klass::KlassRef;
use classfile::symbol::Symbol;
use gc::object::RootSlot;
use parking_lot::RwLock;
use rustc_hash::FxHashMap;

/// One per `ClassLoader` object, and one for the boot loader. Lives as long as the object.
pub struct LoaderData {
    pub id: u32,
    /// The `ClassLoader` object; empty for the boot loader. Strong while the holder is alive; weak where it has no
    /// class.
    pub object: RootSlot,
    /// Classes by name that this loader initiated or defined (JVMS 5.3). Hidden classes are not in it.
    pub classes: RwLock<FxHashMap<Symbol, KlassRef>>,
    /// Everything that it defined, hidden classes too, in order.
    pub defined: RwLock<Vec<KlassRef>>,
    /// Of all its classes but hidden ones that are not strong.
    pub holder: &'static ClassHolder,
}

impl LoaderData {
    pub fn new(id: u32, holder: &'static ClassHolder) -> LoaderData {
        LoaderData {
            id,
            object: RootSlot::null(),
            classes: RwLock::default(),
            defined: RwLock::default(),
            holder,
        }
    }

    /// The boot loader has no object.
    #[inline]
    pub fn is_boot(&self) -> bool {
        self.id == BOOT_ID
    }

    pub fn find(&self, name: Symbol) -> Option<KlassRef> {
        self.classes.read().get(&name).copied()
    }
}

impl PartialEq for LoaderData {
    fn eq(&self, other: &LoaderData) -> bool {
        std::ptr::eq(self, other)
    }
}

impl std::fmt::Debug for LoaderData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "loader {}", self.id)
    }
}

pub const BOOT_ID: u32 = 0;
