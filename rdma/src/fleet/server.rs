//! A memory server's side: one VM, one segment, channels to the VM and to the other servers.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use crate::fleet::{full_pool, populate, upgrade};
use crate::memory::grants::Grants;
use crate::memory::mapping::{Piece, SharedMapping};
use crate::process::{SESSIONS_MAX, ServerProcess};
use crate::shm::channel::{Endpoint, ShmChannel};
use crate::tcp::listener::Listener;
use crate::tcp::session;
use crate::tcp::socket::TcpSocket;
use crate::wire::control_socket::ControlSocket;
use crate::wire::frame_channel::Connection;
use crate::wire::opening::{Opening, START_TIMEOUT, Side, hello_error, share_refusal};
use crate::{Channel, PeerId, RdmaError, ServerAddress, Service, ShmSegment, Token};

/// Everything that a server has for one VM. Handed to the agent when it is created; the channels
/// may be used from then on (messages that arrive earlier wait until the agent exists).
pub struct Session {
    me: u16,
    servers: u16,
    segment: Arc<ShmSegment>,
    channels: BTreeMap<PeerId, Arc<dyn Connection>>,
}

impl Session {
    /// Which server this is.
    pub fn me(&self) -> PeerId {
        PeerId::Server(self.me)
    }

    /// How many servers share the far space, this one included.
    pub fn servers(&self) -> u16 {
        self.servers
    }

    /// This server's memory: the whole far space, sparse; only pages that it owns are meaningful. If the VM's memory
    /// lies in a pool, the part of it that does is that of all servers.
    pub fn segment(&self) -> &Arc<ShmSegment> {
        &self.segment
    }

    /// The channel to the VM.
    pub fn vm(&self) -> Arc<dyn Channel> {
        self.channels[&PeerId::Vm].clone()
    }

    /// The channel to another server, or to the VM; `None` for this server itself and for unknown
    /// ones. A server in the place of a lost one knows the VM only, and the channels of the others
    /// lead to the lost one; messages between them are relayed by the VM.
    pub fn peer(&self, peer: PeerId) -> Option<Arc<dyn Channel>> {
        self.channels.get(&peer).map(|channel| channel.clone() as Arc<dyn Channel>)
    }
}

