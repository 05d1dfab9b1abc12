//! Modules and packages as the VM knows them.

use crate::runtime::{JavaThread, KlassRef, LoaderData};
use gc::object::ObjectRef;

/// All modules of one VM.
#[derive(Default)]
pub struct Modules {}

impl Modules {
    /// The `java.lang.Module` object for a new class of this loader and package (`java/lang`): the named module
    /// of the package, else the loader's unnamed module. Null before `java.base` is defined: classes loaded
    /// until then get theirs when it is. No safepoint.
    pub fn module_of(
        &self,
        _t: &JavaThread,
        _loader: &'static LoaderData,
        _package: &[u8],
    ) -> ObjectRef {
        ObjectRef::NULL
    }

    /// The module in which the boot loader looks for classes of a package: by the tables once `java.base` is
    /// defined; before that whatever the image says, and only `java.base`.
    pub fn boot_module_of(&self, t: &JavaThread, package: &[u8]) -> Option<String> {
        t.vm.image.module_of_package(package).filter(|module| module == "java.base")
    }

    /// Whether the module of `to` is readable by that of `from` and exports the package to it (JLS 7.3,
    /// JVMS 5.4.4), on top of which `to` must be public.
    pub fn can_access(&self, _from: KlassRef, _to: KlassRef) -> bool {
        true
    }
}
