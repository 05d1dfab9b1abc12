//! Access to memory outside of the heap that may fault: pages of a mapped file behind the end to which the file has
//! been truncated. The kernel raises SIGBUS; a program expects an `InternalError`.
//!
//! The accesses are leaf functions in assembly that keep nothing on the stack. So the signal handler gets
//! out of one that faults as the function itself would: it returns to the address on top of the stack, with the
//! fault in the second result register. Compiled code touches such memory directly: it is given an empty page to
//! continue with, and throws a little later. Every other SIGBUS is passed to the handler that was installed before;
//! the pager's handler, which is installed later, asks this one about addresses that are not its own.

use crate::loading::errors;
use crate::machine::JavaThread;
use crate::runtime::JResult;
use crate::threads::requests;
use std::mem;
use std::ptr;
use std::sync::OnceLock;

/// Reads 1, 2, 4 or 8 bytes, zero-extended.
pub fn load(t: &JavaThread, address: usize, bytes: usize) -> JResult<u64> {
    // SAFETY: the class library vouches for the address, except for pages behind the end of a file.
    let outcome = unsafe {
        match bytes {
            1 => farheap_guarded_load_1(address),
            2 => farheap_guarded_load_2(address),
            4 => farheap_guarded_load_4(address),
            _ => farheap_guarded_load_8(address),
        }
    };
    outcome.check(t)
}

/// Writes the lower 1, 2, 4 or 8 bytes of the value.
pub fn store(t: &JavaThread, address: usize, bytes: usize, value: u64) -> JResult<()> {
    // SAFETY: as in `load`.
    let outcome = unsafe {
        match bytes {
            1 => farheap_guarded_store_1(address, value),
            2 => farheap_guarded_store_2(address, value),
            4 => farheap_guarded_store_4(address, value),
            _ => farheap_guarded_store_8(address, value),
        }
    };
    outcome.check(t).map(|_| ())
}

/// Compare-and-exchange of four bytes; returns the previous value.
pub fn exchange_4(t: &JavaThread, address: usize, expected: i32, new: i32) -> JResult<i32> {
    // SAFETY: as in `load`; the address is aligned.
    let outcome = unsafe { farheap_guarded_exchange_4(address, expected as u64, new as u64) };
    outcome.check(t).map(|found| found as i32)
}

/// As `exchange_4`, of eight bytes.
pub fn exchange_8(t: &JavaThread, address: usize, expected: i64, new: i64) -> JResult<i64> {
    // SAFETY: as in `load`; the address is aligned.
    let outcome = unsafe { farheap_guarded_exchange_8(address, expected as u64, new as u64) };
    outcome.check(t).map(|found| found as i64)
}

/// Sets a range to one value.
pub fn fill(t: &JavaThread, address: usize, value: u8, bytes: usize) -> JResult<()> {
    // SAFETY: as in `load`.
    unsafe { farheap_guarded_fill(address, u64::from(value), bytes) }.check(t).map(|_| ())
}

/// Copies a range, which may overlap its target.
pub fn copy(t: &JavaThread, from: usize, to: usize, bytes: usize) -> JResult<()> {
    let is_safe_upwards = to <= from || to - from >= bytes;
    // SAFETY: as in `load`.
    let outcome = unsafe {
        match is_safe_upwards {
            true => farheap_guarded_copy_up(to, from, bytes),
            false => farheap_guarded_copy_down(to, from, bytes),
        }
    };
    outcome.check(t).map(|_| ())
}

/// Begins to handle SIGBUS. Again has no effect.
pub fn install_handler() {
    PREVIOUS.get_or_init(|| {
        // SAFETY: all-zero is a valid sigaction; the handler has the type that SA_SIGINFO asks for, and is
        // async-signal-safe. PREVIOUS is read before anything is installed, and is set by the time that
        // guarded memory is touched.
        unsafe {
            let (mut new, mut old) = mem::zeroed::<(libc::sigaction, libc::sigaction)>();
            new.sa_sigaction = on_sigbus as *const () as usize;
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigfillset(&mut new.sa_mask);
            libc::sigaction(libc::SIGBUS, &new, &mut old);
            old
        }
    });
}

