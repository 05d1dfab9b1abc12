//! The common part of all transports: addresses and peers, messages and their frames, and the start of a session.

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
