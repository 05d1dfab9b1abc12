//! Methods of strings that [`string_kernels`](crate::jit::string_kernels) does.

use super::{Kind, Translator, kinds_of};
use crate::jit::string_kernels::{self as kernels, LEFT};
use crate::runtime::MethodRef;
use crate::runtime::code::side_exits::Reason;
use crate::runtime::headers::array_base;
use classfile::BasicType;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};

/// A leaf function with the effect of a method.
struct Kernel {
    address: usize,
    effect: Effect,
}

#[derive(PartialEq)]
enum Effect {
    Reads,
    /// As `Reads`; references may be null.
    ReadsNull,
    Writes,
}

impl Translator<'_> {
    /// Whether the method is one of them; then it was translated.
    pub(super) fn string_kernel(&mut self, method: MethodRef) -> bool {
        let (name, descriptor) = (method.name().bytes(), method.descriptor().bytes());
        if method.holder.name.bytes() == b"java/lang/StringUTF16" {
            match name {
                b"getChar" => return self.get_char(),
                b"putChar" => return self.put_char(),
                _ => {}
            }
        }
        let Some(kernel) = kernel(method.holder.name.bytes(), name, descriptor) else {
            return false;
        };
        let count = kinds_of(method).count();
        let arguments: Vec<Value> = (0..count).rev().map(|depth| self.peek(depth)).collect();
        if kernel.effect != Effect::ReadsNull {
            for (kind, argument) in kinds_of(method).zip(&arguments) {
                if kind == Kind::Ref {
                    self.check_not_null(*argument);
                }
            }
        }
        let result = self.call_leaf(kernel.address, &arguments, Some(types::I64));
        let result = result.expect("a result");
        let is_done = self.b.ins().icmp_imm_s(IntCC::NotEqual, result, LEFT);
        self.exit_unless(is_done, Reason::Exception);
        self.drop_operands(count);
        if kernel.effect == Effect::Writes {
            self.side_effect();
        }
        if method.return_type != BasicType::Void {
            let result = self.b.ins().ireduce(types::I32, result);
            self.push(Kind::Int, result);
        }
        true
    }

    /// Unchecked, as the library says.
    fn get_char(&mut self) -> bool {
        let at = self.char_address(1, 0);
        self.drop_operands(2);
        let flags = MemFlagsData::trusted();
        let unit = self.b.ins().uload16(types::I32, flags, at, array_base(2) as i32);
        self.push(Kind::Int, unit);
        true
    }

    fn put_char(&mut self) -> bool {
        let at = self.char_address(2, 1);
        let unit = self.peek(0);
        self.drop_operands(3);
        self.b.ins().istore16(MemFlagsData::trusted(), unit, at, array_base(2) as i32);
        self.side_effect();
        true
    }

    /// Of the array and the index at these depths.
    fn char_address(&mut self, array: usize, index: usize) -> Value {
        let (array, index) = (self.peek(array), self.peek(index));
        self.check_not_null(array);
        self.element_address(array, index, 2)
    }
}

/// Whether calls of the method of one of these classes are calls of a kernel, or reads and writes.
pub(super) fn is_known(method: MethodRef) -> bool {
    let (holder, name) = (method.holder.name.bytes(), method.name().bytes());
    let is_char = holder == b"java/lang/StringUTF16" && matches!(name, b"getChar" | b"putChar");
    is_char || kernel(holder, name, method.descriptor().bytes()).is_some()
}

fn kernel(holder: &[u8], name: &[u8], descriptor: &[u8]) -> Option<Kernel> {
    macro_rules! kernel {
        ($effect:ident, $function:ident) => {
            Kernel { address: kernels::$function as *const () as usize, effect: Effect::$effect }
        };
    }
    Some(match (holder, name, descriptor) {
        (b"java/lang/StringLatin1", name, descriptor) => match (name, descriptor) {
            (b"indexOfChar", b"([BIII)I") => kernel!(Reads, latin1_index_of_char),
            (b"indexOf", b"([B[B)I") => kernel!(Reads, latin1_index_of),
            (b"indexOf", b"([BI[BII)I") => kernel!(Reads, latin1_index_of_from),
            (b"compareTo", b"([B[B)I") => kernel!(Reads, latin1_compare),
            (b"equals", b"([B[B)Z") => kernel!(Reads, equal),
            (b"hashCode", b"([B)I") => kernel!(Reads, latin1_hash),
            (b"inflate", b"([BI[CII)V") => kernel!(Writes, inflate_to_chars),
            (b"inflate", b"([BI[BII)V") => kernel!(Writes, inflate_to_bytes),
            _ => return None,
        },
        (b"java/lang/StringUTF16", name, descriptor) => match (name, descriptor) {
            (b"indexOfChar", b"([BIII)I") => kernel!(Reads, utf16_index_of_char),
            (b"compareTo", b"([B[B)I") => kernel!(Reads, utf16_compare),
            (b"equals", b"([B[B)Z") => kernel!(Reads, equal),
            (b"hashCode", b"([B)I") => kernel!(Reads, utf16_hash),
            (b"compress", b"([CI[BII)I") => kernel!(Writes, compress_chars),
            (b"compress", b"([BI[BII)I") => kernel!(Writes, compress_bytes),
            (b"getChars", b"([BII[CI)V") => kernel!(Writes, get_chars),
            _ => return None,
        },
        (b"java/lang/StringCoding", b"hasNegatives", _) => kernel!(Reads, has_negatives),
        (b"java/lang/StringCoding", b"implEncodeISOArray", _) => kernel!(Writes, encode_latin1),
        (b"java/lang/StringCoding", b"implEncodeAsciiArray", _) => kernel!(Writes, encode_ascii),
        (b"jdk/internal/util/ArraysSupport", b"vectorizedMismatch", _) => {
            kernel!(ReadsNull, mismatch)
        }
        _ => return None,
    })
}
