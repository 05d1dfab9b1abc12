//! Entering methods.

use super::fault::stack_overflow;
use super::{monitors, run};
use crate::ffi::natives;
use crate::frames::activation;
use crate::frames::frame::{ENTRY, FRAME_SLOTS, Frame, NATIVE};
use crate::loading::{errors, resolve};
use crate::machine::JavaThread;
use crate::runtime::code::abi::{self, Registers};
use crate::runtime::code::elementary::Elementary;
use crate::runtime::code::entry;
use crate::runtime::code::quick::{self, code_of, sites_of};
use crate::runtime::method::Intrinsic;
use crate::runtime::{JResult, MethodRef, Throw};
use crate::threads::requests;
use classfile::BasicType;
use gc::object::ObjectRef;
use std::sync::atomic::Ordering;

/// Calls a Java (or native) method from VM code and returns its result word: ints sign-extended, floats as
/// bits, references as plain addresses, 0 for void. `arguments` are stack slots: receiver first, longs and
/// doubles take two slots with the value in the first. No virtual dispatch happens: the caller selected the
/// method, initialized its class, and checked that the receiver is not null. A safepoint.
pub fn call(t: &JavaThread, method: MethodRef, arguments: &[u64]) -> JResult<u64> {
    assert_eq!(arguments.len(), method.argument_slots as usize, "arguments of {method:?}");
    debug_assert!(!t.has_pending(), "call of {method:?} with an exception pending");
    let top = t.top_frame.get();
    // SAFETY: the top frame is the current thread's; a caller that has a frame has saved its `sp`.
    let base = if top.is_null() { t.java_stack.base() } else { unsafe { (*top).sp } };
    let end = base.wrapping_add(arguments.len() + FRAME_SLOTS);
    if end > t.java_stack.limit() || !t.java_stack.has_native_room() {
        return Err(stack_overflow(t));
    }
    // SAFETY: only this thread uses the stack between `base` and the limit; the frame that `enter` pushes is the
    // thread's top one.
    let result = unsafe {
        std::ptr::copy_nonoverlapping(arguments.as_ptr(), base, arguments.len());
        run_method(t, method, base)?
    };
    Ok(match method.return_type {
        BasicType::Void => 0,
        BasicType::Boolean => result & 1,
        BasicType::Byte => result as i8 as i64 as u64,
        BasicType::Short => result as i16 as i64 as u64,
        BasicType::Char => result as u16 as u64,
        BasicType::Int => result as i32 as i64 as u64,
        BasicType::Float => result as u32 as u64,
        _ => result,
    })
}

/// Calls a method for compiled code, which has passed the arguments in its own way. Returns the raw result word. A
/// safepoint, but not before the arguments are roots.
///
/// # Safety
/// Registers and stack words hold the method's arguments.
pub unsafe fn call_gathered(
    t: &JavaThread,
    method: MethodRef,
    registers: &Registers,
    stack: *const u64,
) -> JResult<u64> {
    let top = t.top_frame.get();
    // SAFETY: as in `call`.
    let base = if top.is_null() { t.java_stack.base() } else { unsafe { (*top).sp } };
    let end = base.wrapping_add(method.argument_slots as usize + FRAME_SLOTS);
    if end > t.java_stack.limit() || !t.java_stack.has_native_room() {
        return Err(stack_overflow(t));
    }
    // SAFETY: by the contract; as in `call`.
    unsafe {
        abi::gather(abi::argument_types(method), registers, stack, base);
        run_method(t, method, base)
    }
}

/// Runs a method to its end.
///
/// # Safety
/// As `enter`.
#[inline]
unsafe fn run_method(t: &JavaThread, method: MethodRef, arguments: *mut u64) -> JResult<u64> {
    // SAFETY: by the contract; the frame that `enter` pushes is the thread's top one.
    unsafe {
        match enter(t, method, arguments, 0, ENTRY)? {
            Entered::Frame(frame) => run::run(t, frame),
            Entered::Result(value) => Ok(value),
        }
    }
}

