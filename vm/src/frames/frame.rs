//! Frames of the Java stack.
//!
//! ```text
//! higher addresses
//!            +---------------------------+ <- sp (next free slot)
//!            | operand stack             |
//!            +---------------------------+ <- stack_base
//!            | Frame                     |
//!            +---------------------------+ <- address of the frame
//!            | other locals              |
//!            | arguments                 |    (top of the caller's operand stack: not copied)
//!            +---------------------------+ <- locals
//! lower addresses
//! ```
//!
//! A slot is 8 bytes. Longs and doubles take two, with the value in the lower one. Ints are zero-extended or
//! sign-extended: only the low half counts. References are plain addresses, and roots.
//!
//! `pc` and `sp` of the innermost frame are in registers of the interpreter loop while it runs; they are saved
//! before anything that can reach a safepoint. Outer frames have their `pc` at the call.

use crate::runtime::MethodRef;
use gc::object::ObjectRef;

/// Header of a frame. Own thread, or a collector while that thread is stopped.
#[repr(C)]
pub struct Frame {
    pub method: MethodRef,
    /// The next outer frame, across native code; null for the outermost one.
    pub previous: *mut Frame,
    /// Instruction that is being executed, in the method's quick code. Meaningless in native frames.
    pub pc: *const u8,
    /// Next free slot. For a frame that has called another interpreted one, the callee's `locals` bound the
    /// live part of the operand stack instead.
    pub sp: *mut u64,
    pub locals: *mut u64,
    /// Resolution state of the method's instructions.
    pub sites: *const crate::runtime::code::quick::Site,
    /// The object that a synchronized method has locked, or null. A root.
    pub lock: ObjectRef,
    /// [`ENTRY`] and so on.
    pub flags: u32,
    /// Length of the caller's call instruction.
    pub resume: u32,
}

/// Called from native code: returning leaves the interpreter loop.
pub const ENTRY: u32 = 1;
/// A native method's frame: arguments only.
pub const NATIVE: u32 = 2;
/// `lock` is held.
pub const LOCKED: u32 = 4;
/// The frame may have monitors in `JavaStack::monitors`.
pub const MONITORS: u32 = 8;

/// Compiled code has taken the frame over in the middle of a loop: it stands for nothing any more, but still holds
/// the method's lock.
pub const REPLACED: u32 = 16;

/// The caller's instruction wants no result, although the method has one: compiled code has called the accessor of a
/// `VarHandle` in place of the library's guard, which drops it.
pub const DROPS_RESULT: u32 = 32;

/// Slots of a frame header.
pub const FRAME_SLOTS: usize = size_of::<Frame>() / 8;

const _: () = assert!(size_of::<Frame>().is_multiple_of(8));

impl Frame {
    pub fn is_native(&self) -> bool {
        self.flags & NATIVE != 0
    }

    /// Index of the current instruction; `None` in native frames.
    pub fn bci(&self) -> Option<u16> {
        if self.is_native() {
            return None;
        }
        let code = crate::runtime::code::quick::code_of(self.method);
        Some((self.pc as usize - code as usize) as u16)
    }

    /// The lowest slot of the operand stack.
    pub fn stack_base(&self) -> *mut u64 {
        (std::ptr::from_ref(self) as *mut u64).wrapping_add(FRAME_SLOTS)
    }
}
