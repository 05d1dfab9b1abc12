//! The functions that a launcher calls: `JNI_CreateJavaVM` and its kin (JNI specification, chapter 5).

use super::{start, vm_output};
use crate::ffi::entry::Env;
use crate::machine::{JavaThread, Vm};
use crate::options::{BadOption, Options, environment, home_file, jdk, shown};
use libc::{c_char, c_int, c_void};
use std::ffi::CStr;
use std::path::Path;
use std::sync::atomic::{AtomicPtr, Ordering};

/// `JavaVMInitArgs`.
#[repr(C)]
pub struct InitArguments {
    version: c_int,
    option_count: c_int,
    options: *const InitOption,
    ignore_unrecognized: u8,
}

/// `JavaVMOption`.
#[repr(C)]
pub struct InitOption {
    option: *const c_char,
    extra: *mut c_void,
}

/// Makes the VM of this process and attaches the calling thread. Messages are written to stderr.
///
/// # Safety
/// The arguments are those of the JNI specification: `out_vm` and `out_env` can be written, `arguments` is a
/// `JavaVMInitArgs` whose options are strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn JNI_CreateJavaVM(
    out_vm: *mut *mut c_void,
    out_env: *mut *mut c_void,
    arguments: *const InitArguments,
) -> c_int {
    if !CREATED.load(Ordering::Acquire).is_null() {
        return JNI_EEXIST;
    }
    // SAFETY: the caller's promise.
    let (strings, ignore) =
        unsafe { (option_strings(&*arguments), (*arguments).ignore_unrecognized) };
    let options = match environment::with_environment(strings)
        .and_then(|strings| read_options(&strings, ignore != 0))
    {
        Ok(options) => options,
        Err(bad) => return refuse(&bad.0),
    };
    if options.prints_warnings {
        for warning in &options.warnings {
            base::say(format_args!("OpenJDK 64-Bit Server VM warning: {warning}"));
        }
    }
    if options.raises_file_limit {
        raise_file_limit();
    }
    vm_output::write(&options, &shown::asked_for(&options));
    match start::create_vm(options) {
        Ok(thread) => {
            CREATED.store(std::ptr::from_ref(thread.vm).cast_mut(), Ordering::Release);
            thread.vm.heap.enter_safe(&thread.mutator);
            // SAFETY: the caller's promise.
            unsafe {
                *out_vm = crate::jni::invoke::java_vm(thread.vm);
                *out_env = Env::of(thread).address() as *mut c_void;
            }
            JNI_OK
        }
        Err(message) => refuse(&format!("Error occurred during initialization of VM\n{message}")),
    }
}

/// Finds the JDK, and reads the options that its home brings along and those that were given.
fn read_options(given: &[String], ignore_unrecognized: bool) -> Result<Options, BadOption> {
    let named = given.iter().rev().find_map(|option| option.strip_prefix("-XX:JavaHome="));
    let home = jdk::find(named.map(Path::new))
        .map_err(|message| BadOption(format!("Error: {message}")))?;
    let of_home = home_file::read(&home, given)?;
    let mut options = Options::parse_behind(&of_home, given, ignore_unrecognized)?;
    options.java_home = home;
    Ok(options)
}

/// Fills in the default arguments: only the version is read.
///
/// # Safety
/// `arguments` is a `JavaVMInitArgs`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn JNI_GetDefaultJavaVMInitArgs(arguments: *mut InitArguments) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { (*arguments).version } {
        version if version >= JNI_VERSION_1_2 => JNI_OK,
        _ => JNI_EVERSION,
    }
}

/// The VM of this process, if there is one.
///
/// # Safety
/// `buffer` has room for `length` pointers; `count` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn JNI_GetCreatedJavaVMs(
    buffer: *mut *mut c_void,
    length: c_int,
    count: *mut c_int,
) -> c_int {
    // SAFETY: CREATED is null or a VM, which lives for ever.
    let vm: Option<&'static Vm> = unsafe { CREATED.load(Ordering::Acquire).as_ref() };
    // SAFETY: the caller's promise.
    unsafe {
        *count = c_int::from(vm.is_some());
        if let Some(vm) = vm.filter(|_| length > 0) {
            *buffer = crate::jni::invoke::java_vm(vm);
        }
    }
    JNI_OK
}

/// Files that the process may open: all that the system lets it have. What cannot be raised stays.
fn raise_file_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is the caller's.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// Says why there is no VM, as `java` does.
fn refuse(message: &str) -> c_int {
    base::say(format_args!("{message}"));
    if let Some(thread) = JavaThread::try_current() {
        // A half-made VM cannot be taken down piece by piece; its process is about to end.
        thread.vm.heap.enter_safe(&thread.mutator);
    }
    JNI_ERR
}

/// # Safety
/// The arguments hold `option_count` options with strings.
unsafe fn option_strings(arguments: &InitArguments) -> Vec<String> {
    let count = arguments.option_count.max(0) as usize;
    if count == 0 {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    let options = unsafe { std::slice::from_raw_parts(arguments.options, count) };
    let text = |option: &InitOption| {
        // SAFETY: the caller's promise.
        unsafe { CStr::from_ptr(option.option) }.to_string_lossy().into_owned()
    };
    options.iter().map(text).collect()
}

/// The VM of this process: a process has one at most, by the JNI specification.
static CREATED: AtomicPtr<Vm> = AtomicPtr::new(std::ptr::null_mut());

const JNI_OK: c_int = 0;
const JNI_ERR: c_int = -1;
const JNI_EVERSION: c_int = -3;
const JNI_EEXIST: c_int = -5;
const JNI_VERSION_1_2: c_int = 0x0001_0002;
