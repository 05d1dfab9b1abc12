//! Random class files: code that no compiler of a language would write.
//!
//! A method is a set of blocks. The state at the beginning of each, the types on the stack and in the locals, is
//! drawn first; then each block gets random instructions that are right for the state, and ends in jumps to any
//! blocks, adapting the state to theirs. So the code is valid by construction, its stack maps are known, and its
//! loops are irreducible more often than not. A counter that every block tests makes every method end.

use std::collections::HashMap;

use super::classfile::{Class, Code, Frame, Label, PUBLIC, PUBLIC_STATIC, Slot};
use super::opcodes::*;
use crate::harness::rng::Rng;

/// The type of a stack entry or a local variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    Int,
    Long,
    Float,
    Double,
    Text,
    Ints,
    /// The generated class itself.
    Own,
    Object,
    Throwable,
}

impl Value {
    /// For parameters, results, fields and locals.
    const ALL: [Value; 8] = {
        use Value::*;
        [Int, Long, Float, Double, Text, Ints, Own, Object]
    };

    pub fn is_wide(self) -> bool {
        matches!(self, Value::Long | Value::Double)
    }

    pub fn is_reference(self) -> bool {
        !matches!(self, Value::Int | Value::Long | Value::Float | Value::Double)
    }

    fn words(self) -> u16 {
        if self.is_wide() { 2 } else { 1 }
    }

    /// Where its instruction is in groups of int, long, float, double, reference.
    pub fn group(self) -> u8 {
        match self {
            Value::Int => 0,
            Value::Long => 1,
            Value::Float => 2,
            Value::Double => 3,
            _ => 4,
        }
    }

    fn slot(self, own: &str) -> Slot {
        match self {
            Value::Int => Slot::Int,
            Value::Long => Slot::Long,
            Value::Float => Slot::Float,
            Value::Double => Slot::Double,
            Value::Text => Slot::Class("java/lang/String".into()),
            Value::Ints => Slot::Class("[I".into()),
            Value::Own => Slot::Class(own.into()),
            Value::Object => Slot::Class("java/lang/Object".into()),
            Value::Throwable => Slot::Class("java/lang/Throwable".into()),
        }
    }

    pub fn descriptor(self, own: &str) -> String {
        match self {
            Value::Int => "I".into(),
            Value::Long => "J".into(),
            Value::Float => "F".into(),
            Value::Double => "D".into(),
            Value::Ints => "[I".into(),
            _ => match self.slot(own) {
                Slot::Class(name) => format!("L{name};"),
                _ => unreachable!("the primitive ones are above"),
            },
        }
    }

    /// The name of the field of this type, static (with `s`) or not.
    pub fn field(self) -> &'static str {
        match self {
            Value::Int => "i",
            Value::Long => "j",
            Value::Float => "f",
            Value::Double => "d",
            Value::Text => "t",
            Value::Ints => "a",
            Value::Own => "g",
            Value::Object | Value::Throwable => "o",
        }
    }
}

#[derive(Clone)]
pub struct Signature {
    pub name: String,
    pub params: Vec<Value>,
    pub ret: Value,
    pub is_static: bool,
    /// In instructions, at most.
    pub cost: u64,
}

impl Signature {
    pub fn descriptor(&self, own: &str) -> String {
        let params: String = self.params.iter().map(|param| param.descriptor(own)).collect();
        format!("({params}){}", self.ret.descriptor(own))
    }
}

/// How many instructions blocks may have, by method and block, where fewer than they would: for making a class small.
pub type Limits = HashMap<(usize, usize), usize>;

/// The class file of a seed, and how many blocks its methods have.
pub fn generate(name: &str, seed: u64, limits: &Limits) -> (Vec<u8>, Vec<usize>) {
    let mut rng = Rng::new(seed ^ 0xC1A5_5F11);
    let version = rng.pick(&[49, 50, 51, 52, 61, 61]);
    let mut class = Class::new(name, version);
    for value in Value::ALL {
        class.add_field(PUBLIC_STATIC, &format!("s{}", value.field()), &value.descriptor(name));
        class.add_field(PUBLIC, value.field(), &value.descriptor(name));
    }
    constructor(&mut class);
    maker(&mut class);
    let mut methods: Vec<Signature> = Vec::new();
    let mut blocks = Vec::new();
    for number in 0..rng.between(2, 6) {
        // Each has its own generator, so that changing one does not change the others.
        let rng = Rng::new(rng.bits());
        let (signature, count) = Method::generate(&mut class, rng, &methods, number, limits);
        methods.push(signature);
        blocks.push(count);
    }
    main_method(&mut class, &methods, &mut rng);
    (class.finish(), blocks)
}

