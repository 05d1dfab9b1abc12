//! The messages between the VM and the agents, and between agents.
//!
//! The VM's messages are requests; an agent answers each at once and works on its own thread. Only
//! [`Notice::Copied`] and [`Notice::Evacuated`] come unasked. Large tables (allocation bits, mark bits, live bytes) are
//! not in messages: they lie in the far space, where [`HitGeometry`] says. Requests and notices of any length can be
//! sent ([`parts`](super::parts)); replies and messages between agents have a limit.

use super::region_map::RegionMap;
use super::tables::TableBytes;
use super::wire::{Malformed, Reader, Writer};
use crate::hit::{EntryIndex, HitGeometry, HitParts, RegionId, TabletId};
use crate::object::KlassId;
use crate::object::layout::{HolderId, KlassLayout, ReferenceFields, ReferenceKind};

/// A request of the VM to an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Once, first: the sizes of everything.
    Configure(HitGeometry),
    /// Layouts of the classes with ids `first..`, in order, with their holders; each id is sent once, before roots that
    /// lead to objects of it. Another class may get the id, with the same layout, another holder, and as little
    /// permanent as the first.
    Layouts { first: u32, layouts: Vec<(HolderId, KlassLayout)> },
    /// Once, before the first cycle that may meet a reference object.
    ReferenceFields(ReferenceFields),
    /// From now on strings, which are of this class, are looked for where objects are moved ([`Notice::Strings`]).
    Strings { klass: u32 },
    /// The snapshot is in the far space. Forgets the marks of the previous cycle, and its remains if it was
    /// given up. Messages to the agents `by_vm` are sent by way of the VM: this agent or the other one is in
    /// the place of a lost one, and they have no channel. With fewer than `ghost_buffer` entries for another
    /// agent, one that has something to do waits for more.
    BeginTracing { cycle: u32, by_vm: Vec<u32>, ghost_buffer: u32, order: MoveOrder },
    /// Objects to trace from: roots, overwritten values, resurrected referents.
    Roots(Vec<EntryIndex>),
    /// The four flags, sampled and reset.
    Poll,
    /// Treat referents that nothing else has marked.
    TreatReferences(Referents),
    /// The next discovered references.
    TakeDiscovered,
    /// Tracing is over: write the live bytes of regions to the far space, and of a heap with a table the jumps.
    /// Entries that are marked after that are kept for `TakeMarked`. Answered with [`Reply::Finished`].
    FinishTracing,
    /// The next entries that were marked since tracing was finished, or since this was asked before.
    TakeMarked,
    /// The next classes that can be unloaded of objects that were scanned in this cycle, each once. Answered with
    /// [`Reply::Classes`].
    TakeClasses,
    /// Copy the objects left in `from` to `to`, and do not change the entries: the program still uses them, and itself
    /// moves the objects that it meets. Answered with `Ok` at once and with [`Notice::Copied`] when done. `Evacuate`
    /// of the same group follows, unless it is given up.
    CopyAhead(Evacuation),
    /// Move the objects left in `from` to `to`. Objects that were copied ahead for the very same request are in place
    /// already, and then the tablets may come in several requests; for a request with another `start` they
    /// were copied in vain. Answered with `Ok` at once and with [`Notice::Evacuated`] when done.
    Evacuate(Evacuation),
    /// Instead of `Configure`: regions are traced one by one. So are all that follow; of those above, `Layouts`,
    /// `ReferenceFields`, `Poll` and `FinishTracing` mean the same.
    ConfigureRegions(RegionMap),
    /// Forgets the last round of tracing.
    BeginRound,
    /// Gives up a round: the heap is not looked at any more once this is answered.
    EndRound,
    /// Regions to trace in this round, and how far: words of eight bytes. Their roots are in the far space.
    TraceRegions { regions: Vec<RegionId>, tops: Vec<u32> },
    /// More roots: heap offsets.
    TraceObjects(Vec<u64>),
}

/// In which order an agent moves objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MoveOrder {
    Address,
    /// That in which it has traced them.
    Trace,
    /// The same, but first those that the program has touched. The far space has their bits before there are roots.
    TouchedFirst,
}

