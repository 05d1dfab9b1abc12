//! The variable arguments of C on x86-64 (System V ABI 3.5.7).
//!
//! Rust cannot define variadic functions, so the thirty-odd `Call...Method(env, object, method, ...)` entries
//! are assembly: they save the argument registers as a C prologue would, make a `va_list`, and call the form
//! that takes one (`variadic!`).

use crate::ffi::types::{jobject, jvalue};
use classfile::BasicType;

/// The structure that `va_list` points to.
#[repr(C)]
pub struct VaList {
    /// Offset of the next integer register in the save area; 48 when there is none left.
    gp_offset: u32,
    /// The same for floating-point registers, which begin at 48 and end at 176.
    fp_offset: u32,
    overflow: *const u64,
    save_area: *const u8,
}

/// The source of the arguments of a call, in order.
pub trait ArgumentSource {
    /// The next argument as a stack slot of the interpreter; references as a `jobject`.
    ///
    /// # Safety
    /// The caller passed one more argument, of type `ty`.
    unsafe fn next(&mut self, ty: BasicType) -> u64;
}

impl ArgumentSource for &mut VaList {
    unsafe fn next(&mut self, ty: BasicType) -> u64 {
        match ty {
            // Floats are promoted to double.
            BasicType::Float => u64::from((f64::from_bits(self.next_float()) as f32).to_bits()),
            BasicType::Double => self.next_float(),
            _ => narrow(ty, self.next_integer()),
        }
    }
}

impl VaList {
    fn next_integer(&mut self) -> u64 {
        if self.gp_offset < GP_END {
            self.gp_offset += 8;
            return self.saved(self.gp_offset - 8);
        }
        self.next_on_stack()
    }

    fn next_float(&mut self) -> u64 {
        if self.fp_offset < FP_END {
            self.fp_offset += 16;
            return self.saved(self.fp_offset - 16);
        }
        self.next_on_stack()
    }

    fn saved(&self, offset: u32) -> u64 {
        // SAFETY: the save area is 176 bytes long, and the offset was checked against its part's end.
        unsafe { self.save_area.add(offset as usize).cast::<u64>().read() }
    }

    fn next_on_stack(&mut self) -> u64 {
        // SAFETY: the caller of `next` vouches that there is another argument.
        unsafe {
            let value = self.overflow.read();
            self.overflow = self.overflow.add(1);
            value
        }
    }
}

/// The array of the `...A` forms.
pub struct Array(pub *const jvalue);

impl ArgumentSource for Array {
    unsafe fn next(&mut self, ty: BasicType) -> u64 {
        // SAFETY: the array has one more element, by the caller's promise; every bit pattern is a u64.
        let word = unsafe { self.0.cast::<u64>().read() };
        self.0 = self.0.wrapping_add(1);
        match ty {
            BasicType::Float => u64::from(word as u32),
            BasicType::Double => word,
            _ => narrow(ty, word),
        }
    }
}

/// The slot of an integer or reference argument, whose upper bits C leaves undefined.
fn narrow(ty: BasicType, word: u64) -> u64 {
    match ty {
        BasicType::Boolean => u64::from(word as u8 != 0),
        BasicType::Byte => word as i8 as i64 as u64,
        BasicType::Char => u64::from(word as u16),
        BasicType::Short => word as i16 as i64 as u64,
        BasicType::Int => word as i32 as i64 as u64,
        _ => word,
    }
}

