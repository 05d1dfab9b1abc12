//! The VM's side: starting memory servers and connecting to them, over shared memory or over TCP; and starting
//! another one in the place of one that was lost, where there are two copies of everything (`seat.rs`).

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::fleet::mirrored::Mirrored;
use crate::fleet::placement::{Location, Placement};
use crate::fleet::seat::{SeatState, Seats};
use crate::fleet::upgrade;
use crate::memory::mapping::SharedMapping;
use crate::process::{ServerProcess, find_program, held_bytes};
use crate::shm::channel::{Endpoint, ShmChannel};
use crate::sim::throttle::ThrottledChannel;
use crate::sim::{Disturbance, SimOptions};
use crate::tcp;
use crate::tcp::client::TcpClient;
use crate::tcp::upgrade::OpenUpgrade;
use crate::wire::control_socket::ControlSocket;
use crate::wire::conversation::lock;
use crate::wire::frame_channel::Connection;
use crate::wire::opening::{Nonce, Opening, START_TIMEOUT, Side};
use crate::wire::token::random;
use crate::{
    Channel, PeerId, RdmaError, Segment, ServerAddress, Service, ShmSegment, SlowWire, Throttled,
    Token, Transport,
};
use base::die;
#[cfg(not(loom))]
use {
    crate::PoolSegment, crate::fleet::gated::GatedChannel, crate::memory::mapping::Piece,
    crate::memory::split_segment::SplitSegment,
};

/// Which memory servers to use.
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// How many servers to start, at least 1, unless running ones are named.
    pub servers: u16,
    /// Copies of each page, on as many servers: 1, or 2 with at least 2 servers (`--replicas`).
    pub replicas: u16,
    /// The transport to servers that are started by this process (`--transport`).
    pub transport: Transport,
    /// Running servers to use instead of starting some (`--memory-server`): all of this machine, or all
    /// over TCP.
    pub connect: Vec<ServerAddress>,
    /// With two copies of each page in running servers: more of these, that take the places of lost ones
    /// (`--spare-memory-server`).
    pub spares: Vec<ServerAddress>,
    /// The token that running servers require (`--token-file`). Needed unless all are on this machine.
    pub token: Token,
    /// TCP: data connections to each server, 1 to 64. This many threads can move pages at the same time.
    pub lines: u16,
    /// TCP: whether pages travel with checksums (`--page-checksums`).
    pub checksums: bool,
    /// Length of the far space, a multiple of the page size.
    pub far_bytes: u64,
    /// The `memory-server` program. `None`: `FARHEAP_MEMORY_SERVER`, else beside this executable,
    /// else beside the shared library that this code is part of (`libjvm.so`).
    pub program: Option<PathBuf>,
    /// Injected delay of every one-sided operation and of every call (`--far-latency`).
    pub latency: Duration,
    /// Injected limit in bytes per second (`--far-bandwidth`); 0 = none.
    pub bandwidth: u64,
    /// Injected accidents of a network (`-XX:FarDisturbance`), between this process and each server.
    pub disturbance: Option<SimOptions>,
    /// The far space, or its beginning, in a pool, which was opened to be shared: the servers map it, and have memory
    /// of their own only for the rest. They are started by this process, over shared memory, and have no copies.
    #[cfg(not(loom))]
    pub pool: Option<Arc<PoolSegment>>,
}

impl Default for FleetOptions {
    fn default() -> FleetOptions {
        FleetOptions {
            servers: 1,
            replicas: 1,
            transport: Transport::Shm,
            connect: Vec::new(),
            spares: Vec::new(),
            token: Token::none(),
            lines: tcp::LINES,
            checksums: false,
            far_bytes: 0,
            program: None,
            latency: Duration::ZERO,
            bandwidth: 0,
            disturbance: None,
            #[cfg(not(loom))]
            pool: None,
        }
    }
}

/// The running memory servers of one VM. Dropping it stops and reaps them; when the VM ends in any
/// other way they end by themselves. Segments in shared memory stay readable and writable as long as
/// a reference to them exists; over TCP they fail as after the loss of the server.
pub struct Fleet {
    options: FleetOptions,
    service: Arc<dyn Service>,
    /// The key by which the servers recognize each other, over TCP.
    mesh_key: Nonce,
    members: Mutex<Vec<Arc<Member>>>,
    /// With two copies of each page.
    seats: Option<Arc<Seats>>,
}

