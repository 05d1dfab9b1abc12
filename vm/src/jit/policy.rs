//! When to compile, and when again.

use super::body::SideExit;
use crate::runtime::JavaThread;

/// A side exit was taken, for the `taken`-th time. No safepoint.
pub fn exit_taken(_t: &JavaThread, _exit: &SideExit, _taken: u32) {}
