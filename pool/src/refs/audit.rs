//! Whether all counts are right, when nobody is at work.

use super::client::Refs;
use super::header::Count;
use super::holder::Memory;
use super::roots::roots_of;
use crate::alloc::used_blocks;
use crate::sync::own;
use std::collections::{BTreeMap, BTreeSet};

/// What a whole layer has.
#[derive(Default, Debug)]
pub(super) struct Contents {
    /// Objects by offset, with their counts.
    pub objects: BTreeMap<u64, u64>,
    /// Objects that nothing refers to, and that a reader kept.
    pub kept: BTreeSet<u64>,
    /// Blocks that have roots.
    pub pages: BTreeSet<u64>,
}

/// Counts the references in all roots, persistent roots, in these words of rings, and in all objects that they reach.
/// The counts must be those of the headers, and no other block is used. `Err` says what is wrong.
pub(super) fn audit(refs: &Refs, ring_words: &[u64]) -> Result<Contents, String> {
    let mut contents = Contents::default();
    let memory = refs.holder(1).memory;
    let cell = |at: u64| own(memory.cell(at).unwrap());
    let mut cells: Vec<u64> = ring_words.to_vec();
    cells.extend((0..Refs::PERSISTENT).map(|n| refs.persistent_at() + 8 * n));
    for (id, holding) in refs.table().holdings.iter().enumerate() {
        let open = [&holding.step, &holding.dying, &holding.current, &holding.next].map(own);
        if open != [0; 4] {
            return Err(format!("client {id} has left something open: {open:?}"));
        }
        let mut page = own(&holding.pages);
        while page != 0 {
            if !contents.pages.insert(page) {
                return Err(format!("page {page:#x} is in two lists"));
            }
            cells.extend(roots_of(page));
            page = cell(page);
        }
        let mut kept = own(&holding.kept);
        while kept != 0 {
            let header = memory.header(kept).unwrap();
            let count = Count::from_bits(header.word.value());
            if count.count() != 0 || !contents.kept.insert(kept) {
                return Err(format!("{kept:#x} is kept, and has {count:?}"));
            }
            cells.extend((0..count.embedded()).map(|n| memory.embedded(kept, n)));
            kept = own(&header.next);
        }
    }
    while let Some(at) = cells.pop() {
        let object = cell(at);
        if object == 0 {
            continue;
        }
        let count = contents.objects.entry(object).or_default();
        *count += 1;
        if *count == 1 {
            let embedded = Count::from_bits(memory.header(object).unwrap().word.value()).embedded();
            if embedded > 1000 {
                return Err(format!("{at:#x} has {object:#x}, which is no object"));
            }
            cells.extend((0..embedded).map(|n| memory.embedded(object, n)));
        }
    }
    for (object, count) in &contents.objects {
        let found = Count::from_bits(memory.header(*object).unwrap().word.value()).count();
        if found != *count {
            return Err(format!("{object:#x} counts {found} references, and has {count}"));
        }
    }
    let known: BTreeSet<u64> =
        contents.objects.keys().chain(&contents.kept).chain(&contents.pages).copied().collect();
    let used: BTreeSet<u64> = used_blocks(refs.heap())?.into_iter().collect();
    if known != used {
        let [lost, free]: [Vec<_>; 2] =
            [used.difference(&known).collect(), known.difference(&used).collect()];
        return Err(format!("unknown: {lost:x?}; known and free: {free:x?}"));
    }
    Ok(contents)
}
