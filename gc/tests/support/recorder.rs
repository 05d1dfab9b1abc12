//! An emitter that records the emitted operations as a small program, and runs it.

use gc::barrier::BarrierSet;
use gc::barrier::barrier_asm::{ARGUMENTS_MAX, Condition, Instructions, SlowPath, Stub};
use gc::barrier::emitter::{Emitter, Operand};
use gc::threads::mutator::{Mutator, ThreadField};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// A recorded program. Operands `0..inputs` are its inputs.
pub struct Program {
    inputs: usize,
    steps: Vec<Step>,
    /// By operand: whether it may be used now.
    defined: Vec<bool>,
    open: Vec<OpenBranch>,
    pub result: Option<Operand>,
}

enum Step {
    /// Yields an operand.
    Value(Operand, Instruction),
    SetThreadField(ThreadField, Operand),
    Store(Width, Place, Operand),
    /// With the steps of its `Otherwise` and `Join`.
    Branch(Condition<Operand>, usize, usize),
    Otherwise(Operand),
    Join(Operand, Operand),
}

enum Instruction {
    Constant(u64),
    ThreadField(ThreadField),
    Load(Width, Place),
    CompareExchange(Width, Place, Operand, Operand),
    Swap(Width, Place, Operand),
    Binary(fn(u64, u64) -> u64, Operand, Operand),
    Call(SlowPath, Vec<Operand>),
    CallStub(Stub, Vec<Operand>),
}

#[derive(Clone, Copy)]
enum Width {
    One,
    Four,
    Eight,
}

type Place = (Operand, Operand);

struct OpenBranch {
    step: usize,
    /// Operands that there were when the present side began.
    before: usize,
}

impl Program {
    /// Records the operations that `emit` emits for `inputs` inputs.
    pub fn record(
        inputs: usize,
        emit: impl FnOnce(&mut dyn Emitter, &[Operand]) -> Option<Operand>,
    ) -> Program {
        let mut program = Program {
            inputs,
            steps: Vec::new(),
            defined: vec![true; inputs],
            open: Vec::new(),
            result: None,
        };
        let operands: Vec<_> = (0..inputs as u32).map(Operand).collect();
        let result = emit(&mut program, &operands);
        program.result = result.map(|result| program.checked(result));
        assert!(program.open.is_empty(), "a branch was not joined");
        program
    }

    /// An operand must have been made before, not on a side of a branch that is over.
    fn checked(&self, operand: Operand) -> Operand {
        assert!(self.defined[operand.0 as usize], "{operand:?} is not defined here");
        operand
    }

    fn place(&self, base: Operand, offset: Operand) -> Place {
        (self.checked(base), self.checked(offset))
    }

    fn fresh(&mut self) -> Operand {
        self.defined.push(true);
        Operand(self.defined.len() as u32 - 1)
    }

    fn push(&mut self, instruction: Instruction) -> Operand {
        let operand = self.fresh();
        self.steps.push(Step::Value(operand, instruction));
        operand
    }

    fn binary(&mut self, f: fn(u64, u64) -> u64, a: Operand, b: Operand) -> Operand {
        let (a, b) = self.place(a, b);
        self.push(Instruction::Binary(f, a, b))
    }

    fn end_side(&mut self) -> OpenBranch {
        let side = self.open.pop().expect("a branch is open");
        self.defined[side.before..].fill(false);
        side
    }
}

impl Instructions for Program {
    type Value = Operand;

    fn constant(&mut self, value: u64) -> Operand {
        self.push(Instruction::Constant(value))
    }

    fn thread_field(&mut self, field: ThreadField) -> Operand {
        self.push(Instruction::ThreadField(field))
    }

    fn set_thread_field(&mut self, field: ThreadField, value: Operand) {
        let value = self.checked(value);
        self.steps.push(Step::SetThreadField(field, value));
    }

    fn load32(&mut self, base: Operand, offset: Operand) -> Operand {
        let place = self.place(base, offset);
        self.push(Instruction::Load(Width::Four, place))
    }

