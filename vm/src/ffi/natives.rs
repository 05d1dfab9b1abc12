//! Native methods: finding them and calling them.
//!
//! `Method::native` points to a [`Linked`] once the method's implementation is known: a function and how its
//! arguments are passed. Replacing it (`RegisterNatives` on a linked method) leaks the old one, which another
//! thread may be calling.

use super::call::{Returned, Shape};
use super::registry::{Arguments, Native, NativeEntry, NativeTable};
use crate::ffi::entry::{self, Env, TAG_GLOBAL};
use crate::machine::JavaThread;
use crate::runtime::{JResult, Method, MethodRef};
use classfile::BasicType;
use classfile::symbol::Symbol;
use libc::c_void;
use rustc_hash::FxHashMap;
use std::ffi::{CStr, CString};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// The sources of the core classes' native methods: the VM itself, and the JDK's own libraries that it opens, as
/// opposed to those that Java code loads.
pub struct Natives {
    /// `dlopen` handles, as integers.
    libraries: OnceLock<Vec<usize>>,
    /// The natives that the VM provides, by the internal name of their class.
    pub(super) own: FxHashMap<Symbol, Vec<&'static NativeEntry>>,
}

/// The implementation of a native method.
pub(crate) struct Linked {
    native: Native,
    shape: Shape,
}

impl Natives {
    /// With the natives that the VM provides itself.
    pub fn new(tables: impl IntoIterator<Item = &'static NativeTable>) -> Natives {
        let mut own: FxHashMap<Symbol, Vec<&'static NativeEntry>> = FxHashMap::default();
        for table in tables {
            own.entry(Symbol::of(table.class)).or_default().extend(table.entries);
        }
        Natives { libraries: OnceLock::new(), own }
    }

    /// Opens the libraries that hold natives of the core classes: once, before the first native is linked.
    /// Errors are messages for the command line.
    pub fn open_boot_libraries(&self, java_home: &Path) -> Result<(), String> {
        let mut libraries = Vec::new();
        // libjava does not name libverify but expects it to be loaded; libzip is loaded by Java code.
        for name in ["libverify.so", "libjava.so"] {
            libraries.push(open(&java_home.join("lib").join(name))?);
        }
        let is_first = self.libraries.set(libraries).is_ok();
        assert!(is_first, "the boot libraries are opened once");
        Ok(())
    }

    /// The address of a symbol in the boot libraries, or null.
    pub fn symbol(&self, name: &CStr) -> *const c_void {
        let libraries = self.libraries.get().map_or(&[][..], |libraries| &libraries[..]);
        let find = |library: &usize| {
            // SAFETY: the handle came from dlopen and is never closed; the name ends with NUL.
            unsafe { libc::dlsym(*library as *mut c_void, name.as_ptr()).cast_const() }
        };
        libraries.iter().map(find).find(|at| !at.is_null()).unwrap_or(std::ptr::null())
    }

    /// Makes `native` the implementation of the method from now on.
    pub(crate) fn set(method: MethodRef, native: Native) -> &'static Linked {
        let linked = Box::leak(Box::new(Linked { native, shape: Shape::of(method) }));
        method.native.store(std::ptr::from_mut(linked).cast(), Ordering::Release);
        linked
    }

    /// Frees what `set` has made for a method.
    ///
    /// # Safety
    /// The method is about to be freed: nothing calls it any more.
    pub(crate) unsafe fn free(method: MethodRef) {
        let linked = method.native.swap(std::ptr::null_mut(), Ordering::AcqRel).cast::<Linked>();
        if !linked.is_null() {
            // SAFETY: `set` leaked the box, and by the contract nobody else has the pointer.
            drop(unsafe { Box::from_raw(linked) });
        }
    }

    /// Forgets the implementation (`UnregisterNatives`): it is looked for again at the next call.
    pub(crate) fn unset(method: MethodRef) {
        method.native.store(std::ptr::null_mut(), Ordering::Release);
    }
}

/// Calls a native method with the arguments in the interpreter's slots (receiver first; longs and doubles take
/// two, value in first), linking it first if needed. The slots must be roots. Returns the result word as
/// `interpreter::call` does; an exception that the native left is `Err`. A safepoint.
pub fn call_native(t: &JavaThread, method: MethodRef, locals: *mut u64) -> JResult<u64> {
    let linked = linked(t, method)?;
    let mark = t.handles.mark();
    let result = match linked.native {
        Native::Direct(function) => function(t, Arguments::new(locals)),
        Native::C(function) => call_c(t, method, function, &linked.shape, locals),
    };
    t.handles.release(mark);
    result
}

#[inline]
fn linked(t: &JavaThread, method: MethodRef) -> JResult<&'static Linked> {
    // SAFETY: `Natives::set` stores leaked boxes only.
    match unsafe { (method.native.load(Ordering::Acquire) as *const Linked).as_ref() } {
        Some(linked) => Ok(linked),
        None => super::link::link(t, method),
    }
}

#[inline]
fn call_c(
    t: &JavaThread,
    method: &Method,
    function: *const c_void,
    shape: &Shape,
    locals: *mut u64,
) -> JResult<u64> {
    let is_static = method.is_static();
    // The class is passed as a global reference: its mirror's slot stays for ever. The receiver is slot 0.
    let receiver = if is_static {
        std::ptr::from_ref(method.holder.mirror) as usize + TAG_GLOBAL
    } else {
        locals as usize
    };
    let outer = t.jni.enter_native(t.handles.mark());
    t.vm.heap.enter_safe(&t.mutator);
    // SAFETY: the function implements the method, so it has its shape; the slots are its arguments.
    let returned = unsafe { shape.call(function, Env::of(t).address(), receiver, locals) };
    t.vm.heap.leave_safe(&t.mutator);
    t.jni.leave_native(outer);
    t.check()?;
    Ok(result_word(t, method.return_type, returned))
}

/// Widens the value that C left in a register: its upper bits are undefined for narrow types.
#[inline]
fn result_word(t: &JavaThread, ty: BasicType, returned: Returned) -> u64 {
    let word = returned.integer;
    match ty {
        BasicType::Boolean => u64::from(word as u8 != 0),
        BasicType::Byte => word as i8 as i64 as u64,
        BasicType::Char => u64::from(word as u16),
        BasicType::Short => word as i16 as i64 as u64,
        BasicType::Int => word as i32 as i64 as u64,
        BasicType::Long => word,
        BasicType::Float => returned.float.to_bits() & 0xffff_ffff,
        BasicType::Double => returned.float.to_bits(),
        BasicType::Object | BasicType::Array => {
            entry::resolve(t, word as usize as crate::ffi::types::jobject).address() as u64
        }
        BasicType::Void => 0,
    }
}

fn open(path: &Path) -> Result<usize, String> {
    use std::os::unix::ffi::OsStrExt;
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
    // SAFETY: runs the library's initializers; it is the JDK's own.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_GLOBAL) };
    if !library.is_null() {
        return Ok(library as usize);
    }
    // SAFETY: dlerror gives a string after a failed dlopen on this thread.
    let reason = unsafe { CStr::from_ptr(libc::dlerror()) };
    Err(format!("cannot load {}: {}", path.display(), reason.to_string_lossy()))
}
