//! The `StackMapTable` attribute (JVMS 4.7.4).

use super::error::{Fault, Reason};
use super::frame::Frame;
use super::vtype::VType;
use crate::ConstantPool;
use crate::bytecode::op;

/// The table's frames, by ascending bci.
#[derive(Debug, Default)]
pub struct StackMap {
    frames: Vec<Frame>,
}

impl StackMap {
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    pub fn frame_at(&self, bci: i64) -> Option<&Frame> {
        let bci = usize::try_from(bci).ok()?;
        let index = self.frames.binary_search_by_key(&bci, |frame| frame.bci).ok()?;
        Some(&self.frames[index])
    }
}

/// Decodes a table. `starts` says which bcis are the starts of instructions.
pub struct Decoder<'a> {
    pub table: &'a [u8],
    pub pool: &'a ConstantPool,
    pub bytecode: &'a [u8],
    pub starts: &'a [bool],
    pub max_locals: usize,
    pub max_stack: usize,
}

impl Decoder<'_> {
    pub fn decode<E>(mut self, entry: &Frame) -> Result<StackMap, Fault<E>> {
        let count = self.u2()?;
        let mut frames: Vec<Frame> = Vec::with_capacity((count as usize).min(self.table.len()));
        for _ in 0..count {
            let frame = self.frame(frames.last(), entry)?;
            if !self.starts.get(frame.bci).is_some_and(|&is_start| is_start) {
                let reason = Reason::BadMap(frame);
                return Err(Fault::new(0, reason, "StackMapTable error: bad offset"));
            }
            frames.push(frame);
        }
        if !self.table.is_empty() {
            return Err(format_error("wrong attribute size"));
        }
        Ok(StackMap { frames })
    }

    fn frame<E>(&mut self, previous: Option<&Frame>, entry: &Frame) -> Result<Frame, Fault<E>> {
        let before = previous.unwrap_or(entry);
        let kind = self.u1()?;
        let delta = match kind {
            SAME..SAME_ONE_ITEM => kind as usize,
            SAME_ONE_ITEM..RESERVED => (kind - SAME_ONE_ITEM) as usize,
            _ => self.u2()? as usize,
        };
        let bci = previous.map_or(delta, |previous| previous.bci + delta + 1);
        let mut locals = before.locals().to_vec();
        let mut stack = Vec::new();
        let mut this_uninitialized = before.this_uninitialized;
        match kind {
            SAME..SAME_ONE_ITEM | SAME_EXTENDED => {}
            SAME_ONE_ITEM..RESERVED | SAME_ONE_ITEM_EXTENDED => {
                self.types(1, &mut stack, self.max_stack)?;
            }
            RESERVED..SAME_ONE_ITEM_EXTENDED => return Err(format_error("reserved frame type")),
            CHOP..SAME_EXTENDED => {
                for _ in 0..SAME_EXTENDED - kind {
                    let last = locals.pop().ok_or_else(bad_size)?;
                    if last.is_second_slot() {
                        locals.pop();
                    }
                }
                this_uninitialized = locals.contains(&VType::UninitializedThis);
            }
            APPEND..=APPEND_LAST => {
                let known = locals.len();
                self.types((kind - SAME_EXTENDED) as u16, &mut locals, self.max_locals)?;
                this_uninitialized |= locals[known..].contains(&VType::UninitializedThis);
            }
            FULL => {
                locals.clear();
                let count = self.u2()?;
                self.types(count, &mut locals, self.max_locals)?;
                this_uninitialized = locals.contains(&VType::UninitializedThis);
                let count = self.u2()?;
                self.types(count, &mut stack, self.max_stack)?;
            }
        }
        check_size(&locals, self.max_locals)?;
        Ok(Frame::of_map(bci, locals, stack, this_uninitialized))
    }

    /// Reads types behind those that are present, `max` slots in all.
    fn types<E>(&mut self, count: u16, into: &mut Vec<VType>, max: usize) -> Result<(), Fault<E>> {
        let mut result = Ok(());
        for _ in 0..count {
            let vtype = match self.vtype() {
                // HotSpot reads on, and may find something worse.
                Err(error @ Fault::Format(_, true)) => {
                    result = Err(error);
                    VType::Top
                }
                other => other?,
            };
            into.push(vtype);
            into.extend(vtype.second_slot());
        }
        check_size(into, max)?;
        result
    }

    fn vtype<E>(&mut self) -> Result<VType, Fault<E>> {
        Ok(match self.u1()? {
            0 => VType::Top,
            1 => VType::Integer,
            2 => VType::Float,
            3 => VType::Double,
            4 => VType::Long,
            5 => VType::Null,
            6 => VType::UninitializedThis,
            7 => {
                let index = self.u2()?;
                let name = self.pool.class_name(index);
                VType::Reference(name.ok_or_else(|| format_error("bad class index"))?)
            }
            8 => {
                let bci = self.u2()?;
                let is_start = self.starts.get(bci as usize).is_some_and(|&is_start| is_start);
                if !is_start || self.bytecode[bci as usize] != op::NEW {
                    let message = "StackMapTable format error: bad offset for Uninitialized";
                    return Err(Fault::Format(message.to_string(), true));
                }
                VType::Uninitialized(bci)
            }
            _ => return Err(format_error("bad verification type")),
        })
    }

    fn u1<E>(&mut self) -> Result<u8, Fault<E>> {
        let (&first, rest) = self.table.split_first().ok_or_else(beyond_end)?;
        self.table = rest;
        Ok(first)
    }

    fn u2<E>(&mut self) -> Result<u16, Fault<E>> {
        let (&number, rest) = self.table.split_first_chunk::<2>().ok_or_else(beyond_end)?;
        self.table = rest;
        Ok(u16::from_be_bytes(number))
    }
}

