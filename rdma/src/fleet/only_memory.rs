//! The service for messages of servers that only hold memory for a process.

use crate::{PeerId, RdmaError, Service};
use base::die;

/// There are no agents, so no requests and no notices are expected. A server that sends one all the same is none of
/// ours, and ends the process with one line, as a lost one does.
pub struct OnlyMemory;

impl Service for OnlyMemory {
    fn on_request(&self, from: PeerId, _request: &[u8]) -> Vec<u8> {
        die(format_args!("{from} sent a request, but it only holds memory"))
    }

    fn on_notice(&self, from: PeerId, _notice: &[u8]) {
        die(format_args!("{from} sent a notice, but it only holds memory"))
    }

    fn on_peer_lost(&self, _from: PeerId, cause: &RdmaError) {
        die(format_args!("{cause}"));
    }
}
