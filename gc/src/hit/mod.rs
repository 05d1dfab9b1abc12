//! The heap indirection table (Mako, section 3.3): one word per object that says where the object
//! is.
//!
//! A heap slot holds an *entry index*; the entry holds the object's place ([`HitGeometry::place`]), and
//! the object's header holds its entry index. Entries never move, so an object moves by changing
//! one word.
//!
//! * A slot always has four bytes, however large the heap is: there may be 2^32 entries. An entry has four bytes in
//!   heaps below 32 GiB, an eighth of an address, and eight in larger ones, an address
//!   ([`EntryWidth`]), as in the paper.
//! * A [tablet](Tablet) is a block of [`TABLET_ENTRIES`] entries, whole pages of the far space. A
//!   tablet belongs to a memory server, and so do the objects that its entries name; which *region*
//!   they lie in, the entry says.
//! * [`HitGeometry`] says where regions, entries and bitmaps lie in the far space. VM and agents
//!   share it.
//! * Allocation bits are in local memory of the VM, and their snapshot of each cycle in the far
//!   space; mark bits are written by agents, in the far space.

mod claim;
mod geometry;
mod tablet;

pub use crate::object::geometry::RegionId;
pub use claim::EntryClaim;
pub use geometry::{
    ADDRESS_LIMIT, EntryIndex, EntryWidth, HitGeometry, HitParts, TabletId, YOUNG, YOUNG_BASE,
};
pub use tablet::Tablet;

/// Entries of one tablet: as many as fill four pages, or eight.
pub const TABLET_ENTRIES: usize = 1 << TABLET_SHIFT;
pub const TABLET_SHIFT: u32 = 12;
/// 64-bit words of one bit per entry of a tablet.
pub const TABLET_WORDS: usize = TABLET_ENTRIES / 64;

const _: () = assert!((TABLET_ENTRIES * size_of::<u32>()).is_multiple_of(swap::PAGE_BYTES));
