//! Writes class files: a constant pool, fields, methods, code with labels and stack maps (JVMS chapter 4).

use std::collections::HashMap;

/// The constant pool. Equal constants are one.
#[derive(Default)]
pub struct Pool {
    bytes: Vec<u8>,
    count: u16,
    known: HashMap<Vec<u8>, u16>,
}

impl Pool {
    fn add(&mut self, entry: Vec<u8>, slots: u16) -> u16 {
        if let Some(index) = self.known.get(&entry) {
            return *index;
        }
        let index = self.count + 1;
        self.bytes.extend(&entry);
        self.known.insert(entry, index);
        self.count += slots;
        index
    }

    fn tagged(&mut self, tag: u8, content: &[u8], slots: u16) -> u16 {
        self.add([&[tag], content].concat(), slots)
    }

    fn pair(&mut self, tag: u8, first: u16, second: u16) -> u16 {
        self.tagged(tag, &[first.to_be_bytes(), second.to_be_bytes()].concat(), 1)
    }

    /// Text without zeroes and without characters beyond the basic plane.
    pub fn utf8(&mut self, text: &str) -> u16 {
        let length = (text.len() as u16).to_be_bytes();
        self.tagged(1, &[&length, text.as_bytes()].concat(), 1)
    }

    pub fn int(&mut self, value: i32) -> u16 {
        self.tagged(3, &value.to_be_bytes(), 1)
    }

    pub fn float(&mut self, value: f32) -> u16 {
        self.tagged(4, &value.to_bits().to_be_bytes(), 1)
    }

    pub fn long(&mut self, value: i64) -> u16 {
        self.tagged(5, &value.to_be_bytes(), 2)
    }

    pub fn double(&mut self, value: f64) -> u16 {
        self.tagged(6, &value.to_bits().to_be_bytes(), 2)
    }

    pub fn class(&mut self, name: &str) -> u16 {
        let name = self.utf8(name);
        self.tagged(7, &name.to_be_bytes(), 1)
    }

    pub fn string(&mut self, text: &str) -> u16 {
        let text = self.utf8(text);
        self.tagged(8, &text.to_be_bytes(), 1)
    }

    pub fn field(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member(9, class, name, descriptor)
    }

    pub fn method(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member(10, class, name, descriptor)
    }

    pub fn interface_method(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member(11, class, name, descriptor)
    }

    fn member(&mut self, tag: u8, class: &str, name: &str, descriptor: &str) -> u16 {
        let class = self.class(class);
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        let name_and_type = self.pair(12, name, descriptor);
        self.pair(tag, class, name_and_type)
    }
}

/// The type of a local variable or a stack entry in a stack map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    Top,
    Int,
    Float,
    Long,
    Double,
    Class(String),
}

/// The state at a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Without the second halves of longs and doubles.
    pub locals: Vec<Slot>,
    pub stack: Vec<Slot>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// The code of a method under construction.
#[derive(Default)]
pub struct Code {
    pub bytes: Vec<u8>,
    labels: Vec<Option<usize>>,
    /// The place of an offset, the place that it is relative to, its target, whether it has four bytes.
    fixes: Vec<(usize, usize, Label, bool)>,
    frames: Vec<(usize, Frame)>,
    handlers: Vec<(Label, Label, Label, u16)>,
    pub max_stack: u16,
    pub max_locals: u16,
}

