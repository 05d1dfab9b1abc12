//! What all transports have in common: who talks to whom, messages and their frames, and how a session starts.

pub mod address;
pub mod channel;
pub mod control_socket;
pub mod conversation;
pub mod error;
pub mod frame;
pub mod opening;
pub mod peer;
pub mod receiving_thread;
pub mod token;
