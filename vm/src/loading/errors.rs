//! Throwing Java exceptions from VM code.

use crate::runtime::{JResult, JavaThread, Throw};

/// Makes a new exception pending: `class_name` is internal (`java/lang/NullPointerException`), its constructor
/// `(String)` (or `()` without message) is run. A safepoint.
pub fn throw_new(_t: &JavaThread, class_name: &str, message: Option<&str>) -> Throw {
    panic!("throw_new({class_name}, {message:?})")
}

/// As `throw_new`, as a result.
pub fn fail<T>(t: &JavaThread, class_name: &str, message: &str) -> JResult<T> {
    Err(throw_new(t, class_name, Some(message)))
}

pub fn null_pointer(t: &JavaThread) -> Throw {
    throw_new(t, "java/lang/NullPointerException", None)
}
