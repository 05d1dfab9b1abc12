//! Classes, fields and methods of the class library that the VM itself uses.

use crate::classfile::BasicType;
use crate::runtime::KlassRef;

/// Found once while the VM starts.
#[derive(Default)]
pub struct Known {}

impl Known {
    pub fn primitive_array(&self, element: BasicType) -> KlassRef {
        panic!("no array class of {element:?} yet")
    }

    /// Offset of the injected class id in a mirror.
    #[inline]
    pub fn mirror_klass_id(&self) -> usize {
        panic!("java.lang.Class is not laid out yet")
    }
}