/// The outcome of entering a method.
pub enum Entered {
    /// Bytecode: its frame is the top one.
    Frame(*mut Frame),
    /// Native code: it has returned this.
    Result(u64),
}

/// Enters a method of any kind, whose arguments begin at `arguments`, on top of the present top frame's stack.
/// Frames of bytecode get `flags`. A safepoint.
///
/// # Safety
/// `arguments` are as many slots as the method takes, with room for a frame header behind them.
#[inline(never)]
pub unsafe fn enter(
    t: &JavaThread,
    method: MethodRef,
    arguments: *mut u64,
    resume: u32,
    flags: u32,
) -> JResult<Entered> {
    let mut kind = method.entry.load(Ordering::Acquire);
    if kind == entry::UNDECIDED {
        kind = decide(t, method);
    }
    if matches!(kind, entry::INTERPRETED | entry::SYNCHRONIZED) && !count_call(method) {
        t.vm.jit.hot(t, method);
        kind = method.entry.load(Ordering::Acquire);
    }
    match kind {
        entry::COMPILED => {
            let code = method.jit.compiled.load(Ordering::Acquire);
            let top = t.top_frame.get();
            // SAFETY: the caller's frame is this thread's; its operands end where the arguments begin, which are
            // the callee's from now on.
            let result = unsafe {
                if !top.is_null() {
                    (*top).sp = arguments;
                }
                activation::call(t, method, code, arguments)
            }?;
            Ok(Entered::Result(result))
        }
        entry::NATIVE => {
            // SAFETY: by the contract.
            let result = unsafe { enter_native(t, method, arguments) }?;
            Ok(Entered::Result(result))
        }
        entry::COMPUTED => {
            let function = Elementary::of(&t.vm.options.jit, method);
            let function = function.expect("decided so because it is one");
            // SAFETY: by the contract.
            let slots =
                unsafe { std::slice::from_raw_parts(arguments, method.argument_slots.into()) };
            Ok(Entered::Result(function.compute(slots)))
        }
        entry::ABSTRACT => Err(abstract_method(t, method, arguments)),
        _ => {
            let frame = arguments.wrapping_add(method.max_locals as usize).cast::<Frame>();
            let sp = frame.cast::<u64>().wrapping_add(FRAME_SLOTS);
            if sp.wrapping_add(method.max_stack as usize + 2) > t.java_stack.limit() {
                return Err(stack_overflow(t));
            }
            let pc = code_of(method);
            // SAFETY: the memory up to the limit is the thread's own; a prepared method has sites.
            unsafe {
                frame.write(Frame {
                    method,
                    previous: t.top_frame.get(),
                    pc,
                    sp,
                    locals: arguments,
                    sites: sites_of(pc),
                    lock: ObjectRef::NULL,
                    flags,
                    resume,
                });
            }
            t.top_frame.set(frame);
            if kind == entry::SYNCHRONIZED {
                monitors::enter_method(t, frame)?;
            }
            Ok(Entered::Frame(frame))
        }
    }
}

/// Counts a call of an interpreted method. `false`: its count is up, and stays so until the compiler's policy has been
/// asked.
#[inline(always)]
pub fn count_call(method: MethodRef) -> bool {
    // Threads may overwrite each other's counts: it does not matter when exactly a method is hot.
    let left = method.jit.countdown.load(Ordering::Relaxed) - 1;
    if left <= 0 {
        return false;
    }
    method.jit.countdown.store(left, Ordering::Relaxed);
    true
}

/// A value as a `bastore` stores it: elements of boolean arrays keep one bit.
#[inline(always)]
pub fn byte_element(t: &JavaThread, array: ObjectRef, value: i32) -> i8 {
    let is_boolean = array.klass() == t.vm.known.primitive_array(BasicType::Boolean).id;
    (if is_boolean { value & 1 } else { value }) as i8
}

