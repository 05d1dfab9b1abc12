//! The interpreter loop.
//!
//! One function executes all frames of one entry from native code: Java-to-Java calls push a frame and
//! continue. It keeps `pc`, `sp`, `locals` and `frame` in local variables and saves the first two to the
//! frame before anything that can reach a safepoint (`save!`). At every safepoint the frame's `pc` is at an
//! instruction whose operands are still on the operand stack, so that the oop map of that bci describes the
//! frame.
//!
//! The function is as long as the instruction set: cutting it up would move `pc` and `sp` into memory.

use super::call::{self, Entered};
use super::fault::Fault;
use super::unwind::{self, Returned};
use super::{link, monitors};
use crate::frames::activation;
use crate::frames::frame::{DROPS_RESULT, ENTRY, FRAME_SLOTS, Frame, LOCKED, MONITORS};
use crate::loading::allocate;
use crate::machine::JavaThread;
use crate::runtime::code::entry;
use crate::runtime::code::quick::{Site, code_of, internal as quick, sites_of};
use crate::runtime::{JResult, Klass, MethodRef, Throw, object, slots};
use crate::threads::requests;
use classfile::bytecode::op;
use gc::object::ObjectRef;
use std::sync::atomic::{AtomicU8, Ordering, compiler_fence};

/// Executes from `frame`, which has just been pushed and has the flag `ENTRY`, until it returns.
///
/// # Safety
/// `frame` is the top frame of `t`, which is the current thread, with its method prepared and verified.
pub unsafe fn run(t: &JavaThread, frame: *mut Frame) -> JResult<u64> {
    // SAFETY: by the contract.
    unsafe {
        match t.vm.options.fault_profile {
            None => interpret::<false>(t, frame),
            Some(_) => interpret::<true>(t, frame),
        }
    }
}

