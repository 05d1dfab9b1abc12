//! Exceptions that instructions themselves throw, and their messages.

use crate::frames::frame::Frame;
use crate::loading::errors;
use crate::loading::messages::joint_location;
use crate::machine::JavaThread;
use crate::runtime::{KlassRef, Throw};
use gc::object::ObjectRef;

/// Why an instruction did not complete.
pub enum Fault {
    /// The exception is pending already.
    Thrown,
    NullPointer,
    /// Index and length.
    Index(i32, usize),
    DivideByZero,
    /// The object on top of the operand stack is no instance of the class.
    Cast(KlassRef),
    /// The value on top of the operand stack does not fit the array below.
    ArrayStore,
    /// No room for a callee's frame.
    StackOverflow,
    /// None at all: a jump backwards has been taken, and the thread has a request to stop, or its loop is to be
    /// counted.
    BackEdge,
}

impl Fault {
    /// Makes the exception pending. The frame's `pc` and `sp` are saved. A safepoint.
    #[cold]
    #[inline(never)]
    pub fn raise(self, t: &JavaThread, frame: *mut Frame) -> Throw {
        // SAFETY: for `Cast` and `ArrayStore` the operand stack is not empty and its top a reference.
        let top = || ObjectRef::from_address(unsafe { *(*frame).sp.sub(1) } as usize);
        match self {
            Fault::Thrown => Throw::PENDING,
            Fault::BackEdge => unreachable!("no fault"),
            Fault::NullPointer => errors::null_pointer(t),
            Fault::Index(index, length) => throw(
                t,
                "java/lang/ArrayIndexOutOfBoundsException",
                &format!("Index {index} out of bounds for length {length}"),
            ),
            Fault::DivideByZero => throw(t, "java/lang/ArithmeticException", "/ by zero"),
            Fault::Cast(target) => {
                let message = cast_message(t, t.klass_of(top()), target);
                throw(t, "java/lang/ClassCastException", &message)
            }
            Fault::ArrayStore => {
                let name = t.klass_of(top()).java_name();
                throw(t, "java/lang/ArrayStoreException", &name)
            }
            Fault::StackOverflow => stack_overflow(t),
        }
    }
}

/// Throws `StackOverflowError`, with the reserve for its constructor.
#[cold]
pub fn stack_overflow(t: &JavaThread) -> Throw {
    let reported =
        t.java_stack.with_reserve(|| errors::throw_new(t, "java/lang/StackOverflowError", None));
    // The reserve is for exactly one report at a time; it does not call programs' code.
    reported.expect("the stack overflowed while its overflow was reported")
}

/// The message of `ClassCastException`: the two classes, and their modules and loaders.
pub fn cast_message(t: &JavaThread, from: KlassRef, to: KlassRef) -> String {
    let (from_name, to_name) = (from.java_name(), to.java_name());
    let origins = joint_location(t, from, to);
    format!("class {from_name} cannot be cast to class {to_name} ({origins})")
}

fn throw(t: &JavaThread, class_name: &str, message: &str) -> Throw {
    errors::throw_new(t, class_name, Some(message))
}
