//! Generational Mako (`-XX:+MakoGenerational`): new objects are young, local and without entries. The paper's Mako has
//! one generation.
//!
//! ```text
//!   young regions (RegionUse::Young)        old regions: far memory, agents, as in the paper
//!   objects without entries      -- promotion ->      objects with entries, in the order of references
//!
//!   slot   0 | entry index   the entry names the object's place
//!          1 | young place   (address - base of the heap) / 8
//! ```
//!
//! * **Barriers** ([`barriers`]). A load tests the sign of the slot. A store of a young reference to an old object
//!   remembers the slot.
//! * **Remembered slots** ([`table`]): a sequential store buffer, exact slots. Cards would need to know where objects
//!   begin in regions that agents have written; and each page of such a slot was written since the last collection, so
//!   a pause seldom fetches one.
//! * **Minor collections** ([`collection`]): the world stops, several workers copy what is reachable from threads,
//!   off-heap slots and remembered slots to young regions, or to old ones (promotion, [`promotion`]).
//! * **Promotion** gives objects their entries, in the order in which references lead to them.
//!
//! # Old cycles
//!
//! 1. A minor collection that promotes everything precedes PTP, in its pause: the snapshot and its roots are old.
//! 2. Objects that are promoted during tracing are newer than the snapshot, so they live in this cycle. What they refer
//!    to was reachable in the snapshot where a thread loaded it, or is new itself. Agents take a young place in a slot
//!    for null.
//! 3. A minor collection that promotes everything precedes each choice of groups (PEP), in its pause. So no object of a
//!    from-region has a slot with a young place, and a thread can only store one into such an object after its load
//!    barrier has moved it: nothing that an agent moves refers to young objects. Minor collections run during
//!    evacuation as at any other time; they decode no entry.
//! 4. If an object cannot be promoted, since its region is pinned or no old region is free, it stays young, and the
//!    cycle frees what is dead but moves nothing.
//!
//! # Early entries
//!
//! Identity hashes and monitors belong to entries. A young object that needs one gets an entry ahead of its promotion
//! ([`early`]): its header has it in place of the young place, the entry names nothing yet, and slots hold the young
//! place as before. The entry is used at the promotion, or freed when the object dies. Snapshots do not include it.

pub mod barriers;
pub mod collection;
pub mod early;
mod evacuator;
pub mod nursery;
mod policy;
mod promotion;
pub mod table;

pub use nursery::Nursery;
pub use policy::room_for;
pub use table::YoungTable;
