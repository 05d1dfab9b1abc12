//! The code of methods: as the interpreter runs it, and as the compiler has made it.

pub mod abi;
pub mod body;
pub mod cache;
pub mod compiled;
pub mod elementary;
pub mod entry;
pub mod installed;
pub mod positions;
pub mod quick;
pub mod safepoints;
pub mod side_exits;
