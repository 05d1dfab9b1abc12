//! One method: the walk over its instructions.

use super::Hierarchy;
use super::error::{Fault, Origin, Reason};
use super::frame::Frame;
use super::stack_map::{Decoder, StackMap};
use super::vtype::{Descriptors, Types, VType};
use crate::bytecode::{Instruction, Instructions, op};
use crate::symbol::Symbol;
use crate::{BasicType, ClassFile, Code, ConstantPool, MethodDescriptor, MethodInfo};

pub struct MethodVerifier<'a, 'h, H: Hierarchy> {
    pub class: &'a ClassFile,
    pub superclasses: &'a [Symbol],
    pub method: &'a MethodInfo,
    pub code: &'a Code,
    pub types: &'a mut Types<'h, H>,
    pub descriptors: &'a mut Descriptors,
    pub this_type: VType,
    pub frame: Frame,
    /// Which bcis are the starts of instructions.
    starts: Vec<bool>,
    pub map: StackMap,
    /// By handler: the version and flag of the frame that was last found to fit.
    checked_handlers: Vec<Option<(u64, bool)>>,
}

impl<'a, 'h, H: Hierarchy> MethodVerifier<'a, 'h, H> {
    pub fn new(
        class: &'a ClassFile,
        superclasses: &'a [Symbol],
        method: &'a MethodInfo,
        code: &'a Code,
        types: &'a mut Types<'h, H>,
        descriptors: &'a mut Descriptors,
    ) -> Self {
        let this_type = VType::Reference(class.name);
        let is_constructor = method.name.bytes() == b"<init>" && !superclasses.is_empty();
        let receiver = if is_constructor { VType::UninitializedThis } else { this_type };
        let receiver = (!method.is_static()).then_some(receiver);
        let slots = descriptors.slots(method.descriptor);
        let (max_locals, max_stack) = (code.max_locals as usize, code.max_stack as usize);
        let frame = Frame::at_entry(receiver, &slots.arguments, max_locals, max_stack);
        MethodVerifier {
            class,
            superclasses,
            method,
            code,
            types,
            descriptors,
            this_type,
            frame,
            starts: Vec::new(),
            map: StackMap::default(),
            checked_handlers: vec![None; code.exception_table.len()],
        }
    }