struct Member {
    connection: Arc<dyn Connection>,
    channel: Arc<dyn Channel>,
    segment: Arc<dyn Segment>,
    /// The same memory, where it is mapped.
    mapped: Option<Arc<ShmSegment>>,
    /// `None`: it was running before.
    process: Option<ServerProcess>,
    location: Location,
    /// Which process of its seat.
    incarnation: u32,
}

/// One that is to be a server of the fleet.
struct Newcomer {
    server: u16,
    location: Location,
    /// The bytes that the fleet will keep at this location, in all its sessions there, if it is spread evenly.
    share_bytes: u64,
    incarnation: u32,
}

/// One process in the place of one server. Keeps failing after that process was lost.
#[derive(Clone)]
pub struct Link {
    /// Counted from 0, by server.
    pub incarnation: u32,
    pub channel: Arc<dyn Channel>,
    /// The memory of this process alone.
    pub segment: Arc<dyn Segment>,
}

impl Fleet {
    /// Starts the servers, connects to each and connects them with one another. `service` receives
    /// the messages of agents; its `on_peer_lost` is called within a second after a server died, unless
    /// there is another copy of its pages. With two copies a loss during the start is survived too: there is
    /// no data yet that could be lost, so all begin again.
    pub fn start(options: FleetOptions, service: Arc<dyn Service>) -> Result<Fleet, RdmaError> {
        for _ in 1..START_ATTEMPTS {
            if options.replicas < 2 {
                break;
            }
            if let Ok(fleet) = Fleet::start_once(options.clone(), service.clone()) {
                return Ok(fleet);
            }
        }
        Fleet::start_once(options, service)
    }

    fn start_once(options: FleetOptions, service: Arc<dyn Service>) -> Result<Fleet, RdmaError> {
        assert!(options.far_bytes > 0, "a fleet needs memory");
        if options.connect.is_empty() {
            assert!(options.servers > 0, "a fleet needs servers");
        }
        let seats = match (options.replicas, options.count()) {
            (1, _) => None,
            (2, servers @ 2..) => Some(Arc::new(Seats::new(servers.into()))),
            (replicas, servers) => {
                let reason = format!(
                    "{replicas} copies of each page do not fit on {servers} memory server(s)"
                );
                return Err(RdmaError::Start { server: 0, reason });
            }
        };
        options.check_spares()?;
        options.check_pool();
        let mesh_key = random()?;
        let members = Mutex::default();
        let fleet = Fleet { options, service, mesh_key, members, seats };
        let members = match fleet.transport()? {
            Transport::Shm => start_shm(&fleet)?,
            Transport::Tcp => start_tcp(&fleet, None)?,
            Transport::Verbs => start_verbs(&fleet)?,
        };
        if let Some(seats) = &fleet.seats {
            for (server, member) in members.iter().enumerate() {
                seats.fill(server, 0, member.segment.clone(), SeatState::Whole);
                // Lost before any loss could be reported.
                if !member.channel.is_alive() {
                    let lost = RdmaError::PeerLost(PeerId::Server(server as u16));
                    return Err(start_error(server as u16, lost));
                }
            }
        }
        *lock(&fleet.members) = members.into_iter().map(Arc::new).collect();
        Ok(fleet)
    }

    /// How many servers.
    pub fn servers(&self) -> u16 {
        self.options.count()
    }

    /// The process that serves as `server` now.
    pub fn link(&self, server: u16) -> Link {
        let member = self.member(server);
        let (channel, segment) = (member.channel.clone(), member.segment.clone());
        Link { incarnation: member.incarnation, channel, segment }
    }

    /// Calls and notices to one server.
    pub fn channel(&self, server: u16) -> Arc<dyn Channel> {
        self.member(server).channel.clone()
    }

    /// One-sided access to one server's memory, with the injected latency and bandwidth.
    pub fn segment(&self, server: u16) -> Arc<dyn Segment> {
        self.member(server).segment.clone()
    }

