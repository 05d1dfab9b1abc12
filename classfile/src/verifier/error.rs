//! Errors in a method, in the words that users of `java` know.

use super::frame::Frame;
use super::stack_map;
use super::vtype::VType;
use crate::bytecode;
use crate::descriptor::{FieldType, MethodDescriptor, external_name};
use crate::{ClassFile, ClassFormat, Code, ErrorKind, MethodInfo};
use std::fmt::Write;

/// Why a class did not pass.
#[derive(Debug)]
pub enum Failure<E> {
    /// Throw this `VerifyError` or `ClassFormatError`.
    Rejected(ClassFormat),
    /// A class that verification needs could not be loaded.
    Hierarchy(E),
}

/// A failure on its way out of the method, not yet worded.
#[derive(Debug)]
pub enum Fault<E> {
    Verify(Box<Complaint>),
    /// A `ClassFormatError`; `true` adds the method's name.
    Format(String, bool),
    Hierarchy(E),
}

impl<E> From<E> for Fault<E> {
    fn from(error: E) -> Fault<E> {
        Fault::Hierarchy(error)
    }
}

#[derive(Debug)]
pub struct Complaint {
    pub message: String,
    pub bci: usize,
    pub reason: Reason,
}

/// The kind of error, with its details.
#[derive(Debug)]
pub enum Reason {
    BadCode,
    BadType { found: Origin, wanted: Option<Origin> },
    BadFlags { frame: Frame, map: Frame },
    BadPoolIndex(u16),
    BadLocalIndex(u16),
    StackSize { frame: Frame, map: Frame },
    StackOverflow(Frame),
    StackUnderflow(Frame),
    MissingMap,
    BadMap(Frame),
}

/// A type and where it comes from.
#[derive(Debug)]
pub struct Origin {
    pub vtype: VType,
    pub place: Place,
    pub frame: Option<Frame>,
}

#[derive(Clone, Copy, Debug)]
pub enum Place {
    Local(usize),
    Stack(usize),
    MapLocal(usize),
    MapStack(usize),
    Pool(u16),
    Signature,
    Implicit,
}

impl Origin {
    pub fn implicit(vtype: VType) -> Origin {
        Origin { vtype, place: Place::Implicit, frame: None }
    }

    pub fn pool(index: u16, vtype: VType) -> Origin {
        Origin { vtype, place: Place::Pool(index), frame: None }
    }

    fn describe(&self) -> String {
        let vtype = self.vtype;
        match self.place {
            Place::Local(index) => format!("{vtype} (current frame, locals[{index}])"),
            Place::Stack(index) => format!("{vtype} (current frame, stack[{index}])"),
            Place::MapLocal(index) => format!("{vtype} (stack map, locals[{index}])"),
            Place::MapStack(index) => format!("{vtype} (stack map, stack[{index}])"),
            Place::Pool(index) => format!("{vtype} (constant pool {index})"),
            Place::Signature => format!("{vtype} (from method signature)"),
            Place::Implicit => vtype.to_string(),
        }
    }
}

impl Reason {
    fn describe(&self) -> String {
        let text = match self {
            Reason::BadCode => "Error exists in the bytecode",
            Reason::BadType { found, wanted: None } => {
                return format!("Invalid type: {}", found.describe());
            }
            Reason::BadType { found, wanted: Some(wanted) } => {
                let (found, wanted) = (found.describe(), wanted.describe());
                return format!("Type {found} is not assignable to {wanted}");
            }
            Reason::BadFlags { .. } => {
                "Current frame's flags are not assignable to stack map frame's."
            }
            Reason::BadPoolIndex(index) => {
                return format!("Constant pool index {index} is invalid");
            }
            Reason::BadLocalIndex(index) => return format!("Local index {index} is invalid"),
            Reason::StackSize { .. } => "Current frame's stack size doesn't match stackmap.",
            Reason::StackOverflow(_) => "Exceeded max stack size.",
            Reason::StackUnderflow(_) => "Attempt to pop empty stack.",
            Reason::MissingMap => "Expected stackmap frame at this location.",
            Reason::BadMap(_) => "Invalid stackmap specification.",
        };
        text.to_string()
    }

    /// The frame at hand, and the table's.
    fn frames(&self) -> (Option<&Frame>, Option<&Frame>) {
        match self {
            Reason::BadType { found, wanted } => {
                (found.frame.as_ref(), wanted.as_ref().and_then(|wanted| wanted.frame.as_ref()))
            }
            Reason::BadFlags { frame, map } | Reason::StackSize { frame, map } => {
                (Some(frame), Some(map))
            }
            Reason::StackOverflow(frame)
            | Reason::StackUnderflow(frame)
            | Reason::BadMap(frame) => (Some(frame), None),
            Reason::BadCode
            | Reason::BadPoolIndex(_)
            | Reason::BadLocalIndex(_)
            | Reason::MissingMap => (None, None),
        }
    }
}

