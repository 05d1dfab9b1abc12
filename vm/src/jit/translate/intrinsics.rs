//! Methods of the library that code knows better than their bytecode.

use super::array_kernels::filled_element;
use super::computations::Computation;
use super::facts::Meaning;
use super::instructions::Next;
use super::{Kind, NotCompiled, Translator, string_kernels, unsafe_memory};
use crate::jit::helpers;
use crate::machine::Vm;
use crate::monitors::lock_word;
use crate::runtime::MethodRef;
use crate::runtime::code::quick::internal as quick;
use crate::runtime::code::side_exits::Reason;
use crate::runtime::klass::Klass;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use std::mem::offset_of;

/// Whether calls of the method are translated from what is known of it here, instead of from its bytecode or by a
/// call. In some of its calls it may still be called.
pub fn is_known(vm: &Vm, method: MethodRef) -> bool {
    Intrinsic::of(vm, method).is_some()
}

/// How calls of a method are translated.
enum Intrinsic {
    Compute(Computation),
    ClassOf,
    IdentityHash,
    IdentityHashStatic,
    ClassQuestion,
    IsConstantHandle,
    ArrayCopy,
    StringKernel,
    UnsafeOperation,
    ArrayFill,
    RefersTo,
    BigInteger,
    Crc32,
    Crc32c,
    Digest,
    CurrentThread,
}

impl Intrinsic {
    fn of(vm: &Vm, method: MethodRef) -> Option<Intrinsic> {
        let options = &vm.options.jit;
        if !std::ptr::eq(method.holder.loader, vm.boot_loader) {
            return None;
        }
        if let Some(computation) = Computation::of(options, method) {
            return Some(Intrinsic::Compute(computation));
        }
        let (name, descriptor) = (method.name().bytes(), method.descriptor().bytes());
        let (intrinsic, is_known) = match method.holder.name.bytes() {
            b"java/lang/Object" if name == b"hashCode" => (Intrinsic::IdentityHash, true),
            b"java/lang/Object" => (Intrinsic::ClassOf, name == b"getClass"),
            b"java/lang/Class" => {
                let is_question =
                    matches!(name, b"isInstance" | b"isArray" | b"isInterface" | b"isPrimitive");
                (Intrinsic::ClassQuestion, is_question)
            }
            b"java/lang/invoke/MethodHandleImpl" => {
                (Intrinsic::IsConstantHandle, name == b"isCompileConstant")
            }
            b"java/lang/System" if name == b"arraycopy" => (Intrinsic::ArrayCopy, true),
            b"java/lang/System" => (Intrinsic::IdentityHashStatic, name == b"identityHashCode"),
            b"java/lang/StringLatin1"
            | b"java/lang/StringUTF16"
            | b"java/lang/StringCoding"
            | b"jdk/internal/util/ArraysSupport" => {
                (Intrinsic::StringKernel, string_kernels::is_known(method))
            }
            b"jdk/internal/misc/Unsafe" => {
                (Intrinsic::UnsafeOperation, unsafe_memory::is_known(name, descriptor))
            }
            b"java/util/Arrays" => {
                let is_known = name == b"fill" && filled_element(descriptor).is_some();
                (Intrinsic::ArrayFill, is_known)
            }
            b"java/lang/ref/Reference" => (Intrinsic::RefersTo, name == b"refersTo0"),
            b"java/math/BigInteger" => {
                let is_known = matches!(
                    name,
                    b"implMultiplyToLen"
                        | b"implSquareToLen"
                        | b"implMulAdd"
                        | b"implMontgomeryMultiply"
                        | b"implMontgomerySquare"
                );
                (Intrinsic::BigInteger, is_known)
            }
            b"java/util/zip/CRC32" => {
                let is_of_byte = name == b"update" && descriptor == b"(II)I";
                let is_of_many = matches!(name, b"updateBytes0" | b"updateByteBuffer0");
                (Intrinsic::Crc32, options.uses_crc32 && (is_of_byte || is_of_many))
            }
            b"java/util/zip/CRC32C" => {
                let is_known = matches!(name, b"updateBytes" | b"updateDirectByteBuffer");
                (Intrinsic::Crc32c, options.uses_crc32c && is_known)
            }
            b"sun/security/provider/MD5" => (Intrinsic::Digest, options.uses_md5 && name == DIGEST),
            b"sun/security/provider/SHA" => {
                (Intrinsic::Digest, options.uses_sha1 && name == DIGEST)
            }
            b"sun/security/provider/SHA2" => {
                (Intrinsic::Digest, options.uses_sha256 && name == DIGEST)
            }
            b"sun/security/provider/SHA5" => {
                (Intrinsic::Digest, options.uses_sha512 && name == DIGEST)
            }
            b"java/lang/Thread" => (Intrinsic::CurrentThread, name == b"currentThread"),
            _ => return None,
        };
        is_known.then_some(intrinsic)
    }
}

/// The method of a digest that takes in one block.
const DIGEST: &[u8] = b"implCompress0";

