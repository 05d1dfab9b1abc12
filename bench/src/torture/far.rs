//! The far space that is tortured, and its servers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rdma::sim::{SimNetwork, SimOptions};
use rdma::spawn::{Fleet, FleetOptions};
use rdma::{OnlyMemory, PeerId, Segment, SlowWire, Throttled, Transport};
use swap::{PAGE_BYTES, Page, Pager, PagerOptions};

use super::{BLOCK_PAGES, DISTURBERS, Plan, Via};
use crate::harness::rng::Rng;

/// Fields are dropped in this order: the pager needs its servers.
pub struct Far {
    pub pager: Arc<Pager>,
    stores: Vec<Arc<dyn Segment>>,
    /// The properties of the network.
    pub network: String,
    /// One for each block of pages with counters: set by the disturber that pins or evicts some of them. Acquire and
    /// release, so that one sees what the other unpinned.
    pub claims: Vec<AtomicBool>,
    /// Words of a page that are in use.
    slots: usize,
    trouble: Option<Trouble>,
    _fleet: Option<Fleet>,
}

/// Partitions of the simulated network.
struct Trouble {
    network: SimNetwork,
    servers: u16,
}

impl Far {
    pub fn new(plan: &Plan) -> io::Result<Far> {
        let blocks = plan.pages.div_ceil(BLOCK_PAGES);
        let far_bytes = (blocks + DISTURBERS) * BLOCK_PAGES * PAGE_BYTES;
        let Network { name, stores, trouble, fleet } = match plan.via {
            Via::Shm => Network::of_processes(plan, Transport::Shm, far_bytes)?,
            Via::Tcp => Network::of_processes(plan, Transport::Tcp, far_bytes)?,
            Via::Verbs => Network::of_processes(plan, Transport::Verbs, far_bytes)?,
            Via::Sim => Network::simulated(plan, far_bytes)?,
        };
        let servers = usize::from(plan.servers);
        // An agent writes the pages behind those with counters.
        let counted = plan.pages;
        let options = PagerOptions {
            far_bytes,
            budget_bytes: plan.budget_pages() * PAGE_BYTES,
            owner: Box::new(move |page| page.0 / BLOCK_PAGES % servers),
            run_after: Box::new(move |page| {
                let run = BLOCK_PAGES - 1 - page.0 % BLOCK_PAGES;
                run.min(counted.saturating_sub(page.0 + 1))
            }),
            ..PagerOptions::default()
        };
        let pager = Pager::new(options, stores.clone()).map_err(io::Error::other)?;
        let claims = (0..blocks).map(|_| AtomicBool::new(false)).collect();
        let slots = plan.threads + DISTURBERS + 1;
        Ok(Far { pager, stores, network: name, claims, slots, trouble, _fleet: fleet })
    }

    /// Which word of a page belongs to a slot: they are spread over the page.
    pub fn word_of(&self, slot: usize) -> usize {
        slot * (PAGE_BYTES / 8 / self.slots)
    }

    /// A word of a page. Using it may fault.
    pub fn word(&self, page: usize, word: usize) -> &AtomicU64 {
        assert!(word < PAGE_BYTES / 8);
        // SAFETY: inside the far space (checked by `address`), aligned, and it lives as long as the pager.
        unsafe { AtomicU64::from_ptr(self.pager.address(Page(page)).cast::<u64>().add(word)) }
    }

    /// The bytes of a word that only the caller uses, of a page that it pinned: for system calls.
    #[expect(clippy::mut_from_ref, reason = "far memory, of which each thread owns words")]
    pub fn own_bytes(&self, page: usize, word: usize) -> &mut [u8] {
        assert!(word < PAGE_BYTES / 8);
        // SAFETY: as above; each disturber has a word of its own in every page.
        unsafe {
            let start = self.pager.address(Page(page)).add(word * 8);
            std::slice::from_raw_parts_mut(start, 8)
        }
    }

    /// All words of a page as its server has them.
    pub fn page_on_server(&self, page: usize) -> io::Result<Vec<u64>> {
        let mut words = vec![0; PAGE_BYTES / 8];
        self.store(page).read((page * PAGE_BYTES) as u64, &mut words).map_err(io::Error::other)?;
        Ok(words)
    }

