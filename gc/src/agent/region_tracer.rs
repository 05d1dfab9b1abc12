//! Tracing of one server's old regions, each on its own (Semeru).
//!
//! The VM says which regions, up to where (the *snapshot*), and which of their objects to begin with (*roots*): those
//! that something outside of their region may refer to. The agent follows references that stay inside of a region and
//! ignores all others, so no agent ever asks another one, and a region is a piece of work of its own.
//!
//! **What an agent may trust.** Everything of a region below its snapshot: the VM has written its pages back after the
//! snapshot was taken, and no object there is made, moved or freed before the round ends. Slots change meanwhile, one
//! whole word at a time. A slot that holds an address of the same region below the snapshot names an object there,
//! since nothing else was ever written to it; any other word is ignored.

use super::objects::{Objects, Shape};
use super::protocol::{Flags, Mesh, Request};
use super::region_map::RegionMap;
use super::tables::{Meter, Table, TableBytes};
use super::termination::FlagWatch;
use super::{Message, Reply, Work};
use crate::object::codec::{NarrowCodec, SlotCodec, SlotWidth};
use crate::object::geometry::RegionId;
use crate::object::layout::{KlassLayout, ReferenceKind};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// The state between two steps.
pub struct RegionTracer {
    objects: Objects<RegionMap>,
    /// By region: bytes below which it is traced in this round, 0 for a region that is not.
    snapshot: Vec<usize>,
    /// By region: bytes of marked objects.
    live_bytes: Vec<u64>,
    /// Regions whose roots were not all looked at, and the next word of their bits.
    queue: VecDeque<(RegionId, usize)>,
    /// Roots that came later: heap offsets.
    roots: Vec<u64>,
    /// Marked, not scanned.
    stack: Vec<usize>,
    /// Slots of the last popped object that are still to be visited: `next..end`, heap offsets.
    slots: Vec<(usize, usize)>,
    /// Grows with tracing: slots, objects and words of roots.
    visited: u64,
    watch: FlagWatch,
    meter: Meter,
    /// The tables were measured in this round, or shortly before it.
    is_measured: bool,
}

impl Shape for RegionMap {
    #[inline]
    fn slot_bytes(&self) -> usize {
        self.slot_width().bytes()
    }

    fn heap_bytes(&self) -> usize {
        self.heap_bytes()
    }

    fn far_bytes(&self) -> usize {
        self.far_bytes()
    }

    fn servers(&self) -> usize {
        self.servers()
    }
}

impl RegionTracer {
    pub fn new(objects: Objects<RegionMap>) -> RegionTracer {
        let regions = objects.geometry.regions();
        RegionTracer {
            objects,
            snapshot: vec![0; regions],
            live_bytes: vec![0; regions],
            queue: VecDeque::new(),
            roots: Vec::new(),
            stack: Vec::new(),
            slots: Vec::new(),
            visited: 0,
            watch: FlagWatch::default(),
            meter: Meter::default(),
            is_measured: false,
        }
    }

    /// Forgets the last round, also one that has not ended.
    fn begin(&mut self) -> Result<(), String> {
        let map = self.objects.geometry;
        let (from, to) = (map.marks_at(), map.live_bytes_at());
        self.objects.memory.punch(from, to - from)?;
        self.forget();
        self.is_measured = false;
        Ok(())
    }

    /// From now on nothing of the heap is looked at before the next round.
    fn forget(&mut self) {
        self.snapshot.fill(0);
        self.live_bytes.fill(0);
        self.queue.clear();
        self.roots.clear();
        self.stack.clear();
        self.slots.clear();
    }

    fn add_regions(&mut self, regions: &[RegionId], tops: &[u32]) -> Result<(), String> {
        let map = self.objects.geometry;
        for (region, words) in regions.iter().zip(tops) {
            let bytes = *words as usize * 8;
            let is_mine = region.index() < map.regions() && map.server(*region) == self.objects.me;
            if !is_mine || bytes == 0 || bytes > map.region_bytes() {
                return Err(format!("{region:?} with {bytes} bytes is not this agent's"));
            }
            if self.snapshot[region.index()] != 0 {
                return Err(format!("{region:?} was added twice"));
            }
            self.snapshot[region.index()] = bytes;
            self.queue.push_back((*region, 0));
        }
        Ok(())
    }

