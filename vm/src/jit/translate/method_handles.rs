//! Calls of method handles: `invokeBasic` of a handle, and `linkToStatic` and its like, to which the library's lambda
//! forms come down.
//!
//! What such a call leads to is data: `handle.form.vmentry.method.vmtarget`, or `member.method.vmtarget`. Where the
//! interpreter has nearly always seen one method, or the handle is that of an `invokedynamic`, the method is inlined
//! behind a comparison with the number that the library's object holds. So a chain of lambda forms becomes one
//! function. Otherwise a helper finds the method.

use super::calls::Dispatch;
use super::facts::Meaning;
use super::instructions::Next;
use super::{Kind, NotCompiled, Translator, java_signature, kinds_of};
use crate::jit::helpers;
use crate::runtime::MethodRef;
use crate::runtime::code::side_exits::Reason;
use crate::runtime::method::Intrinsic;
use classfile::bytecode::Instruction;
use classfile::{BasicType, MethodDescriptor};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types};

/// A call of a method handle.
struct HandleCall {
    /// Of the arguments that the method gets.
    kinds: Vec<Kind>,
    result: BasicType,
}

impl HandleCall {
    /// Whether the method takes and returns what the call passes and expects, and is no such call itself.
    fn fits(&self, target: MethodRef) -> bool {
        target.intrinsic == Intrinsic::None
            && kinds_of(target).eq(self.kinds.iter().copied())
            && Kind::of(target.return_type) == Kind::of(self.result)
    }
}

