//! Whether all counts are right, when nobody is at work.

use super::client::Refs;
use super::header::{Count, OBJECT};
use super::holder::Memory;
use super::roots::roots_of;
use crate::alloc::used_blocks;
use crate::sync::own;
use std::collections::{BTreeMap, BTreeSet};

/// What a whole layer has.
#[derive(Default, Debug)]
pub(crate) struct Contents {
    /// Objects by offset, with their counts.
    pub objects: BTreeMap<u64, u64>,
    /// Objects that nothing refers to, and that a reader kept: those that shared cells had may be counted by others.
    pub kept: BTreeSet<u64>,
    /// Blocks that have roots.
    pub pages: BTreeSet<u64>,
}

/// Counts the references in all roots, persistent roots, in these words of rings, and in all objects that they reach.
/// The counts must be those of the headers, and no other block is used. `Err` says what is wrong.
pub(crate) fn audit(refs: &Refs, ring_words: &[u64]) -> Result<Contents, String> {
    audit_with(refs, ring_words, &[])
}

/// The same with objects that shared cells refer to, once for each.
pub(crate) fn audit_with(
    refs: &Refs,
    ring_words: &[u64],
    shared: &[u64],
) -> Result<Contents, String> {
    let mut contents = Contents::default();
    let memory = refs.holder(1).memory;
    let cell = |at: u64| own(memory.cell(at).unwrap());
    let mut cells: Vec<u64> = ring_words.to_vec();
    cells.extend((0..Refs::PERSISTENT).map(|n| refs.persistent_at() + 8 * n));
    cells.extend(refs.name_words());
    let mut found = shared.to_vec();
    let mut unlinked = BTreeSet::new();
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
        // A spare object has the one reference of its list.
        for list in &holding.spares {
            let (mut spare, mut count) = (own(list) & ((1 << 48) - 1), own(list) >> 48);
            while spare != 0 && count > 0 {
                found.push(spare);
                spare = own(&memory.header(spare).unwrap().next);
                count -= 1;
            }
            if spare != 0 || count != 0 {
                return Err(format!(
                    "a list of spare objects of client {id} ends too early or late"
                ));
            }
        }
        let next = |kept: u64| own(&memory.header(kept).unwrap().next);
        let mut rest = [&holding.kept, &holding.unlinked, &holding.aged].map(own).to_vec();
        while let Some(kept) = rest.pop() {
            if kept == 0 {
                continue;
            }
            rest.push(next(kept));
            let header = memory.header(kept).unwrap();
            let count = Count::from_bits(header.word.value());
            if count.is_unlinked() {
                // The list has the reference that the shared cell had.
                found.push(kept);
                if !unlinked.insert(kept) {
                    return Err(format!("{kept:#x} is kept twice"));
                }
            } else {
                if count.count() != 0 || !contents.kept.insert(kept) {
                    return Err(format!("{kept:#x} is kept, and has {count:?}"));
                }
                cells.extend((0..count.embedded()).map(|n| memory.embedded(kept, n)));
            }
        }
    }
    while let Some(object) = found.pop().or_else(|| cells.pop().map(|at| cell(at) & OBJECT)) {
        if object == 0 {
            continue;
        }
        let count = contents.objects.entry(object).or_default();
        *count += 1;
        if *count == 1 {
            let embedded = Count::from_bits(memory.header(object).unwrap().word.value()).embedded();
            if embedded > 1000 {
                return Err(format!("{object:#x} is no object"));
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
