//! The VM's side: starting memory servers and connecting to them, over shared memory or over TCP.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::conversation::{Connection, Transmit};
use crate::mapping::SharedMapping;
use crate::opening::{Nonce, Opening};
use crate::process::{ServerProcess, find_program};
use crate::server::START_TIMEOUT;
use crate::shm_channel::{Endpoint, ShmChannel, Side};
use crate::socket::ControlSocket;
use crate::tcp;
use crate::tcp::channel::TcpChannel;
use crate::tcp::member::TcpMember;
use crate::token::random;
use crate::{
    Channel, PeerId, RdmaError, Segment, ServerAddress, Service, ShmSegment, Throttled, Token,
    Transport,
};

/// Which memory servers to use.
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// How many servers to start, at least 1, unless running ones are named.
    pub servers: u16,
    /// How to talk to servers that are started here (`--transport`).
    pub transport: Transport,
    /// Running servers to use instead of starting some (`--memory-server`): all of this machine, or all
    /// over TCP.
    pub connect: Vec<ServerAddress>,
    /// What running servers want to see (`--token-file`). Needed unless all are on this machine.
    pub token: Token,
    /// TCP: data connections to each server, 1 to 64. So many threads can move pages at the same time.
    pub lines: u16,
    /// TCP: whether pages travel with checksums (`--page-checksums`).
    pub checksums: bool,
    /// Length of the far space, a multiple of the page size.
    pub far_bytes: u64,
    /// The `memory-server` program. `None`: `FARHEAP_MEMORY_SERVER`, else beside this executable,
    /// else beside the shared library that this code is part of (`libjvm.so`).
    pub program: Option<PathBuf>,
    /// Injected delay of every one-sided operation (`--far-latency`).
    pub latency: Duration,
    /// Injected limit in bytes per second (`--far-bandwidth`); 0 = none.
    pub bandwidth: u64,
}

impl Default for FleetOptions {
    fn default() -> FleetOptions {
        FleetOptions {
            servers: 1,
            transport: Transport::Shm,
            connect: Vec::new(),
            token: Token::none(),
            lines: tcp::LINES,
            checksums: false,
            far_bytes: 0,
            program: None,
            latency: Duration::ZERO,
            bandwidth: 0,
        }
    }
}

/// The running memory servers of one VM. Dropping it stops and reaps them; when the VM ends in any
/// other way they end by themselves. Segments in shared memory stay readable and writable as long as
/// somebody holds them; over TCP they fail as after the loss of the server.
pub struct Fleet {
    members: Vec<Member>,
}

struct Member {
    connection: Arc<dyn Connection>,
    channel: Arc<dyn Channel>,
    segment: Arc<dyn Segment>,
    /// `None`: it was running before.
    process: Option<ServerProcess>,
}

impl Fleet {
    /// Starts the servers, connects to each and connects them with one another. `service` receives
    /// what agents send; its `on_peer_lost` is called within a second after a server died.
    pub fn start(options: FleetOptions, service: Arc<dyn Service>) -> Result<Fleet, RdmaError> {
        assert!(options.far_bytes > 0, "a fleet needs memory");
        if options.connect.is_empty() {
            assert!(options.servers > 0, "a fleet needs servers");
        }
        let is_unix = |address: &ServerAddress| matches!(address, ServerAddress::Unix { .. });
        let unix = options.connect.iter().filter(|address| is_unix(address)).count();
        let members = match (unix, options.connect.len(), options.transport) {
            (0, 0, Transport::Shm) => start_shm(&options, &service)?,
            (0, _, _) => start_tcp(&options, &service)?,
            (unix, all, _) if unix == all => start_shm(&options, &service)?,
            _ => {
                let reason = "unix: and HOST:PORT cannot be mixed".into();
                return Err(RdmaError::Start { server: 0, reason });
            }
        };
        Ok(Fleet { members })
    }

    /// How many servers.
    pub fn servers(&self) -> u16 {
        self.members.len() as u16
    }

