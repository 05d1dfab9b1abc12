//! The border to Java: arrays and buffers are copied in and out, failures and panics become exceptions.

use crate::failure::{Failure, Reason};
use jni_sys::{
    JNIEnv, JNINativeInterface__1_6, jbyte, jbyteArray, jint, jlong, jlongArray, jobject, jvalue,
};
use std::any::Any;
use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{NonNull, null_mut};

/// The environment of the calling thread, during one call.
#[derive(Clone, Copy)]
pub struct Env(NonNull<JNIEnv>);

/// Runs a native method. A failure becomes an exception, and so does a panic; then the result is `T::default()`, which
/// Java does not see.
///
/// # Safety
/// `env` is what the JVM has handed to the calling native method.
pub unsafe fn call<T: Empty>(env: *mut JNIEnv, body: impl FnOnce(Env) -> Result<T, Failure>) -> T {
    let Some(env) = NonNull::new(env) else { return T::EMPTY };
    let env = Env(env);
    let failure = match catch_unwind(AssertUnwindSafe(|| body(env))) {
        Ok(Ok(value)) => return value,
        Ok(Err(failure)) => failure,
        Err(panic) => Failure::internal(text_of(&*panic)),
    };
    env.throw(failure);
    T::EMPTY
}

/// Room behind the bytes of a buffer. An error if the process has no memory: a JVM does not end for that.
pub fn reserve(into: &mut Vec<u8>, bytes: usize) -> Result<(), Failure> {
    into.try_reserve(bytes).map_err(|_| Failure::no_memory(bytes))
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown")
}

/// What a native method returns when it throws.
pub trait Empty {
    const EMPTY: Self;
}

impl Empty for () {
    const EMPTY: () = ();
}

impl Empty for bool {
    const EMPTY: bool = false;
}

impl Empty for jint {
    const EMPTY: jint = 0;
}

impl Empty for jlong {
    const EMPTY: jlong = 0;
}

impl Empty for jobject {
    const EMPTY: jobject = null_mut();
}

impl Env {
    fn table(&self) -> &JNINativeInterface__1_6 {
        // SAFETY: the JVM's environment of this thread, which is valid during the call. Java 17 has all these
        // functions.
        unsafe { &(**self.0.as_ptr()).v1_6 }
    }

    fn raw(&self) -> *mut JNIEnv {
        self.0.as_ptr()
    }

    /// An error if Java has an exception pending.
    fn checked<T>(&self, value: T) -> Result<T, Failure> {
        // SAFETY: this thread's environment.
        let is_pending = unsafe { (self.table().ExceptionCheck)(self.raw()) };
        if is_pending { Err(Failure::Pending) } else { Ok(value) }
    }

    /// Length of an array. Null is an error.
    pub fn length(&self, array: jbyteArray) -> Result<usize, Failure> {
        if array.is_null() {
            return Err(Failure::Argument("null".into()));
        }
        // SAFETY: Java declares the parameter as an array.
        let length = unsafe { (self.table().GetArrayLength)(self.raw(), array) };
        Ok(length.max(0) as usize)
    }

    /// Copies bytes of an array behind those that `into` has. An error if they are not all there.
    pub fn read(
        &self,
        array: jbyteArray,
        offset: usize,
        length: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let all = self.length(array)?;
        if offset.checked_add(length).is_none_or(|end| end > all) {
            return Err(Failure::Argument(format!("{length} bytes at {offset} of {all}")));
        }
        reserve(into, length)?;
        let end = into.len();
        // SAFETY: the range is in the array, and there is room for it behind what the vector has.
        unsafe {
            let to = into.as_mut_ptr().add(end).cast::<jbyte>();
            let table = self.table();
            (table.GetByteArrayRegion)(self.raw(), array, offset as jint, length as jint, to);
        }
        self.checked(())?;
        // SAFETY: that many bytes were just written.
        unsafe { into.set_len(end + length) };
        Ok(())
    }