impl Code {
    pub fn new(max_stack: u16, max_locals: u16) -> Code {
        Code { max_stack, max_locals, ..Code::default() }
    }

    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    pub fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.bytes.len());
    }

    /// States the frame at this place; the last one wins.
    pub fn frame(&mut self, frame: Frame) {
        let at = self.bytes.len();
        if self.frames.last().is_some_and(|(last, _)| *last == at) {
            self.frames.pop();
        }
        self.frames.push((at, frame));
    }

    pub fn op(&mut self, opcode: u8) {
        self.bytes.push(opcode);
    }

    pub fn op1(&mut self, opcode: u8, operand: u8) {
        self.bytes.extend([opcode, operand]);
    }

    pub fn op2(&mut self, opcode: u8, operand: u16) {
        self.bytes.push(opcode);
        self.bytes.extend(operand.to_be_bytes());
    }

    /// A branch with an offset of two bytes.
    pub fn branch(&mut self, opcode: u8, to: Label) {
        let at = self.bytes.len();
        self.op2(opcode, 0);
        self.fixes.push((at + 1, at, to, false));
    }

    /// `goto_w`.
    pub fn goto_wide(&mut self, to: Label) {
        let at = self.bytes.len();
        self.bytes.push(200);
        self.offset_from(at, to);
    }

    fn offset_from(&mut self, base: usize, to: Label) {
        self.fixes.push((self.bytes.len(), base, to, true));
        self.bytes.extend([0; 4]);
    }

    fn pad(&mut self) {
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
    }

    pub fn table_switch(&mut self, low: i32, cases: &[Label], default: Label) {
        let at = self.bytes.len();
        self.bytes.push(170);
        self.pad();
        self.offset_from(at, default);
        self.bytes.extend(low.to_be_bytes());
        self.bytes.extend((low + cases.len() as i32 - 1).to_be_bytes());
        cases.iter().for_each(|case| self.offset_from(at, *case));
    }

    /// Cases must be sorted.
    pub fn lookup_switch(&mut self, cases: &[(i32, Label)], default: Label) {
        let at = self.bytes.len();
        self.bytes.push(171);
        self.pad();
        self.offset_from(at, default);
        self.bytes.extend((cases.len() as i32).to_be_bytes());
        for (value, case) in cases {
            self.bytes.extend(value.to_be_bytes());
            self.offset_from(at, *case);
        }
    }

    /// Exceptions of a class (0: all) between two labels are handled at a third.
    pub fn handler(&mut self, from: Label, to: Label, at: Label, class: u16) {
        self.handlers.push((from, to, at, class));
    }

    fn position(&self, label: Label) -> usize {
        self.labels[label.0].expect("every label that is used is placed")
    }

    /// The attribute.
    fn finish(mut self, pool: &mut Pool, with_frames: bool) -> Vec<u8> {
        for (at, base, label, wide) in std::mem::take(&mut self.fixes) {
            let offset = self.position(label) as i32 - base as i32;
            if wide {
                self.bytes[at..at + 4].copy_from_slice(&offset.to_be_bytes());
            } else {
                let offset = i16::try_from(offset).expect("generated methods are short");
                self.bytes[at..at + 2].copy_from_slice(&offset.to_be_bytes());
            }
        }
        let mut body = Vec::new();
        body.extend(self.max_stack.to_be_bytes());
        body.extend(self.max_locals.to_be_bytes());
        body.extend((self.bytes.len() as u32).to_be_bytes());
        body.extend(&self.bytes);
        let handlers: Vec<_> = self.handlers.clone();
        body.extend((handlers.len() as u16).to_be_bytes());
        for (from, to, at, class) in handlers {
            for place in [from, to, at] {
                body.extend((self.position(place) as u16).to_be_bytes());
            }
            body.extend(class.to_be_bytes());
        }
        if with_frames && !self.frames.is_empty() {
            body.extend(1u16.to_be_bytes());
            let table = stack_map(&self.frames, pool);
            body.extend(attribute(pool, "StackMapTable", &table));
        } else {
            body.extend(0u16.to_be_bytes());
        }
        attribute(pool, "Code", &body)
    }
}

/// Full frames only: the verifier does not care, and they have no readers.
fn stack_map(frames: &[(usize, Frame)], pool: &mut Pool) -> Vec<u8> {
    let mut table = (frames.len() as u16).to_be_bytes().to_vec();
    let mut next = 0;
    for (at, frame) in frames {
        table.push(255);
        table.extend(((at - next) as u16).to_be_bytes());
        next = at + 1;
        for slots in [&frame.locals, &frame.stack] {
            table.extend((slots.len() as u16).to_be_bytes());
            for slot in slots {
                match slot {
                    Slot::Top => table.push(0),
                    Slot::Int => table.push(1),
                    Slot::Float => table.push(2),
                    Slot::Double => table.push(3),
                    Slot::Long => table.push(4),
                    Slot::Class(name) => {
                        table.push(7);
                        table.extend(pool.class(name).to_be_bytes());
                    }
                }
            }
        }
    }
    table
}

