//! The description of a piece of compiled code: made by the translator, read by the code that walks its frames.

use crate::runtime::{ClassHolder, Method, MethodRef};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// The machine code of one method, or of one method from one loop on.
pub struct Body {
    pub method: MethodRef,
    /// The entry point: `None` at the beginning, else at this bci, from an interpreter frame.
    pub osr_bci: Option<u16>,
    pub tier: Tier,
    /// Position-independent but for absolute addresses of data that never moves.
    pub code: Vec<u8>,
    /// Distance from the bottom of the frame (lowest address) to where `rbp` points.
    pub frame_to_fp: u32,
    /// Distance from the bottom of the frame to root slot 0; slots are 8 bytes each.
    pub roots_offset: u32,
    /// Sorted by `return_offset`.
    pub safepoints: Box<[Safepoint]>,
    /// Code holds their addresses: they stay where they are and live as long as the code.
    #[expect(clippy::vec_box, reason = "code refers to them by address while the list grows")]
    pub exits: Vec<Box<SideExit>>,
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

/// A call at which a collection, a stack walk or an exception may meet the frame.
pub struct Safepoint {
    /// Of the instruction behind the call, from the start of the code.
    pub return_offset: u32,
    /// Live root slots.
    pub roots: Box<[u16]>,
    /// The methods that the frame stands for: the compiled method first, then those inlined into it.
    pub frames: Box<[Place]>,
    /// Objects that are locked: root slot, and which of `frames` holds it, outermost lock first.
    pub locks: Box<[(u16, u16)]>,
}

/// A place in a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub method: MethodRef,
    pub bci: u16,
}

/// A way back into the interpreter. The code stores live values, as 64-bit words, to an area of its frame, and calls
/// [`exit`](crate::jit::exit) with the addresses of this and of the area.
pub struct SideExit {
    pub reason: Reason,
    /// Outermost first, as on the Java stack. Frames but the last are at a call, whose arguments are popped already.
    pub frames: Box<[ExitFrame]>,
    /// How often it was taken.
    pub taken: AtomicU32,
}

/// Why compiled code cannot continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The instruction at the innermost bci is to be executed again, by the interpreter, with the operands given: it
    /// will throw (null, index, division, cast, array store).
    Exception,
    /// As `Exception`: a constant is not resolved yet, or a class not initialized. Compiling again later pays.
    Unresolved,
    /// As `Exception`: the instruction is not compiled at all.
    Unsupported,
    /// As `Exception`, but the instruction will not throw: it jumps back in a loop, and the code is not its method's
    /// any more.
    Replaced,
    /// An exception is pending: the callee of the innermost frame's instruction threw it. The operands are popped
    /// already.
    Pending,
}

/// State of one interpreter frame.
pub struct ExitFrame {
    pub method: MethodRef,
    pub bci: u16,
    /// All `max_locals` of them.
    pub locals: Box<[Word]>,
    /// Operand stack in slots: longs and doubles have a dead second slot.
    pub stack: Box<[Word]>,
    /// Objects locked by `monitorenter`, outermost first.
    pub locks: Box<[Word]>,
    /// The object that a synchronized method has locked and must unlock.
    pub method_lock: Option<Word>,
}

/// The source of a word of an exit frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    /// Never read.
    Dead,
    /// Word of the exit area. Ints count with their lower half.
    Area(u16),
    Constant(u64),
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