/// How tracing treats the referents of active reference objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Referents {
    /// Report them and do not trace through them; but soft ones whose timestamp is at least `keep_soft_from_ms`
    /// are strong.
    Discover { keep_soft_from_ms: i64 },
    /// All are strong (tracing from resurrected objects).
    Follow,
}

/// The evacuation of several regions into one (a *group*).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evacuation {
    pub group: u32,
    pub from: Vec<RegionId>,
    pub to: RegionId,
    /// First heap offset that the agent may write in `to`; a page boundary.
    pub start: usize,
    /// The heap offset behind the last one that it may write; a page boundary.
    pub end: usize,
    /// The tablets that hold the entries of the objects in `from`.
    pub tablets: Vec<TabletId>,
}

/// An agent's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    Ok,
    /// `visited` grows with tracing in this cycle.
    Flags {
        flags: Flags,
        visited: u64,
    },
    Discovered {
        references: Vec<Discovered>,
        more: bool,
    },
    /// `complete` is false if there were more than an agent keeps; the bits in the far space say which.
    Marked {
        entries: Vec<EntryIndex>,
        more: bool,
        complete: bool,
    },
    /// Of objects, and those that mirrors stand for.
    Classes {
        classes: Vec<KlassId>,
        more: bool,
    },
    /// The results are in the far space. The memory of the agent's tables, as it was when tracing was first finished in
    /// this cycle or shortly before.
    Finished(TableBytes),
    /// The request made no sense, or the heap does not; the VM stops.
    Failed(String),
}

/// The four flags of the termination protocol (section 3.4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags {
    pub tracing_in_progress: bool,
    pub roots_not_empty: bool,
    pub ghost_not_empty: bool,
    /// One of the others changed since the flags were last sampled.
    pub changed: bool,
}

impl Flags {
    /// Nothing to do now, and nothing was done since the last sample.
    pub fn is_quiet(self) -> bool {
        self == Flags::default()
    }
}

/// An active reference object that tracing met, whose referent it did not follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Discovered {
    pub reference: EntryIndex,
    pub referent: EntryIndex,
    pub kind: ReferenceKind,
}

/// A message of an agent to the VM that is no reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    /// The rest of a group is copied, and its to-region is not written until it is to be evacuated.
    Copied { group: u32 },
    /// A group, or the part with these tablets, is done: its to-region is filled up to `top` (a heap offset), all
    /// entries are written. `tablets` are those of the objects moved.
    Evacuated { group: u32, top: usize, objects: u32, tablets: Vec<TabletId> },
    /// Strings of the agent's server that have been moved for the first time: their entries, at most [`ENTRIES_MAX`].
    Strings(Vec<EntryIndex>),
    /// The agent found something that cannot be; the VM stops.
    Failed(String),
    /// A message for another agent, to be passed on.
    Relay { to: u32, message: Mesh },
}

/// A message of another agent that the VM passes on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relayed {
    pub from: u32,
    pub message: Mesh,
}

/// A message between agents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mesh {
    /// Entries of the receiver's objects that the sender met, to be traced in this cycle.
    Ghosts { cycle: u32, entries: Vec<EntryIndex> },
    /// The receiver's last `Ghosts` has arrived and its entries count as the sender's roots.
    Acknowledge { cycle: u32 },
}

/// At most this many entries in one message.
pub const ENTRIES_MAX: usize = 8192;
/// At most this many discovered references in one message.
pub const DISCOVERED_MAX: usize = 4096;
/// At most this many layouts in one message.
pub const LAYOUTS_MAX: usize = 256;
/// Layouts of this many bytes ([`layout_bytes`]) end a message; a single one may be longer, then it is sent in parts.
pub const LAYOUTS_BYTES: usize = rdma::MESSAGE_BYTES_MAX / 2;
/// A longer reason is cut.
const REASON_BYTES_MAX: usize = 4096;
/// The bytes of each layout in addition to its slots, at most.
const LAYOUT_HEADER_BYTES: usize = 25;

