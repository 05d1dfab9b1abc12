//! Calls.

use super::computations::Computation;
use super::facts::Meaning;
use super::instructions::Next;
use super::scope::{Operand, Scope};
use super::{Kind, NotCompiled, Translator, java_signature, kinds_of};
use crate::jit::helpers;
use crate::runtime::code::body::InlineCache;
use crate::runtime::code::compiled::COMPILED_OFFSET;
use crate::runtime::code::quick::internal as quick;
use crate::runtime::code::side_exits::Reason;
use crate::runtime::klass::Klass;
use crate::runtime::pool::CallSite;
use crate::runtime::{KlassRef, Method, MethodRef};
use classfile::BasicType;
use classfile::bytecode::{Instruction, op};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use gc::object::{KlassId, RootSlot};
use std::mem::offset_of;
use std::sync::atomic::Ordering;

/// How a call finds its method.
#[derive(Clone, Copy)]
pub(super) enum Dispatch {
    /// Known.
    Direct,
    /// By index in the receiver's vtable.
    Virtual(usize),
    Interface,
}

/// When an inlined method is the right one.
enum Guard {
    /// The receiver is of one of these classes.
    Classes(Vec<KlassRef>),
    /// Selection has found it.
    Selected,
}

/// A class that was met first may still be the usual one when this many calls met others.
const OTHERS_MANY: u32 = 64;
/// Number of times that a method is compiled on the assumption that calls meet no other classes than before.
const TRUSTING_COMPILATIONS: u8 = 3;

