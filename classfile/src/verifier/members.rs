//! Field accesses and calls (JVMS 4.10.1.8 and 4.10.1.9).

use super::Hierarchy;
use super::error::{Fault, Origin, Reason};
use super::method::MethodVerifier;
use super::vtype::VType;
use crate::bytecode::{Instruction, op};
use crate::descriptor::external_name;
use crate::symbol::Symbol;
use crate::{CpEntry, FieldType, MemberRef};

impl<H: Hierarchy> MethodVerifier<'_, '_, H> {
    pub fn field(&mut self, at: &Instruction) -> Result<(), Fault<H::Error>> {
        let index = at.u16_at(1);
        self.check_pool_index(index)?;
        let CpEntry::Fieldref { .. } = self.pool().entry(index) else {
            return Err(self.bad_constant(index));
        };
        let field = self.pool().member(index).ok_or_else(|| self.bad_constant(index))?;
        let holder = self.class_constant(field.class_index)?;
        let is_static = matches!(at.opcode, op::GETSTATIC | op::PUTSTATIC);
        if holder.class_name().is_none() && !is_static {
            let message = format!(
                "Expecting reference to class in class {} at constant pool index {index}",
                external_name(self.class.name)
            );
            let reason = Reason::BadType { found: Origin::pool(index, holder), wanted: None };
            return Err(Fault::new(at.bci, reason, message));
        }
        let mut slots = Vec::with_capacity(2);
        if let Some(parsed) = FieldType::parse(field.descriptor.bytes()) {
            VType::push_slots(parsed, &mut slots);
        }
        if matches!(at.opcode, op::PUTSTATIC | op::PUTFIELD) {
            for &slot in slots.iter().rev() {
                self.frame.pop(slot, self.types)?;
            }
        }
        match at.opcode {
            op::GETFIELD => {
                let object = self.frame.pop(holder, self.types)?;
                self.check_protected_field(object, &field, "getfield")?;
            }
            op::PUTFIELD => {
                let object = self.assigned_object(index, holder, &field)?;
                self.check_protected_field(object, &field, "putfield")?;
            }
            _ => {}
        }
        if matches!(at.opcode, op::GETSTATIC | op::GETFIELD) {
            self.frame.push_each(&slots)?;
        }
        Ok(())
    }

    /// Pops the object of a `putfield`. A constructor may set its own class's fields before it
    /// calls the superclass's constructor.
    fn assigned_object(
        &mut self,
        index: u16,
        holder: VType,
        field: &MemberRef,
    ) -> Result<VType, Fault<H::Error>> {
        let mut object = self.frame.pop_any()?;
        let is_own =
            |own: &crate::FieldInfo| own.name == field.name && own.descriptor == field.descriptor;
        if object == VType::UninitializedThis
            && holder == self.this_type
            && self.class.fields.iter().any(is_own)
        {
            object = self.this_type;
        }
        if !self.types.is_assignable(object, holder)? {
            let wanted = Some(Origin::pool(index, holder));
            let reason = Reason::BadType { found: self.frame.popped(), wanted };
            let message = "Bad type on operand stack in putfield";
            return Err(Fault::new(self.frame.bci, reason, message));
        }
        Ok(object)
    }

    fn check_protected_field(
        &mut self,
        object: VType,
        field: &MemberRef,
        instruction: &str,
    ) -> Result<(), Fault<H::Error>> {
        if !self.is_protected_in_super(object, field, false)? {
            return Ok(());
        }
        self.check_own_object(object, &format!("Bad access to protected data in {instruction}"))
    }

    /// Whether a member is a protected one that only objects of this class may be asked for.
    fn is_protected_in_super(
        &mut self,
        object: VType,
        member: &MemberRef,
        is_method: bool,
    ) -> Result<bool, Fault<H::Error>> {
        let Some(holder) = self.pool().class_name(member.class_index) else { return Ok(false) };
        if object == self.this_type || !self.superclasses.contains(&holder) {
            return Ok(false);
        }
        let (name, descriptor) = (member.name, member.descriptor);
        let hierarchy = &mut self.types.hierarchy;
        Ok(hierarchy.is_protected_elsewhere(holder, name, descriptor, is_method)?)
    }