impl Request {
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        match self {
            Request::Configure(geometry) => {
                let HitParts { sizes, origin } = geometry.parts();
                w.u8(0);
                for size in sizes {
                    w.u32(size);
                }
                w.u64(origin);
            }
            Request::Layouts { first, layouts } => {
                w.u8(1).u32(*first).u32(layouts.len() as u32);
                for (holder, layout) in layouts {
                    encode_layout(w.u32(holder.0), layout);
                }
            }
            Request::ReferenceFields(f) => {
                w.u8(2).u32(f.referent).u32(f.discovered).u32(f.next).u32(f.soft_timestamp);
            }
            Request::BeginTracing { cycle, by_vm, ghost_buffer, order } => {
                w.u8(3).u32(*cycle).list(by_vm.iter().copied()).u32(*ghost_buffer);
                w.u8(*order as u8);
            }
            Request::Roots(entries) => {
                w.u8(4).list(entries.iter().map(|e| e.0));
            }
            Request::Poll => {
                w.u8(5);
            }
            Request::TreatReferences(referents) => {
                match referents {
                    Referents::Follow => w.u8(6).u8(0),
                    Referents::Discover { keep_soft_from_ms } => {
                        w.u8(6).u8(1).u64(*keep_soft_from_ms as u64)
                    }
                };
            }
            Request::TakeDiscovered => {
                w.u8(7);
            }
            Request::FinishTracing => {
                w.u8(8);
            }
            Request::Evacuate(job) => {
                w.u8(9);
                encode_job(&mut w, job);
            }
            Request::ConfigureRegions(map) => {
                let (base, sizes) = map.parts();
                w.u8(10).u64(base);
                sizes.into_iter().for_each(|size| {
                    w.u32(size);
                });
            }
            Request::BeginRound => {
                w.u8(11);
            }
            Request::EndRound => {
                w.u8(12);
            }
            Request::TraceRegions { regions, tops } => {
                w.u8(13).list(regions.iter().map(|r| r.0)).list(tops.iter().copied());
            }
            Request::TraceObjects(offsets) => {
                w.u8(14).u32(offsets.len() as u32);
                offsets.iter().for_each(|offset| {
                    w.u64(*offset);
                });
            }
            Request::CopyAhead(job) => {
                w.u8(15);
                encode_job(&mut w, job);
            }
            Request::TakeMarked => {
                w.u8(16);
            }
            Request::Strings { klass } => {
                w.u8(17).u32(*klass);
            }
            Request::TakeClasses => {
                w.u8(18);
            }
        }
        w.bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Request, Malformed> {
        let mut r = Reader::new(bytes);
        let request = match r.u8()? {
            0 => {
                let sizes = [r.u32()?, r.u32()?, r.u32()?, r.u32()?, r.u32()?];
                let geometry = HitGeometry::from_parts(HitParts { sizes, origin: r.u64()? });
                Request::Configure(geometry.ok_or(Malformed("no heap has this geometry"))?)
            }
            1 => {
                let (first, count) = (r.u32()?, r.u32()? as usize);
                if count > LAYOUTS_MAX {
                    return Err(Malformed("too many layouts"));
                }
                let layouts = (0..count).map(|_| Ok((HolderId(r.u32()?), decode_layout(&mut r)?)));
                Request::Layouts { first, layouts: layouts.collect::<Result<_, _>>()? }
            }
            2 => Request::ReferenceFields(ReferenceFields {
                referent: r.u32()?,
                discovered: r.u32()?,
                next: r.u32()?,
                soft_timestamp: r.u32()?,
            }),
            3 => Request::BeginTracing {
                cycle: r.u32()?,
                by_vm: r.list()?,
                ghost_buffer: r.u32()?,
                order: match r.u8()? {
                    0 => MoveOrder::Address,
                    1 => MoveOrder::Trace,
                    2 => MoveOrder::TouchedFirst,
                    _ => return Err(Malformed("unknown order of objects")),
                },
            },
            4 => Request::Roots(r.list()?.into_iter().map(EntryIndex).collect()),
            5 => Request::Poll,
            6 => Request::TreatReferences(match r.u8()? {
                0 => Referents::Follow,
                1 => Referents::Discover { keep_soft_from_ms: r.u64()? as i64 },
                _ => return Err(Malformed("unknown treatment of references")),
            }),
            7 => Request::TakeDiscovered,
            8 => Request::FinishTracing,
            9 => Request::Evacuate(decode_job(&mut r)?),
            10 => {
                let (base, sizes) = (r.u64()?, [r.u32()?, r.u32()?, r.u32()?, r.u32()?]);
                let map = RegionMap::from_parts(base, sizes);
                Request::ConfigureRegions(map.ok_or(Malformed("no heap has these sizes"))?)
            }
            11 => Request::BeginRound,
            12 => Request::EndRound,
            13 => {
                let regions: Vec<_> = r.list()?.into_iter().map(RegionId).collect();
                let tops = r.list()?;
                if regions.len() != tops.len() {
                    return Err(Malformed("regions without tops"));
                }
                Request::TraceRegions { regions, tops }
            }
            14 => {
                let count = r.u32()? as usize;
                if count > ENTRIES_MAX {
                    return Err(Malformed("too many objects"));
                }
                Request::TraceObjects((0..count).map(|_| r.u64()).collect::<Result<_, _>>()?)
            }
            15 => Request::CopyAhead(decode_job(&mut r)?),
            16 => Request::TakeMarked,
            17 => Request::Strings { klass: r.u32()? },
            18 => Request::TakeClasses,
            _ => return Err(Malformed("unknown request")),
        };
        r.end()?;
        Ok(request)
    }
}