extern "C" fn on_sigbus(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let registers = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel passes the interrupted registers to handlers installed with SA_SIGINFO. A guarded
    // function has nothing on the stack but its return address.
    let is_guarded = unsafe {
        let registers = &mut (*registers).uc_mcontext.gregs;
        let at = registers[libc::REG_RIP as usize] as usize;
        let is_guarded = (first_guarded()..end_of_guarded()).contains(&at);
        if is_guarded {
            let stack = registers[libc::REG_RSP as usize];
            registers[libc::REG_RIP as usize] = *(stack as *const i64);
            registers[libc::REG_RSP as usize] = stack + 8;
            registers[libc::REG_RAX as usize] = 0;
            registers[libc::REG_RDX as usize] = 1;
            registers[libc::REG_EFL as usize] &= !DIRECTION;
        }
        is_guarded
    };
    if !is_guarded && !is_in_compiled(info, registers) {
        pass_on(signal, info, context);
    }
}

/// Lets compiled code continue that has touched memory of this kind: there is an empty page from now on, and the
/// thread throws as soon as it can. `false` for any other fault.
fn is_in_compiled(info: *const libc::siginfo_t, registers: *const libc::ucontext_t) -> bool {
    // SAFETY: as in `on_sigbus`.
    let (code, address, pc) = unsafe {
        let pc = (*registers).uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
        ((*info).si_code, (*info).si_addr().addr(), pc)
    };
    let Some(t) = JavaThread::try_current() else {
        return false;
    };
    if code != libc::BUS_ADRERR || !t.vm.jit.cache.covers(pc) || t.vm.heap.contains(address) {
        return false;
    }
    let page = ptr::without_provenance_mut::<libc::c_void>(address & !(PAGE - 1));
    // SAFETY: nothing can be read from or written to this page of a mapping of the program's.
    let mapped = unsafe {
        libc::mmap(
            page,
            PAGE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    if mapped == libc::MAP_FAILED {
        return false;
    }
    requests::note_fault(t);
    true
}

/// To the handler that was installed before; the default one ends the process when the instruction faults again.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    match PREVIOUS.get() {
        Some(before)
            if before.sa_flags & libc::SA_SIGINFO != 0
                && ![libc::SIG_DFL, libc::SIG_IGN].contains(&before.sa_sigaction) =>
        {
            // SAFETY: a handler installed with SA_SIGINFO has this type.
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { mem::transmute(before.sa_sigaction) };
            handler(signal, info, context);
        }
        _ => {
            // SAFETY: all-zero is a valid sigaction: the default.
            unsafe {
                let default = mem::zeroed::<libc::sigaction>();
                libc::sigaction(signal, &default, ptr::null_mut());
            }
        }
    }
}

fn first_guarded() -> usize {
    farheap_guarded_load_1 as *const () as usize
}

fn end_of_guarded() -> usize {
    farheap_guarded_end as *const () as usize
}

/// `rax` and `rdx`.
#[repr(C)]
struct Outcome {
    value: u64,
    is_fault: u64,
}

impl Outcome {
    #[inline]
    fn check(self, t: &JavaThread) -> JResult<u64> {
        match self.is_fault {
            0 => Ok(self.value),
            _ => errors::fail(t, "java/lang/InternalError", requests::FAULT),
        }
    }
}

const PAGE: usize = 4096;
/// The direction flag, which `farheap_guarded_copy_down` sets.
const DIRECTION: i64 = 1 << 10;

/// The action before ours; set once, with our handler.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

