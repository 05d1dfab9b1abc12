//! `java.lang.String` objects and the table of interned ones.

use crate::runtime::{Handle, JResult, JavaThread};
use gc::object::{ObjectRef, RootSlot};

/// Interned strings, weakly held.
#[derive(Default)]
pub struct StringTable {}

impl StringTable {
    pub fn visit_weak(&self, _visit: &mut dyn FnMut(&RootSlot)) {}
}

/// A new string of modified UTF-8. A safepoint.
pub fn from_modified_utf8(_t: &JavaThread, _bytes: &[u8]) -> JResult<ObjectRef> {
    panic!("from_modified_utf8")
}

/// A new string of UTF-16 units. A safepoint.
pub fn from_utf16(_t: &JavaThread, _units: &[u16]) -> JResult<ObjectRef> {
    panic!("from_utf16")
}

/// A new string of Rust text. A safepoint.
pub fn from_str(_t: &JavaThread, text: &str) -> JResult<ObjectRef> {
    panic!("from_str({text})")
}

/// The interned string equal to `string`. A safepoint.
pub fn intern(_t: &JavaThread, _string: Handle) -> JResult<ObjectRef> {
    panic!("intern")
}

/// The UTF-16 units of a string. No safepoint.
pub fn to_utf16(_t: &JavaThread, _string: ObjectRef) -> Vec<u16> {
    panic!("to_utf16")
}

/// Rust text; unpaired surrogates are replaced. No safepoint.
pub fn to_text(t: &JavaThread, string: ObjectRef) -> String {
    String::from_utf16_lossy(&to_utf16(t, string))
}

/// Modified UTF-8 (JNI). No safepoint.
pub fn to_modified_utf8(_t: &JavaThread, _string: ObjectRef) -> Vec<u8> {
    panic!("to_modified_utf8")
}
