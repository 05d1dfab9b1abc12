//! What a process does with messages of servers that only hold memory for it.

use crate::{PeerId, RdmaError, Service, die};

/// There are no agents, so nothing is asked and nothing is told. A server that is gone ends the process with one line.
pub struct OnlyMemory;

impl Service for OnlyMemory {
    fn on_request(&self, _from: PeerId, _request: &[u8]) -> Vec<u8> {
        Vec::new()
    }

    fn on_notice(&self, _from: PeerId, _notice: &[u8]) {}

    fn on_peer_lost(&self, _from: PeerId, cause: &RdmaError) {
        die(format_args!("{cause}"));
    }
}
