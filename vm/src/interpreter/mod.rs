//! The interpreter: frames, bytecodes, calls, exceptions.
//!
//! * [`run`]: the loop over instructions. [`quick`]: its private copy of the code. [`link`]: first executions of
//!   instructions that name constants. [`fault`]: exceptions that instructions throw.
//! * [`frame`], [`stack`]: where locals and operands live. [`call`]: entering methods. [`unwind`]: leaving them
//!   by exception. [`monitors`]: `synchronized`.
//! * [`walk`]: who called whom. [`roots`]: references in frames. [`backtrace`]: stack traces. [`npe`]: messages of
//!   NullPointerExceptions.

pub mod backtrace;
pub mod call;
pub mod entry;
pub(crate) mod fault;
pub mod frame;
mod link;
pub(crate) mod monitors;
pub mod npe;
pub mod quick;
pub mod roots;
pub(crate) mod run;
pub mod slots;
pub mod stack;
pub(crate) mod unwind;
pub mod walk;

pub use call::call;
pub use roots::visit_roots;