impl Translator<'_> {
    pub(super) fn invoke(&mut self, at: &Instruction<'_>) -> Result<Next, NotCompiled> {
        let scope = self.scope();
        let bci = scope.bci;
        let opcode = scope.quick_opcode(bci);
        if opcode <= op::LAST {
            self.exit_always(Reason::Unresolved);
            return Ok(Next::Ended);
        }
        if opcode == quick::INVOKE_DYNAMIC {
            return self.invoke_dynamic(scope.quick_number(bci));
        }
        let site = scope.site(bci);
        // SAFETY: a quick call's site has the method.
        let (method, shape) = unsafe { (site.method(), site.shape()) };
        match opcode {
            quick::INVOKE_STATIC => self.call_method(method, Dispatch::Direct),
            quick::INVOKE_DIRECT => self.call_method(method, Dispatch::Direct),
            quick::INVOKE_VIRTUAL => {
                let is_final = method.flags().is_final() || method.holder.flags.is_final();
                let dispatch = match is_final {
                    true => Dispatch::Direct,
                    false => Dispatch::Virtual(shape.vtable_index()),
                };
                self.call_method(method, dispatch)
            }
            quick::INVOKE_INTERFACE if method.flags().is_private() => {
                let receiver = self.peek(kinds_of(method).count() - 1);
                self.check_not_null(receiver);
                let implements = self.is_instance(receiver, method.holder);
                self.exit_unless(implements, Reason::Exception);
                self.call_method(method, Dispatch::Direct)
            }
            quick::INVOKE_INTERFACE => self.call_method(method, Dispatch::Interface),
            quick::INVOKE_ADAPTER => {
                let appendix = scope.method.holder.inst().pool.object(at.pool_index());
                // Asked once: the slot is emptied when the class is found dead.
                let appendix = Some(appendix).filter(|slot| !slot.is_null());
                let above = kinds_of(method).count() - usize::from(appendix.is_some());
                let handle = self.peek(above - 1);
                self.check_not_null(handle);
                if let Some(accessor) = self.accessor(at, handle) {
                    return self.access(at, accessor);
                }
                self.push_appendix(appendix);
                self.call_method(method, Dispatch::Direct)
            }
            quick::INVOKE_BASIC => self.invoke_basic(at),
            quick::INVOKE_LINK_TO => self.link_to(at, method),
            _ => {
                self.exit_always(Reason::Unsupported);
                Ok(Next::Ended)
            }
        }
    }

    /// Whether an instruction of a method calls one that does nothing but compute.
    pub(super) fn only_computes(&self, scope: &Scope, at: &Instruction<'_>) -> bool {
        let bci = at.bci as u16;
        // SAFETY: a quick call's site has the method.
        let method = || unsafe { scope.site(bci).method() };
        scope.quick_opcode(bci) == quick::INVOKE_STATIC
            && Computation::of(&self.vm.options.jit, method()).is_some()
    }

    fn invoke_dynamic(&mut self, number: u32) -> Result<Next, NotCompiled> {
        let holder = self.scope().method.holder;
        let sites = holder.inst().call_sites.get().expect("numbered when the code was prepared");
        let site: &CallSite = &sites[number as usize];
        // SAFETY: set to a method before the instruction became quick.
        let adapter: MethodRef = unsafe { &*(site.adapter.load(Ordering::Acquire) as *const _) };
        // SAFETY: 0, or a method.
        let constructor: Option<MethodRef> =
            unsafe { (site.constructor.load(Ordering::Relaxed) as *const Method).as_ref() };
        if let Some(constructor) = constructor.filter(|method| method.holder.is_initialized()) {
            return self.construct(constructor);
        }
        self.push_appendix(Some(site.appendix).filter(|slot| !slot.is_null()));
        // SAFETY: as above.
        let target: Option<MethodRef> =
            unsafe { (site.target.load(Ordering::Relaxed) as *const Method).as_ref() };
        if let Some(target) = target {
            self.facts.set_meaning(self.peek(0), Meaning::Target(target));
        }
        self.call_method(adapter, Dispatch::Direct)
    }

    /// Makes an object of the arguments on the stack, and leaves it there.
    fn construct(&mut self, constructor: MethodRef) -> Result<Next, NotCompiled> {
        self.new_object(constructor.holder);
        let count = kinds_of(constructor).count();
        let object = self.pop();
        let operands = &mut self.scope_mut().stack;
        let arguments = operands.split_off(operands.len() - (count - 1));
        // Once as the value of the expression, once as the receiver.
        self.push(Kind::Ref, object);
        self.push(Kind::Ref, object);
        self.scope_mut().stack.extend(arguments);
        self.call_direct(constructor, count)
    }

    /// Pushes the present call's appendix, if it has one.
    fn push_appendix(&mut self, slot: Option<&'static RootSlot>) {
        if let Some(slot) = slot {
            let appendix = self.load_root(self.scope().method.holder, slot);
            self.push(Kind::Ref, appendix);
        }
    }

    pub(super) fn call_method(
        &mut self,
        method: MethodRef,
        dispatch: Dispatch,
    ) -> Result<Next, NotCompiled> {
        self.name(method.holder);
        if let Some(next) = self.intrinsic(method)? {
            return Ok(next);
        }
        let count = kinds_of(method).count();
        if !method.is_static() {
            let receiver = self.peek(count - 1);
            self.check_not_null(receiver);
        }
        match dispatch {
            Dispatch::Direct => self.call_direct(method, count),
            _ => self.call_dispatched(method, dispatch, count),
        }
    }

    fn call_direct(&mut self, method: MethodRef, count: usize) -> Result<Next, NotCompiled> {
        if self.may_inline(method) {
            return self.inline(method, count);
        }
        let arguments = self.pop_arguments(count);
        // Code that counts is to be replaced, also on the way down a recursion.
        let is_itself = method == self.method && self.osr_bci.is_none() && self.rounds.is_none();
        let result = match is_itself {
            true => self.call_itself(&arguments),
            false => {
                let callee = self.method_address(method);
                self.call(callee, method, &arguments)
            }
        };
        self.push_result(method.return_type, result);
        Ok(Next::Instruction)
    }

    /// Calls the method of the receiver's class. Methods that the interpreter has seen at this site are inlined,
    /// behind a test.
    fn call_dispatched(
        &mut self,
        method: MethodRef,
        dispatch: Dispatch,
        count: usize,
    ) -> Result<Next, NotCompiled> {
        let class = self.facts.class(self.peek(count - 1));
        let class = class.and_then(|class| self.vm.klasses.find(class));
        if let Some(target) = class.and_then(|class| self.selected(method, dispatch, class))
            && !target.is_abstract()
            && !self.is_hash_code(target)
        {
            return self.call_direct(target, count);
        }
        let guards = self.guards(method, dispatch);
        if !guards.is_empty() {
            return self.call_guarded(method, dispatch, count, &guards);
        }
        let receiver = self.peek(count - 1);
        let id = self.klass_id(receiver);
        let callee = self.dispatch(method, dispatch, id);
        if self.is_hash_code(method) {
            self.call_hash_code(callee, method);
            return Ok(Next::Instruction);
        }
        let arguments = self.pop_arguments(count);
        let result = self.call(callee, method, &arguments);
        self.push_result(method.return_type, result);
        Ok(Next::Instruction)
    }

    /// The methods to inline at the present call, each with its condition.
    fn guards(&mut self, method: MethodRef, dispatch: Dispatch) -> Vec<(Guard, MethodRef)> {
        let scope = self.scope();
        let seen = scope.site(scope.bci).receivers();
        // One that is gone is not met again.
        let classes = seen.first.into_iter().chain(seen.second);
        let classes: Vec<KlassRef> =
            classes.filter_map(|klass| self.vm.klasses.find(klass)).collect();
        let selected: Option<Vec<MethodRef>> =
            classes.iter().map(|klass| self.selected(method, dispatch, klass)).collect();
        let Some(selected) = selected.filter(|selected| !selected.is_empty()) else {
            return Vec::new();
        };
        let agree = selected.iter().all(|target| *target == selected[0]);
        let mut guards = match (agree, seen.others) {
            (true, 0) => vec![(Guard::Classes(classes), selected[0])],
            (true, _) => vec![(Guard::Selected, selected[0])],
            (false, 0..OTHERS_MANY) => {
                let guards = classes.into_iter().map(|klass| Guard::Classes(vec![klass]));
                guards.zip(selected).collect()
            }
            (false, _) => selected.into_iter().map(|target| (Guard::Selected, target)).collect(),
        };
        guards.retain(|(_, target)| self.may_expand(target));
        guards
    }

    /// Inlines methods where their guards hold. Otherwise calls, or leaves if no other class was ever seen here.
    fn call_guarded(
        &mut self,
        method: MethodRef,
        dispatch: Dispatch,
        count: usize,
        guards: &[(Guard, MethodRef)],
    ) -> Result<Next, NotCompiled> {
        let receiver = self.peek(count - 1);
        let id = self.klass_id(receiver);
        let by_method = guards.iter().any(|(guard, _)| matches!(guard, Guard::Selected));
        let callee = by_method.then(|| self.dispatch(method, dispatch, id));
        let leaves = self.may_trust_profile() && self.are_all_seen(guards);
        // The way otherwise may need to leave: its exit is that of this instruction.
        let exit = match dispatch {
            _ if leaves => Some(self.exit_block(Reason::Unresolved)),
            Dispatch::Interface => Some(self.exit_block(Reason::Exception)),
            _ => None,
        };
        let arguments = self.pop_arguments(count);
        self.suspend();
        let mut join = self.new_continuation(method.return_type);
        let known = self.facts.clone();
        for (guard, target) in guards {
            let holds = match guard {
                Guard::Classes(classes) => self.is_one_of(id, classes),
                Guard::Selected => {
                    let target = self.method_address(target);
                    self.b.ins().icmp(IntCC::Equal, callee.expect("made above"), target)
                }
            };
            let [then, otherwise] = [self.b.create_block(), self.b.create_block()];
            self.b.ins().brif(holds, then, &[], otherwise, &[]);
            self.continue_in(then);
            self.new_block();
            if let Guard::Classes(classes) = guard
                && let [class] = classes[..]
            {
                self.know_class(receiver, class);
            }
            let value = match self.is_hash_code(target) {
                true => Some(Some(self.identity_hash_of(receiver))),
                false => self.inline_body(target, &arguments)?,
            };
            if let Some(value) = value {
                self.go_to(&mut join, value);
            }
            self.facts.clone_from(&known);
            self.continue_in(otherwise);
            self.new_block();
        }
        if leaves {
            self.b.ins().jump(exit.expect("made above"), &[]);
        } else {
            let callee = match (callee, dispatch) {
                (Some(callee), _) => callee,
                (None, Dispatch::Interface) => {
                    self.interface_target(method, id, exit.expect("made above"))
                }
                _ => self.dispatch(method, dispatch, id),
            };
            let result = self.call(callee, method, &arguments);
            self.go_to(&mut join, result);
        }
        let Some(result) = self.go_on_at(join) else { return Ok(Next::Ended) };
        self.resume();
        self.push_result(method.return_type, result);
        Ok(Next::Instruction)
    }

    /// Whether code may leave in cases that the interpreter has not seen: it is compiled again then, a few times.
    fn may_trust_profile(&self) -> bool {
        let jit = &self.method.jit;
        let compilations = match self.osr_bci {
            Some(_) => &jit.osr_compilations,
            None => &jit.compilations,
        };
        compilations.load(Ordering::Relaxed) < TRUSTING_COMPILATIONS
    }

    /// Whether the guards let all classes pass that were seen at the present call.
    fn are_all_seen(&self, guards: &[(Guard, MethodRef)]) -> bool {
        let scope = self.scope();
        let seen = scope.site(scope.bci).receivers();
        let passes = |klass: &KlassId| {
            let has = |guard: &Guard| match guard {
                Guard::Classes(all) => all.iter().any(|one| one.id == *klass),
                Guard::Selected => false,
            };
            guards.iter().any(|(guard, _)| has(guard)) || self.vm.klasses.find(*klass).is_none()
        };
        seen.others == 0 && seen.first.iter().chain(&seen.second).all(passes)
    }

    fn is_one_of(&mut self, id: Value, classes: &[KlassRef]) -> Value {
        classes.iter().for_each(|klass| self.name(klass));
        let (first, others) = classes.split_first().expect("a class");
        let mut holds = self.b.ins().icmp_imm_s(IntCC::Equal, id, first.id.0 as i64);
        for klass in others {
            let is_it = self.b.ins().icmp_imm_s(IntCC::Equal, id, klass.id.0 as i64);
            holds = self.b.ins().bor(holds, is_it);
        }
        holds
    }

    /// Whether a method can take the place of a call of it.
    fn may_expand(&mut self, method: MethodRef) -> bool {
        self.is_hash_code(method) || self.may_inline(method)
    }

    /// `Object.hashCode` itself, which is native.
    fn is_hash_code(&self, method: MethodRef) -> bool {
        method.holder == self.vm.known.classes.object() && method.name().bytes() == b"hashCode"
    }

    /// A call of `hashCode` whose method was selected: most classes have that of `Object`.
    fn call_hash_code(&mut self, callee: Value, method: MethodRef) {
        let object = self.pop();
        self.suspend();
        let identity = self.method_address(method);
        let is_identity = self.b.ins().icmp(IntCC::Equal, callee, identity);
        let [inline, call, join] = [(); 3].map(|()| self.b.create_block());
        let result = self.b.append_block_param(join, types::I32);
        self.b.ins().brif(is_identity, inline, &[], call, &[]);
        self.continue_in(inline);
        let hash = self.identity_hash_of(object);
        self.b.ins().jump(join, &[hash.into()]);
        self.continue_in(call);
        let value = self.call(callee, method, &[object]).expect("an int");
        self.b.ins().jump(join, &[value.into()]);
        self.continue_in(join);
        self.new_block();
        self.resume();
        self.push(Kind::Int, result);
    }

    /// The method that a class has, if that can be said now.
    fn selected(
        &self,
        method: MethodRef,
        dispatch: Dispatch,
        klass: KlassRef,
    ) -> Option<MethodRef> {
        if !klass.is_subtype_of(method.holder) {
            // After a failed test for another class, unreachable code may take the object for one of that class.
            return None;
        }
        match dispatch {
            Dispatch::Direct => Some(method),
            Dispatch::Virtual(index) => klass.vtable.get()?.get(index).copied(),
            Dispatch::Interface => helpers::selected_interface_method(method, klass),
        }
    }

    /// The callee, in the receiver's class.
    fn dispatch(&mut self, method: MethodRef, dispatch: Dispatch, id: Value) -> Value {
        let flags = MemFlagsData::trusted().with_readonly();
        match dispatch {
            Dispatch::Direct => self.method_address(method),
            Dispatch::Virtual(index) => {
                let klass = self.klass_pointer(id);
                let offset = offset_of!(Klass, vtable_start) as i32;
                let table = self.b.ins().load(types::I64, flags, klass, offset);
                self.b.ins().load(types::I64, flags, table, 8 * index as i32)
            }
            Dispatch::Interface => {
                let exit = self.exit_block(Reason::Exception);
                self.interface_target(method, id, exit)
            }
        }
    }

    /// Looks the class up in the site's cache, then calls a helper; leaves by `exit` when the class has no such
    /// method.
    fn interface_target(
        &mut self,
        method: MethodRef,
        id: Value,
        exit: cranelift_codegen::ir::Block,
    ) -> Value {
        let cell = Box::new(InlineCache::default());
        let cache = self.address(&raw const *cell);
        self.cells.push(cell);
        let flags = MemFlagsData::trusted();
        let join = self.b.create_block();
        let target = self.b.append_block_param(join, types::I64);
        for place in 0..2 {
            let klass = offset_of!(InlineCache, klass) as i32 + 4 * place;
            let known = self.b.ins().load(types::I32, flags, cache, klass);
            let is_it = self.b.ins().icmp(IntCC::Equal, known, id);
            let [found, next] = [self.b.create_block(), self.b.create_block()];
            self.b.ins().brif(is_it, found, &[], next, &[]);
            self.continue_in(found);
            let at = offset_of!(InlineCache, method) as i32 + 8 * place;
            let cached = self.b.ins().load(types::I64, flags, cache, at);
            self.b.ins().jump(join, &[cached.into()]);
            self.continue_in(next);
        }
        let (thread, resolved) = (self.thread(), self.method_address(method));
        let address = helpers::select_address();
        let selected = self.call_leaf(address, &[thread, resolved, id, cache], Some(types::I64));
        let selected = selected.expect("a result");
        self.b.ins().brif(selected, join, &[selected.into()], exit, &[]);
        self.continue_in(join);
        target
    }

    /// The topmost operands, the first argument first.
    pub(super) fn pop_arguments(&mut self, count: usize) -> Vec<Value> {
        let mut arguments: Vec<Value> = (0..count).map(|_| self.pop()).collect();
        arguments.reverse();
        arguments
    }

    pub(super) fn push_result(&mut self, ty: BasicType, value: Option<Value>) {
        if let Some(value) = value {
            self.push(Kind::of(ty).expect("a value has a type"), value);
        }
    }

    /// Calls `callee`, a method of the same types as `method`, at a safepoint.
    pub(super) fn call(
        &mut self,
        callee: Value,
        method: MethodRef,
        arguments: &[Value],
    ) -> Option<Value> {
        let signature = java_signature(kinds_of(method), method.return_type);
        self.call_signature(callee, signature, arguments)
    }

    pub(super) fn call_signature(
        &mut self,
        callee: Value,
        signature: cranelift_codegen::ir::Signature,
        arguments: &[Value],
    ) -> Option<Value> {
        let signature = self.signature(signature);
        let next = self.next_bci(self.scopes.len() - 1);
        let mut all = vec![callee];
        all.extend_from_slice(arguments);
        let flags = MemFlagsData::trusted();
        let entry = self.b.ins().load(types::I64, flags, callee, COMPILED_OFFSET as i32);
        let result = self.at_safepoint(next, |s| {
            let call = s.b.ins().call_indirect(signature, entry, &all);
            s.b.inst_results(call).first().copied()
        });
        self.check_pending();
        result
    }

    /// Calls the function that is being translated.
    fn call_itself(&mut self, arguments: &[Value]) -> Option<Value> {
        let function = self.itself();
        let next = self.next_bci(self.scopes.len() - 1);
        // Code does not look at the method that it is called for.
        let mut all = vec![self.b.ins().iconst(types::I64, 0)];
        all.extend_from_slice(arguments);
        let result = self.at_safepoint(next, |s| {
            let call = s.b.ins().call(function, &all);
            s.b.inst_results(call).first().copied()
        });
        self.check_pending();
        result
    }

    /// Moves the references on the operand stack into variables: the code that follows until `resume` may move them
    /// on several ways.
    pub(super) fn suspend(&mut self) {
        for index in 0..self.scope().stack.len() {
            if let Operand::Value(Kind::Ref, value) = self.scope().stack[index] {
                let variable = self.b.declare_var(types::I64);
                self.b.def_var(variable, value);
                self.scope_mut().stack[index] = Operand::Suspended(variable);
            }
        }
    }

    pub(super) fn resume(&mut self) {
        for index in 0..self.scope().stack.len() {
            if let Operand::Suspended(variable) = self.scope().stack[index] {
                let value = self.use_var(variable);
                self.scope_mut().stack[index] = Operand::Value(Kind::Ref, value);
            }
        }
    }
}
