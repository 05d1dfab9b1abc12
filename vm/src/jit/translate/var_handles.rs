//! Accesses by a `VarHandle` that is a constant.
//!
//! The library compiles `handle.getAndAdd(object, 1)` to a call of a method of `VarHandleGuards`, which compares types
//! and looks the method for the access mode up. Of a constant all that is known: the method is called at once.

use super::calls::Dispatch;
use super::instructions::Next;
use super::{NotCompiled, Translator};
use crate::runtime::{KlassRef, MethodRef};
use classfile::bytecode::Instruction;
use classfile::symbol::Symbol;
use classfile::{BasicType, FieldType, MethodDescriptor};
use cranelift_codegen::ir::Value;

const OBJECT: &[u8] = b"Ljava/lang/Object;";

impl Translator<'_> {
    /// The static method of the library that does what the present call asks of a `VarHandle`, with the same arguments;
    /// `None` where types have to be compared, or adapted, or the result has to be cast.
    pub(super) fn accessor(&mut self, at: &Instruction<'_>, handle: Value) -> Option<MethodRef> {
        let known = self.facts.handle(handle)?;
        let (mode, descriptor) = self.called(at);
        let descriptor = MethodDescriptor::of(descriptor);
        let parameters: Vec<u8> = descriptor.parameters().flat_map(erased).copied().collect();
        let accessor = known.accessor(mode, &parameters, erased(descriptor.result))?;
        let is_right = match descriptor.result {
            result if erased(result) == result.text => true,
            result if result.basic == BasicType::Object => {
                // Where a field is of an interface, the verifier lets any object in.
                let held = known.value_class().filter(|class| !class.is_interface())?;
                held.is_subtype_of(self.class_of_type(result)?)
            }
            _ => false,
        };
        (is_right && accessor.holder.is_initialized()).then_some(accessor)
    }

    /// Calls the accessor; the arguments are on the stack.
    pub(super) fn access(
        &mut self,
        at: &Instruction<'_>,
        accessor: MethodRef,
    ) -> Result<Next, NotCompiled> {
        let next = self.call_method(accessor, Dispatch::Direct)?;
        let (_, descriptor) = self.called(at);
        let is_dropped = MethodDescriptor::of(descriptor).result.basic == BasicType::Void;
        if is_dropped
            && accessor.return_type != BasicType::Void
            && matches!(next, Next::Instruction)
        {
            self.pop();
        }
        Ok(next)
    }

    /// Name and descriptor of the method that a call instruction names.
    fn called(&self, at: &Instruction<'_>) -> (Symbol, Symbol) {
        let pool = &self.scope().method.holder.inst().file.constant_pool;
        let member = pool.member(at.pool_index()).expect("a checked pool");
        (member.name, member.descriptor)
    }

    /// The class of a type of the method's constants, if it is loaded; the linked call has loaded it.
    fn class_of_type(&self, ty: FieldType<'_>) -> Option<KlassRef> {
        let holder = self.scope().method.holder;
        let name = ty.class_name()?;
        if name == holder.name { Some(holder) } else { holder.loader.find(name) }
    }
}

/// The erasure of a type (`MethodType.erase`).
fn erased<'a>(ty: FieldType<'a>) -> &'a [u8] {
    match ty.basic {
        BasicType::Object | BasicType::Array => OBJECT,
        _ => ty.text,
    }
}
