//! What a far space lies in: memory servers, or a crash-safe pool of this machine.

use crate::memory::error::HeapError;
use crate::options::HeapOptions;
use rdma::sim::SimOptions;
use rdma::spawn::{Fleet, FleetOptions};
use rdma::{OnlyMemory, Segment, Service};
use std::sync::Arc;
#[cfg(not(loom))]
use {
    rdma::sim::Disturbance,
    rdma::{PeerId, PoolOptions, PoolSegment, SlowWire, Throttled, Transport},
    std::path::Path,
    std::time::Duration,
};

/// How long a far space is, in bytes, whole pages.
#[derive(Clone, Copy)]
pub(super) struct FarBytes {
    pub all: usize,
    /// Of these, from the beginning: what is the same for all agents. The rest are tables of each agent.
    #[cfg_attr(loom, allow(dead_code))]
    pub shared: usize,
}

/// The memory behind a pager. Dropping it ends the servers, and frees the memory in the pool.
pub(super) enum FarMemory {
    Servers(Arc<Fleet>),
    /// Models have none.
    #[cfg(not(loom))]
    Pool {
        segment: Arc<PoolSegment>,
        /// The agents that map it too, if the collector has some.
        agents: Option<Arc<Fleet>>,
    },
}

impl FarMemory {
    /// Starts servers, or opens the pool, for a far space. Blocks.
    pub(super) fn start(
        options: &HeapOptions,
        bytes: FarBytes,
        service: Option<Arc<dyn Service>>,
    ) -> Result<FarMemory, HeapError> {
        #[cfg(not(loom))]
        if let Some(path) = &options.memory_pool {
            return FarMemory::in_pool(path, options, bytes, service);
        }
        if options.memory_pool_bytes.is_some() {
            return Err(HeapError::Options("-XX:MemoryPoolSize requires --memory-pool".into()));
        }
        check_servers(options)?;
        let fleet_options = FleetOptions {
            replicas: options.replicas,
            transport: options.transport,
            connect: options.memory_server_addresses.clone(),
            spares: options.spare_memory_servers.clone(),
            token: options.memory_server_token.clone(),
            checksums: options.page_checksums,
            ..started(options, bytes)
        };
        let service = service.unwrap_or_else(|| Arc::new(OnlyMemory));
        let fleet = Fleet::start(fleet_options, service).map_err(HeapError::MemoryServer)?;
        Ok(FarMemory::Servers(Arc::new(fleet)))
    }

    #[cfg(not(loom))]
    fn in_pool(
        path: &Path,
        options: &HeapOptions,
        bytes: FarBytes,
        service: Option<Arc<dyn Service>>,
    ) -> Result<FarMemory, HeapError> {
        check_pool(options, service.is_some())?;
        let pool_options = PoolOptions {
            path: path.into(),
            pool_bytes: options.memory_pool_bytes.map(|bytes| bytes as u64),
            far_bytes: if service.is_some() { bytes.shared } else { bytes.all } as u64,
            is_shared: service.is_some(),
        };
        let segment = PoolSegment::open(&pool_options).map_err(HeapError::MemoryPool)?;
        let segment = Arc::new(segment);
        let Some(service) = service else { return Ok(FarMemory::Pool { segment, agents: None }) };
        let fleet_options = FleetOptions { pool: Some(segment.clone()), ..started(options, bytes) };
        let fleet = Fleet::start(fleet_options, service).map_err(HeapError::MemoryServer)?;
        Ok(FarMemory::Pool { segment, agents: Some(Arc::new(fleet)) })
    }

    /// The stores of a pager, with the injected network of the options.
    pub(super) fn stores(&self, _options: &HeapOptions) -> Vec<Arc<dyn Segment>> {
        match self {
            FarMemory::Servers(fleet) => fleet.segments(),
            #[cfg(not(loom))]
            FarMemory::Pool { agents: Some(fleet), .. } => fleet.segments(),
            #[cfg(not(loom))]
            FarMemory::Pool { segment, agents: None } => {
                vec![by_injected_network(segment.clone(), _options)]
            }
        }
    }

    /// The memory servers, if it lies in these, or the agents beside a pool.
    pub(super) fn fleet(&self) -> Option<&Arc<Fleet>> {
        match self {
            FarMemory::Servers(fleet) => Some(fleet),
            #[cfg(not(loom))]
            FarMemory::Pool { agents, .. } => agents.as_ref(),
        }
    }

