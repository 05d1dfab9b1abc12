//! Concurrent tracing of one server's objects (section 3.4.2), in small steps.
//!
//! Depth first, nearly: an object is found by way of its bits, its entry and its header, which lie in three places that
//! are in no cache. So an object waits three times in a ring ([`Ahead`]), until the prefetched line is in the cache:
//! its entry, its header, and the bits of the entries that its slots name. Meanwhile the tracer continues with the
//! objects that it met next.

use super::Ghosts;
use super::bits;
use super::objects::{Objects, SLOT_BYTES};
use super::protocol::{Discovered, MoveOrder, Referents};
use super::seen_classes::SeenClasses;
use super::trace_order::{self, TraceOrder};
use crate::hit::EntryIndex;
use crate::object::layout::{HolderId, KlassLayout, ReferenceKind};
use crate::object::prefetch::Ahead;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// The state of tracing between two steps.
pub struct Tracer {
    pub referents: Referents,
    /// Roots from the VM and entries from other agents, not looked at yet.
    roots: Vec<EntryIndex>,
    /// Marked, not scanned.
    stack: Vec<EntryIndex>,
    /// Slots of the last popped object that are still to be visited: `next..end`, far-space
    /// offsets. The last one comes first, so that the object that the first one names is scanned first.
    slots: Vec<(usize, usize)>,
    /// Popped: their entries were prefetched.
    named: Ahead<EntryIndex, AHEAD>,
    /// The same with their objects' offsets: headers were prefetched.
    coming: Ahead<(EntryIndex, usize), AHEAD>,
    /// The same with sizes: the bits of the entries named by the slots that are visited first were prefetched.
    found: Ahead<Found, AHEAD>,
    discovered: VecDeque<Discovered>,
    /// Of the classes of the objects whose sizes are counted.
    pub classes: SeenClasses,
    /// The entries that were marked since tracing was finished.
    late: Late,
    /// Bytes of marked objects by region of this server.
    live_bytes: Vec<u64>,
    /// Of the objects that were scanned, if it is wanted.
    order: Option<TraceOrder>,
    /// Slots, objects and roots looked at so far.
    visited: u64,
}

/// Marks that the VM has not read with the others. Few, since they are made while the program is stopped.
enum Late {
    /// Tracing has not been finished yet.
    Unwanted,
    Entries(Vec<EntryIndex>),
    /// More than [`LATE_MAX`].
    TooMany,
}

impl Late {
    #[inline]
    fn note(&mut self, entry: EntryIndex) {
        if let Late::Entries(entries) = self {
            if entries.len() == LATE_MAX {
                *self = Late::TooMany;
            } else {
                entries.push(entry);
            }
        }
    }
}

/// To send this many one by one takes about as long as the bits of a large heap.
const LATE_MAX: usize = 1 << 19;

/// An object whose header has been read.
#[derive(Clone, Copy, Default)]
struct Found {
    entry: EntryIndex,
    /// A heap offset.
    offset: usize,
    bytes: usize,
}

/// How many objects, or slots, wait for memory of one kind: about as many lines as a CPU can wait for.
const AHEAD: usize = 8;

/// There are three rings.
const _: () = assert!(trace_order::PLACES_MAX == 3 * AHEAD);

/// Prefetches the bits of an entry; it may have none.
#[inline]
fn ask_for_bits(o: &Objects, entry: EntryIndex) {
    let tablet = entry.tablet();
    bits::ask_for(&o.memory, o.geometry.mark_bits_offset(tablet), entry);
    bits::ask_for(&o.memory, o.geometry.alloc_bits_offset(tablet), entry);
}

impl Tracer {
    pub fn new(objects: &Objects) -> Tracer {
        Tracer {
            referents: Referents::Discover { keep_soft_from_ms: i64::MIN },
            roots: Vec::new(),
            stack: Vec::new(),
            slots: Vec::new(),
            named: Ahead::default(),
            coming: Ahead::default(),
            found: Ahead::default(),
            discovered: VecDeque::new(),
            classes: SeenClasses::default(),
            late: Late::Unwanted,
            live_bytes: vec![0; objects.geometry.regions_per_server()],
            order: None,
            visited: 0,
        }
    }

