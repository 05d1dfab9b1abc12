//! The cost of tracing an object by an agent, on one thread and without a program beside it, in nanoseconds: `make
//! bench-tracing`.
//!
//! * *random*: nodes with two references to any node of any server. The traced objects lie anywhere.
//! * *chains*: lists of eight nodes that lie behind each other, but begin anywhere.
//!
//! `--objects N` sets their number (4 million), on how many servers `--servers` (two).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Parser;
use gc::agent::protocol::{MoveOrder, Reply, Request};
use gc::agent::{Agent, AgentMemory, Message, Termination};
use gc::hit::{EntryIndex, EntryWidth, HitGeometry, TABLET_ENTRIES, TABLET_WORDS, TabletId};
use gc::object::layout::{HolderId, KlassLayout, ReferenceKind};
use gc::object::{
    ARRAY_BASE_MIN, ARRAY_LENGTH_OFFSET, HEADER_BYTES, KLASS_OFFSET, KLASS_SHIFT, VALUE_OFFSET,
    align_object,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rdma::{PeerId, ShmSegment};

#[derive(Parser)]
struct Options {
    /// The number of objects on all servers
    #[arg(long, default_value_t = 4_000_000, value_parser = clap::value_parser!(u32).range(1000..))]
    objects: u32,

    /// The number of servers
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    servers: u16,

    /// Only this shape
    #[arg(long, value_parser = SHAPES)]
    shape: Option<String>,

    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

const SHAPES: [&str; 2] = ["random", "chains"];
const REGION_SHIFT: u32 = 24;
const NODE: u32 = 1;
const ARRAY: u32 = 2;
const NODE_BYTES: usize = align_object(HEADER_BYTES + 4 * SLOTS.len());
const SLOTS: [u32; 2] = [HEADER_BYTES as u32, HEADER_BYTES as u32 + 4];

/// A heap of nodes on several servers, and the agents that trace it.
struct World {
    geometry: HitGeometry,
    memory: Vec<AgentMemory>,
    agents: Vec<Agent>,
    roots: Vec<EntryIndex>,
    count: usize,
    cycle: u32,
}

impl World {
    fn new(options: &Options, chains: bool) -> World {
        let (count, servers) = (options.objects as usize, options.servers.into());
        // The nodes, and the arrays of roots.
        let bytes = (count * (NODE_BYTES + 4)).div_ceil(servers);
        let regions = 2 * servers * (bytes >> REGION_SHIFT).max(4);
        let geometry =
            HitGeometry::new(regions, REGION_SHIFT, servers, EntryWidth::Narrow).unwrap();
        let segment = |s| ShmSegment::create(PeerId::Server(s), geometry.far_bytes() as u64);
        let memory: Vec<_> =
            (0..servers as u16).map(|s| AgentMemory::new(Arc::new(segment(s).unwrap()))).collect();
        let agents: Vec<_> =
            memory.iter().enumerate().map(|(s, m)| Agent::new(s, m.clone())).collect();
        let mut world = World { geometry, memory, agents, roots: Vec::new(), count, cycle: 0 };
        world.fill(chains);
        world.ask_all(&Request::Configure(geometry));
        let refs = SLOTS.into();
        let bytes = NODE_BYTES as u32;
        let node = KlassLayout::Instance { bytes, refs, kind: ReferenceKind::Strong };
        let array = KlassLayout::ObjectArray { base: ARRAY_BASE_MIN as u32 };
        let layouts = [node, array].map(|layout| (HolderId::PERMANENT, layout)).to_vec();
        world.ask_all(&Request::Layouts { first: 1, layouts });
        world
    }

    /// The entry of node `i` and the server it is on: tablet after tablet, on the servers in turn.
    fn node(&self, i: usize) -> (usize, EntryIndex) {
        let servers = self.geometry.servers();
        let (run, at) = (i / TABLET_ENTRIES, i % TABLET_ENTRIES);
        let server = run % servers;
        // The first tablet of each server has the entry of the array.
        let tablet = server * self.geometry.tablets_per_server() + run / servers + 1;
        (server, TabletId(tablet as u32).entry(at))
    }

    fn fill(&mut self, chains: bool) {
        let (g, memory) = (self.geometry, &self.memory);
        let mut random = StdRng::seed_from_u64(1);
        let mut tops: Vec<_> = (0..memory.len()).map(|s| g.offsets_of(s).start + 16).collect();
        let any = |random: &mut StdRng| match chains {
            true => random.random_range(0..self.count / 8) * 8,
            false => random.random_range(0..self.count),
        };
        let object = |s: usize, at: usize, klass: u32, entry: EntryIndex| {
            let memory = &memory[s];
            memory.set_u32(at + KLASS_OFFSET, klass << KLASS_SHIFT);
            memory.set_u32(at + VALUE_OFFSET, entry.0);
            memory.set_place(&g, entry, g.place(at));
            let bits = g.alloc_bits_offset(entry.tablet()) + entry.in_tablet() / 64 * 8;
            memory.word(bits).fetch_or(1 << (entry.in_tablet() % 64), Ordering::Relaxed);
        };
        for i in 0..self.count {
            let (s, entry) = self.node(i);
            let region_bytes = g.region_bytes();
            if tops[s] % region_bytes + NODE_BYTES > region_bytes {
                tops[s] = tops[s].next_multiple_of(region_bytes);
            }
            let at = tops[s];
            tops[s] += NODE_BYTES;
            object(s, at, NODE, entry);
            let next = match chains {
                true if i % 8 == 7 => EntryIndex::NULL,
                true => self.node((i + 1).min(self.count - 1)).1,
                false => self.node(any(&mut random)).1,
            };
            let other = self.node(any(&mut random)).1;
            memory[s].set_u32(at + SLOTS[0] as usize, next.0);
            memory[s].set_u32(at + SLOTS[1] as usize, other.0);
        }
        let mut roots = Vec::new();
        for (s, memory) in memory.iter().enumerate() {
            let at = tops[s].next_multiple_of(g.region_bytes());
            let entry = TabletId((s * g.tablets_per_server()) as u32).entry(1);
            object(s, at, ARRAY, entry);
            let length = (self.count / 16).min((g.region_bytes() - ARRAY_BASE_MIN) / 4);
            memory.set_u32(at + ARRAY_LENGTH_OFFSET, length as u32);
            for i in 0..length {
                let node = self.node(any(&mut random)).1;
                memory.set_u32(at + ARRAY_BASE_MIN + 4 * i, node.0);
            }
            roots.push(entry);
        }
        self.roots = roots;
    }

    fn ask(&mut self, server: usize, request: Request) -> Reply {
        let reply = self.agents[server].request(request);
        assert!(!matches!(reply, Reply::Failed(_)), "{reply:?}");
        reply
    }

    fn ask_all(&mut self, request: &Request) {
        (0..self.agents.len()).for_each(|server| {
            self.ask(server, request.clone());
        });
    }

    /// A cycle's tracing: how long the agents were at it.
    fn trace(&mut self, order: MoveOrder) -> Duration {
        self.cycle += 1;
        let (cycle, by_vm, ghost_buffer) = (self.cycle, Vec::new(), 1024);
        self.ask_all(&Request::BeginTracing { cycle, by_vm, ghost_buffer, order });
        for server in 0..self.agents.len() {
            self.ask(server, Request::Roots(vec![self.roots[server]]));
        }
        let start = Instant::now();
        let mut end = Termination::new(self.agents.len());
        loop {
            for server in 0..self.agents.len() {
                for _ in 0..8 {
                    self.agents[server].step();
                    while let Some(message) = self.agents[server].next_message() {
                        let Message::ToAgent { server: to, message } = message else {
                            panic!("{message:?}")
                        };
                        self.agents[to].receive(server, message);
                    }
                }
                let Reply::Flags { flags, .. } = self.ask(server, Request::Poll) else {
                    panic!("no flags")
                };
                if end.observe(flags) {
                    let took = start.elapsed();
                    self.ask_all(&Request::FinishTracing);
                    return took;
                }
            }
        }
    }

    /// Objects that were marked where they are.
    fn marked(&self) -> u64 {
        let g = &self.geometry;
        let tablets = (0..g.tablets() as u32).map(TabletId);
        let of_tablet = |tablet: TabletId| {
            let (memory, at) = (&self.memory[g.tablet_server(tablet)], g.mark_bits_offset(tablet));
            let words = (0..TABLET_WORDS).map(|n| memory.word(at + 8 * n).load(Ordering::Relaxed));
            words.map(|word| u64::from(word.count_ones())).sum::<u64>()
        };
        tablets.map(of_tablet).sum()
    }
}

fn main() {
    let options = Options::parse();
    for shape in SHAPES {
        if options.shape.as_deref().is_some_and(|only| only != shape) {
            continue;
        }
        let mut world = World::new(&options, shape == "chains");
        for order in [MoveOrder::Address, MoveOrder::Trace] {
            let mut times: Vec<_> = (0..3).map(|_| world.trace(order)).collect();
            times.sort();
            let marked = world.marked();
            let per_object = times[1].as_nanos() as f64 / marked as f64;
            println!("{shape}, {order:?}: {per_object:.0} ns an object, {marked} objects");
        }
    }
}