fn check_size<E>(types: &[VType], max: usize) -> Result<(), Fault<E>> {
    if types.len() > max { Err(bad_size()) } else { Ok(()) }
}

fn bad_size<E>() -> Fault<E> {
    Fault::Format("StackMapTable format error: bad type array size".to_string(), true)
}

fn beyond_end<E>() -> Fault<E> {
    format_error("access beyond the end of attribute")
}

fn format_error<E>(what: &str) -> Fault<E> {
    Fault::Format(format!("StackMapTable format error: {what}"), false)
}

/// The entries of a table as a complaint lists them, up to a malformed one.
pub fn describe(table: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut at = 2;
    let mut bci = -1;
    let count = table.first_chunk::<2>().map_or(0, |&count| u16::from_be_bytes(count));
    for _ in 0..count {
        let Some(line) = describe_frame(table, &mut at, &mut bci) else { break };
        lines.push(line);
    }
    lines
}

fn describe_frame(table: &[u8], at: &mut usize, bci: &mut i64) -> Option<String> {
    let kind = take(table, at, 1)?;
    let delta = match kind as u8 {
        SAME..SAME_ONE_ITEM => kind,
        SAME_ONE_ITEM..RESERVED => kind - SAME_ONE_ITEM as u16,
        RESERVED..SAME_ONE_ITEM_EXTENDED => return None,
        _ => take(table, at, 2)?,
    };
    *bci += delta as i64 + 1;
    let types = |count: u16, at: &mut usize| -> Option<String> {
        let names: Option<Vec<String>> = (0..count).map(|_| describe_type(table, at)).collect();
        Some(names?.join(","))
    };
    Some(match kind as u8 {
        SAME..SAME_ONE_ITEM => format!("same_frame(@{bci})"),
        SAME_EXTENDED => format!("same_frame_extended(@{bci})"),
        SAME_ONE_ITEM..RESERVED => {
            format!("same_locals_1_stack_item_frame(@{bci},{})", types(1, at)?)
        }
        SAME_ONE_ITEM_EXTENDED => {
            format!("same_locals_1_stack_item_frame_extended(@{bci},{})", types(1, at)?)
        }
        chop @ CHOP..SAME_EXTENDED => format!("chop_frame(@{bci},{})", SAME_EXTENDED - chop),
        append @ APPEND..=APPEND_LAST => {
            format!("append_frame(@{bci},{})", types((append - SAME_EXTENDED) as u16, at)?)
        }
        _ => {
            let count = take(table, at, 2)?;
            let locals = types(count, at)?;
            let count = take(table, at, 2)?;
            format!("full_frame(@{bci},{{{locals}}},{{{}}})", types(count, at)?)
        }
    })
}

fn describe_type(table: &[u8], at: &mut usize) -> Option<String> {
    let name = match take(table, at, 1)? {
        0 => "Top",
        1 => "Integer",
        2 => "Float",
        3 => "Double",
        4 => "Long",
        5 => "Null",
        6 => "UninitializedThis",
        7 => return Some(format!("Object[#{}]", take(table, at, 2)?)),
        8 => return Some(format!("Uninitialized[#{}]", take(table, at, 2)?)),
        tag => return Some(format!("BAD:{tag}")),
    };
    Some(name.to_string())
}

/// A number of one or two bytes.
fn take(table: &[u8], at: &mut usize, bytes: usize) -> Option<u16> {
    let taken = table.get(*at..*at + bytes)?;
    *at += bytes;
    Some(taken.iter().fold(0, |number, &byte| number << 8 | byte as u16))
}

// First frame types of each kind.
const SAME: u8 = 0;
const SAME_ONE_ITEM: u8 = 64;
const RESERVED: u8 = 128;
const SAME_ONE_ITEM_EXTENDED: u8 = 247;
const CHOP: u8 = 248;
const SAME_EXTENDED: u8 = 251;
const APPEND: u8 = 252;
const APPEND_LAST: u8 = 254;
const FULL: u8 = 255;