impl Reply {
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        match self {
            Reply::Ok => {
                w.u8(0);
            }
            Reply::Flags { flags: f, visited } => {
                w.u8(1).u8(f.tracing_in_progress.into()).u8(f.roots_not_empty.into());
                w.u8(f.ghost_not_empty.into()).u8(f.changed.into()).u64(*visited);
            }
            Reply::Discovered { references, more } => {
                w.u8(2).u8((*more).into()).u32(references.len() as u32);
                for d in references {
                    w.u32(d.reference.0).u32(d.referent.0).u8(encode_kind(d.kind));
                }
            }
            Reply::Marked { entries, more, complete } => {
                w.u8(4).u8((*more).into()).u8((*complete).into());
                w.list(entries.iter().map(|e| e.0));
            }
            Reply::Finished(tables) => tables.encode(w.u8(5)),
            Reply::Classes { classes, more } => {
                w.u8(6).u8((*more).into()).list(classes.iter().map(|klass| klass.0));
            }
            Reply::Failed(why) => {
                w.u8(3).bytes.extend_from_slice(beginning(why));
            }
        }
        w.bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Reply, Malformed> {
        let mut r = Reader::new(bytes);
        let reply = match r.u8()? {
            0 => Reply::Ok,
            1 => Reply::Flags {
                flags: Flags {
                    tracing_in_progress: r.bool()?,
                    roots_not_empty: r.bool()?,
                    ghost_not_empty: r.bool()?,
                    changed: r.bool()?,
                },
                visited: r.u64()?,
            },
            2 => {
                let (more, count) = (r.bool()?, r.u32()? as usize);
                if count > DISCOVERED_MAX {
                    return Err(Malformed("too many references"));
                }
                let one = |_| -> Result<Discovered, Malformed> {
                    let reference = EntryIndex(r.u32()?);
                    let referent = EntryIndex(r.u32()?);
                    Ok(Discovered { reference, referent, kind: decode_kind(r.u8()?)? })
                };
                let references = (0..count).map(one).collect::<Result<_, _>>()?;
                Reply::Discovered { references, more }
            }
            3 => return Ok(Reply::Failed(String::from_utf8_lossy(&bytes[1..]).into_owned())),
            4 => {
                let (more, complete) = (r.bool()?, r.bool()?);
                let entries = r.list()?.into_iter().map(EntryIndex).collect();
                Reply::Marked { entries, more, complete }
            }
            5 => Reply::Finished(TableBytes::decode(&mut r)?),
            6 => {
                let more = r.bool()?;
                let classes = r.list()?.into_iter().map(KlassId).collect();
                Reply::Classes { classes, more }
            }
            _ => return Err(Malformed("unknown reply")),
        };
        r.end()?;
        Ok(reply)
    }
}

