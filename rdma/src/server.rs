//! A memory server's side: one VM, one segment, channels to the VM and to the other servers.

use std::sync::Arc;

use crate::{Channel, PeerId, RdmaError, Service, ShmSegment};

/// What an agent is made of: what it does with messages.
pub use crate::channel::Service as Agent;

/// Everything that a server has for one VM. Handed to the agent when it is made; the channels are usable from
/// then on (messages that arrive earlier wait until the agent is there).
pub struct Session {}

impl Session {
    /// Which server this is.
    pub fn me(&self) -> PeerId {
        unimplemented!("Session::me")
    }

    /// How many servers share the far space, this one included.
    pub fn servers(&self) -> u16 {
        unimplemented!("Session::servers")
    }

    /// This server's memory: the whole far space, sparse; only pages that it owns are meaningful.
    pub fn segment(&self) -> &Arc<ShmSegment> {
        unimplemented!("Session::segment")
    }

    /// The channel to the VM.
    pub fn vm(&self) -> Arc<dyn Channel> {
        unimplemented!("Session::vm")
    }

    /// The channel to another server, or to the VM; `None` for this server itself and for unknown ones.
    pub fn peer(&self, _peer: PeerId) -> Option<Arc<dyn Channel>> {
        unimplemented!("Session::peer")
    }
}

/// Serves one VM over the control socket `control_fd` until the VM is gone. `memory_bytes_max` limits what this
/// server is ready to hold. The agent is made once, by `make_agent`, before the first message is delivered.
pub fn serve(
    _control_fd: i32,
    _memory_bytes_max: Option<u64>,
    _make_agent: impl FnOnce(Arc<Session>) -> Arc<dyn Service>,
) -> Result<(), RdmaError> {
    unimplemented!("server::serve")
}