    pub fn pool(&self) -> &'a ConstantPool {
        &self.class.constant_pool
    }

    pub fn run(&mut self) -> Result<(), Fault<H::Error>> {
        self.find_starts()?;
        self.check_exception_table()?;
        self.check_local_variables()?;
        if let Some(table) = &self.code.stack_map_table {
            let decoder = Decoder {
                table,
                pool: self.pool(),
                bytecode: &self.code.bytecode,
                starts: &self.starts,
                max_locals: self.code.max_locals as usize,
                max_stack: self.code.max_stack as usize,
            };
            self.map = decoder.decode(&self.frame)?;
        }
        self.walk()
    }

    fn walk(&mut self) -> Result<(), Fault<H::Error>> {
        let code = self.code;
        let mut falls_through = true;
        let mut next_map = 0;
        for instruction in Instructions::new(&code.bytecode) {
            let instruction =
                instruction.map_err(|bad| Fault::bad_code(bad.bci, "Bad instruction"))?;
            let bci = instruction.bci;
            self.frame.start(bci);
            next_map = self.meet_map(next_map, bci, falls_through)?;
            // A store changes the locals, but an exception would come before it.
            let is_store = (op::ISTORE..=op::ASTORE_3).contains(&instruction.opcode);
            if is_store {
                self.check_handlers(bci, false)?;
            }
            let constructed_this = self.execute(&instruction)?;
            if !is_store {
                self.check_handlers(bci, constructed_this)?;
            }
            falls_through = !instruction.ends_block();
        }
        if falls_through {
            let end = code.bytecode.len();
            return Err(Fault::bad_code(end, "Control flow falls through code end"));
        }
        Ok(())
    }

    /// Compares with the table's frame at this bci, if there is one, and continues with that.
    /// Returns the index of the table's next frame.
    fn meet_map(
        &mut self,
        next: usize,
        bci: usize,
        falls_through: bool,
    ) -> Result<usize, Fault<H::Error>> {
        let Some(map) = self.map.frames().get(next) else {
            if !falls_through {
                return Err(Fault::bad_code(bci, "Expecting a stack map frame"));
            }
            return Ok(next);
        };
        if map.bci > bci {
            if !falls_through {
                let message = "Expecting a stack map frame";
                return Err(Fault::new(bci, Reason::MissingMap, message));
            }
            return Ok(next);
        }
        if map.bci < bci {
            return Err(Fault::Format(format!("Bad stack map offset {}", map.bci), true));
        }
        if falls_through {
            let (stack, flag) = (self.frame.stack(), self.frame.this_uninitialized);
            if let Some(mismatch) = self.frame.mismatch(stack, flag, map, self.types)? {
                let (bci, reason) = self.frame.mismatch_reason(mismatch, map);
                return Err(Fault::new(bci, reason, "Instruction type does not match stack map"));
            }
        }
        self.frame.update(map);
        Ok(next + 1)
    }

    /// Control may flow from this instruction to `target`.
    pub fn check_jump(&mut self, target: i64) -> Result<(), Fault<H::Error>> {
        let Some(map) = self.map.frame_at(target) else {
            let message = format!("Expecting a stackmap frame at branch target {target}");
            return Err(Fault::new(self.frame.bci, Reason::MissingMap, message));
        };
        let (stack, flag) = (self.frame.stack(), self.frame.this_uninitialized);
        if let Some(mismatch) = self.frame.mismatch(stack, flag, map, self.types)? {
            let (bci, reason) = self.frame.mismatch_reason(mismatch, map);
            let message = format!("Inconsistent stackmap frames at branch target {target}");
            return Err(Fault::new(bci, reason, message));
        }
        Ok(())
    }

    /// Control may flow from this instruction to the handlers that protect it. `constructed_this`:
    /// the instruction called the constructor of `this`, and may not have come to its end.
    pub fn check_handlers(
        &mut self,
        bci: usize,
        constructed_this: bool,
    ) -> Result<(), Fault<H::Error>> {
        let flag = self.frame.this_uninitialized || constructed_this;
        let state = (self.frame.version(), flag);
        for (index, handler) in self.code.exception_table.iter().enumerate() {
            let range = handler.start_pc as usize..handler.end_pc as usize;
            if !range.contains(&bci) || self.checked_handlers[index] == Some(state) {
                continue;
            }
            let target = handler.handler_pc;
            let exception = match self.pool().class_name(handler.catch_type) {
                Some(name) => VType::Reference(name),
                None => VType::class("java/lang/Throwable"),
            };
            if self.code.max_stack == 0 {
                let reason = Reason::StackOverflow(self.frame.in_handler(exception, flag));
                return Err(Fault::new(bci, reason, "Operand stack overflow"));
            }
            let Some(map) = self.map.frame_at(target as i64) else {
                let message = format!("Expecting a stackmap frame at branch target {target}");
                return Err(Fault::new(bci, Reason::MissingMap, message));
            };
            if let Some(mismatch) = self.frame.mismatch(&[exception], flag, map, self.types)? {
                let (at, reason) =
                    self.frame.in_handler(exception, flag).mismatch_reason(mismatch, map);
                let message =
                    format!("Stack map does not match the one at exception handler {target}");
                return Err(Fault::new(at, reason, message));
            }
            self.checked_handlers[index] = Some(state);
        }
        Ok(())
    }

    fn find_starts(&mut self) -> Result<(), Fault<H::Error>> {
        self.starts = vec![false; self.code.bytecode.len()];
        for instruction in Instructions::new(&self.code.bytecode) {
            let instruction =
                instruction.map_err(|bad| Fault::bad_code(bad.bci, "Bad instruction"))?;
            self.starts[instruction.bci] = true;
        }
        Ok(())
    }

    fn is_start(&self, bci: usize) -> bool {
        self.starts.get(bci).is_some_and(|&is_start| is_start)
    }

    fn check_exception_table(&mut self) -> Result<(), Fault<H::Error>> {
        let illegal = |what: &str, bci: u16| {
            Err(Fault::Format(format!("Illegal exception table {what} {bci}"), true))
        };
        let end = self.code.bytecode.len();
        for handler in &self.code.exception_table {
            if !self.is_start(handler.start_pc as usize) {
                return illegal("start_pc", handler.start_pc);
            }
            if handler.end_pc as usize != end && !self.is_start(handler.end_pc as usize) {
                return illegal("end_pc", handler.end_pc);
            }
            if !self.is_start(handler.handler_pc as usize) {
                return illegal("handler_pc", handler.handler_pc);
            }
            let Some(caught) = self.pool().class_name(handler.catch_type) else { continue };
            let throwable = VType::class("java/lang/Throwable");
            let caught = VType::Reference(caught);
            if !self.types.is_assignable(caught, throwable)? {
                let bci = handler.handler_pc;
                let found = Origin::pool(handler.catch_type, caught);
                let reason = Reason::BadType { found, wanted: Some(Origin::implicit(throwable)) };
                let message =
                    format!("Catch type is not a subclass of Throwable in exception handler {bci}");
                return Err(Fault::new(bci as usize, reason, message));
            }
        }
        Ok(())
    }

    fn check_local_variables(&self) -> Result<(), Fault<H::Error>> {
        let end = self.code.bytecode.len();
        for variable in &self.code.local_variables {
            let start = variable.start_pc as usize;
            let illegal = |what: &str, number: u16| {
                Err(Fault::Format(format!("Illegal local variable table {what} {number}"), true))
            };
            if !self.is_start(start) {
                return illegal("start_pc", variable.start_pc);
            }
            let behind = start + variable.length as usize;
            if behind != end && !self.is_start(behind) {
                return illegal("length", variable.length);
            }
        }
        Ok(())
    }

    /// Checks the value that a return instruction popped.
    pub fn check_return(&mut self, found: VType) -> Result<(), Fault<H::Error>> {
        let result = MethodDescriptor::of(self.method.descriptor).result;
        let (wanted, message) = match result.basic {
            BasicType::Void => (VType::Top, "Method does not expect a return value"),
            BasicType::Boolean => (VType::Boolean, "Bad return type"),
            BasicType::Byte => (VType::Byte, "Bad return type"),
            BasicType::Short => (VType::Short, "Bad return type"),
            BasicType::Char => (VType::Char, "Bad return type"),
            _ => match result.class_name() {
                Some(name) => (VType::Reference(name), "Bad return type"),
                None => (VType::of(result)[0], "Bad return type"),
            },
        };
        if wanted == VType::Top || !self.types.is_assignable(found, wanted)? {
            let place = super::error::Place::Signature;
            let wanted = Some(Origin { vtype: wanted, place, frame: None });
            let reason = Reason::BadType { found: self.frame.popped(), wanted };
            return Err(Fault::new(self.frame.bci, reason, message));
        }
        Ok(())
    }

    /// Whether a handler leaves only by throwing: no path from it reaches a `return`. Otherwise a
    /// constructor could return an object whose own constructor failed.
    pub fn ends_in_throw(&self, handler_pc: u16) -> bool {
        let bytecode = &self.code.bytecode;
        let mut seen = vec![false; bytecode.len()];
        let mut open = vec![handler_pc as i64];
        while let Some(bci) = open.pop() {
            let Some(bci) = usize::try_from(bci).ok().filter(|&bci| self.is_start(bci)) else {
                return false;
            };
            if std::mem::replace(&mut seen[bci], true) {
                continue;
            }
            let Some(instruction) = Instruction::at(bytecode, bci) else { return false };
            if instruction.opcode == op::RETURN {
                return false;
            }
            open.extend(instruction.branch_target());
            open.extend(instruction.switch_targets());
            if !instruction.ends_block() {
                open.push(instruction.next_bci() as i64);
            }
            let protects = |start: u16, end: u16| (start as usize..end as usize).contains(&bci);
            let handlers = self.code.exception_table.iter();
            let handlers = handlers.filter(|handler| protects(handler.start_pc, handler.end_pc));
            open.extend(handlers.map(|handler| handler.handler_pc as i64));
        }
        true
    }
}
