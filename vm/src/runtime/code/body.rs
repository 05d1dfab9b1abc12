//! The description of a piece of compiled code: made by the translator, read by the code that walks its frames.

use super::positions::Positions;
use super::safepoints::Safepoints;
use super::side_exits::SideExits;
use crate::runtime::{ClassHolder, Method, MethodRef};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// The machine code of one method, or of one method from one loop on.
pub struct Body {
    pub method: MethodRef,
    /// The entry point: `None` at the beginning, else at this bci, from an interpreter frame.
    pub osr_bci: Option<u16>,
    pub tier: Tier,
    /// Position-independent but for absolute addresses of data that never moves. Empty once it is installed.
    pub code: Vec<u8>,
    /// Distance from the bottom of the frame (lowest address) to where `rbp` points.
    pub frame_to_fp: u32,
    /// Distance from the bottom of the frame to root slot 0; slots are 8 bytes each.
    pub roots_offset: u32,
    pub safepoints: Safepoints,
    pub exits: SideExits,
    /// While there is a fault profile.
    pub positions: Option<Positions>,
    /// Resolution state, profiles and inline caches that code refers to by address.
    #[expect(clippy::vec_box, reason = "code refers to them by address while the list grows")]
    pub cells: Vec<Box<InlineCache>>,
    /// Number of places at which classes and methods were not resolved or initialized.
    pub unresolved: u32,
    /// What holds the classes, methods and fields that code and description name by address or id, each once; not the
    /// permanent one, nor those that only inline caches name. The code goes before any of them does.
    pub holders: Box<[&'static ClassHolder]>,
}

/// How much work is put into code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tier {
    /// Little is inlined, and Cranelift does not optimize. The code counts its calls and rounds.
    Quick,
    Full,
}

impl Body {
    /// Whether it names a class that a collection has found dead.
    pub fn names_dead(&self) -> bool {
        self.holders.iter().any(|holder| holder.is_dead())
    }
}

/// Remembers the targets of a virtual or interface call: two classes, each written once, method first, until one dies.
/// Code compares the receiver's class with `klass` and calls `method`; `helpers::select` fills an empty place.
#[derive(Default)]
#[repr(C)]
pub struct InlineCache {
    /// Class ids; 0 while the place is empty. Release after `method`, so that code reads a pair.
    pub klass: [AtomicU32; 2],
    pub method: [AtomicUsize; 2],
}

impl InlineCache {
    /// Fills a place, if there is one left. Whether the class has one now.
    pub fn remember(&self, klass: u32, method: MethodRef) -> bool {
        for (place, known) in self.klass.iter().enumerate() {
            if known.load(Ordering::Acquire) == klass {
                return true;
            }
            // The thread that gets the method's place also writes the class.
            let (place, method) = (&self.method[place], std::ptr::from_ref(method) as usize);
            if place.compare_exchange(0, method, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                known.store(klass, Ordering::Release);
                return true;
            }
        }
        false
    }

    /// Empties the places that hold a class or a method that is dead. The world is stopped: code reads a place's class
    /// and then its method without a safepoint in between, and so does `remember` write them.
    pub fn forget(&self, is_dead: impl Fn(u32, MethodRef) -> bool) {
        for (klass, method) in self.klass.iter().zip(&self.method) {
            // SAFETY: 0, or the method that `remember` put there, which is not freed before it is taken out here.
            let known = unsafe { (method.load(Ordering::Relaxed) as *const Method).as_ref() };
            if known.is_some_and(|known| is_dead(klass.load(Ordering::Relaxed), known)) {
                klass.store(0, Ordering::Relaxed);
                method.store(0, Ordering::Relaxed);
            }
        }
    }
}
