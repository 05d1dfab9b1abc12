//! The upgrade of a session: another transport, which moves pages and messages in the place of the session's
//! connections.
//!
//! The connections stay: their ends are how the loss of a peer is noticed, and rare operations use them, such as
//! holes and registering memory. So listening, proofs, the mesh, the numbers of data connections and their fences
//! are the same with and without an upgrade.

use std::net::IpAddr;
use std::sync::Arc;

use crate::memory::segment::Registered;
use crate::tcp::remote_segment::DataConnection;
use crate::tcp::socket::{TcpSocket, Until};
use crate::wire::frame_channel::Connection;
use crate::{PeerId, RdmaError};

/// Opens the other transport at a local address. Asks the system; may block for as long as that.
pub type OpenUpgrade = fn(near: IpAddr) -> Result<Arc<dyn Upgrade>, RdmaError>;

/// Upgrades the VM's end of a data connection that was welcomed. Blocks until the server's end is upgraded too.
pub type UpgradeData =
    Box<dyn Fn(TcpSocket, Until<'_>) -> Result<Box<dyn DataConnection>, RdmaError> + Send + Sync>;

/// Another transport, opened for one session. Both ends of a connection upgrade it, at the same time. Any thread; not
/// for signal handlers.
pub trait Upgrade: Send + Sync {
    /// An error says why this process cannot hold `share_bytes` for a VM in this way.
    fn check_share(&self, share_bytes: u64) -> Result<(), RdmaError>;

    /// One end of a channel. Blocks until the other end is ready.
    fn channel(
        &self,
        peer: PeerId,
        socket: Arc<TcpSocket>,
        until: Until<'_>,
    ) -> Result<Arc<dyn Connection>, RdmaError>;

    /// For the VM's ends of all data connections to one server's memory of `segment_bytes`.
    fn data(&self, segment_bytes: u64) -> UpgradeData;

    /// The server's end of a data connection: the returned value does nothing by itself, and serves until it is
    /// dropped. Blocks until the VM's end is ready.
    fn serve(&self, socket: &TcpSocket, until: Until<'_>) -> Result<Box<dyn Send>, RdmaError>;

    /// The registrar for blocks of the memory that a server serves: none is registered yet.
    fn registered(&self) -> Box<dyn Registered>;
}
