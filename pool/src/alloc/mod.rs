//! Blocks of memory for the clients of a pool.
//!
//! A heap has *slabs*, each of which is cut into blocks of one size class. There are three kinds of slabs, which differ
//! in their size only: 32 KiB for blocks up to 1 KiB, 512 KiB for those up to 64 KiB, and 4 MiB for those up to
//! 512 KiB. Blocks above that are runs of granules (`huge`). A block is an offset, the same in every process. Zeros are
//! an empty heap.
//!
//! A slab has one owner at most. The owner allocates from it, and frees into it, by plain stores: one word
//! ([`slab::Local`]) has the list of its free blocks and their number. Others free a block by one detectable
//! change of another word ([`slab::Shares`]), which says who the owner is and lists the blocks that others freed. The
//! owner takes that list when its own is empty.
//!
//! ```text
//!              extend, pop                 take
//!   unused, ----------------> empty, a  ----------> sized: in the list of  --+
//!   free in                   client's  <---------- its class, a client's    | full
//!   the heap <--------------- own        retire         |      ^   ^         v
//!              release                          release |  pop |   +----- detached:
//!                                                       v      |  free    nobody's
//!                                                   partial, the heap's
//! ```
//!
//! 1. **Full.** A slab without a free block leaves its owner (*detached*). The first client that frees a block of it
//!    becomes its owner, and frees the other blocks without atomic instructions. So blocks that others than their
//!    allocator free are reused at once.
//! 2. **Empty.** A slab whose blocks are all free loses its class. A client keeps a few, and gives the others to the
//!    heap.
//! 3. **Partial.** A client keeps a limited number of partly used slabs of a class. Those above it are in a list of the
//!    heap where others find them, as are those of the dead.
//!
//! A client may die anywhere. What it does is one word of its own, its *step* ([`holding::Step`]), written before the
//! first store and cleared after the last one. Changes of words that others change too are those of `detect`, with what
//! is to be done afterwards ([`shared_lists::Then`]). Recovery finishes the change, then the step, and gives the slabs
//! of the dead to the heap, one at a time, under the identity of the dead: so its own death is one more death of the
//! same client.
//!
//! Invariants:
//!
//! * A block is in the list of its slab's owner, in the list of its slab's shared word, above `virgin`, or used.
//! * A slab is in the list of its owner, in one list of the heap, detached, or named by the step or the change of one
//!   client.
//! * All slabs in the list of a class but the first have a free block.
//! * A step is closed before the change that completes it is acknowledged: a free that took place is not repeated.
//! * A cell, which gets the offset of a block, is changed by one client only. Words that several clients change get
//!   blocks by detectable changes.
//!
//! Slabs, owners, remote frees and one word of state are those of cxlalloc (ASPLOS 2026), sections 3.1, 3.2.1 and
//! 3.4. It differs in what happens to blocks that others free: cxlalloc counts them, and reuses none before all blocks
//! of the slab were freed.

mod arena;
#[cfg(not(loom))]
mod blocks;
mod caches;
mod class;
mod holding;
mod huge;
mod own_lists;
mod settle;
mod shared_lists;
mod slab;

#[cfg(not(loom))]
mod heap;

#[cfg(not(loom))]
pub(crate) use blocks::Blocks;
#[cfg(not(loom))]
pub use caches::{Coherence, Flushes};
#[cfg(not(loom))]
pub(crate) use class::{size_of_block, small_class};
#[cfg(not(loom))]
pub use heap::{Allocator, Fresh, Heap, HugeUse};

/// Marks the targets of changes that are a heap's. No offset of a pool has it.
const OF_HEAP: u64 = 1 << 63;

#[cfg(all(test, not(loom)))]
pub(crate) use audit::used_blocks;
#[cfg(not(loom))]
pub(crate) use heap::HeapRedo;

#[cfg(test)]
mod audit;
#[cfg(test)]
mod model;
#[cfg(all(test, not(loom)))]
mod random;
#[cfg(all(test, not(loom)))]
mod tests;
#[cfg(all(test, not(loom)))]
mod torture;
