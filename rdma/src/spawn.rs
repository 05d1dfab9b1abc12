//! The VM's side: starting memory servers and connecting to them.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::mapping::SharedMapping;
use crate::opening::Opening;
use crate::process::{ServerProcess, find_program};
use crate::server::START_TIMEOUT;
use crate::shm_channel::{Endpoint, ShmChannel, Side};
use crate::socket::ControlSocket;
use crate::{Channel, PeerId, RdmaError, Segment, ServerAddress, Service, ShmSegment, Throttled};

/// Which memory servers to use.
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// How many servers to start, at least 1, unless running ones are named.
    pub servers: u16,
    /// Running servers to use instead of starting some (`--memory-server`).
    pub connect: Vec<ServerAddress>,
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
            connect: Vec::new(),
            far_bytes: 0,
            program: None,
            latency: Duration::ZERO,
            bandwidth: 0,
        }
    }
}

/// The running memory servers of one VM. Dropping it stops and reaps them; when the VM ends in any
/// other way they end by themselves. The segments stay readable and writable as long as somebody
/// holds them.
pub struct Fleet {
    members: Vec<Member>,
}

struct Member {
    shm_channel: Arc<ShmChannel>,
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
        let mut starting = Vec::new();
        if options.connect.is_empty() {
            assert!(options.servers > 0, "a fleet needs servers");
            let program = options.program.clone().map_or_else(find_program, Ok)?;
            for server in 0..options.servers {
                starting.push(Starting::spawn(server, &program, &options)?);
            }
        }
        for (address, server) in options.connect.iter().zip(0..) {
            starting.push(Starting::connect(server, address, &options)?);
        }
        for first in 0..starting.len() {
            for second in first + 1..starting.len() {
                let (a, b) = Endpoint::pair()?;
                starting[first].introduce(second as u16, a)?;
                starting[second].introduce(first as u16, b)?;
            }
        }
        let mut fleet = Fleet { members: Vec::new() };
        for one in starting {
            fleet.members.push(one.finish(&options, &service)?);
        }
        Ok(fleet)
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
            member.shm_channel.close();
        }
    }
}

/// A server that was started and has not yet answered.
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
        let socket = ControlSocket::connect(address.socket_name()).map_err(|error| {
            RdmaError::Start { server, reason: format!("nobody at {address}: {error}") }
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
        let mut segment: Arc<dyn Segment> = Arc::new(segment);
        if !options.latency.is_zero() || options.bandwidth > 0 {
            segment = Arc::new(Throttled::new(segment, options.latency, options.bandwidth));
        }
        channel.start(service.clone())?;
        let shm_channel = channel.clone();
        Ok(Member { shm_channel, channel, segment, process: self.process })
    }

    fn send(&self, message: &Opening, fds: &[BorrowedFd<'_>]) -> Result<(), RdmaError> {
        self.socket.send(&message.encode(), fds).map_err(|error| self.failed(error.to_string()))
    }

    fn failed(&self, reason: impl Into<String>) -> RdmaError {
        RdmaError::Start { server: self.server, reason: reason.into() }
    }
}