    /// Measures the memory of all tables, unless it was done just now.
    fn measure(&mut self) {
        let queues = self.queue.capacity() * size_of::<(RegionId, usize)>()
            + self.roots.capacity() * size_of::<u64>()
            + self.stack.capacity() * size_of::<usize>()
            + self.slots.capacity() * size_of::<(usize, usize)>();
        let of_regions = self.snapshot.capacity() * size_of::<usize>()
            + self.live_bytes.capacity() * size_of::<u64>();
        let Objects { memory, geometry, .. } = &self.objects;
        self.meter.measure(|| {
            let mut all = TableBytes::default();
            for (table, from, to) in [
                (Table::RootBits, geometry.roots_at(), geometry.marks_at()),
                (Table::MarkBits, geometry.marks_at(), geometry.live_bytes_at()),
                (Table::RegionFigures, geometry.live_bytes_at(), geometry.far_bytes()),
            ] {
                all.add(table, memory.taken_bytes(from, to - from));
            }
            all.add(Table::RegionFigures, of_regions as u64);
            all.add(Table::Queues, queues as u64);
            all
        });
    }

    fn publish_live_bytes(&self) {
        let Objects { memory, geometry, .. } = &self.objects;
        for (region, bytes) in self.live_bytes.iter().enumerate() {
            let at = geometry.live_bytes_offset(RegionId(region as u32));
            memory.word(at).store(*bytes, Ordering::Release);
        }
    }

    /// Visits up to `limit` slots, roots and words of roots. An error means that the heap is broken.
    fn trace(&mut self, limit: usize) -> Result<(), String> {
        let mut left = limit;
        let slot_bytes = self.objects.geometry.slot_bytes();
        while left > 0 {
            if let Some((next, end)) = self.slots.last_mut() {
                let stop = *end.min(&mut (*next + left * slot_bytes));
                let from = std::mem::replace(next, stop);
                if *next == *end {
                    self.slots.pop();
                }
                for at in (from..stop).step_by(slot_bytes) {
                    self.visit(at);
                }
                left -= (stop - from) / slot_bytes;
            } else if let Some(object) = self.stack.pop() {
                self.scan(object)?;
                left -= 1;
            } else if let Some(root) = self.roots.pop() {
                self.visit_root(root)?;
                left -= 1;
            } else if let Some((region, word)) = self.queue.front_mut() {
                let (region, word) = (*region, std::mem::replace(word, *word + 1));
                if (word + 1) * 512 >= self.snapshot[region.index()] {
                    self.queue.pop_front();
                }
                self.visit_roots(region, word);
                left -= 1;
            } else {
                break;
            }
        }
        self.visited += (limit - left) as u64;
        Ok(())
    }

    /// Marks the object that a slot refers to, if it is in the slot's own region.
    #[inline]
    fn visit(&mut self, slot: usize) {
        let map = &self.objects.geometry;
        let memory = &self.objects.memory;
        let address = match map.slot_width() {
            SlotWidth::Narrow => NarrowCodec.decode(memory.u32(slot).into()).address() as u64,
            SlotWidth::Wide => memory.word(slot).load(Ordering::Acquire),
        };
        let Some(target) = map.offset_of(address) else { return };
        if map.region_of(target) == map.region_of(slot) && target.is_multiple_of(8) {
            self.mark(target);
        }
    }

    fn visit_root(&mut self, root: u64) -> Result<(), String> {
        let map = &self.objects.geometry;
        let is_traced = root.is_multiple_of(8)
            && root < map.heap_bytes() as u64
            && self.snapshot[map.region_of(root as usize).index()] > 0;
        if !is_traced {
            return Err(format!("a root at {root:#x}, outside of the traced regions"));
        }
        self.mark(root as usize);
        Ok(())
    }

