//! A memory server's side: one VM, one segment, channels to the VM and to the other servers.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use crate::mapping::SharedMapping;
use crate::opening::Opening;
use crate::process::ServerProcess;
use crate::shm_channel::{Endpoint, ShmChannel, Side};
use crate::socket::ControlSocket;
use crate::{Channel, PeerId, RdmaError, ServerAddress, Service, ShmSegment};

/// What an agent is made of: what it does with messages.
pub use crate::channel::Service as Agent;

/// Everything that a server has for one VM. Handed to the agent when it is made; the channels may
/// be used from then on (messages that arrive earlier wait until the agent is there).
pub struct Session {
    me: u16,
    servers: u16,
    segment: Arc<ShmSegment>,
    channels: BTreeMap<PeerId, Arc<ShmChannel>>,
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

    /// This server's memory: the whole far space, sparse; only pages that it owns are meaningful.
    pub fn segment(&self) -> &Arc<ShmSegment> {
        &self.segment
    }

    /// The channel to the VM.
    pub fn vm(&self) -> Arc<dyn Channel> {
        self.channels[&PeerId::Vm].clone()
    }

    /// The channel to another server, or to the VM; `None` for this server itself and for unknown
    /// ones.
    pub fn peer(&self, peer: PeerId) -> Option<Arc<dyn Channel>> {
        self.channels.get(&peer).map(|channel| channel.clone() as Arc<dyn Channel>)
    }
}

/// Serves one VM over the control socket `control_fd`, which it takes over, until the VM is gone.
/// Refuses a VM whose far space needs more than `memory_bytes_max` of this server. The agent is
/// made once, by `make_agent`, before the first message is delivered. When this returns, the
/// agent's threads may still run: callers end the process.
pub fn serve(
    control_fd: RawFd,
    memory_bytes_max: Option<u64>,
    make_agent: impl FnOnce(Arc<Session>) -> Arc<dyn Service>,
) -> Result<(), RdmaError> {
    // SAFETY: no memory is involved; also tells whether the descriptor exists.
    if unsafe { libc::fcntl(control_fd, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(RdmaError::last_os("control socket"));
    }
    // SAFETY: it exists, and the caller hands it over.
    let socket = ControlSocket::from(unsafe { OwnedFd::from_raw_fd(control_fd) });
    let Some(plan) = Plan::receive(&socket)? else { return Ok(()) };
    let share = plan.far_bytes.div_ceil(u64::from(plan.servers));
    if let Some(limit) = memory_bytes_max.filter(|limit| share > *limit) {
        let reason = format!(
            "it offers {limit} bytes, and its share of the far space would be {share} bytes"
        );
        socket.send(&Opening::Refused { reason }.encode(), &[])?;
        return Ok(());
    }
    let segment = Arc::new(ShmSegment::create(PeerId::Server(plan.me), plan.far_bytes)?);
    socket.send(&Opening::Welcome.encode(), &[segment.as_fd()])?;

    let vm = Endpoint { socket, rings: plan.vm_rings, side: Side::Second };
    let ends = plan.peers.into_iter().map(|(peer, end)| (PeerId::Server(peer), end));
    let channels = ends
        .chain([(PeerId::Vm, vm)])
        .map(|(peer, end)| (peer, Arc::new(ShmChannel::open(peer, end))))
        .collect();
    let session = Arc::new(Session { me: plan.me, servers: plan.servers, segment, channels });
    let agent = make_agent(session.clone());
    for channel in session.channels.values() {
        channel.start(agent.clone())?;
    }
    session.channels[&PeerId::Vm].wait_closed();
    Ok(())
}

/// Waits at `address` for VMs, and starts this program again as `--fd N`, with further arguments, for each:
/// several may be served at the same time. Returns only with an error. Only processes of the same
/// user may connect.
pub fn listen(address: &ServerAddress, arguments: &[String]) -> Result<Infallible, RdmaError> {
    let listener = ControlSocket::listen(address.socket_name())?;
    let program = std::env::current_exe()
        .map_err(|source| RdmaError::Os { what: "looking for the own program", source })?;
    let mut sessions: Vec<ServerProcess> = Vec::new();
    loop {
        let socket = listener.accept()?;
        sessions.retain(|session| !session.is_finished());
        if sessions.len() == SESSIONS_MAX {
            let reason = format!("it serves {SESSIONS_MAX} VMs already");
            // The VM may be gone by now.
            let _ = socket.send(&Opening::Refused { reason }.encode(), &[]);
            continue;
        }
        sessions.push(ServerProcess::start(0, &program, arguments.to_vec(), socket.into())?);
    }
}

/// What the VM tells a server at the start.
struct Plan {
    me: u16,
    servers: u16,
    far_bytes: u64,
    vm_rings: Arc<SharedMapping>,
    peers: BTreeMap<u16, Endpoint>,
}

impl Plan {
    /// `None`: the VM went away before it said anything.
    fn receive(socket: &ControlSocket) -> Result<Option<Plan>, RdmaError> {
        let malformed = |what| RdmaError::Malformed { peer: PeerId::Vm, what };
        let mut plan: Option<Plan> = None;
        loop {
            let Some((bytes, fds)) = socket.receive(START_TIMEOUT)? else { return Ok(None) };
            let mut fds = fds.into_iter();
            let mut next_fd = || fds.next().ok_or(malformed("a descriptor is missing"));
            match (Opening::decode(&bytes).map_err(malformed)?, &mut plan) {
                (Opening::Hello { server, servers, far_bytes }, None) => {
                    if server >= servers || far_bytes == 0 || far_bytes % 4096 != 0 {
                        return Err(malformed("impossible numbers"));
                    }
                    let vm_rings = SharedMapping::open(next_fd()?, Endpoint::SHARED_BYTES)?;
                    let (me, vm_rings, peers) = (server, Arc::new(vm_rings), BTreeMap::new());
                    plan = Some(Plan { me, servers, far_bytes, vm_rings, peers });
                }
                (Opening::Peer { peer, side }, Some(plan)) => {
                    let new = peer < plan.servers && !plan.peers.contains_key(&peer);
                    if !new || peer == plan.me {
                        return Err(malformed("impossible peer"));
                    }
                    let socket = ControlSocket::from(next_fd()?);
                    let rings = SharedMapping::open(next_fd()?, Endpoint::SHARED_BYTES)?;
                    plan.peers.insert(peer, Endpoint { socket, rings: Arc::new(rings), side });
                }
                (Opening::Start, Some(complete))
                    if complete.peers.len() + 1 == usize::from(complete.servers) =>
                {
                    return Ok(plan);
                }
                _ => return Err(malformed("message out of order")),
            }
        }
    }
}

/// VMs that one listening server serves at the same time.
const SESSIONS_MAX: usize = 64;

/// How long either side waits for the other's next message at the start.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(10);
