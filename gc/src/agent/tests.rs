//! Several agents on a synthetic heap, with every order of events that a seed can think of.

use super::*;
use crate::hit::{EntryIndex, EntryWidth, HitGeometry, RegionId, TABLET_ENTRIES, TabletId};
use crate::object::layout::{HolderId, KlassLayout, ReferenceFields, ReferenceKind, array_bytes};
use crate::object::{
    ARRAY_LENGTH_OFFSET, HEADER_BYTES, KLASS_OFFSET, KLASS_SHIFT, KlassId, LOCK_MASK,
    OBJECT_BYTES_MIN, VALUE_OFFSET, align_object,
};
use protocol::{Discovered, MoveOrder, Referents};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::SliceRandom};
use rdma::{PeerId, ShmSegment};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const REGION_SHIFT: u32 = 16;
const ARRAY_BASE: usize = 12;
const BYTES: u32 = 1;
const NODE: u32 = 2;
const ARRAY: u32 = 3;
const WEAK: u32 = 4;
const FINAL: u32 = 5;
const NODE_REFS: [u32; 3] = [field(0), field(1), field(2)];
const NODE_BYTES: usize = align_object(field(3) as usize);
const REFERENCE_BYTES: usize = align_object(field(5) as usize);

/// The offset of field `i` of an object whose fields have four bytes each.
const fn field(i: u32) -> u32 {
    HEADER_BYTES as u32 + 4 * i
}

fn layouts() -> Vec<(HolderId, KlassLayout)> {
    let instance = |bytes, refs: &[u32], kind| KlassLayout::Instance {
        bytes: bytes as u32,
        refs: refs.into(),
        kind,
    };
    let reference = |kind| instance(REFERENCE_BYTES, &[field(1), field(2)], kind);
    let layouts = vec![
        KlassLayout::PrimitiveArray { base: ARRAY_BASE as u32, log2_bytes: 0 },
        instance(NODE_BYTES, &NODE_REFS, ReferenceKind::Strong),
        KlassLayout::ObjectArray { base: ARRAY_BASE as u32 },
        reference(ReferenceKind::Weak),
        reference(ReferenceKind::Final),
    ];
    // Each class has a holder of its own.
    (1..).map(HolderId).zip(layouts).collect()
}

/// No reference is soft.
const FIELDS: ReferenceFields = ReferenceFields {
    referent: field(0),
    discovered: field(3),
    next: field(2),
    soft_timestamp: field(4),
};

struct Object {
    entry: EntryIndex,
    klass: u32,
    bytes: usize,
    /// Slots that tracing follows, and the referent of an active reference.
    refs: Vec<usize>,
    referent: Option<usize>,
    offset: usize,
}

/// A heap over several servers, its contents, and the messages that are under way.
struct World {
    geometry: HitGeometry,
    memory: Vec<AgentMemory>,
    agents: Vec<Agent>,
    objects: Vec<Object>,
    by_entry: HashMap<u32, usize>,
    /// Messages on their way, with sender and receiver; any may arrive next.
    flying: Vec<(usize, usize, Mesh)>,
    notices: Vec<Notice>,
    order: MoveOrder,
    rng: StdRng,
}

