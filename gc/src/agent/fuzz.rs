//! The messages of agents, damaged, and an agent whose VM and memory are hostile: nothing panics.
//!
//! `cargo test` tries a few thousand inputs of each, `make fuzz` runs for minutes. A failing input is shrunk and
//! printed.

use super::protocol::{
    Discovered, Evacuation, Flags, Mesh, MoveOrder, Notice, Referents, Relayed, Reply, Request,
};
use super::region_map::RegionMap;
use super::tables::{Table, TableBytes};
use super::{Agent, AgentMemory};
use crate::hit::{EntryIndex, EntryWidth, HitGeometry, RegionId, TabletId};
use crate::object::layout::{HolderId, KlassLayout, ReferenceFields, ReferenceKind};
use crate::object::{
    ARRAY_LENGTH_OFFSET, HEADER_BYTES, KLASS_OFFSET, KLASS_SHIFT, KlassId, VALUE_OFFSET,
};
use proptest::prelude::*;
use rdma::{PeerId, ShmSegment};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// As many cases as `PROPTEST_CASES` says, times this; failing inputs are not written to files.
fn cases(times: u32) -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases * times, failure_persistence: None, ..usual }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn messages_survive_the_wire(
        request in request(),
        reply in reply(),
        notice in notice(),
        mesh in mesh(),
        relayed in relayed(),
    ) {
        prop_assert_eq!(Request::decode(&request.encode()), Ok(request));
        prop_assert_eq!(Reply::decode(&reply.encode()), Ok(reply));
        prop_assert_eq!(Notice::decode(&notice.encode()), Ok(notice));
        prop_assert_eq!(Mesh::decode(&mesh.encode()), Ok(mesh));
        prop_assert_eq!(Relayed::decode(&relayed.encode()), Ok(relayed));
    }

    #[test]
    fn damaged_messages_are_refused_or_mean_what_they_say(
        message in prop_oneof![
            request().prop_map(|m| m.encode()),
            reply().prop_map(|m| m.encode()),
            notice().prop_map(|m| m.encode()),
            mesh().prop_map(|m| m.encode()),
            relayed().prop_map(|m| m.encode()),
            prop::collection::vec(any::<u8>(), 0..64),
        ],
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        more in prop::collection::vec(any::<u8>(), 0..3),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = message;
        bytes.extend(more);
        for (at, byte) in edits {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        if let Ok(request) = Request::decode(&bytes) {
            prop_assert_eq!(request.encode(), &bytes[..]);
        }
        match Reply::decode(&bytes) {
            Ok(Reply::Failed(_)) | Err(_) => {}
            Ok(reply) => prop_assert_eq!(reply.encode(), &bytes[..]),
        }
        match Notice::decode(&bytes) {
            Ok(Notice::Failed(_)) | Err(_) => {}
            Ok(notice) => prop_assert_eq!(notice.encode(), &bytes[..]),
        }
        if let Ok(mesh) = Mesh::decode(&bytes) {
            prop_assert_eq!(mesh.encode(), &bytes[..]);
        }
        if let Ok(relayed) = Relayed::decode(&bytes) {
            prop_assert_eq!(relayed.encode(), &bytes[..]);
        }
    }
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn an_agent_survives_a_hostile_vm(
        width in prop::sample::select(vec![EntryWidth::Narrow, EntryWidth::Wide]),
        objects in prop::collection::vec(object(), 40),
        layouts in prop::collection::vec(held_layout(), 8),
        fields in fields(),
        events in prop::collection::vec(event(), 0..40),
    ) {
        let geometry = geometry(width);
        let bytes = geometry.far_bytes() as u64;
        let segment = ShmSegment::create(PeerId::Server(0), bytes).unwrap();
        let memory = AgentMemory::new(Arc::new(segment));
        for (number, object) in objects.iter().enumerate() {
            object.put(&memory, &geometry, EntryIndex(number as u32));
        }
        let mut agent = Agent::new(0, memory.clone());
        agent.request(Request::Configure(geometry));
        agent.request(Request::Layouts { first: 1, layouts });
        agent.request(Request::ReferenceFields(fields));
        for event in events {
            match event {
                Event::Request(request) => _ = agent.request(request),
                Event::Mesh(from, message) => agent.receive(from, message),
                Event::Poke(at, word) => {
                    let at = at as usize % (bytes as usize / 8) * 8;
                    memory.word(at).store(word, Ordering::Relaxed);
                }
                Event::Steps(steps) => {
                    for _ in 0..steps {
                        agent.step();
                    }
                }
            }
            while agent.next_message().is_some() {}
        }
    }
}

