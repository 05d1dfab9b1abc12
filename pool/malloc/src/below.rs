//! The C library's own allocator, by the names that nobody interposes.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::c_int;

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, bytes: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

/// What `malloc` aligns to.
pub const ALIGN: usize = 16;

/// A block of the C library.
pub fn allocate(bytes: usize) -> *mut c_void {
    // SAFETY: any size may be asked for.
    unsafe { __libc_malloc(bytes) }
}

/// The same with zeros.
pub fn allocate_zeroed(bytes: usize) -> *mut c_void {
    // SAFETY: any size may be asked for.
    unsafe { __libc_calloc(1, bytes) }
}

/// The same at a multiple of a power of two.
pub fn allocate_aligned(align: usize, bytes: usize) -> *mut c_void {
    // SAFETY: any size may be asked for.
    unsafe { __libc_memalign(align, bytes) }
}

/// The block with another size, perhaps elsewhere.
///
/// # Safety
/// It is a used block of the C library.
pub unsafe fn reallocate(block: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: promised by the caller.
    unsafe { __libc_realloc(block, bytes) }
}

/// # Safety
/// It is a used block of the C library.
pub unsafe fn free(block: *mut c_void) {
    // SAFETY: promised by the caller.
    unsafe { __libc_free(block) }
}

/// `malloc_usable_size` of the C library, which has no other name. Null until the start.
static USABLE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Looks up what has to be looked up. The dynamic linker may allocate meanwhile.
pub fn start() {
    // SAFETY: the name is a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, c"malloc_usable_size".as_ptr()) };
    USABLE.store(found, Ordering::Release);
}

/// Bytes of a used block of the C library that its user may use.
///
/// # Safety
/// It is a used block of the C library.
pub unsafe fn usable(block: *mut c_void) -> usize {
    let found = USABLE.load(Ordering::Acquire);
    if found.is_null() {
        return 0;
    }
    // SAFETY: it is the C library's function, of this type.
    let function: unsafe extern "C" fn(*mut c_void) -> usize =
        unsafe { std::mem::transmute(found) };
    // SAFETY: promised by the caller.
    unsafe { function(block) }
}

/// The calling thread's errno.
pub fn errno() -> c_int {
    // SAFETY: the calling thread's own errno.
    unsafe { *libc::__errno_location() }
}

/// Changes it.
pub fn set_errno(errno: c_int) {
    // SAFETY: the calling thread's own errno.
    unsafe { *libc::__errno_location() = errno };
}

/// For Rust code of this library: it must not come back to the functions that it is behind.
struct Below;

#[global_allocator]
static GLOBAL: Below = Below;

// SAFETY: it is the C library's allocator.
unsafe impl GlobalAlloc for Below {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= ALIGN {
            return allocate(layout.size()).cast();
        }
        allocate_aligned(layout.align(), layout.size()).cast()
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: all blocks of this allocator are the C library's.
        unsafe { free(block.cast()) }
    }
}