impl World {
    fn new(seed: u64, servers: usize, count: usize) -> World {
        let mut rng = StdRng::seed_from_u64(seed);
        let width = [EntryWidth::Narrow, EntryWidth::Wide][seed as usize % 2];
        let geometry = HitGeometry::new(8 * servers, REGION_SHIFT, servers, width).unwrap();
        // The tests do not use addresses.
        let geometry = geometry.based(1 << 40);
        let segment = |s| ShmSegment::create(PeerId::Server(s), geometry.far_bytes() as u64);
        let memory: Vec<_> =
            (0..servers as u16).map(|s| AgentMemory::new(Arc::new(segment(s).unwrap()))).collect();
        let agents = memory.iter().enumerate().map(|(s, m)| Agent::new(s, m.clone())).collect();
        let mut world = World {
            geometry,
            memory,
            agents,
            objects: Vec::new(),
            by_entry: HashMap::new(),
            flying: Vec::new(),
            notices: Vec::new(),
            order: MoveOrder::Trace,
            rng: StdRng::seed_from_u64(seed + 1),
        };
        let mut tops = vec![OBJECT_BYTES_MIN; servers];
        let mut entries = vec![1; servers];
        for i in 0..count {
            let server = rng.random_range(0..servers);
            let klass = [BYTES, NODE, NODE, NODE, ARRAY, WEAK, FINAL][rng.random_range(0..7)];
            let length =
                if klass == ARRAY { rng.random_range(0..40) } else { rng.random_range(0..99) };
            let bytes = match klass {
                BYTES => array_bytes(ARRAY_BASE, length, 1),
                NODE => NODE_BYTES,
                ARRAY => array_bytes(ARRAY_BASE, length, 4),
                _ => REFERENCE_BYTES,
            };
            let any = |rng: &mut StdRng| rng.random_range(0..count);
            let refs: Vec<usize> = match klass {
                NODE => (0..3).map(|_| any(&mut rng)).collect(),
                ARRAY => (0..length).map(|_| any(&mut rng)).collect(),
                _ => Vec::new(),
            };
            let referent = (klass >= WEAK).then(|| any(&mut rng));
            let region_bytes = geometry.region_bytes();
            if tops[server] % region_bytes + bytes > region_bytes {
                tops[server] = tops[server].next_multiple_of(region_bytes);
            }
            let base = server * geometry.regions_per_server() * region_bytes;
            let offset = base + tops[server];
            tops[server] += bytes;
            let first = TabletId((server * geometry.tablets_per_server()) as u32);
            let entry = EntryIndex(first.entry(0).0 + entries[server]);
            // Gaps, so that tablets are sparse and several.
            entries[server] += rng.random_range(1..6);
            world.by_entry.insert(entry.0, i);
            world.write_header(server, offset, klass, entry, length as u32);
            world.objects.push(Object { entry, klass, bytes, refs, referent, offset });
        }
        world.write_slots();
        world
    }

    fn write_header(&self, s: usize, offset: usize, klass: u32, entry: EntryIndex, length: u32) {
        let memory = &self.memory[s];
        memory.set_u32(offset + KLASS_OFFSET, klass << KLASS_SHIFT | LOCK_MASK);
        memory.set_u32(offset + VALUE_OFFSET, entry.0);
        if klass == BYTES || klass == ARRAY {
            memory.set_u32(offset + ARRAY_LENGTH_OFFSET, length);
        }
        if klass == BYTES {
            let words = (0..length as usize / 4).map(|i| offset + ARRAY_BASE + 4 * i);
            words.enumerate().for_each(|(i, at)| memory.set_u32(at, !entry.0 - i as u32));
        }
        memory.set_place(&self.geometry, entry, self.geometry.place(offset));
        let (at, bit) = bits::position(self.geometry.alloc_bits_offset(entry.tablet()), entry);
        memory.word(at).fetch_or(bit, Ordering::Relaxed);
    }

    fn write_slots(&self) {
        for object in &self.objects {
            let memory = &self.memory[self.server(object.entry)];
            let slot = |i: usize| match object.klass {
                NODE => NODE_REFS[i] as usize,
                _ => ARRAY_BASE + 4 * i,
            };
            for (i, target) in object.refs.iter().enumerate() {
                memory.set_u32(object.offset + slot(i), self.objects[*target].entry.0);
            }
            if let Some(target) = object.referent {
                let at = object.offset + FIELDS.referent as usize;
                memory.set_u32(at, self.objects[target].entry.0);
            }
        }
    }

    fn server(&self, entry: EntryIndex) -> usize {
        self.geometry.tablet_server(entry.tablet())
    }

    fn ask(&mut self, server: usize, request: Request) -> Reply {
        let request = Request::decode(&request.encode()).unwrap();
        let reply = self.agents[server].request(request);
        assert!(!matches!(reply, Reply::Failed(_)), "{reply:?}");
        Reply::decode(&reply.encode()).unwrap()
    }

