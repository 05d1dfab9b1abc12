//! Calling C functions with the System V calling convention of x86-64.
//!
//! A [`Shape`] is computed once per native method: for every argument, its place in the interpreter's slots
//! and its place in a [`CallFrame`]. One assembly trampoline loads the registers from there.

use crate::runtime::Method;
use classfile::BasicType;
use libc::c_void;
use std::mem::MaybeUninit;

/// How the arguments of one method are passed.
#[derive(Debug, PartialEq, Eq)]
pub struct Shape {
    moves: Box<[Move]>,
    stack_words: u16,
    uses_floats: bool,
}

/// One argument: from a slot of the interpreter to a word of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Move {
    slot: u16,
    word: u16,
    /// Passed as the slot's address (a local reference), or null when it holds null.
    is_reference: bool,
}

/// Six integer registers, eight floating-point registers, then the words on the stack.
#[repr(C, align(16))]
struct CallFrame {
    words: [MaybeUninit<u64>; STACK + MAX_STACK_WORDS],
}

/// The return registers `rax` and `xmm0`, of which one holds the result.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Returned {
    pub integer: u64,
    pub float: f64,
}

const FLOATS: usize = 6;
const STACK: usize = FLOATS + 8;
/// 255 argument slots at most (JVMS 4.3.3), of which six pass in registers at least.
const MAX_STACK_WORDS: usize = 255;

impl Shape {
    pub fn of(method: &Method) -> Shape {
        Shape::new(method.is_static(), &method.parameters)
    }

    fn new(is_static: bool, parameters: &[BasicType]) -> Shape {
        let mut shape = Shape { moves: Box::new([]), stack_words: 0, uses_floats: false };
        // The environment and the class or receiver come first.
        let (mut integers, mut floats) = (2, 0);
        let mut slot = u16::from(!is_static);
        let moves = parameters.iter().map(|&parameter| {
            let word = match parameter {
                BasicType::Float | BasicType::Double if floats < STACK - FLOATS => {
                    shape.uses_floats = true;
                    floats += 1;
                    FLOATS + floats - 1
                }
                BasicType::Float | BasicType::Double => shape.next_on_stack(),
                _ if integers < FLOATS => {
                    integers += 1;
                    integers - 1
                }
                _ => shape.next_on_stack(),
            };
            let from = slot;
            slot += parameter.slots();
            Move { slot: from, word: word as u16, is_reference: parameter.is_reference() }
        });
        let moves: Vec<Move> = moves.collect();
        shape.moves = moves.into_boxed_slice();
        shape
    }

    fn next_on_stack(&mut self) -> usize {
        self.stack_words += 1;
        STACK + self.stack_words as usize - 1
    }

    /// Calls `function(environment, receiver, arguments...)`.
    ///
    /// # Safety
    /// `function` is a C function with the parameters of this shape, and `slots` holds the arguments.
    #[inline]
    pub unsafe fn call(
        &self,
        function: *const c_void,
        environment: usize,
        receiver: usize,
        slots: *const u64,
    ) -> Returned {
        let mut frame: MaybeUninit<CallFrame> = MaybeUninit::uninit();
        // SAFETY: an array of uninitialized words needs no initialization; only written words are read, and
        // registers that the callee does not expect may hold anything.
        unsafe {
            let words = (&raw mut (*frame.as_mut_ptr()).words).cast::<u64>();
            words.write(environment as u64);
            words.add(1).write(receiver as u64);
            for step in &self.moves {
                let slot = slots.add(step.slot as usize);
                let value = *slot;
                let is_address = step.is_reference && value != 0;
                words.add(step.word as usize).write(if is_address { slot as u64 } else { value });
            }
            invoke(function, words, self.stack_words as usize, self.uses_floats)
        }
    }
}

