//! Methods of the library that code knows better than their bytecode.

use super::instructions::Next;
use super::{Kind, NotCompiled, Translator};
use crate::interpreter::quick::internal as quick;
use crate::jit::body::Reason;
use crate::jit::helpers;
use crate::runtime::MethodRef;
use crate::runtime::klass::Klass;
use crate::threads::lock_word;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use std::mem::offset_of;

impl Translator<'_> {
    /// Translates a call of a method that is known here. `None`: it is not.
    pub(super) fn intrinsic(&mut self, method: MethodRef) -> Result<Option<Next>, NotCompiled> {
        if !std::ptr::eq(method.holder.loader, self.vm.boot_loader) {
            return Ok(None);
        }
        let (holder, name) = (method.holder.name, method.name());
        let known = match holder.bytes() {
            b"java/lang/Math" | b"java/lang/StrictMath" => {
                self.math(name.bytes(), method.descriptor().bytes())
            }
            b"java/lang/Integer" | b"java/lang/Long" => {
                self.bits(name.bytes(), method.descriptor().bytes())
            }
            b"java/lang/Float" | b"java/lang/Double" => self.float_bits(name.bytes()),
            b"java/lang/Object" if name.bytes() == b"getClass" => self.class_of(),
            b"java/lang/Object" if name.bytes() == b"hashCode" && self.is_direct(method) => {
                self.identity_hash()
            }
            b"java/lang/System" if name.bytes() == b"arraycopy" => self.array_copy(),
            b"java/lang/System" if name.bytes() == b"identityHashCode" => {
                self.identity_hash_static()
            }
            b"java/lang/StringLatin1"
            | b"java/lang/StringUTF16"
            | b"java/lang/StringCoding"
            | b"jdk/internal/util/ArraysSupport" => self.string_kernel(method),
            b"jdk/internal/misc/Unsafe" => {
                self.unsafe_operation(name.bytes(), method.descriptor().bytes())
            }
            b"java/math/BigInteger" => self.big_integer(name.bytes()),
            b"java/lang/Thread" if name.bytes() == b"currentThread" => self.current_thread(),
            _ => false,
        };
        Ok(known.then_some(Next::Instruction))
    }

    fn math(&mut self, name: &[u8], descriptor: &[u8]) -> bool {
        match (name, descriptor) {
            (b"sqrt", b"(D)D") => self.unary(Kind::Double, |s, a| s.b.ins().sqrt(a)),
            (b"abs", b"(D)D") => self.unary(Kind::Double, |s, a| s.b.ins().fabs(a)),
            (b"abs", b"(F)F") => self.unary(Kind::Float, |s, a| s.b.ins().fabs(a)),
            (b"abs", b"(I)I") => self.unary(Kind::Int, |s, a| s.b.ins().iabs(a)),
            (b"abs", b"(J)J") => self.unary(Kind::Long, |s, a| s.b.ins().iabs(a)),
            (b"ceil", b"(D)D") => self.unary(Kind::Double, |s, a| s.b.ins().ceil(a)),
            (b"floor", b"(D)D") => self.unary(Kind::Double, |s, a| s.b.ins().floor(a)),
            (b"rint", b"(D)D") => self.unary(Kind::Double, |s, a| s.b.ins().nearest(a)),
            (b"max", b"(II)I") => self.binary(Kind::Int, |s, a, b| s.b.ins().smax(a, b)),
            (b"min", b"(II)I") => self.binary(Kind::Int, |s, a, b| s.b.ins().smin(a, b)),
            (b"max", b"(JJ)J") => self.binary(Kind::Long, |s, a, b| s.b.ins().smax(a, b)),
            (b"min", b"(JJ)J") => self.binary(Kind::Long, |s, a, b| s.b.ins().smin(a, b)),
            (b"max", b"(DD)D") => self.binary(Kind::Double, |s, a, b| s.b.ins().fmax(a, b)),
            (b"min", b"(DD)D") => self.binary(Kind::Double, |s, a, b| s.b.ins().fmin(a, b)),
            (b"max", b"(FF)F") => self.binary(Kind::Float, |s, a, b| s.b.ins().fmax(a, b)),
            (b"min", b"(FF)F") => self.binary(Kind::Float, |s, a, b| s.b.ins().fmin(a, b)),
            (b"multiplyHigh", b"(JJ)J") => {
                self.binary(Kind::Long, |s, a, b| s.b.ins().smulhi(a, b))
            }
            _ => return false,
        }
        true
    }

    fn bits(&mut self, name: &[u8], descriptor: &[u8]) -> bool {
        let kind = if descriptor.starts_with(b"(I") { Kind::Int } else { Kind::Long };
        match (name, descriptor) {
            (b"bitCount", b"(I)I" | b"(J)I") => self.count(kind, |s, a| s.b.ins().popcnt(a)),
            (b"numberOfLeadingZeros", b"(I)I" | b"(J)I") => {
                self.count(kind, |s, a| s.b.ins().clz(a))
            }
            (b"numberOfTrailingZeros", b"(I)I" | b"(J)I") => {
                self.count(kind, |s, a| s.b.ins().ctz(a));
            }
            (b"reverseBytes", b"(I)I" | b"(J)J") => self.unary(kind, |s, a| s.b.ins().bswap(a)),
            (b"reverse", b"(I)I" | b"(J)J") => self.unary(kind, |s, a| s.b.ins().bitrev(a)),
            _ => return false,
        }
        true
    }

    fn float_bits(&mut self, name: &[u8]) -> bool {
        let flags = MemFlagsData::new();
        let (to, from) = match name {
            b"floatToRawIntBits" => (Kind::Int, Kind::Float),
            b"intBitsToFloat" => (Kind::Float, Kind::Int),
            b"doubleToRawLongBits" => (Kind::Long, Kind::Double),
            b"longBitsToDouble" => (Kind::Double, Kind::Long),
            b"isNaN" if self.is_float_argument() => {
                let value = self.pop();
                let is_nan = self.b.ins().fcmp(FloatCC::Unordered, value, value);
                let is_nan = self.b.ins().uextend(types::I32, is_nan);
                self.push(Kind::Int, is_nan);
                return true;
            }
            _ => return false,
        };
        let _ = from;
        let value = self.pop();
        let value = self.b.ins().bitcast(to.clif(), flags, value);
        self.push(to, value);
        true
    }

    /// `Double.isNaN` has an instance form too.
    fn is_float_argument(&self) -> bool {
        let top = self.scope().stack.last().expect("an argument");
        matches!(top.kind(), Kind::Float | Kind::Double)
    }

    fn class_of(&mut self) -> bool {
        let object = self.peek(0);
        self.check_not_null(object);
        self.pop();
        let id = self.klass_id(object);
        let klass = self.klass_pointer(id);
        let slot = self.b.ins().iadd_imm_s(klass, offset_of!(Klass, mirror) as i64);
        let mirror = self.load_root_at(slot);
        self.facts.set_not_null(mirror);
        self.push(Kind::Ref, mirror);
        true
    }

    fn array_copy(&mut self) -> bool {
        let arguments: Vec<Value> = (0..5).rev().map(|depth| self.peek(depth)).collect();
        let thread = self.thread();
        let all: Vec<Value> = std::iter::once(thread).chain(arguments).collect();
        let done = self.call_leaf(helpers::copy_array_address(), &all, Some(types::I32));
        // Nothing was done: the interpreter does it again, and throws.
        self.exit_unless(done.expect("a result"), Reason::Exception);
        self.drop_operands(5);
        self.side_effect();
        true
    }

    fn identity_hash(&mut self) -> bool {
        let object = self.peek(0);
        self.check_not_null(object);
        self.pop();
        let hash = self.identity_hash_of(object);
        self.push(Kind::Int, hash);
        true
    }

    /// Of an object that is not null: in its lock word, if it has one and was never locked.
    pub(super) fn identity_hash_of(&mut self, object: Value) -> Value {
        let flags = MemFlagsData::trusted();
        let word = self.b.ins().load(types::I32, flags, object, gc::object::LOCK_OFFSET as i32);
        let tag = self.b.ins().band_imm_s(word, lock_word::TAG_MASK as i64);
        let is_neutral = self.b.ins().icmp_imm_s(IntCC::Equal, tag, 0);
        let is_set = self.b.ins().icmp_imm_s(IntCC::NotEqual, word, 0);
        let has_hash = self.b.ins().band(is_neutral, is_set);
        let hash = self.b.ins().ushr_imm_u(word, lock_word::TAG_BITS as i64);
        let [ask, join] = [self.b.create_block(), self.b.create_block()];
        let result = self.b.append_block_param(join, types::I32);
        self.b.ins().brif(has_hash, join, &[hash.into()], ask, &[]);
        self.b.switch_to_block(ask);
        self.b.seal_block(ask);
        let thread = self.thread();
        let address = helpers::identity_hash_address();
        let made = self.call_leaf(address, &[thread, object], Some(types::I32)).expect("a result");
        self.b.ins().jump(join, &[made.into()]);
        self.b.switch_to_block(join);
        self.b.seal_block(join);
        result
    }

    /// Null has the hash code 0: left to the interpreter.
    fn identity_hash_static(&mut self) -> bool {
        self.identity_hash()
    }

    /// Whether the present instruction calls the method itself, without selection.
    fn is_direct(&self, method: MethodRef) -> bool {
        let scope = self.scope();
        let opcode = scope.quick_opcode(scope.bci);
        opcode == quick::INVOKE_DIRECT
            || opcode == quick::INVOKE_STATIC
            || method.flags().is_final()
    }

    fn current_thread(&mut self) -> bool {
        let thread = self.thread();
        let flags = MemFlagsData::trusted();
        let offset = helpers::THREAD_OBJECT_OFFSET as i32;
        let object = self.b.ins().load(types::I64, flags, thread, offset);
        self.facts.set_not_null(object);
        self.push(Kind::Ref, object);
        true
    }

    fn unary(&mut self, kind: Kind, operation: impl FnOnce(&mut Self, Value) -> Value) {
        let a = self.pop();
        let result = operation(self, a);
        self.push(kind, result);
    }

    fn binary(&mut self, kind: Kind, operation: impl FnOnce(&mut Self, Value, Value) -> Value) {
        let (b, a) = (self.pop(), self.pop());
        let result = operation(self, a, b);
        self.push(kind, result);
    }

    /// An int whatever the operand.
    fn count(&mut self, kind: Kind, operation: impl FnOnce(&mut Self, Value) -> Value) {
        let a = self.pop();
        let result = operation(self, a);
        let result = match kind {
            Kind::Long => self.b.ins().ireduce(types::I32, result),
            _ => result,
        };
        self.push(Kind::Int, result);
    }
}