unsafe extern "C" {
    fn farheap_guarded_load_1(address: usize) -> Outcome;
    fn farheap_guarded_load_2(address: usize) -> Outcome;
    fn farheap_guarded_load_4(address: usize) -> Outcome;
    fn farheap_guarded_load_8(address: usize) -> Outcome;
    fn farheap_guarded_store_1(address: usize, value: u64) -> Outcome;
    fn farheap_guarded_store_2(address: usize, value: u64) -> Outcome;
    fn farheap_guarded_store_4(address: usize, value: u64) -> Outcome;
    fn farheap_guarded_store_8(address: usize, value: u64) -> Outcome;
    fn farheap_guarded_exchange_4(address: usize, expected: u64, new: u64) -> Outcome;
    fn farheap_guarded_exchange_8(address: usize, expected: u64, new: u64) -> Outcome;
    fn farheap_guarded_fill(address: usize, value: u64, bytes: usize) -> Outcome;
    fn farheap_guarded_copy_up(to: usize, from: usize, bytes: usize) -> Outcome;
    fn farheap_guarded_copy_down(to: usize, from: usize, bytes: usize) -> Outcome;
    fn farheap_guarded_end();
}

// Between the first label and the last: leaf functions that push nothing.
macro_rules! guarded {
    ($($name:literal: $($line:literal),+;)+) => {
        std::arch::global_asm!(
            ".pushsection .text",
            $(
                concat!(".globl ", $name), concat!(".hidden ", $name), concat!($name, ":"),
                ".cfi_startproc", $($line,)+ ".cfi_endproc",
            )+
            ".popsection",
        );
    };
}

guarded! {
    "farheap_guarded_load_1": "xor edx, edx", "movzx eax, byte ptr [rdi]", "ret";
    "farheap_guarded_load_2": "xor edx, edx", "movzx eax, word ptr [rdi]", "ret";
    "farheap_guarded_load_4": "xor edx, edx", "mov eax, [rdi]", "ret";
    "farheap_guarded_load_8": "xor edx, edx", "mov rax, [rdi]", "ret";
    "farheap_guarded_store_1": "xor edx, edx", "mov [rdi], sil", "ret";
    "farheap_guarded_store_2": "xor edx, edx", "mov [rdi], si", "ret";
    "farheap_guarded_store_4": "xor edx, edx", "mov [rdi], esi", "ret";
    "farheap_guarded_store_8": "xor edx, edx", "mov [rdi], rsi", "ret";
    "farheap_guarded_exchange_4": "mov r8, rdx", "xor edx, edx", "mov rax, rsi",
        "lock cmpxchg [rdi], r8d", "ret";
    "farheap_guarded_exchange_8": "mov r8, rdx", "xor edx, edx", "mov rax, rsi",
        "lock cmpxchg [rdi], r8", "ret";
    "farheap_guarded_fill": "mov rcx, rdx", "xor edx, edx", "mov eax, esi", "rep stosb", "ret";
    "farheap_guarded_copy_up": "mov rcx, rdx", "xor edx, edx", "rep movsb", "ret";
    // `rep movsb` takes a byte at a time downwards.
    "farheap_guarded_copy_down": "mov rcx, rdx", "xor edx, edx", "add rsi, rcx", "add rdi, rcx",
        "2:", "cmp rcx, 32", "jb 3f",
        "sub rsi, 32", "sub rdi, 32", "sub rcx, 32",
        "movups xmm0, [rsi]", "movups xmm1, [rsi + 16]",
        "movups [rdi], xmm0", "movups [rdi + 16], xmm1", "jmp 2b",
        "3:", "dec rsi", "dec rdi", "std", "rep movsb", "cld", "ret";
    "farheap_guarded_end": "ret";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_copied_up_and_down() {
        let original: Vec<u8> = (0..500u32).map(|i| ((i * 7919) >> 3) as u8).collect();
        for count in (0..100).chain([200, 255, 256]) {
            for distance in [0, 1, 8, 15, 16, 31, 32, 33, 240] {
                for (from, to) in [(distance, 0), (0, distance)] {
                    let (mut expected, mut copied) = (original.clone(), original.clone());
                    expected.copy_within(from..from + count, to);
                    let start = copied.as_mut_ptr() as usize;
                    // SAFETY: both ranges lie in the vector.
                    let outcome = unsafe {
                        match to <= from {
                            true => farheap_guarded_copy_up(start + to, start + from, count),
                            false => farheap_guarded_copy_down(start + to, start + from, count),
                        }
                    };
                    assert_eq!(outcome.is_fault, 0);
                    assert!(copied == expected, "{count} bytes from {from} to {to}");
                }
            }
        }
    }
}
