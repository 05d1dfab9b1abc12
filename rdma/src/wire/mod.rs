//! The common part of all transports: addresses and peers, messages and their frames, and the start of a session.

pub mod address;
pub mod channel;
pub mod control_socket;
pub mod conversation;
pub mod error;
pub mod frame;
pub mod frame_channel;
pub mod opening;
pub mod peer;
pub mod refusal;
pub mod token;
