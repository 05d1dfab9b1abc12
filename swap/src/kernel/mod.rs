//! What the kernel does for far memory: address space, userfaultfd, notes of writes, and who runs first.

pub mod interface;
pub mod page_scan;
pub mod priority;
pub mod reservation;
pub mod residence;
pub mod slots;
pub mod uffd;
pub mod write_tracker;
