//! Concurrent evacuation of a group of regions into one (section 3.4.3), on the server that holds
//! them.
//!
//! The VM has written every page of the from-regions and of the tablets back, mapped none of the
//! tablets' pages since, and moved all objects that a mutator can reach without these tablets. What
//! is left in the from-regions belongs to this agent alone until it says that it is done.

use super::objects::Objects;
use super::protocol::Evacuation;
use super::trace_order::TraceOrder;
use crate::hit::{EntryIndex, HitGeometry, TABLET_WORDS, TabletId};
use crate::object::COLLECTOR_OFFSET;
use std::sync::atomic::Ordering;
use swap::PAGE_BYTES;

/// What an evacuation has done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evacuated {
    /// Heap offset behind the last object in the to-region.
    pub top: usize,
    pub objects: u32,
    /// The tablets that had entries of these objects, in the order of the request.
    pub tablets: Vec<TabletId>,
}

impl Evacuated {
    /// Whether this can be the answer to `job`, whoever says so.
    pub fn check(&self, job: &Evacuation, geometry: &HitGeometry) -> Result<(), &'static str> {
        let end = geometry.region_offset(job.to) + geometry.region_bytes();
        if self.top < job.start || self.top > end || !self.top.is_multiple_of(8) {
            return Err("an end outside of the region");
        }
        if (self.objects == 0) != (self.top == job.start) {
            return Err("objects without bytes or bytes without objects");
        }
        if !self.tablets.iter().all(|tablet| job.tablets.contains(tablet)) {
            return Err("tablets that it was not given");
        }
        Ok(())
    }
}

/// Moves the marked objects that are left in the from-regions, in the `order` of tracing or else in that of their
/// addresses, and updates their entries. The rest of the last page written is zeroed: the VM allocates behind
/// `top`.
pub fn evacuate(
    o: &Objects,
    job: &Evacuation,
    order: Option<&mut TraceOrder>,
) -> Result<Evacuated, String> {
    check(&o.geometry, o.me, job)?;
    let done = match order {
        Some(order) => in_order(o, job, order),
        None => by_address(o, job),
    }?;
    let page_end = done.top.next_multiple_of(PAGE_BYTES);
    o.memory.zero(done.top, page_end - done.top);
    Ok(done)
}

fn in_order(o: &Objects, job: &Evacuation, order: &mut TraceOrder) -> Result<Evacuated, String> {
    let limit = o.geometry.region_offset(job.to) + o.geometry.region_bytes();
    let mut done = Evacuated { top: job.start, objects: 0, tablets: Vec::new() };
    let first = o.me * o.geometry.regions_per_server();
    let from = job.from.iter().map(|region| region.index() - first);
    let mut is_from = vec![false; o.geometry.regions_per_server()];
    from.clone().for_each(|region| is_from[region] = true);
    let first_tablet = o.me * o.geometry.tablets_per_server();
    let mut is_served = vec![false; o.geometry.tablets_per_server()];
    let mut batch = [(EntryIndex::NULL, 0); BATCH];
    for entries in order.take(from).chunks(BATCH) {
        let mut count = 0;
        for entry in entries {
            let offset = o.entry(*entry)?;
            // Objects that the VM moved are not ours.
            if is_from[o.geometry.region_of(offset).index() - first] {
                batch[count] = (*entry, offset);
                count += 1;
            }
        }
        // Reads of a batch that do not wait for each other: what they miss in the caches comes at once.
        let mut headers = [0; BATCH];
        for (header, (_, offset)) in headers.iter_mut().zip(&batch[..count]) {
            *header = o.memory.u32(offset + COLLECTOR_OFFSET);
        }
        for ((entry, offset), header) in batch[..count].iter().zip(headers) {
            if header != entry.0 {
                return Err(format!("the object of {entry:?} at {offset:#x} names entry {header}"));
            }
            move_object(o, *offset, limit, &mut done)?;
            let tablet = (entry.tablet().0 as usize).wrapping_sub(first_tablet);
            let is_served = is_served.get_mut(tablet);
            *is_served.ok_or_else(|| format!("{entry:?} is another server's"))? = true;
        }
    }
    let tablets = job.tablets.iter().copied();
    done.tablets = tablets.filter(|tablet| is_served[tablet.0 as usize - first_tablet]).collect();
    Ok(done)
}

/// Objects that are looked up together.
const BATCH: usize = 16;

