//! `libibverbs`, found at run time.
//!
//! Types, and inline functions of C, come from the crate `rdma-sys`; functions that the library exports are
//! looked up by name. So a program with this feature starts on machines without the library, and names what is
//! missing when it is needed.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use rdma_sys::{
    _compat_ibv_port_attr, ibv_comp_channel, ibv_context, ibv_cq, ibv_device, ibv_device_attr,
    ibv_gid, ibv_mr, ibv_pd, ibv_qp, ibv_qp_attr, ibv_qp_init_attr,
};

use crate::RdmaError;

/// Declares the functions by their names without `ibv_`.
macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The exported functions of the library that we use. Signatures as in `infiniband/verbs.h`.
        pub struct Library {
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Library {
            fn find(handle: *mut c_void) -> Result<Library, String> {
                Ok(Library {
                    $($name: {
                        let symbol = symbol(handle, concat!("ibv_", stringify!($name), "\0"))?;
                        // SAFETY: the library's function of that name has this signature, and is never unloaded.
                        unsafe { std::mem::transmute::<
                            *mut c_void,
                            unsafe extern "C" fn($($argument),*) $(-> $result)?,
                        >(symbol) }
                    },)*
                })
            }
        }
    };
}

functions! {
    get_device_list(*mut c_int) -> *mut *mut ibv_device;
    free_device_list(*mut *mut ibv_device);
    get_device_name(*mut ibv_device) -> *const c_char;
    open_device(*mut ibv_device) -> *mut ibv_context;
    close_device(*mut ibv_context) -> c_int;
    query_device(*mut ibv_context, *mut ibv_device_attr) -> c_int;
    query_port(*mut ibv_context, u8, *mut _compat_ibv_port_attr) -> c_int;
    query_gid(*mut ibv_context, u8, c_int, *mut ibv_gid) -> c_int;
    alloc_pd(*mut ibv_context) -> *mut ibv_pd;
    dealloc_pd(*mut ibv_pd) -> c_int;
    reg_mr_iova(*mut ibv_pd, *mut c_void, usize, u64, c_int) -> *mut ibv_mr;
    dereg_mr(*mut ibv_mr) -> c_int;
    create_comp_channel(*mut ibv_context) -> *mut ibv_comp_channel;
    destroy_comp_channel(*mut ibv_comp_channel) -> c_int;
    create_cq(*mut ibv_context, c_int, *mut c_void, *mut ibv_comp_channel, c_int) -> *mut ibv_cq;
    destroy_cq(*mut ibv_cq) -> c_int;
    get_cq_event(*mut ibv_comp_channel, *mut *mut ibv_cq, *mut *mut c_void) -> c_int;
    ack_cq_events(*mut ibv_cq, c_uint);
    create_qp(*mut ibv_pd, *mut ibv_qp_init_attr) -> *mut ibv_qp;
    modify_qp(*mut ibv_qp, *mut ibv_qp_attr, c_int) -> c_int;
    destroy_qp(*mut ibv_qp) -> c_int;
}

impl Library {
    /// Loads it, once in a process. Opens files; not for signal handlers.
    pub fn load() -> Result<&'static Library, RdmaError> {
        static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
        let loaded = LIBRARY.get_or_init(|| {
            // SAFETY: the name is a C string; the library's constructors do nothing that could harm us.
            let handle = unsafe { libc::dlopen(NAME.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            if handle.is_null() { Err(last_error()) } else { Library::find(handle) }
        });
        loaded.as_ref().map_err(|reason| RdmaError::NoVerbs(reason.clone()))
    }
}

fn symbol(handle: *mut c_void, name: &'static str) -> Result<*mut c_void, String> {
    debug_assert!(name.ends_with('\0'));
    // SAFETY: the name ends with a zero; the handle is that of a loaded library.
    let symbol = unsafe { libc::dlsym(handle, name.as_ptr().cast()) };
    if symbol.is_null() { Err(last_error()) } else { Ok(symbol) }
}

fn last_error() -> String {
    // SAFETY: the message belongs to the C library and is copied at once; it belongs to this thread.
    let message = unsafe { libc::dlerror() };
    if message.is_null() {
        return "libibverbs cannot be loaded".into();
    }
    // SAFETY: just checked not to be null.
    unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
}

/// Debian has it in the package `libibverbs1`.
const NAME: &CStr = c"libibverbs.so.1";