    /// The memory that each server owns: the stores of a `swap::Pager`. With two copies they survive the loss of
    /// a server.
    pub fn segments(&self) -> Vec<Arc<dyn Segment>> {
        let store = |server| -> Arc<dyn Segment> {
            match &self.seats {
                None => self.segment(server),
                Some(seats) => {
                    let (seats, bytes) = (seats.clone(), self.options.far_bytes);
                    Arc::new(Mirrored::new(seats, server.into(), bytes))
                }
            }
        };
        (0..self.servers()).map(store).collect()
    }

    /// The process id of one server; `None` when it was running before.
    pub fn pid(&self, server: u16) -> Option<u32> {
        self.member(server).process.as_ref().map(ServerProcess::pid)
    }

    /// Bytes of memory that one server holds, if it is on this machine and shares memory, or was started by this
    /// process.
    pub fn held_bytes(&self, server: u16) -> Option<u64> {
        let member = self.member(server);
        let mapped = member.mapped.as_ref().map(|segment| segment.held_bytes());
        mapped.or_else(|| member.process.as_ref().map(|process| held_bytes(process.pid())))
    }

    /// With two copies of each page: the state of each server's seat.
    pub fn seats(&self) -> Option<&Arc<Seats>> {
        self.seats.as_ref()
    }

    /// Puts another server in the place of a lost one: a new process where servers are started; else the server
    /// at the address of the lost one, or a spare server, or a second session of another server that has room and
    /// no other copy of the seat's pages. It has nothing yet ([`SeatState::Filling`]), and knows no other server.
    /// Returns its number. Blocks for as long as starts and connections take. One thread at a time; only with two
    /// copies.
    ///
    /// # Errors
    /// No server takes it; the text says why, for each place.
    pub fn replace(&self, server: u16) -> Result<u32, RdmaError> {
        let seats = self.seats.as_ref().expect("there are two copies");
        let incarnation = seats.next_incarnation(server.into())?;
        let now = self.locations();
        let first = self.options.locations();
        let placement = Placement { first: &first, spares: &self.options.spares, now: &now };
        let candidates = placement.candidates(server.into());
        let mut reasons = Vec::new();
        for location in candidates {
            let share_bytes = self.options.share_bytes(placement.sessions_at(&location) + 1);
            let newcomer = Newcomer { server, location, share_bytes, incarnation };
            match self.admit(newcomer) {
                Ok(member) => {
                    self.sit_down(server, member);
                    return Ok(incarnation);
                }
                Err(RdmaError::Start { reason, .. }) => reasons.push(reason),
                Err(other) => reasons.push(other.to_string()),
            }
        }
        if reasons.is_empty() {
            reasons.push("every other server has a copy of its pages".into());
        }
        Err(RdmaError::Start { server, reason: reasons.join("; ") })
    }

    /// Starts or connects to a server that gets to know no others.
    fn admit(&self, newcomer: Newcomer) -> Result<Member, RdmaError> {
        let transport = self.transport()?;
        match transport {
            Transport::Shm => Starting::begin(newcomer, 0, &self.options)?.finish(self),
            Transport::Tcp | Transport::Verbs => {
                let server = newcomer.server;
                let upgrade =
                    (transport == Transport::Verbs).then_some(upgrade::open as OpenUpgrade);
                let starting = begin_tcp(newcomer, self, upgrade)?;
                let introduced = starting.introduce(&self.options, &[]);
                introduced.map_err(|error| start_error(server, error))?;
                starting.finish(self).map_err(|error| start_error(server, error))
            }
        }
    }

    /// A new server takes an empty seat.
    fn sit_down(&self, server: u16, member: Member) {
        let seats = self.seats.as_ref().expect("there are two copies");
        let (segment, channel) = (member.segment.clone(), member.channel.clone());
        let incarnation = member.incarnation;
        let mut new = Arc::new(member);
        std::mem::swap(&mut new, &mut lock(&self.members)[usize::from(server)]);
        // Ends a process that only counted as lost.
        let old = new;
        old.connection.close();
        let memory = old.segment.clone();
        drop(old);
        memory.abandon();
        seats.fill(server.into(), incarnation, segment, SeatState::Filling);
        if !channel.is_alive() {
            seats.lose(server.into(), incarnation);
        }
    }

