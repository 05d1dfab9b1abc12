//! The types of all locals and stack slots at one instruction.

use super::Hierarchy;
use super::error::{Fault, Origin, Place, Reason};
use super::vtype::{Types, VType};

/// A frame. The stack keeps popped slots until others are pushed over them, so that a complaint can
/// show the stack as it was before the instruction.
#[derive(Clone, Debug)]
pub struct Frame {
    pub bci: usize,
    locals: Vec<VType>,
    /// Locals in use; those above are `Top`.
    locals_size: usize,
    /// `max_stack` slots.
    stack: Vec<VType>,
    depth: usize,
    /// The depth before the instruction.
    mark: usize,
    /// In a constructor: the object's own constructor has not been called yet.
    pub this_uninitialized: bool,
    /// Grows with every change of locals or flag; equal versions have equal locals.
    version: u64,
}

/// How a frame does not fit the table's.
pub enum Mismatch {
    StackSize,
    Local(usize),
    Stack(usize),
    Flags,
}

impl Frame {
    /// The frame at the start of a method.
    pub fn at_entry(
        receiver: Option<VType>,
        arguments: &[VType],
        max_locals: usize,
        max_stack: usize,
    ) -> Frame {
        let mut locals: Vec<VType> = receiver.into_iter().collect();
        locals.extend(arguments);
        let locals_size = locals.len();
        locals.resize(max_locals.max(locals_size), VType::Top);
        Frame {
            bci: 0,
            locals,
            locals_size,
            stack: vec![VType::Top; max_stack],
            depth: 0,
            mark: 0,
            this_uninitialized: receiver == Some(VType::UninitializedThis),
            version: 0,
        }
    }

    /// A frame of the table.
    pub fn of_map(
        bci: usize,
        locals: Vec<VType>,
        stack: Vec<VType>,
        this_uninitialized: bool,
    ) -> Frame {
        let (locals_size, depth) = (locals.len(), stack.len());
        let mark = depth;
        Frame { bci, locals, locals_size, stack, depth, mark, this_uninitialized, version: 0 }
    }

    pub fn locals(&self) -> &[VType] {
        &self.locals[..self.locals_size]
    }

    pub fn stack(&self) -> &[VType] {
        &self.stack[..self.depth]
    }

    pub fn version(&self) -> u64 {
        self.version
    }

    /// A new instruction begins.
    pub fn start(&mut self, bci: usize) {
        self.bci = bci;
        self.mark = self.depth;
    }

    /// Takes over the types of the table's frame.
    pub fn update(&mut self, map: &Frame) {
        self.locals.fill(VType::Top);
        self.locals[..map.locals_size].copy_from_slice(map.locals());
        self.locals_size = map.locals_size;
        self.stack[..map.depth].copy_from_slice(map.stack());
        self.depth = map.depth;
        self.mark = map.depth;
        self.this_uninitialized = map.this_uninitialized;
        self.version += 1;
    }

    /// A copy with the stack as before the instruction, for complaints.
    pub fn snapshot(&self) -> Frame {
        Frame { depth: self.mark, ..self.clone() }
    }

    /// The frame that a handler of this instruction sees.
    pub fn in_handler(&self, exception: VType, this_uninitialized: bool) -> Frame {
        let mut frame = self.clone();
        frame.stack = vec![exception];
        (frame.depth, frame.mark) = (1, 1);
        frame.this_uninitialized = this_uninitialized;
        frame
    }

    /// Whether locals, a stack and the flag fit a frame of the table.
    pub fn mismatch<H: Hierarchy>(
        &self,
        stack: &[VType],
        this_uninitialized: bool,
        map: &Frame,
        types: &mut Types<H>,
    ) -> Result<Option<Mismatch>, H::Error> {
        if stack.len() != map.depth {
            return Ok(Some(Mismatch::StackSize));
        }
        for (index, (&from, &to)) in self.locals.iter().zip(map.locals()).enumerate() {
            if !types.is_assignable(from, to)? {
                return Ok(Some(Mismatch::Local(index)));
            }
        }
        for (index, (&from, &to)) in stack.iter().zip(map.stack()).enumerate() {
            if !types.is_assignable(from, to)? {
                return Ok(Some(Mismatch::Stack(index)));
            }
        }
        let fits = !this_uninitialized || map.this_uninitialized;
        Ok((!fits).then_some(Mismatch::Flags))
    }

    /// The reason for a complaint about a mismatch with a frame of the table.
    pub fn mismatch_reason(&self, mismatch: Mismatch, map: &Frame) -> (usize, Reason) {
        let frame = self.snapshot();
        let map = map.clone();
        let bad_type =
            |found: (VType, Place), wanted: (VType, Place), frame, map| Reason::BadType {
                found: Origin { vtype: found.0, place: found.1, frame: Some(frame) },
                wanted: Some(Origin { vtype: wanted.0, place: wanted.1, frame: Some(map) }),
            };
        let map_bci = map.bci;
        match mismatch {
            Mismatch::StackSize => (self.bci, Reason::StackSize { frame, map }),
            Mismatch::Flags => (map_bci, Reason::BadFlags { frame, map }),
            Mismatch::Local(index) => {
                let found = (self.locals[index], Place::Local(index));
                let wanted = (map.locals[index], Place::MapLocal(index));
                (map_bci, bad_type(found, wanted, frame, map))
            }
            Mismatch::Stack(index) => {
                let found = (self.stack[index], Place::Stack(index));
                let wanted = (map.stack[index], Place::MapStack(index));
                (map_bci, bad_type(found, wanted, frame, map))
            }
        }
    }

