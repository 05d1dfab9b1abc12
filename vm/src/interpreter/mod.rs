//! The interpreter: frames, bytecodes, calls, exceptions.
//!
//! * [`run`]: the loop over instructions. [`quick`]: its private copy of the code. [`link`]: first executions of
//!   instructions that name constants. [`fault`]: exceptions that instructions throw.
//! * [`frame`], [`stack`]: where locals and operands live. [`call`]: entering methods. [`unwind`]: leaving them
//!   by exception. [`monitors`]: `synchronized`.
//! * [`walk`]: walking the frames of a thread. [`roots`]: references in frames. [`backtrace`]: stack traces.
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
