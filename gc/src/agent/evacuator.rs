//! Concurrent evacuation of a group of regions into one (section 3.4.3), on the server that holds
//! them.
//!
//! The VM has written every page of the from-regions and of the tablets back, mapped none of the
//! tablets' pages since, and moved all objects that a mutator can reach without these tablets. The objects left in the
//! from-regions belong to this agent alone until it reports that it is done.
//!
//! **Copying ahead** (not of the paper) takes most of that out of the time in which no mutator may use the tablets.
//! From-regions are no longer written, so their objects can be copied while mutators still read the entries and move
//! the objects that they meet. Then only one step is left for the time without them: those entries that still name the
//! original are made to name the copy. The copies of the others are garbage. The tablets may come one
//! part after the other for that. An entry that is read by the agent while the program uses it may be older than the
//! one that the VM has, which costs a copy.

use super::objects::Objects;
use super::protocol::Evacuation;
use super::strings::Strings;
use super::trace_order::TraceOrder;
use crate::hit::{EntryIndex, HitGeometry, TABLET_WORDS, TabletId};
use crate::object::VALUE_OFFSET;
use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::Ordering;
use swap::PAGE_BYTES;

/// The result of an evacuation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evacuated {
    /// Heap offset behind the last object in the to-region, or behind the last copy.
    pub top: usize,
    pub objects: u32,
    /// The tablets that had entries of these objects, in the order of the request.
    pub tablets: Vec<TabletId>,
}

impl Evacuated {
    /// Whether this can be the answer to `job`, from any sender. Objects that were copied ahead may have been copied
    /// in vain.
    pub fn check(
        &self,
        job: &Evacuation,
        geometry: &HitGeometry,
        ahead: bool,
    ) -> Result<(), &'static str> {
        let end = geometry.region_offset(job.to) + geometry.region_bytes();
        if self.top < job.start || self.top > job.end.min(end) || !self.top.is_multiple_of(8) {
            return Err("an end outside of the region");
        }
        let is_empty = self.top == job.start;
        if is_empty && self.objects != 0 || !is_empty && self.objects == 0 && !ahead {
            return Err("objects without bytes or bytes without objects");
        }
        let mut given = job.tablets.iter();
        if !self.tablets.iter().all(|tablet| given.any(|one| one == tablet)) {
            return Err("tablets that it was not given");
        }
        Ok(())
    }
}

/// The objects that were copied ahead.
pub struct Copies {
    job: Evacuation,
    /// The tablets that have not come yet.
    left: BTreeSet<TabletId>,
    /// Objects in the order in which they were copied, and perhaps others.
    entries: Vec<EntryIndex>,
    /// In the order of their entries.
    moves: Vec<Move>,
    /// Behind the last copy.
    top: usize,
}

/// An object and its copy, as places.
struct Move {
    entry: EntryIndex,
    from: u64,
    to: u64,
}

impl Copies {
    /// Copies the marked objects that are left in the from-regions, in the `order` of tracing or else in that of their
    /// addresses.
    pub fn make(
        o: &Objects,
        job: Evacuation,
        order: Option<&mut TraceOrder>,
        strings: &mut Strings,
    ) -> Result<Copies, String> {
        check(o, &job)?;
        let entries = living(o, &job, order)?;
        let mut moves = Vec::with_capacity(entries.len());
        let top = move_all(o, &job, &entries, strings, |copy| {
            moves.push(copy);
            Ok(())
        })?;
        moves.sort_unstable_by_key(|copy| copy.entry.0);
        let left = job.tablets.iter().copied().collect();
        Ok(Copies { job, left, entries, moves, top })
    }

    pub fn group(&self) -> u32 {
        self.job.group
    }

