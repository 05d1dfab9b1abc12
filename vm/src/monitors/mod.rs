//! Monitors, and the objects that threads wait on: locks in headers, lock stacks, inflated monitors, events, the
//! state of a thread.

pub mod event;
pub mod inflated;
pub mod lock;
pub mod lock_stack;
pub mod lock_word;
pub mod monitor;
pub mod requests;
pub mod state;
pub mod status;
pub(crate) mod sync;
pub mod table;
pub(crate) mod time;