/// `Own()`: all fields zero.
fn constructor(class: &mut Class) {
    let mut code = Code::new(1, 1);
    code.op(ILOAD_0 + 16);
    code.op2(INVOKESPECIAL, class.pool.method("java/lang/Object", "<init>", "()V"));
    code.op(RETURN);
    class.add_method(PUBLIC, "<init>", "()V", code);
}

/// `make(int)`: an object with a few fields set, or now and then null.
fn maker(class: &mut Class) {
    let name = class.name.clone();
    let mut code = Code::new(3, 1);
    let pool = &mut class.pool;
    let some = code.label();
    code.op(ILOAD_0);
    code.op1(BIPUSH, 15);
    code.op(IAND);
    code.branch(IFEQ + 1, some);
    code.op(ACONST_NULL);
    code.op(IRETURN + 4);
    code.place(some);
    code.frame(Frame { locals: vec![Slot::Int], stack: Vec::new() });
    code.op2(NEW, pool.class(&name));
    code.op(DUP);
    code.op2(INVOKESPECIAL, pool.method(&name, "<init>", "()V"));
    for value in [Value::Int, Value::Text, Value::Ints] {
        code.op(DUP);
        code.op(ILOAD_0);
        code.op2(INVOKESTATIC, source(pool, value, &name));
        code.op2(PUTFIELD, pool.field(&name, value.field(), &value.descriptor(&name)));
    }
    code.op(IRETURN + 4);
    class.add_method(PUBLIC_STATIC, "make", &format!("(I)L{name};"), code);
}

/// Runs the last methods again and again.
fn main_method(class: &mut Class, methods: &[Signature], rng: &mut Rng) {
    let name = class.name.clone();
    let mut code = Code::new(40, 2);
    let pool = &mut class.pool;
    code.op2(INVOKESTATIC, pool.method(SINK, "start", "()V"));
    code.op(ICONST_0);
    code.op(ISTORE_0 + 1);
    let again = code.label();
    code.place(again);
    let frame = Frame {
        locals: vec![Slot::Class("[Ljava/lang/String;".into()), Slot::Int],
        stack: Vec::new(),
    };
    code.frame(frame.clone());
    let roots: Vec<&Signature> = methods.iter().rev().take(3).collect();
    for method in &roots {
        let (from, to, caught, after) = (code.label(), code.label(), code.label(), code.label());
        code.place(from);
        if !method.is_static {
            let made = pool.class(&name);
            code.op2(NEW, made);
            code.op(DUP);
            code.op2(INVOKESPECIAL, pool.method(&name, "<init>", "()V"));
        }
        for param in &method.params {
            code.op(ILOAD_0 + 1);
            code.op2(INVOKESTATIC, source(pool, *param, &name));
        }
        let target = pool.method(&name, &method.name, &method.descriptor(&name));
        code.op2(if method.is_static { INVOKESTATIC } else { INVOKEVIRTUAL }, target);
        code.op2(INVOKESTATIC, sink(pool, method.ret));
        code.place(to);
        code.branch(GOTO, after);
        code.place(caught);
        code.frame(Frame { stack: vec![Value::Throwable.slot(&name)], ..frame.clone() });
        code.op2(INVOKESTATIC, sink(pool, Value::Throwable));
        code.place(after);
        code.frame(frame.clone());
        code.handler(from, to, caught, 0);
    }
    code.op(IINC);
    code.bytes.extend([1, 1]);
    code.op(ILOAD_0 + 1);
    code.op2(INVOKESTATIC, pool.method(SINK, "tick", "(I)V"));
    code.op(ILOAD_0 + 1);
    let cost: u64 = roots.iter().map(|method| method.cost).sum();
    let repeats = (TOTAL_COST / cost.max(1)).clamp(1500, 30_000) as i32;
    let repeats = repeats + rng.below(100) as i32;
    code.op2(LDC_W, pool.int(repeats));
    code.branch(IF_ICMPLT, again);
    code.op2(INVOKESTATIC, pool.method(SINK, "end", "()V"));
    code.op(RETURN);
    class.add_method(PUBLIC_STATIC, "main", "([Ljava/lang/String;)V", code);
}

