//! The same over RDMA verbs, between machines with such adapters.
//!
//! ```text
//!   VM                                              session process of a memory server
//!   ┌──────────────┐  control connection (TCP)      ┌──────────────────────────────────┐
//!   │ QueueChannel │ ─────────────────────────────  │ QueueChannel                     │
//!   │              │ ═════ queue pair: SEND ══════  │                                  │
//!   │ segment      │ ───── data connection (TCP) ─  │ thread: holes, registering       │
//!   │              │ ═════ queue pair: READ, WRITE  │ segment, blocks registered       │
//!   └──────────────┘                                └──────────────────────────────────┘
//! ```
//!
//! A session over verbs is one over TCP (`tcp/mod.rs`: the same listener, the same port, the same proofs), in
//! which each TCP connection has made a queue pair (`connect.rs`) that does its work:
//!
//! 1. **READ and WRITE** (`data_connection.rs`) access the server's memory without its CPU; the server registers
//!    blocks of it when they are first asked for (`remote_keys.rs`, `registered_blocks.rs`). Claiming, replacing and
//!    giving up data connections are the same as over TCP (`tcp/remote_segment.rs`).
//! 2. **Calls and notices** (`channel.rs`) are SENDs.
//! 3. The **TCP connections** stay: their end is how the death of a peer is noticed, as fast as over TCP. Rare
//!    operations use the data connections: registering, and holes.
//! 4. The **mesh** is made in the same way; servers meet their peers in the order of the peers' numbers, so
//!    no circular wait occurs.
//!
//! # Guarantees
//!
//! **Order**: a WRITE returns when its words are in the server's memory (`data_connection.rs` says how that is
//! known), so a message that is sent afterwards is received after the words are visible.
//!
//! **Words do not tear** as far as adapters move aligned words of 8 bytes in one piece. Those that reach memory
//! over PCIe do: they write whole lines, of at least 64 bytes. Soft-RoCE copies with the kernel's `memcpy`, which
//! does not promise it, and copies words one by one where the CPU has no fast string moves (the test's
//! guest has none).
//!
//! **A process that has ended changes nothing**: its queue pairs are destroyed with it. A data connection that is
//! given up ends both of its queue pairs before another takes its number; so a WRITE that was in flight does not
//! come into effect later.
//!
//! **Limits**: registered memory is pinned. A server pins the blocks that the VM has used, up to its share of the
//! far space, until the session ends; a hole in them is zeroed and not given back. On-demand paging would change
//! that; no device that has it was available to try it on.

mod backoff;
mod buffer;
mod channel;
mod connect;
mod data_connection;
mod device;
mod library;
mod queue;
mod registered_blocks;
mod remote_keys;

use std::net::IpAddr;
use std::sync::Arc;

use crate::memory::segment::Registered;
use crate::tcp::remote_segment::DataConnection;
use crate::tcp::socket::{TcpSocket, Until};
use crate::tcp::upgrade::{Upgrade, UpgradeData};
use crate::wire::frame_channel::Connection;
use crate::{PeerId, RdmaError};
use channel::QueueChannel;
use data_connection::QueueDataConnection;
use device::Device;
use queue::{QueueOptions, QueuePair};
use registered_blocks::{RegisteredBlocks, lock_refusal};
use remote_keys::RemoteKeys;

/// Opens the device that has the address `near`, for one session. Asks the system; may block for as long as that.
pub fn open(near: IpAddr) -> Result<Arc<dyn Upgrade>, RdmaError> {
    Ok(Arc::new(Verbs { device: Device::open(near)? }))
}

/// The queue pairs of one session.
struct Verbs {
    device: Arc<Device>,
}

impl Upgrade for Verbs {
    fn check_share(&self, share_bytes: u64) -> Result<(), RdmaError> {
        lock_refusal(share_bytes).map_or(Ok(()), |reason| Err(RdmaError::NoVerbs(reason)))
    }

    fn channel(
        &self,
        peer: PeerId,
        socket: Arc<TcpSocket>,
        until: Until<'_>,
    ) -> Result<Arc<dyn Connection>, RdmaError> {
        Ok(Arc::new(QueueChannel::open(&self.device, peer, socket, until)?))
    }

    fn data(&self, segment_bytes: u64) -> UpgradeData {
        let (device, keys) = (self.device.clone(), Arc::new(RemoteKeys::new(segment_bytes)));
        Box::new(move |socket, until| -> Result<Box<dyn DataConnection>, RdmaError> {
            Ok(Box::new(QueueDataConnection::open(&device, socket, &keys, segment_bytes, until)?))
        })
    }

    fn serve(&self, socket: &TcpSocket, until: Until<'_>) -> Result<Box<dyn Send>, RdmaError> {
        let options = QueueOptions { sends: 1, receives: 0, is_served: true };
        let queue = QueuePair::new(&self.device, options)?;
        connect::connect(socket, &queue, until)?;
        Ok(Box::new(queue))
    }

    fn registered(&self) -> Box<dyn Registered> {
        Box::new(RegisteredBlocks::new(&self.device))
    }
}