impl<E> Fault<E> {
    /// A `VerifyError`.
    pub fn new(bci: usize, reason: Reason, message: impl Into<String>) -> Fault<E> {
        Fault::Verify(Box::new(Complaint { message: message.into(), bci, reason }))
    }

    pub fn bad_code(bci: usize, message: impl Into<String>) -> Fault<E> {
        Fault::new(bci, Reason::BadCode, message)
    }

    /// Words the failure, the details of the method included.
    pub fn describe(self, class: &ClassFile, method: &MethodInfo, code: &Code) -> Failure<E> {
        match self {
            Fault::Hierarchy(error) => Failure::Hierarchy(error),
            Fault::Format(mut message, names_method) => {
                if names_method {
                    message += &format!(" in method '{}'", external_signature(class, method));
                }
                Failure::Rejected(ClassFormat { kind: ErrorKind::ClassFormatError, message })
            }
            Fault::Verify(complaint) => Failure::Rejected(ClassFormat {
                kind: ErrorKind::VerifyError,
                message: complaint.details(class, method, code),
            }),
        }
    }
}

impl Complaint {
    fn details(&self, class: &ClassFile, method: &MethodInfo, code: &Code) -> String {
        let mut text = format!("{}\nException Details:\n  Location:\n", self.message);
        let opcode = match code.bytecode.get(self.bci) {
            None => "<invalid>",
            Some(&opcode) if opcode > bytecode::op::LAST => "<illegal>",
            Some(&opcode) => bytecode::name(opcode),
        };
        let (name, descriptor, bci) = (method.name, method.descriptor, self.bci);
        let mut line = |indent: usize, content: &str| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{:indent$}{content}", "");
        };
        line(4, &format!("{}.{name}{descriptor} @{bci}: {opcode}", class.name));
        line(2, "Reason:");
        line(4, &self.reason.describe());
        let (frame, map) = self.reason.frames();
        for (title, frame) in [("Current Frame:", frame), ("Stackmap Frame:", map)] {
            let Some(frame) = frame else { continue };
            line(2, title);
            frame.describe().iter().for_each(|content| line(4, content));
        }
        line(2, "Bytecode:");
        hex_lines(&code.bytecode).iter().for_each(|content| line(4, content));
        if !code.exception_table.is_empty() {
            line(2, "Exception Handler Table:");
            for handler in &code.exception_table {
                let (start, end, target) = (handler.start_pc, handler.end_pc, handler.handler_pc);
                line(4, &format!("bci [{start}, {end}] => handler: {target}"));
            }
        }
        if let Some(table) = &code.stack_map_table {
            line(2, "Stackmap Table:");
            stack_map::describe(table).iter().for_each(|content| line(4, content));
        }
        text
    }
}

/// Sixteen bytes per line, in pairs; the last line is padded, and there always is one that is not
/// full.
fn hex_lines(bytes: &[u8]) -> Vec<String> {
    let rows = bytes.len() / 16 + 1;
    let row = |index: usize| {
        let mut text = format!("{:07x}:", index * 16);
        for at in index * 16..index * 16 + 16 {
            if at % 2 == 0 {
                text.push(' ');
            }
            match bytes.get(at) {
                Some(byte) => text += &format!("{byte:02x}"),
                None => text += "  ",
            }
        }
        text
    };
    (0..rows).map(row).collect()
}

/// As in source: `int p.C.m(java.lang.String, int[])`.
fn external_signature(class: &ClassFile, method: &MethodInfo) -> String {
    let descriptor = MethodDescriptor::of(method.descriptor);
    let parameters: Vec<String> = descriptor.parameters().map(external_type).collect();
    let (result, class_name) = (external_type(descriptor.result), external_name(class.name));
    format!("{result} {class_name}.{}({})", method.name, parameters.join(", "))
}

fn external_type(field: FieldType) -> String {
    let dimensions = field.text.iter().take_while(|&&letter| letter == b'[').count();
    let element = FieldType::parse(&field.text[dimensions..]).unwrap_or(field);
    let name = match element.basic.java_name() {
        Some(name) => name.to_string(),
        None => element.class_name().map(external_name).unwrap_or_default(),
    };
    name + &"[]".repeat(dimensions)
}