    fn ask_all(&mut self, request: &Request) {
        for server in 0..self.agents.len() {
            assert_eq!(self.ask(server, request.clone()), Reply::Ok);
        }
    }

    /// Finishes tracing; returns the memory of the agents' tables.
    fn finish(&mut self) -> Vec<TableBytes> {
        let count = self.agents.len();
        let tables = |server| match self.ask(server, Request::FinishTracing) {
            Reply::Finished(tables) => tables,
            other => panic!("{other:?}"),
        };
        (0..count).map(tables).collect()
    }

    fn begin(&mut self) {
        self.ask_all(&Request::Configure(self.geometry));
        self.ask_all(&Request::Layouts { first: 1, layouts: layouts() });
        self.ask_all(&Request::ReferenceFields(FIELDS));
        self.begin_cycle(1);
    }

    /// By chance the agent of server 0 is one that took a lost one's place, without channels to the others.
    fn begin_cycle(&mut self, cycle: u32) {
        let others = 1..self.agents.len() as u32;
        let is_replaced = self.rng.random_bool(0.3);
        let ghost_buffer = 1 << self.rng.random_range(0..11);
        for server in 0..self.agents.len() {
            let by_vm = match (is_replaced, server) {
                (false, _) => Vec::new(),
                (true, 0) => others.clone().collect(),
                (true, _) => vec![0],
            };
            let order = self.order;
            let request = Request::BeginTracing { cycle, by_vm, ghost_buffer, order };
            assert_eq!(self.ask(server, request), Reply::Ok);
        }
    }

    /// Has the program touched an object.
    fn touch(&self, object: usize) {
        let entry = self.objects[object].entry;
        let tablet_bits = self.geometry.touch_bits_offset(entry.tablet());
        let (at, bit) = bits::position(tablet_bits, entry);
        self.memory[self.server(entry)].word(at).fetch_or(bit, Ordering::Relaxed);
    }

    fn roots(&mut self, roots: &[usize]) {
        for root in roots {
            let entry = self.objects[*root].entry;
            let server = self.server(entry);
            self.ask(server, Request::Roots(vec![entry]));
        }
    }

    /// One random event: an agent works, or a message arrives.
    fn event(&mut self) {
        let server = self.rng.random_range(0..self.agents.len());
        if self.flying.is_empty() || self.rng.random_bool(0.5) {
            self.agents[server].step();
            while let Some(message) = self.agents[server].next_message() {
                match message {
                    Message::ToAgent { server: to, message } => {
                        self.flying.push((server, to, message));
                    }
                    Message::ToVm(Notice::Relay { to, message }) => {
                        self.flying.push((server, to as usize, message));
                    }
                    Message::ToVm(notice) => self.notices.push(notice),
                }
            }
        } else {
            let next = self.rng.random_range(0..self.flying.len());
            let (from, to, message) = self.flying.swap_remove(next);
            self.agents[to].receive(from, Mesh::decode(&message.encode()).unwrap());
        }
    }

    fn trace(&mut self) {
        let mut end = Termination::new(self.agents.len());
        let mut next = 0;
        for _ in 0..200_000 {
            for _ in 0..self.rng.random_range(0..3) {
                self.event();
            }
            let Reply::Flags { flags, .. } = self.ask(next, Request::Poll) else {
                panic!("no flags")
            };
            next = (next + 1) % self.agents.len();
            if end.observe(flags) {
                assert!(self.flying.iter().all(|m| matches!(m.2, Mesh::Acknowledge { .. })));
                return;
            }
        }
        panic!("tracing does not end");
    }

    fn discovered(&mut self) -> Vec<Discovered> {
        let mut all = Vec::new();
        for server in 0..self.agents.len() {
            while let Reply::Discovered { references, more } =
                self.ask(server, Request::TakeDiscovered)
            {
                all.extend(references);
                if !more {
                    break;
                }
            }
        }
        all
    }

