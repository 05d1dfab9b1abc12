//! Activations: stretches of compiled frames on the native stack.
//!
//! Whoever calls compiled code from Rust makes an activation, which lives in the Rust frame around
//! [`stubs::enter`]. Its compiled frames lie inside of the interpreter (or native) frame that was the thread's top one
//! then, and outside of all that are pushed later; several activations can have the same frame, when compiled code
//! calls VM code that calls Java again without a frame of its own.
//!
//! The thread's anchor belongs to the innermost activation; an activation keeps that of the next one further out.

use super::abi::{self, Arguments};
use super::stubs;
use crate::classfile::BasicType;
use crate::interpreter::frame::Frame;
use crate::runtime::{JResult, JavaThread, MethodRef};

/// A stretch of compiled frames.
pub struct Activation {
    /// The next one further out.
    pub previous: *const Activation,
    /// The interpreter or native frame outside of it; null for the first Java code of a thread.
    pub caller_frame: *mut Frame,
    /// Anchor of `previous`.
    pub exit_pc: usize,
    pub exit_fp: usize,
}

/// Calls compiled code of a method, with arguments in slots, which need not be roots any more. Returns the raw result
/// word. A safepoint.
///
/// # Safety
/// `entry` was read from the method since the last safepoint; its arguments begin at `slots`; the thread's
/// top frame has its `sp` saved below them.
pub unsafe fn call(
    t: &JavaThread,
    method: MethodRef,
    entry: *const u8,
    slots: *const u64,
) -> JResult<u64> {
    let mut arguments = Arguments::new();
    // SAFETY: by the contract.
    unsafe {
        arguments.set(abi::argument_types(method), slots);
        run(t, method, entry, &arguments)
    }
}

/// Enters code for the loop at the present instruction of an interpreted frame, whose locals are its arguments.
///
/// # Safety
/// As `call`; the code is for that instruction of the frame.
pub unsafe fn call_loop(
    t: &JavaThread,
    method: MethodRef,
    entry: *const u8,
    locals: *const u64,
) -> JResult<u64> {
    let mut arguments = Arguments::new();
    arguments.set_word(locals as u64);
    // SAFETY: by the contract.
    unsafe { run(t, method, entry, &arguments) }
}

/// # Safety
/// As `call`.
unsafe fn run(
    t: &JavaThread,
    method: MethodRef,
    entry: *const u8,
    arguments: &Arguments,
) -> JResult<u64> {
    debug_assert!(!t.has_pending(), "{method:?} entered with an exception pending");
    let activation = Activation {
        previous: t.jit.activation.get(),
        caller_frame: t.top_frame.get(),
        exit_pc: t.jit.exit_pc.replace(0),
        exit_fp: t.jit.exit_fp.replace(0),
    };
    t.jit.activation.set(&activation);
    // SAFETY: by the contract.
    let returned = unsafe { stubs::enter(entry, method, arguments, t) };
    debug_assert_eq!(t.top_frame.get(), activation.caller_frame, "frames left by {method:?}");
    debug_assert_eq!(t.jit.activation.get(), &raw const activation);
    t.jit.activation.set(activation.previous);
    t.jit.exit_pc.set(activation.exit_pc);
    t.jit.exit_fp.set(activation.exit_fp);
    t.check()?;
    Ok(match method.return_type {
        BasicType::Float => returned.float.to_bits() as u32 as u64,
        BasicType::Double => returned.float.to_bits(),
        _ => returned.integer,
    })
}