proptest! {
    #![proptest_config(cases(8))]

    /// The same for one that traces regions. Every word of the heap is likely to be taken for an object, a slot or a
    /// length.
    #[test]
    fn an_agent_that_traces_regions_survives_a_hostile_vm(
        words in prop::collection::vec((any::<prop::sample::Index>(), word()), 0..400),
        roots in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 0..40),
        layouts in prop::collection::vec(held_layout(), 8),
        fields in fields(),
        events in prop::collection::vec((region_request(), 0..30_u32), 0..40),
        slot_bytes in prop_oneof![Just(4), Just(8)],
    ) {
        let map = map(slot_bytes);
        let segment = ShmSegment::create(PeerId::Server(0), map.far_bytes() as u64).unwrap();
        let memory = AgentMemory::new(Arc::new(segment));
        for (at, word) in words {
            // Close together, so that objects refer to each other.
            memory.word(at.index(512) * 8).store(word, Ordering::Relaxed);
        }
        for (at, bits) in roots {
            memory.word(map.roots_offset(RegionId(0)) + at.index(8) * 8).store(bits, Ordering::Relaxed);
        }
        let mut agent = Agent::new(0, memory);
        agent.request(Request::ConfigureRegions(map));
        agent.request(Request::Layouts { first: 1, layouts });
        agent.request(Request::ReferenceFields(fields));
        for (request, steps) in events {
            agent.request(request);
            (0..steps).for_each(|_| _ = agent.step());
            while agent.next_message().is_some() {}
        }
    }
}

/// A heap of two servers whose regions are traced; the agent is the first one.
fn map(slot_bytes: u32) -> RegionMap {
    RegionMap::from_parts(1 << 20, [16, 8, 2, slot_bytes]).expect("a small heap")
}

/// A header's half words, or a reference within the first region, or two narrow ones.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        (0..12_u64, 0..64_u64).prop_map(|(low, high)| low | high << 32),
        (0..512_u64).prop_map(|word| (1 << 20) + word * 8),
        (0..512_u64, 0..512_u64).prop_map(|(a, b)| ((1 << 17) + a) | ((1 << 17) + b) << 32),
        any::<u64>(),
    ]
}

/// A heap of two servers; the agent is the first one.
fn geometry(width: EntryWidth) -> HitGeometry {
    HitGeometry::new(8, 16, 2, width).expect("a small heap")
}

/// An object in the heap before the agent begins.
#[derive(Clone, Debug)]
struct Object {
    offset: usize,
    klass: u32,
    length: u32,
    /// Determines the contents of its slots.
    refs: u32,
    is_marked: bool,
}

impl Object {
    fn put(&self, memory: &AgentMemory, geometry: &HitGeometry, entry: EntryIndex) {
        memory.set_place(geometry, entry, geometry.place(self.offset));
        for at in (HEADER_BYTES..64).step_by(4) {
            memory.set_u32(self.offset + at, self.refs);
        }
        memory.set_u32(self.offset + KLASS_OFFSET, self.klass << KLASS_SHIFT);
        memory.set_u32(self.offset + VALUE_OFFSET, entry.0);
        memory.set_u32(self.offset + ARRAY_LENGTH_OFFSET, self.length);
        let (word, bit) = (entry.in_tablet() / 64 * 8, 1 << (entry.in_tablet() % 64));
        let allocated = memory.word(geometry.alloc_bits_offset(entry.tablet()) + word);
        allocated.fetch_or(bit, Ordering::Relaxed);
        if self.is_marked {
            let marked = memory.word(geometry.mark_bits_offset(entry.tablet()) + word);
            marked.fetch_or(bit, Ordering::Relaxed);
        }
    }
}

#[derive(Clone, Debug)]
enum Event {
    Request(Request),
    Mesh(usize, Mesh),
    Poke(u32, u64),
    Steps(usize),
}

