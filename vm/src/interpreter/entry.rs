//! Values of `Method::entry`: how a call enters a method.

/// Not called yet.
pub const UNDECIDED: u8 = 0;
/// Bytecode, not synchronized; quick code is ready.
pub const INTERPRETED: u8 = 1;
/// Bytecode, synchronized; quick code is ready.
pub const SYNCHRONIZED: u8 = 2;
pub const NATIVE: u8 = 3;
pub const ABSTRACT: u8 = 4;