/// The method that takes a result.
pub fn sink(pool: &mut super::classfile::Pool, value: Value) -> u16 {
    let descriptor = match value {
        Value::Own => Value::Object.descriptor(""),
        _ => value.descriptor(""),
    };
    pool.method(SINK, "mix", &format!("({descriptor})V"))
}

/// The method that makes an argument of a number.
fn source(pool: &mut super::classfile::Pool, value: Value, own: &str) -> u16 {
    // A `G` is made by the class itself; the sink knows only objects.
    match value {
        Value::Own => pool.method(own, "make", &format!("(I)L{own};")),
        _ => pool.method(SINK, value.field(), &format!("(I){}", value.descriptor(own))),
    }
}

/// One method under construction.
pub struct Method<'a> {
    pub class: &'a mut Class,
    pub code: Code,
    pub rng: Rng,
    pub known: &'a [Signature],
    pub ret: Value,
    /// Variables that always hold the same type: slot and type.
    pub fixed: Vec<(u16, Value)>,
    /// Slots whose type changes, each two wide.
    pub scratch_slots: Vec<u16>,
    pub scratch: Vec<Option<Value>>,
    pub stack: Vec<Value>,
    pub cost: u64,
    pub own: String,
    /// How many of `fixed` are parameters, whose state at the entry is known.
    fuel: u16,
    blocks: Vec<Block>,
    exit: Label,
}

struct Block {
    label: Label,
    stack: Vec<Value>,
    scratch: Vec<Option<Value>>,
}

