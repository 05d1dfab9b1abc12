//! Moving bytes and calls between the VM's process and its memory servers.
//!
//! Two kinds of traffic, two traits:
//!
//! * [`Segment`]: one-sided READ and WRITE of byte ranges in a server's memory. The server's CPU
//!   takes no part. A segment is as long as the *whole* far space, sparsely: **offset in the
//!   segment = offset in the far space**, on every server, so no translation is needed. A server
//!   only ever touches the pages that it owns.
//! * [`Channel`]: two-sided messages between two processes, in both directions: `call` (request and
//!   reply) and `send` (a notice without reply). A process receives through its [`Service`].
//!
//! # Ordering
//!
//! A message sent after a one-sided write returned is received after that write is visible in the
//! segment, by every process that maps it. So "done, look at it" messages need no further fence on
//! the sending side; on the receiving side the delivery of the message is the acquire. Words (8
//! bytes, aligned) never tear, neither in READ nor in WRITE; nothing is promised about the order of
//! words within one operation.
//!
//! Messages of one channel and one direction arrive in the order in which they were sent, once
//! each. There is no order between channels, nor between the two directions of one channel.
//!
//! # Processes, on one machine
//!
//! ```text
//!        VM  ───── control socket (fd passing at start; its EOF = peer died) ─────  memory-server 0
//!         │  ═════ shared-memory rings, one per direction: calls, notices ════════      │
//!         │  ───── segment 0 (memfd of the server, mapped by both): READ, WRITE ──      │ rings
//!         └  ... the same to memory-server 1 ........................  memory-server 1
//! ```
//!
//! The VM starts servers with [`spawn::Fleet`], which also connects every pair of servers (the
//! mesh). A server's whole life is [`server::serve`]. Nothing has a name in a file system, so
//! nothing is left behind by kill -9. Servers that run already ([`server::listen`]) are named by
//! their [`ServerAddress`], and start a process for each VM.
//!
//! # Without servers
//!
//! A `PoolSegment` lies in a crash-safe pool of this machine, a file or a DAX device that several VMs may use. It has
//! no agent and no channel.
//!
//! # Processes, on several machines
//!
//! ```text
//!        VM  ═════ TCP, control connection: calls, notices; its end = peer died ═══  session at server 0
//!         │  ───── TCP, a few data connections: READ, WRITE ──────────────────────      │ TCP
//!         └  ... the same to server 1 ...............................  session at server 1
//! ```
//!
//! The same traits over TCP; `tcp/mod.rs` has its essay. Agents see no difference: their segment is
//! local memory, their channels reach VM and peers. The VM's side is slower, and can break in one more
//! way: a data connection that ends alone is replaced, and the operation repeated, transparently to
//! callers. Both sides prove to each other that they have a shared [`Token`].
//!
//! # Over RDMA
//!
//! With the feature `verbs` the connections of such a session make queue pairs, which do their work: READ and
//! WRITE then take nothing of the server's CPU, as in shared memory. `verbs/mod.rs` has its essay.
//!
//! | | shared memory | TCP, loopback |
//! |---|---|---|
//! | READ of a page that is in the cache, p50 | 0.1 us | 6.5 us |
//! | call and reply, p50 | 6 to 20 us | 11 us |
//!
//! (Two cores that others use too; `examples/round_trip.rs`. Over TCP both sides sleep between messages: where nothing
//! else runs, and the CPUs of a virtual machine halt meanwhile, waking them makes it 80 to 100 us.)
//!
//! The messages of the start are one protocol (`wire/opening.rs`), with one version, for both transports.
//!
//! # Example: the VM's side
//!
//! ```no_run
//! # use rdma::{spawn::{Fleet, FleetOptions}, PeerId, RdmaError, Service};
//! # use std::{sync::Arc, time::Duration};
//! struct FromAgents;
//! impl Service for FromAgents {
//!     fn on_request(&self, _from: PeerId, _request: &[u8]) -> Vec<u8> { Vec::new() }
//!     fn on_notice(&self, from: PeerId, notice: &[u8]) { /* "evacuation of region 7 done" */ }
//!     fn on_peer_lost(&self, _from: PeerId, cause: &RdmaError) {
//!         base::die(format_args!("{cause}"));
//!     }
//! }
//! # fn main() -> Result<(), RdmaError> {
//! let options = FleetOptions { servers: 2, far_bytes: 1 << 30, ..FleetOptions::default() };
//! let fleet = Fleet::start(options, Arc::new(FromAgents))?;
//! let reply = fleet.channel(0).call(b"trace region 7", Duration::from_secs(5))?;
//! fleet.segment(0).write(4096, &[1, 2, 3])?;   // three words
//! # Ok(()) }
//! ```
//!
//! # Example: an agent
//!
//! ```no_run
//! # use rdma::{server::{self, Session}, PeerId, RdmaError};
//! # use std::sync::Arc;
//! struct MyAgent(Arc<Session>);
//! impl rdma::Service for MyAgent {
//!     fn on_request(&self, _from: PeerId, request: &[u8]) -> Vec<u8> {
//!         let word = self.0.segment().load(4096);      // this server's own memory, mapped
//!         word.to_le_bytes().to_vec()
//!     }
//!     fn on_notice(&self, _from: PeerId, _notice: &[u8]) {
//!         if let Some(peer) = self.0.peer(PeerId::Server(1)) {
//!             let _ = peer.send(b"ghost buffer");
//!         }
//!     }
//!     fn on_peer_lost(&self, _from: PeerId, _cause: &RdmaError) {}
//! }
//! # fn main() -> Result<(), RdmaError> {
//! server::serve(3, None, |session| Arc::new(MyAgent(session)))    // fd 3; until the VM is gone
//! # }
//! ```

// Output is printed by `say` and its like, which do not panic.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod fleet;
#[cfg(test)]
mod fuzz;
mod memory;
mod process;
mod shm;
pub mod sim;
mod sync;
mod tcp;
#[cfg(feature = "verbs")]
mod verbs;
mod wire;

pub use fleet::mirrored::Mirrored;
pub use fleet::only_memory::OnlyMemory;
pub use fleet::seat::{SeatState, Seats};
pub use fleet::transport::Transport;
pub use fleet::{server, spawn};
pub use memory::atomic_words::{WORD_BYTES, copy_words};
#[cfg(not(loom))]
pub use memory::pool_segment::{PoolOptions, PoolSegment};
pub use memory::segment::{Mapped, Read, Segment, ShmSegment, Write};
pub use process::{held_bytes, own_library};
pub use sim::throttle::{SlowWire, Throttled};
pub use tcp::traffic::Traffic;
pub use wire::address::ServerAddress;
pub use wire::channel::{Channel, MESSAGE_BYTES_MAX, Service};
pub use wire::error::RdmaError;
pub use wire::opening::PROTOCOL_VERSION;
pub use wire::peer::PeerId;
pub use wire::refusal::Refusal;
pub use wire::token::Token;