    /// Memory of the lists of objects.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<EntryIndex>()
            + self.moves.capacity() * size_of::<Move>()
    }

    /// Whether all tablets have come.
    pub fn are_done(&self) -> bool {
        self.left.is_empty()
    }

    /// Does the same as [`evacuate`], for a part of the tablets that has not come yet. If nothing but entries has
    /// changed, there is nothing left to be done but to name the copies. If the agent's part of the to-region has, all
    /// tablets must come.
    pub fn settle(
        &mut self,
        o: &Objects,
        job: &Evacuation,
        strings: &mut Strings,
    ) -> Result<Evacuated, String> {
        let is_left = job.tablets.iter().all(|tablet| self.left.remove(tablet));
        let is_same = *job == Evacuation { tablets: job.tablets.clone(), ..self.job.clone() };
        if is_same && is_left {
            let mut named = Named::new(o, job);
            for tablet in &job.tablets {
                let first = self.moves.partition_point(|copy| copy.entry.0 < tablet.entry(0).0);
                let mut of_tablet =
                    self.moves[first..].iter().take_while(|copy| copy.entry.tablet() == *tablet);
                of_tablet.try_for_each(|copy| named.name_if_unmoved(copy))?;
            }
            return Ok(named.done(self.top));
        }
        let same_but_start = Evacuation { start: self.job.start, ..job.clone() };
        if same_but_start != self.job || !is_left || !self.are_done() {
            return Err(format!("{:?} was copied ahead, not {job:?}", self.job));
        }
        check(o, job)?;
        evacuate_all(o, job, &self.entries, strings)
    }
}

/// Moves the marked objects that are left in the from-regions, in the `order` of tracing or else in that of their
/// addresses, and updates their entries. The rest of the last page written is zeroed: the VM allocates behind
/// `top`.
pub fn evacuate(
    o: &Objects,
    job: &Evacuation,
    order: Option<&mut TraceOrder>,
    strings: &mut Strings,
) -> Result<Evacuated, String> {
    check(o, job)?;
    let entries = living(o, job, order)?;
    evacuate_all(o, job, &entries, strings)
}

fn evacuate_all(
    o: &Objects,
    job: &Evacuation,
    entries: &[EntryIndex],
    strings: &mut Strings,
) -> Result<Evacuated, String> {
    let mut named = Named::new(o, job);
    let top = move_all(o, job, entries, strings, |copy| named.name(&copy))?;
    Ok(named.done(top))
}

/// The objects that were moved for good.
struct Named<'a> {
    o: &'a Objects,
    job: &'a Evacuation,
    objects: u32,
    /// The first of the tablets that were given.
    first_tablet: u32,
    /// By tablet, from that one to the last one that was given: an entry of it has changed.
    is_served: Vec<bool>,
}

impl<'a> Named<'a> {
    fn new(o: &'a Objects, job: &'a Evacuation) -> Named<'a> {
        let numbers = || job.tablets.iter().map(|tablet| tablet.0);
        let (first, end) =
            (numbers().min().unwrap_or(0), numbers().max().map_or(0, |last| last + 1));
        let is_served = vec![false; (end - first) as usize];
        Named { o, job, objects: 0, first_tablet: first, is_served }
    }

    /// Has the entry name the copy.
    fn name(&mut self, copy: &Move) -> Result<(), String> {
        let tablet = copy.entry.tablet().0.wrapping_sub(self.first_tablet);
        let Some(is_served) = self.is_served.get_mut(tablet as usize) else {
            return Err(format!("{:?} is of no tablet that was given", copy.entry));
        };
        *is_served = true;
        self.objects += 1;
        self.o.memory.set_place(&self.o.geometry, copy.entry, copy.to);
        Ok(())
    }

    /// The same, unless the VM has moved the object.
    fn name_if_unmoved(&mut self, copy: &Move) -> Result<(), String> {
        match self.o.memory.place(&self.o.geometry, copy.entry) == copy.from {
            true => self.name(copy),
            false => Ok(()),
        }
    }

    fn done(self, top: usize) -> Evacuated {
        let is_served = |tablet: &TabletId| self.is_served[(tablet.0 - self.first_tablet) as usize];
        let tablets = self.job.tablets.iter().copied().filter(is_served).collect();
        Evacuated { top, objects: self.objects, tablets }
    }
}

