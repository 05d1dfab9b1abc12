//! Unused loads are removed, and with them the translation of references of which only the word counts.
//!
//! Cranelift removes instructions without effect and use, but no loads and no branches. Of both there are many:
//! after each call all live references are loaded from their slots, used or not; and a reference that is only
//! compared, tested for null or stored to another place needs no address, while a collector's barrier has a branch,
//! with a call on its cold side, to find it.

use cranelift_codegen::ir::{
    Block, BlockArg, BlockCall, Function, Inst, InstBuilder, InstructionData, Opcode,
    ReplaceBuilder, Value, ValueDef,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// A branch both of whose sides find the address of a reference, and have no other effect.
pub struct Finding {
    branch: Inst,
    /// Where the sides meet; its parameter is the address.
    join: Block,
}

impl Finding {
    /// `object` is found by the branch that ends where it is a parameter; none if it is no parameter of a block.
    pub fn of(
        func: &Function,
        branches: &FxHashMap<Block, Inst>,
        object: Value,
    ) -> Option<Finding> {
        let ValueDef::Param(join, 0) = func.dfg.value_def(object) else { return None };
        Some(Finding { branch: *branches.get(&join)?, join })
    }
}

/// Removes them from a function that is complete.
pub fn remove_unused(func: &mut Function, findings: &[Finding]) {
    let used = used(func, findings);
    for finding in findings {
        let address = func.dfg.resolve_aliases(func.dfg.block_params(finding.join)[0]);
        if !used.contains(&address) {
            let stencil = &mut func.stencil;
            let at = ReplaceBuilder::new(&mut stencil.dfg, &mut stencil.layout, finding.branch);
            // As many arguments as parameters, which are removed next.
            at.jump(finding.join, &[BlockArg::Value(address)]);
        }
    }
    remove_parameters(func, &used);
    let mut removed = Vec::new();
    for block in func.layout.blocks() {
        for inst in func.layout.block_insts(block) {
            let results = func.dfg.inst_results(inst);
            let mut results = results.iter().map(|value| func.dfg.resolve_aliases(*value));
            if !has_effect(func, inst) && !results.any(|value| used.contains(&value)) {
                removed.push(inst);
            }
        }
    }
    for inst in removed {
        func.layout.remove_inst(inst);
    }
}

/// Removes parameters of blocks that are not among `used`, and the arguments that branches pass for them.
fn remove_parameters(func: &mut Function, used: &FxHashSet<Value>) {
    let entry = func.layout.entry_block();
    let mut unused: FxHashMap<Block, Vec<usize>> = FxHashMap::default();
    for block in func.layout.blocks().filter(|block| Some(*block) != entry) {
        let parameters = func.dfg.block_params(block).iter().enumerate();
        let of_block = parameters.filter(|(_, value)| !used.contains(value));
        let of_block: Vec<usize> = of_block.map(|(index, _)| index).rev().collect();
        if !of_block.is_empty() {
            unused.insert(block, of_block);
        }
    }
    let ends = func.layout.blocks().filter_map(|block| func.layout.last_inst(block));
    let branches: Vec<Inst> =
        ends.filter(|inst| func.dfg.insts[*inst].opcode().is_branch()).collect();
    let dfg = &mut func.stencil.dfg;
    for inst in branches {
        let calls =
            dfg.insts[inst].branch_destination_mut(&mut dfg.jump_tables, &mut dfg.exception_tables);
        for call in calls {
            for index in unused.get(&call.block(&dfg.value_lists)).into_iter().flatten() {
                call.remove(*index, &mut dfg.value_lists);
            }
        }
    }
    for (block, indices) in unused {
        for index in indices {
            let parameter = dfg.block_params(block)[index];
            dfg.remove_block_param(parameter);
        }
    }
}

/// Values on which something depends that has an effect.
fn used(func: &Function, findings: &[Finding]) -> FxHashSet<Value> {
    let mut ways: FxHashMap<Block, Vec<Inst>> = FxHashMap::default();
    let mut used = Used { func, values: FxHashSet::default(), open: Vec::new() };
    let branches: FxHashMap<Inst, Block> =
        findings.iter().map(|finding| (finding.branch, finding.join)).collect();
    for block in func.layout.blocks() {
        for inst in func.layout.block_insts(block) {
            for call in destinations(func, inst) {
                ways.entry(call.block(&func.dfg.value_lists)).or_default().push(inst);
            }
            if has_effect(func, inst) && !branches.contains_key(&inst) {
                used.operands(inst);
            }
        }
    }
    let branch_of: FxHashMap<Block, Inst> =
        branches.iter().map(|(branch, join)| (*join, *branch)).collect();
    while let Some(value) = used.open.pop() {
        match func.dfg.value_def(value) {
            ValueDef::Result(inst, _) => used.operands(inst),
            ValueDef::Param(block, index) => {
                for inst in ways.get(&block).into_iter().flatten() {
                    for call in destinations(func, *inst) {
                        if call.block(&func.dfg.value_lists) != block {
                            continue;
                        }
                        if let Some(BlockArg::Value(value)) =
                            call.args(&func.dfg.value_lists).nth(index)
                        {
                            used.add(value);
                        }
                    }
                }
                if let Some(branch) = branch_of.get(&block) {
                    used.operands(*branch);
                }
            }
            ValueDef::Union(..) => panic!("{value} is one of several, before they are looked for"),
        }
    }
    used.values
}

struct Used<'f> {
    func: &'f Function,
    values: FxHashSet<Value>,
    /// Those whose operands have not been visited.
    open: Vec<Value>,
}

impl Used<'_> {
    fn add(&mut self, value: Value) {
        let value = self.func.dfg.resolve_aliases(value);
        if self.values.insert(value) {
            self.open.push(value);
        }
    }

    /// Those of an instruction, but not a branch's block arguments.
    fn operands(&mut self, inst: Inst) {
        let func = self.func;
        func.dfg.inst_args(inst).iter().for_each(|value| self.add(*value));
    }
}

fn destinations(func: &Function, inst: Inst) -> &[BlockCall] {
    let tables = &func.dfg;
    let data = &func.dfg.insts[inst];
    match data.opcode().is_branch() {
        true => data.branch_destination(&tables.jump_tables, &tables.exception_tables),
        false => &[],
    }
}

fn has_effect(func: &Function, inst: Inst) -> bool {
    let opcode = func.dfg.insts[inst].opcode();
    let is_control = opcode.is_call() || opcode.is_terminator() || opcode.is_branch();
    let changes = opcode.can_trap() || opcode.can_store() || opcode.other_side_effects();
    is_control || changes || opcode.can_load() && !is_plain_load(func, inst)
}

/// Neither atomic nor volatile, nor of an address that may be none.
fn is_plain_load(func: &Function, inst: Inst) -> bool {
    let InstructionData::Load { opcode, flags, .. } = func.dfg.insts[inst] else { return false };
    let is_load = matches!(opcode, Opcode::Load | Opcode::Uload8 | Opcode::Uload32);
    is_load && func.dfg.mem_flags[flags].notrap()
}