/// Serves one VM over the control socket `control_fd`, which it takes over, until the VM has ended.
/// Refuses a VM whose far space needs more than `memory_bytes_max` of this server. The agent is
/// made once, by `make_agent`, before the first message is delivered. When this returns, the
/// agent's threads may still run: callers end the process.
///
/// The process at the other end of the control socket decides the kind of server that this is to be: a
/// VM that shares memory with it, a listener that hands it a VM's TCP connection, or a VM that wants it
/// to be a listener of its own; then it serves sessions as [`listen`] does.
pub fn serve(
    control_fd: RawFd,
    memory_bytes_max: Option<u64>,
    make_agent: impl FnOnce(Arc<Session>) -> Arc<dyn Service>,
) -> Result<(), RdmaError> {
    // SAFETY: no memory is involved; the call also checks whether the descriptor exists.
    if unsafe { libc::fcntl(control_fd, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(RdmaError::last_os("control socket"));
    }
    // SAFETY: it exists, and the caller hands it over.
    let socket = ControlSocket::from(unsafe { OwnedFd::from_raw_fd(control_fd) });
    let Some((first, mut fds)) = receive(&socket)? else { return Ok(()) };
    let mut next_fd = || fds.pop().ok_or(malformed("a descriptor is missing"));
    let session = match first {
        Opening::Adopt { mesh_key } => {
            let control = TcpSocket::new(next_fd()?)?;
            let joined =
                session::join(socket, control, mesh_key.into(), memory_bytes_max, upgrade::open)?;
            let Some(joined) = joined else { return Ok(()) };
            let session::Joined { me, servers, segment, channels } = joined;
            Session { me, servers, segment, channels }
        }
        Opening::Listen { token } => {
            let listener = TcpListener::from(next_fd()?);
            let memory = memory_bytes_max.map(|max| ["--memory".into(), max.to_string()]);
            let arguments: Vec<String> = memory.into_iter().flatten().collect();
            let never = Listener::over(listener, Token::from(token), &arguments)?.run()?;
            match never {}
        }
        first => match share_memory(socket, first, fds, memory_bytes_max)? {
            Some(session) => session,
            None => return Ok(()),
        },
    };
    let session = Arc::new(session);
    let agent = make_agent(session.clone());
    for channel in session.channels.values() {
        channel.start(agent.clone())?;
    }
    session.channels[&PeerId::Vm].wait_closed();
    Ok(())
}

/// This server's memory; what lies in a pool is the same for all servers.
fn memory_of(plan: &mut Plan) -> Result<Arc<ShmSegment>, RdmaError> {
    let mut segment = ShmSegment::create(PeerId::Server(plan.me), plan.far_bytes)?;
    if let Some((fd, pieces)) = plan.pool.take() {
        full_pool::end_with_a_line()?;
        segment.lay_over(fd, pieces)?;
    }
    Ok(Arc::new(segment))
}

/// A session with a VM on this machine. `None`: it disconnected, or was refused.
fn share_memory(
    socket: ControlSocket,
    first: Opening,
    fds: Vec<OwnedFd>,
    memory_bytes_max: Option<u64>,
) -> Result<Option<Session>, RdmaError> {
    let Some(mut plan) = Plan::receive(&socket, first, fds)? else { return Ok(None) };
    if let Some(reason) = share_refusal(plan.share_bytes, memory_bytes_max) {
        socket.send(&Opening::Refused { reason }.encode(), &[])?;
        return Ok(None);
    }
    let segment = match memory_of(&mut plan) {
        Ok(segment) => segment,
        Err(error) => {
            let reason = error.to_string();
            socket.send(&Opening::Refused { reason }.encode(), &[])?;
            return Ok(None);
        }
    };
    let grants = Arc::new(Grants::create(plan.far_bytes)?);
    socket.send(&Opening::Welcome.encode(), &[segment.as_fd(), grants.as_fd()])?;
    populate::start(grants, &segment)?;

    let vm = Endpoint { socket, rings: plan.vm_rings, side: Side::Second };
    let ends = plan.peers.into_iter().map(|(peer, end)| (PeerId::Server(peer), end));
    let channels = ends.chain([(PeerId::Vm, vm)]).map(|(peer, end)| {
        let channel: Arc<dyn Connection> = Arc::new(ShmChannel::open(peer, end));
        (peer, channel)
    });
    let channels = channels.collect();
    Ok(Some(Session { me: plan.me, servers: plan.servers, segment, channels }))
}

/// Waits at `address` for VMs, and starts this program again as `--fd N`, with further arguments, for each:
/// several may be served at the same time. Returns only with an error.
///
/// Under a `unix:` name only processes of the same user may connect, and `token` is not looked at. At
/// any other address than loopback a token is needed, which VMs must know; on loopback without one,
/// every process of this machine may connect. `on_ready` gets the address at which it listens over
/// TCP: the port may be one that the system chose.
pub fn listen(
    address: &ServerAddress,
    token: Token,
    arguments: &[String],
    on_ready: impl FnOnce(SocketAddr),
) -> Result<Infallible, RdmaError> {
    match address {
        ServerAddress::Unix { name } => listen_unix(name, arguments),
        ServerAddress::Tcp { host, port } => {
            let listener = Listener::bind(host, *port, token, arguments)?;
            on_ready(listener.address()?);
            listener.run()
        }
        ServerAddress::Verbs { .. } => Err(RdmaError::Listen {
            address: address.to_string(),
            reason: "a server listens at HOST:PORT, which serves VMs over TCP and over verbs"
                .into(),
        }),
    }
}

fn listen_unix(name: &str, arguments: &[String]) -> Result<Infallible, RdmaError> {
    let listener = ControlSocket::listen(name)?;
    let program = std::env::current_exe()
        .map_err(|source| RdmaError::Os { what: "finding the path of this program", source })?;
    let mut sessions: Vec<ServerProcess> = Vec::new();
    loop {
        let socket = match listener.accept() {
            Ok(socket) => socket,
            Err(error) => {
                // Too many open files, a client that disconnected: neither is permanent, and sessions need this
                // process.
                log::warn!("accepting a VM: {error}");
                std::thread::sleep(ACCEPT_PAUSE);
                continue;
            }
        };
        sessions.retain(|session| !session.is_finished());
        if sessions.len() == SESSIONS_MAX {
            let reason = format!("it serves {SESSIONS_MAX} VMs, the maximum");
            // The VM may have disconnected by now.
            let _ = socket.send(&Opening::Refused { reason }.encode(), &[]);
            continue;
        }
        let socket = OwnedFd::from(socket);
        let ours = socket.try_clone();
        match ServerProcess::start(0, &program, arguments.to_vec(), socket) {
            Ok(session) => sessions.push(session),
            Err(error) => {
                log::warn!("starting a session: {error}");
                let reason = format!("it cannot start a session: {error}");
                if let Ok(socket) = ours {
                    let _ = ControlSocket::from(socket)
                        .send(&Opening::Refused { reason }.encode(), &[]);
                }
            }
        }
    }
}

/// Before accepting is tried again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The configuration that the VM sends to a server at the start.
struct Plan {
    me: u16,
    servers: u16,
    far_bytes: u64,
    share_bytes: u64,
    /// How many peers there will be.
    told: u16,
    vm_rings: Arc<SharedMapping>,
    peers: BTreeMap<u16, Endpoint>,
    /// What lies in a pool: its file, and where.
    pool: Option<(OwnedFd, Vec<Piece>)>,
}

impl Plan {
    /// From the first message on. `None`: the VM disconnected before it sent everything.
    fn receive(
        socket: &ControlSocket,
        first: Opening,
        fds: Vec<OwnedFd>,
    ) -> Result<Option<Plan>, RdmaError> {
        let mut plan: Option<Plan> = None;
        let mut next = Some((first, fds));
        while let Some((message, fds)) = next {
            let mut fds = fds.into_iter();
            let mut next_fd = || fds.next().ok_or(malformed("a descriptor is missing"));
            match (message, &mut plan) {
                (Opening::Hello { server, servers, far_bytes, share_bytes, peers: told }, None) => {
                    if let Some(what) = hello_error(server, servers, far_bytes, told) {
                        return Err(malformed(what));
                    }
                    let vm_rings = SharedMapping::open(next_fd()?, Endpoint::SHARED_BYTES)?;
                    let (me, vm_rings, peers) = (server, Arc::new(vm_rings), BTreeMap::new());
                    plan = Some(Plan {
                        me,
                        servers,
                        far_bytes,
                        share_bytes,
                        told,
                        vm_rings,
                        peers,
                        pool: None,
                    });
                }
                (Opening::Piece { offset, place, bytes }, Some(plan)) => {
                    let (_, pieces) = match &mut plan.pool {
                        Some(pool) => pool,
                        None => plan.pool.insert((next_fd()?, Vec::new())),
                    };
                    let piece = Piece { offset, place, bytes };
                    // The rest is checked when they are mapped.
                    if pieces.last().map_or(Some(0), Piece::end) != Some(offset) || bytes < 4096 {
                        return Err(malformed("invalid piece"));
                    }
                    pieces.push(piece);
                }
                (Opening::Peer { peer, side }, Some(plan)) => {
                    let new = peer < plan.servers && !plan.peers.contains_key(&peer);
                    if !new || peer == plan.me || plan.peers.len() == usize::from(plan.told) {
                        return Err(malformed("invalid peer"));
                    }
                    let socket = ControlSocket::from(next_fd()?);
                    let rings = SharedMapping::open(next_fd()?, Endpoint::SHARED_BYTES)?;
                    plan.peers.insert(peer, Endpoint { socket, rings: Arc::new(rings), side });
                }
                (Opening::Start, Some(complete))
                    if complete.peers.len() == usize::from(complete.told) =>
                {
                    return Ok(plan);
                }
                _ => return Err(malformed("message out of order")),
            }
            next = receive(socket)?;
        }
        Ok(None)
    }
}

/// The next message of the start; `None`: the other side has disconnected.
fn receive(socket: &ControlSocket) -> Result<Option<(Opening, Vec<OwnedFd>)>, RdmaError> {
    let Some((bytes, fds)) = socket.receive(START_TIMEOUT)? else { return Ok(None) };
    Ok(Some((Opening::decode(&bytes).map_err(malformed)?, fds)))
}

fn malformed(what: &'static str) -> RdmaError {
    RdmaError::Malformed { peer: PeerId::Vm, what }
}