impl Translator<'_> {
    /// Translates a call of a method that is known here. `None`: it is not.
    pub(super) fn intrinsic(&mut self, method: MethodRef) -> Result<Option<Next>, NotCompiled> {
        let Some(intrinsic) = Intrinsic::of(self.vm, method) else { return Ok(None) };
        let (name, descriptor) = (method.name(), method.descriptor());
        let (name, descriptor) = (name.bytes(), descriptor.bytes());
        let is_done = match intrinsic {
            Intrinsic::Compute(computation) => {
                self.compute(&computation);
                true
            }
            Intrinsic::ClassOf => self.class_of(),
            Intrinsic::IdentityHash => self.is_direct(method) && self.identity_hash(),
            Intrinsic::IdentityHashStatic => self.identity_hash_static(),
            Intrinsic::ClassQuestion => self.class_question(name),
            Intrinsic::IsConstantHandle => self.is_constant_handle(),
            Intrinsic::ArrayCopy => self.array_copy(),
            Intrinsic::StringKernel => self.string_kernel(method),
            Intrinsic::UnsafeOperation => self.unsafe_operation(name, descriptor),
            Intrinsic::ArrayFill => return self.array_fill(method),
            Intrinsic::RefersTo => self.refers_to(),
            Intrinsic::BigInteger => self.big_integer(name),
            Intrinsic::Crc32 => self.crc32(name, descriptor),
            Intrinsic::Crc32c => self.crc32c(name),
            Intrinsic::Digest => self.digest(method),
            Intrinsic::CurrentThread => self.current_thread(),
        };
        Ok(is_done.then_some(Next::Instruction))
    }

    fn class_of(&mut self) -> bool {
        let object = self.peek(0);
        self.check_not_null(object);
        self.pop();
        let id = self.klass_id(object);
        let klass = self.klass_pointer(id);
        let flags = MemFlagsData::trusted().with_readonly();
        let slot = self.b.ins().load(types::I64, flags, klass, offset_of!(Klass, mirror) as i32);
        let mirror = self.load_root_at(slot);
        self.facts.set_not_null(mirror);
        self.push(Kind::Ref, mirror);
        true
    }

    /// Natives of `Class` that answer yes or no.
    fn class_question(&mut self, name: &[u8]) -> bool {
        let (address, count) = match name {
            b"isInstance" => (helpers::is_instance_address(), 2),
            b"isArray" => (helpers::is_array_address(), 1),
            b"isInterface" => (helpers::is_interface_address(), 1),
            b"isPrimitive" => (helpers::is_primitive_address(), 1),
            _ => return false,
        };
        let mirror = self.peek(count - 1);
        self.check_not_null(mirror);
        if let Some(Meaning::Mirror(klass)) = self.facts.meaning(mirror)
            && name == b"isInstance"
        {
            let object = self.pop();
            self.pop();
            let answer = self.is_instance_not_null(object, klass);
            self.push(Kind::Int, answer);
            return true;
        }
        let thread = self.thread();
        let object = self.peek(0);
        let answer = self.call_leaf(address, &[thread, mirror, object], Some(types::I32));
        self.drop_operands(count);
        self.push(Kind::Int, answer.expect("an answer"));
        true
    }

    /// The library asks so whether it should compile a form for a handle that is called often.
    fn is_constant_handle(&mut self) -> bool {
        let object = self.pop();
        let is_constant = self.facts.handle(object).is_some();
        self.push_constant(Kind::Int, is_constant.into());
        true
    }

    fn array_copy(&mut self) -> bool {
        // A copy that fails may have copied some elements: elements that were read before must not be read
        // again. The instruction is executed again with the operands that it had, which a method handle may have
        // replaced since.
        if !self.capture_again() {
            return false;
        }
        let arguments: Vec<Value> = (0..5).rev().map(|depth| self.peek(depth)).collect();
        let thread = self.thread();
        let all: Vec<Value> = std::iter::once(thread).chain(arguments).collect();
        let done = self.call_leaf(helpers::copy_array_address(), &all, Some(types::I32));
        // The interpreter does it again: it throws, or has a safepoint.
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

    /// Of an object that is not null: made of its entry, if it has one, or in its header, if it has one and no monitor.
    pub(super) fn identity_hash_of(&mut self, object: Value) -> Value {
        let flags = MemFlagsData::trusted();
        let hash = self.b.ins().load(types::I32, flags, object, gc::object::VALUE_OFFSET as i32);
        let (hash, has_hash) = if self.vm.threads.monitors.are_by_entry() {
            let max = i64::from(self.vm.heap.barriers().entry_max());
            let number = self.b.ins().iadd_imm_s(hash, -1);
            let is_entry = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, number, max);
            (self.hash_of_entry(hash), is_entry)
        } else {
            let is_set = self.b.ins().icmp_imm_s(IntCC::NotEqual, hash, 0);
            let at = gc::object::KLASS_OFFSET as i32;
            let word = self.b.ins().load(types::I32, flags, object, at);
            let inflated = self.b.ins().band_imm_s(word, i64::from(lock_word::INFLATED));
            let is_here = self.b.ins().icmp_imm_s(IntCC::Equal, inflated, 0);
            (hash, self.b.ins().band(is_here, is_set))
        };
        let [ask, join] = [self.b.create_block(), self.b.create_block()];
        let result = self.b.append_block_param(join, types::I32);
        self.b.ins().brif(has_hash, join, &[hash.into()], ask, &[]);
        self.continue_in(ask);
        let thread = self.thread();
        let address = helpers::identity_hash_address();
        let made = self.call_leaf(address, &[thread, object], Some(types::I32)).expect("a result");
        self.b.ins().jump(join, &[made.into()]);
        self.continue_in(join);
        result
    }

    /// As [`lock_word::hash_of_entry`].
    fn hash_of_entry(&mut self, entry: Value) -> Value {
        let mut x = entry;
        for (shift, factor) in [16, 13].into_iter().zip(lock_word::HASH_FACTORS) {
            let high = self.b.ins().ushr_imm_u(x, shift);
            let mixed = self.b.ins().bxor(x, high);
            x = self.b.ins().imul_imm_s(mixed, i64::from(factor as i32));
        }
        let high = self.b.ins().ushr_imm_u(x, 16);
        let mixed = self.b.ins().bxor(x, high);
        self.b.ins().band_imm_s(mixed, i64::from(lock_word::HASH_MAX))
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
}
