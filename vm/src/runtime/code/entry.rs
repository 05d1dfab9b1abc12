//! Values of `Method::entry`: how a call enters a method.

use crate::runtime::MethodRef;
use std::sync::atomic::Ordering;

/// Not called yet.
pub const UNDECIDED: u8 = 0;
/// Bytecode, not synchronized; quick code is ready.
pub const INTERPRETED: u8 = 1;
/// Bytecode, synchronized; quick code is ready.
pub const SYNCHRONIZED: u8 = 2;
pub const NATIVE: u8 = 3;
pub const ABSTRACT: u8 = 4;
/// Bytecode with machine code, which `MethodJit::compiled` leads to.
pub const COMPILED: u8 = 5;
/// A function of ours computes it instead of its bytecode ([`Elementary`](super::elementary::Elementary)).
pub const COMPUTED: u8 = 6;

/// Calls from the interpreter enter the method's machine code, which exists.
pub fn set_compiled(method: MethodRef) {
    method.entry.store(COMPILED, Ordering::Release);
}

/// Calls from the interpreter interpret the method, which was compiled.
pub fn set_interpreted(method: MethodRef) {
    method.entry.store(of_bytecode(method), Ordering::Release);
}

/// Of a method with prepared bytecode.
pub fn of_bytecode(method: MethodRef) -> u8 {
    if method.flags().is_synchronized() { SYNCHRONIZED } else { INTERPRETED }
}