    /// The entries that were marked since tracing was finished, or since the last call of this.
    fn marked_late(&mut self) -> BTreeSet<usize> {
        let mut all = BTreeSet::new();
        for server in 0..self.agents.len() {
            let Reply::Marked { entries, more: false, complete: true } =
                self.ask(server, Request::TakeMarked)
            else {
                panic!("what was marked late is not complete")
            };
            all.extend(entries.iter().map(|entry| self.by_entry[&entry.0]));
        }
        all
    }

    /// The classes that were noted since the last call of this.
    fn held_classes(&mut self) -> BTreeSet<u32> {
        let mut all = BTreeSet::new();
        for server in 0..self.agents.len() {
            let Reply::Classes { classes, more: false } = self.ask(server, Request::TakeClasses)
            else {
                panic!("the classes are not complete")
            };
            all.extend(classes.iter().map(|klass| klass.0));
        }
        all
    }

    fn classes_of(&self, objects: &BTreeSet<usize>) -> BTreeSet<u32> {
        objects.iter().map(|i| self.objects[*i].klass).collect()
    }

    fn marked(&self) -> BTreeSet<usize> {
        let is_marked = |o: &Object| {
            bits::is_marked(&self.memory[self.server(o.entry)], &self.geometry, o.entry)
        };
        (0..self.objects.len()).filter(|i| is_marked(&self.objects[*i])).collect()
    }

    fn reachable(&self, roots: &[usize], follow: bool) -> BTreeSet<usize> {
        let mut found: BTreeSet<usize> = roots.iter().copied().collect();
        let mut stack = roots.to_vec();
        while let Some(i) = stack.pop() {
            let object = &self.objects[i];
            let referent = object.referent.filter(|_| follow);
            for target in object.refs.iter().copied().chain(referent) {
                if found.insert(target) {
                    stack.push(target);
                }
            }
        }
        found
    }
}

#[test]
fn tracing_finds_what_is_reachable_on_one_two_and_three_servers() {
    for seed in 0..30 {
        let servers = 1 + seed as usize % 3;
        let mut world = World::new(seed, servers, 600);
        world.begin();
        let roots = [0, 1];
        world.roots(&roots);
        world.trace();
        let strong = world.reachable(&roots, false);
        assert_eq!(world.marked(), strong, "seed {seed}");
        assert_eq!(world.held_classes(), world.classes_of(&strong), "seed {seed}");
        assert_eq!(world.held_classes(), [].into(), "seed {seed}");
        let found: BTreeSet<_> =
            world.discovered().iter().map(|d| world.by_entry[&d.reference.0]).collect();
        let has_referent = |i: &&usize| world.objects[**i].referent.is_some();
        let expected: BTreeSet<_> = strong.iter().filter(has_referent).copied().collect();
        assert_eq!(found, expected, "seed {seed}");

        // Resurrection: the objects that are reachable from an object found dead, with all references strong.
        world.finish();
        world.ask_all(&Request::TreatReferences(Referents::Follow));
        assert_eq!(world.marked_late(), BTreeSet::new(), "seed {seed}");
        if let Some(dead) = (0..600).find(|i| !strong.contains(i)) {
            world.roots(&[dead]);
            world.trace();
            let more = world.reachable(&[dead], true);
            let marked = world.marked();
            assert!(marked.is_superset(&strong) && marked.contains(&dead), "seed {seed}");
            assert!(marked.is_subset(&strong.union(&more).copied().collect()), "seed {seed}");
            let late: BTreeSet<_> = marked.difference(&strong).copied().collect();
            assert_eq!(world.marked_late(), late, "seed {seed}");
        }
        world.finish();
        let marked = world.marked();
        for region in (0..world.geometry.regions() as u32).map(RegionId) {
            let inside = |i: &&usize| world.geometry.region_of(world.objects[**i].offset) == region;
            let bytes: usize = marked.iter().filter(inside).map(|i| world.objects[*i].bytes).sum();
            let at = world.geometry.live_bytes_offset(region);
            let memory = &world.memory[world.geometry.region_server(region)];
            assert_eq!(memory.word(at).load(Ordering::Relaxed), bytes as u64, "seed {seed}");
        }
        assert_eq!(world.notices, []);
    }
}