    /// Calls and notices to one server.
    pub fn channel(&self, server: u16) -> &Arc<dyn Channel> {
        &self.members[usize::from(server)].channel
    }

    /// One-sided access to one server's memory, with the injected latency and bandwidth.
    pub fn segment(&self, server: u16) -> &Arc<dyn Segment> {
        &self.members[usize::from(server)].segment
    }

    /// All segments, by server: what `swap::Pager` wants as its stores.
    pub fn segments(&self) -> Vec<Arc<dyn Segment>> {
        self.members.iter().map(|member| member.segment.clone()).collect()
    }

    /// The process id of one server; `None` when it was running before.
    pub fn pid(&self, server: u16) -> Option<u32> {
        self.members[usize::from(server)].process.as_ref().map(ServerProcess::pid)
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        // Closed first, so that nobody takes the end of the processes for an accident.
        for member in &self.members {
            member.connection.close();
        }
    }
}

fn start_shm(options: &FleetOptions, service: &Arc<dyn Service>) -> Result<Vec<Member>, RdmaError> {
    let mut starting = Vec::new();
    if options.connect.is_empty() {
        let program = options.program.clone().map_or_else(find_program, Ok)?;
        for server in 0..options.servers {
            starting.push(Starting::spawn(server, &program, options)?);
        }
    }
    for (address, server) in options.connect.iter().zip(0..) {
        starting.push(Starting::connect(server, address, options)?);
    }
    for first in 0..starting.len() {
        for second in first + 1..starting.len() {
            let (a, b) = Endpoint::pair()?;
            starting[first].introduce(second as u16, a)?;
            starting[second].introduce(first as u16, b)?;
        }
    }
    starting.into_iter().map(|one| one.finish(options, service)).collect()
}

fn start_tcp(options: &FleetOptions, service: &Arc<dyn Service>) -> Result<Vec<Member>, RdmaError> {
    // What the servers know each other by.
    let mesh_key: Nonce = random()?;
    let mut starting = Vec::new();
    if options.connect.is_empty() {
        let program = options.program.clone().map_or_else(find_program, Ok)?;
        for server in 0..options.servers {
            let (member, process) = TcpMember::spawn(server, &program, &mesh_key)
                .map_err(|error| start_error(server, error))?;
            starting.push((member, Some(process)));
        }
    }
    for (address, server) in options.connect.iter().zip(0..) {
        let ServerAddress::Tcp { host, port } = address else { unreachable!("none is unix:") };
        let member = TcpMember::connect(host, *port, &options.token, &mesh_key);
        let member = member.map_err(|error| {
            start_error(server, RdmaError::Refused(format!("{address}: {error}")))
        })?;
        starting.push((member, None));
    }
    let all: Vec<&TcpMember> = starting.iter().map(|(member, _)| member).collect();
    for (server, member) in (0..).zip(&all) {
        let introduced = member.introduce(server, options.far_bytes, &all);
        introduced.map_err(|error| start_error(server, error))?;
    }
    let members = (0..).zip(starting).map(|(server, (member, process))| {
        let made = finish_tcp(server, &member, process, options, service);
        made.map_err(|error| start_error(server, error))
    });
    members.collect()
}

fn finish_tcp(
    server: u16,
    member: &TcpMember,
    process: Option<ServerProcess>,
    options: &FleetOptions,
    service: &Arc<dyn Service>,
) -> Result<Member, RdmaError> {
    let channel = Arc::new(TcpChannel::open(PeerId::Server(server), member.await_welcome()?));
    let FleetOptions { far_bytes, lines, checksums, .. } = *options;
    let segment = member.open_segment(server, far_bytes, lines, checksums, channel.alive())?;
    let segment = throttled(Arc::new(segment), options);
    channel.start(service.clone())?;
    Ok(Member { connection: channel.clone(), channel, segment, process })
}