    /// One word of the roots of a region.
    fn visit_roots(&mut self, region: RegionId, word: usize) {
        let Objects { memory, geometry, .. } = &self.objects;
        let at = geometry.roots_offset(region) + 8 * word;
        let mut bits = memory.word(at).load(Ordering::Relaxed);
        let start = geometry.region_offset(region) + word * 512;
        while bits != 0 {
            self.mark(start + 8 * bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }

    /// Marks an object of a region that is traced, unless it is newer than the snapshot.
    #[inline]
    fn mark(&mut self, object: usize) {
        let Objects { memory, geometry, .. } = &self.objects;
        let region = geometry.region_of(object);
        let within = object - geometry.region_offset(region);
        if within >= self.snapshot[region.index()] {
            return;
        }
        let word = memory.word(geometry.marks_offset(region) + within / 512 * 8);
        let bit = 1 << (within / 8 % 64);
        let before = word.load(Ordering::Relaxed);
        if before & bit == 0 {
            // One thread of one agent marks, and the VM only reads.
            word.store(before | bit, Ordering::Relaxed);
            self.stack.push(object);
        }
    }

    fn scan(&mut self, object: usize) -> Result<(), String> {
        let o = &self.objects;
        let region = o.geometry.region_of(object);
        let end = o.geometry.region_offset(region) + self.snapshot[region.index()];
        let layout = o.layout(object)?;
        let bytes = o.bytes(object, layout)?;
        if bytes > end - object {
            return Err(format!(
                "the object at {object:#x} has {bytes} bytes, and its region ends"
            ));
        }
        self.live_bytes[region.index()] += bytes as u64;
        let slots = &mut self.slots;
        o.slot_ranges(object, layout, |from, to| {
            if from < to {
                slots.push((from, to));
            }
        });
        if let KlassLayout::Instance { kind, .. } = layout
            && *kind != ReferenceKind::Strong
        {
            let fields = o.reference_fields(bytes, *kind)?;
            // All references are strong for the agent: whether a referent lives, its own region knows.
            for at in [fields.referent, fields.discovered] {
                let slot = object + at as usize;
                self.slots.push((slot, slot + o.geometry.slot_bytes()));
            }
        }
        if let Some((from, to)) = self.slots.iter().find(|(_, to)| *to > object + bytes) {
            return Err(format!("slots {from:#x}..{to:#x} of an object at {object:#x}+{bytes}"));
        }
        Ok(())
    }

    fn is_tracing(&self) -> bool {
        !self.stack.is_empty() || !self.slots.is_empty() || !self.queue.is_empty()
    }

    fn flags(&self) -> Flags {
        Flags {
            tracing_in_progress: self.is_tracing(),
            roots_not_empty: !self.roots.is_empty(),
            ..Flags::default()
        }
    }
}

impl Work for RegionTracer {
    fn request(&mut self, request: Request) -> Result<Reply, String> {
        match request {
            Request::Layouts { first, layouts } => self.objects.add_layouts(first, layouts)?,
            Request::ReferenceFields(fields) => self.objects.fields = Some(fields),
            Request::BeginRound => self.begin()?,
            Request::EndRound => self.forget(),
            Request::TraceRegions { regions, tops } => self.add_regions(&regions, &tops)?,
            Request::TraceObjects(offsets) => self.roots.extend(offsets),
            Request::Poll => {
                let now = self.flags();
                return Ok(Reply::Flags { flags: self.watch.poll(now), visited: self.visited });
            }
            Request::FinishTracing => {
                if self.flags() != Flags::default() {
                    return Err("a round ends before tracing has finished".into());
                }
                self.publish_live_bytes();
                // Later in a round the program waits.
                if !std::mem::replace(&mut self.is_measured, true) {
                    self.measure();
                }
                return Ok(Reply::Finished(self.meter.found()));
            }
            other => return Err(format!("{other:?} of an agent that traces regions")),
        }
        self.watch.note(self.flags());
        Ok(Reply::Ok)
    }

    fn receive(&mut self, from: usize, message: Mesh) -> Result<Option<Message>, String> {
        Err(format!(
            "server {from} sent {message:?}, but agents that trace regions send each other nothing"
        ))
    }

    fn step(&mut self, _outbox: &mut VecDeque<Message>) -> Result<bool, String> {
        let flags = self.flags();
        let worked = flags != Flags::default();
        if worked {
            self.trace(super::STEP_SLOTS)?;
            self.watch.note(self.flags());
        }
        Ok(worked)
    }
}
