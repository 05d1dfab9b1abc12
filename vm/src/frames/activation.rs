//! Activations: stretches of compiled frames on the native stack.
//!
//! A Rust function that calls compiled code makes an activation, which lives in the Rust frame around
//! [`enter::enter`]. Its compiled frames lie inside of the interpreter (or native) frame that was the thread's top
//! one then, and outside of all that are pushed later; several activations can have the same frame, when compiled
//! code calls VM code that calls Java again without a frame of its own.
//!
//! The thread's anchor belongs to the innermost activation; an activation saves the anchor of the next outer one.

use super::enter;
use super::frame::Frame;
use crate::machine::{JavaThread, Vm};
use crate::runtime::code::abi::{self, Arguments, STACK_MAX};
use crate::runtime::code::installed::Installed;
use crate::runtime::code::safepoints::{Place, Safepoint};
use crate::runtime::{JResult, MethodRef};
use classfile::BasicType;
use gc::object::ObjectRef;

/// A stretch of compiled frames.
pub struct Activation {
    /// The next outer activation.
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
    // SAFETY: by the contract.
    unsafe {
        if method.argument_slots as usize <= FEW {
            call_with::<FEW>(t, method, entry, slots)
        } else {
            call_with::<STACK_MAX>(t, method, entry, slots)
        }
    }
}

/// # Safety
/// As `call`, with at most `STACK` slots.
#[inline(never)]
unsafe fn call_with<const STACK: usize>(
    t: &JavaThread,
    method: MethodRef,
    entry: *const u8,
    slots: *const u64,
) -> JResult<u64> {
    let mut arguments = Arguments::<STACK>::new();
    // SAFETY: by the contract.
    unsafe {
        arguments.set(abi::argument_types(method), slots);
        let caller_frame = t.top_frame.get();
        let result = run(t, method, entry, &arguments);
        debug_assert_eq!(t.top_frame.get(), caller_frame, "frames left by {method:?}");
        t.check()?;
        Ok(result)
    }
}

/// Most methods have no more argument slots: entering them takes little of the native stack.
const FEW: usize = 12;

/// The outcome of entering a loop.
pub enum Entered {
    /// The method has ended, with this raw result.
    Returned(u64),
    /// It has ended with the pending exception.
    Thrown,
    /// The code has left by an exit: the interpreter continues with the frames as they are, from the thread's top
    /// one; an exception may be pending.
    Left,
}

/// Enters code for the loop at the present instruction of an interpreted frame, whose locals are its arguments.
///
/// # Safety
/// As `call`; the frame is the top one, and the code is for its instruction.
pub unsafe fn call_loop(
    t: &JavaThread,
    method: MethodRef,
    entry: *const u8,
    locals: *const u64,
) -> Entered {
    let mut arguments = Arguments::<1>::new();
    arguments.set_word(locals as u64);
    // SAFETY: by the contract.
    let result = unsafe { run(t, method, entry, &arguments) };
    if t.jit.has_left_loop.replace(false) {
        return Entered::Left;
    }
    if t.has_pending() { Entered::Thrown } else { Entered::Returned(result) }
}

/// # Safety
/// As `call`.
#[inline]
unsafe fn run<const STACK: usize>(
    t: &JavaThread,
    method: MethodRef,
    entry: *const u8,
    arguments: &Arguments<STACK>,
) -> u64 {
    debug_assert!(!t.has_pending(), "{method:?} entered with an exception pending");
    let activation = Activation {
        previous: t.jit.activation.get(),
        caller_frame: t.top_frame.get(),
        exit_pc: t.jit.exit_pc.replace(0),
        exit_fp: t.jit.exit_fp.replace(0),
    };
    t.jit.activation.set(&activation);
    let arguments = std::ptr::from_ref(arguments).cast();
    let enter = || {
        // SAFETY: by the contract.
        unsafe { enter::enter(entry, method, arguments, t) }
    };
    let returned = t.java_stack.enter_code(activation.exit_fp, enter);
    debug_assert_eq!(t.jit.activation.get(), &raw const activation);
    t.jit.activation.set(activation.previous);
    t.jit.exit_pc.set(activation.exit_pc);
    t.jit.exit_fp.set(activation.exit_fp);
    match method.return_type {
        BasicType::Float => returned.float.to_bits() as u32 as u64,
        BasicType::Double => returned.float.to_bits(),
        _ => returned.integer,
    }
}

