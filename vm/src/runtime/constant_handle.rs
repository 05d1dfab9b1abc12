//! What compiled code knows of a method handle, a `VarHandle` or a field updater that is the value of a static final
//! field: nearly all programs keep theirs there. HotSpot takes such a handle, and all that it leads to, for constants.

use super::{Field, FieldRef, KlassRef, MethodRef};
use classfile::symbol::Symbol;

/// Of an object whose class is a subclass of `MethodHandle`, `VarHandle`, `AtomicIntegerFieldUpdater` and its like. All
/// classes and methods that it names live as long as the class that has the field.
pub struct ConstantHandle {
    /// The very class of the object.
    pub klass: KlassRef,
    /// The final fields that the library never changes, of those types of which code can make something.
    fields: Box<[(FieldRef, Part)]>,
    call: Call,
}

/// The contents of a field of the handle.
#[derive(Clone, Copy)]
pub enum Part {
    /// As the interpreter's stack holds them.
    Bits(u64),
    /// The mirror of a class.
    Class(KlassRef),
    /// A `MemberName` that names a method.
    Member(MethodRef),
}

/// What calling the handle comes down to.
#[derive(Clone, Copy)]
pub enum Call {
    /// Of a method handle: the entry of its form.
    Form(MethodRef),
    /// Of a `VarHandle`: the class that has the access modes as static methods, whose first argument is the handle
    /// (`VarForm.implClass`).
    Accessors(KlassRef),
    /// There is nothing to call, or it has to check each access.
    Indirect,
}

impl ConstantHandle {
    /// All that it names must live as long as the handle.
    pub fn new(klass: KlassRef, fields: Box<[(FieldRef, Part)]>, call: Call) -> ConstantHandle {
        ConstantHandle { klass, fields, call }
    }

    /// The contents of a field of the object, if they are known. Any thread.
    pub fn part(&self, field: &Field) -> Option<Part> {
        let found = self.fields.iter().find(|(known, _)| std::ptr::eq(*known, field));
        found.map(|(_, part)| *part)
    }

    /// The method that `invokeBasic` of the handle may call, with the handle as the first argument. The library may
    /// have given the handle another form since, which does the same. Any thread.
    pub fn form_entry(&self) -> Option<MethodRef> {
        match self.call {
            Call::Form(entry) => Some(entry),
            _ => None,
        }
    }

    /// The static method that the handle calls, if all it does is to call one whose class is initialized. Any thread.
    pub fn static_target(&self) -> Option<MethodRef> {
        if !matches!(self.call, Call::Form(_))
            || self.klass.name.bytes() != b"java/lang/invoke/DirectMethodHandle"
        {
            return None;
        }
        let member = self.fields.iter().find_map(|(_, part)| match part {
            Part::Member(method) => Some(*method),
            _ => None,
        });
        member.filter(|method| method.is_static() && method.holder.is_initialized())
    }

    /// The class of the references that a `VarHandle` reads and writes. Any thread.
    pub fn value_class(&self) -> Option<KlassRef> {
        let is_value = |name: &[u8]| matches!(name, b"fieldType" | b"componentType");
        self.fields.iter().find_map(|(field, part)| match part {
            Part::Class(klass) if is_value(field.name().bytes()) => Some(*klass),
            _ => None,
        })
    }

    /// The static method for an access mode of a `VarHandle`, such as `compareAndSet`. Its first parameter is the
    /// handle; the others are these, erased; it returns `result`, or anything if that is `V`. `None`: the `VarHandle`
    /// has to look at each access. Any thread.
    pub fn accessor(&self, mode: Symbol, parameters: &[u8], result: &[u8]) -> Option<MethodRef> {
        let Call::Accessors(klass) = self.call else { return None };
        let start = [b"(Ljava/lang/invoke/VarHandle;", parameters, b")"].concat();
        let supers = std::iter::successors(Some(klass), |klass| klass.super_klass);
        let mut methods = supers.flat_map(|klass| klass.methods().iter().copied());
        methods.find(|method| {
            let is_result = |found: &[u8]| found == result || result == b"V";
            method.is_static()
                && method.name() == mode
                && method.descriptor().bytes().strip_prefix(&*start).is_some_and(is_result)
        })
    }
}
