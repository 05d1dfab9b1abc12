//! The Java frames of a thread that a page fault has interrupted, as words that are resolved later.
//!
//! The walk runs in the fault handler: it takes no lock, allocates nothing, and reads the thread's stacks and the
//! headers of methods only, none of which is far memory. The thread may be anywhere: in compiled code that has called
//! nobody, or in VM code that compiled code calls without a record. So the caller says where compiled code was left,
//! if that is the innermost Java code, and the rest follows frame pointers, as [`walk`](super::walk) does.
//!
//! ```text
//!    63                                     20 19          4 3    0
//!   ┌─────────────────────────────────────────┬─────────────┬──────┐
//!   │ address of the method / 8               │ bci         │ 1, 2 │   1: interpreted, 2: native
//!   ├─────────────────────────────────────────┴─────────────┼──────┤
//!   │ address in compiled code                              │ 3, 4 │   3: of the instruction itself, 4: behind a call
//!   └───────────────────────────────────────────────────────┴──────┘
//! ```

use super::activation::Activation;
use super::enter;
use super::frame::{Frame, REPLACED};
use crate::machine::JavaThread;
use crate::runtime::{Method, MethodRef};
use std::ops::Range;

/// A frame of a word. Methods and addresses are as good as on the stack from which they come: code and classes stay
/// until the world has been stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    Interpreted { method: MethodRef, bci: u16 },
    Native { method: MethodRef },
    Compiled { pc: usize, is_return: bool },
}

/// The innermost frame of compiled code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Innermost {
    pub pc: usize,
    pub fp: usize,
    /// Whether `pc` is behind a call, and not an instruction that was interrupted.
    pub is_return: bool,
}

/// Whether the innermost Java code of the current thread is compiled. Async-signal-safe.
pub fn is_compiled(t: &JavaThread) -> bool {
    // SAFETY: activations lie on the thread's stack as long as it does not return through them.
    let activation = unsafe { t.jit.activation.get().as_ref() };
    activation.is_some_and(|activation| std::ptr::eq(activation.caller_frame, t.top_frame.get()))
}

/// Calls `visit` with the words of the current thread's frames, the innermost first, until it says `false`. Returns
/// whether it never did. `innermost` counts if [`is_compiled`] says so; without it, the last call of the VM does. `sp`
/// is where the thread's stack ends. Async-signal-safe.
pub fn for_each(
    t: &JavaThread,
    innermost: Option<Innermost>,
    sp: usize,
    visit: &mut dyn FnMut(u64) -> bool,
) -> bool {
    let anchor = |pc, fp| Innermost { pc, fp, is_return: true };
    let (mut frame, mut activation) = (t.top_frame.get().cast_const(), t.jit.activation.get());
    let exit = anchor(t.jit.exit_pc.get(), t.jit.exit_fp.get());
    let mut compiled = innermost.filter(|_| is_compiled(t)).unwrap_or(exit);
    loop {
        // SAFETY: as above.
        while let Some(present) = unsafe { activation.as_ref() }
            && std::ptr::eq(present.caller_frame, frame)
        {
            if !walk_code(compiled, sp..activation.addr(), visit) {
                return false;
            }
            let Activation { previous, exit_pc, exit_fp, .. } = *present;
            (activation, compiled) = (previous, anchor(exit_pc, exit_fp));
        }
        // SAFETY: frames are linked down to null, and stay while the thread does not return from them.
        let Some(present) = (unsafe { frame.as_ref() }) else { return true };
        if present.flags & REPLACED == 0 && !visit(word_of(present)) {
            return false;
        }
        frame = present.previous.cast_const();
    }
}

/// The frames of one stretch of compiled code, which lies in this part of the stack.
fn walk_code(from: Innermost, stack: Range<usize>, visit: &mut dyn FnMut(u64) -> bool) -> bool {
    let Innermost { mut pc, mut fp, mut is_return } = from;
    while pc != 0 && pc != enter::outermost_return() {
        if !visit((pc as u64) << TAG_BITS | if is_return { BEHIND_CALL } else { INSTRUCTION }) {
            return false;
        }
        // A frame that is not where it must be ends the walk.
        if !fp.is_multiple_of(8) || !stack.contains(&fp) {
            return true;
        }
        let inner = fp;
        // SAFETY: on the thread's stack, between its end and the activation: compiled code, and the stubs that it
        // calls, keep frame pointers. The word above the saved one is the return address.
        unsafe {
            let words = std::ptr::with_exposed_provenance::<usize>(fp);
            (fp, pc) = (*words, *words.add(1));
        }
        if fp <= inner {
            return true;
        }
        is_return = true;
    }
    true
}

fn word_of(frame: &Frame) -> u64 {
    let method = (std::ptr::from_ref(frame.method).expose_provenance() as u64 >> 3) << METHOD_SHIFT;
    match frame.bci() {
        Some(bci) => method | u64::from(bci) << TAG_BITS | INTERPRETED,
        None => method | NATIVE,
    }
}

/// What a word says.
///
/// # Safety
/// The word is of a walk, and no class and no code has been freed since then of which there was a frame.
pub unsafe fn read(word: u64) -> Option<Word> {
    let method = || {
        let address = ((word >> METHOD_SHIFT) << 3) as usize;
        // SAFETY: the address of a method that was on the stack, by the contract.
        unsafe { std::ptr::with_exposed_provenance::<Method>(address).as_ref() }
    };
    let pc = (word >> TAG_BITS) as usize;
    Some(match word & TAG {
        INTERPRETED => Word::Interpreted { method: method()?, bci: (word >> TAG_BITS) as u16 },
        NATIVE => Word::Native { method: method()? },
        INSTRUCTION => Word::Compiled { pc, is_return: false },
        BEHIND_CALL => Word::Compiled { pc, is_return: true },
        _ => return None,
    })
}

const TAG_BITS: u32 = 4;
const TAG: u64 = (1 << TAG_BITS) - 1;
const INTERPRETED: u64 = 1;
const NATIVE: u64 = 2;
const INSTRUCTION: u64 = 3;
const BEHIND_CALL: u64 = 4;
/// Above the tag and a bci of 16 bits.
const METHOD_SHIFT: u32 = TAG_BITS + 16;

const _: () = assert!(align_of::<Method>() >= 8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_code_say_where_and_how() {
        for (is_return, tag) in [(false, INSTRUCTION), (true, BEHIND_CALL)] {
            let pc = 0x7fff_1234_5678_usize;
            // SAFETY: no method is named.
            let read = unsafe { read((pc as u64) << TAG_BITS | tag) };
            assert_eq!(read, Some(Word::Compiled { pc, is_return }));
        }
        // SAFETY: as above.
        assert_eq!(unsafe { (read(0), read(15)) }, (None, None));
    }
}
