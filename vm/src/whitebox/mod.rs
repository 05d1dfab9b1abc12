//! `jdk.test.whitebox.WhiteBox`: the door by which the OpenJDK's tests look into the VM, with `-XX:+WhiteBoxAPI`.
//!
//! The class is not part of the JDK: tests bring it, on the boot class path. Functions that would have no true answer
//! here are left out, so that a test that calls one gets an `UnsatisfiedLinkError`. Tests of older JDKs have
//! the class as `sun.hotspot.WhiteBox`, with the same natives.

mod classes;
mod compiler;
mod flags;
mod heap;
mod machine;
mod threads;

use crate::ffi::registry::{Native, NativeEntry, NativeTable, entry};

/// The natives of both classes, given the option; otherwise those of classes that find the door closed.
pub fn tables(is_open: bool) -> &'static [NativeTable] {
    if is_open { OPEN } else { CLOSED }
}

static OPEN: &[NativeTable] = &[
    NativeTable { class: CLASS, entries: classes::ENTRIES },
    NativeTable { class: CLASS, entries: compiler::ENTRIES },
    NativeTable { class: CLASS, entries: flags::ENTRIES },
    NativeTable { class: CLASS, entries: heap::ENTRIES },
    NativeTable { class: CLASS, entries: machine::ENTRIES },
    NativeTable { class: CLASS, entries: threads::ENTRIES },
    NativeTable { class: OLD_CLASS, entries: classes::ENTRIES },
    NativeTable { class: OLD_CLASS, entries: compiler::ENTRIES },
    NativeTable { class: OLD_CLASS, entries: flags::ENTRIES },
    NativeTable { class: OLD_CLASS, entries: heap::ENTRIES },
    NativeTable { class: OLD_CLASS, entries: machine::ENTRIES },
    NativeTable { class: OLD_CLASS, entries: threads::ENTRIES },
];

static CLOSED: &[NativeTable] = &[
    NativeTable { class: CLASS, entries: REGISTRATION },
    NativeTable { class: OLD_CLASS, entries: REGISTRATION },
];

/// As in HotSpot, registering succeeds, and all else is missing.
const REGISTRATION: &[NativeEntry] =
    &[entry("registerNatives", "()V", Native::Direct(|_, _| Ok(0)))];

const CLASS: &str = "jdk/test/whitebox/WhiteBox";
const OLD_CLASS: &str = "sun/hotspot/WhiteBox";
