//! The interpreter: frames, bytecodes, calls, exceptions.
//!
//! * [`run`]: the loop over instructions. [`quick`](crate::runtime::code::quick): its private copy of the code.
//!   [`link`]: first executions of instructions that name constants. [`fault`]: exceptions that instructions throw.
//! * [`frames`](crate::frames): where locals and operands live. [`mod@call`]: entering methods. [`unwind`]: leaving
//!   them by exception. [`monitors`]: `synchronized`.
//! * [`backtrace`]: stack traces.
//!   [`npe`]: messages of NullPointerExceptions.

pub mod backtrace;
pub mod call;
pub(crate) mod fault;
mod link;
pub(crate) mod monitors;
pub mod npe;
pub(crate) mod run;
pub(crate) mod unwind;

pub use call::call;
