//! One basic block, instruction by instruction.

use super::compare::operands_of_branch;
use super::facts::Fact;
use super::flow::BasicBlock;
use super::{Kind, NotCompiled, Operand, Translator};
use crate::jit::helpers;
use crate::runtime::code::side_exits::Reason;
use classfile::bytecode::{Instruction, op};
use classfile::{BasicType, CpEntry};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    Block, BlockArg, InstBuilder, JumpTableData, MemFlagsData, Value, types,
};
use gc::threads::mutator::POLL_OFFSET;

/// Whether code continues behind an instruction.
#[derive(PartialEq, Eq)]
pub(super) enum Next {
    Instruction,
    /// The Cranelift block is filled.
    Ended,
}

impl Translator<'_> {
    pub(super) fn instructions(&mut self, block: &BasicBlock) -> Result<(), NotCompiled> {
        let code = self.scope().flow.code;
        let mut bci = block.start as usize;
        while bci < block.end as usize {
            let at = Instruction::at(&code.bytecode, bci).ok_or(NotCompiled::Malformed)?;
            self.scope_mut().bci = bci as u16;
            self.begin_position();
            self.translated += at.length;
            if self.scopes.len() > 1 {
                self.inlined += at.length;
            }
            self.begin_instruction();
            if self.instruction(&at)? == Next::Ended {
                return Ok(());
            }
            bci = at.next_bci();
        }
        // Other compilers than javac let a loop's body fall through to its test.
        self.scope_mut().bci = bci as u16;
        self.begin_position();
        self.begin_instruction();
        self.poll_if_closing(&[bci as u16], bci);
        self.jump_to(bci as u16)
    }

    fn instruction(&mut self, at: &Instruction<'_>) -> Result<Next, NotCompiled> {
        let opcode = at.opcode;
        match opcode {
            op::NOP => {}
            op::ACONST_NULL => self.push_constant(Kind::Ref, 0),
            op::ICONST_M1..=op::ICONST_5 => {
                self.push_constant(Kind::Int, opcode as i64 - op::ICONST_0 as i64);
            }
            op::LCONST_0 | op::LCONST_1 => {
                self.push_constant(Kind::Long, (opcode - op::LCONST_0) as i64);
            }
            op::FCONST_0..=op::FCONST_2 => {
                let value = self.b.ins().f32const((opcode - op::FCONST_0) as f32);
                self.push(Kind::Float, value);
            }
            op::DCONST_0 | op::DCONST_1 => {
                let value = self.b.ins().f64const((opcode - op::DCONST_0) as f64);
                self.push(Kind::Double, value);
            }
            op::BIPUSH => self.push_constant(Kind::Int, at.u8_at(1) as i8 as i64),
            op::SIPUSH => self.push_constant(Kind::Int, at.u16_at(1) as i16 as i64),
            op::LDC | op::LDC_W | op::LDC2_W => return Ok(self.constant_of_pool(at.pool_index())),

            op::ILOAD..=op::ALOAD | op::ILOAD_0..=op::ALOAD_3 => {
                let kind = LOAD_KINDS[(at.generic_opcode() - op::ILOAD) as usize];
                let slot = at.local_slot().expect("a load") as usize;
                let value = self.local(slot, kind);
                self.push(kind, value);
            }
            op::ISTORE..=op::ASTORE | op::ISTORE_0..=op::ASTORE_3 => {
                let slot = at.local_slot().expect("a store") as usize;
                // The operand on the stack has the type: `astore` stores return addresses too, but not here.
                let (kind, value) = self.pop_operand();
                self.set_local(slot, kind, value);
            }
            op::IINC => {
                let slot = at.local_slot().expect("iinc") as usize;
                let by =
                    if at.is_wide { at.u16_at(4) as i16 as i64 } else { at.u8_at(2) as i8 as i64 };
                let value = self.local(slot, Kind::Int);
                let sum = self.b.ins().iadd_imm_s(value, by);
                if by == 1 && self.facts.is_not_negative(value) && self.facts.is_not_largest(value)
                {
                    self.facts.set_not_negative(sum);
                }
                self.set_local(slot, Kind::Int, sum);
            }

            op::IALOAD..=op::SALOAD => self.array_load(opcode),
            op::IASTORE..=op::SASTORE => self.array_store(opcode),
            op::ARRAYLENGTH => {
                let array = self.pop();
                self.check_not_null(array);
                let length = self.array_length(array);
                self.push(Kind::Int, length);
            }

            op::POP..=op::SWAP => self.shuffle(opcode),
            op::IADD..=op::LXOR | op::I2L..=op::I2S => self.arithmetic(opcode),
            op::LCMP..=op::DCMPG => self.compare(opcode),

            op::IFEQ..=op::IF_ACMPNE | op::IFNULL | op::IFNONNULL => {
                if let Some(is_taken) = self.outcome(opcode) {
                    self.drop_operands(operands_of_branch(opcode));
                    let next = at.next_bci() as u16;
                    let target = at.branch_target().expect("a branch") as u16;
                    let target = if is_taken { target } else { next };
                    self.poll_if_back(&[target]);
                    self.jump_to(target)?;
                    return Ok(Next::Ended);
                }
                let known = self.facts_of_branch(opcode);
                let condition = self.condition(opcode);
                return self.branch(at, condition, known);
            }
            op::GOTO | op::GOTO_W => {
                let target = at.branch_target().expect("a jump") as u16;
                self.poll_if_back(&[target]);
                self.jump_to(target)?;
                return Ok(Next::Ended);
            }
            op::TABLESWITCH | op::LOOKUPSWITCH => return self.switch(at),
            op::IRETURN..=op::RETURN => return self.method_return(),
            op::ATHROW => {
                self.exit_always(Reason::Unsupported);
                return Ok(Next::Ended);
            }

            op::GETSTATIC | op::PUTSTATIC | op::GETFIELD | op::PUTFIELD => {
                return Ok(self.field(at));
            }
            op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC | op::NEW | op::MONITORENTER
                if self.must_not_order() && !self.only_computes(self.scope(), at) =>
            {
                self.exit_always(Reason::Unresolved);
                return Ok(Next::Ended);
            }
            op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC => return self.invoke(at),
            op::NEW => return Ok(self.new_instance()),
            op::NEWARRAY => self.new_primitive_array(at.u8_at(1)),
            op::ANEWARRAY => return Ok(self.new_object_array()),
            op::MULTIANEWARRAY => return Ok(self.new_multi_array(at)),
            op::CHECKCAST => return Ok(self.check_cast()),
            op::INSTANCEOF => return Ok(self.instance_of()),
            op::MONITORENTER => self.monitor_enter(),
            op::MONITOREXIT => return self.monitor_exit(),
            _ => {
                self.exit_always(Reason::Unsupported);
                return Ok(Next::Ended);
            }
        }
        Ok(Next::Instruction)
    }

    pub(super) fn push_constant(&mut self, kind: Kind, value: i64) {
        let value = self.b.ins().iconst(kind.clif(), value);
        self.push(kind, value);
    }

    fn constant_of_pool(&mut self, index: u16) -> Next {
        let holder = self.scope().method.holder;
        let instance = holder.inst();
        match instance.file.constant_pool.entry(index) {
            CpEntry::Integer(value) => self.push_constant(Kind::Int, value as i64),
            CpEntry::Long(value) => self.push_constant(Kind::Long, value),
            CpEntry::Float(bits) => {
                let value = self.b.ins().f32const(f32::from_bits(bits));
                self.push(Kind::Float, value);
            }
            CpEntry::Double(bits) => {
                let value = self.b.ins().f64const(f64::from_bits(bits));
                self.push(Kind::Double, value);
            }
            CpEntry::Class { .. } => {
                let Some(klass) = instance.pool.entry(index).klass() else {
                    self.exit_always(Reason::Unresolved);
                    return Next::Ended;
                };
                let mirror = self.mirror_of(klass);
                self.push(Kind::Ref, mirror);
            }
            CpEntry::Dynamic { .. } => {
                self.exit_always(Reason::Unsupported);
                return Next::Ended;
            }
            _ => {
                let slot = instance.pool.object(index);
                if slot.is_null() {
                    self.exit_always(Reason::Unresolved);
                    return Next::Ended;
                }
                let object = self.known_root(holder, slot);
                self.facts.set_not_null(object);
                self.push(Kind::Ref, object);
            }
        }
        Next::Instruction
    }

    fn shuffle(&mut self, opcode: u8) {
        let stack = &mut self.scope_mut().stack;
        let is_wide =
            |stack: &Vec<Operand>, depth: usize| stack[stack.len() - 1 - depth].kind().is_wide();
        // How many entries make two slots from this depth on.
        let pair = |stack: &Vec<Operand>, depth| if is_wide(stack, depth) { 1 } else { 2 };
        let (copied, below) = match opcode {
            op::POP => {
                stack.pop();
                return;
            }
            op::POP2 => {
                let count = pair(stack, 0);
                stack.truncate(stack.len() - count);
                return;
            }
            op::SWAP => {
                let top = stack.len() - 1;
                stack.swap(top, top - 1);
                return;
            }
            op::DUP => (1, 0),
            op::DUP_X1 => (1, 1),
            op::DUP_X2 => (1, pair(stack, 1)),
            op::DUP2 => (pair(stack, 0), 0),
            op::DUP2_X1 => (pair(stack, 0), 1),
            _ => {
                let copied = pair(stack, 0);
                (copied, pair(stack, copied))
            }
        };
        let top: Vec<Operand> = stack[stack.len() - copied..].to_vec();
        let at = stack.len() - copied - below;
        stack.splice(at..at, top);
    }

    /// `known` are the facts that hold where the branch is taken, and where it is not.
    fn branch(
        &mut self,
        at: &Instruction<'_>,
        condition: Value,
        known: [Option<Fact>; 2],
    ) -> Result<Next, NotCompiled> {
        let target = at.branch_target().expect("a branch") as u16;
        let next = at.next_bci() as u16;
        self.poll_if_back(&[target, next]);
        let (then, then_arguments) = self.edge_where(target, known[0])?;
        let (otherwise, arguments) = self.edge_where(next, known[1])?;
        self.b.ins().brif(condition, then, &then_arguments, otherwise, &arguments);
        Ok(Next::Ended)
    }

    /// As `edge`, on which something more is known.
    fn edge_where(
        &mut self,
        target: u16,
        known: Option<Fact>,
    ) -> Result<(Block, Vec<BlockArg>), NotCompiled> {
        let index = self.successor(target);
        // Before the branch, where that is not known yet.
        self.load_invariants(index);
        let added = known.filter(|fact| self.facts.add(*fact));
        let edge = self.enter(index);
        if let Some(fact) = added {
            self.facts.remove(fact);
        }
        edge
    }

    fn switch(&mut self, at: &Instruction<'_>) -> Result<Next, NotCompiled> {
        let key = self.pop();
        let targets: Vec<u16> = at.switch_targets().map(|target| target as u16).collect();
        self.poll_if_back(&targets);
        let (default, cases) = targets.split_first().expect("a switch has a default");
        if at.opcode == op::TABLESWITCH {
            let low = at.i32_at(classfile::bytecode::switch_operands(at.bci) - at.bci + 4);
            let key = self.b.ins().iadd_imm_s(key, -(low as i64));
            return self.jump_table(key, *default, cases);
        }
        let keys: Vec<i32> = at.switch_keys().collect();
        let pairs: Vec<(i32, u16)> = keys.into_iter().zip(cases.iter().copied()).collect();
        self.lookup(key, &pairs, *default)?;
        Ok(Next::Ended)
    }

    fn jump_table(&mut self, key: Value, default: u16, cases: &[u16]) -> Result<Next, NotCompiled> {
        let mut calls = Vec::new();
        for target in std::iter::once(&default).chain(cases) {
            let (block, arguments) = self.edge(*target)?;
            calls.push(self.b.func.dfg.block_call(block, &arguments));
        }
        let table = JumpTableData::new(calls[0], &calls[1..]);
        let table = self.b.create_jump_table(table);
        self.b.ins().br_table(key, table);
        Ok(Next::Ended)
    }

    /// Binary search; pairs are sorted by key.
    fn lookup(
        &mut self,
        key: Value,
        pairs: &[(i32, u16)],
        default: u16,
    ) -> Result<(), NotCompiled> {
        if pairs.len() <= 4 {
            for (case, target) in pairs {
                let equal = self.b.ins().icmp_imm_s(IntCC::Equal, key, *case as i64);
                let (block, arguments) = self.edge(*target)?;
                let next = self.b.create_block();
                self.b.ins().brif(equal, block, &arguments, next, &[]);
                self.continue_in(next);
            }
            return self.jump_to(default);
        }
        let (low, high) = pairs.split_at(pairs.len() / 2);
        let below = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, key, high[0].0 as i64);
        let [left, right] = [self.b.create_block(), self.b.create_block()];
        self.b.ins().brif(below, left, &[], right, &[]);
        // Values that edges out of one half load are not defined in the other.
        let known = self.facts.clone();
        for (block, part) in [(left, low), (right, high)] {
            self.continue_in(block);
            self.facts.clone_from(&known);
            self.lookup(key, part, default)?;
        }
        Ok(())
    }

    fn method_return(&mut self) -> Result<Next, NotCompiled> {
        let ty = self.scope().method.return_type;
        let value = Kind::of(ty).map(|_| {
            let value = self.pop();
            self.narrow(ty, value)
        });
        if self.scope().lock_depth > 0 {
            // Unbalanced: the interpreter throws, or gives the locks up.
            return Err(NotCompiled::Locks);
        }
        let value = self.unlock_for_method(value);
        if self.scope().method.is_object_initializer() {
            self.constructed();
        }
        match self.scope_mut().continuation.take() {
            Some(mut continuation) => {
                self.go_to(&mut continuation, value);
                self.scope_mut().continuation = Some(continuation);
            }
            None => {
                self.b.ins().return_(value.as_slice());
            }
        }
        Ok(Next::Ended)
    }

    /// An int as a value of a smaller type.
    pub(super) fn narrow(&mut self, ty: BasicType, value: Value) -> Value {
        match ty {
            BasicType::Boolean => self.b.ins().band_imm_s(value, 1),
            BasicType::Byte => {
                let low = self.b.ins().ireduce(types::I8, value);
                self.b.ins().sextend(types::I32, low)
            }
            BasicType::Short => {
                let low = self.b.ins().ireduce(types::I16, value);
                self.b.ins().sextend(types::I32, low)
            }
            BasicType::Char => self.b.ins().band_imm_s(value, 0xffff),
            _ => value,
        }
    }

    /// A poll before a jump that may close a loop, whose round counts. Conditions are computed before: references move
    /// here.
    fn poll_if_back(&mut self, targets: &[u16]) {
        let live_bci = self.scope().bci as usize;
        self.poll_if_closing(targets, live_bci);
    }

    /// As `poll_if_back`; the method continues at `live_bci`.
    fn poll_if_closing(&mut self, targets: &[u16], live_bci: usize) {
        let current = self.scope().block;
        if targets.iter().any(|target| self.successor(*target) <= current) {
            self.count_round();
            self.poll(live_bci);
        }
    }

    /// Stops here if another thread has requested it, or throws what another thread wants this one to throw
    /// (`Thread.stop`). `live_bci` is where the method continues. No local that is dead there may be live at the
    /// scope's `bci`: the interpreter looks for a handler there.
    pub(super) fn poll(&mut self, live_bci: usize) {
        let thread = self.thread();
        let flags = MemFlagsData::trusted();
        let poll = self.b.ins().load(types::I32, flags, thread, POLL_OFFSET as i32);
        self.at_rare_safepoint(poll, live_bci, None, |s| {
            let thread = s.thread();
            s.call_preserving(helpers::poll_address(), &[thread]);
            s.leave_safepoint();
            s.check_pending();
            None
        });
    }

    /// Calls a helper that clobbers no register; its result, if any, is in the thread's scratch word.
    pub(super) fn call_preserving(&mut self, address: usize, arguments: &[Value]) {
        let convention = cranelift_codegen::isa::CallConv::PreserveAll;
        self.call_address(address, convention, arguments, None);
    }

    /// Leaves when the reference is null, unless it is known not to be.
    pub(super) fn check_not_null(&mut self, value: Value) {
        if self.facts.is_not_null(value) {
            return;
        }
        let presence = self.presence(value);
        self.exit_unless(presence, Reason::Exception);
        self.facts.set_not_null(value);
    }

    /// A value that is 0 exactly if the reference is null: the word in its slot, where that is known, because
    /// the CPU has it earlier than the address that it decodes to.
    pub(super) fn presence(&self, reference: Value) -> Value {
        self.facts.word(reference).unwrap_or(reference)
    }

    /// At the beginning of a function: is there room on the stack?
    pub(super) fn check_stack(&mut self) {
        let thread = self.thread();
        let flags = MemFlagsData::trusted();
        let offset = helpers::STACK_LIMIT_OFFSET as i32;
        let limit = self.b.ins().load(types::I64, flags, thread, offset);
        let here = self.b.ins().get_stack_pointer(types::I64);
        let overflow = self.b.ins().icmp(IntCC::UnsignedLessThan, here, limit);
        let [fail, go_on] = [self.b.create_block(), self.b.create_block()];
        self.b.set_cold_block(fail);
        self.b.ins().brif(overflow, fail, &[], go_on, &[]);
        self.continue_in(fail);
        let thread = self.thread();
        let place = crate::runtime::code::safepoints::Place { method: self.method, bci: 0 };
        let location = self.new_safepoint(Vec::new(), vec![place], Vec::new());
        self.b.set_srcloc(location);
        let convention = cranelift_codegen::isa::CallConv::SystemV;
        self.call_address(helpers::stack_overflow_address(), convention, &[thread], None);
        self.leave_safepoint();
        let give_up = self.give_up();
        self.b.ins().jump(give_up, &[]);
        self.continue_in(go_on);
    }
}

const LOAD_KINDS: [Kind; 5] = [Kind::Int, Kind::Long, Kind::Float, Kind::Double, Kind::Ref];
