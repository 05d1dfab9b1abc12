//! The interpreter: frames, bytecodes, calls, exceptions.
pub mod frame;
pub mod stack;

use crate::runtime::{JResult, JavaThread, MethodRef};

/// Calls a Java (or native) method from VM code and returns its result word: ints sign-extended, floats as
/// bits, references as plain addresses, 0 for void. `arguments` are stack slots: receiver first, longs and
/// doubles take two slots with the value in the first. No virtual dispatch happens: the caller selected the
/// method, initialized its class, and checked that the receiver is not null. A safepoint.
pub fn call(_t: &JavaThread, method: MethodRef, _arguments: &[u64]) -> JResult<u64> {
    panic!("interpreter::call({method:?}) is not there yet")
}