    fn check_own_object(&mut self, object: VType, message: &str) -> Result<(), Fault<H::Error>> {
        if self.types.is_assignable_for(object, self.this_type, true)? {
            return Ok(());
        }
        let wanted = Some(Origin::implicit(self.this_type));
        let reason = Reason::BadType { found: self.frame.popped(), wanted };
        Err(Fault::new(self.frame.bci, reason, message))
    }

    /// `Ok(true)`: the call was of the constructor of `this`.
    pub fn invoke(&mut self, at: &Instruction) -> Result<bool, Fault<H::Error>> {
        let index = at.u16_at(1);
        self.check_pool_index(index)?;
        let fits = match (at.opcode, self.pool().entry(index)) {
            (op::INVOKEINTERFACE, CpEntry::InterfaceMethodref { .. })
            | (op::INVOKEDYNAMIC, CpEntry::InvokeDynamic { .. }) => true,
            (op::INVOKESPECIAL | op::INVOKESTATIC, CpEntry::InterfaceMethodref { .. }) => {
                self.class.major_version >= 52
            }
            (op::INVOKEINTERFACE | op::INVOKEDYNAMIC, _) => false,
            (_, entry) => matches!(entry, CpEntry::Methodref { .. }),
        };
        if !fits {
            return Err(self.bad_constant(index));
        }
        if at.opcode == op::INVOKEDYNAMIC {
            return self.invoke_dynamic(at, index).map(|()| false);
        }
        let method = self.pool().member(index).ok_or_else(|| self.bad_constant(index))?;
        let holder = self.class_constant(method.class_index)?;
        let slots = self.descriptors.slots(method.descriptor);
        if at.opcode == op::INVOKEINTERFACE {
            self.check_interface_operands(at, slots.arguments.len())?;
        }
        if method.name.bytes().first() == Some(&b'<') {
            if at.opcode != op::INVOKESPECIAL || method.name.bytes() != b"<init>" {
                return Err(Fault::bad_code(at.bci, "Illegal call to internal method"));
            }
        } else if at.opcode == op::INVOKESPECIAL {
            self.check_special_target(holder, method.is_interface)?;
        }
        for &slot in slots.arguments.iter().rev() {
            self.frame.pop(slot, self.types)?;
        }
        let mut constructed_this = false;
        match at.opcode {
            op::INVOKESTATIC => {}
            op::INVOKESPECIAL if method.name.bytes() == b"<init>" => {
                constructed_this = self.construct(index, holder, &method)?;
            }
            op::INVOKESPECIAL => {
                self.frame.pop(self.this_type, self.types)?;
            }
            op::INVOKEVIRTUAL => self.virtual_receiver(holder, &method)?,
            _ => {
                self.frame.pop(holder, self.types)?;
            }
        }
        self.frame.push_each(&slots.result)?;
        Ok(constructed_this)
    }

    fn invoke_dynamic(&mut self, at: &Instruction, index: u16) -> Result<(), Fault<H::Error>> {
        if at.u16_at(3) != 0 {
            let message = "Third and fourth operand bytes of invokedynamic must be zero";
            return Err(Fault::bad_code(at.bci, message));
        }
        let site = self.pool().dynamic(index).ok_or_else(|| self.bad_constant(index))?;
        if site.name.bytes().first() == Some(&b'<') {
            return Err(Fault::bad_code(at.bci, "Illegal call to internal method"));
        }
        let slots = self.descriptors.slots(site.descriptor);
        for &slot in slots.arguments.iter().rev() {
            self.frame.pop(slot, self.types)?;
        }
        self.frame.push_each(&slots.result)
    }

    fn check_interface_operands(
        &self,
        at: &Instruction,
        arguments: usize,
    ) -> Result<(), Fault<H::Error>> {
        if at.u8_at(3) as usize != arguments + 1 {
            let message = "Inconsistent args count operand in invokeinterface";
            return Err(Fault::bad_code(at.bci, message));
        }
        if at.u8_at(4) != 0 {
            let message = "Fourth operand byte of invokeinterface must be zero";
            return Err(Fault::bad_code(at.bci, message));
        }
        Ok(())
    }

