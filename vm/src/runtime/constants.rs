//! The values of static final fields of initialized classes, for compiled code: they never change.
//!
//! As in HotSpot: reflection and method handles refuse to write such a field, and a write by JNI or `Unsafe` may not
//! be seen.

use super::constant_handle::ConstantHandle;
use gc::object::RootSlot;

/// The value of a field that never changes.
pub enum Constant {
    /// As the interpreter's stack holds it.
    Bits(u64),
    Object(ConstantObject),
}

/// An object that is the value of a field.
pub struct ConstantObject {
    /// A strong root; null if the field is.
    pub slot: &'static RootSlot,
    /// What is known of it, if it is a method handle, a `VarHandle` or a field updater.
    pub handle: Option<Box<ConstantHandle>>,
}