impl Notice {
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        match self {
            Notice::Evacuated { group, top, objects, tablets } => {
                w.u8(0).u32(*group).u64(*top as u64).u32(*objects);
                w.list(tablets.iter().map(|t| t.0));
            }
            Notice::Failed(why) => {
                w.u8(1).bytes.extend_from_slice(beginning(why));
            }
            Notice::Relay { to, message } => {
                w.u8(2).u32(*to).bytes.extend_from_slice(&message.encode());
            }
            Notice::Copied { group } => {
                w.u8(3).u32(*group);
            }
            Notice::Strings(entries) => {
                w.u8(4).list(entries.iter().map(|entry| entry.0));
            }
        }
        w.bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Notice, Malformed> {
        let mut r = Reader::new(bytes);
        let notice = match r.u8()? {
            0 => {
                let (group, top, objects) = (r.u32()?, r.u64()? as usize, r.u32()?);
                let tablets = r.list()?.into_iter().map(TabletId).collect();
                Notice::Evacuated { group, top, objects, tablets }
            }
            1 => return Ok(Notice::Failed(String::from_utf8_lossy(&bytes[1..]).into_owned())),
            2 => {
                let to = r.u32()?;
                return Ok(Notice::Relay { to, message: Mesh::decode(&bytes[5..])? });
            }
            3 => Notice::Copied { group: r.u32()? },
            4 => Notice::Strings(r.list()?.into_iter().map(EntryIndex).collect()),
            _ => return Err(Malformed("unknown notice")),
        };
        r.end()?;
        Ok(notice)
    }
}

impl Relayed {
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.u32(self.from).bytes.extend_from_slice(&self.message.encode());
        w.bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Relayed, Malformed> {
        let from = Reader::new(bytes).u32()?;
        Ok(Relayed { from, message: Mesh::decode(&bytes[4..])? })
    }
}