#[test]
fn the_classes_that_mirrors_stand_for_are_reported() {
    let mut world = World::new(9, 1, 0);
    let [bytes_at, klass_id_at] = [field(1), field(2)];
    let mirror = KlassLayout::Mirror {
        refs: [].into(),
        statics_start: field(4),
        static_refs_at: field(0),
        bytes_at,
        klass_id_at,
    };
    let array = KlassLayout::ObjectArray { base: ARRAY_BASE as u32 };
    let layouts = vec![(HolderId(0), mirror), (HolderId(7), array)];
    world.ask_all(&Request::Configure(world.geometry));
    world.ask_all(&Request::Layouts { first: 1, layouts });
    world.begin_cycle(1);
    // Of no class yet; of the second one; of one whose layout has not come.
    for (i, klass) in [0, 2, 900].into_iter().enumerate() {
        let (entry, offset) = (TabletId(0).entry(1 + i), OBJECT_BYTES_MIN + i * 64);
        world.write_header(0, offset, 1, entry, 0);
        world.memory[0].set_u32(offset + bytes_at as usize, 64);
        world.memory[0].set_u32(offset + klass_id_at as usize, klass);
        world.ask(0, Request::Roots(vec![entry]));
    }
    world.trace();
    let Reply::Classes { mut classes, more: false } = world.ask(0, Request::TakeClasses) else {
        panic!("the classes are not complete")
    };
    classes.sort_unstable_by_key(|klass| klass.0);
    assert_eq!(classes, [KlassId(2), KlassId(900)]);
}

/// A slot may hold an index that is newer than the snapshot; its entry and object may be anything.
#[test]
fn what_is_newer_than_the_snapshot_is_ignored() {
    let mut world = World::new(5, 2, 100);
    world.begin();
    let node = (0..100).find(|i| world.objects[*i].klass == NODE).unwrap();
    let object = &world.objects[node];
    let server = world.server(object.entry);
    let entries_per_server = world.geometry.tablets_per_server() * TABLET_ENTRIES;
    for (i, at) in NODE_REFS.iter().enumerate() {
        let newer = ((i % 2) * entries_per_server + 3000 + i) as u32;
        world.memory[server].set_u32(object.offset + *at as usize, newer);
    }
    world.roots(&[node]);
    world.trace();
    assert_eq!(world.marked(), [node].into());
    assert_eq!(world.notices, []);
}

#[test]
fn a_header_that_contradicts_its_entry_stops_the_agent() {
    let mut world = World::new(6, 1, 50);
    world.begin();
    world.memory[0].set_u32(world.objects[0].offset + VALUE_OFFSET, 77_777);
    world.roots(&[0]);
    world.event();
    assert!(matches!(&world.notices[..], [Notice::Failed(why)] if why.contains("names entry")));
    // Whichever the VM reads first, it says what was wrong.
    let reply = world.agents[0].request(Request::Poll);
    assert!(matches!(&reply, Reply::Failed(why) if why.contains("names entry")), "{reply:?}");
}

/// How a group is evacuated.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Copying {
    Not,
    /// Copied ahead, and moved by the VM after that.
    Ahead,
    /// The same, and tablets come one after the other.
    InParts,
    /// In addition the VM has taken the first page of the agent's part.
    InVain,
}

