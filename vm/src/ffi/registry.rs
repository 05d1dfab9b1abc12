//! Native methods of the class library that the VM provides itself.
//!
//! Each module that has some offers a table, and [`natives::ALL`](crate::natives::ALL) lists the tables. Prefer
//! [`Native::Direct`]: it is called in the running state with the interpreter's argument slots, without any transition:
//!
//! ```ignore
//! pub static UNSAFE: NativeTable = NativeTable {
//!     class: "jdk/internal/misc/Unsafe",
//!     entries: &[entry("getInt", "(Ljava/lang/Object;J)I", Native::Direct(get_int))],
//! };
//!
//! fn get_int(_t: &JavaThread, args: Arguments) -> JResult<u64> {
//!     Ok(object::get::<i32>(args.object(1), args.long(2) as usize) as i64 as u64)
//! }
//! ```

use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult};
use gc::object::ObjectRef;

/// The natives of one class.
pub struct NativeTable {
    /// Internal name.
    pub class: &'static str,
    pub entries: &'static [NativeEntry],
}

/// One native method.
pub struct NativeEntry {
    pub name: &'static str,
    /// The descriptor; empty for any (a name without overloads).
    pub descriptor: &'static str,
    pub native: Native,
}

/// The implementation of a native method.
#[derive(Clone, Copy)]
pub enum Native {
    /// Called in the running state; a handle scope is open. The result word is as `interpreter::call` gives
    /// it: ints sign-extended (booleans 0 or 1, chars zero-extended), floats as bits, references as plain
    /// addresses, 0 for void.
    Direct(DirectNative),
    /// A C function with the JNI calling convention (`JNIEnv *`, class or receiver, arguments).
    C(*const libc::c_void),
}

// SAFETY: function addresses may be used from any thread.
unsafe impl Sync for Native {}

pub type DirectNative = fn(&JavaThread, Arguments) -> JResult<u64>;

/// Shorthand for tables.
pub const fn entry(name: &'static str, descriptor: &'static str, native: Native) -> NativeEntry {
    NativeEntry { name, descriptor, native }
}

/// Argument slots of a direct native: the receiver first if there is one; a long or double takes two slots
/// and its value is in the first. The slots are roots for as long as the call lasts.
#[derive(Clone, Copy)]
pub struct Arguments(*mut u64);

impl Arguments {
    /// `slots` must hold the arguments of the method that is called, and be roots.
    #[inline]
    pub fn new(slots: *mut u64) -> Arguments {
        Arguments(slots)
    }

    #[inline]
    pub fn word(self, slot: usize) -> u64 {
        // SAFETY: natives only read the slots of their own descriptor's arguments.
        unsafe { *self.0.add(slot) }
    }

    #[inline]
    pub fn int(self, slot: usize) -> i32 {
        self.word(slot) as i32
    }

    #[inline]
    pub fn boolean(self, slot: usize) -> bool {
        self.int(slot) & 1 != 0
    }

    #[inline]
    pub fn long(self, slot: usize) -> i64 {
        self.word(slot) as i64
    }

    #[inline]
    pub fn float(self, slot: usize) -> f32 {
        f32::from_bits(self.word(slot) as u32)
    }

    #[inline]
    pub fn double(self, slot: usize) -> f64 {
        f64::from_bits(self.word(slot))
    }

    /// A reference argument; dead after a safepoint, read it again then.
    #[inline]
    pub fn object(self, slot: usize) -> ObjectRef {
        ObjectRef::from_address(self.word(slot) as usize)
    }

    /// The slot as a handle.
    #[inline]
    pub fn handle(self, slot: usize) -> Handle {
        // SAFETY: in bounds, as in `word`.
        Handle::from_address(unsafe { self.0.add(slot) } as usize)
    }
}
