//! The way from native code into the VM and back.
//!
//! Native code runs in the safe state. Every JNI and `JVM_*` function returns to the running state, does its
//! work in a closure, and leaves again:
//!
//! ```ignore
//! #[unsafe(no_mangle)]
//! extern "C" fn JVM_GetClassSigners(env: Env, class: jclass) -> jobjectArray {
//!     env.enter(|t| {
//!         let klass = entry::klass(t, class)?;          // jclass -> KlassRef; NPE for null
//!         let object = entry::resolve(t, other);        // jobject -> ObjectRef, dead after a safepoint
//!         let handle = entry::handle(t, other);         // jobject -> Handle
//!         Ok(t.load_root(&klass.inst().signers))        // ObjectRef -> new local reference
//!     })
//! }
//! ```
//!
//! The closure's result is returned by [`ToNative`]: an [`ObjectRef`] or [`Handle`] as a new local reference
//! of the calling native method, `bool` as `jboolean`, numbers and pointers as they are. `Err(Throw)` leaves
//! the exception pending and gives 0 or null. Handles made inside end with the closure.
//!
//! Functions without a `JNIEnv` argument use [`enter_current`].

use super::env::JniEnv;
use super::types::{jboolean, jclass, jobject};
use crate::loading::errors;
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, KlassRef};
use gc::object::{ObjectRef, RootSlot};
use std::ptr::NonNull;

/// The `JNIEnv *` that native code passes: that of its own thread, attached, in the safe state.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Env(NonNull<JniEnv>);

impl Env {
    /// The pointer that native code gets for this thread.
    pub fn of(t: &JavaThread) -> Env {
        Env(NonNull::from(&t.jni))
    }

    /// The pointer as a number, to pass it on.
    #[inline]
    pub fn address(self) -> usize {
        self.0.as_ptr() as usize
    }

    /// The thread, without entering: only its own cells may be touched, not the heap.
    #[inline]
    pub fn thread(self) -> &'static JavaThread {
        // SAFETY: the JNIEnv of an attached thread lies in its JavaThread, to which `thread` points back.
        unsafe { &*self.0.as_ref().thread.get() }
    }

    /// Runs `body` in the running state. A safepoint.
    #[inline]
    pub fn enter<R: ToNative>(self, body: impl FnOnce(&JavaThread) -> JResult<R>) -> R::Native {
        enter(self.thread(), body)
    }
}

/// As [`Env::enter`] for functions that are not passed an environment. The thread must be attached.
#[inline]
pub fn enter_current<R: ToNative>(body: impl FnOnce(&JavaThread) -> JResult<R>) -> R::Native {
    enter(JavaThread::current(), body)
}

#[inline]
fn enter<R: ToNative>(t: &JavaThread, body: impl FnOnce(&JavaThread) -> JResult<R>) -> R::Native {
    t.vm.heap.leave_safe(&t.mutator);
    let mark = t.handles.mark();
    let result = match body(t) {
        Ok(result) => result.to_native(t, mark),
        Err(_) => {
            t.handles.release(mark);
            R::NOTHING
        }
    };
    t.vm.heap.enter_safe(&t.mutator);
    result
}

/// How results of VM functions look to native code.
pub trait ToNative {
    type Native;
    /// The value that is returned with a pending exception.
    const NOTHING: Self::Native;
    /// Ends the handles made since `mark` and makes the native value.
    fn to_native(self, t: &JavaThread, mark: usize) -> Self::Native;
}

impl ToNative for ObjectRef {
    type Native = jobject;
    const NOTHING: jobject = std::ptr::null_mut();

    #[inline]
    fn to_native(self, t: &JavaThread, mark: usize) -> jobject {
        t.handles.release(mark);
        local(t, self)
    }
}

impl ToNative for Handle {
    type Native = jobject;
    const NOTHING: jobject = std::ptr::null_mut();

    #[inline]
    fn to_native(self, t: &JavaThread, mark: usize) -> jobject {
        self.get().to_native(t, mark)
    }
}