/// With `NOTES_PC` the frame's `pc` is right at every instruction: for the fault profile, which interrupts anywhere.
///
/// # Safety
/// As `run`.
#[inline(never)]
unsafe fn interpret<const NOTES_PC: bool>(t: &JavaThread, frame: *mut Frame) -> JResult<u64> {
    // SAFETY: verified code keeps to its frame's slots and to types, so that slots read as references are
    // plain addresses of live objects; the quickening protocol is that of the module `quick`.
    unsafe {
        let barriers = t.barriers();
        let mutator = &t.mutator;
        let element_shift = t.vm.slot_bytes.trailing_zeros();
        let first_element = t.vm.element_offset(0);
        let mut frame = frame;
        let mut pc: *const u8 = (*frame).pc;
        let mut sp: *mut u64 = (*frame).sp;
        let mut locals: *mut u64 = (*frame).locals;
        // Jumps backwards until the compiler's policy is asked.
        let mut back_edges = t.jit.back_edges.get();

        macro_rules! save {
            () => {{
                (*frame).pc = pc;
                (*frame).sp = sp;
            }};
        }

        macro_rules! go_on {
            ($frame:expr) => {{
                frame = $frame;
                pc = (*frame).pc;
                sp = (*frame).sp;
                locals = (*frame).locals;
            }};
        }

        loop {
            let mut fault: Fault = 'dispatch: loop {
                macro_rules! next {
                    ($length:expr) => {{
                        pc = pc.add($length);
                        continue 'dispatch;
                    }};
                }
                macro_rules! fault {
                    ($fault:expr) => {
                        break 'dispatch $fault
                    };
                }
                // Results of functions that have made an exception pending.
                macro_rules! check {
                    ($result:expr) => {
                        match $result {
                            Ok(value) => value,
                            Err(_) => break 'dispatch Fault::Thrown,
                        }
                    };
                }
                macro_rules! int {
                    ($depth:expr) => {
                        *sp.sub($depth) as i32
                    };
                }
                macro_rules! long {
                    ($depth:expr) => {
                        *sp.sub($depth) as i64
                    };
                }
                macro_rules! float {
                    ($depth:expr) => {
                        f32::from_bits(*sp.sub($depth) as u32)
                    };
                }
                macro_rules! double {
                    ($depth:expr) => {
                        f64::from_bits(*sp.sub($depth))
                    };
                }
                macro_rules! reference {
                    ($depth:expr) => {
                        ObjectRef::from_address(*sp.sub($depth) as usize)
                    };
                }
                macro_rules! push {
                    ($value:expr) => {{
                        *sp = $value;
                        sp = sp.add(1);
                    }};
                }
                macro_rules! push_wide {
                    ($value:expr) => {{
                        *sp = $value;
                        sp = sp.add(2);
                    }};
                }
                macro_rules! u8_at {
                    ($offset:expr) => {
                        *pc.add($offset) as usize
                    };
                }
                macro_rules! u16_at {
                    ($offset:expr) => {
                        u16::from_be(pc.add($offset).cast::<u16>().read_unaligned())
                    };
                }
                macro_rules! i32_at {
                    ($at:expr) => {
                        i32::from_be($at.cast::<i32>().read_unaligned())
                    };
                }
                macro_rules! quick_operand {
                    () => {
                        pc.add(1).cast::<u16>().read_unaligned() as usize
                    };
                }
                macro_rules! site {
                    () => {
                        &*(*frame).sites.add(quick_operand!())
                    };
                }
                macro_rules! load_1 {
                    ($slot:expr, $length:expr) => {{
                        push!(*locals.add($slot));
                        next!($length)
                    }};
                }
                macro_rules! load_2 {
                    ($slot:expr, $length:expr) => {{
                        push_wide!(*locals.add($slot));
                        next!($length)
                    }};
                }
                macro_rules! store_1 {
                    ($slot:expr, $length:expr) => {{
                        sp = sp.sub(1);
                        *locals.add($slot) = *sp;
                        next!($length)
                    }};
                }
                macro_rules! store_2 {
                    ($slot:expr, $length:expr) => {{
                        sp = sp.sub(2);
                        *locals.add($slot) = *sp;
                        next!($length)
                    }};
                }
                macro_rules! int_binary {
                    (|$a:ident, $b:ident| $result:expr) => {{
                        let ($a, $b) = (int!(2), int!(1));
                        sp = sp.sub(1);
                        *sp.sub(1) = ($result) as u32 as u64;
                        next!(1)
                    }};
                }
                macro_rules! long_binary {
                    (|$a:ident, $b:ident| $result:expr) => {{
                        let ($a, $b) = (long!(4), long!(2));
                        sp = sp.sub(2);
                        *sp.sub(2) = ($result) as u64;
                        next!(1)
                    }};
                }
                macro_rules! long_shift {
                    (|$a:ident, $b:ident| $result:expr) => {{
                        let ($a, $b) = (long!(3), int!(1) as u32);
                        sp = sp.sub(1);
                        *sp.sub(2) = ($result) as u64;
                        next!(1)
                    }};
                }
                macro_rules! float_binary {
                    (|$a:ident, $b:ident| $result:expr) => {{
                        let ($a, $b) = (float!(2), float!(1));
                        sp = sp.sub(1);
                        *sp.sub(1) = f32::to_bits($result) as u64;
                        next!(1)
                    }};
                }
                macro_rules! double_binary {
                    (|$a:ident, $b:ident| $result:expr) => {{
                        let ($a, $b) = (double!(4), double!(2));
                        sp = sp.sub(2);
                        *sp.sub(2) = f64::to_bits($result);
                        next!(1)
                    }};
                }
                // Replaces the top: `$pops` slots by `$pushes` slots.
                macro_rules! convert {
                    ($pops:expr, $pushes:expr, $result:expr) => {{
                        let result: u64 = $result;
                        sp = sp.sub($pops);
                        *sp = result;
                        sp = sp.add($pushes);
                        next!(1)
                    }};
                }
                macro_rules! jump {
                    ($offset:expr) => {{
                        let offset: isize = $offset;
                        pc = pc.offset(offset);
                        if offset <= 0 {
                            back_edges -= 1;
                            if back_edges == 0 || mutator.poll_requested() {
                                fault!(Fault::BackEdge)
                            }
                        }
                        continue 'dispatch;
                    }};
                }
                macro_rules! branch {
                    ($pops:expr, $taken:expr) => {{
                        let taken = $taken;
                        sp = sp.sub($pops);
                        if taken {
                            jump!(u16_at!(1) as i16 as isize)
                        }
                        next!(3)
                    }};
                }
                // Array and index on the stack at these depths, checked.
                macro_rules! element {
                    ($array_depth:expr, $index_depth:expr) => {{
                        let array = reference!($array_depth);
                        if array.is_null() {
                            fault!(Fault::NullPointer)
                        }
                        let index = int!($index_depth) as u32 as usize;
                        let length = array.array_length();
                        if index >= length {
                            fault!(Fault::Index(index as i32, length))
                        }
                        (array, index)
                    }};
                }
                macro_rules! array_load {
                    ($ty:ty, |$value:ident| $slot:expr, $pushes:expr) => {{
                        let (array, index) = element!(2, 1);
                        let $value = object::element::<$ty>(array, index);
                        sp = sp.sub(2);
                        *sp = $slot;
                        sp = sp.add($pushes);
                        next!(1)
                    }};
                }
                macro_rules! array_store {
                    ($ty:ty, $value_slots:expr, $value:expr) => {{
                        let (array, index) = element!($value_slots + 2, $value_slots + 1);
                        object::put_element::<$ty>(array, index, $value);
                        sp = sp.sub($value_slots + 2);
                        next!(1)
                    }};
                }
                macro_rules! get_field {
                    ($ty:ty, |$value:ident| $slot:expr, $pushes:expr) => {{
                        let holder = reference!(1);
                        if holder.is_null() {
                            fault!(Fault::NullPointer)
                        }
                        let $value = object::get::<$ty>(holder, quick_operand!());
                        *sp.sub(1) = $slot;
                        sp = sp.add($pushes - 1);
                        next!(3)
                    }};
                }
                macro_rules! put_field {
                    ($ty:ty, $slots:expr, $value:expr) => {{
                        let holder = reference!($slots + 1);
                        if holder.is_null() {
                            fault!(Fault::NullPointer)
                        }
                        object::put::<$ty>(holder, quick_operand!(), $value);
                        sp = sp.sub($slots + 1);
                        next!(3)
                    }};
                }
                macro_rules! mirror {
                    ($site:expr) => {
                        barriers.load_root(mutator, $site.klass().mirror)
                    };
                }
                // The method returns this slot value, which takes this many slots.
                macro_rules! leave {
                    ($slots:expr, $value:expr) => {{
                        let mut pushed = $slots;
                        if (*frame).flags & (ENTRY | LOCKED | MONITORS | DROPS_RESULT) != 0 {
                            save!();
                            if (*frame).flags & (LOCKED | MONITORS) != 0 {
                                check!(monitors::release_at_return(t, frame));
                            }
                            if (*frame).flags & ENTRY != 0 {
                                let value: u64 = $value;
                                t.top_frame.set((*frame).previous);
                                t.jit.back_edges.set(back_edges);
                                return Ok(value);
                            }
                            if (*frame).flags & DROPS_RESULT != 0 {
                                pushed = 0;
                            }
                        }
                        let value: u64 = $value;
                        let length = (*frame).resume as usize;
                        sp = locals;
                        frame = (*frame).previous;
                        t.top_frame.set(frame);
                        pc = (*frame).pc.add(length);
                        locals = (*frame).locals;
                        *sp = value;
                        sp = sp.add(pushed);
                        if mutator.poll_requested() {
                            save!();
                            check!(requests::poll(t));
                        }
                        continue 'dispatch;
                    }};
                }

                if NOTES_PC {
                    // The compiler does not leave it out, or move it behind what may fault.
                    (&raw mut (*frame).pc).write_volatile(pc);
                    compiler_fence(Ordering::SeqCst);
                }
                let opcode = (*pc.cast::<AtomicU8>()).load(Ordering::Acquire);
                // Calls evaluate to the method and the length of the instruction; all other instructions
                // continue the loop themselves.
                let (callee, length): (MethodRef, u32) = match opcode {
                    op::NOP => next!(1),
                    op::ACONST_NULL | op::ICONST_0 | op::FCONST_0 => {
                        push!(0);
                        next!(1)
                    }
                    op::ICONST_M1 => {
                        push!(u32::MAX as u64);
                        next!(1)
                    }
                    op::ICONST_1 => {
                        push!(1);
                        next!(1)
                    }
                    op::ICONST_2 => {
                        push!(2);
                        next!(1)
                    }
                    op::ICONST_3 => {
                        push!(3);
                        next!(1)
                    }
                    op::ICONST_4 => {
                        push!(4);
                        next!(1)
                    }
                    op::ICONST_5 => {
                        push!(5);
                        next!(1)
                    }
                    op::LCONST_0 | op::DCONST_0 => {
                        push_wide!(0);
                        next!(1)
                    }
                    op::LCONST_1 => {
                        push_wide!(1);
                        next!(1)
                    }
                    op::FCONST_1 => {
                        push!(1f32.to_bits() as u64);
                        next!(1)
                    }
                    op::FCONST_2 => {
                        push!(2f32.to_bits() as u64);
                        next!(1)
                    }
                    op::DCONST_1 => {
                        push_wide!(1f64.to_bits());
                        next!(1)
                    }
                    op::BIPUSH => {
                        push!(*pc.add(1) as i8 as i32 as u32 as u64);
                        next!(2)
                    }
                    op::SIPUSH => {
                        push!(u16_at!(1) as i16 as i32 as u32 as u64);
                        next!(3)
                    }
                    op::LDC => {
                        save!();
                        let constant = check!(link::constant(t, frame, u8_at!(1) as u16));
                        push!(constant);
                        next!(2)
                    }
                    op::LDC_W => {
                        save!();
                        let constant = check!(link::constant(t, frame, u16_at!(1)));
                        push!(constant);
                        next!(3)
                    }
                    op::LDC2_W => {
                        save!();
                        let constant = check!(link::constant(t, frame, u16_at!(1)));
                        push_wide!(constant);
                        next!(3)
                    }

                    op::ILOAD | op::FLOAD | op::ALOAD => load_1!(u8_at!(1), 2),
                    op::LLOAD | op::DLOAD => load_2!(u8_at!(1), 2),
                    op::ILOAD_0 | op::FLOAD_0 | op::ALOAD_0 => load_1!(0, 1),
                    op::ILOAD_1 | op::FLOAD_1 | op::ALOAD_1 => load_1!(1, 1),
                    op::ILOAD_2 | op::FLOAD_2 | op::ALOAD_2 => load_1!(2, 1),
                    op::ILOAD_3 | op::FLOAD_3 | op::ALOAD_3 => load_1!(3, 1),
                    op::LLOAD_0 | op::DLOAD_0 => load_2!(0, 1),
                    op::LLOAD_1 | op::DLOAD_1 => load_2!(1, 1),
                    op::LLOAD_2 | op::DLOAD_2 => load_2!(2, 1),
                    op::LLOAD_3 | op::DLOAD_3 => load_2!(3, 1),
                    op::ISTORE | op::FSTORE | op::ASTORE => store_1!(u8_at!(1), 2),
                    op::LSTORE | op::DSTORE => store_2!(u8_at!(1), 2),
                    op::ISTORE_0 | op::FSTORE_0 | op::ASTORE_0 => store_1!(0, 1),
                    op::ISTORE_1 | op::FSTORE_1 | op::ASTORE_1 => store_1!(1, 1),
                    op::ISTORE_2 | op::FSTORE_2 | op::ASTORE_2 => store_1!(2, 1),
                    op::ISTORE_3 | op::FSTORE_3 | op::ASTORE_3 => store_1!(3, 1),
                    op::LSTORE_0 | op::DSTORE_0 => store_2!(0, 1),
                    op::LSTORE_1 | op::DSTORE_1 => store_2!(1, 1),
                    op::LSTORE_2 | op::DSTORE_2 => store_2!(2, 1),
                    op::LSTORE_3 | op::DSTORE_3 => store_2!(3, 1),

                    op::IALOAD | op::FALOAD => {
                        array_load!(i32, |value| value as u32 as u64, 1)
                    }
                    op::LALOAD | op::DALOAD => array_load!(u64, |value| value, 2),
                    op::BALOAD => array_load!(i8, |value| value as i32 as u32 as u64, 1),
                    op::CALOAD => array_load!(u16, |value| value as u64, 1),
                    op::SALOAD => array_load!(i16, |value| value as i32 as u32 as u64, 1),
                    op::AALOAD => {
                        let (array, index) = element!(2, 1);
                        let offset = first_element + (index << element_shift);
                        let value = barriers.load(mutator, array, offset);
                        sp = sp.sub(1);
                        *sp.sub(1) = value.address() as u64;
                        next!(1)
                    }
                    op::IASTORE | op::FASTORE => array_store!(i32, 1, int!(1)),
                    op::LASTORE | op::DASTORE => array_store!(u64, 2, *sp.sub(2)),
                    op::CASTORE | op::SASTORE => array_store!(u16, 1, int!(1) as u16),
                    op::BASTORE => {
                        let (array, index) = element!(3, 2);
                        let value = match int!(1) {
                            // The same in an array of booleans.
                            value @ 0..=1 => value as i8,
                            value => call::byte_element(t, array, value),
                        };
                        object::put_element::<i8>(array, index, value);
                        sp = sp.sub(3);
                        next!(1)
                    }
                    op::AASTORE => {
                        let (array, index) = element!(3, 2);
                        let value = reference!(1);
                        if !value.is_null() {
                            let component =
                                t.klass_of(array).component().expect("an array of references");
                            if !t.klass_of(value).is_subtype_of(component) {
                                fault!(Fault::ArrayStore)
                            }
                        }
                        let offset = first_element + (index << element_shift);
                        barriers.store(mutator, array, offset, value);
                        sp = sp.sub(3);
                        next!(1)
                    }

                    op::POP => {
                        sp = sp.sub(1);
                        next!(1)
                    }
                    op::POP2 => {
                        sp = sp.sub(2);
                        next!(1)
                    }
                    op::DUP => {
                        push!(*sp.sub(1));
                        next!(1)
                    }
                    op::DUP_X1 => {
                        let (b, a) = (*sp.sub(2), *sp.sub(1));
                        *sp.sub(2) = a;
                        *sp.sub(1) = b;
                        push!(a);
                        next!(1)
                    }
                    op::DUP_X2 => {
                        let (c, b, a) = (*sp.sub(3), *sp.sub(2), *sp.sub(1));
                        *sp.sub(3) = a;
                        *sp.sub(2) = c;
                        *sp.sub(1) = b;
                        push!(a);
                        next!(1)
                    }
                    op::DUP2 => {
                        let (b, a) = (*sp.sub(2), *sp.sub(1));
                        *sp = b;
                        *sp.add(1) = a;
                        sp = sp.add(2);
                        next!(1)
                    }
                    op::DUP2_X1 => {
                        let (c, b, a) = (*sp.sub(3), *sp.sub(2), *sp.sub(1));
                        *sp.sub(3) = b;
                        *sp.sub(2) = a;
                        *sp.sub(1) = c;
                        *sp = b;
                        *sp.add(1) = a;
                        sp = sp.add(2);
                        next!(1)
                    }
                    op::DUP2_X2 => {
                        let (d, c, b, a) = (*sp.sub(4), *sp.sub(3), *sp.sub(2), *sp.sub(1));
                        *sp.sub(4) = b;
                        *sp.sub(3) = a;
                        *sp.sub(2) = d;
                        *sp.sub(1) = c;
                        *sp = b;
                        *sp.add(1) = a;
                        sp = sp.add(2);
                        next!(1)
                    }
                    op::SWAP => {
                        let (b, a) = (*sp.sub(2), *sp.sub(1));
                        *sp.sub(2) = a;
                        *sp.sub(1) = b;
                        next!(1)
                    }

                    op::IADD => int_binary!(|a, b| a.wrapping_add(b)),
                    op::ISUB => int_binary!(|a, b| a.wrapping_sub(b)),
                    op::IMUL => int_binary!(|a, b| a.wrapping_mul(b)),
                    op::IAND => int_binary!(|a, b| a & b),
                    op::IOR => int_binary!(|a, b| a | b),
                    op::IXOR => int_binary!(|a, b| a ^ b),
                    op::ISHL => int_binary!(|a, b| a.wrapping_shl(b as u32)),
                    op::ISHR => int_binary!(|a, b| a.wrapping_shr(b as u32)),
                    op::IUSHR => int_binary!(|a, b| (a as u32).wrapping_shr(b as u32)),
                    op::IDIV => {
                        if int!(1) == 0 {
                            fault!(Fault::DivideByZero)
                        }
                        int_binary!(|a, b| a.wrapping_div(b))
                    }
                    op::IREM => {
                        if int!(1) == 0 {
                            fault!(Fault::DivideByZero)
                        }
                        int_binary!(|a, b| a.wrapping_rem(b))
                    }
                    op::LADD => long_binary!(|a, b| a.wrapping_add(b)),
                    op::LSUB => long_binary!(|a, b| a.wrapping_sub(b)),
                    op::LMUL => long_binary!(|a, b| a.wrapping_mul(b)),
                    op::LAND => long_binary!(|a, b| a & b),
                    op::LOR => long_binary!(|a, b| a | b),
                    op::LXOR => long_binary!(|a, b| a ^ b),
                    op::LDIV => {
                        if long!(2) == 0 {
                            fault!(Fault::DivideByZero)
                        }
                        long_binary!(|a, b| a.wrapping_div(b))
                    }
                    op::LREM => {
                        if long!(2) == 0 {
                            fault!(Fault::DivideByZero)
                        }
                        long_binary!(|a, b| a.wrapping_rem(b))
                    }
                    op::LSHL => long_shift!(|a, b| a.wrapping_shl(b)),
                    op::LSHR => long_shift!(|a, b| a.wrapping_shr(b)),
                    op::LUSHR => long_shift!(|a, b| (a as u64).wrapping_shr(b)),
                    op::FADD => float_binary!(|a, b| a + b),
                    op::FSUB => float_binary!(|a, b| a - b),
                    op::FMUL => float_binary!(|a, b| a * b),
                    op::FDIV => float_binary!(|a, b| a / b),
                    op::FREM => float_binary!(|a, b| a % b),
                    op::DADD => double_binary!(|a, b| a + b),
                    op::DSUB => double_binary!(|a, b| a - b),
                    op::DMUL => double_binary!(|a, b| a * b),
                    op::DDIV => double_binary!(|a, b| a / b),
                    op::DREM => double_binary!(|a, b| a % b),
                    op::INEG => convert!(1, 1, int!(1).wrapping_neg() as u32 as u64),
                    op::LNEG => convert!(2, 2, long!(2).wrapping_neg() as u64),
                    op::FNEG => convert!(1, 1, (-float!(1)).to_bits() as u64),
                    op::DNEG => convert!(2, 2, (-double!(2)).to_bits()),
                    op::IINC => {
                        let slot = locals.add(u8_at!(1));
                        let by = *pc.add(2) as i8 as i32;
                        *slot = (*slot as i32).wrapping_add(by) as u32 as u64;
                        next!(3)
                    }

                    op::I2L => convert!(1, 2, int!(1) as i64 as u64),
                    op::I2F => convert!(1, 1, (int!(1) as f32).to_bits() as u64),
                    op::I2D => convert!(1, 2, (int!(1) as f64).to_bits()),
                    op::L2I => convert!(2, 1, long!(2) as u32 as u64),
                    op::L2F => convert!(2, 1, (long!(2) as f32).to_bits() as u64),
                    op::L2D => convert!(2, 2, (long!(2) as f64).to_bits()),
                    op::F2I => convert!(1, 1, float!(1) as i32 as u32 as u64),
                    op::F2L => convert!(1, 2, float!(1) as i64 as u64),
                    op::F2D => convert!(1, 2, (float!(1) as f64).to_bits()),
                    op::D2I => convert!(2, 1, double!(2) as i32 as u32 as u64),
                    op::D2L => convert!(2, 2, double!(2) as i64 as u64),
                    op::D2F => convert!(2, 1, (double!(2) as f32).to_bits() as u64),
                    op::I2B => convert!(1, 1, int!(1) as i8 as i32 as u32 as u64),
                    op::I2C => convert!(1, 1, int!(1) as u16 as u64),
                    op::I2S => convert!(1, 1, int!(1) as i16 as i32 as u32 as u64),
                    op::LCMP => {
                        let (a, b) = (long!(4), long!(2));
                        convert!(4, 1, ((a > b) as i32 - (a < b) as i32) as u32 as u64)
                    }
                    op::FCMPL => {
                        let (a, b) = (float!(2), float!(1));
                        convert!(2, 1, compare_less(a as f64, b as f64))
                    }
                    op::FCMPG => {
                        let (a, b) = (float!(2), float!(1));
                        convert!(2, 1, compare_greater(a as f64, b as f64))
                    }
                    op::DCMPL => {
                        let (a, b) = (double!(4), double!(2));
                        convert!(4, 1, compare_less(a, b))
                    }
                    op::DCMPG => {
                        let (a, b) = (double!(4), double!(2));
                        convert!(4, 1, compare_greater(a, b))
                    }

                    op::IFEQ => branch!(1, int!(1) == 0),
                    op::IFNE => branch!(1, int!(1) != 0),
                    op::IFLT => branch!(1, int!(1) < 0),
                    op::IFGE => branch!(1, int!(1) >= 0),
                    op::IFGT => branch!(1, int!(1) > 0),
                    op::IFLE => branch!(1, int!(1) <= 0),
                    op::IF_ICMPEQ => branch!(2, int!(2) == int!(1)),
                    op::IF_ICMPNE => branch!(2, int!(2) != int!(1)),
                    op::IF_ICMPLT => branch!(2, int!(2) < int!(1)),
                    op::IF_ICMPGE => branch!(2, int!(2) >= int!(1)),
                    op::IF_ICMPGT => branch!(2, int!(2) > int!(1)),
                    op::IF_ICMPLE => branch!(2, int!(2) <= int!(1)),
                    op::IF_ACMPEQ => branch!(2, *sp.sub(2) == *sp.sub(1)),
                    op::IF_ACMPNE => branch!(2, *sp.sub(2) != *sp.sub(1)),
                    op::IFNULL => branch!(1, *sp.sub(1) == 0),
                    op::IFNONNULL => branch!(1, *sp.sub(1) != 0),
                    op::GOTO => jump!(u16_at!(1) as i16 as isize),
                    op::GOTO_W => jump!(i32_at!(pc.add(1)) as isize),
                    op::JSR => {
                        let back = pc as usize + 3 - code_of((*frame).method) as usize;
                        push!(back as u64);
                        jump!(u16_at!(1) as i16 as isize)
                    }
                    op::JSR_W => {
                        let back = pc as usize + 5 - code_of((*frame).method) as usize;
                        push!(back as u64);
                        jump!(i32_at!(pc.add(1)) as isize)
                    }
                    op::RET => {
                        pc = code_of((*frame).method).add(*locals.add(u8_at!(1)) as usize);
                        continue 'dispatch;
                    }
                    op::TABLESWITCH => {
                        let operands = switch_operands(pc);
                        let low = i32_at!(operands.add(4));
                        let high = i32_at!(operands.add(8));
                        sp = sp.sub(1);
                        let key = *sp as i32;
                        let at = if key < low || key > high {
                            operands
                        } else {
                            operands.add(12 + 4 * (key as i64 - low as i64) as usize)
                        };
                        jump!(i32_at!(at) as isize)
                    }
                    op::LOOKUPSWITCH => {
                        let operands = switch_operands(pc);
                        sp = sp.sub(1);
                        jump!(lookup_switch(operands, *sp as i32) as isize)
                    }

                    op::IRETURN | op::FRETURN | op::ARETURN => leave!(1, *sp.sub(1)),
                    op::LRETURN | op::DRETURN => leave!(2, *sp.sub(2)),
                    op::RETURN => leave!(0, 0),
                    quick::RETURN_CONSTRUCTED => {
                        save!();
                        let object = ObjectRef::from_address(*locals as usize);
                        check!(allocate::constructed(t, object));
                        leave!(0, 0)
                    }

                    quick::GETFIELD_BYTE => {
                        get_field!(i8, |value| value as i32 as u32 as u64, 1)
                    }
                    quick::GETFIELD_CHAR => get_field!(u16, |value| value as u64, 1),
                    quick::GETFIELD_SHORT => {
                        get_field!(i16, |value| value as i32 as u32 as u64, 1)
                    }
                    quick::GETFIELD_INT => get_field!(i32, |value| value as u32 as u64, 1),
                    quick::GETFIELD_LONG => get_field!(u64, |value| value, 2),
                    quick::GETFIELD_REF => {
                        let holder = reference!(1);
                        if holder.is_null() {
                            fault!(Fault::NullPointer)
                        }
                        let value = barriers.load(mutator, holder, quick_operand!());
                        *sp.sub(1) = value.address() as u64;
                        next!(3)
                    }
                    quick::GETFIELD_REFERENT => {
                        let holder = reference!(1);
                        if holder.is_null() {
                            fault!(Fault::NullPointer)
                        }
                        let value = barriers.load_referent(mutator, holder, quick_operand!());
                        *sp.sub(1) = value.address() as u64;
                        next!(3)
                    }
                    quick::PUTFIELD_BOOL => put_field!(i8, 1, int!(1) as i8 & 1),
                    quick::PUTFIELD_BYTE => put_field!(i8, 1, int!(1) as i8),
                    quick::PUTFIELD_SHORT => put_field!(i16, 1, int!(1) as i16),
                    quick::PUTFIELD_INT => put_field!(i32, 1, int!(1)),
                    quick::PUTFIELD_LONG => put_field!(u64, 2, *sp.sub(2)),
                    quick::PUTFIELD_REF => {
                        let holder = reference!(2);
                        if holder.is_null() {
                            fault!(Fault::NullPointer)
                        }
                        barriers.store(mutator, holder, quick_operand!(), reference!(1));
                        sp = sp.sub(2);
                        next!(3)
                    }
                    quick::GETSTATIC_INT => {
                        let site: &Site = site!();
                        let value = object::get::<i32>(mirror!(site), site.offset());
                        push!(value as u32 as u64);
                        next!(3)
                    }
                    quick::GETSTATIC_LONG => {
                        let site: &Site = site!();
                        push_wide!(object::get::<u64>(mirror!(site), site.offset()));
                        next!(3)
                    }
                    quick::GETSTATIC_REF => {
                        let site: &Site = site!();
                        let value = barriers.load(mutator, mirror!(site), site.offset());
                        push!(value.address() as u64);
                        next!(3)
                    }
                    quick::PUTSTATIC_INT => {
                        let site: &Site = site!();
                        object::put::<i32>(mirror!(site), site.offset(), int!(1));
                        sp = sp.sub(1);
                        next!(3)
                    }
                    quick::PUTSTATIC_LONG => {
                        let site: &Site = site!();
                        object::put::<u64>(mirror!(site), site.offset(), *sp.sub(2));
                        sp = sp.sub(2);
                        next!(3)
                    }
                    quick::PUTSTATIC_REF => {
                        let site: &Site = site!();
                        barriers.store(mutator, mirror!(site), site.offset(), reference!(1));
                        sp = sp.sub(1);
                        next!(3)
                    }
                    quick::GETSTATIC_SMALL => {
                        let site: &Site = site!();
                        let value = slots::get(t, mirror!(site), site.offset(), site.basic_type());
                        push!(value);
                        next!(3)
                    }
                    quick::PUTSTATIC_SMALL => {
                        let site: &Site = site!();
                        let ty = site.basic_type();
                        slots::put(t, mirror!(site), site.offset(), ty, *sp.sub(1));
                        sp = sp.sub(1);
                        next!(3)
                    }
                    op::GETSTATIC | op::PUTSTATIC | op::GETFIELD | op::PUTFIELD => {
                        save!();
                        if let Some(field) = check!(link::field(t, frame, opcode)) {
                            sp = match link::access_field(t, sp, opcode, field) {
                                Ok(sp) => sp,
                                Err(fault) => fault!(fault),
                            };
                            next!(3)
                        }
                        continue 'dispatch;
                    }

                    quick::INVOKE_STATIC => {
                        let site: &Site = site!();
                        (site.method(), 3)
                    }
                    quick::INVOKE_DIRECT => {
                        let site: &Site = site!();
                        let shape = site.shape();
                        if reference!(shape.argument_slots()).is_null() {
                            fault!(Fault::NullPointer)
                        }
                        (site.method(), shape.length())
                    }
                    quick::INVOKE_VIRTUAL => {
                        let site: &Site = site!();
                        let shape = site.shape();
                        let receiver = reference!(shape.argument_slots());
                        if receiver.is_null() {
                            fault!(Fault::NullPointer)
                        }
                        let klass: &'static Klass = t.klass_of(receiver);
                        site.see(klass.id);
                        let vtable = klass.vtable.get().unwrap_unchecked();
                        (*vtable.get_unchecked(shape.vtable_index()), shape.length())
                    }
                    quick::INVOKE_INTERFACE => {
                        let site: &Site = site!();
                        let shape = site.shape();
                        let receiver = reference!(shape.argument_slots());
                        if receiver.is_null() {
                            fault!(Fault::NullPointer)
                        }
                        site.see(receiver.klass());
                        let resolved = site.method();
                        match t.java_stack.selected(resolved, receiver.klass()) {
                            Some(method) => (method, shape.length()),
                            None => {
                                save!();
                                let method = check!(link::select(t, resolved, receiver));
                                (method, shape.length())
                            }
                        }
                    }
                    quick::INVOKE_BASIC => {
                        let site: &Site = site!();
                        let receiver = reference!(site.shape().argument_slots());
                        if receiver.is_null() {
                            fault!(Fault::NullPointer)
                        }
                        let target = crate::invoke::basic_target(t, receiver);
                        site.see_target(target);
                        (target, 3)
                    }
                    quick::INVOKE_LINK_TO => {
                        let site: &Site = site!();
                        let member = reference!(1);
                        if member.is_null() {
                            fault!(Fault::NullPointer)
                        }
                        save!();
                        let first = reference!(site.shape().argument_slots());
                        let intrinsic = site.method().intrinsic;
                        let target =
                            check!(crate::invoke::link_target(t, intrinsic, member, first));
                        site.see_target(target);
                        sp = sp.sub(1);
                        (target, 3)
                    }
                    quick::INVOKE_ADAPTER => {
                        let site: &Site = site!();
                        let appendix = link::appendix(t, frame, pc);
                        let slots = site.shape().argument_slots();
                        if reference!(slots - usize::from(!appendix.is_null())).is_null() {
                            fault!(Fault::NullPointer)
                        }
                        if !appendix.is_null() {
                            push!(appendix.address() as u64);
                        }
                        (site.method(), 3)
                    }
                    quick::INVOKE_DYNAMIC => {
                        let number = pc.add(1).cast::<u32>().read_unaligned();
                        let (adapter, appendix) = link::call_site(t, frame, number);
                        if !appendix.is_null() {
                            push!(appendix.address() as u64);
                        }
                        (adapter, 5)
                    }
                    op::INVOKEVIRTUAL..=op::INVOKEINTERFACE => {
                        save!();
                        match check!(link::invoke(t, frame, opcode)) {
                            Some(call) => call,
                            None => continue 'dispatch,
                        }
                    }
                    op::INVOKEDYNAMIC => {
                        save!();
                        check!(link::invoke_dynamic(t, frame));
                        continue 'dispatch;
                    }

                    quick::NEW => {
                        save!();
                        let site: &Site = site!();
                        let object = check!(allocate::new_instance(t, site.klass()));
                        push!(object.address() as u64);
                        next!(3)
                    }
                    op::NEW => {
                        save!();
                        let object = check!(link::new_instance(t, frame));
                        push!(object.address() as u64);
                        next!(3)
                    }
                    op::NEWARRAY => {
                        save!();
                        let array = check!(link::new_primitive_array(t, *pc.add(1), int!(1)));
                        *sp.sub(1) = array.address() as u64;
                        next!(2)
                    }
                    quick::ANEWARRAY => {
                        save!();
                        let site: &Site = site!();
                        let array = check!(allocate::new_array(t, site.klass(), int!(1)));
                        *sp.sub(1) = array.address() as u64;
                        next!(3)
                    }
                    op::MULTIANEWARRAY => {
                        save!();
                        let dimensions = u8_at!(3);
                        let array = check!(link::new_multi_array(t, frame, u16_at!(1), dimensions));
                        sp = sp.sub(dimensions);
                        push!(array.address() as u64);
                        next!(4)
                    }
                    op::ARRAYLENGTH => {
                        let array = reference!(1);
                        if array.is_null() {
                            fault!(Fault::NullPointer)
                        }
                        *sp.sub(1) = array.array_length() as u64;
                        next!(1)
                    }
                    op::ATHROW => {
                        let throwable = reference!(1);
                        if throwable.is_null() {
                            fault!(Fault::NullPointer)
                        }
                        let _: Throw = t.throw_object(throwable);
                        fault!(Fault::Thrown)
                    }
                    quick::CHECKCAST => {
                        let object = reference!(1);
                        if !object.is_null() {
                            let site: &Site = site!();
                            site.see(object.klass());
                            if !t.klass_of(object).is_subtype_of(site.klass()) {
                                fault!(Fault::Cast(site.klass()))
                            }
                        }
                        next!(3)
                    }
                    quick::INSTANCEOF => {
                        let object = reference!(1);
                        if !object.is_null() {
                            let site: &Site = site!();
                            site.see(object.klass());
                            *sp.sub(1) = t.klass_of(object).is_subtype_of(site.klass()) as u64;
                        }
                        next!(3)
                    }
                    op::CHECKCAST | op::INSTANCEOF if *sp.sub(1) == 0 => next!(3),
                    op::CHECKCAST | op::INSTANCEOF | op::ANEWARRAY => {
                        save!();
                        check!(link::type_site(t, frame, opcode));
                        continue 'dispatch;
                    }
                    op::MONITORENTER => {
                        let object = reference!(1);
                        if object.is_null() {
                            fault!(Fault::NullPointer)
                        }
                        save!();
                        check!(monitors::enter(t, frame));
                        sp = sp.sub(1);
                        next!(1)
                    }
                    op::MONITOREXIT => {
                        let object = reference!(1);
                        if object.is_null() {
                            fault!(Fault::NullPointer)
                        }
                        save!();
                        check!(monitors::exit(t, frame));
                        sp = sp.sub(1);
                        next!(1)
                    }

                    op::WIDE => {
                        let slot = u16_at!(2) as usize;
                        match *pc.add(1) {
                            op::ILOAD | op::FLOAD | op::ALOAD => load_1!(slot, 4),
                            op::LLOAD | op::DLOAD => load_2!(slot, 4),
                            op::ISTORE | op::FSTORE | op::ASTORE => store_1!(slot, 4),
                            op::LSTORE | op::DSTORE => store_2!(slot, 4),
                            op::IINC => {
                                let slot = locals.add(slot);
                                let by = u16_at!(4) as i16 as i32;
                                *slot = (*slot as i32).wrapping_add(by) as u32 as u64;
                                next!(6)
                            }
                            op::RET => {
                                pc = code_of((*frame).method).add(*locals.add(slot) as usize);
                                continue 'dispatch;
                            }
                            other => bad_opcode(frame, other),
                        }
                    }
                    other => bad_opcode(frame, other),
                };

                // A call: the arguments are on top of the stack.
                let arguments = sp.sub(callee.argument_slots as usize);
                save!();
                if callee.entry.load(Ordering::Acquire) == entry::INTERPRETED
                    && call::count_call(callee)
                {
                    let new_frame = arguments.add(callee.max_locals as usize).cast::<Frame>();
                    let new_sp = new_frame.cast::<u64>().add(FRAME_SLOTS);
                    // Two slots more: appendices lie beyond the stack size that the class file declared.
                    if new_sp.add(callee.max_stack as usize + 2) > t.java_stack.limit() {
                        fault!(Fault::StackOverflow)
                    }
                    pc = code_of(callee);
                    new_frame.write(Frame {
                        method: callee,
                        previous: frame,
                        pc,
                        sp: new_sp,
                        locals: arguments,
                        sites: sites_of(pc),
                        lock: ObjectRef::NULL,
                        flags: 0,
                        resume: length,
                    });
                    t.top_frame.set(new_frame);
                    frame = new_frame;
                    locals = arguments;
                    sp = new_sp;
                    continue 'dispatch;
                }
                match call::enter(t, callee, arguments, length, 0) {
                    Ok(Entered::Frame(new_frame)) => go_on!(new_frame),
                    Ok(Entered::Result(value)) => {
                        sp = arguments;
                        *sp = value;
                        sp = sp.add(callee.return_type.slots() as usize);
                        pc = pc.add(length as usize);
                    }
                    Err(_) => fault!(Fault::Thrown),
                }
            };

            save!();
            if matches!(fault, Fault::BackEdge) {
                back_edges = t.vm.jit.back_edge_step;
                t.jit.back_edges.set(back_edges);
                // `None`: an exception is to be thrown.
                let next = match requests::poll(t) {
                    Err(_) => None,
                    Ok(()) => match t.vm.jit.at_back_edge(t, frame) {
                        None => Some(frame),
                        Some(activation::Entered::Left) => {
                            frame = t.top_frame.get();
                            (!t.has_pending()).then_some(frame)
                        }
                        Some(activation::Entered::Thrown) => None,
                        Some(activation::Entered::Returned(value)) => {
                            match unwind::return_for_code(t, frame, value) {
                                Ok(Returned::ToFrame(caller)) => Some(caller),
                                Ok(Returned::ToNative(value)) => return Ok(value),
                                Err(_) => None,
                            }
                        }
                    },
                };
                if let Some(next) = next {
                    go_on!(next);
                    continue;
                }
                fault = Fault::Thrown;
            }
            let thrown = fault.raise(t, frame);
            match unwind::to_handler(t, frame) {
                Some(handler_frame) => go_on!(handler_frame),
                None => {
                    t.jit.back_edges.set(back_edges);
                    return Err(thrown);
                }
            }
        }
    }
}

