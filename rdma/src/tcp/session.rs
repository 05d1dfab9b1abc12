//! A session's process: how it gets its connections.
//!
//! The listener hands it connections over a Unix socket for as long as both live: first the control
//! connection to the VM, then those of other servers, and data connections at any time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use crate::tcp::channel::TcpChannel;
use crate::tcp::client::dial_any;
use crate::tcp::frame::{Broken, receive_opening, send_opening};
use crate::tcp::handshake::{enter, refuse};
use crate::tcp::page_server::PageServer;
use crate::tcp::socket::{TcpSocket, Until};
use crate::tcp::upgrade::{OpenUpgrade, Upgrade};
use crate::wire::control_socket::ControlSocket;
use crate::wire::frame_channel::Connection;
use crate::wire::opening::{
    Opening, Purpose, START_TIMEOUT, SessionId, hello_error, share_refusal,
};
use crate::wire::token::Token;
use crate::{PeerId, RdmaError, ShmSegment};

/// The state of a session after the start.
pub struct Joined {
    pub me: u16,
    pub servers: u16,
    pub segment: Arc<ShmSegment>,
    pub channels: BTreeMap<PeerId, Arc<dyn Connection>>,
}

/// Takes part in the start of a VM that connected to the listener, and upgrades the connections that the VM
/// wants upgraded, by `open_upgrade`. `None`: it disconnected, or was refused.
pub fn join(
    listener: ControlSocket,
    control: TcpSocket,
    mesh_key: Token,
    memory_bytes_max: Option<u64>,
    open_upgrade: OpenUpgrade,
) -> Result<Option<Joined>, RdmaError> {
    let Some(plan) = Plan::receive(&control)? else { return Ok(None) };
    if let Some(reason) = share_refusal(plan.share_bytes, memory_bytes_max) {
        refuse(&control, &reason);
        return Ok(None);
    }
    let upgrade = match plan.upgrade(&control, open_upgrade) {
        Ok(upgrade) => upgrade,
        Err(error) => {
            refuse(&control, &error.to_string());
            return Ok(None);
        }
    };
    let segment = Arc::new(ShmSegment::create(PeerId::Server(plan.me), plan.far_bytes)?);
    let pages = PageServer::new(segment.clone(), upgrade.clone())?;
    let (arrived, mesh) = channel();
    thread::Builder::new()
        .name("connections".into())
        .spawn(move || adopt_all(&listener, &pages, &arrived))
        .map_err(|source| RdmaError::Os { what: "starting a thread", source })?;

    let mut sockets = BTreeMap::new();
    for dial in &plan.dials {
        match dial.connect(plan.me, &mesh_key) {
            Ok(socket) => _ = sockets.insert(dial.peer, socket),
            Err(error) => {
                let (peer, host, port) = (dial.peer, &dial.host, dial.port);
                refuse(
                    &control,
                    &format!("it cannot reach server {peer} at {host}:{port}: {error}"),
                );
                return Ok(None);
            }
        }
    }
    match await_mesh(&mesh, &plan.expected) {
        Some(others) => sockets.extend(others),
        None => {
            refuse(&control, "another memory server did not connect to it in time");
            return Ok(None);
        }
    }
    let mut channels: BTreeMap<PeerId, Arc<dyn Connection>> = BTreeMap::new();
    // In the order of their numbers: of the pairs that have not met, the first one in the order of both numbers has
    // nothing to wait for.
    for (peer, socket) in sockets {
        match channel_to(PeerId::Server(peer), socket, upgrade.as_deref()) {
            Ok(channel) => _ = channels.insert(PeerId::Server(peer), channel),
            Err(error) => {
                refuse(&control, &format!("it cannot talk to server {peer}: {error}"));
                return Ok(None);
            }
        }
    }
    if send_opening(&control, &Opening::Welcome, Until::after(START_TIMEOUT)).is_err() {
        return Ok(None);
    }
    channels.insert(PeerId::Vm, channel_to(PeerId::Vm, control, upgrade.as_deref())?);
    Ok(Some(Joined { me: plan.me, servers: plan.servers, segment, channels }))
}

/// A channel over a connection, or over the transport that it is upgraded to.
fn channel_to(
    peer: PeerId,
    socket: TcpSocket,
    upgrade: Option<&dyn Upgrade>,
) -> Result<Arc<dyn Connection>, RdmaError> {
    let socket = Arc::new(socket);
    match upgrade {
        Some(upgrade) => upgrade.channel(peer, socket, Until::after(2 * START_TIMEOUT)),
        None => Ok(Arc::new(TcpChannel::open(peer, socket))),
    }
}

/// The configuration that the VM sends to a server at the start.
struct Plan {
    me: u16,
    servers: u16,
    far_bytes: u64,
    share_bytes: u64,
    /// How many peers there will be.
    peers: u16,
    /// Whether connections are upgraded.
    is_upgraded: bool,
    dials: Vec<DialOrder>,
    expected: Vec<u16>,
}