/// Loads the registers from the frame at `words`, pushes `stack_words` and calls.
#[unsafe(naked)]
unsafe extern "C" fn invoke(
    function: *const c_void,
    words: *const u64,
    stack_words: usize,
    uses_floats: bool,
) -> Returned {
    std::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "mov r11, rdi",
        "mov r10, rsi",
        // The words on the stack, padded to keep it aligned to 16 bytes.
        "test rdx, rdx",
        "jz 3f",
        "lea rax, [rdx + 1]",
        "and rax, -2",
        "shl rax, 3",
        "sub rsp, rax",
        "2:",
        "mov rax, [r10 + rdx * 8 + 104]",
        "mov [rsp + rdx * 8 - 8], rax",
        "dec rdx",
        "jnz 2b",
        "3:",
        "test cl, cl",
        "jz 4f",
        "movsd xmm0, [r10 + 48]",
        "movsd xmm1, [r10 + 56]",
        "movsd xmm2, [r10 + 64]",
        "movsd xmm3, [r10 + 72]",
        "movsd xmm4, [r10 + 80]",
        "movsd xmm5, [r10 + 88]",
        "movsd xmm6, [r10 + 96]",
        "movsd xmm7, [r10 + 104]",
        "4:",
        "mov rdi, [r10]",
        "mov rsi, [r10 + 8]",
        "mov rdx, [r10 + 16]",
        "mov rcx, [r10 + 24]",
        "mov r8, [r10 + 32]",
        "mov r9, [r10 + 40]",
        "call r11",
        "leave",
        "ret",
    )
}

const _: () = assert!(FLOATS * 8 == 48 && STACK * 8 == 104 + 8);

#[cfg(test)]
mod tests {
    use super::*;
    use BasicType::*;

    extern "C" fn ints(env: usize, this: usize, a: i32, b: i64, c: *const u64, d: i8) -> i64 {
        assert_eq!((env, this), (7, 8));
        // SAFETY: the test passes the address of a slot.
        a as i64 + b + unsafe { *c } as i64 + d as i64
    }

    #[test]
    fn passes_integers_and_references() {
        let shape = Shape::new(true, &[Int, Long, Object, Byte]);
        let slots = [-1i64 as u64, 1000, 0, 30_000, -5i64 as u64];
        // SAFETY: the function has this shape.
        let out = unsafe { shape.call(ints as *const c_void, 7, 8, slots.as_ptr()) };
        assert_eq!(out.integer as i64, 30_994);
        assert!(!shape.uses_floats && shape.stack_words == 0);
    }

    extern "C" fn null(_: usize, _: usize, object: usize) -> usize {
        object
    }

    #[test]
    fn null_stays_null() {
        let shape = Shape::new(false, &[Array]);
        // SAFETY: as above.
        let out = unsafe { shape.call(null as *const c_void, 0, 0, [9, 0].as_ptr()) };
        assert_eq!(out.integer, 0);
    }

    #[allow(clippy::too_many_arguments)]
    extern "C" fn many(
        _env: usize,
        _class: usize,
        a: i32,
        b: f64,
        c: i64,
        d: f32,
        e: i32,
        f: i32,
        g: i32,
        h: i64,
        i: f64,
        j: f64,
        k: f64,
        l: f64,
        m: f64,
        n: f64,
        o: f64,
        p: f32,
        q: i16,
    ) -> f64 {
        let integers = [a as i64, c, e as i64, f as i64, g as i64, h, q as i64];
        let floats = [b, d as f64, i, j, k, l, m, n, o, p as f64];
        let weigh = |at: usize, value: f64| (at + 1) as f64 * value;
        integers.iter().enumerate().map(|(at, v)| weigh(at, *v as f64)).sum::<f64>()
            + floats.iter().enumerate().map(|(at, v)| weigh(at, *v)).sum::<f64>() * 1000.0
    }

    #[test]
    fn passes_the_rest_on_the_stack() {
        let types = [
            Int, Double, Long, Float, Int, Int, Int, Long, Double, Double, Double, Double, Double,
            Double, Double, Float, Short,
        ];
        let shape = Shape::new(true, &types);
        let (mut slots, mut integers, mut floats) = (Vec::new(), 0, 0);
        for ty in types {
            slots.push(match ty {
                Float => {
                    floats += 1;
                    u64::from((floats as f32).to_bits())
                }
                Double => {
                    floats += 1;
                    (floats as f64).to_bits()
                }
                _ => {
                    integers -= 1;
                    integers as i64 as u64
                }
            });
            if ty.slots() == 2 {
                slots.push(0xdead);
            }
        }
        // SAFETY: as above.
        let out = unsafe { shape.call(many as *const c_void, 0, 0, slots.as_ptr()) };
        let squares = |n: i32| (1..=n).map(|v| (v * v) as f64).sum::<f64>();
        assert_eq!(out.float, squares(10) * 1000.0 - squares(7));
        assert_eq!(shape.stack_words, 3 + 2);
    }
}