    fn load64(&mut self, base: Operand, offset: Operand) -> Operand {
        let place = self.place(base, offset);
        self.push(Instruction::Load(Width::Eight, place))
    }

    fn store32(&mut self, base: Operand, offset: Operand, value: Operand) {
        let step = Step::Store(Width::Four, self.place(base, offset), self.checked(value));
        self.steps.push(step);
    }

    fn store64(&mut self, base: Operand, offset: Operand, value: Operand) {
        let step = Step::Store(Width::Eight, self.place(base, offset), self.checked(value));
        self.steps.push(step);
    }

    fn load8(&mut self, base: Operand, offset: Operand) -> Operand {
        let place = self.place(base, offset);
        self.push(Instruction::Load(Width::One, place))
    }

    fn store8(&mut self, base: Operand, offset: Operand, value: Operand) {
        let step = Step::Store(Width::One, self.place(base, offset), self.checked(value));
        self.steps.push(step);
    }

    fn compare_exchange32(
        &mut self,
        base: Operand,
        offset: Operand,
        expected: Operand,
        new: Operand,
    ) -> Operand {
        let (place, (expected, new)) = (self.place(base, offset), self.place(expected, new));
        self.push(Instruction::CompareExchange(Width::Four, place, expected, new))
    }

    fn compare_exchange64(
        &mut self,
        base: Operand,
        offset: Operand,
        expected: Operand,
        new: Operand,
    ) -> Operand {
        let (place, (expected, new)) = (self.place(base, offset), self.place(expected, new));
        self.push(Instruction::CompareExchange(Width::Eight, place, expected, new))
    }

    fn swap32(&mut self, base: Operand, offset: Operand, value: Operand) -> Operand {
        let (place, value) = (self.place(base, offset), self.checked(value));
        self.push(Instruction::Swap(Width::Four, place, value))
    }

    fn swap64(&mut self, base: Operand, offset: Operand, value: Operand) -> Operand {
        let (place, value) = (self.place(base, offset), self.checked(value));
        self.push(Instruction::Swap(Width::Eight, place, value))
    }

    fn add(&mut self, a: Operand, b: Operand) -> Operand {
        self.binary(u64::wrapping_add, a, b)
    }

    fn sub(&mut self, a: Operand, b: Operand) -> Operand {
        self.binary(u64::wrapping_sub, a, b)
    }

    fn and(&mut self, a: Operand, b: Operand) -> Operand {
        self.binary(|a, b| a & b, a, b)
    }

    fn or(&mut self, a: Operand, b: Operand) -> Operand {
        self.binary(|a, b| a | b, a, b)
    }

    fn shift_left(&mut self, a: Operand, bits: u8) -> Operand {
        let bits = self.constant(u64::from(bits));
        self.binary(|a, b| a << b, a, bits)
    }

    fn shift_right(&mut self, a: Operand, bits: u8) -> Operand {
        let bits = self.constant(u64::from(bits));
        self.binary(|a, b| a >> b, a, bits)
    }

    fn call(&mut self, path: SlowPath, arguments: &[Operand]) -> Operand {
        let arguments = arguments.iter().map(|argument| self.checked(*argument)).collect();
        self.push(Instruction::Call(path, arguments))
    }

    fn call_stub(&mut self, stub: Stub, arguments: &[Operand]) -> Operand {
        let arguments = arguments.iter().map(|argument| self.checked(*argument)).collect();
        self.push(Instruction::CallStub(stub, arguments))
    }
}

impl Emitter for Program {
    fn truth(&self, _condition: Condition<Operand>) -> Option<bool> {
        None
    }

    fn branch(&mut self, condition: Condition<Operand>, _then_is_cold: bool) {
        match condition {
            Condition::Equal(a, b) | Condition::NotEqual(a, b) | Condition::Below(a, b) => {
                self.place(a, b);
            }
            Condition::Sign32(a) => {
                self.checked(a);
            }
        }
        self.open.push(OpenBranch { step: self.steps.len(), before: self.defined.len() });
        self.steps.push(Step::Branch(condition, 0, 0));
    }