    /// `invokespecial` calls methods of this class, of superclasses and of direct superinterfaces.
    fn check_special_target(
        &mut self,
        holder: VType,
        is_interface_method: bool,
    ) -> Result<(), Fault<H::Error>> {
        let is_direct = holder == self.this_type
            || self.class.interface_names().any(|name| VType::Reference(name) == holder)
            || self.superclasses.first().is_some_and(|&name| VType::Reference(name) == holder);
        if is_direct {
            return Ok(());
        }
        let problem = if !self.types.is_assignable(self.this_type, holder)? {
            "current class isn't assignable to reference class."
        } else if is_interface_method {
            "interface method reference is in an indirect superinterface."
        } else {
            return Ok(());
        };
        let message = format!("Bad invokespecial instruction: {problem}");
        Err(Fault::bad_code(self.frame.bci, message))
    }

    fn virtual_receiver(
        &mut self,
        holder: VType,
        method: &MemberRef,
    ) -> Result<(), Fault<H::Error>> {
        let object = self.frame.pop(holder, self.types)?;
        if !self.is_protected_in_super(object, method, true)? {
            return Ok(());
        }
        // For all classes, arrays have a public clone().
        let is_array_clone = holder == self.types.object()
            && object.array().is_some()
            && method.name.bytes() == b"clone";
        if is_array_clone {
            return Ok(());
        }
        self.check_own_object(object, "Bad access to protected data in invokevirtual")
    }

    /// Calls a constructor. `Ok(true)` for that of `this`.
    fn construct(
        &mut self,
        index: u16,
        holder: VType,
        method: &MemberRef,
    ) -> Result<bool, Fault<H::Error>> {
        match self.frame.pop(VType::AnyReference, self.types)? {
            VType::UninitializedThis => self.construct_this(holder).map(|()| true),
            VType::Uninitialized(new_bci) => {
                self.construct_new(new_bci, index, holder, method).map(|()| false)
            }
            _ => {
                let reason = Reason::BadType { found: self.frame.popped(), wanted: None };
                let message = "Bad operand type when invoking <init>";
                Err(Fault::new(self.frame.bci, reason, message))
            }
        }
    }

    fn construct_this(&mut self, holder: VType) -> Result<(), Fault<H::Error>> {
        let bci = self.frame.bci;
        let superclass = self.superclasses.first().map(|&name| VType::Reference(name));
        if holder != self.this_type && Some(holder) != superclass {
            let wanted = Some(Origin::implicit(self.this_type));
            let reason = Reason::BadType { found: Origin::implicit(holder), wanted };
            return Err(Fault::new(bci, reason, "Bad <init> method call"));
        }
        for handler in &self.code.exception_table {
            let range = handler.start_pc as usize..handler.end_pc as usize;
            if range.contains(&bci) && !self.ends_in_throw(handler.handler_pc) {
                let message = "Bad <init> method call from after the start of a try block";
                return Err(Fault::bad_code(bci, message));
            }
        }
        self.check_handlers(bci, true)?;
        self.frame.initialize(VType::UninitializedThis, self.this_type);
        Ok(())
    }

    fn construct_new(
        &mut self,
        new_bci: u16,
        index: u16,
        holder: VType,
        method: &MemberRef,
    ) -> Result<(), Fault<H::Error>> {
        let bci = self.frame.bci;
        // Uninitialized types come from `new` instructions only, the table's included.
        let class_index = match Instruction::at(&self.code.bytecode, new_bci as usize) {
            Some(new) if new.opcode == op::NEW => new.u16_at(1),
            _ => return Err(Fault::bad_code(new_bci as usize, "Expecting new instruction")),
        };
        let class = self.class_constant(class_index)?;
        if class != holder {
            let wanted = Some(Origin::pool(index, holder));
            let reason = Reason::BadType { found: Origin::pool(class_index, class), wanted };
            return Err(Fault::new(bci, reason, "Call to wrong <init> method"));
        }
        let is_super = |name: Symbol| self.superclasses.contains(&name);
        if let Some(name) = holder.class_name().filter(|&name| is_super(name)) {
            let hierarchy = &mut self.types.hierarchy;
            let (init, descriptor) = (method.name, method.descriptor);
            let is_protected = hierarchy.is_protected_elsewhere(name, init, descriptor, true)?;
            if is_protected && !self.types.is_assignable_for(class, self.this_type, true)? {
                let wanted = Some(Origin::implicit(self.this_type));
                let reason = Reason::BadType { found: Origin::pool(class_index, class), wanted };
                return Err(Fault::new(bci, reason, "Bad access to protected <init> method"));
            }
        }
        self.check_handlers(bci, false)?;
        self.frame.initialize(VType::Uninitialized(new_bci), class);
        Ok(())
    }
}