#[test]
fn evacuation_moves_the_living_and_leaves_what_the_vm_moved() {
    for seed in 0..30 {
        let servers = 1 + seed as usize % 3;
        let mut world = World::new(100 + seed, servers, 900);
        world.order =
            [MoveOrder::Trace, MoveOrder::Address, MoveOrder::TouchedFirst][seed as usize / 6 % 3];
        let ways = [Copying::Not, Copying::Ahead, Copying::InParts, Copying::InVain];
        let copying = ways[seed as usize / 2 % 4];
        world.begin();
        let roots = [0, 1, 2];
        world.roots(&roots);
        world.trace();
        world.finish();
        let marked = world.marked();
        let server = world.server(world.objects[0].entry);
        let first = (server * world.geometry.regions_per_server()) as u32;
        let to = RegionId(first + 7);
        let from = vec![RegionId(first)];
        let region = |o: &Object| world.geometry.region_of(o.offset);
        // The first page of the to-region is the VM's.
        let start = world.geometry.region_offset(to) + 4096;
        let living: Vec<usize> = (0..world.objects.len())
            .filter(|i| marked.contains(i) && region(&world.objects[*i]) == from[0])
            .collect();
        let by_vm = living[living.len() / 2];
        let mine: Vec<usize> = living.iter().copied().filter(|i| *i != by_vm).collect();
        let image = |offset: usize, bytes: usize| -> Vec<u32> {
            (0..bytes / 4).map(|i| world.memory[server].u32(offset + 4 * i)).collect()
        };
        let before: Vec<_> =
            mine.iter().map(|i| image(world.objects[*i].offset, world.objects[*i].bytes)).collect();
        let tablets: BTreeSet<_> = mine.iter().map(|i| world.objects[*i].entry.tablet()).collect();
        let tablets: Vec<_> = tablets.into_iter().collect();
        let offered = (0..tablets.last().unwrap().0 + 1).map(TabletId);
        let is_ours = |t: &TabletId| world.geometry.tablet_server(*t) == server;
        let offered = offered.filter(is_ours).collect();
        let end = world.geometry.region_offset(to) + world.geometry.region_bytes();
        let mut job = Evacuation { group: 9, from, to, start, end, tablets: offered };
        if copying != Copying::Not {
            let entries = |world: &World| -> Vec<u64> {
                let memory = &world.memory[server];
                world.objects.iter().map(|o| memory.place(&world.geometry, o.entry)).collect()
            };
            let unchanged = entries(&world);
            let copy = Request::CopyAhead(job.clone());
            assert_eq!(world.agents[server].request(copy), Reply::Ok);
            while world.notices.is_empty() {
                world.event();
            }
            assert_eq!(world.notices.split_off(0), [Notice::Copied { group: 9 }], "seed {seed}");
            assert_eq!(entries(&world), unchanged, "seed {seed}");
        }
        let place = start - 4096;
        let object = &world.objects[by_vm];
        world.memory[server].copy(object.offset, place, object.bytes.min(4096));
        let geometry = &world.geometry;
        world.memory[server].set_place(geometry, object.entry, geometry.place(place));
        let keeps_copies = matches!(copying, Copying::Ahead | Copying::InParts);
        let in_vain = if keeps_copies { object.bytes } else { 0 };
        if copying == Copying::InVain {
            job.start += 4096;
        }
        let bytes = in_vain + mine.iter().map(|i| world.objects[*i].bytes).sum::<usize>();
        let area = job.start..job.start + bytes;
        let parts = match copying {
            Copying::InParts => job.tablets.iter().rev().map(|tablet| vec![*tablet]).collect(),
            _ => vec![job.tablets.clone()],
        };
        let of_tablets = |part: &[TabletId]| {
            let objects = mine.iter().filter(|i| part.contains(&world.objects[**i].entry.tablet()));
            let tablets = tablets.iter().copied().filter(|tablet| part.contains(tablet)).collect();
            let objects = objects.count() as u32;
            Notice::Evacuated { group: 9, top: area.end, objects, tablets }
        };
        let expected: Vec<_> = parts.iter().map(|part| of_tablets(part)).collect();
        for tablets in parts {
            let part = Evacuation { tablets, ..job.clone() };
            assert_eq!(world.agents[server].request(Request::Evacuate(part)), Reply::Ok);
        }
        while world.notices.len() < expected.len() {
            world.event();
        }
        assert_eq!(world.notices, expected, "seed {seed}");
        let mut places = BTreeSet::new();
        for (i, image) in mine.iter().zip(before) {
            let object = &world.objects[*i];
            let memory = &world.memory[server];
            let word = memory.place(&world.geometry, object.entry);
            let at = world.geometry.offset_of(word).unwrap();
            assert!(area.contains(&at) && places.insert(at), "seed {seed}");
            let now: Vec<u32> = (0..object.bytes / 4).map(|w| memory.u32(at + 4 * w)).collect();
            assert_eq!(now, image, "seed {seed}");
        }
        let found = world.memory[server].place(&world.geometry, world.objects[by_vm].entry);
        assert_eq!(found, world.geometry.place(place));
    }
}