fn object() -> impl Strategy<Value = Object> {
    let heap_words = geometry(EntryWidth::Narrow).heap_bytes() / 8 - 1;
    let place = prop_oneof![0..heap_words, 0..500_usize, heap_words - 4..heap_words];
    (place, 0..10_u32, number(), number(), any::<bool>()).prop_map(
        |(place, klass, length, refs, is_marked)| Object {
            offset: place * 8,
            klass,
            length,
            refs,
            is_marked,
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => request().prop_map(Event::Request),
        1 => (0..3_usize, mesh()).prop_map(|(from, message)| Event::Mesh(from, message)),
        1 => (any::<u32>(), any::<u64>()).prop_map(|(at, word)| Event::Poke(at, word)),
        3 => (1..20_usize).prop_map(Event::Steps),
    ]
}

fn move_order() -> impl Strategy<Value = MoveOrder> {
    prop::sample::select(vec![MoveOrder::Address, MoveOrder::Trace, MoveOrder::TouchedFirst])
}

fn request() -> impl Strategy<Value = Request> {
    let layouts = (0..12_u32, prop::collection::vec(held_layout(), 0..4));
    let job = (number(), ids(), number(), (number(), number()), ids());
    prop_oneof![
        1 => Just(Request::Configure(geometry(EntryWidth::Wide))),
        1 => layouts.prop_map(|(first, layouts)| Request::Layouts { first, layouts }),
        1 => fields().prop_map(Request::ReferenceFields),
        1 => (0..12_u32).prop_map(|klass| Request::Strings { klass }),
        2 => (0..4_u32, prop::collection::vec(0..4_u32, 0..3), number(), move_order())
            .prop_map(|(cycle, by_vm, ghost_buffer, order)| {
                Request::BeginTracing { cycle, by_vm, ghost_buffer, order }
            }),
        4 => ids().prop_map(|ids| Request::Roots(ids.into_iter().map(EntryIndex).collect())),
        1 => Just(Request::Poll),
        1 => any::<i64>().prop_map(|keep_soft_from_ms| {
            Request::TreatReferences(Referents::Discover { keep_soft_from_ms })
        }),
        1 => Just(Request::TreatReferences(Referents::Follow)),
        1 => Just(Request::TakeDiscovered),
        1 => Just(Request::TakeMarked),
        1 => Just(Request::TakeClasses),
        1 => Just(Request::FinishTracing),
        4 => (job, any::<bool>()).prop_map(|((group, from, to, (start, end), tablets), is_ahead)| {
            let job = Evacuation {
                group,
                from: from.into_iter().map(RegionId).collect(),
                to: RegionId(to),
                start: start as usize,
                end: end as usize,
                tablets: tablets.into_iter().map(TabletId).collect(),
            };
            if is_ahead { Request::CopyAhead(job) } else { Request::Evacuate(job) }
        }),
        6 => (0..4_u32, 0..4_u32, 0..2_usize, 0..3_u32).prop_map(|(from, to, skipped, ahead)| {
            let job = Evacuation {
                group: 1,
                from: vec![RegionId(from)],
                to: RegionId(to),
                start: ((to as usize) << 16) + skipped * 4096,
                end: (to as usize + 1) << 16,
                tablets: vec![TabletId(0)],
            };
            if ahead == 0 { Request::CopyAhead(job) } else { Request::Evacuate(job) }
        }),
        1 => Just(Request::ConfigureRegions(map(8))),
        2 => region_request(),
    ]
}

/// A request to an agent that traces regions.
fn region_request() -> impl Strategy<Value = Request> {
    let traced = prop::collection::vec((0..9_u32, 0..8300_u32), 0..4);
    let offsets = prop::collection::vec((0..8_u64 << 13, any::<bool>()), 0..20);
    prop_oneof![
        2 => Just(Request::BeginRound),
        1 => Just(Request::EndRound),
        4 => traced.prop_map(|traced| {
            let (regions, tops) = traced.into_iter().map(|(r, top)| (RegionId(r), top)).unzip();
            Request::TraceRegions { regions, tops }
        }),
        2 => offsets.prop_map(|offsets| {
            let whole = |(word, is_whole): (u64, bool)| word * 8 + u64::from(!is_whole);
            Request::TraceObjects(offsets.into_iter().map(whole).collect())
        }),
        1 => Just(Request::Poll),
        1 => Just(Request::FinishTracing),
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<u64>());
    let one = (number(), number(), kind()).prop_map(|(reference, referent, kind)| Discovered {
        reference: EntryIndex(reference),
        referent: EntryIndex(referent),
        kind,
    });
    prop_oneof![
        Just(Reply::Ok),
        flags.prop_map(
            |(tracing_in_progress, roots_not_empty, ghost_not_empty, changed, visited)| {
                let flags =
                    Flags { tracing_in_progress, roots_not_empty, ghost_not_empty, changed };
                Reply::Flags { flags, visited }
            }
        ),
        (prop::collection::vec(one, 0..20), any::<bool>())
            .prop_map(|(references, more)| Reply::Discovered { references, more }),
        (prop::collection::vec(number(), 0..5), any::<bool>(), any::<bool>()).prop_map(
            |(entries, more, complete)| Reply::Marked {
                entries: entries.into_iter().map(EntryIndex).collect(),
                more,
                complete
            }
        ),
        prop::array::uniform9(0..=1_u64 << 48).prop_map(|bytes| {
            let mut tables = TableBytes::default();
            Table::ALL.into_iter().zip(bytes).for_each(|(table, bytes)| tables.add(table, bytes));
            Reply::Finished(tables)
        }),
        (ids(), any::<bool>()).prop_map(|(classes, more)| Reply::Classes {
            classes: classes.into_iter().map(KlassId).collect(),
            more,
        }),
        "\\PC{0,20}".prop_map(Reply::Failed),
    ]
}

fn notice() -> impl Strategy<Value = Notice> {
    let done = (number(), any::<u64>(), number(), ids());
    prop_oneof![
        done.prop_map(|(group, top, objects, tablets)| {
            let tablets = tablets.into_iter().map(TabletId).collect();
            Notice::Evacuated { group, top: top as usize, objects, tablets }
        }),
        number().prop_map(|group| Notice::Copied { group }),
        ids().prop_map(|ids| Notice::Strings(ids.into_iter().map(EntryIndex).collect())),
        "\\PC{0,20}".prop_map(Notice::Failed),
        (number(), mesh()).prop_map(|(to, message)| Notice::Relay { to, message }),
    ]
}

fn relayed() -> impl Strategy<Value = Relayed> {
    (number(), mesh()).prop_map(|(from, message)| Relayed { from, message })
}

fn mesh() -> impl Strategy<Value = Mesh> {
    prop_oneof![
        (0..3_u32, ids()).prop_map(|(cycle, entries)| {
            Mesh::Ghosts { cycle, entries: entries.into_iter().map(EntryIndex).collect() }
        }),
        (0..3_u32).prop_map(|cycle| Mesh::Acknowledge { cycle }),
    ]
}

fn held_layout() -> impl Strategy<Value = (HolderId, KlassLayout)> {
    (0..4_u32, layout()).prop_map(|(holder, layout)| (HolderId(holder), layout))
}

fn layout() -> impl Strategy<Value = KlassLayout> {
    let refs = || prop::collection::vec(field(), 0..4);
    prop_oneof![
        (field(), refs(), kind()).prop_map(|(bytes, refs, kind)| {
            KlassLayout::Instance { bytes, refs: refs.into(), kind }
        }),
        (refs(), field(), field(), field(), field()).prop_map(
            |(refs, statics_start, static_refs_at, bytes_at, klass_id_at)| {
                let refs = refs.into();
                KlassLayout::Mirror { refs, statics_start, static_refs_at, bytes_at, klass_id_at }
            }
        ),
        field().prop_map(|base| KlassLayout::ObjectArray { base }),
        (field(), 0..4_u8)
            .prop_map(|(base, log2_bytes)| KlassLayout::PrimitiveArray { base, log2_bytes }),
    ]
}

fn fields() -> impl Strategy<Value = ReferenceFields> {
    (field(), field(), field(), field()).prop_map(|(referent, discovered, next, soft_timestamp)| {
        ReferenceFields { referent, discovered, next, soft_timestamp }
    })
}

fn kind() -> impl Strategy<Value = ReferenceKind> {
    use ReferenceKind::{Final, Phantom, Soft, Strong, Weak};
    prop::sample::select(vec![Strong, Soft, Weak, Final, Phantom])
}

/// Offsets and sizes as classes have them, mostly.
fn field() -> impl Strategy<Value = u32> {
    prop_oneof![6 => (0..16_u32).prop_map(|n| n * 4), 6 => (1..8_u32).prop_map(|n| n * 8), 1 => number()]
}

fn ids() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(prop_oneof![0..50_u32, number()], 0..8)
}

/// Numbers of all sizes, most of them near a border.
fn number() -> impl Strategy<Value = u32> {
    let border = (0..32_u32, 0..3_u32)
        .prop_map(|(shift, more)| (1_u32 << shift).wrapping_add(more).wrapping_sub(1));
    prop_oneof![0..50_u32, border, any::<u32>()]
}
