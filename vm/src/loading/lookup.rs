//! Finding classes by name (JVMS 5.3).

use crate::runtime::{JResult, JavaThread, KlassRef, LoaderData};
use crate::symbol::Symbol;
use gc::object::ObjectRef;

/// The class of a name (internal, or an array descriptor) as seen by a loader; calls `ClassLoader.loadClass`
/// where needed. Throws `ClassNotFoundException` or a `LinkageError`. A safepoint.
pub fn load_class(
    _t: &JavaThread,
    _loader: &'static LoaderData,
    name: Symbol,
) -> JResult<KlassRef> {
    panic!("load_class({name})")
}

/// As `load_class`, but `Ok(None)` when the boot loader has no such class. Boot loader only.
pub fn load_boot_class(_t: &JavaThread, name: Symbol) -> JResult<Option<KlassRef>> {
    panic!("load_boot_class({name})")
}

/// The loader data of a `ClassLoader` object; null is the boot loader. Made on first use.
pub fn loader_data(_t: &JavaThread, _loader: ObjectRef) -> &'static LoaderData {
    panic!("loader_data")
}