/// Copies those of these objects that are in from-regions to where the agent may write, one behind the other, and
/// passes each to `then`. Returns the end; the rest of the last page is zero.
fn move_all(
    o: &Objects,
    job: &Evacuation,
    entries: &[EntryIndex],
    strings: &mut Strings,
    mut then: impl FnMut(Move) -> Result<(), String>,
) -> Result<usize, String> {
    let first = o.me * o.geometry.regions_per_server();
    let mut is_from = vec![false; o.geometry.regions_per_server()];
    job.from.iter().for_each(|region| is_from[region.index() - first] = true);
    let (mut top, mut reserved) = (job.start, job.start);
    let mut batch = [(EntryIndex::NULL, 0); BATCH];
    for entries in entries.chunks(BATCH) {
        let mut count = 0;
        for entry in entries {
            let offset = o.entry(*entry)?;
            // Objects that the VM moved are not ours.
            if is_from[o.geometry.region_of(offset).index() - first] {
                batch[count] = (*entry, offset);
                count += 1;
            }
        }
        // Reads of a batch that do not wait for each other: their cache misses overlap.
        let mut headers = [0; BATCH];
        for (header, (_, offset)) in headers.iter_mut().zip(&batch[..count]) {
            *header = o.memory.u32(offset + VALUE_OFFSET);
        }
        for ((entry, offset), header) in batch[..count].iter().zip(headers) {
            if header != entry.0 {
                return Err(format!("the object of {entry:?} at {offset:#x} names entry {header}"));
            }
            let to = top;
            let bytes = object_bytes(o, *offset, to, job.end)?;
            top += bytes;
            if top > reserved {
                let end = top.next_multiple_of(RESERVED_BYTES).min(job.end);
                o.memory.reserve(reserved, end - reserved)?;
                reserved = end;
            }
            o.memory.copy(*offset, to, bytes);
            strings.meet(o, *entry, to);
            let place = |offset: usize| o.geometry.place(offset);
            then(Move { entry: *entry, from: place(*offset), to: place(to) })?;
        }
    }
    o.memory.zero(top, top.next_multiple_of(PAGE_BYTES) - top);
    Ok(top)
}

/// Objects that are looked up together.
const BATCH: usize = 16;
/// Memory of a pool that is reserved at once, up to a multiple of this.
const RESERVED_BYTES: usize = 256 << 10;

/// Entries of the marked objects of the from-regions, and perhaps of others, in the order in which the objects are to
/// lie.
fn living(
    o: &Objects,
    job: &Evacuation,
    order: Option<&mut TraceOrder>,
) -> Result<Vec<EntryIndex>, String> {
    let first = o.me * o.geometry.regions_per_server();
    match order {
        Some(order) => Ok(order.take(job.from.iter().map(|region| region.index() - first))),
        None => by_address(o, job),
    }
}

fn by_address(o: &Objects, job: &Evacuation) -> Result<Vec<EntryIndex>, String> {
    let region_bytes = o.geometry.region_bytes();
    // By region of this server, for from-regions: a bit for each place where an object begins.
    let first = o.me * o.geometry.regions_per_server();
    let mut starts: Vec<Vec<u64>> = vec![Vec::new(); o.geometry.regions_per_server()];
    for region in &job.from {
        starts[region.index() - first] = vec![0; region_bytes / 8 / 64];
    }
    for tablet in &job.tablets {
        for word in 0..TABLET_WORDS {
            let marks = o.geometry.mark_bits_offset(*tablet) + word * 8;
            let mut live = o.memory.word(marks).load(Ordering::Relaxed);
            while live != 0 {
                let entry = tablet.entry(word * 64 + live.trailing_zeros() as usize);
                live &= live - 1;
                let offset = o.entry(entry)?;
                let region = o.geometry.region_of(offset);
                // Objects that the VM moved, and those of other regions, are not ours; the latter may have been freed
                // long ago.
                let granule = offset % region_bytes / 8;
                if let Some(starts) = starts
                    .get_mut(region.index().wrapping_sub(first))
                    .and_then(|starts| starts.get_mut(granule / 64))
                {
                    *starts |= 1 << (granule % 64);
                }
            }
        }
    }
    let mut entries = Vec::new();
    for region in &job.from {
        for (i, word) in starts[region.index() - first].iter().enumerate() {
            let mut word = *word;
            while word != 0 {
                let granule = i * 64 + word.trailing_zeros() as usize;
                word &= word - 1;
                let from = o.geometry.region_offset(*region) + granule * 8;
                entries.push(EntryIndex(o.memory.u32(from + VALUE_OFFSET)));
            }
        }
    }
    Ok(entries)
}