fn throttled(segment: Arc<dyn Segment>, options: &FleetOptions) -> Arc<dyn Segment> {
    if options.latency.is_zero() && options.bandwidth == 0 {
        return segment;
    }
    Arc::new(Throttled::new(segment, options.latency, options.bandwidth))
}

/// Says which server it is about.
fn start_error(server: u16, error: RdmaError) -> RdmaError {
    match error {
        RdmaError::Start { .. } => error,
        other => RdmaError::Start { server, reason: other.to_string() },
    }
}

/// A server that shares memory with us, and has not yet answered.
struct Starting {
    server: u16,
    socket: ControlSocket,
    rings: Arc<SharedMapping>,
    process: Option<ServerProcess>,
}

impl Starting {
    fn spawn(server: u16, program: &Path, options: &FleetOptions) -> Result<Starting, RdmaError> {
        let (socket, theirs) = ControlSocket::pair()?;
        let process = ServerProcess::start(server, program, Vec::new(), theirs.into())?;
        Starting::greet(server, socket, Some(process), options)
    }

    fn connect(
        server: u16,
        address: &ServerAddress,
        options: &FleetOptions,
    ) -> Result<Starting, RdmaError> {
        let ServerAddress::Unix { name } = address else { unreachable!("all are unix:") };
        let socket = ControlSocket::connect(name).map_err(|error| RdmaError::Start {
            server,
            reason: format!("nobody at {address}: {error}"),
        })?;
        Starting::greet(server, socket, None, options)
    }

    fn greet(
        server: u16,
        socket: ControlSocket,
        process: Option<ServerProcess>,
        options: &FleetOptions,
    ) -> Result<Starting, RdmaError> {
        let rings = Arc::new(SharedMapping::create(c"farheap-rings", Endpoint::SHARED_BYTES)?);
        let starting = Starting { server, socket, rings, process };
        let servers = match options.connect.len() {
            0 => options.servers,
            connected => connected as u16,
        };
        let far_bytes = options.far_bytes;
        let hello = Opening::Hello { server, servers, far_bytes };
        starting.send(&hello, &[starting.rings.as_fd()])?;
        Ok(starting)
    }

    fn introduce(&self, peer: u16, end: Endpoint) -> Result<(), RdmaError> {
        let fds = [end.socket.as_fd(), end.rings.as_fd()];
        self.send(&Opening::Peer { peer, side: end.side }, &fds)
    }

    fn finish(
        self,
        options: &FleetOptions,
        service: &Arc<dyn Service>,
    ) -> Result<Member, RdmaError> {
        self.send(&Opening::Start, &[])?;
        let answer = self.socket.receive(START_TIMEOUT)?;
        let (bytes, mut fds) = answer.ok_or_else(|| self.failed("it ended at once"))?;
        match Opening::decode(&bytes) {
            Ok(Opening::Welcome) => {}
            Ok(Opening::Refused { reason }) => return Err(self.failed(reason)),
            Ok(_) => return Err(self.failed("it sent the wrong message")),
            Err(what) => return Err(self.failed(what)),
        }
        let memory = fds.pop().ok_or_else(|| self.failed("it sent no memory"))?;

        let peer = PeerId::Server(self.server);
        let end = Endpoint { socket: self.socket, rings: self.rings, side: Side::First };
        let channel = Arc::new(ShmChannel::open(peer, end));
        let segment = ShmSegment::open(peer, memory, options.far_bytes, channel.alive())?;
        let segment = throttled(Arc::new(segment), options);
        channel.start(service.clone())?;
        Ok(Member { connection: channel.clone(), channel, segment, process: self.process })
    }

    fn send(&self, message: &Opening, fds: &[BorrowedFd<'_>]) -> Result<(), RdmaError> {
        self.socket.send(&message.encode(), fds).map_err(|error| self.failed(error.to_string()))
    }

    fn failed(&self, reason: impl Into<String>) -> RdmaError {
        RdmaError::Start { server: self.server, reason: reason.into() }
    }
}