impl Mesh {
    /// The cycle that it belongs to.
    pub fn cycle(&self) -> u32 {
        match self {
            Mesh::Ghosts { cycle, .. } | Mesh::Acknowledge { cycle } => *cycle,
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        match self {
            Mesh::Ghosts { cycle, entries } => {
                w.u8(0).u32(*cycle).list(entries.iter().map(|e| e.0));
            }
            Mesh::Acknowledge { cycle } => {
                w.u8(1).u32(*cycle);
            }
        }
        w.bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Mesh, Malformed> {
        let mut r = Reader::new(bytes);
        let (kind, cycle) = (r.u8()?, r.u32()?);
        let message = match kind {
            0 => {
                let entries = r.list()?.into_iter().map(EntryIndex).collect();
                Mesh::Ghosts { cycle, entries }
            }
            1 => Mesh::Acknowledge { cycle },
            _ => return Err(Malformed("unknown message between agents")),
        };
        r.end()?;
        Ok(message)
    }
}

/// The part of a reason that is sent: the text that it quotes may be long.
fn beginning(why: &str) -> &[u8] {
    &why.as_bytes()[..why.floor_char_boundary(REASON_BYTES_MAX)]
}

/// How long a layout is in a message, at most.
pub fn layout_bytes(layout: &KlassLayout) -> usize {
    match layout {
        KlassLayout::Instance { refs, .. } | KlassLayout::Mirror { refs, .. } => {
            LAYOUT_HEADER_BYTES + size_of::<u32>() * refs.len()
        }
        KlassLayout::ObjectArray { .. } | KlassLayout::PrimitiveArray { .. } => LAYOUT_HEADER_BYTES,
    }
}

fn encode_job(w: &mut Writer, job: &Evacuation) {
    w.u32(job.group).u32(job.to.0).u64(job.start as u64).u64(job.end as u64);
    w.list(job.from.iter().map(|r| r.0)).list(job.tablets.iter().map(|t| t.0));
}

fn decode_job(r: &mut Reader) -> Result<Evacuation, Malformed> {
    Ok(Evacuation {
        group: r.u32()?,
        to: RegionId(r.u32()?),
        start: r.u64()? as usize,
        end: r.u64()? as usize,
        from: r.list()?.into_iter().map(RegionId).collect(),
        tablets: r.list()?.into_iter().map(TabletId).collect(),
    })
}

fn encode_layout(w: &mut Writer, layout: &KlassLayout) {
    match layout {
        KlassLayout::Instance { bytes, refs, kind } => {
            w.u8(0).u32(*bytes).u8(encode_kind(*kind)).list(refs.iter().copied());
        }
        KlassLayout::Mirror { refs, statics_start, static_refs_at, bytes_at, klass_id_at } => {
            w.u8(1).u32(*statics_start).u32(*static_refs_at).u32(*bytes_at).u32(*klass_id_at);
            w.list(refs.iter().copied());
        }
        KlassLayout::ObjectArray { base } => {
            w.u8(2).u32(*base);
        }
        KlassLayout::PrimitiveArray { base, log2_bytes } => {
            w.u8(3).u32(*base).u8(*log2_bytes);
        }
    }
}

fn decode_layout(r: &mut Reader) -> Result<KlassLayout, Malformed> {
    Ok(match r.u8()? {
        0 => {
            let (bytes, kind) = (r.u32()?, decode_kind(r.u8()?)?);
            KlassLayout::Instance { bytes, refs: r.list()?.into(), kind }
        }
        1 => {
            let (statics_start, static_refs_at) = (r.u32()?, r.u32()?);
            let (bytes_at, klass_id_at) = (r.u32()?, r.u32()?);
            let refs = r.list()?.into();
            KlassLayout::Mirror { refs, statics_start, static_refs_at, bytes_at, klass_id_at }
        }
        2 => KlassLayout::ObjectArray { base: r.u32()? },
        3 => match (r.u32()?, r.u8()?) {
            (base, log2_bytes @ 0..=3) => KlassLayout::PrimitiveArray { base, log2_bytes },
            _ => return Err(Malformed("elements of more than 8 bytes")),
        },
        _ => return Err(Malformed("unknown layout")),
    })
}

fn encode_kind(kind: ReferenceKind) -> u8 {
    match kind {
        ReferenceKind::Strong => 0,
        ReferenceKind::Soft => 1,
        ReferenceKind::Weak => 2,
        ReferenceKind::Final => 3,
        ReferenceKind::Phantom => 4,
    }
}

fn decode_kind(byte: u8) -> Result<ReferenceKind, Malformed> {
    Ok(match byte {
        0 => ReferenceKind::Strong,
        1 => ReferenceKind::Soft,
        2 => ReferenceKind::Weak,
        3 => ReferenceKind::Final,
        4 => ReferenceKind::Phantom,
        _ => return Err(Malformed("unknown kind of reference")),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tables::Table;
    use super::*;
    use crate::hit::EntryWidth;

    fn job() -> Evacuation {
        let (from, tablets) = (vec![RegionId(1), RegionId(2)], vec![TabletId(5)]);
        Evacuation { group: 3, from, to: RegionId(9), start: 9 << 20, end: 10 << 20, tablets }
    }

    fn requests() -> Vec<Request> {
        let instance = |kind| KlassLayout::Instance { bytes: 32, refs: [16, 20].into(), kind };
        let mirror = KlassLayout::Mirror {
            refs: [12].into(),
            statics_start: 64,
            static_refs_at: 40,
            bytes_at: 44,
            klass_id_at: 48,
        };
        let permanent = |layout| (HolderId::PERMANENT, layout);
        vec![
            Request::Configure(HitGeometry::new(10, 20, 3, EntryWidth::Narrow).unwrap()),
            Request::Configure(
                HitGeometry::new(10, 20, 3, EntryWidth::Wide).unwrap().based(1 << 46),
            ),
            Request::Layouts {
                first: 7,
                layouts: vec![
                    (HolderId(u32::MAX), instance(ReferenceKind::Final)),
                    permanent(mirror),
                    permanent(KlassLayout::ObjectArray { base: 12 }),
                    (HolderId(5), KlassLayout::PrimitiveArray { base: 16, log2_bytes: 3 }),
                ],
            },
            Request::ReferenceFields(ReferenceFields {
                referent: 12,
                discovered: 24,
                next: 20,
                soft_timestamp: 32,
            }),
            Request::Strings { klass: 8 },
            Request::BeginTracing {
                cycle: 7,
                by_vm: vec![0, 2],
                ghost_buffer: 9,
                order: MoveOrder::TouchedFirst,
            },
            Request::Roots(vec![EntryIndex(1), EntryIndex(u32::MAX)]),
            Request::Poll,
            Request::TreatReferences(Referents::Follow),
            Request::TreatReferences(Referents::Discover { keep_soft_from_ms: -7 }),
            Request::TakeDiscovered,
            Request::FinishTracing,
            Request::TakeMarked,
            Request::TakeClasses,
            Request::Evacuate(job()),
            Request::CopyAhead(job()),
            Request::ConfigureRegions(RegionMap::from_parts(1 << 40, [24, 9, 2, 8]).unwrap()),
            Request::BeginRound,
            Request::EndRound,
            Request::TraceRegions { regions: vec![RegionId(3), RegionId(8)], tops: vec![2, 700] },
            Request::TraceObjects(vec![8, 1 << 40]),
        ]
    }

    #[test]
    fn requests_survive_the_wire_and_cut_ones_are_refused() {
        for request in requests() {
            let bytes = request.encode();
            assert_eq!(Request::decode(&bytes), Ok(request));
            for cut in 0..bytes.len() {
                assert!(Request::decode(&bytes[..cut]).is_err());
            }
        }
    }

    #[test]
    fn replies_notices_and_mesh_messages_survive_the_wire() {
        let d = Discovered {
            reference: EntryIndex(4),
            referent: EntryIndex(5),
            kind: ReferenceKind::Phantom,
        };
        let flags = Flags { ghost_not_empty: true, ..Flags::default() };
        let mut tables = TableBytes::default();
        Table::ALL.into_iter().for_each(|table| tables.add(table, 1000 + table as u64));
        for reply in [
            Reply::Ok,
            Reply::Flags { flags, visited: 1 << 40 },
            Reply::Discovered { references: vec![d; 3], more: true },
            Reply::Marked { entries: vec![EntryIndex(7)], more: true, complete: false },
            Reply::Finished(tables),
            Reply::Classes { classes: vec![KlassId(7), KlassId(9)], more: true },
            Reply::Failed("why".into()),
        ] {
            assert_eq!(Reply::decode(&reply.encode()), Ok(reply));
        }
        let tablets = vec![TabletId(3)];
        let done = Notice::Evacuated { group: 1, top: 1 << 33, objects: 4, tablets };
        assert_eq!(Notice::decode(&done.encode()), Ok(done));
        let copied = Notice::Copied { group: 7 };
        assert_eq!(Notice::decode(&copied.encode()), Ok(copied));
        let strings = Notice::Strings(vec![EntryIndex(3)]);
        assert_eq!(Notice::decode(&strings.encode()), Ok(strings));
        let ghosts = Mesh::Ghosts { cycle: 2, entries: vec![EntryIndex(9)] };
        assert_eq!(Mesh::decode(&ghosts.encode()), Ok(ghosts.clone()));
        let relay = Notice::Relay { to: 3, message: ghosts.clone() };
        assert_eq!(Notice::decode(&relay.encode()), Ok(relay));
        let relayed = Relayed { from: 1, message: ghosts };
        assert_eq!(Relayed::decode(&relayed.encode()), Ok(relayed.clone()));
        let bytes = relayed.encode();
        (0..bytes.len()).for_each(|cut| assert!(Relayed::decode(&bytes[..cut]).is_err()));
        assert!(Mesh::decode(&[7]).is_err());
    }
}
