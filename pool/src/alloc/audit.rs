//! Whether a heap is whole, when nobody is at work.

use super::arena::{Arena, FREE, LENGTH, PARTIAL};
#[cfg(not(loom))]
use super::heap::Heap;
use super::holding::{Link, List};
use super::huge::{Granule, Huge};
use super::slab::{Local, Place, Shares};
use crate::sync::{Ordering, own};
use std::collections::BTreeSet;

/// What a whole heap has.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Contents {
    /// Offsets of the used blocks, from the lowest on.
    pub used: Vec<u64>,
    /// Slabs that were ever used.
    pub slabs: usize,
    /// Slabs without a class in the heap's list.
    pub free: usize,
}

/// Looks at every slab, list and block. `Err` says what is wrong.
pub(super) fn audit(arena: &Arena) -> Result<Contents, String> {
    let slabs = arena.roots[LENGTH].word.load().value as usize;
    let mut places: Vec<Option<String>> = vec![None; slabs];
    let mut place = |number: usize, at: String| match places.get_mut(number) {
        None => Err(format!("{at}: slab {number} is beyond the end")),
        Some(Some(other)) => Err(format!("slab {number}: {other}, and {at}")),
        Some(none) => {
            *none = Some(at);
            Ok(())
        }
    };
    for (id, holding) in arena.holdings.iter().enumerate() {
        if own(&holding.step) != 0 {
            return Err(format!("client {id} has a step open: {:#x}", own(&holding.step)));
        }
        let lists = std::iter::once(&holding.empty).chain(&holding.sized);
        for (class, list) in lists.enumerate() {
            let (mut next, mut prev) = (List::from_bits(own(list)).first(), 0);
            while next != 0 {
                let number = next as usize - 1;
                place(number, format!("class {class} of client {id}"))?;
                let slab = &arena.slabs[number];
                let local = Local::from_bits(own(&slab.local));
                let shares = Shares::from_bits(arena.remotes[number].word.load().value);
                let is_right = local.class() == class as u64
                    && local.is_listed()
                    && own(&slab.prev) == prev
                    && shares.is_owned_by(id as u16);
                if !is_right {
                    return Err(format!("slab {number} of client {id}: {local:?} {shares:?}"));
                }
                (prev, next) = (next.into(), own(&slab.next) as Link);
            }
        }
    }
    let mut free = 0;
    for root in FREE..PARTIAL + arena.classes.len() {
        let list = List::from_bits(arena.roots[root].word.load().value);
        let (mut next, mut count) = (list.first(), 0);
        while next != 0 {
            let number = next as usize - 1;
            place(number, format!("list {root} of the heap"))?;
            let local = Local::from_bits(own(&arena.slabs[number].local));
            let shares = Shares::from_bits(arena.remotes[number].word.load().value);
            let (wanted, class) =
                if root == FREE { (Place::Free, 0) } else { (Place::Listed, root - PARTIAL + 1) };
            if shares.place() != wanted || local.class() != class as u64 || local.is_listed() {
                return Err(format!("slab {number} in list {root}: {local:?} {shares:?}"));
            }
            next = arena.remotes[number].next.load(Ordering::Acquire) as Link;
            count += 1;
        }
        if count != list.count() {
            return Err(format!("list {root} has {count} slabs, and counts {}", list.count()));
        }
        if root == FREE {
            free = count as usize;
        }
    }
    let mut contents = Contents { used: Vec::new(), slabs, free };
    for (number, place) in places.iter().enumerate() {
        let used = blocks(arena, number)?;
        let shares = Shares::from_bits(arena.remotes[number].word.load().value);
        if place.is_none() && shares.place() != Place::Detached {
            return Err(format!("slab {number} is lost: {shares:?}"));
        }
        contents.used.extend(used);
    }
    Ok(contents)
}

/// The used blocks of one slab.
fn blocks(arena: &Arena, number: usize) -> Result<Vec<u64>, String> {
    let local = Local::from_bits(own(&arena.slabs[number].local));
    let shares = Shares::from_bits(arena.remotes[number].word.load().value);
    let class = own(&arena.remotes[number].class);
    if class != local.class() {
        return Err(format!("slab {number}: class {class}, and {local:?}"));
    }
    let wrong = || format!("slab {number}: {local:?} {shares:?}");
    if class == 0 {
        let is_empty = local.used() == 0 && shares.count() == 0 && shares.head() == 0;
        return if is_empty { Ok(Vec::new()) } else { Err(wrong()) };
    }
    let of = &arena.classes[class as usize - 1];
    let mut free = BTreeSet::new();
    for (head, count) in [
        (local.head(), (of.blocks - local.used()).wrapping_sub(of.blocks - local.virgin())),
        (shares.head(), shares.count()),
    ] {
        let (mut next, mut found) = (head, 0);
        while next != 0 {
            let block = next - 1;
            let offset = arena.offset(number as u32, block);
            let index = of.block_at(8 * u64::from(block));
            if index.is_none_or(|index| index >= local.virgin() || !free.insert(index)) {
                return Err(format!("{}: block {block} is free twice", wrong()));
            }
            let link = arena.owner(1).link(number as u32, offset);
            next = link.ok_or_else(|| format!("{}: block {block} was written", wrong()))?;
            found += 1;
        }
        if found != count {
            return Err(format!("{}: {found} blocks, not {count}", wrong()));
        }
    }
    if shares.place() == Place::Detached && (!free.is_empty() || local.virgin() < of.blocks) {
        return Err(format!("{}: detached with free blocks", wrong()));
    }
    let used = (0..local.virgin()).filter(|block| !free.contains(block));
    let place = |block: u32| arena.offset(number as u32, block * (of.bytes / 8) as u32);
    Ok(used.map(place).collect())
}

/// The used blocks of a heap, from the lowest on.
#[cfg(not(loom))]
pub(crate) fn used_blocks(heap: &Heap) -> Result<Vec<u64>, String> {
    let mut used = Vec::new();
    for arena in heap.arenas() {
        used.extend(audit(arena)?.used);
    }
    used.extend(audit_huge(heap.huge())?);
    Ok(used)
}

/// The used blocks of the heap for huge blocks.
pub(super) fn audit_huge(huge: &Huge) -> Result<Vec<u64>, String> {
    if let Some(id) = huge.holdings.iter().position(|holding| own(&holding.step) != 0) {
        return Err(format!("client {id} has a step open: {:#x}", own(&huge.holdings[id].step)));
    }
    let top = huge.top.load(Ordering::Acquire);
    let (mut used, mut rest) = (Vec::new(), 0);
    for (number, word) in huge.granules.iter().enumerate() {
        match Granule::of(word.load(Ordering::Acquire)) {
            Granule::Free if rest == 0 => {}
            Granule::Used(0) if rest > 0 => rest -= 1,
            Granule::Used(count) if rest == 0 && count > 0 && (number as u64) < top => {
                used.push(huge.offset(number as u32));
                rest = count - 1;
            }
            other => return Err(format!("granule {number} is {other:?}, {rest} are missing")),
        }
    }
    if rest == 0 { Ok(used) } else { Err(format!("{rest} granules are missing at the end")) }
}