    pub fn add_roots(&mut self, entries: &[EntryIndex]) {
        self.roots.extend(entries.iter().rev());
    }

    /// From now on, records the order in which objects are to be moved.
    pub fn keep_order(&mut self, objects: &Objects, order: MoveOrder) {
        let (regions, bytes) = (self.live_bytes.len(), objects.geometry.region_bytes());
        let in_order = |touched_first| TraceOrder::new(regions, bytes, touched_first);
        self.order = match order {
            MoveOrder::Address => None,
            MoveOrder::Trace => Some(in_order(false)),
            MoveOrder::TouchedFirst => Some(in_order(true)),
        };
    }

    /// Memory of the order of objects.
    pub fn order_bytes(&self) -> usize {
        self.order.as_ref().map_or(0, TraceOrder::bytes)
    }

    /// All marked objects of this server, if their order was to be kept.
    pub fn order(&mut self) -> Option<&mut TraceOrder> {
        self.order.as_mut()
    }

    /// Whether tracing has been finished in this cycle, for now.
    pub fn is_finished(&self) -> bool {
        !matches!(self.late, Late::Unwanted)
    }

    /// Memory of the lists of what waits.
    pub fn queue_bytes(&self) -> usize {
        let late = match &self.late {
            Late::Entries(entries) => entries.capacity(),
            Late::Unwanted | Late::TooMany => 0,
        };
        let entries = self.roots.capacity() + self.stack.capacity() + late;
        entries * size_of::<EntryIndex>()
            + self.slots.capacity() * size_of::<(usize, usize)>()
            + self.discovered.capacity() * size_of::<Discovered>()
            + self.classes.bytes()
    }

    /// Memory of the count of live bytes.
    pub fn count_bytes(&self) -> usize {
        self.live_bytes.capacity() * size_of::<u64>()
    }

    pub fn has_roots(&self) -> bool {
        !self.roots.is_empty()
    }

    pub fn is_tracing(&self) -> bool {
        !self.stack.is_empty()
            || !self.slots.is_empty()
            || !self.named.is_empty()
            || !self.coming.is_empty()
            || !self.found.is_empty()
    }

    pub fn take_discovered(&mut self, limit: usize) -> Vec<Discovered> {
        let count = limit.min(self.discovered.len());
        self.discovered.drain(..count).collect()
    }

    pub fn has_discovered(&self) -> bool {
        !self.discovered.is_empty()
    }

    /// From now on, records the entries that are marked.
    pub fn keep_late(&mut self) {
        self.late = Late::Entries(Vec::new());
    }

    /// Up to `limit` of the entries that were marked since then and were not taken; whether there are more; and whether
    /// that is all, or there were too many.
    pub fn take_late(&mut self, limit: usize) -> (Vec<EntryIndex>, bool, bool) {
        match &mut self.late {
            Late::Entries(entries) => {
                let taken = entries.split_off(entries.len().saturating_sub(limit));
                (taken, !entries.is_empty(), true)
            }
            Late::Unwanted | Late::TooMany => {
                self.keep_late();
                (Vec::new(), false, false)
            }
        }
    }

    /// Writes the live bytes of this server's regions, and the jumps within them, to the far space.
    pub fn publish(&self, objects: &Objects) {
        let first = objects.me * objects.geometry.regions_per_server();
        // The last server may have fewer regions than the others.
        let count = objects.geometry.regions().saturating_sub(first);
        for (i, bytes) in self.live_bytes.iter().enumerate().take(count) {
            let region = crate::hit::RegionId((first + i) as u32);
            let at = objects.geometry.live_bytes_offset(region);
            objects.memory.word(at).store(*bytes, Ordering::Release);
            let jumps = self.order.as_ref().map_or(0, |order| order.jumps(i));
            objects
                .memory
                .word(objects.geometry.jumps_offset(region))
                .store(jumps, Ordering::Release);
        }
    }