/// # Safety
/// As `enter`.
unsafe fn enter_native(t: &JavaThread, method: MethodRef, arguments: *mut u64) -> JResult<u64> {
    if method.intrinsic != Intrinsic::None {
        return Err(not_reflectively(t, method));
    }
    let frame = arguments.wrapping_add(method.argument_slots as usize).cast::<Frame>();
    let sp = frame.cast::<u64>().wrapping_add(FRAME_SLOTS);
    if sp > t.java_stack.limit() || !t.java_stack.has_native_room() {
        return Err(stack_overflow(t));
    }
    // SAFETY: checked against the limit above.
    unsafe {
        frame.write(Frame {
            method,
            previous: t.top_frame.get(),
            pc: std::ptr::null(),
            sp,
            locals: arguments,
            sites: std::ptr::null(),
            lock: ObjectRef::NULL,
            flags: NATIVE,
            resume: 0,
        });
    }
    t.top_frame.set(frame);
    let result = if method.flags().is_synchronized() {
        call_synchronized(t, method, frame)
    } else {
        call_native(t, method, arguments)
    };
    // SAFETY: the frame written above; natives pop the frames that they push.
    t.top_frame.set(unsafe { (*frame).previous });
    result
}

/// Calls a native method; a thread with a request to stop does so when the method returns.
fn call_native(t: &JavaThread, method: MethodRef, arguments: *mut u64) -> JResult<u64> {
    let result = natives::call_native(t, method, arguments)?;
    if t.mutator.has_poll_request() {
        requests::throw_if_stopped(t)?;
    }
    Ok(result)
}

fn call_synchronized(t: &JavaThread, method: MethodRef, frame: *mut Frame) -> JResult<u64> {
    let _scope = t.scope();
    monitors::enter_method_of_native(t, frame)?;
    // SAFETY: the frame was pushed by `enter_native`.
    let result = call_native(t, method, unsafe { (*frame).locals });
    if let (Ok(value), true) = (result, method.return_type.is_reference()) {
        let kept = t.root(ObjectRef::from_address(value as usize));
        monitors::release_at_throw(t, frame);
        return Ok(kept.get().address() as u64);
    }
    monitors::release_at_throw(t, frame);
    result
}

/// Chooses the entry of a method that is called for the first time. Its class is linked.
#[cold]
fn decide(t: &JavaThread, method: MethodRef) -> u8 {
    let kind = if method.is_native() {
        entry::NATIVE
    } else if Elementary::of(&t.vm.options.jit, method).is_some() {
        entry::COMPUTED
    } else if method.code().is_none() {
        entry::ABSTRACT
    } else {
        quick::prepare(method);
        method.jit.countdown.store(t.vm.jit.countdown(t.vm, method), Ordering::Relaxed);
        entry::of_bytecode(method)
    };
    // Another thread may have decided, and a compiler thread finished, meanwhile.
    let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
    match method.entry.compare_exchange(entry::UNDECIDED, kind, success, failure) {
        Ok(_) => kind,
        Err(decided) => decided,
    }
}

/// Signature-polymorphic methods have no body: only call instructions can call them.
#[cold]
fn not_reflectively(t: &JavaThread, method: MethodRef) -> Throw {
    let message = match method.holder.name.bytes() {
        b"java/lang/invoke/VarHandle" => {
            "VarHandle access mode methods cannot be invoked reflectively".to_string()
        }
        _ => format!("MethodHandle.{} cannot be invoked reflectively", method.name()),
    };
    errors::throw_new(t, "java/lang/UnsupportedOperationException", Some(&message))
}

/// An abstract method was selected: its receiver's class lacks an implementation.
#[cold]
fn abstract_method(t: &JavaThread, method: MethodRef, arguments: *mut u64) -> Throw {
    // SAFETY: abstract methods have a receiver, which was checked not to be null.
    let receiver = ObjectRef::from_address(unsafe { *arguments } as usize);
    resolve::abstract_method(t, method, None, t.klass_of(receiver))
}
