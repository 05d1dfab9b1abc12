//! Array classes.

use crate::classfile::BasicType;
use crate::runtime::{JResult, JavaThread, KlassRef};

/// The class of arrays with this component type.
pub fn array_class(_t: &JavaThread, component: KlassRef) -> JResult<KlassRef> {
    panic!("array_class({component:?})")
}

/// `[I` and so on.
pub fn primitive_array_class(t: &JavaThread, element: BasicType) -> KlassRef {
    t.vm.known.primitive_array(element)
}