    /// Visits up to `limit` slots and roots. An error means that the heap is broken.
    pub fn step(&mut self, o: &Objects, ghosts: &mut Ghosts, limit: usize) -> Result<(), String> {
        let mut left = limit;
        while left > 0 {
            if let Some((next, end)) = self.slots.last_mut() {
                let stop = *next.max(&mut end.saturating_sub(left * SLOT_BYTES));
                let from = std::mem::replace(end, stop);
                if *next == *end {
                    self.slots.pop();
                }
                for at in (stop..from).step_by(SLOT_BYTES).rev() {
                    if at >= stop + AHEAD * SLOT_BYTES {
                        ask_for_bits(o, o.slot(at - AHEAD * SLOT_BYTES));
                    }
                    self.visit(o, ghosts, o.slot(at))?;
                }
                left -= (from - stop) / SLOT_BYTES;
                continue;
            }
            if let Some(entry) = self.stack.pop() {
                o.memory.ask_for(o.geometry.entry_offset(entry));
                if let Some(entry) = self.named.exchange(entry) {
                    self.look_up(o, ghosts, entry)?;
                }
            } else if let Some(entry) = self.roots.pop() {
                self.visit(o, ghosts, entry)?;
                if let Some(later) = self.roots.len().checked_sub(AHEAD) {
                    ask_for_bits(o, self.roots[later]);
                }
            } else if let Some(entry) = self.named.pop() {
                self.look_up(o, ghosts, entry)?;
            } else if let Some((entry, offset)) = self.coming.pop() {
                self.size(o, ghosts, entry, offset)?;
            } else if let Some(object) = self.found.pop() {
                self.scan(o, ghosts, object)?;
            } else {
                break;
            }
            left -= 1;
        }
        self.visited += (limit - left) as u64;
        Ok(())
    }

    /// The amount of work done in this cycle: it grows while the agent is at work.
    pub fn visited(&self) -> u64 {
        self.visited
    }

    /// The contents of the entry are in the cache. Prefetches the header, and continues with another object whose
    /// header is in the cache.
    #[inline]
    fn look_up(
        &mut self,
        o: &Objects,
        ghosts: &mut Ghosts,
        entry: EntryIndex,
    ) -> Result<(), String> {
        let offset = o.entry(entry)?;
        o.memory.ask_for(offset);
        match self.coming.exchange((entry, offset)) {
            Some((entry, offset)) => self.size(o, ghosts, entry, offset),
            None => Ok(()),
        }
    }

    /// Marks the object of a slot or root, locally or by way of its server.
    #[inline]
    fn visit(&mut self, o: &Objects, ghosts: &mut Ghosts, entry: EntryIndex) -> Result<(), String> {
        if entry.is_null() {
            return Ok(());
        }
        let tablet = entry.tablet();
        if tablet.0 as usize >= o.geometry.tablets() {
            // The VM knows what young objects refer to; a table so large that it has such entries has no young objects.
            if entry.is_young() {
                return Ok(());
            }
            return Err(format!("a slot holds {entry:?}, and there is no such tablet"));
        }
        if !o.is_mine(tablet) {
            if bits::mark(&o.memory, &o.geometry, entry) {
                ghosts.push(o.geometry.tablet_server(tablet), entry);
            }
        } else if bits::in_snapshot(&o.memory, &o.geometry, entry)
            && bits::mark(&o.memory, &o.geometry, entry)
        {
            self.late.note(entry);
            self.stack.push(entry);
        }
        Ok(())
    }