impl Method<'_> {
    fn generate(
        class: &mut Class,
        mut rng: Rng,
        known: &[Signature],
        number: usize,
        limits: &Limits,
    ) -> (Signature, usize) {
        let params: Vec<Value> = (0..rng.below(5)).map(|_| rng.pick(&Value::ALL)).collect();
        let ret = rng.pick(&Value::ALL);
        let is_static = rng.chance(70);
        let own = class.name.clone();
        let mut code = Code::default();
        let exit = code.label();
        let mut method = Method {
            class,
            code,
            rng,
            known,
            ret,
            fixed: Vec::new(),
            scratch_slots: Vec::new(),
            scratch: Vec::new(),
            stack: Vec::new(),
            cost: 0,
            own,
            fuel: 0,
            blocks: Vec::new(),
            exit,
        };
        method.lay_out(&params, is_static);
        let count = method.rng.between(2, 10);
        method.draw_blocks(count);
        let trips = method.rng.pick(&[8, 20, 60, 150]);
        method.enter(&params, is_static, trips);
        let ranges = method.draw_ranges(count);
        let mut most = 0;
        for block in 0..count {
            let limit = limits.get(&(number, block)).copied().unwrap_or(usize::MAX);
            let before = std::mem::take(&mut method.cost);
            // A generator of its own again, so that a shorter block leaves the next ones as they are.
            let rng = Rng::new(method.rng.bits());
            let outer = std::mem::replace(&mut method.rng, rng);
            method.block(block, limit, trips);
            method.rng = outer;
            most = most.max(method.cost);
            method.cost = before;
        }
        let end = method.code.label();
        method.code.place(end);
        method.handlers(&ranges, end);
        method.leave();
        method.code.max_stack = STACK_MAX as u16 + 8;
        let signature = Signature {
            name: format!("m{number}"),
            params,
            ret,
            is_static,
            cost: most * trips as u64 + 20,
        };
        let descriptor = signature.descriptor(&method.own);
        let access = if is_static { PUBLIC_STATIC } else { PUBLIC };
        let code = method.code;
        method.class.add_method(access, &signature.name, &descriptor, code);
        (signature, count)
    }

    /// Parameters first, then the counter, then one variable of each type and the scratch slots, some of them at
    /// indexes that need wide instructions.
    fn lay_out(&mut self, params: &[Value], is_static: bool) {
        let mut next = 0;
        let place = |value: Value, next: &mut u16| {
            let slot = *next;
            *next += value.words();
            slot
        };
        if !is_static {
            self.fixed.push((place(Value::Own, &mut next), Value::Own));
        }
        for param in params {
            self.fixed.push((place(*param, &mut next), *param));
        }
        self.fuel = place(Value::Int, &mut next);
        for value in Value::ALL {
            if self.rng.chance(5) {
                next = next.max(300);
            }
            self.fixed.push((place(value, &mut next), value));
        }
        for _ in 0..self.rng.below(4) {
            self.scratch_slots.push(place(Value::Long, &mut next));
        }
        self.scratch = vec![None; self.scratch_slots.len()];
        self.code.max_locals = next;
    }

    fn draw_blocks(&mut self, count: usize) {
        for number in 0..count {
            let depth = if number > 0 && self.rng.chance(35) { self.rng.between(1, 4) } else { 0 };
            let stack = (0..depth).map(|_| self.rng.pick(&Value::ALL)).collect();
            let mut scratch = Vec::new();
            for _ in 0..self.scratch_slots.len() {
                let value = self.rng.pick(&Value::ALL);
                scratch.push((number > 0 && self.rng.chance(50)).then_some(value));
            }
            let label = self.code.label();
            self.blocks.push(Block { label, stack, scratch });
        }
    }

    /// Gives the variables that are no parameters their first values, and jumps to the first block.
    fn enter(&mut self, params: &[Value], is_static: bool, trips: usize) {
        self.constant_int(trips as i32);
        self.stack.pop();
        self.local(ISTORE, ISTORE_0, Value::Int, self.fuel);
        let given = params.len() + usize::from(!is_static);
        let others = self.fixed.split_off(given);
        for (slot, value) in others.iter().copied() {
            match value {
                Value::Ints => {
                    self.code.op1(BIPUSH, 8);
                    self.code.op1(NEWARRAY, 10);
                }
                Value::Own => self.new_own(),
                _ => self.constant(value),
            }
            if !matches!(value, Value::Ints | Value::Own) {
                self.stack.pop();
            }
            self.local(ISTORE, ISTORE_0, value, slot);
        }
        self.fixed.extend(others);
        let first = self.blocks[0].label;
        self.code.branch(GOTO, first);
    }

    /// `new Own()` without a word on the stack's state.
    pub fn new_own(&mut self) {
        let class = self.class.pool.class(&self.own);
        self.code.op2(NEW, class);
        self.code.op(DUP);
        let constructor = self.class.pool.method(&self.own, "<init>", "()V");
        self.code.op2(INVOKESPECIAL, constructor);
    }

    /// The blocks that are covered by handlers, and the exceptions that these catch.
    fn draw_ranges(&mut self, count: usize) -> Vec<(usize, usize, Option<&'static str>)> {
        let mut ranges = Vec::new();
        for _ in 0..self.rng.below(3) {
            let from = self.rng.below(count);
            let to = self.rng.between(from + 1, count);
            ranges.push((from, to, self.rng.pick(&CAUGHT)));
        }
        ranges
    }

    /// Blocks that take an exception and jump to some block.
    fn handlers(&mut self, ranges: &[(usize, usize, Option<&'static str>)], end: Label) {
        for (from, to, class) in ranges {
            let at = self.code.label();
            self.code.place(at);
            self.scratch = vec![None; self.scratch_slots.len()];
            self.stack = vec![Value::Throwable];
            self.state_frame();
            let class = class.map_or(0, |name| self.class.pool.class(name));
            let start = self.blocks[*from].label;
            let stop = self.blocks.get(*to).map_or(end, |block| block.label);
            self.code.handler(start, stop, at, class);
            let index = sink(&mut self.class.pool, Value::Throwable);
            self.code.op2(INVOKESTATIC, index);
            self.stack.clear();
            let next = self.rng.below(self.blocks.len());
            self.adapt(next);
            let label = self.blocks[next].label;
            self.code.branch(GOTO, label);
        }
    }

    /// The end: all values are written to the sink, and something is returned.
    fn leave(&mut self) {
        let exit = self.exit;
        self.code.place(exit);
        self.scratch = vec![None; self.scratch_slots.len()];
        self.stack.clear();
        self.state_frame();
        for (slot, value) in self.fixed.clone() {
            self.local(ILOAD, ILOAD_0, value, slot);
            let index = sink(&mut self.class.pool, value);
            self.code.op2(INVOKESTATIC, index);
        }
        self.give_result();
    }

    fn give_result(&mut self) {
        let ret = self.ret;
        let slot = self.fixed_slot(ret);
        self.local(ILOAD, ILOAD_0, ret, slot);
        self.code.op(IRETURN + ret.group());
    }

    /// One of the variables of a type.
    pub fn fixed_slot(&mut self, value: Value) -> u16 {
        let slots: Vec<u16> =
            self.fixed.iter().filter(|(_, v)| *v == value).map(|(slot, _)| *slot).collect();
        self.rng.pick(&slots)
    }

    fn block(&mut self, number: usize, limit: usize, trips: usize) {
        let label = self.blocks[number].label;
        self.code.place(label);
        self.stack = self.blocks[number].stack.clone();
        self.scratch = self.blocks[number].scratch.clone();
        self.state_frame();
        // Every block costs fuel; without any left the method ends, with any stack.
        let fuel = self.fuel;
        self.increment(fuel, -1);
        self.local(ILOAD, ILOAD_0, Value::Int, fuel);
        let go_on = self.code.label();
        self.code.branch(IFGT, go_on);
        if self.rng.chance(50) {
            self.give_result();
        } else {
            let stack = self.stack.clone();
            stack.iter().rev().for_each(|value| self.pop_value(*value));
            let exit = self.exit;
            self.code.branch(GOTO, exit);
        }
        self.code.place(go_on);
        self.state_frame();
        let steps = self.rng.between(1, 30).min(limit);
        for _ in 0..steps {
            self.step(trips);
        }
        self.transfer();
    }

    /// Ends a block: jumps somewhere, in one of many ways.
    fn transfer(&mut self) {
        let count = self.blocks.len();
        let (first, second) = (self.rng.below(count), self.rng.below(count));
        match self.rng.below(10) {
            0..=1 => self.jump(first),
            2..=6 => {
                // The branch needs the state of its target; the fall-through path adapts after it.
                self.adapt(first);
                let label = self.blocks[first].label;
                self.condition(label);
                self.jump(second);
            }
            7 | 8 => {
                // All targets of a switch see the same state, so they are the exit or adapters.
                self.load_any(Value::Int);
                self.stack.pop();
                let targets = self.rng.between(1, 5);
                let labels: Vec<Label> = (0..targets).map(|_| self.code.label()).collect();
                let default = self.code.label();
                if self.rng.chance(50) {
                    let low = self.rng.pick(&[-1, 0, 1, i32::MAX - 4, i32::MIN]);
                    self.code.table_switch(low, &labels, default);
                } else {
                    let keys = [i32::MIN, -7, 0, 1, 1000];
                    let cases: Vec<(i32, Label)> = keys.into_iter().zip(labels.clone()).collect();
                    self.code.lookup_switch(&cases, default);
                }
                let state = (self.stack.clone(), self.scratch.clone());
                for label in labels.into_iter().chain([default]) {
                    (self.stack, self.scratch) = state.clone();
                    self.code.place(label);
                    self.state_frame();
                    let target = self.rng.below(count);
                    self.jump(target);
                }
            }
            _ if self.rng.chance(70) => self.jump(first),
            _ => {
                let name = "java/lang/IllegalStateException";
                let class = self.class.pool.class(name);
                self.code.op2(NEW, class);
                self.code.op(DUP);
                let constructor = self.class.pool.method(name, "<init>", "()V");
                self.code.op2(INVOKESPECIAL, constructor);
                self.code.op(ATHROW);
            }
        }
    }

    fn jump(&mut self, to: usize) {
        self.adapt(to);
        let label = self.blocks[to].label;
        if self.rng.chance(10) { self.code.goto_wide(label) } else { self.code.branch(GOTO, label) }
    }

    /// A conditional branch on values that are loaded for it, or found.
    fn condition(&mut self, label: Label) {
        match self.rng.below(6) {
            0..=2 => {
                self.load_any(Value::Int);
                self.stack.pop();
                let opcode = IFEQ + self.rng.below(6) as u8;
                self.code.branch(opcode, label);
            }
            3 | 4 => {
                self.load_any(Value::Int);
                self.load_any(Value::Int);
                self.stack.truncate(self.stack.len() - 2);
                let opcode = IF_ICMPEQ + self.rng.below(6) as u8;
                self.code.branch(opcode, label);
            }
            _ => {
                let value = self.rng.pick(&[Value::Text, Value::Object, Value::Own]);
                self.load_any(value);
                self.stack.pop();
                let opcode = IFNULL + self.rng.below(2) as u8;
                self.code.branch(opcode, label);
            }
        }
    }

    /// Brings stack and scratch slots into the state in which a block begins.
    fn adapt(&mut self, to: usize) {
        let wanted = self.blocks[to].stack.clone();
        let fits = |have: &Value, want: &Value| {
            have == want || *want == Value::Object && have.is_reference()
        };
        let same = |stack: &[Value]| {
            stack.len() <= wanted.len()
                && stack.iter().zip(&wanted).all(|(have, want)| fits(have, want))
        };
        while !same(&self.stack) {
            let value = self.stack.pop().expect("an empty stack fits");
            self.pop_value(value);
        }
        for (have, want) in self.stack.iter_mut().zip(&wanted) {
            *have = *want;
        }
        for value in &wanted[self.stack.len()..] {
            self.load_any(*value);
        }
        for index in 0..self.scratch.len() {
            let want = self.blocks[to].scratch[index];
            match (self.scratch[index], want) {
                (_, None) => self.scratch[index] = None,
                (Some(have), Some(want)) if fits(&have, &want) => self.scratch[index] = Some(want),
                (_, Some(want)) => {
                    self.load_any(want);
                    self.stack.pop();
                    self.local(ISTORE, ISTORE_0, want, self.scratch_slots[index]);
                    self.scratch[index] = Some(want);
                }
            }
        }
    }

    fn pop_value(&mut self, value: Value) {
        self.code.op(if value.is_wide() { POP2 } else { POP });
    }

    /// The current state, at this place.
    pub fn state_frame(&mut self) {
        let mut by_slot: Vec<(u16, Value)> = self.fixed.clone();
        by_slot.push((self.fuel, Value::Int));
        let scratch = self.scratch_slots.iter().zip(&self.scratch);
        by_slot.extend(scratch.filter_map(|(slot, value)| Some((*slot, (*value)?))));
        by_slot.sort_by_key(|(slot, _)| *slot);
        let (mut locals, mut next) = (Vec::new(), 0);
        for (slot, value) in by_slot {
            locals.extend((next..slot).map(|_| Slot::Top));
            locals.push(value.slot(&self.own));
            next = slot + value.words();
        }
        let stack = self.stack.iter().map(|value| value.slot(&self.own)).collect();
        self.code.frame(Frame { locals, stack });
    }

    /// A load or store, in the shortest form or a longer one.
    pub fn local(&mut self, general: u8, short: u8, value: Value, slot: u16) {
        let group = value.group();
        match slot {
            0..=3 if self.rng.chance(80) => self.code.op(short + 4 * group + slot as u8),
            0..=255 if self.rng.chance(90) => self.code.op1(general + group, slot as u8),
            _ => {
                self.code.op(WIDE);
                self.code.op2(general + group, slot);
            }
        }
    }

    pub fn increment(&mut self, slot: u16, by: i16) {
        if slot > 255 || i8::try_from(by).is_err() || self.rng.chance(10) {
            self.code.op(WIDE);
            self.code.op2(IINC, slot);
            self.code.bytes.extend(by.to_be_bytes());
        } else {
            self.code.op(IINC);
            self.code.bytes.extend([slot as u8, by as u8]);
        }
    }

    /// Words on the stack.
    pub fn depth(&self) -> usize {
        self.stack.iter().map(|value| usize::from(value.words())).sum()
    }
}

/// The class that takes results; `bench/java/Sink.java`.
pub const SINK: &str = "Sink";

/// More words than this the generator does not put on the stack.
pub const STACK_MAX: usize = 24;

const CAUGHT: [Option<&str>; 6] = [
    None,
    Some("java/lang/Throwable"),
    Some("java/lang/RuntimeException"),
    Some("java/lang/ArithmeticException"),
    Some("java/lang/NullPointerException"),
    Some("java/lang/ArrayIndexOutOfBoundsException"),
];

/// In instructions; the interpreter takes about a second.
const TOTAL_COST: u64 = 25_000_000;
