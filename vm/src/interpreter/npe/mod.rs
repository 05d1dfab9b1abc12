//! Helpful messages of NullPointerExceptions (JEP 358): the instruction's failed action and the source of the
//! null, found by following the operand stack back to the instruction that pushed it.

mod sources;

use super::backtrace::{self, NATIVE_BCI};
use crate::loading::messages::type_text;
use crate::machine::JavaThread;
use crate::runtime::MethodRef;
use classfile::bytecode::{Instruction, op};
use classfile::descriptor::external_name;
use classfile::{Code, ConstantPool, MemberRef, MethodDescriptor};
use gc::object::ObjectRef;
use sources::{Slot, Sources};

/// How deep expressions like `a.b.c[i]` are followed.
const DETAIL_MAX: u32 = 5;

/// The message for an exception that an instruction threw; `None` when there is nothing to say. No safepoint.
pub fn message(t: &JavaThread, throwable: ObjectRef) -> Option<String> {
    let frame = backtrace::visible_top(t, throwable)?;
    if frame.bci == NATIVE_BCI {
        return None;
    }
    let bci = frame.bci as usize;
    Explanation::new(frame.method, bci)?.explain(bci)
}

struct Explanation {
    method: MethodRef,
    code: &'static Code,
    pool: &'static ConstantPool,
    sources: Sources,
}

impl Explanation {
    fn new(method: MethodRef, bci: usize) -> Option<Explanation> {
        let code = method.code()?;
        let pool = &method.holder.inst().file.constant_pool;
        Some(Explanation { method, code, pool, sources: Sources::compute(code, pool, bci)? })
    }

    fn explain(&self, bci: usize) -> Option<String> {
        let instruction = Instruction::at(&self.code.bytecode, bci)?;
        let (mut text, depth) = self.failure(&instruction)?;
        let mut cause = String::new();
        if self.describe(&mut cause, bci, depth, DETAIL_MAX, false, true) {
            text.push_str(&cause);
            text.push_str("\" is null");
        }
        Some(text)
    }

    /// The action that failed, and the depth of the null on the stack.
    fn failure(&self, instruction: &Instruction<'_>) -> Option<(String, usize)> {
        const ELEMENTS: [&str; 8] =
            ["int", "long", "float", "double", "object", "byte/boolean", "char", "short"];
        let member = || self.pool.member(instruction.pool_index());
        Some(match instruction.opcode {
            opcode @ op::IALOAD..=op::SALOAD => {
                let element = ELEMENTS[(opcode - op::IALOAD) as usize];
                (format!("Cannot load from {element} array"), 1)
            }
            opcode @ op::IASTORE..=op::SASTORE => {
                let element = ELEMENTS[(opcode - op::IASTORE) as usize];
                let is_wide = matches!(opcode, op::LASTORE | op::DASTORE);
                (format!("Cannot store to {element} array"), if is_wide { 3 } else { 2 })
            }
            op::ARRAYLENGTH => ("Cannot read the array length".into(), 0),
            op::ATHROW => ("Cannot throw exception".into(), 0),
            op::MONITORENTER => ("Cannot enter synchronized block".into(), 0),
            op::MONITOREXIT => ("Cannot exit synchronized block".into(), 0),
            op::GETFIELD => (format!("Cannot read field \"{}\"", member()?.name), 0),
            op::PUTFIELD => {
                let member = member()?;
                let is_wide = matches!(member.descriptor.bytes(), b"J" | b"D");
                let text = format!("Cannot assign field \"{}\"", member.name);
                (text, if is_wide { 2 } else { 1 })
            }
            op::INVOKEVIRTUAL | op::INVOKESPECIAL | op::INVOKEINTERFACE => {
                let member = member()?;
                if member.name.bytes() == b"<init>" {
                    return None;
                }
                let depth = MethodDescriptor::of(member.descriptor).parameter_slots();
                (format!("Cannot invoke \"{}\"", self.method_text(&member)), depth)
            }
            _ => return None,
        })
    }