    /// The header of a marked entry's object, at this offset, is in the cache. Counts the object, notes its class if it
    /// can be unloaded, prefetches the bits of the entries that its last slots name, which are visited first, and
    /// continues with another object whose bits are in the cache.
    fn size(
        &mut self,
        o: &Objects,
        ghosts: &mut Ghosts,
        entry: EntryIndex,
        offset: usize,
    ) -> Result<(), String> {
        o.check(entry, offset)?;
        let (holder, layout) = o.holder_and_layout(offset)?;
        let bytes = o.bytes(offset, layout)?;
        if *holder != HolderId::PERMANENT {
            self.classes.note(o.klass(offset));
        }
        if let KlassLayout::Mirror { klass_id_at, .. } = layout
            && let Some(klass) = o.mirrored_klass(offset, *klass_id_at)?
            && o.holder(klass) != Some(HolderId::PERMANENT)
        {
            self.classes.note(klass);
        }
        let region = o.geometry.region_of(offset).0 as usize;
        let region = region - o.me * o.geometry.regions_per_server();
        self.live_bytes[region] += bytes as u64;
        if let Some(order) = &mut self.order {
            let is_touched = order.touched_first && bits::is_touched(&o.memory, &o.geometry, entry);
            order.note(region, entry, offset % o.geometry.region_bytes(), bytes, is_touched);
        }
        o.slot_ranges(offset, layout, |from, to| {
            let to = to.min(offset + bytes);
            // The last ones are visited first.
            let first = from.max(to.saturating_sub(AHEAD * SLOT_BYTES));
            (first..to).step_by(SLOT_BYTES).for_each(|at| ask_for_bits(o, o.slot(at)));
        });
        match self.found.exchange(Found { entry, offset, bytes }) {
            Some(object) => self.scan(o, ghosts, object),
            None => Ok(()),
        }
    }

    fn scan(&mut self, o: &Objects, ghosts: &mut Ghosts, object: Found) -> Result<(), String> {
        let Found { entry, offset, bytes } = object;
        let layout = o.layout(offset)?;
        let slots = &mut self.slots;
        o.slot_ranges(offset, layout, |from, to| {
            if from < to {
                slots.push((from, to));
            }
        });
        if let Some((from, to)) = self.slots.iter().find(|(_, to)| *to > offset + bytes) {
            return Err(format!("slots {from:#x}..{to:#x} of an object at {offset:#x}+{bytes}"));
        }
        match layout {
            KlassLayout::Instance { kind: ReferenceKind::Strong, .. } => Ok(()),
            KlassLayout::Instance { kind, .. } => {
                self.scan_reference(o, ghosts, entry, (offset, bytes), *kind)
            }
            _ => Ok(()),
        }
    }

    /// The referent of an active reference is reported, not followed; an inactive one is an
    /// ordinary object, whose `discovered` links the list of pending references.
    fn scan_reference(
        &mut self,
        o: &Objects,
        ghosts: &mut Ghosts,
        reference: EntryIndex,
        (offset, bytes): (usize, usize),
        kind: ReferenceKind,
    ) -> Result<(), String> {
        let fields = o.reference_fields(bytes, kind)?;
        let slot = |field: u32| o.slot(offset + field as usize);
        let referent = slot(fields.referent);
        let is_active = slot(fields.next).is_null() && !referent.is_null();
        let is_followed = match self.referents {
            Referents::Follow => true,
            Referents::Discover { keep_soft_from_ms } => {
                // The timestamp may be older than the one in the VM; the object is then kept by the
                // log, since a thread that reads a referent logs it.
                kind == ReferenceKind::Soft
                    && o.i64(offset + fields.soft_timestamp as usize) >= keep_soft_from_ms
            }
        };
        let is_old = (referent.tablet().0 as usize) < o.geometry.tablets();
        if is_active && !is_followed && is_old {
            self.discovered.push_back(Discovered { reference, referent, kind });
            return Ok(());
        }
        self.visit(o, ghosts, referent)?;
        self.visit(o, ghosts, slot(fields.discovered))
    }
}
