//! The common base of every process of Farheap: lines for its user, ending the process on fatal errors, the clock,
//! sleeping on a word, options by table, amounts as command lines write them, memory and CPUs that the process may use,
//! waits that know when this process was stopped, and interned names.

// Output is printed by `say` and its like, which do not panic.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod clock;
mod container;
mod die;
pub mod futex;
pub mod options;
mod patience;
mod resources;
mod say;
pub mod symbol;
pub mod units;

pub use clock::{now_ns, since_epoch};
pub use container::{Container, MemoryLimit, MemoryRoom};
pub use die::die;
pub use patience::{Patience, waiting_ns};
pub use resources::Resources;
pub use say::{print, print_part, say, say_part};