    /// The word on the server of a page.
    pub fn on_server(&self, page: usize, word: usize) -> io::Result<u64> {
        let mut words = [0];
        let offset = (page * PAGE_BYTES + word * 8) as u64;
        self.store(page).read(offset, &mut words).map_err(io::Error::other)?;
        Ok(words[0])
    }

    /// As an agent would.
    pub fn write_on_server(&self, page: usize, word: usize, value: u64) -> io::Result<()> {
        let offset = (page * PAGE_BYTES + word * 8) as u64;
        self.store(page).write(offset, &[value]).map_err(io::Error::other)
    }

    fn store(&self, page: usize) -> &Arc<dyn Segment> {
        &self.stores[self.pager.owner(Page(page))]
    }

    /// The state of a page, and the word on its server.
    pub fn describe(&self, page: usize, word: usize) -> String {
        let (resident, dirty) =
            (self.pager.is_resident(Page(page)), self.pager.is_dirty(Page(page)));
        let state = match (resident, dirty) {
            (_, true) => "dirty",
            (true, false) => "clean",
            (false, false) => "not in local memory",
        };
        let there = match self.on_server(page, word) {
            Ok(value) => format!("has {value}"),
            Err(error) => format!("has {error}"),
        };
        let owner = self.pager.owner(Page(page));
        format!("the page is now {state}, and word {word} of it at server {owner} {there}")
    }

    /// Waits for a moment; now and then the simulated network is cut meanwhile.
    pub fn trouble(&self, stop: &AtomicBool, until: Instant) {
        let left = until.saturating_duration_since(Instant::now());
        thread::sleep(left.min(Duration::from_millis(5)));
        let Some(Trouble { network, servers }) = &self.trouble else { return };
        if stop.load(Ordering::Relaxed) {
            return;
        }
        for server in 0..*servers {
            network.cut(PeerId::Vm, PeerId::Server(server));
            thread::sleep(Duration::from_millis(2));
            network.heal(PeerId::Vm, PeerId::Server(server));
        }
    }
}

/// Servers and the way to them.
struct Network {
    name: String,
    stores: Vec<Arc<dyn Segment>>,
    trouble: Option<Trouble>,
    fleet: Option<Fleet>,
}

impl Network {
    fn of_processes(plan: &Plan, transport: Transport, far_bytes: usize) -> io::Result<Network> {
        let options = FleetOptions {
            servers: plan.servers,
            transport,
            far_bytes: far_bytes as u64,
            latency: plan.latency,
            bandwidth: plan.bandwidth,
            ..FleetOptions::default()
        };
        let fleet = Fleet::start(options, Arc::new(OnlyMemory)).map_err(io::Error::other)?;
        let name = match transport {
            Transport::Shm => "shm",
            Transport::Tcp => "tcp",
            Transport::Verbs => "verbs",
        };
        let stores = fleet.segments();
        Ok(Network { name: name.into(), stores, trouble: None, fleet: Some(fleet) })
    }

    /// A network by the seed: of low or high latency and bandwidth, with losses and partitions or without.
    fn simulated(plan: &Plan, far_bytes: usize) -> io::Result<Network> {
        let mut random = Rng::new(plan.seed);
        let options = SimOptions {
            delay_max: random.pick(&[0, 10, 50, 200]),
            loss_percent: random.pick(&[0, 1, 10, 30]),
            bandwidth: random.pick(&[0, 0, 400, 50]),
            forget_per_mille: if plan.forget { 20 } else { 0 },
            ..SimOptions::seeded(plan.seed)
        };
        let partitions = random.chance(30);
        let network = SimNetwork::new(options);
        let mut stores = Vec::new();
        for server in 0..plan.servers {
            let memory = network.segment(PeerId::Server(server), far_bytes as u64);
            let memory = memory.map_err(io::Error::other)?;
            let mut store = network.remote(PeerId::Vm, &memory);
            if !plan.latency.is_zero() || plan.bandwidth > 0 {
                let wire = SlowWire::new(plan.latency, plan.bandwidth);
                store = Arc::new(Throttled::new(store, wire));
            }
            stores.push(store);
        }
        let SimOptions { delay_max, loss_percent, bandwidth, .. } = options;
        let name = format!(
            "sim (delays to {delay_max}, bandwidth {bandwidth}, {loss_percent} % lost{})",
            if partitions { ", partitions" } else { "" }
        );
        let trouble = partitions.then_some(Trouble { network, servers: plan.servers });
        Ok(Network { name, stores, trouble, fleet: None })
    }
}
