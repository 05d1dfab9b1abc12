//! The VMs that are compared (ours, the JDK's, HotSpot in far memory, Zero), a compiler process that stays, and the
//! suite that they run.

pub mod compiler;
pub mod far_run;
pub mod footprint;
pub mod jdk;
pub mod suite;
pub mod vm;
pub mod zero;
