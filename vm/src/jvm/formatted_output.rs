//! The `jio_*` functions: C's formatted output, under the VM's control.
//!
//! The variadic ones are trampolines: stable Rust cannot define them. They lay their arguments out as a
//! `va_list` of the System V ABI and call the `v` form.

use crate::ffi::types::jint;
use libc::{c_char, c_int, c_void, size_t};
use std::arch::naked_asm;

unsafe extern "C" {
    fn vsnprintf(
        text: *mut c_char,
        bytes: size_t,
        format: *const c_char,
        args: *mut c_void,
    ) -> c_int;
    fn vfprintf(file: *mut libc::FILE, format: *const c_char, args: *mut c_void) -> c_int;
}

/// As `vsnprintf`, but -1 when the text does not fit; the part that fits is terminated.
///
/// # Safety
/// `text` has room for `bytes` bytes; format and arguments fit each other.
#[unsafe(no_mangle)]
unsafe extern "C" fn jio_vsnprintf(
    text: *mut c_char,
    bytes: size_t,
    format: *const c_char,
    args: *mut c_void,
) -> jint {
    if bytes == 0 || bytes > i32::MAX as size_t {
        return -1;
    }
    // SAFETY: the caller's promise.
    let written = unsafe { vsnprintf(text, bytes, format, args) };
    if written < 0 || written as size_t >= bytes {
        // SAFETY: inside the buffer.
        unsafe { *text.add(bytes - 1) = 0 };
        return -1;
    }
    written
}

/// # Safety
/// `file` is open; format and arguments fit each other.
#[unsafe(no_mangle)]
unsafe extern "C" fn jio_vfprintf(
    file: *mut libc::FILE,
    format: *const c_char,
    args: *mut c_void,
) -> jint {
    // SAFETY: the caller's promise.
    unsafe { vfprintf(file, format, args) }
}

/// A variadic function with `$named` integer arguments before the dots: saves the argument registers, makes a
/// `va_list` of them, and calls `$target` with the named arguments and its address in register `$list`.
macro_rules! variadic {
    ($name:ident, $target:path, $named:literal, $list:literal) => {
        /// # Safety
        /// As its `v` form.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() -> jint {
            naked_asm!(
                "sub rsp, 0xd8",
                // Register save area at rsp + 0x20: six integer registers, then eight vector registers.
                "mov [rsp + 0x20], rdi",
                "mov [rsp + 0x28], rsi",
                "mov [rsp + 0x30], rdx",
                "mov [rsp + 0x38], rcx",
                "mov [rsp + 0x40], r8",
                "mov [rsp + 0x48], r9",
                "test al, al",
                "je 2f",
                "movaps [rsp + 0x50], xmm0",
                "movaps [rsp + 0x60], xmm1",
                "movaps [rsp + 0x70], xmm2",
                "movaps [rsp + 0x80], xmm3",
                "movaps [rsp + 0x90], xmm4",
                "movaps [rsp + 0xa0], xmm5",
                "movaps [rsp + 0xb0], xmm6",
                "movaps [rsp + 0xc0], xmm7",
                "2:",
                // The va_list at rsp + 8: offsets of the next registers, overflow area, save area.
                concat!("mov dword ptr [rsp + 8], ", $named, " * 8"),
                "mov dword ptr [rsp + 12], 48",
                "lea rax, [rsp + 0xe0]",
                "mov [rsp + 16], rax",
                "lea rax, [rsp + 0x20]",
                "mov [rsp + 24], rax",
                concat!("lea ", $list, ", [rsp + 8]"),
                "call {target}",
                "add rsp, 0xd8",
                "ret",
                target = sym $target,
            )
        }
    };
}

variadic!(jio_snprintf, jio_vsnprintf, "3", "rcx");
variadic!(jio_fprintf, jio_vfprintf, "2", "rdx");

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn formats_integers_and_floats_and_says_when_it_does_not_fit() {
        type Print = unsafe extern "C" fn(*mut c_char, size_t, *const c_char, ...) -> jint;
        let print = jio_snprintf as *const ();
        // SAFETY: the trampoline follows the convention of variadic functions.
        let print: Print = unsafe { std::mem::transmute(print) };
        let mut text = [0 as c_char; 64];
        let format = c"%d %s %.2f %ld %d %d %d".as_ptr();
        // SAFETY: the arguments are those of the format.
        let written = unsafe {
            print(text.as_mut_ptr(), 64, format, 1, c"two".as_ptr(), 3.5, -4i64, 5, 6, 7)
        };
        // SAFETY: the buffer holds a terminated string.
        let shown = unsafe { CStr::from_ptr(text.as_ptr()) };
        assert_eq!((written, shown), (19, c"1 two 3.50 -4 5 6 7"));
        // SAFETY: as above.
        assert_eq!(unsafe { print(text.as_mut_ptr(), 3, c"%d".as_ptr(), 12345) }, -1);
        // SAFETY: as above.
        assert_eq!(unsafe { CStr::from_ptr(text.as_ptr()) }, c"12");
    }
}
