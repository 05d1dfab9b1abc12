//! Kernel services for far memory: address space, userfaultfd, write tracking, and scheduling priority.

pub mod interface;
pub mod page_scan;
pub mod priority;
pub mod reservation;
pub mod residence;
pub mod slots;
pub mod uffd;
pub mod write_tracker;