/// Defines `$name`, a function with `$fixed` fixed integer arguments and `...`, that calls `$target` with the
/// fixed arguments and a `*mut VaList` behind them. Returns the result of `$target`, in either register.
#[macro_export]
macro_rules! variadic {
    ($(#[$meta:meta])* $name:ident, 1, $target:path) => {
        $crate::variadic!(@ $(#[$meta])* $name, "rsi", "8", $target);
    };
    ($(#[$meta:meta])* $name:ident, 2, $target:path) => {
        $crate::variadic!(@ $(#[$meta])* $name, "rdx", "16", $target);
    };
    ($(#[$meta:meta])* $name:ident, 3, $target:path) => {
        $crate::variadic!(@ $(#[$meta])* $name, "rcx", "24", $target);
    };
    ($(#[$meta:meta])* $name:ident, 4, $target:path) => {
        $crate::variadic!(@ $(#[$meta])* $name, "r8", "32", $target);
    };
    (@ $(#[$meta:meta])* $name:ident, $list:literal, $gp_offset:literal, $target:path) => {
        $(#[$meta])*
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "push rbp",
                "mov rbp, rsp",
                // 32 bytes for the list, 176 for the save area.
                "sub rsp, 208",
                "mov [rsp + 32], rdi",
                "mov [rsp + 40], rsi",
                "mov [rsp + 48], rdx",
                "mov [rsp + 56], rcx",
                "mov [rsp + 64], r8",
                "mov [rsp + 72], r9",
                // AL bounds the number of vector registers used.
                "test al, al",
                "je 2f",
                "movaps [rsp + 80], xmm0",
                "movaps [rsp + 96], xmm1",
                "movaps [rsp + 112], xmm2",
                "movaps [rsp + 128], xmm3",
                "movaps [rsp + 144], xmm4",
                "movaps [rsp + 160], xmm5",
                "movaps [rsp + 176], xmm6",
                "movaps [rsp + 192], xmm7",
                "2:",
                concat!("mov dword ptr [rsp], ", $gp_offset),
                "mov dword ptr [rsp + 4], 48",
                "lea rax, [rbp + 16]",
                "mov [rsp + 8], rax",
                "lea rax, [rsp + 32]",
                "mov [rsp + 16], rax",
                concat!("mov ", $list, ", rsp"),
                "call {target}",
                "leave",
                "ret",
                target = sym $target,
            )
        }
    };
}

const GP_END: u32 = 48;
const FP_END: u32 = 176;
const _: () = assert!(size_of::<VaList>() == 24 && size_of::<jobject>() == 8);

#[cfg(test)]
mod tests {
    use super::*;
    use BasicType::{Boolean, Byte, Char, Double, Float, Int, Long};

    const TYPES: [BasicType; 14] = [
        Int, Double, Float, Long, Boolean, Byte, Char, Double, Double, Double, Double, Double,
        Double, Double,
    ];

    extern "C" fn sum(start: i64, _: usize, _: usize, list: *mut VaList) -> f64 {
        // SAFETY: the trampoline made the list.
        let mut list = unsafe { &mut *list };
        let mut sum = start as f64;
        for (at, ty) in TYPES.into_iter().enumerate() {
            // SAFETY: the test passes arguments of these types.
            let word = unsafe { list.next(ty) };
            let value = match ty {
                Float => f64::from(f32::from_bits(word as u32)),
                Double => f64::from_bits(word),
                _ => word as i64 as f64,
            };
            sum += value * (at + 1) as f64;
        }
        sum
    }

    crate::variadic!(
        /// # Safety
        /// Called with three integers and the arguments of `TYPES`.
        sum_all, 3, sum
    );

    type Sum = unsafe extern "C" fn(i64, usize, usize, ...) -> f64;

    #[test]
    fn reads_what_c_passes() {
        // SAFETY: the trampoline has this C type.
        let sum_all: Sum = unsafe { std::mem::transmute(sum_all as *const ()) };
        // SAFETY: arguments of TYPES.
        let sum = unsafe {
            sum_all(
                100, 0, 0, -1i32, 2.0f64, 3.0f64, -4i64, 1i32, -6i32, 7i32, 8.0f64, 9.0f64,
                10.0f64, 11.0f64, 12.0f64, 13.0f64, 14.0f64,
            )
        };
        let squares: i32 = (8..=14).map(|v| v * v).sum();
        assert_eq!(sum, f64::from(100 - 1 + 4 + 9 - 16 + 5 - 36 + 49 + squares));
    }

    #[test]
    fn reads_arrays() {
        let values = [jvalue { i: -7 }, jvalue { d: 2.5 }, jvalue { z: 2 }];
        let mut array = Array(values.as_ptr());
        // SAFETY: three values of these types.
        let words = unsafe { [array.next(Int), array.next(Double), array.next(Boolean)] };
        assert_eq!(words, [-7i64 as u64, 2.5f64.to_bits(), 1]);
    }
}
