//! The assembly between interpreter, compiled code and Rust.
//!
//! Everything that compiled code calls and that may reach a safepoint or look at the stack passes through a stub that
//! records the *anchor*: the return address into compiled code and the frame pointer of its frame. From there the
//! frame pointers lead through all compiled frames of the activation, to the return address in
//! [`enter`](crate::frames::enter::enter).

use crate::frames::anchor::{EXIT_FP_OFFSET, EXIT_PC_OFFSET};
use crate::machine::JavaThread;
use crate::runtime::MethodRef;
use crate::runtime::code::abi::{Registers, VECTOR_OFFSET};

/// The value of `Method::compiled` while a method has no code of its own: runs the method, which is in `rdi`, in the
/// interpreter (or its native function). Arguments and result are those of compiled code.
///
/// # Safety
/// Called by compiled code only.
#[unsafe(naked)]
pub unsafe extern "C" fn call_interpreter() {
    std::arch::naked_asm!(
        "mov rax, [rsp]",
        "mov [r15 + {exit_pc}], rax",
        "mov [r15 + {exit_fp}], rbp",
        "push rbp",
        "mov rbp, rsp",
        "sub rsp, 112",
        "mov [rsp], rsi",
        "mov [rsp + 8], rdx",
        "mov [rsp + 16], rcx",
        "mov [rsp + 24], r8",
        "mov [rsp + 32], r9",
        "movsd [rsp + {vector}], xmm0",
        "movsd [rsp + {vector} + 8], xmm1",
        "movsd [rsp + {vector} + 16], xmm2",
        "movsd [rsp + {vector} + 24], xmm3",
        "movsd [rsp + {vector} + 32], xmm4",
        "movsd [rsp + {vector} + 40], xmm5",
        "movsd [rsp + {vector} + 48], xmm6",
        "movsd [rsp + {vector} + 56], xmm7",
        "mov rsi, rdi",
        "mov rdi, r15",
        "mov rdx, rsp",
        "lea rcx, [rbp + 16]",
        "call {interpret}",
        "movq xmm0, rax",
        "leave",
        "ret",
        exit_pc = const EXIT_PC_OFFSET,
        exit_fp = const EXIT_FP_OFFSET,
        vector = const VECTOR_OFFSET,
        interpret = sym interpret,
    )
}

const _: () = assert!(size_of::<Registers>() == 112 && VECTOR_OFFSET == 40);

extern "C" fn interpret(
    t: &JavaThread,
    method: MethodRef,
    registers: &Registers,
    stack: *const u64,
) -> u64 {
    // SAFETY: compiled code passes the arguments of the method that it names.
    let result = unsafe { crate::interpreter::call::call_gathered(t, method, registers, stack) };
    result.unwrap_or(0)
}

/// Defines `$name`, which compiled code calls for the function `$target`, an `extern "C"` one of the same type: it
/// records the anchor and jumps to the function. Compiled code passes the thread like any other argument.
#[macro_export]
macro_rules! helper {
    ($($(#[$meta:meta])* $name:ident => $target:path;)*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// Called by compiled code only, with the arguments of the function that it stands for.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "mov r11, [rsp]",
                "mov [r15 + {exit_pc}], r11",
                "mov [r15 + {exit_fp}], rbp",
                "jmp {target}",
                exit_pc = const $crate::frames::anchor::EXIT_PC_OFFSET,
                exit_fp = const $crate::frames::anchor::EXIT_FP_OFFSET,
                target = sym $target,
            )
        }
    )*};
}