fn by_address(o: &Objects, job: &Evacuation) -> Result<Evacuated, String> {
    let region_bytes = o.geometry.region_bytes();
    let mut starts: Vec<Vec<u64>> =
        job.from.iter().map(|_| vec![0; region_bytes / 8 / 64]).collect();
    let mut tablets = Vec::new();
    for tablet in &job.tablets {
        for word in 0..TABLET_WORDS {
            let marks = o.geometry.mark_bits_offset(*tablet) + word * 8;
            let mut live = o.memory.word(marks).load(Ordering::Relaxed);
            while live != 0 {
                let entry = tablet.entry(word * 64 + live.trailing_zeros() as usize);
                live &= live - 1;
                let offset = o.entry(entry)?;
                let region = o.geometry.region_of(offset);
                // Objects that the VM moved, and those of other regions, are not ours.
                if let Some(i) = job.from.iter().position(|r| *r == region) {
                    let granule = offset % region_bytes / 8;
                    starts[i][granule / 64] |= 1 << (granule % 64);
                    if tablets.last() != Some(tablet) {
                        tablets.push(*tablet);
                    }
                }
            }
        }
    }
    let limit = o.geometry.region_offset(job.to) + region_bytes;
    let mut done = Evacuated { top: job.start, objects: 0, tablets };
    for (region, starts) in job.from.iter().zip(&starts) {
        for (i, word) in starts.iter().enumerate() {
            let mut word = *word;
            while word != 0 {
                let granule = i * 64 + word.trailing_zeros() as usize;
                word &= word - 1;
                let from = o.geometry.region_offset(*region) + granule * 8;
                move_object(o, from, limit, &mut done)?;
            }
        }
    }
    Ok(done)
}

fn move_object(o: &Objects, from: usize, limit: usize, done: &mut Evacuated) -> Result<(), String> {
    let entry = EntryIndex(o.memory.u32(from + COLLECTOR_OFFSET));
    if entry.tablet().0 as usize >= o.geometry.tablets() || o.locate(entry)? != from {
        return Err(format!("the object at {from:#x} says that it is {entry:?}"));
    }
    let bytes = o.bytes(from, o.layout(from)?)?;
    let region_bytes = o.geometry.region_bytes();
    if from % region_bytes + bytes > region_bytes {
        return Err(format!("the object at {from:#x}+{bytes} is in two regions"));
    }
    if bytes > limit - done.top {
        return Err(format!("no room for {bytes} bytes at {:#x} before {limit:#x}", done.top));
    }
    o.memory.copy(from, done.top, bytes);
    o.set_entry(entry, done.top);
    done.top += bytes;
    done.objects += 1;
    Ok(())
}

fn check(geometry: &HitGeometry, me: usize, job: &Evacuation) -> Result<(), String> {
    let is_mine = |r: &crate::hit::RegionId| {
        (r.0 as usize) < geometry.regions() && geometry.region_server(*r) == me
    };
    let tablets_are_mine = job
        .tablets
        .iter()
        .all(|t| (t.0 as usize) < geometry.tablets() && geometry.tablet_server(*t) == me);
    let regions_are_mine = is_mine(&job.to) && job.from.iter().all(is_mine);
    // A region that is named often would take memory as often.
    let is_new = |(i, r): (usize, &crate::hit::RegionId)| !job.from[..i].contains(r);
    let sound = tablets_are_mine
        && job.from.len() <= geometry.regions_per_server()
        && job.from.iter().enumerate().all(is_new)
        && regions_are_mine
        && !job.from.contains(&job.to)
        && job.start.is_multiple_of(PAGE_BYTES)
        && job.start >= geometry.region_offset(job.to)
        && job.start <= geometry.region_offset(job.to) + geometry.region_bytes();
    if sound { Ok(()) } else { Err(format!("server {me} cannot evacuate {job:?}")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hit::RegionId;

    #[test]
    fn answers_that_no_agent_gives_are_refused() {
        let geometry = HitGeometry::new(8, 16, 1).unwrap();
        let start = geometry.region_offset(RegionId(3)) + 4096;
        let (from, tablets) = (vec![RegionId(1)], vec![TabletId(1), TabletId(2)]);
        let job = Evacuation { group: 1, from, to: RegionId(3), start, tablets };
        let end = geometry.region_offset(RegionId(4));
        let answer = |top, objects, tablets: &[u32]| {
            let tablets = tablets.iter().map(|t| TabletId(*t)).collect();
            Evacuated { top, objects, tablets }.check(&job, &geometry)
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
    }
}