/// Connect to that server.
struct DialOrder {
    peer: u16,
    session: SessionId,
    host: String,
    port: u16,
}

impl DialOrder {
    fn connect(&self, me: u16, mesh_key: &Token) -> Result<TcpSocket, RdmaError> {
        let dial = || dial_any(&self.host, self.port, |_| Ok(()));
        let purpose = Purpose::Mesh { session: self.session, from: me };
        let (socket, _) = enter(dial, purpose, mesh_key, &[0; 32])?;
        Ok(socket)
    }
}

impl Plan {
    /// Have all peers been named to it?
    fn knows_all(&self) -> bool {
        self.dials.len() + self.expected.len() == usize::from(self.peers)
    }

    /// The transport that connections are upgraded to, if they are: opened at the address at which the VM reaches
    /// this server.
    fn upgrade(
        &self,
        control: &TcpSocket,
        open: OpenUpgrade,
    ) -> Result<Option<Arc<dyn Upgrade>>, RdmaError> {
        if !self.is_upgraded {
            return Ok(None);
        }
        let upgrade = open(control.local_ip()?)?;
        upgrade.check_share(self.far_bytes.div_ceil(u64::from(self.servers)))?;
        Ok(Some(upgrade))
    }

    /// `None`: the VM disconnected before it sent everything.
    fn receive(control: &TcpSocket) -> Result<Option<Plan>, RdmaError> {
        let malformed = |what| RdmaError::Malformed { peer: PeerId::Vm, what };
        let mut plan: Option<Plan> = None;
        // As many messages as the largest fleet needs.
        for _ in 0..usize::from(u16::MAX) + 2 {
            let message = match receive_opening(control, Until::after(START_TIMEOUT)) {
                Ok(message) => message,
                Err(Broken::Cut(_)) => return Ok(None),
                Err(Broken::Malformed(what)) => return Err(malformed(what)),
            };
            match (message, &mut plan) {
                (Opening::Hello { server, servers, far_bytes, share_bytes, peers }, None) => {
                    if let Some(what) = hello_error(server, servers, far_bytes, peers) {
                        return Err(malformed(what));
                    }
                    let (dials, expected) = (Vec::new(), Vec::new());
                    let (me, is_upgraded) = (server, false);
                    plan = Some(Plan {
                        me,
                        servers,
                        far_bytes,
                        share_bytes,
                        peers,
                        is_upgraded,
                        dials,
                        expected,
                    });
                }
                (Opening::Dial { peer, session, host, port }, Some(plan)) => {
                    let known = plan.dials.iter().any(|dial| dial.peer == peer);
                    if known || peer <= plan.me || peer >= plan.servers || plan.knows_all() {
                        return Err(malformed("invalid peer"));
                    }
                    plan.dials.push(DialOrder { peer, session, host, port });
                }
                (Opening::Expect { peer }, Some(plan)) => {
                    if plan.expected.contains(&peer) || peer >= plan.me || plan.knows_all() {
                        return Err(malformed("invalid peer"));
                    }
                    plan.expected.push(peer);
                }
                (Opening::Verbs, Some(plan)) => plan.is_upgraded = true,
                (Opening::Start, Some(complete)) if complete.knows_all() => return Ok(plan),
                _ => return Err(malformed("message out of order")),
            }
        }
        Err(malformed("too many messages"))
    }
}

/// Receives connections from the listener until it ends.
fn adopt_all(listener: &ControlSocket, pages: &PageServer, mesh: &Sender<(u16, TcpSocket)>) {
    loop {
        listener.wait_readable();
        let (bytes, mut fds) = match listener.receive(START_TIMEOUT) {
            Ok(Some(received)) => received,
            // The listener has ended; the kernel ends this process too.
            Ok(None) => return,
            Err(error) => {
                log::warn!("receiving a connection: {error}");
                return;
            }
        };
        let socket = match fds.pop().map(TcpSocket::new) {
            Some(Ok(socket)) => socket,
            Some(Err(_)) | None => continue,
        };
        match Opening::decode(&bytes) {
            Ok(Opening::Line { number }) => pages.adopt(number, socket),
            Ok(Opening::Mesh { from }) => {
                // No thread waits any more: the connection is closed.
                let _ = mesh.send((from, socket));
            }
            Ok(_) | Err(_) => log::warn!("the listener sent the wrong message"),
        }
    }
}

/// The connections of the expected servers; `None` if they do not all come in time.
fn await_mesh(
    mesh: &Receiver<(u16, TcpSocket)>,
    expected: &[u16],
) -> Option<BTreeMap<u16, TcpSocket>> {
    let deadline = Instant::now() + START_TIMEOUT;
    let mut found = BTreeMap::new();
    while found.len() < expected.len() {
        let left = deadline.saturating_duration_since(Instant::now());
        let (from, socket) = mesh.recv_timeout(left).ok()?;
        if expected.contains(&from) {
            found.entry(from).or_insert(socket);
        }
    }
    Some(found)
}
