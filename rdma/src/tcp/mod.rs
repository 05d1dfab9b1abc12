//! The same over TCP, between machines.
//!
//! ```text
//!   VM                                             memory server: one port, several VMs
//!   ┌────────────┐   control connection            ┌──────────┐  Unix socket   ┌─────────────────┐
//!   │ TcpChannel │ ═══════════════════════════╗    │ listener │ ─────────────> │ session process │
//!   │ segment    │ ── data connections, 4 ──> ╟──> │          │  passes every  │ segment, agent  │
//!   └────────────┘                            ║    └──────────┘  connection on └─────────────────┘
//!            another server of the same VM ───╜                                   ... one for each VM
//! ```
//!
//! 1. **Listening** (`listener.rs`). Every connection begins with a handshake (`handshake.rs`) in which
//!    both sides prove that they have the token; it names the purpose of the connection. A control
//!    connection starts a session: a process of its own, so that sessions share nothing. Data
//!    connections, and those of other servers of the same VM, name their session by an unguessable id,
//!    and are handed to its process with `SCM_RIGHTS`.
//! 2. **Calls** (`channel.rs`) are frames (`frame.rs`) on the control connection.
//! 3. **READ, WRITE and punching** (`remote_segment.rs`, `data_connection.rs`; on the server `page_server.rs`) are
//!    requests on data connections (`page_frame.rs`), answered by threads that know nothing of agents. WRITE
//!    is answered after the words were stored: so a message that is sent after a write returned is received
//!    after the write is visible, as the crate promises.
//! 4. **Mesh**: server *i* dials server *j* > *i* at the address that the VM names, and proves itself with
//!    a key that the VM made for this fleet and gave to each server, sealed with the token.
//!
//! # Guarantees
//!
//! The token keeps strangers out, and each session's memory is its own. Addresses that are not
//! loopback need a token. Traffic is neither encrypted nor authenticated after the handshake: an
//! attacker that can change packets on the way can change the heap. Such networks need a tunnel
//! (WireGuard, IPsec).
//!
//! # Detection of failures
//!
//! | failure | noticed by | after |
//! |---|---|---|
//! | a process dies | the other ends of its connections | at once |
//! | a machine vanishes, or the network | both sides: keepalive, `TCP_USER_TIMEOUT` | [`PEER_TIMEOUT`] |
//! | a server is stuck | the thread that waits for a page | [`PAGE_TIMEOUT`] |
//! | a stranger is silent | the listener | [`HANDSHAKE_TIMEOUT`], or when its place is needed (`admission.rs`) |
//! | a data connection breaks alone | the thread that uses it; it is replaced, and the operation repeated | |
//!
//! A session process ends with its control connection, and its memory with it.

mod admission;
pub mod channel;
pub mod client;
pub mod data_connection;
pub mod frame;
pub mod handshake;
pub mod listener;
pub mod page_frame;
pub mod page_server;
pub mod remote_segment;
pub mod session;
pub mod socket;
pub mod traffic;
pub mod upgrade;

use std::time::Duration;

/// How long a machine may be silent before its connections end.
pub const PEER_TIMEOUT: Duration = Duration::from_secs(9);
/// How long a READ or WRITE may make no progress before its server counts as lost.
pub const PAGE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a handshake may take as a whole.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a client retries when its connection is closed before it is answered: others may want in.
pub const TURNED_AWAY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long connecting to one address may take.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Data connections of one VM to one server, unless chosen otherwise. With fewer of them than threads
/// that move pages, these wait for one another and move a third of the pages; more cost nothing but
/// 264 KiB of buffers at each end. (`examples/round_trip.rs` measures it.)
pub const LINES: u16 = 4;
/// The most data connections of one session.
pub const LINES_MAX: u16 = 64;