    fn otherwise(&mut self, then_value: Operand) {
        let then_value = self.checked(then_value);
        let step = self.end_side().step;
        self.open.push(OpenBranch { step, before: self.defined.len() });
        let here = self.steps.len();
        let Step::Branch(_, otherwise, _) = &mut self.steps[step] else { unreachable!() };
        assert_eq!(std::mem::replace(otherwise, here), 0, "a branch with two else-sides");
        self.steps.push(Step::Otherwise(then_value));
    }

    fn join(&mut self, else_value: Operand) -> Operand {
        let else_value = self.checked(else_value);
        let step = self.end_side().step;
        let here = self.steps.len();
        let Step::Branch(_, otherwise, join) = &mut self.steps[step] else { unreachable!() };
        assert_ne!(*otherwise, 0, "a branch was joined that has no else-side");
        *join = here;
        let operand = self.fresh();
        self.steps.push(Step::Join(operand, else_value));
        operand
    }
}

/// Runs programs on behalf of a thread.
pub struct Machine<'a> {
    pub m: &'a Mutator,
    pub barriers: &'a dyn BarrierSet,
    /// The slow paths taken, in order.
    pub calls: Vec<SlowPath>,
    values: Vec<u64>,
}

impl<'a> Machine<'a> {
    pub fn new(m: &'a Mutator, barriers: &'a dyn BarrierSet) -> Machine<'a> {
        Machine { m, barriers, calls: Vec::new(), values: Vec::new() }
    }

    /// The value that the program yields, 0 if it yields nothing.
    pub fn run(&mut self, program: &Program, inputs: &[u64]) -> u64 {
        assert_eq!(inputs.len(), program.inputs);
        self.values = inputs.to_vec();
        self.values.resize(program.defined.len(), 0);
        let end = self.run_side(&program.steps, 0);
        assert_eq!(end, program.steps.len());
        program.result.map_or(0, |result| self.value(result))
    }

    /// Runs from a step to the end of the side of the branch that it is in; returns that.
    fn run_side(&mut self, steps: &[Step], mut step: usize) -> usize {
        while step < steps.len() {
            match &steps[step] {
                Step::Value(operand, instruction) => {
                    self.values[operand.0 as usize] = self.result(instruction);
                }
                Step::SetThreadField(field, value) => {
                    thread_word(self.m, *field).store(self.value(*value), Ordering::Relaxed);
                }
                Step::Store(width, place, value) => self.store(*width, *place, *value),
                Step::Branch(condition, otherwise, join) => {
                    let value = if self.test(condition).holds() {
                        assert_eq!(self.run_side(steps, step + 1), *otherwise);
                        let Step::Otherwise(value) = &steps[*otherwise] else { unreachable!() };
                        self.value(*value)
                    } else {
                        assert_eq!(self.run_side(steps, otherwise + 1), *join);
                        let Step::Join(_, value) = &steps[*join] else { unreachable!() };
                        self.value(*value)
                    };
                    let Step::Join(operand, _) = &steps[*join] else { unreachable!() };
                    self.values[operand.0 as usize] = value;
                    step = *join;
                }
                Step::Otherwise(_) | Step::Join(..) => return step,
            }
            step += 1;
        }
        step
    }

    fn result(&mut self, instruction: &Instruction) -> u64 {
        match instruction {
            Instruction::Constant(value) => *value,
            Instruction::ThreadField(field) => thread_word(self.m, *field).load(Ordering::Relaxed),
            Instruction::Load(Width::One, place) => {
                u64::from(self.byte(*place).load(Ordering::Relaxed))
            }
            Instruction::Load(Width::Four, place) => {
                u64::from(self.word32(*place).load(Ordering::Acquire))
            }
            Instruction::Load(Width::Eight, place) => self.word64(*place).load(Ordering::Acquire),
            Instruction::CompareExchange(width, place, expected, new) => {
                self.compare_exchange(*width, *place, self.value(*expected), self.value(*new))
            }
            Instruction::Swap(Width::One, ..) => unreachable!("bytes are only loaded and stored"),
            Instruction::Swap(Width::Four, place, value) => {
                let value = self.value(*value) as u32;
                u64::from(self.word32(*place).swap(value, Ordering::SeqCst))
            }
            Instruction::Swap(Width::Eight, place, value) => {
                self.word64(*place).swap(self.value(*value), Ordering::SeqCst)
            }
            Instruction::Binary(f, a, b) => f(self.value(*a), self.value(*b)),
            Instruction::Call(path, arguments) => {
                self.calls.push(*path);
                let arguments = self.all(arguments);
                self.barriers.slow_path(self.m, path.id, arguments)
            }
            Instruction::CallStub(stub, arguments) => {
                let code = Program::record(ARGUMENTS_MAX, |e, inputs| {
                    let [a, b, c] = *inputs else { unreachable!() };
                    Some(self.barriers.emit_stub(e, *stub, [a, b, c]))
                });
                let mut callee = Machine::new(self.m, self.barriers);
                let result = callee.run(&code, &self.all(arguments));
                self.calls.append(&mut callee.calls);
                result
            }
        }
    }

    /// Those that are not given are what no operation would take.
    fn all(&self, arguments: &[Operand]) -> [u64; ARGUMENTS_MAX] {
        std::array::from_fn(|i| arguments.get(i).map_or(0xdead << 48, |a| self.value(*a)))
    }

    fn store(&self, width: Width, place: Place, value: Operand) {
        let value = self.value(value);
        match width {
            Width::One => self.byte(place).store(value as u8, Ordering::Relaxed),
            Width::Four => self.word32(place).store(value as u32, Ordering::Release),
            Width::Eight => self.word64(place).store(value, Ordering::Release),
        }
    }

    fn compare_exchange(&self, width: Width, place: Place, expected: u64, new: u64) -> u64 {
        let order = Ordering::SeqCst;
        match width {
            Width::One => unreachable!("bytes are only loaded and stored"),
            Width::Four => {
                let (expected, new) = (expected as u32, new as u32);
                let held = self.word32(place).compare_exchange(expected, new, order, order);
                u64::from(held.unwrap_or_else(|held| held))
            }
            Width::Eight => {
                let held = self.word64(place).compare_exchange(expected, new, order, order);
                held.unwrap_or_else(|held| held)
            }
        }
    }

    fn test(&self, condition: &Condition<Operand>) -> Condition<u64> {
        match *condition {
            Condition::Equal(a, b) => Condition::Equal(self.value(a), self.value(b)),
            Condition::NotEqual(a, b) => Condition::NotEqual(self.value(a), self.value(b)),
            Condition::Below(a, b) => Condition::Below(self.value(a), self.value(b)),
            Condition::Sign32(a) => Condition::Sign32(self.value(a)),
        }
    }

    fn value(&self, operand: Operand) -> u64 {
        self.values[operand.0 as usize]
    }

    fn address(&self, (base, offset): Place) -> usize {
        self.value(base).wrapping_add(self.value(offset)) as usize
    }

    fn byte(&self, place: Place) -> &'static AtomicU8 {
        // SAFETY: barriers name bytes of the collector's tables.
        unsafe { AtomicU8::from_ptr(self.address(place) as *mut u8) }
    }

    fn word32(&self, place: Place) -> &'static AtomicU32 {
        // SAFETY: barriers name words of live objects, root slots and the collector's tables.
        unsafe { AtomicU32::from_ptr(self.address(place) as *mut u32) }
    }

    fn word64(&self, place: Place) -> &'static AtomicU64 {
        // SAFETY: as in `word32`.
        unsafe { AtomicU64::from_ptr(self.address(place) as *mut u64) }
    }
}

/// A word of a thread block, found as compiled code finds it.
pub fn thread_word(m: &Mutator, field: ThreadField) -> &AtomicU64 {
    // SAFETY: `field` names an aligned word inside the block, which no other thread touches while its owner runs.
    unsafe { AtomicU64::from_ptr((&raw const *m).byte_add(field.offset()).cast_mut().cast()) }
}