/// The size of an object that is to be copied to `to`, where there is room up to `limit`.
fn object_bytes(o: &Objects, from: usize, to: usize, limit: usize) -> Result<usize, String> {
    let bytes = o.bytes(from, o.layout(from)?)?;
    let region_bytes = o.geometry.region_bytes();
    if from % region_bytes + bytes > region_bytes {
        return Err(format!("the object at {from:#x}+{bytes} is in two regions"));
    }
    if bytes > limit - to {
        return Err(format!("no room for {bytes} bytes at {to:#x} before {limit:#x}"));
    }
    Ok(bytes)
}

fn check(o: &Objects, job: &Evacuation) -> Result<(), String> {
    let (geometry, me) = (&o.geometry, o.me);
    let is_mine = |r: &crate::hit::RegionId| {
        (r.0 as usize) < geometry.regions() && geometry.region_server(*r) == me
    };
    let tablets_are_mine = job.tablets.iter().all(|tablet| o.is_mine(*tablet));
    let regions_are_mine = is_mine(&job.to) && job.from.iter().all(is_mine);
    // A region that is named often would take memory as often.
    let mut named = HashSet::new();
    let is_new = |r: &crate::hit::RegionId| named.insert(r.0);
    let sound = tablets_are_mine
        && job.from.len() <= geometry.regions_per_server()
        && job.from.iter().all(is_new)
        && regions_are_mine
        && !job.from.contains(&job.to)
        && job.start.is_multiple_of(PAGE_BYTES)
        && job.start >= geometry.region_offset(job.to)
        && job.start <= job.end
        && job.end.is_multiple_of(PAGE_BYTES)
        && job.end <= geometry.region_offset(job.to) + geometry.region_bytes();
    if sound { Ok(()) } else { Err(format!("server {me} cannot evacuate {job:?}")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hit::{EntryWidth, RegionId};

    #[test]
    fn answers_that_no_agent_gives_are_refused() {
        let geometry = HitGeometry::new(8, 16, 1, EntryWidth::Narrow).unwrap();
        let start = geometry.region_offset(RegionId(3)) + 4096;
        let (from, tablets) = (vec![RegionId(1)], vec![TabletId(1), TabletId(2)]);
        let end = geometry.region_offset(RegionId(4)) - 8192;
        let job = Evacuation { group: 1, from, to: RegionId(3), start, end, tablets };
        let ahead = std::cell::Cell::new(false);
        let answer = |top, objects, tablets: &[u32]| {
            let tablets = tablets.iter().map(|t| TabletId(*t)).collect();
            Evacuated { top, objects, tablets }.check(&job, &geometry, ahead.get())
        };
        assert_eq!(answer(start, 0, &[]), Ok(()));
        assert_eq!(answer(start + 64, 2, &[1]), Ok(()));
        assert_eq!(answer(end, 2, &[1, 2]), Ok(()));
        for (top, objects, tablets) in [
            (start - 8, 1, &[][..]),
            (0, 1, &[]),
            (end + 8, 1, &[]),
            (usize::MAX, 1, &[]),
            (start + 4, 1, &[]),
            (start, 1, &[]),
            (start + 64, 0, &[]),
            (start + 64, 1, &[3]),
            (start + 64, 1, &[1, u32::MAX]),
        ] {
            assert!(answer(top, objects, tablets).is_err(), "{top} {objects} {tablets:?}");
        }
        ahead.set(true);
        assert_eq!(answer(start + 64, 0, &[]), Ok(()), "copied in vain");
        assert!(answer(start, 1, &[]).is_err() && answer(end + 8, 0, &[]).is_err());
    }
}
