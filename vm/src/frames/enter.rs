//! The way into compiled code.

use crate::machine::JavaThread;
use crate::runtime::Method;
use crate::runtime::code::abi::{
    STACK_OFFSET, STACK_WORDS_OFFSET, USES_VECTORS_OFFSET, VECTOR_OFFSET,
};

/// The return registers `rax` and `xmm0`, of which one holds the result.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Returned {
    pub integer: u64,
    pub float: f64,
}

/// Calls compiled code at `entry` on this thread.
///
/// # Safety
/// `entry` is code of the method, or `call_interpreter`, and the arguments, an
/// [`Arguments`](crate::runtime::code::abi::Arguments), are those that it takes; the thread is the
/// current one, and running.
#[unsafe(naked)]
pub unsafe extern "C" fn enter(
    entry: *const u8,
    method: *const Method,
    arguments: *const (),
    thread: *const JavaThread,
) -> Returned {
    std::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        // The code's own register; it preserves all others that Rust wants preserved.
        "push r15",
        "sub rsp, 8",
        "mov r15, rcx",
        "mov r11, rdi",
        "mov r10, rdx",
        "mov rdi, rsi",
        // The words on the stack, padded to keep it aligned to 16 bytes.
        "mov rdx, [r10 + {stack_words}]",
        "test rdx, rdx",
        "jz 3f",
        "lea rax, [rdx + 1]",
        "and rax, -2",
        "shl rax, 3",
        "sub rsp, rax",
        "2:",
        "mov rax, [r10 + rdx * 8 + {stack} - 8]",
        "mov [rsp + rdx * 8 - 8], rax",
        "dec rdx",
        "jnz 2b",
        "3:",
        "cmp qword ptr [r10 + {uses_vectors}], 0",
        "je 4f",
        "movsd xmm0, [r10 + {vector}]",
        "movsd xmm1, [r10 + {vector} + 8]",
        "movsd xmm2, [r10 + {vector} + 16]",
        "movsd xmm3, [r10 + {vector} + 24]",
        "movsd xmm4, [r10 + {vector} + 32]",
        "movsd xmm5, [r10 + {vector} + 40]",
        "movsd xmm6, [r10 + {vector} + 48]",
        "movsd xmm7, [r10 + {vector} + 56]",
        "4:",
        "mov rsi, [r10]",
        "mov rdx, [r10 + 8]",
        "mov rcx, [r10 + 16]",
        "mov r8, [r10 + 24]",
        "mov r9, [r10 + 32]",
        "call r11",
        ".globl farheap_compiled_code_returns",
        ".hidden farheap_compiled_code_returns",
        "farheap_compiled_code_returns:",
        "mov r15, [rbp - 8]",
        "leave",
        "ret",
        stack_words = const STACK_WORDS_OFFSET,
        stack = const STACK_OFFSET,
        uses_vectors = const USES_VECTORS_OFFSET,
        vector = const VECTOR_OFFSET,
    )
}

/// The return address that ends the compiled frames of an activation.
pub fn outermost_return() -> usize {
    unsafe extern "C" {
        static farheap_compiled_code_returns: u8;
    }
    &raw const farheap_compiled_code_returns as usize
}
