//! The methods of `BigInteger` that [`big_integer`](crate::jit::big_integer) does.

use super::{Kind, Translator};
use crate::jit::helpers;
use crate::runtime::code::side_exits::Reason;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};

impl Translator<'_> {
    /// Whether the method is one of them; then it was translated.
    pub(super) fn big_integer(&mut self, name: &[u8]) -> bool {
        match name {
            b"implMultiplyToLen" => self.multiply_to_len(),
            b"implSquareToLen" => {
                let [x, count, product, _] = self.arguments_of_call();
                self.write_product(
                    4,
                    [x, x, product],
                    helpers::square_address(),
                    &[x, count, product],
                );
            }
            b"implMulAdd" => self.multiply_add(),
            b"implMontgomeryMultiply" => {
                let all: [Value; 6] = self.arguments_of_call();
                let [a, b, n, _, _, product] = all;
                self.check_not_null(n);
                self.write_product(6, [a, b, product], helpers::montgomery_address(), &all);
            }
            b"implMontgomerySquare" => {
                let [a, n, count, inverse, product] = self.arguments_of_call();
                let all = [a, a, n, count, inverse, product];
                self.write_product(5, [a, n, product], helpers::montgomery_address(), &all);
            }
            _ => return false,
        }
        true
    }

    /// They stay on the stack.
    pub(super) fn arguments_of_call<const COUNT: usize>(&self) -> [Value; COUNT] {
        std::array::from_fn(|index| self.peek(COUNT - 1 - index))
    }

    /// Makes the product's array too, where there is none that is long enough.
    fn multiply_to_len(&mut self) {
        let [x, x_count, y, y_count, product] = self.arguments_of_call();
        self.check_not_null(x);
        self.check_not_null(y);
        self.drop_operands(5);
        let next = self.next_bci(self.scopes.len() - 1);
        let result = self.at_safepoint(next, |s| {
            let thread = s.thread();
            let arguments = [thread, x, x_count, y, y_count, product];
            s.call_helper(helpers::multiply_address(), &arguments)
        });
        self.check_pending();
        self.facts.set_not_null(result);
        self.push(Kind::Ref, result);
    }

    /// Calls a leaf that writes to the last of three arrays and answers 0 where it does nothing: then the interpreter
    /// does it.
    fn write_product(
        &mut self,
        operands: usize,
        arrays: [Value; 3],
        leaf: usize,
        arguments: &[Value],
    ) {
        for array in arrays {
            self.check_not_null(array);
        }
        let done = self.call_leaf(leaf, arguments, Some(types::I32)).expect("a result");
        self.exit_unless(done, Reason::Exception);
        self.drop_operands(operands);
        self.side_effect();
        self.push(Kind::Ref, arrays[2]);
    }

    fn multiply_add(&mut self) {
        let [out, number, offset, count, factor] = self.arguments_of_call();
        self.check_not_null(out);
        self.check_not_null(number);
        let arguments = [out, offset, number, count, factor];
        let result = self.call_leaf(helpers::multiply_add_address(), &arguments, Some(types::I64));
        let result = result.expect("a result");
        let is_done = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, result, 0);
        self.exit_unless(is_done, Reason::Exception);
        self.drop_operands(5);
        self.side_effect();
        let carry = self.b.ins().ireduce(types::I32, result);
        self.push(Kind::Int, carry);
    }
}
