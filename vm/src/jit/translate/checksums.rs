//! Methods of checksums and digests that [`checksums`](crate::jit::checksums) does.

use super::{Kind, Translator};
use crate::jit::checksums::{self, Checksum};
use crate::jit::helpers;
use crate::runtime::MethodRef;
use crate::runtime::code::side_exits::Reason;
use cranelift_codegen::ir::{InstBuilder, Value, types};

impl Translator<'_> {
    /// Whether a method of `CRC32` is one of them; then it was translated.
    pub(super) fn crc32(&mut self, name: &[u8], descriptor: &[u8]) -> bool {
        match (name, descriptor) {
            (b"update", b"(II)I") => {
                let [sum, byte] = self.arguments_of_call();
                let address = checksums::crc32_of_byte as *const () as usize;
                let sum = self.call_leaf(address, &[sum, byte], Some(types::I32));
                self.drop_operands(2);
                self.push(Kind::Int, sum.expect("a sum"));
            }
            (b"updateBytes0", _) => {
                let [_, _, from, count] = self.arguments_of_call();
                let end = self.b.ins().iadd(from, count);
                self.sum_of_array(Checksum::Crc32, end);
            }
            (b"updateByteBuffer0", _) => {
                let [_, _, _, count] = self.arguments_of_call();
                self.sum_of_memory(Checksum::Crc32, count);
            }
            _ => return false,
        }
        true
    }

    /// The same of `CRC32C`, whose methods take an end where those of `CRC32` take a number.
    pub(super) fn crc32c(&mut self, name: &[u8]) -> bool {
        match name {
            b"updateBytes" => {
                let [_, _, _, end] = self.arguments_of_call();
                self.sum_of_array(Checksum::Crc32c, end);
            }
            b"updateDirectByteBuffer" => {
                let [_, _, from, end] = self.arguments_of_call();
                let count = self.b.ins().isub(end, from);
                self.sum_of_memory(Checksum::Crc32c, count);
            }
            _ => return false,
        }
        true
    }

    /// Of a call with a sum, an array, an index and one argument more.
    fn sum_of_array(&mut self, checksum: Checksum, end: Value) {
        let [sum, array, from, _] = self.arguments_of_call();
        self.check_not_null(array);
        self.call_sum(helpers::sum_of_array_address(), checksum, &[sum, array, from, end]);
    }

    /// Of a call with a sum, an address, an offset and one argument more.
    fn sum_of_memory(&mut self, checksum: Checksum, count: Value) {
        let [sum, address, offset, _] = self.arguments_of_call();
        let offset = self.b.ins().sextend(types::I64, offset);
        let start = self.b.ins().iadd(address, offset);
        self.call_sum(helpers::sum_of_memory_address(), checksum, &[sum, start, count]);
    }

    /// Replaces the call's four operands by the result.
    fn call_sum(&mut self, helper: usize, checksum: Checksum, arguments: &[Value]) {
        self.drop_operands(4);
        let next = self.next_bci(self.scopes.len() - 1);
        let result = self.at_safepoint(next, |s| {
            let thread = s.thread();
            let checksum = s.b.ins().iconst(types::I32, checksum as i64);
            let all = [&[thread, checksum], arguments].concat();
            s.call_helper(helper, &all)
        });
        self.check_pending();
        let result = self.b.ins().ireduce(types::I32, result);
        self.push(Kind::Int, result);
    }

    /// Translates `implCompress0` of a digest. False: its class is not as we know it.
    pub(super) fn digest(&mut self, method: MethodRef) -> bool {
        type Compression = extern "C" fn(gc::object::ObjectRef, gc::object::ObjectRef, i32) -> u32;
        let leaf: Compression = match method.holder.name.bytes() {
            b"sun/security/provider/MD5" => checksums::md5,
            b"sun/security/provider/SHA" => checksums::sha1,
            b"sun/security/provider/SHA2" => checksums::sha256,
            b"sun/security/provider/SHA5" => checksums::sha512,
            _ => return false,
        };
        let fields = method.holder.fields();
        let state = fields.iter().copied().find(|field| field.name().bytes() == b"state");
        let Some(state) = state else { return false };
        let [object, bytes, offset] = self.arguments_of_call();
        self.check_not_null(object);
        self.check_not_null(bytes);
        let state = self.known_field(state, object);
        self.check_not_null(state);
        let address = leaf as *const () as usize;
        let done = self.call_leaf(address, &[state, bytes, offset], Some(types::I32));
        self.exit_unless(done.expect("a result"), Reason::Exception);
        self.drop_operands(3);
        self.side_effect();
        true
    }
}
