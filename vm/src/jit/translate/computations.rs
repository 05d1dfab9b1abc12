//! Methods of the library that do nothing but compute, in few instructions or in a function of ours. Loops that call
//! them are loops that call nothing.

use super::{Kind, Translator, isa};
use crate::options::jit::JitOptions;
use crate::runtime::MethodRef;
use crate::runtime::code::elementary::Elementary;
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::FunctionBuilder;

/// The computation of such a method.
pub enum Computation {
    /// Of one operand another of its kind.
    Unary(Kind, fn(&mut FunctionBuilder<'_>, Value) -> Value),
    Binary(Kind, fn(&mut FunctionBuilder<'_>, Value, Value) -> Value),
    /// An int for an operand of any kind, from an instruction that gives the operand's kind.
    Count(Kind, fn(&mut FunctionBuilder<'_>, Value) -> Value),
    /// The same bits as another kind.
    Bits(Kind),
    IsNan,
    /// By a call.
    Elementary(Elementary),
}

impl Computation {
    /// The computation of a method of the boot loader's classes, if the method does nothing else.
    pub fn of(options: &JitOptions, method: MethodRef) -> Option<Computation> {
        if let Some(function) = Elementary::of(options, method) {
            return Some(Computation::Elementary(function));
        }
        if !method.holder.loader.is_boot() {
            return None;
        }
        let (name, descriptor) = (method.name().bytes(), method.descriptor().bytes());
        match method.holder.name.bytes() {
            b"java/lang/Math" | b"java/lang/StrictMath" => math(name, descriptor),
            b"java/lang/Integer" | b"java/lang/Long" => bits(name, descriptor),
            b"java/lang/Float" | b"java/lang/Double" => float_bits(name, descriptor),
            _ => None,
        }
    }
}

fn math(name: &[u8], descriptor: &[u8]) -> Option<Computation> {
    use Computation::{Binary, Unary};
    Some(match (name, descriptor) {
        (b"sqrt", b"(D)D") => Unary(Kind::Double, |b, x| b.ins().sqrt(x)),
        (b"abs", b"(D)D") => Unary(Kind::Double, |b, x| b.ins().fabs(x)),
        (b"abs", b"(F)F") => Unary(Kind::Float, |b, x| b.ins().fabs(x)),
        (b"abs", b"(I)I") => Unary(Kind::Int, |b, x| b.ins().iabs(x)),
        (b"abs", b"(J)J") => Unary(Kind::Long, |b, x| b.ins().iabs(x)),
        (b"ceil", b"(D)D") => Unary(Kind::Double, |b, x| b.ins().ceil(x)),
        (b"floor", b"(D)D") => Unary(Kind::Double, |b, x| b.ins().floor(x)),
        (b"rint", b"(D)D") => Unary(Kind::Double, |b, x| b.ins().nearest(x)),
        (b"max", b"(II)I") => Binary(Kind::Int, |b, x, y| b.ins().smax(x, y)),
        (b"min", b"(II)I") => Binary(Kind::Int, |b, x, y| b.ins().smin(x, y)),
        (b"max", b"(JJ)J") => Binary(Kind::Long, |b, x, y| b.ins().smax(x, y)),
        (b"min", b"(JJ)J") => Binary(Kind::Long, |b, x, y| b.ins().smin(x, y)),
        (b"max", b"(DD)D") => Binary(Kind::Double, |b, x, y| b.ins().fmax(x, y)),
        (b"min", b"(DD)D") => Binary(Kind::Double, |b, x, y| b.ins().fmin(x, y)),
        (b"max", b"(FF)F") => Binary(Kind::Float, |b, x, y| b.ins().fmax(x, y)),
        (b"min", b"(FF)F") => Binary(Kind::Float, |b, x, y| b.ins().fmin(x, y)),
        (b"multiplyHigh", b"(JJ)J") => Binary(Kind::Long, |b, x, y| b.ins().smulhi(x, y)),
        _ => return None,
    })
}

fn bits(name: &[u8], descriptor: &[u8]) -> Option<Computation> {
    use Computation::{Count, Unary};
    let kind = if descriptor.starts_with(b"(I") { Kind::Int } else { Kind::Long };
    Some(match (name, descriptor) {
        (b"bitCount", b"(I)I" | b"(J)I") => Count(kind, |b, x| b.ins().popcnt(x)),
        (b"numberOfLeadingZeros", b"(I)I" | b"(J)I") => Count(kind, |b, x| b.ins().clz(x)),
        (b"numberOfTrailingZeros", b"(I)I" | b"(J)I") => Count(kind, |b, x| b.ins().ctz(x)),
        (b"reverseBytes", b"(I)I" | b"(J)J") => Unary(kind, |b, x| b.ins().bswap(x)),
        (b"reverse", b"(I)I" | b"(J)J") => Unary(kind, |b, x| b.ins().bitrev(x)),
        _ => return None,
    })
}

/// `isNaN` has an instance form too, which is none.
fn float_bits(name: &[u8], descriptor: &[u8]) -> Option<Computation> {
    Some(match (name, descriptor) {
        (b"floatToRawIntBits", _) => Computation::Bits(Kind::Int),
        (b"intBitsToFloat", _) => Computation::Bits(Kind::Float),
        (b"doubleToRawLongBits", _) => Computation::Bits(Kind::Long),
        (b"longBitsToDouble", _) => Computation::Bits(Kind::Double),
        (b"isNaN", b"(F)Z" | b"(D)Z") => Computation::IsNan,
        _ => return None,
    })
}

impl Translator<'_> {
    /// Replaces the arguments by the result.
    pub(super) fn compute(&mut self, computation: &Computation) {
        match *computation {
            Computation::Unary(kind, operation) => {
                let operand = self.pop();
                let result = operation(&mut self.b, operand);
                self.push(kind, result);
            }
            Computation::Binary(kind, operation) => {
                let (right, left) = (self.pop(), self.pop());
                let result = operation(&mut self.b, left, right);
                self.push(kind, result);
            }
            Computation::Count(kind, operation) => {
                let operand = self.pop();
                let result = operation(&mut self.b, operand);
                let result = match kind {
                    Kind::Long => self.b.ins().ireduce(types::I32, result),
                    _ => result,
                };
                self.push(Kind::Int, result);
            }
            Computation::Bits(to) => {
                let operand = self.pop();
                let result = self.b.ins().bitcast(to.clif(), MemFlagsData::new(), operand);
                self.push(to, result);
            }
            Computation::IsNan => {
                let operand = self.pop();
                let is_nan = self.b.ins().fcmp(FloatCC::Unordered, operand, operand);
                let is_nan = self.b.ins().uextend(types::I32, is_nan);
                self.push(Kind::Int, is_nan);
            }
            Computation::Elementary(function) => self.compute_elementary(function),
        }
    }

    fn compute_elementary(&mut self, function: Elementary) {
        let (kind, count) = match function {
            Elementary::One(_) => (Kind::Double, 1),
            Elementary::Two(_) => (Kind::Double, 2),
            Elementary::Fma => (Kind::Double, 3),
            Elementary::FloatFma => (Kind::Float, 3),
        };
        let mut arguments: Vec<Value> = (0..count).map(|_| self.pop()).collect();
        arguments.reverse();
        let result = match arguments[..] {
            [a, b, c] if isa::has_fma() => self.b.ins().fma(a, b, c),
            _ => {
                let result = self.call_leaf(function.address(), &arguments, Some(kind.clif()));
                result.expect("a number")
            }
        };
        self.push(kind, result);
    }
}
