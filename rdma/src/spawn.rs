//! The VM's side: starting memory servers and connecting to them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::{Channel, RdmaError, Segment, Service};

/// How to start memory servers on this machine.
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// How many servers, at least 1.
    pub servers: u16,
    /// Length of the far space, a multiple of the page size.
    pub far_bytes: u64,
    /// The `memory-server` program. `None`: `FARHEAP_MEMORY_SERVER`, else beside this executable, else beside
    /// the shared library that this code is part of (`libjvm.so`).
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
            far_bytes: 0,
            program: None,
            latency: Duration::ZERO,
            bandwidth: 0,
        }
    }
}

/// The running memory servers of one VM. Dropping it stops and reaps them.
pub struct Fleet {}

impl Fleet {
    /// Starts the servers, connects to each and connects them with one another. `service` receives what agents
    /// send; its `on_peer_lost` is called within a second after a server died.
    pub fn start(_options: FleetOptions, _service: Arc<dyn Service>) -> Result<Fleet, RdmaError> {
        unimplemented!("Fleet::start")
    }

    /// How many servers.
    pub fn servers(&self) -> u16 {
        unimplemented!("Fleet::servers")
    }

    /// Calls and notices to one server.
    pub fn channel(&self, _server: u16) -> &Arc<dyn Channel> {
        unimplemented!("Fleet::channel")
    }

    /// One-sided access to one server's memory, with the injected latency and bandwidth.
    pub fn segment(&self, _server: u16) -> &Arc<dyn Segment> {
        unimplemented!("Fleet::segment")
    }

    /// All segments, by server: what `swap::Pager` wants as its stores.
    pub fn segments(&self) -> Vec<Arc<dyn Segment>> {
        unimplemented!("Fleet::segments")
    }

    /// The process id of one server.
    pub fn pid(&self, _server: u16) -> u32 {
        unimplemented!("Fleet::pid")
    }
}