    pub fn push<E>(&mut self, vtype: VType) -> Result<(), Fault<E>> {
        self.push_slots(&[vtype])
    }

    /// Pushes slots one by one.
    pub fn push_each<E>(&mut self, slots: &[VType]) -> Result<(), Fault<E>> {
        slots.iter().try_for_each(|&slot| self.push_slots(&[slot]))
    }

    /// Pushes slots all together, or none of them where there is no room.
    pub fn push_slots<E>(&mut self, slots: &[VType]) -> Result<(), Fault<E>> {
        let end = self.depth + slots.len();
        if end > self.stack.len() {
            let reason = Reason::StackOverflow(self.snapshot());
            return Err(Fault::new(self.bci, reason, "Operand stack overflow"));
        }
        self.stack[self.depth..end].copy_from_slice(slots);
        self.depth = end;
        Ok(())
    }

    /// Pops a slot whose type must be assignable to `wanted`.
    pub fn pop<H: Hierarchy>(
        &mut self,
        wanted: VType,
        types: &mut Types<H>,
    ) -> Result<VType, Fault<H::Error>> {
        let found = self.pop_any()?;
        if !types.is_assignable(found, wanted)? {
            let wanted = Some(Origin::implicit(wanted));
            let reason = Reason::BadType { found: self.popped(), wanted };
            return Err(Fault::new(self.bci, reason, "Bad type on operand stack"));
        }
        Ok(found)
    }

    /// Pops the two slots of a long or double. Of two mistakes the lower slot's is reported.
    pub fn pop_pair<H: Hierarchy>(
        &mut self,
        wanted: [VType; 2],
        types: &mut Types<H>,
    ) -> Result<(), Fault<H::Error>> {
        let depth = self.depth;
        let upper = self.pop(wanted[1], types);
        if matches!(upper, Err(Fault::Hierarchy(_))) || self.depth == depth {
            return upper.map(drop);
        }
        self.pop(wanted[0], types)?;
        upper.map(drop)
    }

    pub fn pop_any<E>(&mut self) -> Result<VType, Fault<E>> {
        if self.depth == 0 {
            let reason = Reason::StackUnderflow(self.snapshot());
            return Err(Fault::new(self.bci, reason, "Operand stack underflow"));
        }
        self.depth -= 1;
        Ok(self.stack[self.depth])
    }

    /// The slot popped last, for complaints.
    pub fn popped(&self) -> Origin {
        let vtype = self.stack[self.depth];
        Origin { vtype, place: Place::Stack(self.depth), frame: Some(self.snapshot()) }
    }

    /// The type of a local, which must be assignable to `wanted`: of its first slot, if it has two.
    pub fn local<H: Hierarchy>(
        &mut self,
        index: u16,
        wanted: VType,
        types: &mut Types<H>,
    ) -> Result<VType, Fault<H::Error>> {
        let at = index as usize;
        let second = wanted.second_slot();
        if second.is_some() && at + 1 >= self.locals_size {
            return Err(self.bad_local(index, "get long/double overflows locals"));
        }
        if at >= self.locals.len() {
            return Err(self.bad_local(index, "Local variable table overflow"));
        }
        for (offset, wanted) in std::iter::once(wanted).chain(second).enumerate() {
            let vtype = self.locals[at + offset];
            if !types.is_assignable(vtype, wanted)? {
                let place = Place::Local(at + offset);
                let found = Origin { vtype, place, frame: Some(self.snapshot()) };
                let reason = Reason::BadType { found, wanted: Some(Origin::implicit(wanted)) };
                return Err(Fault::new(self.bci, reason, "Bad local variable type"));
            }
        }
        self.locals_size = self.locals_size.max(at + 1);
        Ok(self.locals[at])
    }

    /// Stores one slot, or both of a long or double.
    pub fn set_local<E>(&mut self, index: u16, vtype: VType) -> Result<(), Fault<E>> {
        let at = index as usize;
        let second = vtype.second_slot();
        let end = at + 1 + usize::from(second.is_some());
        if end > self.locals.len() {
            return Err(self.bad_local(index, "Local variable table overflow"));
        }
        // Half of a long or double is nothing.
        if self.locals[at].is_second_slot() && at > 0 {
            self.locals[at - 1] = VType::Top;
        }
        if self.locals[end - 1].second_slot().is_some() && end < self.locals.len() {
            self.locals[end] = VType::Top;
        }
        self.locals[at] = vtype;
        if let Some(second) = second {
            self.locals[at + 1] = second;
        }
        self.locals_size = self.locals_size.max(end);
        self.version += 1;
        Ok(())
    }

    /// A constructor has made an object of `old`.
    pub fn initialize(&mut self, old: VType, new: VType) {
        let stack = &mut self.stack[..self.depth];
        for slot in self.locals.iter_mut().chain(stack).filter(|slot| **slot == old) {
            *slot = new;
        }
        if old == VType::UninitializedThis {
            self.this_uninitialized = false;
        }
        self.version += 1;
    }

    /// The lines that a complaint shows.
    pub fn describe(&self) -> [String; 4] {
        let list = |types: &[VType]| {
            let names: Vec<String> = types.iter().map(|vtype| format!(" {vtype}")).collect();
            names.join(",")
        };
        let flags = if self.this_uninitialized { " flagThisUninit" } else { "" };
        [
            format!("bci: @{}", self.bci),
            format!("flags: {{{flags} }}"),
            format!("locals: {{{} }}", list(self.locals())),
            format!("stack: {{{} }}", list(self.stack())),
        ]
    }

    fn bad_local<E>(&self, index: u16, message: &str) -> Fault<E> {
        Fault::new(self.bci, Reason::BadLocalIndex(index), message)
    }
}