/// A frame of compiled code on a stack, at a call. Valid until the thread runs Java code again.
#[derive(Clone, Copy)]
pub struct CompiledFrame {
    pub code: &'static Installed,
    pub safepoint: Safepoint<'static>,
    fp: usize,
}

impl CompiledFrame {
    /// How many methods the frame stands for.
    pub fn place_count(&self) -> usize {
        self.safepoint.places().len()
    }

    /// The methods that the frame stands for, outermost first.
    pub fn place(&self, index: usize) -> Place {
        self.safepoint.places().nth(index).expect("a place of the frame")
    }

    /// The words that are roots.
    pub fn roots(&self) -> impl Iterator<Item = *mut u64> + '_ {
        self.safepoint.roots().iter().map(|slot| self.root_slot(*slot))
    }

    /// The objects that place number `index` of the frame has locked, outermost first.
    pub fn locked(&self, index: usize) -> impl DoubleEndedIterator<Item = ObjectRef> + '_ {
        let of_place = self.safepoint.locks().iter().filter(move |(_, of)| *of as usize == index);
        // SAFETY: locks lie in live root slots of a frame that is on the stack.
        of_place.map(|(slot, _)| unsafe { *self.root_slot(*slot).cast::<ObjectRef>() })
    }

    /// Whether a live reference of the frame is this one.
    pub fn holds(&self, object: ObjectRef) -> bool {
        // SAFETY: root slots of a frame that is on the stack.
        self.roots().any(|slot| unsafe { *slot } == object.address() as u64)
    }

    fn root_slot(&self, slot: u16) -> *mut u64 {
        let body = &self.code.body;
        let bottom = self.fp - body.frame_to_fp as usize;
        (bottom + body.roots_offset as usize + 8 * slot as usize) as *mut u64
    }
}

/// Steps through the compiled frames of one activation after the other, innermost first.
#[derive(Clone, Copy)]
pub struct Walk {
    vm: &'static Vm,
    activation: *const Activation,
    pc: usize,
    fp: usize,
    /// The body of the frame before: recursion meets it again.
    last: Option<&'static Installed>,
}

impl Walk {
    /// Of the current thread, or one that is stopped.
    pub fn new(t: &JavaThread) -> Walk {
        Walk {
            vm: t.vm,
            activation: t.jit.activation.get(),
            pc: t.jit.exit_pc.get(),
            fp: t.jit.exit_fp.get(),
            last: None,
        }
    }

    /// The interpreter frame outside of the present activation; `None` when there is no activation any more.
    #[inline]
    pub fn caller_frame(&self) -> Option<*mut Frame> {
        // SAFETY: activations lie on the thread's stack as long as it does not return through them.
        unsafe { self.activation.as_ref() }.map(|activation| activation.caller_frame)
    }

    /// The next frame of the present activation; at its end the next activation becomes the present one.
    pub fn step(&mut self) -> Option<CompiledFrame> {
        if self.pc == 0 || self.pc == enter::outermost_return() {
            // SAFETY: there is a present activation: the caller has looked. See above.
            let activation = unsafe { &*self.activation };
            self.activation = activation.previous;
            (self.pc, self.fp) = (activation.exit_pc, activation.exit_fp);
            return None;
        }
        let known = self.last.filter(|code| code.contains(self.pc));
        let code = known.or_else(|| self.vm.jit.cache.find(self.pc));
        let code = code.unwrap_or_else(|| panic!("no compiled code at {:#x}", self.pc));
        self.last = Some(code);
        let frame = CompiledFrame { code, safepoint: code.safepoint(self.pc), fp: self.fp };
        // SAFETY: compiled code keeps frame pointers: the word above the saved one is the return address.
        unsafe {
            self.pc = *(self.fp as *const usize).add(1);
            self.fp = *(self.fp as *const usize);
        }
        Some(frame)
    }
}

/// Calls `visit` with every compiled frame of a thread that is stopped, or the current one.
pub fn for_each_frame(t: &JavaThread, visit: &mut dyn FnMut(CompiledFrame)) {
    let mut walk = Walk::new(t);
    while walk.caller_frame().is_some() {
        while let Some(frame) = walk.step() {
            visit(frame);
        }
    }
}