impl Translator<'_> {
    /// `MethodHandle.invokeBasic`: the form's entry, with the arguments as they are.
    pub(super) fn invoke_basic(&mut self, at: &Instruction<'_>) -> Result<Next, NotCompiled> {
        let (kinds, result) = self.call_types(at, true);
        let handle = self.peek(kinds.len() - 1);
        self.check_not_null(handle);
        let call = HandleCall { kinds, result };
        if let Some(next) = self.invoke_constant(handle, &call)? {
            return Ok(next);
        }
        let thread = self.thread();
        let target = match self.facts.meaning(handle) {
            Some(Meaning::Target(target)) => Some(target),
            _ => self.seen_target(),
        };
        let Some(target) = target.filter(|target| self.is_inlined(target, &call)) else {
            let callee = self.basic_target(thread, handle);
            self.call_as(callee, &call);
            return Ok(Next::Instruction);
        };
        let known = &self.vm.known.fields;
        let path = [known.method_handle_form(), known.lambda_form_entry(), known.member_method()];
        let otherwise = self.b.create_block();
        let resolved = self.follow(handle, &path, otherwise);
        self.call_usual(target, resolved, otherwise, &call, |s| s.basic_target(thread, handle))
    }

    /// Calls a method handle that is a constant. `None` where that is not known to be possible.
    fn invoke_constant(
        &mut self,
        handle: Value,
        call: &HandleCall,
    ) -> Result<Option<Next>, NotCompiled> {
        let Some(known) = self.facts.handle(handle) else { return Ok(None) };
        if let Some(target) = known.static_target() {
            let mut without = HandleCall { kinds: call.kinds.clone(), result: call.result };
            without.kinds.remove(0);
            if without.fits(target) {
                let arguments = self.pop_arguments(call.kinds.len());
                for (kind, value) in without.kinds.iter().zip(&arguments[1..]) {
                    self.push(*kind, *value);
                }
                return self.call_method(target, Dispatch::Direct).map(Some);
            }
        }
        match known.form_entry().filter(|entry| call.fits(entry)) {
            Some(entry) => self.call_method(entry, Dispatch::Direct).map(Some),
            None => Ok(None),
        }
    }

    fn basic_target(&mut self, thread: Value, handle: Value) -> Value {
        let address = helpers::basic_target_address();
        let callee = self.call_leaf(address, &[thread, handle], Some(types::I64));
        callee.expect("a result")
    }

    /// `MethodHandle.linkToStatic` and its like: the method is in the last argument, which is dropped.
    pub(super) fn link_to(
        &mut self,
        at: &Instruction<'_>,
        linker: MethodRef,
    ) -> Result<Next, NotCompiled> {
        let (mut kinds, result) = self.call_types(at, false);
        let member = self.peek(0);
        let first = match kinds.first() {
            Some(Kind::Ref) => self.peek(kinds.len() - 1),
            _ => self.b.ins().iconst(types::I64, 0),
        };
        kinds.pop();
        let call = HandleCall { kinds, result };
        let is_static = linker.intrinsic == Intrinsic::LinkToStatic;
        let is_fixed = is_static || linker.intrinsic == Intrinsic::LinkToSpecial;
        if let Some(Meaning::Member(target)) = self.facts.meaning(member)
            && is_fixed
            && call.fits(target)
        {
            self.pop();
            return self.call_method(target, Dispatch::Direct);
        }
        let target = self.seen_target().filter(|_| is_fixed);
        let Some(target) = target.filter(|target| self.is_inlined(target, &call)) else {
            let exit = self.exit_block(Reason::Exception);
            let callee = self.link_target(linker, [member, first], exit);
            self.pop();
            self.call_as(callee, &call);
            return Ok(Next::Instruction);
        };
        self.check_not_null(member);
        if !is_static {
            self.check_not_null(first);
        }
        let exit = self.exit_block(Reason::Exception);
        let otherwise = self.b.create_block();
        let path = [self.vm.known.fields.member_method()];
        let resolved = self.follow(member, &path, otherwise);
        self.pop();
        self.call_usual(target, resolved, otherwise, &call, |s| {
            s.link_target(linker, [member, first], exit)
        })
    }

    /// Leaves by `exit` where the call must throw.
    fn link_target(&mut self, linker: MethodRef, objects: [Value; 2], exit: Block) -> Value {
        let thread = self.thread();
        let intrinsic = self.b.ins().iconst(types::I64, linker.intrinsic as i64);
        let arguments = [thread, intrinsic, objects[0], objects[1]];
        let address = helpers::link_target_address();
        let callee = self.call_leaf(address, &arguments, Some(types::I64)).expect("a result");
        let go_on = self.b.create_block();
        self.b.ins().brif(callee, go_on, &[], exit, &[]);
        self.continue_in(go_on);
        callee
    }

    /// The method that the interpreter has usually seen at this call.
    fn seen_target(&self) -> Option<MethodRef> {
        let scope = self.scope();
        let (klass, slot) = scope.site(scope.bci).target()?;
        self.vm.klasses.find(klass)?.methods().get(slot).copied()
    }

    /// Whether a method can take the place of a call.
    fn is_inlined(&mut self, target: MethodRef, call: &HandleCall) -> bool {
        call.fits(target) && self.vm.options.jit.inlines_method_handles && self.may_inline(target)
    }

    /// The last of the objects on a path of fields; goes to `otherwise` where one of them is null.
    fn follow(&mut self, object: Value, path: &[usize], otherwise: Block) -> Value {
        path.iter().fold(object, |object, offset| {
            let offset = self.b.ins().iconst(types::I64, *offset as i64);
            let next = self.load_reference(object, offset);
            let go_on = self.b.create_block();
            self.b.ins().brif(next, go_on, &[], otherwise, &[]);
            self.continue_in(go_on);
            next
        })
    }

    /// Inlines the method if `resolved`, the library's name of a method, names it; else, and at `otherwise`, calls the
    /// method that `find` gives.
    fn call_usual(
        &mut self,
        target: MethodRef,
        resolved: Value,
        otherwise: Block,
        call: &HandleCall,
        find: impl FnOnce(&mut Self) -> Value,
    ) -> Result<Next, NotCompiled> {
        let (flags, at) = (MemFlagsData::trusted(), self.vm.known.fields.resolved_vmtarget());
        let found = self.b.ins().load(types::I64, flags, resolved, at as i32);
        self.name(target.holder);
        let number = (target.holder.id.0 as i64) << 32 | target.slot as i64;
        let is_it = self.b.ins().icmp_imm_s(IntCC::Equal, found, number);
        let then = self.b.create_block();
        self.b.ins().brif(is_it, then, &[], otherwise, &[]);
        self.b.set_cold_block(otherwise);

        let arguments = self.pop_arguments(call.kinds.len());
        self.suspend();
        let mut join = self.new_continuation(call.result);
        let known = self.facts.clone();
        self.continue_in(then);
        self.new_block();
        if let Some(value) = self.inline_body(target, &arguments)? {
            self.go_to(&mut join, value);
        }
        self.facts.clone_from(&known);
        self.continue_in(otherwise);
        self.new_block();
        let callee = find(self);
        let signature = java_signature(call.kinds.iter().copied(), call.result);
        let value = self.call_signature(callee, signature, &arguments);
        self.go_to(&mut join, value);
        let Some(result) = self.go_on_at(join) else { return Ok(Next::Ended) };
        self.resume();
        self.push_result(call.result, result);
        Ok(Next::Instruction)
    }

    /// Kinds of the arguments and type of the result, as the call instruction says.
    fn call_types(&self, at: &Instruction<'_>, has_receiver: bool) -> (Vec<Kind>, BasicType) {
        let pool = &self.scope().method.holder.inst().file.constant_pool;
        let descriptor = pool.descriptor(at.pool_index()).expect("a checked pool");
        let descriptor = MethodDescriptor::of(descriptor);
        let receiver = has_receiver.then_some(Kind::Ref);
        let parameters =
            descriptor.parameters().map(|ty| Kind::of(ty.basic).expect("no void parameter"));
        (receiver.into_iter().chain(parameters).collect(), descriptor.result.basic)
    }

    fn call_as(&mut self, callee: Value, call: &HandleCall) {
        let arguments = self.pop_arguments(call.kinds.len());
        let signature = java_signature(call.kinds.iter().copied(), call.result);
        let value = self.call_signature(callee, signature, &arguments);
        self.push_result(call.result, value);
    }
}
