//! Random instructions that are right for the state of the stack.

use super::bytecode::{Method, SINK, STACK_MAX, Signature, Value, sink};
use super::opcodes::*;

impl Method<'_> {
    /// One more instruction, or a few that belong together.
    pub fn step(&mut self, trips: usize) {
        self.cost += 3;
        if self.depth() > STACK_MAX - 8 {
            return self.consume();
        }
        match self.rng.below(100) {
            0..=17 => {
                let value = self.rng.pick(&USUAL);
                self.load_any(value);
            }
            18..=42 => self.compute(),
            43..=52 => self.shuffle(),
            53..=60 => self.store(),
            61..=64 => {
                let slot = self.fixed_slot(Value::Int);
                let by = self.rng.pick(&[1, -1, 3, 127, -128, 128, 1000, -32768]);
                self.increment(slot, by);
            }
            65..=71 => self.array(),
            72..=77 => self.field(),
            78..=83 => self.call(trips),
            84..=87 => self.library(),
            88..=90 => self.type_test(),
            91..=94 => self.diamond(),
            95 => self.lock(),
            96 => self.code.op(NOP),
            _ => self.consume(),
        }
    }

    fn top_is(&self, values: &[Value]) -> bool {
        self.stack.ends_with(values)
    }

    fn push(&mut self, value: Value) {
        self.stack.push(value);
    }

    fn drop(&mut self, count: usize) {
        self.stack.truncate(self.stack.len() - count);
    }

    /// Pushes a value of the type, from any source of one.
    pub fn load_any(&mut self, value: Value) {
        let scratch: Vec<u16> = self
            .scratch_slots
            .iter()
            .zip(&self.scratch)
            .filter(|(_, held)| **held == Some(value))
            .map(|(slot, _)| *slot)
            .collect();
        match self.rng.below(10) {
            0..=2 => return self.constant(value),
            3 => {
                let (own, descriptor) = (self.own.clone(), value.descriptor(&self.own));
                let field =
                    self.class.pool.field(&own, &format!("s{}", value.field()), &descriptor);
                self.code.op2(GETSTATIC, field);
            }
            4 | 5 if !scratch.is_empty() => {
                let slot = self.rng.pick(&scratch);
                self.local(ILOAD, ILOAD_0, value, slot);
            }
            _ => {
                let slot = self.fixed_slot(value);
                self.local(ILOAD, ILOAD_0, value, slot);
            }
        }
        self.push(value);
    }

    /// Pushes a constant, or something new.
    pub fn constant(&mut self, value: Value) {
        match value {
            Value::Int => {
                let edges = [i32::MIN, i32::MAX, 0x5555_5555, 65_535, 1 << 20, -129];
                let int = match self.rng.below(4) {
                    0 => self.rng.below(8) as i32 - 1,
                    1 => self.rng.bits() as i8 as i32,
                    2 => self.rng.bits() as i16 as i32,
                    _ => self.rng.pick(&edges),
                };
                return self.constant_int(int);
            }
            Value::Long => match self.rng.below(3) {
                0 => {
                    let opcode = LCONST_0 + self.rng.below(2) as u8;
                    self.code.op(opcode);
                }
                _ => {
                    let edges = [i64::MIN, i64::MAX, -1, 1 << 32, 0xFFFF_FFFF, 1 << 53, 77];
                    let value = self.rng.pick(&edges);
                    let index = self.class.pool.long(value);
                    self.code.op2(LDC2_W, index);
                }
            },
            Value::Float => match self.rng.below(3) {
                0 => {
                    let opcode = FCONST_0 + self.rng.below(3) as u8;
                    self.code.op(opcode);
                }
                _ => {
                    let edges = [f32::NAN, f32::INFINITY, -0.0, 0.1, 3e9, -1e-40, f32::MAX];
                    let value = self.rng.pick(&edges);
                    let index = self.class.pool.float(value);
                    self.ldc(index);
                }
            },
            Value::Double => match self.rng.below(3) {
                0 => {
                    let opcode = DCONST_0 + self.rng.below(2) as u8;
                    self.code.op(opcode);
                }
                _ => {
                    let edges = [f64::NAN, f64::NEG_INFINITY, -0.0, 0.1, 1e19, 5e-324, 2.5];
                    let value = self.rng.pick(&edges);
                    let index = self.class.pool.double(value);
                    self.code.op2(LDC2_W, index);
                }
            },
            _ if self.rng.chance(4) => self.code.op(ACONST_NULL),
            Value::Text => {
                let text = self.rng.pick(&["", "a", "some text", "\u{e9}t\u{e9}", "12345"]);
                let index = self.class.pool.string(text);
                self.ldc(index);
            }
            Value::Ints => {
                let length = self.rng.pick(&[8, 8, 16, 0, 3]);
                self.code.op1(BIPUSH, length);
                self.code.op1(NEWARRAY, 10);
            }
            Value::Own | Value::Object | Value::Throwable => self.new_own(),
        }
        self.push(value);
    }

    pub fn constant_int(&mut self, int: i32) {
        match int {
            -1..=5 if self.rng.chance(80) => self.code.op((i32::from(ICONST_0) + int) as u8),
            -128..=127 if self.rng.chance(90) => self.code.op1(BIPUSH, int as i8 as u8),
            -32768..=32767 if self.rng.chance(90) => self.code.op2(SIPUSH, int as i16 as u16),
            _ => {
                let index = self.class.pool.int(int);
                self.ldc(index);
            }
        }
        self.push(Value::Int);
    }

    fn ldc(&mut self, index: u16) {
        match u8::try_from(index) {
            Ok(index) if self.rng.chance(80) => self.code.op1(LDC, index),
            _ => self.code.op2(LDC_W, index),
        }
    }

    /// Arithmetic, shifts, conversions, comparisons.
    fn compute(&mut self) {
        let numbers = [Value::Int, Value::Long, Value::Float, Value::Double];
        let top = self.stack.last().copied().filter(|value| numbers.contains(value));
        let Some(top) = top.filter(|_| self.rng.chance(85)) else {
            let value =
                self.rng.pick(&[Value::Int, Value::Int, Value::Long, Value::Double, Value::Float]);
            return self.load_any(value);
        };
        let integral = matches!(top, Value::Int | Value::Long);
        match self.rng.below(12) {
            0..=4 => {
                self.load_second(top);
                let kind = self.rng.below(if integral { 3 } else { 5 }) as u8;
                self.code.op(IADD + 4 * kind + top.group());
                self.drop(1);
            }
            5 if integral => {
                self.load_second(top);
                if self.rng.chance(80) {
                    // An odd divisor is not zero.
                    if top == Value::Int {
                        self.code.op(ICONST_0 + 1)
                    } else {
                        self.code.op(LCONST_0 + 1)
                    }
                    self.code.op(IOR + top.group());
                }
                let kind = 3 + self.rng.below(2) as u8;
                self.code.op(IADD + 4 * kind + top.group());
                self.drop(1);
            }
            6 if integral => {
                self.load_second(top);
                let kind = self.rng.below(3) as u8;
                self.code.op(IAND + 2 * kind + top.group());
                self.drop(1);
            }
            7 if integral => {
                self.load_any(Value::Int);
                let kind = self.rng.below(3) as u8;
                self.code.op(ISHL + 2 * kind + top.group());
                self.drop(1);
            }
            8 => self.code.op(INEG + top.group()),
            9 | 10 => self.convert(top),
            _ => self.compare(top),
        }
    }

    /// A second operand: sometimes the first once more.
    fn load_second(&mut self, value: Value) {
        if self.rng.chance(10) {
            self.code.op(if value.is_wide() { DUP2 } else { DUP });
            self.push(value);
        } else {
            self.load_any(value);
        }
    }

    fn convert(&mut self, from: Value) {
        use Value::{Double, Float, Int, Long};
        if from == Int && self.rng.chance(50) {
            // i2b, i2c, i2s
            let opcode = 145 + self.rng.below(3) as u8;
            return self.code.op(opcode);
        }
        let to = self.rng.pick(&[Int, Long, Float, Double]);
        if to == from {
            return;
        }
        // Three conversions for each type, in the order of the types, leaving out its own.
        let to_group = to.group() - u8::from(to.group() > from.group());
        self.code.op(I2L + 3 * from.group() + to_group);
        self.drop(1);
        self.push(to);
    }

    fn compare(&mut self, value: Value) {
        let more = self.rng.below(2) as u8;
        let opcode = match value {
            Value::Long => LCMP,
            Value::Float => FCMPL + more,
            Value::Double => DCMPL + more,
            _ => return,
        };
        self.load_any(value);
        self.code.op(opcode);
        self.drop(2);
        self.push(Value::Int);
    }

    /// Rearranges the stack in a way that the sizes of its entries allow.
    fn shuffle(&mut self) {
        let wide: Vec<bool> =
            self.stack.iter().rev().take(4).map(|value| value.is_wide()).collect();
        let narrow = |at: usize| wide.get(at) == Some(&false);
        let is_wide = |at: usize| wide.get(at) == Some(&true);
        // Opcode, how many entries are copied, below how many more they are put.
        let mut possible = Vec::new();
        if narrow(0) {
            possible.extend([(DUP, 1, 0), (POP, 0, 0)]);
            if narrow(1) {
                possible.extend([
                    (SWAP, 0, 0),
                    (SWAP, 0, 0),
                    (DUP_X1, 1, 1),
                    (DUP2, 2, 0),
                    (POP2, 0, 0),
                ]);
                if narrow(2) {
                    possible.extend([(DUP_X2, 1, 2), (DUP2_X1, 2, 1)]);
                    if narrow(3) {
                        possible.push((DUP2_X2, 2, 2));
                    }
                    if is_wide(3) {
                        // Not `dup2_x2`: the wide entry is the fourth, not the third.
                        possible.push((DUP2_X1, 2, 1));
                    }
                }
                if is_wide(2) {
                    possible.push((DUP2_X2, 2, 1));
                }
            }
            if is_wide(1) {
                possible.push((DUP_X2, 1, 1));
            }
        }
        if is_wide(0) {
            possible.extend([(DUP2, 1, 0), (POP2, 0, 0)]);
            if narrow(1) {
                possible.push((DUP2_X1, 1, 1));
                if narrow(2) {
                    possible.push((DUP2_X2, 1, 2));
                }
            }
            if is_wide(1) {
                possible.push((DUP2_X2, 1, 1));
            }
        }
        if possible.is_empty() {
            return self.load_any(Value::Int);
        }
        let (opcode, copied, below) = self.rng.pick(&possible);
        self.code.op(opcode);
        let length = self.stack.len();
        match opcode {
            POP => self.drop(1),
            POP2 if is_wide(0) => self.drop(1),
            POP2 => self.drop(2),
            SWAP => self.stack.swap(length - 1, length - 2),
            _ => {
                let copy = self.stack[length - copied..].to_vec();
                let at = length - copied - below;
                self.stack.splice(at..at, copy);
            }
        }
    }

    fn store(&mut self) {
        let Some(top) = self.stack.last().copied() else {
            return self.load_any(Value::Int);
        };
        if !self.scratch_slots.is_empty() && self.rng.chance(40) {
            let index = self.rng.below(self.scratch_slots.len());
            self.local(ISTORE, ISTORE_0, top, self.scratch_slots[index]);
            self.scratch[index] = Some(top);
        } else if top != Value::Throwable {
            let slot = self.fixed_slot(top);
            self.local(ISTORE, ISTORE_0, top, slot);
        } else {
            self.code.op(POP);
        }
        self.drop(1);
    }

    fn array(&mut self) {
        let known = if self.rng.chance(95) { Value::Ints } else { Value::Object };
        match self.rng.below(8) {
            0 => {
                self.load_any(Value::Ints);
                self.code.op(ARRAYLENGTH);
                self.drop(1);
                self.push(Value::Int);
            }
            1 => {
                let length = self.rng.pick(&[8, 9, 16]);
                self.constant_int(length);
                self.code.op1(NEWARRAY, 10);
                self.drop(1);
                self.push(Value::Ints);
            }
            2 => {
                // Rows of a new matrix.
                self.code.op1(BIPUSH, 2);
                self.code.op1(BIPUSH, 8);
                let class = self.class.pool.class("[[I");
                self.code.op2(MULTIANEWARRAY, class);
                self.code.bytes.push(2);
                let row = self.rng.below(2) as u8;
                self.code.op(ICONST_0 + row);
                self.code.op(AALOAD);
                self.push(Value::Ints);
            }
            3..=5 => {
                self.load_any(known);
                self.as_ints(known);
                self.index();
                self.code.op(IALOAD);
                self.drop(2);
                self.push(Value::Int);
            }
            _ => {
                self.load_any(Value::Ints);
                self.index();
                self.load_any(Value::Int);
                self.code.op(IASTORE);
                self.drop(3);
            }
        }
    }

    fn as_ints(&mut self, value: Value) {
        if value != Value::Ints {
            let class = self.class.pool.class("[I");
            self.code.op2(CHECKCAST, class);
            self.drop(1);
            self.push(Value::Ints);
        }
    }

    /// Usually between 0 and 7.
    fn index(&mut self) {
        self.load_any(Value::Int);
        if self.rng.chance(95) {
            self.constant_int(7);
            self.code.op(IAND);
            self.drop(1);
        }
    }

    fn field(&mut self) {
        let value = self.rng.pick(&USUAL);
        let (own, descriptor) = (self.own.clone(), value.descriptor(&self.own));
        let name = value.field();
        let pool = &mut self.class.pool;
        let (of_class, of_object) = (
            pool.field(&own, &format!("s{name}"), &descriptor),
            pool.field(&own, name, &descriptor),
        );
        match self.rng.below(4) {
            0 => {
                self.code.op2(GETSTATIC, of_class);
                self.push(value);
            }
            1 => {
                self.load_any(value);
                self.code.op2(PUTSTATIC, of_class);
                self.drop(1);
            }
            2 => {
                self.load_any(Value::Own);
                self.code.op2(GETFIELD, of_object);
                self.drop(1);
                self.push(value);
            }
            _ => {
                self.load_any(Value::Own);
                self.load_any(value);
                self.code.op2(PUTFIELD, of_object);
                self.drop(2);
            }
        }
    }

    /// Calls a method that is finished, if it does not take too long.
    fn call(&mut self, trips: usize) {
        let affordable = |m: &&Signature| m.cost * trips as u64 <= CALL_COST_MAX;
        let methods: Vec<&Signature> = self.known.iter().filter(affordable).collect();
        let room = |m: &Signature| m.params.len() * 2 + 2 + self.depth() < STACK_MAX;
        let methods: Vec<&Signature> = methods.into_iter().filter(|m| room(m)).collect();
        if methods.is_empty() {
            return self.library();
        }
        let method = self.rng.pick(&methods).clone();
        self.cost += method.cost;
        let before = self.stack.len();
        if !method.is_static {
            self.load_any(Value::Own);
        }
        for param in &method.params {
            // A string is an object too.
            let given = match param {
                Value::Object => {
                    self.rng.pick(&[Value::Object, Value::Text, Value::Ints, Value::Own])
                }
                other => *other,
            };
            self.load_any(given);
        }
        let descriptor = method.descriptor(&self.own);
        let target = self.class.pool.method(&self.own.clone(), &method.name, &descriptor);
        self.code.op2(if method.is_static { INVOKESTATIC } else { INVOKEVIRTUAL }, target);
        self.stack.truncate(before);
        self.push(method.ret);
    }

    fn library(&mut self) {
        use Value::{Double, Int, Long, Text};
        let (class, name, params, ret): (&str, &str, &[Value], Value) = self.rng.pick(&[
            ("java/lang/Math", "max", &[Int, Int][..], Int),
            ("java/lang/Math", "abs", &[Long], Long),
            ("java/lang/Math", "sqrt", &[Double], Double),
            ("java/lang/Math", "min", &[Double, Double], Double),
            ("java/lang/Integer", "bitCount", &[Int], Int),
            ("java/lang/Integer", "rotateLeft", &[Int, Int], Int),
            ("java/lang/Long", "numberOfTrailingZeros", &[Long], Int),
            ("java/lang/Long", "reverse", &[Long], Long),
            ("java/lang/Integer", "toString", &[Int], Text),
        ]);
        if self.rng.chance(30) {
            self.load_any(Text);
            let pool = &mut self.class.pool;
            if self.rng.chance(50) {
                let method = pool.method("java/lang/String", "length", "()I");
                self.code.op2(INVOKEVIRTUAL, method);
            } else {
                let method = pool.interface_method("java/lang/CharSequence", "length", "()I");
                self.code.op2(INVOKEINTERFACE, method);
                self.code.bytes.extend([1, 0]);
            }
            self.drop(1);
            return self.push(Int);
        }
        self.cost += 4;
        params.iter().for_each(|param| self.load_any(*param));
        let descriptors: String = params.iter().map(|param| param.descriptor("")).collect();
        let descriptor = format!("({descriptors}){}", ret.descriptor(""));
        let method = self.class.pool.method(class, name, &descriptor);
        self.code.op2(INVOKESTATIC, method);
        self.drop(params.len());
        self.push(ret);
    }

    fn type_test(&mut self) {
        let (value, name) = self.rng.pick(&[
            (Value::Text, "java/lang/String"),
            (Value::Ints, "[I"),
            (Value::Object, "java/lang/Comparable"),
            (Value::Object, "java/lang/Object"),
            (Value::Own, ""),
        ]);
        let name = if name.is_empty() { self.own.clone() } else { name.to_string() };
        let class = self.class.pool.class(&name);
        self.load_any(Value::Object);
        self.drop(1);
        // A cast that fails costs more than all other instructions.
        if self.rng.chance(90) {
            self.code.op2(INSTANCEOF, class);
            self.push(Value::Int);
        } else {
            self.code.op2(CHECKCAST, class);
            self.push(value);
        }
    }

    /// A small branch inside of a block, with any stack, that pushes one of two values.
    fn diamond(&mut self) {
        let (other, after) = (self.code.label(), self.code.label());
        let value = self.rng.pick(&USUAL);
        if self.rng.chance(25) {
            let reference = self.rng.pick(&[Value::Object, Value::Text, Value::Own]);
            self.load_any(reference);
            self.load_any(reference);
            self.drop(2);
            let opcode = IF_ACMPEQ + self.rng.below(2) as u8;
            self.code.branch(opcode, other);
        } else {
            self.load_any(Value::Int);
            self.drop(1);
            let opcode = IFEQ + self.rng.below(6) as u8;
            self.code.branch(opcode, other);
        }
        self.load_any(value);
        self.code.branch(GOTO, after);
        self.drop(1);
        self.code.place(other);
        self.state_frame();
        self.load_any(value);
        self.code.place(after);
        self.state_frame();
    }

    /// A lock around a little arithmetic that cannot throw.
    fn lock(&mut self) {
        self.new_own();
        self.push(Value::Own);
        self.code.op(DUP);
        self.code.op(MONITORENTER);
        let slot = self.fixed_slot(Value::Int);
        self.increment(slot, 5);
        self.code.op(MONITOREXIT);
        self.drop(1);
    }

    /// Takes something off the stack, into the sink mostly.
    fn consume(&mut self) {
        let Some(top) = self.stack.last().copied() else {
            return self.load_any(Value::Long);
        };
        let ints = [Value::Int, Value::Int, Value::Int];
        if self.top_is(&ints) && self.rng.chance(20) {
            let three = self.class.pool.method(SINK, "mix", "(III)V");
            self.code.op2(INVOKESTATIC, three);
            return self.drop(3);
        }
        let index = sink(&mut self.class.pool, top);
        self.code.op2(INVOKESTATIC, index);
        self.drop(1);
    }
}

/// Types of loaded values; numbers more often than others.
const USUAL: [Value; 10] = {
    use Value::*;
    [Int, Int, Int, Long, Long, Float, Double, Text, Ints, Own]
};

/// In instructions, all calls of one method by one run of another.
const CALL_COST_MAX: u64 = 30_000;