impl ToNative for bool {
    type Native = jboolean;
    const NOTHING: jboolean = 0;

    #[inline]
    fn to_native(self, t: &JavaThread, mark: usize) -> jboolean {
        t.handles.release(mark);
        self as jboolean
    }
}

impl<T> ToNative for *mut T {
    type Native = *mut T;
    const NOTHING: *mut T = std::ptr::null_mut();

    #[inline]
    fn to_native(self, t: &JavaThread, mark: usize) -> *mut T {
        t.handles.release(mark);
        self
    }
}

impl<T> ToNative for *const T {
    type Native = *const T;
    const NOTHING: *const T = std::ptr::null();

    #[inline]
    fn to_native(self, t: &JavaThread, mark: usize) -> *const T {
        t.handles.release(mark);
        self
    }
}

macro_rules! as_it_is {
    ($($ty:ty = $nothing:expr),*) => {$(
        impl ToNative for $ty {
            type Native = $ty;
            const NOTHING: $ty = $nothing;

            #[inline]
            fn to_native(self, t: &JavaThread, mark: usize) -> $ty {
                t.handles.release(mark);
                self
            }
        }
    )*};
}

as_it_is!(
    () = (),
    i8 = 0,
    u8 = 0,
    i16 = 0,
    u16 = 0,
    i32 = 0,
    u32 = 0,
    i64 = 0,
    u64 = 0,
    usize = 0,
    f32 = 0.0,
    f64 = 0.0
);

/// The object that a local, global or weak reference names; null for null and for a cleared weak one.
#[inline]
pub fn resolve(t: &JavaThread, reference: jobject) -> ObjectRef {
    let address = reference as usize;
    if address == 0 {
        return ObjectRef::NULL;
    }
    match address & TAG_MASK {
        TAG_LOCAL => Handle::from_address(address).get(),
        tag => {
            // SAFETY: tagged references are made by `GlobalRefs`, whose slots stay in place for ever.
            let slot = unsafe { &*((address - tag) as *const RootSlot) };
            if tag == TAG_WEAK {
                t.barriers().load_weak_root(&t.mutator, slot)
            } else {
                t.load_root(slot)
            }
        }
    }
}

/// A handle of the object that the reference names. A local reference is its own handle.
#[inline]
pub fn handle(t: &JavaThread, reference: jobject) -> Handle {
    if !reference.is_null() && reference as usize & TAG_MASK == TAG_LOCAL {
        Handle::from_address(reference as usize)
    } else {
        t.root(resolve(t, reference))
    }
}

/// As [`handle`], but throws `NullPointerException` for null.
#[inline]
pub fn non_null(t: &JavaThread, reference: jobject) -> JResult<Handle> {
    let handle = handle(t, reference);
    if handle.is_null() { Err(errors::null_pointer(t)) } else { Ok(handle) }
}

/// A new local reference; null for null.
#[inline]
pub fn local(t: &JavaThread, object: ObjectRef) -> jobject {
    if object.is_null() {
        return std::ptr::null_mut();
    }
    t.root(object).address() as jobject
}

/// The class that a `jclass` (a reference to its mirror) stands for; `NullPointerException` for null.
#[inline]
pub fn klass(t: &JavaThread, class: jclass) -> JResult<KlassRef> {
    let mirror = resolve(t, class);
    if mirror.is_null() { Err(errors::null_pointer(t)) } else { Ok(t.klass_of_mirror(mirror)) }
}

/// A C string's bytes (modified UTF-8).
///
/// # Safety
/// `text` is a NUL-terminated string that outlives the result.
pub unsafe fn c_bytes<'a>(text: *const libc::c_char) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe { std::ffi::CStr::from_ptr(text) }.to_bytes()
}

/// Tags in the low bits of a `jobject`.
pub const TAG_MASK: usize = 3;
pub const TAG_LOCAL: usize = 0;
pub const TAG_WEAK: usize = 1;
pub const TAG_GLOBAL: usize = 2;