/// `fcmpl`, `dcmpl`: -1 for unordered.
#[inline(always)]
fn compare_less(a: f64, b: f64) -> u64 {
    let result = if a > b { 1 } else { -((a != b) as i32) };
    result as u32 as u64
}

/// `fcmpg`, `dcmpg`: 1 for unordered.
#[inline(always)]
fn compare_greater(a: f64, b: f64) -> u64 {
    let result = if a < b { -1 } else { (a != b) as i32 };
    result as u32 as u64
}

/// The first operand of a switch. Quick code is aligned to 8 bytes, so addresses pad like bcis.
#[inline(always)]
fn switch_operands(pc: *const u8) -> *const u8 {
    pc.map_addr(|address| (address + 4) & !3)
}

/// The branch offset of a `lookupswitch` for a key.
///
/// # Safety
/// `operands` are those of a verified instruction.
unsafe fn lookup_switch(operands: *const u8, key: i32) -> i32 {
    // SAFETY: by the contract, the pairs lie behind the count.
    let word =
        |index: usize| unsafe { i32::from_be(operands.cast::<i32>().add(index).read_unaligned()) };
    let (mut low, mut high) = (0, word(1) as usize);
    while low < high {
        let middle = (low + high) / 2;
        let at = word(2 + 2 * middle);
        if at == key {
            return word(3 + 2 * middle);
        }
        if at < key {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    word(0)
}

#[cold]
fn bad_opcode(frame: *mut Frame, opcode: u8) -> ! {
    // SAFETY: the loop's frame.
    let method = unsafe { (*frame).method };
    panic!("opcode {opcode} in verified code of {method:?}")
}