fn attribute(pool: &mut Pool, name: &str, content: &[u8]) -> Vec<u8> {
    let mut bytes = pool.utf8(name).to_be_bytes().to_vec();
    bytes.extend((content.len() as u32).to_be_bytes());
    bytes.extend(content);
    bytes
}

/// A class under construction; its superclass is `Object`.
pub struct Class {
    pub name: String,
    pub pool: Pool,
    /// Below 50 there are no stack maps.
    version: u16,
    fields: Vec<Vec<u8>>,
    methods: Vec<Vec<u8>>,
}

impl Class {
    pub fn new(name: &str, version: u16) -> Class {
        let (fields, methods) = (Vec::new(), Vec::new());
        Class { name: name.to_string(), pool: Pool::default(), version, fields, methods }
    }

    pub fn add_field(&mut self, access: u16, name: &str, descriptor: &str) {
        let mut bytes = access.to_be_bytes().to_vec();
        bytes.extend(self.pool.utf8(name).to_be_bytes());
        bytes.extend(self.pool.utf8(descriptor).to_be_bytes());
        bytes.extend(0u16.to_be_bytes());
        self.fields.push(bytes);
    }

    pub fn add_method(&mut self, access: u16, name: &str, descriptor: &str, code: Code) {
        let mut bytes = access.to_be_bytes().to_vec();
        bytes.extend(self.pool.utf8(name).to_be_bytes());
        bytes.extend(self.pool.utf8(descriptor).to_be_bytes());
        bytes.extend(1u16.to_be_bytes());
        bytes.extend(code.finish(&mut self.pool, self.version >= 50));
        self.methods.push(bytes);
    }

    /// The class file.
    pub fn finish(mut self) -> Vec<u8> {
        let this = self.pool.class(&self.name.clone());
        let object = self.pool.class("java/lang/Object");
        let mut bytes = vec![0xCA, 0xFE, 0xBA, 0xBE, 0, 0];
        bytes.extend(self.version.to_be_bytes());
        bytes.extend((self.pool.count + 1).to_be_bytes());
        bytes.extend(&self.pool.bytes);
        bytes.extend(PUBLIC_SUPER.to_be_bytes());
        bytes.extend(this.to_be_bytes());
        bytes.extend(object.to_be_bytes());
        bytes.extend(0u16.to_be_bytes());
        for members in [&self.fields, &self.methods] {
            bytes.extend((members.len() as u16).to_be_bytes());
            members.iter().for_each(|member| bytes.extend(member));
        }
        bytes.extend(0u16.to_be_bytes());
        bytes
    }
}

pub const PUBLIC: u16 = 1;
pub const PUBLIC_STATIC: u16 = 9;
const PUBLIC_SUPER: u16 = 0x21;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_constants_are_one() {
        let mut pool = Pool::default();
        let long = pool.long(5);
        assert_eq!((long, pool.long(5), pool.int(5)), (1, 1, 3));
        let method = pool.method("A", "m", "()V");
        assert_eq!(pool.method("A", "m", "()V"), method);
        assert_ne!(pool.field("A", "m", "()V"), method);
    }

    #[test]
    fn branches_reach_their_labels() {
        let mut code = Code::default();
        let (start, end) = (code.label(), code.label());
        code.place(start);
        code.branch(167, end);
        code.goto_wide(start);
        code.place(end);
        code.op(177);
        let bytes = code.finish(&mut Pool::default(), true);
        let expected = [167, 0, 8, 200, 255, 255, 255, 253, 177];
        assert!(bytes.windows(expected.len()).any(|window| window == expected), "{bytes:?}");
    }

    #[test]
    fn switches_are_aligned() {
        let mut code = Code::default();
        let label = code.label();
        code.op(3);
        code.table_switch(7, &[label], label);
        code.place(label);
        assert_eq!(code.bytes.len(), 4 + 4 + 8 + 4);
        assert_eq!(code.bytes[8..16], [0, 0, 0, 7, 0, 0, 0, 7]);
    }
}
