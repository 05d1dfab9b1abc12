//! The places of arguments: the calling convention of compiled code (see the module `jit`), from and to slots of
//! the interpreter.

use crate::runtime::Method;
use classfile::BasicType;
use std::mem::{MaybeUninit, offset_of};

/// Where an argument is passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Integer register behind the one that holds the method: `rsi`, `rdx`, `rcx`, `r8`, `r9`.
    Integer(u8),
    /// `xmm0` to `xmm7`.
    Vector(u8),
    /// Word on the stack, the lowest one is 0.
    Stack(u16),
}

/// The argument registers but the first.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Registers {
    pub integer: [u64; INTEGERS],
    pub vector: [u64; VECTORS],
}

/// Arguments ready for [`enter`](crate::frames::enter::enter), of which at most `STACK` are passed on the stack.
#[repr(C, align(16))]
pub struct Arguments<const STACK: usize> {
    registers: MaybeUninit<Registers>,
    stack_words: u64,
    uses_vectors: u64,
    stack: [MaybeUninit<u64>; STACK],
}

/// Integer registers for arguments, without the method's.
pub const INTEGERS: usize = 5;
pub const VECTORS: usize = 8;
/// 255 argument slots at most (JVMS 4.3.3).
pub const STACK_MAX: usize = 256;

pub(crate) const VECTOR_OFFSET: usize = offset_of!(Registers, vector);
pub(crate) const STACK_WORDS_OFFSET: usize = offset_of!(Arguments<STACK_MAX>, stack_words);
pub(crate) const USES_VECTORS_OFFSET: usize = offset_of!(Arguments<STACK_MAX>, uses_vectors);
pub(crate) const STACK_OFFSET: usize = offset_of!(Arguments<STACK_MAX>, stack);

const _: () = assert!(offset_of!(Arguments<STACK_MAX>, registers) == 0);
const _: () = assert!(offset_of!(Arguments<1>, stack) == STACK_OFFSET);

/// Assigns places in the order of the parameters.
#[derive(Default)]
pub struct Assignment {
    integers: u8,
    vectors: u8,
    stack: u16,
}

impl Assignment {
    pub fn next(&mut self, ty: BasicType) -> Place {
        let (used, all, place): (_, _, fn(u8) -> Place) = match ty {
            BasicType::Float | BasicType::Double => (&mut self.vectors, VECTORS, Place::Vector),
            _ => (&mut self.integers, INTEGERS, Place::Integer),
        };
        if (*used as usize) < all {
            *used += 1;
            return place(*used - 1);
        }
        self.stack += 1;
        Place::Stack(self.stack - 1)
    }
}

/// Types of a method's arguments, receiver first.
pub fn argument_types(method: &Method) -> impl Iterator<Item = BasicType> + '_ {
    let receiver = (!method.is_static()).then_some(BasicType::Object);
    receiver.into_iter().chain(method.parameters.iter().copied())
}

impl<const STACK: usize> Arguments<STACK> {
    /// No arguments.
    pub fn new() -> Arguments<STACK> {
        Arguments {
            registers: MaybeUninit::uninit(),
            stack_words: 0,
            uses_vectors: 0,
            stack: [MaybeUninit::uninit(); STACK],
        }
    }

    /// The arguments of a method, of which the slots begin at `slots`.
    ///
    /// # Safety
    /// There are as many slots as the types take, at most `STACK`.
    #[inline]
    pub unsafe fn set(&mut self, types: impl Iterator<Item = BasicType>, slots: *const u64) {
        let registers = self.registers.as_mut_ptr();
        let mut assignment = Assignment::default();
        let mut slot = slots;
        for ty in types {
            // SAFETY: the contract; places are in the bounds of their arrays.
            unsafe {
                let value = *slot;
                slot = slot.add(ty.slots() as usize);
                match assignment.next(ty) {
                    Place::Integer(n) => (*registers).integer[n as usize] = value,
                    Place::Vector(n) => (*registers).vector[n as usize] = value,
                    Place::Stack(n) => self.stack[n as usize] = MaybeUninit::new(value),
                }
            }
        }
        self.stack_words = assignment.stack as u64;
        self.uses_vectors = (assignment.vectors != 0) as u64;
    }

    /// One word in the first register behind the method's.
    pub fn set_word(&mut self, word: u64) {
        // SAFETY: a place in the block.
        unsafe { (*self.registers.as_mut_ptr()).integer[0] = word };
    }
}

impl<const STACK: usize> Default for Arguments<STACK> {
    fn default() -> Self {
        Arguments::new()
    }
}

/// Puts arguments, as compiled code passes them, into slots.
///
/// # Safety
/// Registers and stack words hold arguments of these types; `slots` has room for them.
pub unsafe fn gather(
    types: impl Iterator<Item = BasicType>,
    registers: &Registers,
    stack: *const u64,
    slots: *mut u64,
) {
    let mut assignment = Assignment::default();
    let mut slot = slots;
    for ty in types {
        // SAFETY: the contract.
        unsafe {
            let word = match assignment.next(ty) {
                Place::Integer(n) => registers.integer[n as usize],
                Place::Vector(n) => registers.vector[n as usize],
                Place::Stack(n) => *stack.add(n as usize),
            };
            // The upper half of a register that holds an int or float may be anything.
            *slot = match ty {
                BasicType::Long | BasicType::Double => word,
                _ if ty.is_reference() => word,
                _ => word as u32 as u64,
            };
            slot = slot.add(ty.slots() as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use BasicType::*;

    fn places(types: &[BasicType]) -> Vec<Place> {
        let mut assignment = Assignment::default();
        types.iter().map(|ty| assignment.next(*ty)).collect()
    }

    #[test]
    fn registers_first_then_the_stack_in_order() {
        assert_eq!(places(&[]), []);
        let mixed = places(&[Object, Double, Int, Float, Long]);
        let wanted = [Place::Integer(0), Place::Vector(0), Place::Integer(1), Place::Vector(1)];
        assert_eq!(mixed[..4], wanted);
        let mut types = vec![Int; 6];
        types.extend([Double; 9]);
        types.extend([Long, Float]);
        let many = places(&types);
        assert_eq!(many[4], Place::Integer(4));
        assert_eq!(many[5], Place::Stack(0));
        assert_eq!(many[13], Place::Vector(7));
        assert_eq!(many[14..], [Place::Stack(1), Place::Stack(2), Place::Stack(3)]);
    }

    #[test]
    fn what_is_spread_is_gathered_again() {
        let types = [
            Object, Int, Double, Long, Float, Byte, Char, Short, Boolean, Double, Float, Double,
            Float, Double, Float, Double, Array, Long, Double, Int, Float,
        ];
        let slots: Vec<u64> = types
            .iter()
            .enumerate()
            .flat_map(|(n, ty)| {
                let wide = 0x1234_5678_9abc_0000 + n as u64;
                match ty {
                    Long | Double => vec![wide, 0],
                    Object | Array => vec![wide],
                    _ => vec![wide as u32 as u64],
                }
            })
            .collect();
        let mut arguments = Arguments::<STACK_MAX>::new();
        // SAFETY: the slots are made for the types.
        unsafe { arguments.set(types.iter().copied(), slots.as_ptr()) };
        let mut back = vec![0; slots.len()];
        // SAFETY: the block was filled for these types.
        unsafe {
            let stack = arguments.stack.as_ptr().cast();
            let registers = arguments.registers.assume_init_ref();
            gather(types.iter().copied(), registers, stack, back.as_mut_ptr());
        }
        assert_eq!(slots, back);
    }
}