#[test]
fn what_was_copied_ahead_for_another_evacuation_is_refused() {
    let mut world = World::new(9, 1, 900);
    world.begin();
    world.roots(&[0]);
    world.trace();
    let to = RegionId(7);
    let (start, tablets) = (world.geometry.region_offset(to), (0..3).map(TabletId).collect());
    let end = start + world.geometry.region_bytes();
    let job = Evacuation { group: 1, from: vec![RegionId(0)], to, start, end, tablets };
    world.agents[0].request(Request::CopyAhead(job.clone()));
    world.event();
    let other = Evacuation { end: job.end - 4096, ..job };
    world.agents[0].request(Request::Evacuate(other));
    world.event();
    assert!(matches!(&world.notices[1], Notice::Failed(why) if why.contains("was copied ahead")));
}

#[test]
fn objects_move_in_the_order_in_which_they_were_traced() {
    for order in [MoveOrder::Trace, MoveOrder::Address, MoveOrder::TouchedFirst] {
        let mut world = World::new(7, 1, 900);
        world.order = order;
        let is_first = |o: &Object| world.geometry.region_of(o.offset) == RegionId(0);
        let is_leaf = |i: &usize| is_first(&world.objects[*i]) && world.objects[*i].klass == BYTES;
        let mut elements: Vec<usize> = (0..900).filter(is_leaf).collect();
        elements.shuffle(&mut world.rng);
        let is_array = |o: &Object| is_first(o) && o.klass == ARRAY && o.refs.len() >= 30;
        let array = world.objects.iter().position(is_array).unwrap();
        elements.truncate(world.objects[array].refs.len());
        world.objects[array].refs.clone_from(&elements);
        world.write_slots();
        let (touched, rest): (Vec<usize>, Vec<usize>) = elements.iter().partition(|i| *i % 3 == 0);
        world.begin();
        touched.iter().for_each(|i| world.touch(*i));
        world.roots(&[array]);
        world.trace();
        world.finish();
        let to = RegionId(7);
        let start = world.geometry.region_offset(to);
        let tablets = (0..3).map(TabletId).collect();
        let end = start + world.geometry.region_bytes();
        let job = Evacuation { group: 1, from: vec![RegionId(0)], to, start, end, tablets };
        assert_eq!(world.agents[0].request(Request::Evacuate(job)), Reply::Ok);
        world.event();
        let place = |i: &usize| {
            let found = world.memory[0].place(&world.geometry, world.objects[*i].entry);
            world.geometry.offset_of(found).unwrap()
        };
        let traced: Vec<usize> = std::iter::once(&array).chain(&elements).map(place).collect();
        let parts = touched.iter().chain(std::iter::once(&array)).chain(&rest);
        let touched_first: Vec<usize> = parts.map(place).collect();
        assert!(traced.iter().all(|place| *place >= start), "{traced:?}");
        let found = (traced.is_sorted(), touched_first.is_sorted());
        let expected = (order == MoveOrder::Trace, order == MoveOrder::TouchedFirst);
        assert_eq!(found, expected, "{order:?}: {traced:?}");
    }
}

#[test]
fn an_evacuation_that_does_not_fit_is_reported() {
    let mut world = World::new(8, 1, 900);
    world.begin();
    world.roots(&[0]);
    world.trace();
    let to = RegionId(7);
    let start = world.geometry.region_offset(to) + world.geometry.region_bytes();
    let tablets = (0..3).map(TabletId).collect();
    let job = Evacuation { group: 1, from: vec![RegionId(0)], to, start, end: start, tablets };
    world.agents[0].request(Request::Evacuate(job));
    world.event();
    assert!(matches!(&world.notices[..], [Notice::Failed(why)] if why.contains("no room")));
}