/// As [`helper!`], for the calling convention `PreserveAll`: no register changes, and the `u64` that the function
/// returns is left in the thread's `scratch`.
#[macro_export]
macro_rules! preserving_helper {
    ($($(#[$meta:meta])* $name:ident => $target:path;)*) => {$(
        $crate::preserving_helper! { $(#[$meta])* $name, $target, }
    )*};
    // As many instructions as there are, before the call.
    ($(#[$meta:meta])* $name:ident, $target:path, $($instruction:expr),*) => {
        $(#[$meta])*
        ///
        /// # Safety
        /// Called by compiled code only, with the arguments of the function that it stands for; of a slow path, with
        /// the path's own.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "push rbp",
                "mov rbp, rsp",
                "sub rsp, 336",
                "mov [rsp + 256], rax",
                "mov [rsp + 264], rcx",
                "mov [rsp + 272], rdx",
                "mov [rsp + 280], rsi",
                "mov [rsp + 288], rdi",
                "mov [rsp + 296], r8",
                "mov [rsp + 304], r9",
                "mov [rsp + 312], r10",
                "mov [rsp + 320], r11",
                "mov r11, [rbp + 8]",
                "mov [r15 + {exit_pc}], r11",
                "mov r11, [rbp]",
                "mov [r15 + {exit_fp}], r11",
                "movaps [rsp], xmm0",
                "movaps [rsp + 16], xmm1",
                "movaps [rsp + 32], xmm2",
                "movaps [rsp + 48], xmm3",
                "movaps [rsp + 64], xmm4",
                "movaps [rsp + 80], xmm5",
                "movaps [rsp + 96], xmm6",
                "movaps [rsp + 112], xmm7",
                "movaps [rsp + 128], xmm8",
                "movaps [rsp + 144], xmm9",
                "movaps [rsp + 160], xmm10",
                "movaps [rsp + 176], xmm11",
                "movaps [rsp + 192], xmm12",
                "movaps [rsp + 208], xmm13",
                "movaps [rsp + 224], xmm14",
                "movaps [rsp + 240], xmm15",
                $($instruction,)*
                "call {target}",
                "mov [r15 + {scratch}], rax",
                "movaps xmm0, [rsp]",
                "movaps xmm1, [rsp + 16]",
                "movaps xmm2, [rsp + 32]",
                "movaps xmm3, [rsp + 48]",
                "movaps xmm4, [rsp + 64]",
                "movaps xmm5, [rsp + 80]",
                "movaps xmm6, [rsp + 96]",
                "movaps xmm7, [rsp + 112]",
                "movaps xmm8, [rsp + 128]",
                "movaps xmm9, [rsp + 144]",
                "movaps xmm10, [rsp + 160]",
                "movaps xmm11, [rsp + 176]",
                "movaps xmm12, [rsp + 192]",
                "movaps xmm13, [rsp + 208]",
                "movaps xmm14, [rsp + 224]",
                "movaps xmm15, [rsp + 240]",
                "mov rax, [rsp + 256]",
                "mov rcx, [rsp + 264]",
                "mov rdx, [rsp + 272]",
                "mov rsi, [rsp + 280]",
                "mov rdi, [rsp + 288]",
                "mov r8, [rsp + 296]",
                "mov r9, [rsp + 304]",
                "mov r10, [rsp + 312]",
                "mov r11, [rsp + 320]",
                "leave",
                "ret",
                exit_pc = const $crate::frames::anchor::EXIT_PC_OFFSET,
                exit_fp = const $crate::frames::anchor::EXIT_FP_OFFSET,
                scratch = const $crate::frames::anchor::SCRATCH_OFFSET,
                target = sym $target,
            )
        }
    };
}

/// Defines `$name`, which returns the address that compiled code calls for the slow path with an id. The function there
/// preserves all registers, as those of [`preserving_helper!`] do, and takes the path's arguments. It calls `$target`
/// with the thread, the id, and them.
#[macro_export]
macro_rules! slow_path_helpers {
    ($(#[$meta:meta])* $visibility:vis fn $name:ident => $target:path;) => {
        $(#[$meta])*
        $visibility fn $name(id: u8) -> usize {
            $crate::slow_path_helpers! { @of $target, id, zero 0, one 1, two 2, a0 0xa0, a1 0xa1, a2 0xa2 }
        }
    };
    (@of $target:path, $id:ident, $($function:ident $number:literal),*) => {{
        $($crate::preserving_helper! {
            /// The slow path with this id.
            $function, $target,
            "mov r8, rdx", "mov rcx, rsi", "mov rdx, rdi", "mov rdi, r15",
            concat!("mov esi, ", $number)
        })*
        match $id {
            $($number => $function as *const () as usize,)*
            id => panic!("slow path {id:#x} has no function"),
        }
    }};
}

helper! {
    /// The target of a side exit's call: [`exit`](super::exit::exit).
    side_exit => super::exit::exit;
}
