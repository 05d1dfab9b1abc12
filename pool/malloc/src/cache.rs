//! Freed blocks that a seat keeps for the next allocations of its thread.
//!
//! The heap's own lists are safe against death at any instruction, and a slab that is nearly full changes its owner
//! often. Memory of one process needs none of that: most blocks come out of here and go back. Huge blocks are kept
//! because their pages would have to be made anew.

use std::sync::atomic::{AtomicU64, Ordering};

use pool::{Allocator, Heap};

use crate::{below, ground};

/// Small blocks have up to this many bytes.
pub const SMALL_MAX: u64 = 1 << 10;
/// A list for each size, in units of 16 bytes.
const LISTS: usize = (SMALL_MAX / 16) as usize + 1;
/// Bytes of a list, about.
const LIST_BYTES: u64 = 64 << 10;

/// Larger blocks are not kept.
const HUGE_MAX: u64 = 16 << 20;
/// Bytes of all huge blocks that a seat keeps.
const HUGE_BYTES: u64 = 32 << 20;
const HUGE_BLOCKS: usize = 8;

/// The blocks of one seat.
pub struct Cache {
    lists: [List; LISTS],
    huge: [Huge; HUGE_BLOCKS],
}

/// Free blocks of one size. Each has the offset of the next one in its first word; 0: there is none.
#[derive(Clone, Copy)]
struct List {
    first: u64,
    count: u64,
}

/// A free huge block. 0 bytes: none.
#[derive(Clone, Copy)]
struct Huge {
    offset: u64,
    bytes: u64,
}

const NONE: Huge = Huge { offset: 0, bytes: 0 };

impl Cache {
    pub const fn new() -> Cache {
        Cache { lists: [List { first: 0, count: 0 }; LISTS], huge: [NONE; HUGE_BLOCKS] }
    }

    /// A small block for this many bytes.
    #[inline(always)]
    pub fn take_small(&mut self, bytes: u64) -> Option<u64> {
        let list = &mut self.lists[(Heap::size_of_block(bytes) / 16) as usize];
        let offset = list.first;
        if offset == 0 {
            return None;
        }
        list.first = link(offset).load(Ordering::Relaxed);
        list.count -= 1;
        Some(offset)
    }

    /// Keeps a small block of this size that was just freed. A second free in succession does nothing.
    #[inline(always)]
    pub fn keep_small(&mut self, offset: u64, bytes: u64, client: &mut Allocator) {
        let list = &mut self.lists[(bytes / 16) as usize];
        if list.first == offset {
            return;
        }
        link(offset).store(list.first, Ordering::Relaxed);
        list.first = offset;
        list.count += 1;
        if list.count * bytes > LIST_BYTES {
            list.shorten(list.count / 2, client);
        }
    }

    /// A huge block for this many bytes, of which a quarter may be too much. It is not zero.
    pub fn take_huge(&mut self, bytes: u64) -> Option<u64> {
        let most = Heap::size_of_block(bytes + bytes / 4);
        let fits = |kept: &&mut Huge| kept.bytes >= bytes && kept.bytes <= most;
        let kept = self.huge.iter_mut().find(fits)?;
        Some(std::mem::replace(kept, NONE).offset)
    }

    /// Keeps a huge block of this size that was just freed; those that have been kept for longest make room. False: it
    /// is too large.
    pub fn keep_huge(&mut self, offset: u64, bytes: u64, client: &mut Allocator) -> bool {
        if bytes > HUGE_MAX || self.huge.iter().any(|kept| kept.offset == offset) {
            // One that is kept already is freed twice.
            return bytes <= HUGE_MAX;
        }
        let mut total = bytes;
        for kept in &mut self.huge {
            total += kept.bytes;
            if total > HUGE_BYTES {
                total -= kept.bytes;
                kept.drop_into(client);
            }
        }
        self.huge.rotate_right(1);
        self.huge[0].drop_into(client);
        self.huge[0] = Huge { offset, bytes };
        true
    }

    /// Frees all blocks.
    pub fn clear(&mut self, client: &mut Allocator) {
        for list in &mut self.lists {
            list.shorten(0, client);
        }
        for kept in &mut self.huge {
            kept.drop_into(client);
        }
    }
}

impl List {
    #[cold]
    fn shorten(&mut self, count: u64, client: &mut Allocator) {
        // Memory may go back to the system, which fails if it is locked. The caller's errno is none of that.
        let before = below::errno();
        while self.count > count && self.first != 0 {
            let offset = self.first;
            self.first = link(offset).load(Ordering::Relaxed);
            self.count -= 1;
            // One that is no block any more was freed twice, or written after it was freed.
            let _ = client.free(offset);
        }
        below::set_errno(before);
    }
}

impl Huge {
    fn drop_into(&mut self, client: &mut Allocator) {
        let kept = std::mem::replace(self, NONE);
        if kept.bytes > 0 {
            let _ = client.free(kept.offset);
        }
    }
}

/// The first word of a block.
#[inline(always)]
fn link(offset: u64) -> &'static AtomicU64 {
    // SAFETY: callers have it from the heap as the beginning of a small block, which is aligned and never unmapped; the
    // block is free, so this seat alone uses its words.
    unsafe { &*ground::pointer(offset).cast::<AtomicU64>() }
}