    /// All bytes of an array.
    pub fn bytes(&self, array: jbyteArray) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        self.read(array, 0, self.length(array)?, &mut bytes)?;
        Ok(bytes)
    }

    /// All bytes of an array, as text.
    pub fn text(&self, array: jbyteArray) -> Result<String, Failure> {
        let text = String::from_utf8(self.bytes(array)?);
        text.map_err(|_| Failure::Argument("a name that is not UTF-8".into()))
    }

    /// A new array of Java.
    pub fn array(&self, bytes: &[u8]) -> Result<jobject, Failure> {
        let Ok(length) = jint::try_from(bytes.len()) else {
            return Err(Failure::Argument(format!("{} bytes do not fit an array", bytes.len())));
        };
        // SAFETY: this thread's environment.
        let array = unsafe { (self.table().NewByteArray)(self.raw(), length) };
        if array.is_null() {
            return Err(Failure::Pending);
        }
        // SAFETY: the array has this length.
        unsafe {
            let from = bytes.as_ptr().cast::<jbyte>();
            (self.table().SetByteArrayRegion)(self.raw(), array, 0, length, from);
        }
        self.checked(array)
    }

    /// Writes values into an array of Java, which is as long.
    pub fn write_longs(&self, array: jlongArray, values: &[jlong]) -> Result<(), Failure> {
        // SAFETY: the JVM checks the range and reads the values.
        unsafe {
            let (length, from) = (values.len() as jint, values.as_ptr());
            (self.table().SetLongArrayRegion)(self.raw(), array, 0, length, from);
        }
        self.checked(())
    }

    /// A direct buffer over memory.
    ///
    /// # Safety
    /// The memory stays mapped as long as the buffer, or a slice of it, is reachable.
    pub unsafe fn direct(&self, address: *mut u8, bytes: usize) -> Result<jobject, Failure> {
        let (table, to) = (self.table(), address.cast::<c_void>());
        // SAFETY: the caller's promise.
        let buffer = unsafe { (table.NewDirectByteBuffer)(self.raw(), to, bytes as jlong) };
        if buffer.is_null() { Err(Failure::Pending) } else { self.checked(buffer) }
    }

    /// Copies bytes of a direct buffer behind those that `into` has.
    pub fn read_direct(
        &self,
        buffer: jobject,
        offset: usize,
        length: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let (address, all) = self.memory(buffer);
        let is_inside = offset.checked_add(length).is_some_and(|end| end <= all);
        if !is_inside {
            return Err(Failure::Argument(format!("{length} bytes at {offset} of {all}")));
        }
        if length > 0 {
            reserve(into, length)?;
            let end = into.len();
            // SAFETY: the buffer has that many bytes, and is reachable during the call; the vector has room. Other
            // threads may write the bytes meanwhile, which a plain copy by the C library survives.
            unsafe {
                let from = address.add(offset);
                let to = into.as_mut_ptr().add(end);
                libc::memcpy(to.cast(), from.cast_const().cast(), length);
                into.set_len(end + length);
            }
        }
        Ok(())
    }

    /// Where a range of a direct buffer is. It stays there during the call that has the buffer as an argument.
    pub fn range_of(
        &self,
        buffer: jobject,
        offset: usize,
        length: usize,
    ) -> Result<*mut u8, Failure> {
        let (address, all) = self.memory(buffer);
        if offset.checked_add(length).is_none_or(|end| end > all) {
            return Err(Failure::Argument(format!("{length} bytes at {offset} of {all}")));
        }
        Ok(address.wrapping_add(offset))
    }

    /// Where a direct buffer is, and how many bytes it has: none if it is no direct buffer.
    fn memory(&self, buffer: jobject) -> (*mut u8, usize) {
        let table = self.table();
        if buffer.is_null() {
            return (null_mut(), 0);
        }
        // SAFETY: Java declares the parameter as a buffer.
        let (address, all) = unsafe {
            let address = (table.GetDirectBufferAddress)(self.raw(), buffer);
            (address, (table.GetDirectBufferCapacity)(self.raw(), buffer))
        };
        let is_direct = !address.is_null();
        (address.cast(), if is_direct { usize::try_from(all).unwrap_or(0) } else { 0 })
    }

    fn throw(&self, failure: Failure) {
        match failure {
            Failure::Pending => {}
            Failure::Argument(text) => {
                self.throw_new(c"java/lang/IllegalArgumentException", None, &text);
            }
            Failure::Closed(what) => {
                let text = format!("{what} is closed");
                self.throw_new(c"java/lang/IllegalStateException", None, &text);
            }
            Failure::Pool(reason, text) => {
                self.throw_new(c"farheap/pool/PoolException", Some(reason), &text);
            }
        }
    }

    /// Throws an exception with a message, and with the number of a reason if its constructor has one. If that fails,
    /// the JVM has thrown another one.
    fn throw_new(&self, class: &CStr, reason: Option<Reason>, text: &str) {
        let units: Vec<u16> = text.encode_utf16().collect();
        let signature = match reason {
            Some(_) => c"(ILjava/lang/String;)V",
            None => c"(Ljava/lang/String;)V",
        };
        let table = self.table();
        let env = self.raw();
        // SAFETY: this thread's environment; the names are C strings, and the arguments are those of the signature.
        // Each step is left at the first null, which means that Java has an exception.
        unsafe {
            if (table.ExceptionCheck)(env) {
                return;
            }
            let class = (table.FindClass)(env, class.as_ptr());
            if class.is_null() {
                return;
            }
            let method = (table.GetMethodID)(env, class, c"<init>".as_ptr(), signature.as_ptr());
            let text = (table.NewString)(env, units.as_ptr(), units.len() as jint);
            if method.is_null() || text.is_null() {
                return;
            }
            let text = jvalue { l: text };
            let thrown = match reason {
                Some(reason) => {
                    let arguments = [jvalue { i: reason as jint }, text];
                    (table.NewObjectA)(env, class, method, arguments.as_ptr())
                }
                None => (table.NewObjectA)(env, class, method, [text].as_ptr()),
            };
            if !thrown.is_null() {
                (table.Throw)(env, thrown);
            }
        }
    }
}
