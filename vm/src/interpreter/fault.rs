//! Exceptions that instructions themselves throw, and their messages.

use super::frame::Frame;
use crate::loading::{errors, strings};
use crate::runtime::{JavaThread, KlassRef, Throw};
use crate::symbol::Symbol;
use gc::object::ObjectRef;

/// Why an instruction did not complete.
pub enum Fault {
    /// The exception is pending already.
    Thrown,
    NullPointer,
    /// Index and length.
    Index(i32, usize),
    DivideByZero,
    /// The object on top of the operand stack is no instance of the class.
    Cast(KlassRef),
    /// The value on top of the operand stack does not fit the array below.
    ArrayStore,
    /// No room for a callee's frame.
    StackOverflow,
}

impl Fault {
    /// Makes the exception pending. The frame's `pc` and `sp` are saved. A safepoint.
    #[cold]
    #[inline(never)]
    pub fn raise(self, t: &JavaThread, frame: *mut Frame) -> Throw {
        // SAFETY: for `Cast` and `ArrayStore` the operand stack is not empty and its top a reference.
        let top = || ObjectRef::from_address(unsafe { *(*frame).sp.sub(1) } as usize);
        match self {
            Fault::Thrown => Throw::PENDING,
            Fault::NullPointer => errors::null_pointer(t),
            Fault::Index(index, length) => throw(
                t,
                "java/lang/ArrayIndexOutOfBoundsException",
                &format!("Index {index} out of bounds for length {length}"),
            ),
            Fault::DivideByZero => throw(t, "java/lang/ArithmeticException", "/ by zero"),
            Fault::Cast(target) => {
                let message = cast_message(t, t.klass_of(top()), target);
                throw(t, "java/lang/ClassCastException", &message)
            }
            Fault::ArrayStore => {
                let name = t.klass_of(top()).java_name();
                throw(t, "java/lang/ArrayStoreException", &name)
            }
            Fault::StackOverflow => stack_overflow(t),
        }
    }
}

/// Throws `StackOverflowError`, with the reserve for its constructor.
#[cold]
pub fn stack_overflow(t: &JavaThread) -> Throw {
    let reported =
        t.java_stack.with_reserve(|| errors::throw_new(t, "java/lang/StackOverflowError", None));
    // The reserve is for exactly one report at a time; it does not call programs' code.
    reported.expect("the stack overflowed while its overflow was reported")
}

/// The message of `ClassCastException`: which classes, and where they come from.
pub fn cast_message(t: &JavaThread, from: KlassRef, to: KlassRef) -> String {
    let (from_name, to_name) = (from.java_name(), to.java_name());
    let (from_where, to_where) = (origin(t, from), origin(t, to));
    let origins = if from_where == to_where {
        format!("{from_name} and {to_name} are in {from_where}")
    } else {
        format!("{from_name} is in {from_where}; {to_name} is in {to_where}")
    };
    format!("class {from_name} cannot be cast to class {to_name} ({origins})")
}

fn throw(t: &JavaThread, class_name: &str, message: &str) -> Throw {
    errors::throw_new(t, class_name, Some(message))
}

/// `module java.base of loader 'bootstrap'`, `unnamed module of loader 'app'`.
fn origin(t: &JavaThread, klass: KlassRef) -> String {
    let klass = innermost_element(klass);
    let module = match module_name(t, klass) {
        Some(name) => format!("module {name}"),
        None => "unnamed module".to_string(),
    };
    let loader = t.load_root(&klass.loader.object);
    let loader = if loader.is_null() {
        "'bootstrap'".to_string()
    } else {
        let name = object_field(t, loader, "nameAndId", "Ljava/lang/String;");
        if name.is_null() { t.klass_of(loader).java_name() } else { strings::to_text(t, name) }
    };
    format!("{module} of loader {loader}")
}

fn innermost_element(klass: KlassRef) -> KlassRef {
    let mut klass = klass;
    while let Some(component) = klass.component() {
        klass = component;
    }
    klass
}

/// `None` for unnamed modules. Arrays of primitives are in `java.base`.
fn module_name(t: &JavaThread, klass: KlassRef) -> Option<String> {
    let module = object_field(t, t.mirror(klass), "module", "Ljava/lang/Module;");
    if module.is_null() {
        return Some("java.base".to_string());
    }
    let name = object_field(t, module, "name", "Ljava/lang/String;");
    (!name.is_null()).then(|| strings::to_text(t, name))
}

/// A reference field looked up by name: for messages.
fn object_field(t: &JavaThread, object: ObjectRef, name: &str, descriptor: &str) -> ObjectRef {
    match t.klass_of(object).find_field(Symbol::of(name), Symbol::of(descriptor)) {
        Some(field) => t.load_ref(object, field.offset as usize),
        None => ObjectRef::NULL,
    }
}