    /// The segment of a pool, if it lies in one.
    #[cfg(not(loom))]
    pub(super) fn pool(&self) -> Option<&Arc<PoolSegment>> {
        match self {
            FarMemory::Servers(_) => None,
            FarMemory::Pool { segment, .. } => Some(segment),
        }
    }

    /// The process is about to end: memory that would outlive it is freed.
    pub(super) fn end(&self) {
        #[cfg(not(loom))]
        if let FarMemory::Pool { segment, agents } = self {
            // If a thread or an agent does not leave it, the next client of the pool frees the memory.
            segment.close(END_PATIENCE, || agents.iter().for_each(|fleet| fleet.end()));
        }
    }
}

/// Servers that this process starts over shared memory, if nothing else is said.
fn started(options: &HeapOptions, bytes: FarBytes) -> FleetOptions {
    FleetOptions {
        servers: options.memory_servers,
        far_bytes: bytes.all as u64,
        program: options.memory_server_program.clone(),
        latency: options.far_latency,
        bandwidth: options.far_bandwidth,
        disturbance: options.far_disturbance.map(disturbance),
        ..FleetOptions::default()
    }
}

/// Whether the options of memory servers go together.
fn check_servers(options: &HeapOptions) -> Result<(), HeapError> {
    if options.memory_servers == 0 {
        return Err(HeapError::Options("at least one memory server is needed".into()));
    }
    if !(1..=2).contains(&options.replicas) || options.replicas > options.memory_servers {
        return Err(HeapError::Options(format!(
            "--replicas {0} requires {0} memory servers, and there are {1}",
            options.replicas, options.memory_servers
        )));
    }
    if options.lost_server_timeout.is_some() && options.replicas < 2 {
        return Err(HeapError::Options(
            "--lost-server-timeout requires two copies of each page (--replicas 2)".into(),
        ));
    }
    Ok(())
}

/// Whether the other options leave a meaning to a pool.
#[cfg(not(loom))]
fn check_pool(options: &HeapOptions, has_agents: bool) -> Result<(), HeapError> {
    let defaults = HeapOptions::default();
    let of_servers = [
        (!options.memory_server_addresses.is_empty(), "--memory-server"),
        (!options.spare_memory_servers.is_empty(), "--spare-memory-server"),
        (options.token_file.is_some(), "--token-file"),
        (options.transport != Transport::Shm, "--transport"),
        (options.replicas != defaults.replicas, "--replicas"),
        (options.lost_server_timeout.is_some(), "--lost-server-timeout"),
        (options.page_checksums, "--page-checksums"),
        (options.page_trace.is_some(), "-XX:PageTrace"),
    ];
    let of_agents = [
        (options.memory_servers != defaults.memory_servers, "--memory-servers"),
        (options.memory_server_program.is_some(), "-XX:MemoryServerProgram"),
    ];
    let refuse = |why: String| Err(HeapError::Options(why));
    if let Some((_, option)) = of_servers.iter().find(|(is_given, _)| *is_given) {
        return refuse(format!("{option} requires memory servers, and --memory-pool has none"));
    }
    if let Some((_, option)) = of_agents.iter().find(|(is_given, _)| *is_given && !has_agents) {
        let collector = options.collector.name();
        return refuse(format!(
            "{option} requires memory servers, or agents beside --memory-pool, and {collector} has none"
        ));
    }
    if options.memory_servers == 0 {
        return refuse("at least one memory server is needed, for the agents".into());
    }
    if options.local_memory.budget_bytes(options.max_bytes).is_none()
        && options.local_memory_pool.is_none()
    {
        return refuse(
            "--memory-pool requires a limit of local memory (--local-memory 25%)".into(),
        );
    }
    Ok(())
}

#[cfg(not(loom))]
fn by_injected_network(segment: Arc<dyn Segment>, options: &HeapOptions) -> Arc<dyn Segment> {
    let mut segment = segment;
    if !options.far_latency.is_zero() || options.far_bandwidth > 0 {
        let wire = SlowWire::new(options.far_latency, options.far_bandwidth);
        segment = Arc::new(Throttled::new(segment, wire));
    }
    if let Some(seed) = options.far_disturbance {
        segment = Disturbance::new(PeerId::Server(0), disturbance(seed)).segment(segment);
    }
    segment
}

/// The accidents that a seed stands for: mostly up to 10 us for each way, one in 20 up to 1 ms, and one packet in 50
/// lost.
fn disturbance(seed: u64) -> SimOptions {
    SimOptions { loss_percent: 2, ..SimOptions::seeded(seed) }
}

/// How long the end of the process waits for threads that are copying pages.
#[cfg(not(loom))]
const END_PATIENCE: Duration = Duration::from_secs(2);