    /// Ends all servers that were started, and waits until no thread of them can run, for 2 s each at most: for the end
    /// of this process. They can be used no more, and no thread is told so.
    pub fn end(&self) {
        let members = lock(&self.members).clone();
        // Closed first, so that no thread takes the end of the processes for a failure.
        for member in &members {
            member.mapped.iter().for_each(|segment| segment.close());
            member.connection.close();
        }
        for process in members.iter().filter_map(|member| member.process.as_ref()) {
            process.end(END_PATIENCE);
        }
    }

    /// By server: where it is; `None` where the seat is empty. Only with two copies.
    fn locations(&self) -> Vec<Option<Location>> {
        let seats = self.seats.as_ref().expect("there are two copies");
        let location_of = |server| {
            let is_empty = seats.look(usize::from(server)).state() == SeatState::Empty;
            (!is_empty).then(|| self.member(server).location.clone())
        };
        (0..self.servers()).map(location_of).collect()
    }

    /// From now on the process counts as lost. Only with two copies.
    pub fn give_up(&self, server: u16, incarnation: u32) {
        let seats = self.seats.as_ref().expect("there are two copies");
        if seats.lose(server.into(), incarnation) {
            seats.die_if_lost(server.into());
        }
    }

    /// Waits until no server is missing or being filled, for at most `timeout`, and not when it `is_in_vain`; says
    /// whether that is so. At once without a second copy.
    pub fn await_whole(&self, timeout: Duration, is_in_vain: impl Fn() -> bool) -> bool {
        let Some(seats) = &self.seats else { return true };
        let deadline = Instant::now() + timeout;
        while !seats.are_whole() {
            if Instant::now() > deadline || is_in_vain() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    fn member(&self, server: u16) -> Arc<Member> {
        lock(&self.members)[usize::from(server)].clone()
    }

    fn transport(&self) -> Result<Transport, RdmaError> {
        let connect = &self.options.connect;
        let Some(first) = connect.first().map(transport_to) else {
            return Ok(self.options.transport);
        };
        let mut all = connect.iter().chain(&self.options.spares);
        if all.all(|address| transport_to(address) == first) {
            return Ok(first);
        }
        let reason =
            "the addresses unix:NAME, verbs:HOST:PORT and HOST:PORT cannot be mixed".into();
        Err(RdmaError::Start { server: 0, reason })
    }

    /// The memory of a server, whose beginning may lie in a pool.
    fn with_pool(&self, server: Arc<ShmSegment>) -> Arc<dyn Segment> {
        #[cfg(not(loom))]
        if let Some(pool) = &self.options.pool {
            return Arc::new(SplitSegment::new(pool.clone(), server));
        }
        server
    }

    /// Memory and messages of one process behind the injected network, and the service that receives its messages.
    fn by_injected_network(
        &self,
        server: u16,
        mut segment: Arc<dyn Segment>,
        mut channel: Arc<dyn Channel>,
        incarnation: u32,
    ) -> (Arc<dyn Segment>, Arc<dyn Channel>, Arc<dyn Service>) {
        let FleetOptions { latency, bandwidth, disturbance, .. } = self.options;
        let mut service = self.service(incarnation);
        #[cfg(not(loom))]
        if let Some(pool) = &self.options.pool {
            channel = Arc::new(GatedChannel::new(channel, pool.clone()));
        }
        if !latency.is_zero() || bandwidth > 0 {
            let wire = SlowWire::new(latency, bandwidth);
            channel = Arc::new(ThrottledChannel::new(channel, wire.clone()));
            segment = Arc::new(Throttled::new(segment, wire));
        }
        if let Some(options) = disturbance {
            let way = Disturbance::new(PeerId::Server(server), options);
            segment = way.segment(segment);
            channel = way.channel(channel);
            service = way.service(service);
        }
        (segment, channel, service)
    }

    /// The service that receives the messages of one process.
    fn service(&self, incarnation: u32) -> Arc<dyn Service> {
        match &self.seats {
            None => self.service.clone(),
            Some(seats) => {
                let (seats, service) = (seats.clone(), self.service.clone());
                Arc::new(Watch { seats, incarnation, service })
            }
        }
    }
}

impl Drop for Fleet {
    /// Before the memory of a pool is freed, of which this may have the last reference.
    fn drop(&mut self) {
        self.end();
    }
}

impl FleetOptions {
    /// How many servers.
    fn count(&self) -> u16 {
        match self.connect.len() {
            0 => self.servers,
            connected => connected as u16,
        }
    }

    /// Where each server is at first.
    fn locations(&self) -> Vec<Location> {
        match self.connect.is_empty() {
            true => vec![Location::Started; self.servers.into()],
            false => self.connect.iter().cloned().map(Location::At).collect(),
        }
    }

    /// The bytes that are kept at a place with `sessions` sessions.
    fn share_bytes(&self, sessions: u64) -> u64 {
        let share = self.far_bytes.div_ceil(u64::from(self.count()));
        share.saturating_mul(u64::from(self.replicas)).saturating_mul(sessions)
    }

    /// The servers as the fleet begins.
    fn newcomers(&self) -> impl Iterator<Item = Newcomer> {
        let locations = self.locations();
        let newcomer = |(server, location): (u16, &Location)| {
            let same = locations
                .iter()
                .filter(|other| *location != Location::Started && *other == location);
            let share_bytes = self.share_bytes(same.count().max(1) as u64);
            Newcomer { server, location: location.clone(), share_bytes, incarnation: 0 }
        };
        (0..).zip(&locations).map(newcomer).collect::<Vec<_>>().into_iter()
    }

    /// What a pool goes with.
    fn check_pool(&self) {
        #[cfg(not(loom))]
        if let Some(pool) = &self.pool {
            let is_local = self.connect.is_empty() && self.transport == Transport::Shm;
            assert!(is_local && self.replicas == 1, "only servers of this process share a pool");
            assert!(pool.bytes() <= self.far_bytes, "the pool is longer than the far space");
        }
    }

    /// Spare servers are useful only where lost servers are replaced.
    fn check_spares(&self) -> Result<(), RdmaError> {
        let reason = match self.spares.is_empty() {
            true => return Ok(()),
            false if self.connect.is_empty() => {
                "a spare memory server requires running ones (--memory-server): the VM restarts those that it started"
            }
            false if self.replicas < 2 => {
                "a spare memory server requires two copies of each page (--replicas 2)"
            }
            false => return Ok(()),
        };
        Err(RdmaError::Start { server: 0, reason: reason.into() })
    }
}

fn transport_to(address: &ServerAddress) -> Transport {
    match address {
        ServerAddress::Unix { .. } => Transport::Shm,
        ServerAddress::Tcp { .. } => Transport::Tcp,
        ServerAddress::Verbs { .. } => Transport::Verbs,
    }
}

/// The service of one process that can be replaced: its loss empties the seat.
struct Watch {
    seats: Arc<Seats>,
    incarnation: u32,
    service: Arc<dyn Service>,
}

impl Service for Watch {
    fn on_request(&self, from: PeerId, request: &[u8]) -> Vec<u8> {
        self.service.on_request(from, request)
    }

    fn on_notice(&self, from: PeerId, notice: &[u8]) {
        self.service.on_notice(from, notice);
    }

    fn on_peer_lost(&self, from: PeerId, cause: &RdmaError) {
        let PeerId::Server(server) = from else { die(format_args!("{cause}")) };
        if self.seats.lose(server.into(), self.incarnation) {
            self.seats.die_if_lost(server.into());
        }
    }
}

/// With two copies.
const START_ATTEMPTS: usize = 3;

/// A process that was killed ends at once, unless it waits for a device.
const END_PATIENCE: Duration = Duration::from_secs(2);

fn start_shm(fleet: &Fleet) -> Result<Vec<Member>, RdmaError> {
    let options = &fleet.options;
    let peers = options.count() - 1;
    let starting = options.newcomers().map(|newcomer| Starting::begin(newcomer, peers, options));
    let starting: Vec<_> = starting.collect::<Result<_, _>>()?;
    #[cfg(not(loom))]
    lend_pool(options, &starting)?;
    for first in 0..starting.len() {
        for second in first + 1..starting.len() {
            let (a, b) = Endpoint::pair()?;
            starting[first].introduce(second as u16, a)?;
            starting[second].introduce(first as u16, b)?;
        }
    }
    starting.into_iter().map(|one| one.finish(fleet)).collect()
}

/// Gives the servers the pieces of the pool. Its descriptor is theirs alone from then on.
#[cfg(not(loom))]
fn lend_pool(options: &FleetOptions, starting: &[Starting]) -> Result<(), RdmaError> {
    let Some(pool) = &options.pool else { return Ok(()) };
    let share = pool.share().expect("the pool was opened to be shared, with one fleet");
    for one in starting {
        let mut fd = Some(share.fd.as_fd());
        for Piece { offset, place, bytes } in share.pieces.iter().copied() {
            one.send(&Opening::Piece { offset, place, bytes }, fd.take().as_slice())?;
        }
    }
    Ok(())
}

fn start_verbs(fleet: &Fleet) -> Result<Vec<Member>, RdmaError> {
    // Missing prerequisites are reported before anything is started.
    upgrade::available()?;
    start_tcp(fleet, Some(upgrade::open))
}

fn start_tcp(fleet: &Fleet, upgrade: Option<OpenUpgrade>) -> Result<Vec<Member>, RdmaError> {
    let options = &fleet.options;
    let starting = options.newcomers().map(|newcomer| begin_tcp(newcomer, fleet, upgrade));
    let starting: Vec<StartingTcp> = starting.collect::<Result<_, _>>()?;
    let all: Vec<(u16, &TcpClient)> = (0..).zip(starting.iter().map(|one| &one.member)).collect();
    for (server, one) in (0..).zip(&starting) {
        one.introduce(options, &all).map_err(|error| start_error(server, error))?;
    }
    let members = (0..).zip(starting).map(|(server, one)| {
        let made = one.finish(fleet);
        made.map_err(|error| start_error(server, error))
    });
    members.collect()
}

/// A server behind a connection that has not yet answered.
struct StartingTcp {
    newcomer: Newcomer,
    member: TcpClient,
    process: Option<ServerProcess>,
}

/// Starts a server that listens, or connects to one that does.
fn begin_tcp(
    newcomer: Newcomer,
    fleet: &Fleet,
    upgrade: Option<OpenUpgrade>,
) -> Result<StartingTcp, RdmaError> {
    let (options, mesh_key, server) = (&fleet.options, &fleet.mesh_key, newcomer.server);
    let Location::At(address) = &newcomer.location else {
        let program = options.program.clone().map_or_else(find_program, Ok)?;
        let spawned = TcpClient::spawn(server, &program, mesh_key, upgrade);
        let (member, process) = spawned.map_err(|error| start_error(server, error))?;
        return Ok(StartingTcp { newcomer, member, process: Some(process) });
    };
    let (ServerAddress::Tcp { host, port } | ServerAddress::Verbs { host, port }) = address else {
        unreachable!("none is unix:")
    };
    let member = TcpClient::connect(host, *port, &options.token, mesh_key, upgrade);
    let member = member
        .map_err(|error| start_error(server, RdmaError::Refused(format!("{address}: {error}"))))?;
    Ok(StartingTcp { newcomer, member, process: None })
}

impl StartingTcp {
    /// Sends it the parameters of the fleet, and the other servers that it is to know.
    fn introduce(
        &self,
        options: &FleetOptions,
        all: &[(u16, &TcpClient)],
    ) -> Result<(), RdmaError> {
        let Newcomer { server, share_bytes, .. } = self.newcomer;
        self.member.introduce(server, options.far_bytes, share_bytes, options.count(), all)
    }

    fn finish(self, fleet: &Fleet) -> Result<Member, RdmaError> {
        let StartingTcp { newcomer, member, process } = self;
        let Newcomer { server, location, incarnation, .. } = newcomer;
        let connection =
            member.await_welcome(server).map_err(|error| match (&location, error) {
                (Location::At(address), RdmaError::Refused(reason)) => {
                    RdmaError::Refused(format!("{address}: {reason}"))
                }
                (_, other) => other,
            })?;
        let FleetOptions { far_bytes, lines, checksums, .. } = fleet.options;
        let segment =
            member.open_segment(server, far_bytes, lines, checksums, connection.alive())?;
        let (segment, channel, service) =
            fleet.by_injected_network(server, Arc::new(segment), connection.clone(), incarnation);
        connection.start(service)?;
        Ok(Member { connection, channel, segment, mapped: None, process, location, incarnation })
    }
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
    newcomer: Newcomer,
    socket: ControlSocket,
    rings: Arc<SharedMapping>,
    process: Option<ServerProcess>,
}

impl Starting {
    /// Starts a server, or connects to one.
    fn begin(
        newcomer: Newcomer,
        peers: u16,
        options: &FleetOptions,
    ) -> Result<Starting, RdmaError> {
        let Newcomer { server, share_bytes, .. } = newcomer;
        let (socket, process) = match &newcomer.location {
            Location::At(address) => (Starting::connect(server, address)?, None),
            Location::Started => {
                let program = options.program.clone().map_or_else(find_program, Ok)?;
                let (socket, process) = Starting::spawn(server, &program)?;
                (socket, Some(process))
            }
        };
        let rings = Endpoint::new_rings()?;
        let starting = Starting { newcomer, socket, rings, process };
        let (servers, far_bytes) = (options.count(), options.far_bytes);
        let hello = Opening::Hello { server, servers, far_bytes, share_bytes, peers };
        starting.send(&hello, &[starting.rings.as_fd()])?;
        Ok(starting)
    }

    fn spawn(server: u16, program: &Path) -> Result<(ControlSocket, ServerProcess), RdmaError> {
        let (socket, theirs) = ControlSocket::pair()?;
        let process = ServerProcess::start(server, program, Vec::new(), theirs.into())?;
        Ok((socket, process))
    }

    fn connect(server: u16, address: &ServerAddress) -> Result<ControlSocket, RdmaError> {
        let ServerAddress::Unix { name } = address else { unreachable!("all are unix:") };
        ControlSocket::connect(name).map_err(|error| RdmaError::Start {
            server,
            reason: format!("no server listens at {address}: {error}"),
        })
    }

    fn introduce(&self, peer: u16, end: Endpoint) -> Result<(), RdmaError> {
        let fds = [end.socket.as_fd(), end.rings.as_fd()];
        self.send(&Opening::Peer { peer, side: end.side }, &fds)
    }

    fn finish(self, fleet: &Fleet) -> Result<Member, RdmaError> {
        self.send(&Opening::Start, &[])?;
        let answer = self.socket.receive(START_TIMEOUT)?;
        let (bytes, fds) = answer.ok_or_else(|| self.failed("it ended before it answered"))?;
        match Opening::decode(&bytes) {
            Ok(Opening::Welcome) => {}
            Ok(Opening::Refused { reason }) => return Err(self.failed(reason)),
            Ok(_) => return Err(self.failed("it sent the wrong message")),
            Err(what) => return Err(self.failed(what)),
        }
        let Ok([memory, grants]) = <[OwnedFd; 2]>::try_from(fds) else {
            return Err(self.failed("it sent no memory"));
        };

        let Newcomer { server, location, incarnation, .. } = self.newcomer;
        let peer = PeerId::Server(server);
        let end = Endpoint { socket: self.socket, rings: self.rings, side: Side::First };
        let connection: Arc<dyn Connection> = Arc::new(ShmChannel::open(peer, end));
        let far_bytes = fleet.options.far_bytes;
        let segment = ShmSegment::open(peer, memory, grants, far_bytes, connection.alive())?;
        let segment = Arc::new(segment);
        let mapped = Some(segment.clone());
        let segment = fleet.with_pool(segment);
        let (segment, channel, service) =
            fleet.by_injected_network(server, segment, connection.clone(), incarnation);
        connection.start(service)?;
        let process = self.process;
        Ok(Member { connection, channel, segment, mapped, process, location, incarnation })
    }

    fn send(&self, message: &Opening, fds: &[BorrowedFd<'_>]) -> Result<(), RdmaError> {
        self.socket.send(&message.encode(), fds).map_err(|error| self.failed(error.to_string()))
    }

    fn failed(&self, reason: impl fmt::Display) -> RdmaError {
        let Newcomer { server, location, .. } = &self.newcomer;
        let reason = match location {
            Location::Started => reason.to_string(),
            Location::At(address) => format!("{address}: {reason}"),
        };
        RdmaError::Start { server: *server, reason }
    }
}
