//! What every process of Farheap needs, whatever it does: lines for its user, the end when nothing else is left, the
//! clock, sleeping on a word, options by table, amounts as command lines write them, and waits that know when this
//! process was stopped.

// What is printed goes through `say` and its like, which do not panic.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod clock;
mod die;
pub mod futex;
pub mod options;
mod patience;
mod say;
pub mod units;

pub use clock::now_ns;
pub use die::die;
pub use patience::{Patience, waiting_ns};
pub use say::{print, print_part, say, say_part};
