//! `JavaVM`: attaching threads and ending the VM.

use crate::ffi::entry::Env;
use crate::ffi::types::{
    JNI_EDETACHED, JNI_ERR, JNI_EVERSION, JNI_OK, JNI_VERSION_1_1, JNI_VERSION_1_2,
    JNI_VERSION_1_4, JNI_VERSION_1_6, JNI_VERSION_1_8, JNI_VERSION_9, JNI_VERSION_10, jint,
    jobject,
};
use crate::machine::{JavaThread, Vm};
use crate::threads;
use libc::{c_char, c_void};
use std::sync::atomic::Ordering;

/// The structure that `JavaVM *` points to.
#[repr(C)]
pub struct JavaVm {
    functions: *const InvokeTable,
    vm: &'static Vm,
}

// SAFETY: both words never change, and their targets may be used by any thread.
unsafe impl Send for JavaVm {}
// SAFETY: as above.
unsafe impl Sync for JavaVm {}

#[repr(C)]
struct InvokeTable {
    reserved: [*const c_void; 3],
    destroy: extern "C" fn(&JavaVm) -> jint,
    attach: extern "C" fn(&JavaVm, *mut *mut c_void, *const AttachArguments) -> jint,
    detach: extern "C" fn(&JavaVm) -> jint,
    environment: extern "C" fn(&JavaVm, *mut *mut c_void, jint) -> jint,
    attach_daemon: extern "C" fn(&JavaVm, *mut *mut c_void, *const AttachArguments) -> jint,
}

// SAFETY: a table of constants.
unsafe impl Sync for InvokeTable {}

/// `JavaVMAttachArgs`
#[repr(C)]
pub struct AttachArguments {
    version: jint,
    name: *const c_char,
    group: jobject,
}

static TABLE: InvokeTable = InvokeTable {
    reserved: [std::ptr::null(); 3],
    destroy,
    attach,
    detach,
    environment,
    attach_daemon,
};

/// The pointer that native code gets for this VM.
pub fn java_vm(vm: &'static Vm) -> *mut c_void {
    let java_vm = vm.java_vm.get_or_init(|| Box::new(JavaVm { functions: &TABLE, vm }));
    std::ptr::from_ref::<JavaVm>(java_vm).cast_mut().cast()
}

/// `GetJavaVM`
pub(super) extern "C" fn get_java_vm(env: Env, out: *mut *mut c_void) -> jint {
    // SAFETY: JNI callers pass the address of a pointer.
    unsafe { out.write(java_vm(env.thread().vm)) };
    JNI_OK
}

/// Whether `GetEnv` and `JNI_OnLoad` accept a version.
pub fn is_supported(version: jint) -> bool {
    const VERSIONS: [jint; 7] = [
        JNI_VERSION_1_1,
        JNI_VERSION_1_2,
        JNI_VERSION_1_4,
        JNI_VERSION_1_6,
        JNI_VERSION_1_8,
        JNI_VERSION_9,
        JNI_VERSION_10,
    ];
    VERSIONS.contains(&version)
}

/// After `DestroyJavaVM` has returned; destructors of thread-local variables may call then.
fn is_over(this: &JavaVm) -> bool {
    this.vm.threads.are_over.load(Ordering::Acquire)
}

extern "C" fn destroy(this: &JavaVm) -> jint {
    if is_over(this) {
        return JNI_ERR;
    }
    let Some(t) = current_or_attached(this.vm, Some("DestroyJavaVM"), None, false) else {
        return JNI_ERR;
    };
    threads::exit::destroy_vm(t);
    crate::jvm::system::before_exit(t.vm);
    JNI_OK
}

extern "C" fn attach(
    this: &JavaVm,
    out: *mut *mut c_void,
    arguments: *const AttachArguments,
) -> jint {
    attach_as(this, out, arguments, false)
}

extern "C" fn attach_daemon(
    this: &JavaVm,
    out: *mut *mut c_void,
    arguments: *const AttachArguments,
) -> jint {
    attach_as(this, out, arguments, true)
}

fn attach_as(
    this: &JavaVm,
    out: *mut *mut c_void,
    arguments: *const AttachArguments,
    is_daemon: bool,
) -> jint {
    if is_over(this) {
        return JNI_ERR;
    }
    // SAFETY: JNI callers pass null or arguments.
    let arguments = unsafe { arguments.as_ref() };
    let name = arguments.filter(|a| !a.name.is_null()).map(|a| {
        // SAFETY: the name is a C string.
        String::from_utf8_lossy(unsafe { crate::ffi::entry::c_bytes(a.name) }).into_owned()
    });
    let group = arguments.map(|a| a.group).filter(|group| !group.is_null());
    match current_or_attached(this.vm, name.as_deref(), group, is_daemon) {
        Some(t) => {
            // SAFETY: JNI callers pass the address of a pointer.
            unsafe { out.write(Env::of(t).address() as *mut c_void) };
            JNI_OK
        }
        None => JNI_ERR,
    }
}

/// The current thread in the safe state, attached now if it was not. Without a name one is made up.
fn current_or_attached(
    vm: &'static Vm,
    name: Option<&str>,
    group: Option<jobject>,
    is_daemon: bool,
) -> Option<&'static JavaThread> {
    if let Some(t) = JavaThread::try_current() {
        return Some(t);
    }
    threads::attach::attach_native(vm, name, group, is_daemon)
}

extern "C" fn detach(this: &JavaVm) -> jint {
    if is_over(this) {
        return JNI_ERR;
    }
    let Some(t) = JavaThread::try_current() else {
        return JNI_OK;
    };
    // A thread cannot leave while Java methods are running on it.
    if !t.top_frame.get().is_null() || !t.jit.activation.get().is_null() {
        return JNI_ERR;
    }
    threads::attach::detach_native(t);
    JNI_OK
}

extern "C" fn environment(this: &JavaVm, out: *mut *mut c_void, version: jint) -> jint {
    let (value, result) = match JavaThread::try_current() {
        _ if is_over(this) => (std::ptr::null_mut(), JNI_EDETACHED),
        None => (std::ptr::null_mut(), JNI_EDETACHED),
        Some(_) if !is_supported(version) => (std::ptr::null_mut(), JNI_EVERSION),
        Some(t) => (Env::of(t).address() as *mut c_void, JNI_OK),
    };
    // SAFETY: JNI callers pass the address of a pointer.
    unsafe { out.write(value) };
    result
}

const _: () = assert!(size_of::<InvokeTable>() == 64);