    /// Appends the expression that made the stack slot `depth` below the top before the instruction at `bci`.
    /// `false` when it is not known, or too deep; then nothing is appended. `is_outermost` says that the text
    /// that leads to the expression is still missing; `is_inner` that the expression is an array index.
    fn describe(
        &self,
        text: &mut String,
        bci: usize,
        depth: usize,
        detail: u32,
        is_inner: bool,
        is_outermost: bool,
    ) -> bool {
        if detail == 0 {
            return false;
        }
        let Some(Slot::At(source)) = self.sources.slot(bci, depth) else { return false };
        let source = source as usize;
        let Some(instruction) = Instruction::at(&self.code.bytecode, source) else { return false };
        let is_call = (op::INVOKEVIRTUAL..=op::INVOKEINTERFACE).contains(&instruction.opcode);
        let mut own = String::new();
        if is_outermost && !is_call {
            own.push_str(" because \"");
        }
        match instruction.opcode {
            op::ILOAD..=op::ALOAD_3 => {
                let slot = instruction.local_slot().expect("a load has a slot");
                own.push_str(&self.local_text(source, slot));
            }
            op::ACONST_NULL => own.push_str("null"),
            opcode @ op::ICONST_M1..=op::ICONST_5 => {
                own.push_str(&(opcode as i32 - op::ICONST_0 as i32).to_string());
            }
            op::BIPUSH => own.push_str(&(instruction.u8_at(1) as i8).to_string()),
            op::SIPUSH => own.push_str(&(instruction.u16_at(1) as i16).to_string()),
            op::GETSTATIC => {
                let Some(member) = self.pool.member(instruction.pool_index()) else { return false };
                let class = self.class_text(&member);
                own.push_str(&format!("{class}.{}", member.name));
            }
            op::GETFIELD => {
                let Some(member) = self.pool.member(instruction.pool_index()) else { return false };
                if self.describe(&mut own, source, 0, detail - 1, is_inner, false) {
                    own.push('.');
                }
                own.push_str(&member.name.text());
            }
            op::INVOKEVIRTUAL..=op::INVOKEINTERFACE => {
                let Some(member) = self.pool.member(instruction.pool_index()) else { return false };
                if detail == DETAIL_MAX && !is_inner {
                    own.push_str(" because the return value of \"");
                }
                own.push_str(&self.method_text(&member));
            }
            op::IALOAD..=op::SALOAD => {
                if !self.describe(&mut own, source, 1, detail - 1, is_inner, false) {
                    own.push_str("<array>");
                }
                own.push('[');
                if !self.describe(&mut own, source, 0, detail, true, false) {
                    own.push_str("...");
                }
                own.push(']');
            }
            _ => return false,
        }
        text.push_str(&own);
        true
    }

    fn local_text(&self, bci: usize, slot: u16) -> String {
        if let Some(variable) = self.code.local_variable(slot, bci as u16) {
            return variable.name.text().into_owned();
        }
        if !self.method.is_static() && slot == 0 {
            return "this".into();
        }
        let mut at = u16::from(!self.method.is_static());
        for (index, parameter) in self.method.parameters.iter().enumerate() {
            if at == slot && !self.sources.is_written(bci, slot) {
                return format!("<parameter{}>", index + 1);
            }
            at += parameter.slots();
        }
        format!("<local{slot}>")
    }

    fn method_text(&self, member: &MemberRef) -> String {
        let descriptor = MethodDescriptor::of(member.descriptor);
        let parameters: Vec<String> =
            descriptor.parameters().map(|ty| short_name(&type_text(ty))).collect();
        format!("{}.{}({})", self.class_text(member), member.name, parameters.join(", "))
    }

    fn class_text(&self, member: &MemberRef) -> String {
        let name = self.pool.class_name(member.class_index);
        let text = name.map_or(String::new(), |name| match name.bytes().first() {
            Some(b'[') => classfile::FieldType::parse(name.bytes())
                .map_or_else(|| external_name(name), type_text),
            _ => external_name(name),
        });
        short_name(&text)
    }
}

/// As in HotSpot, the packages of `Object` and `String` are omitted.
fn short_name(name: &str) -> String {
    let element = name.trim_end_matches("[]");
    match element {
        "java.lang.Object" | "java.lang.String" => name["java.lang.".len()..].to_string(),
        _ => name.to_string(),
    }
}
