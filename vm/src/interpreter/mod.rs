//! The interpreter: frames, bytecodes, calls, exceptions.
//!
//! * [`run`]: the loop over instructions. [`quick`]: its private copy of the code. [`link`]: first executions of
//!   instructions that name constants. [`fault`]: exceptions that instructions throw.
//! * [`frame`], [`stack`]: where locals and operands live. [`call`]: entering methods. [`unwind`]: leaving them
//!   by exception. [`monitors`]: `synchronized`.

pub mod call;
mod entry;
pub mod fault;
pub mod frame;
mod link;
mod monitors;
mod names;
pub mod quick;
mod run;
pub mod slots;
pub mod stack;
mod unwind;

pub use call::call;
