//! The heap indirection table (Mako, section 3.3): one word per object that says where the object
//! is.
//!
//! A heap slot holds an *entry index*; the entry holds the object's place ([`HitGeometry::place`]), and
//! the object's header holds its entry index. Entries never move, so an object moves by changing
//! one word.
//!
//! * A [tablet](Tablet) is a block of [`TABLET_ENTRIES`] entries, four pages of the far space. A
//!   tablet belongs to a memory server, and so do the objects that its entries name; which *region*
//!   they lie in, the entry says.
//! * [`HitGeometry`] says where regions, entries and bitmaps lie in the far space. VM and agents
//!   share it.
//! * Allocation bits are in local memory of the VM, and their snapshot of each cycle in the far
//!   space; mark bits are written by agents, in the far space.

mod claim;
mod geometry;
mod tablet;

pub use crate::geometry::RegionId;
pub use claim::EntryClaim;
pub use geometry::{ADDRESS_LIMIT, EntryIndex, HitGeometry, TabletId};
pub use tablet::Tablet;

/// Entries of one tablet: as many as fill four pages.
pub const TABLET_ENTRIES: usize = 1 << TABLET_SHIFT;
pub const TABLET_SHIFT: u32 = 12;
/// Bytes of an entry: objects are aligned to 8, so 32 bits reach 32 GiB.
pub const ENTRY_BYTES: usize = 4;
/// Bytes of a tablet's entries in the far space.
pub const TABLET_BYTES: usize = TABLET_ENTRIES * ENTRY_BYTES;
/// 64-bit words of one bit per entry of a tablet.
pub const TABLET_WORDS: usize = TABLET_ENTRIES / 64;

const _: () = assert!(TABLET_BYTES.is_multiple_of(swap::PAGE_BYTES));
