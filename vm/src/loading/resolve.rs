//! Resolution of constants (JVMS 5.4.3). Results and errors are kept in the class's `RuntimePool`. All are
//! safepoints unless they say otherwise.

use super::messages::{innermost, joint_location, method_text, of_method};
use super::{access, constraints, errors, lookup, names, tables};
use crate::machine::JavaThread;
use crate::runtime::method::{Intrinsic, NOT_VIRTUAL};
use crate::runtime::{FieldRef, JResult, KlassRef, MethodRef, Throw};
use classfile::MemberRef;
use classfile::symbol::Symbol;
use std::sync::atomic::Ordering;

/// How a method reference is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invoke {
    Virtual,
    Special,
    Static,
    Interface,
}

/// A `Class` entry, access checked.
pub fn resolve_class(t: &JavaThread, holder: KlassRef, index: u16) -> JResult<KlassRef> {
    let instance = holder.inst();
    if let Some(known) = instance.pool.entry(index).klass() {
        return Ok(known);
    }
    rethrow(t, holder, index)?;
    let name =
        instance.file.constant_pool.class_name(index).expect("a Class entry: checked when parsed");
    let klass = match name == holder.name {
        // Hidden classes are in no dictionary.
        true => Ok(holder),
        false => class_by_name(t, holder, name),
    };
    let klass = klass.map_err(|thrown| keep(t, holder, index, thrown))?;
    instance.pool.entry(index).set_klass(klass);
    Ok(klass)
}

/// A class named in `holder`, access checked: by its loader, with `NoClassDefFoundError` when missing.
pub fn class_by_name(t: &JavaThread, holder: KlassRef, name: Symbol) -> JResult<KlassRef> {
    let klass = lookup::load_named_class(t, holder.loader, name)?;
    check_class_access(t, holder, klass)?;
    Ok(klass)
}

/// Throws `IllegalAccessError` when code of `holder` may not name the class.
pub fn check_class_access(t: &JavaThread, holder: KlassRef, klass: KlassRef) -> JResult<()> {
    if access::can_access_class(t, holder, klass) {
        return Ok(());
    }
    let klass = innermost(klass);
    let message = match t.vm.modules.access(holder, klass) {
        Err(why) if klass.flags.is_public() => why,
        _ => format!(
            "failed to access class {} from class {} ({})",
            klass.java_name(),
            holder.java_name(),
            joint_location(t, klass, holder),
        ),
    };
    errors::fail(t, "java/lang/IllegalAccessError", &message)
}

/// A `Fieldref` for `get*`/`put*`: checks access, static or not, and writes to finals (`writer` is the method
/// that stores). Does not initialize.
pub fn resolve_field(
    t: &JavaThread,
    holder: KlassRef,
    index: u16,
    is_static: bool,
    writer: Option<MethodRef>,
) -> JResult<FieldRef> {
    let entry = holder.inst().pool.entry(index);
    let field = match entry.field() {
        Some(known) => known,
        None => {
            rethrow(t, holder, index)?;
            let found = find_field(t, holder, index);
            let field = found.map_err(|thrown| keep(t, holder, index, thrown))?;
            entry.set_field(field);
            field
        }
    };
    let text = || format!("{}.{}", field.holder.java_name(), field.name());
    if field.is_static() != is_static {
        let expected = if is_static { "static" } else { "non-static" };
        let message = format!("Expected {expected} field {}", text());
        return errors::fail(t, "java/lang/IncompatibleClassChangeError", &message);
    }
    if let Some(writer) = writer.filter(|_| field.info.access_flags.is_final()) {
        check_final(t, holder, field, writer)?;
    }
    Ok(field)
}

fn check_final(
    t: &JavaThread,
    holder: KlassRef,
    field: FieldRef,
    writer: MethodRef,
) -> JResult<()> {
    let initializer = if field.is_static() { "<clinit>" } else { "<init>" };
    if field.holder != holder {
        let message = format!(
            "class {} tried to modify final field {}.{} ({})",
            holder.java_name(),
            field.holder.java_name(),
            field.name(),
            joint_location(t, holder, field.holder),
        );
        return errors::fail(t, "java/lang/IllegalAccessError", &message);
    }
    let is_strict = holder.inst().file.major_version >= 53;
    if is_strict && writer.name().bytes() != initializer.as_bytes() {
        let message = format!(
            "Update to {}final field {}.{} attempted from a different method ({}) \
             than the initializer method {initializer} ",
            if field.is_static() { "static " } else { "non-static " },
            field.holder.java_name(),
            field.name(),
            writer.name(),
        );
        return errors::fail(t, "java/lang/IllegalAccessError", &message);
    }
    Ok(())
}

fn find_field(t: &JavaThread, holder: KlassRef, index: u16) -> JResult<FieldRef> {
    let member = member(holder, index);
    let referenced = resolve_class(t, holder, member.class_index)?;
    let Some(field) = referenced.find_field(member.name, member.descriptor) else {
        return errors::fail(t, "java/lang/NoSuchFieldError", &member.name.text());
    };
    let flags = field.info.access_flags;
    if !access::can_access_member(t, holder, referenced, field.holder, flags)? {
        let message = format!(
            "class {} tried to access {}field {}.{} ({})",
            holder.java_name(),
            access_word(flags),
            field.holder.java_name(),
            field.name(),
            joint_location(t, holder, field.holder),
        );
        return errors::fail(t, "java/lang/IllegalAccessError", &message);
    }
    constraints::check_field(t, holder, field)?;
    Ok(field)
}

/// A `Methodref` or `InterfaceMethodref`: the resolved (not yet selected) method; for `Special` the method
/// that is called. Signature-polymorphic methods are returned as declared, with `intrinsic` set. Does not
/// initialize. A method reference that an interface declares although the class was named
/// (`holder.is_interface()`) is selected by [`select_interface`].
pub fn resolve_method(
    t: &JavaThread,
    holder: KlassRef,
    index: u16,
    kind: Invoke,
) -> JResult<MethodRef> {
    rethrow(t, holder, index)?;
    find_method(t, holder, index, kind).map_err(|thrown| keep(t, holder, index, thrown))
}

fn find_method(t: &JavaThread, holder: KlassRef, index: u16, kind: Invoke) -> JResult<MethodRef> {
    let member = member(holder, index);
    let referenced = resolve_class(t, holder, member.class_index)?;
    let (name, descriptor) = (member.name, member.descriptor);
    if referenced.is_interface() != member.is_interface
        && matches!(kind, Invoke::Static | Invoke::Special)
    {
        let expected = if referenced.is_interface() { "InterfaceMethodref" } else { "Methodref" };
        let text = method_text(referenced, name, descriptor);
        let message = format!("Method {text} must be {expected} constant");
        return errors::fail(t, "java/lang/IncompatibleClassChangeError", &message);
    }
    let method = lookup_method(t, referenced, name, descriptor, member.is_interface)?;
    let flags = method.flags();
    // Signature-polymorphic methods are public, and arrays' `clone` is (JLS 10.7).
    let is_array_clone = referenced.is_array() && name.bytes() == b"clone";
    if !is_array_clone && !access::can_access_member(t, holder, referenced, method.holder, flags)? {
        let message = format!(
            "class {} tried to access {}method {} ({})",
            holder.java_name(),
            access_word(flags),
            of_method(method),
            joint_location(t, holder, method.holder),
        );
        return errors::fail(t, "java/lang/IllegalAccessError", &message);
    }
    if method.intrinsic == Intrinsic::None {
        constraints::check_method(t, holder, referenced, method)?;
    }
    match kind {
        Invoke::Static if !method.is_static() => {
            let message = format!("Expected static method {}", of_method(method));
            errors::fail(t, "java/lang/IncompatibleClassChangeError", &message)
        }
        Invoke::Virtual | Invoke::Interface | Invoke::Special if method.is_static() => {
            let message = format!("Expecting non-static method {}", of_method(method));
            errors::fail(t, "java/lang/IncompatibleClassChangeError", &message)
        }
        Invoke::Special => select_special(t, holder, referenced, method),
        _ => Ok(method),
    }
}

/// Method resolution (JVMS 5.4.3.3 and 5.4.3.4), without access checks.
pub fn lookup_method(
    t: &JavaThread,
    referenced: KlassRef,
    name: Symbol,
    descriptor: Symbol,
    is_interface: bool,
) -> JResult<MethodRef> {
    if referenced.is_interface() != is_interface {
        let (found, expected) =
            if is_interface { ("class", "interface") } else { ("interface", "class") };
        let name = referenced.java_name();
        let message = format!("Found {found} {name}, but {expected} was expected");
        return errors::fail(t, "java/lang/IncompatibleClassChangeError", &message);
    }
    match find_method_anywhere(t, referenced, name, descriptor) {
        Some(method) => Ok(method),
        None => {
            let message = method_text(referenced, name, descriptor);
            errors::fail(t, "java/lang/NoSuchMethodError", &message)
        }
    }
}

/// The method that a name resolves to in a class or interface; no errors, no access checks, no safepoint.
pub fn find_method_anywhere(
    t: &JavaThread,
    klass: KlassRef,
    name: Symbol,
    descriptor: Symbol,
) -> Option<MethodRef> {
    if let Some(polymorphic) = find_polymorphic(klass, name) {
        return Some(polymorphic);
    }
    if klass.is_interface() {
        if let Some(own) = klass.declared_method(name, descriptor) {
            return Some(own);
        }
        let of_object = t.vm.known.classes.object().declared_method(name, descriptor);
        if let Some(method) = of_object.filter(|m| m.flags().is_public() && !m.is_static()) {
            return Some(method);
        }
    } else if let Some(method) = klass.find_method(name, descriptor) {
        return Some(method);
    }
    let candidates = tables::most_specific_named(klass, name, descriptor);
    candidates.iter().find(|m| !m.is_abstract()).or(candidates.first()).copied()
}

/// `MethodHandle.invokeExact` and the like take any descriptor.
fn find_polymorphic(klass: KlassRef, name: Symbol) -> Option<MethodRef> {
    let is_home = matches!(
        klass.name.bytes(),
        b"java/lang/invoke/MethodHandle" | b"java/lang/invoke/VarHandle"
    );
    if !is_home || !klass.loader.is_boot() {
        return None;
    }
    let methods = klass.methods().iter().copied();
    methods.into_iter().find(|m| m.name() == name && m.intrinsic != Intrinsic::None)
}

/// `invokespecial` (JVMS 6.5): a superclass's method is looked up again from the direct superclass.
fn select_special(
    t: &JavaThread,
    holder: KlassRef,
    referenced: KlassRef,
    resolved: MethodRef,
) -> JResult<MethodRef> {
    if resolved.is_initializer() {
        if resolved.holder != referenced {
            let message = method_text(referenced, resolved.name(), resolved.descriptor());
            return errors::fail(t, "java/lang/NoSuchMethodError", &message);
        }
        return Ok(resolved);
    }
    let is_super = !resolved.flags().is_private()
        && !referenced.is_interface()
        && holder != referenced
        && holder.is_subtype_of(referenced);
    if !is_super {
        return Ok(resolved);
    }
    let parent = holder.super_klass.expect("a subtype of another class has a superclass");
    let (name, descriptor) = (resolved.name(), resolved.descriptor());
    match find_method_anywhere(t, parent, name, descriptor) {
        Some(method) if method.is_static() => {
            let message = format!("Expecting non-static method '{}'", names::external(method));
            errors::fail(t, "java/lang/IncompatibleClassChangeError", &message)
        }
        Some(method) => Ok(method),
        None => errors::fail(t, "java/lang/AbstractMethodError", &of_method(resolved)),
    }
}

/// The method that `invokevirtual` of a resolved method selects in a receiver's class (JVMS 5.4.6). No
/// safepoint. If the method is abstract, or two interfaces have conflicting defaults, the resolved one is
/// returned.
pub fn select_virtual(resolved: MethodRef, receiver: KlassRef) -> MethodRef {
    let index = resolved.vtable_index.load(Ordering::Relaxed);
    if index != NOT_VIRTUAL {
        return vtable_entry(receiver, index as usize);
    }
    if resolved.itable_index.load(Ordering::Relaxed) == NOT_VIRTUAL {
        return resolved;
    }
    itable_entry(resolved, receiver).flatten().unwrap_or(resolved)
}

/// As `select_virtual` for `invokeinterface`; throws IncompatibleClassChangeError, AbstractMethodError (also where
/// several defaults conflict) or IllegalAccessError.
pub fn select_interface(
    t: &JavaThread,
    resolved: MethodRef,
    receiver: KlassRef,
) -> JResult<MethodRef> {
    check_implements(t, receiver, resolved.holder)?;
    if resolved.itable_index.load(Ordering::Relaxed) == NOT_VIRTUAL {
        return Ok(select_virtual(resolved, receiver));
    }
    match itable_entry(resolved, receiver).flatten() {
        Some(method) if !method.flags().is_public() => {
            errors::fail(t, "java/lang/IllegalAccessError", &of_method(method))
        }
        Some(method) if method.is_abstract() => {
            Err(abstract_method(t, resolved, Some(method), receiver))
        }
        Some(method) => Ok(method),
        None => Err(abstract_method(t, resolved, None, receiver)),
    }
}

/// IncompatibleClassChangeError unless a receiver's class implements an interface. A safepoint only if it throws.
pub fn check_implements(t: &JavaThread, receiver: KlassRef, interface: KlassRef) -> JResult<()> {
    if receiver.is_subtype_of(interface) {
        return Ok(());
    }
    let message = format!(
        "Class {} does not implement the requested interface {}",
        receiver.java_name(),
        interface.java_name(),
    );
    errors::fail(t, "java/lang/IncompatibleClassChangeError", &message)
}

/// As `select_interface`; `None` where that throws. No safepoint.
pub fn try_select_interface(resolved: MethodRef, receiver: KlassRef) -> Option<MethodRef> {
    if !receiver.is_subtype_of(resolved.holder) {
        return None;
    }
    if resolved.itable_index.load(Ordering::Relaxed) == NOT_VIRTUAL {
        return Some(select_virtual(resolved, receiver));
    }
    let selected = itable_entry(resolved, receiver).flatten();
    selected.filter(|method| !method.is_abstract() && method.flags().is_public())
}

/// As `select_interface` for `invokevirtual` of a method that a class has from an interface only.
pub fn select_inherited(
    t: &JavaThread,
    resolved: MethodRef,
    receiver: KlassRef,
) -> JResult<MethodRef> {
    if itable_entry(resolved, receiver).flatten().is_some() {
        return select_interface(t, resolved, receiver);
    }
    let defaults = tables::most_specific(receiver, resolved);
    if defaults.len() < 2 {
        return select_interface(t, resolved, receiver);
    }
    let names: Vec<String> =
        defaults.iter().map(|m| format!("{}.{}", m.holder.name, m.name())).collect();
    let message = format!("Conflicting default methods: {}", names.join(" "));
    errors::fail(t, "java/lang/IncompatibleClassChangeError", &message)
}

/// `AbstractMethodError` for a selected method without code; `None` if none was selected.
#[cold]
pub fn abstract_method(
    t: &JavaThread,
    resolved: MethodRef,
    selected: Option<MethodRef>,
    receiver: KlassRef,
) -> Throw {
    let quoted = |method: MethodRef| {
        let text = of_method(method);
        match method.is_abstract() {
            true => format!("'abstract {}", &text[1..]),
            false => text,
        }
    };
    // Without the class: the message names it apart.
    let class = format!("{}.", resolved.holder.java_name());
    let selected = selected.filter(|selected| *selected != resolved);
    let message = format!(
        "Receiver class {} does not define or inherit an implementation of the resolved method {} of {} {}.{}",
        receiver.java_name(),
        quoted(resolved).replacen(&class, "", 1),
        match (resolved.holder.is_interface(), resolved.holder.flags.is_abstract()) {
            (true, _) => "interface",
            (_, true) => "abstract class",
            _ => "class",
        },
        resolved.holder.java_name(),
        selected.map(|s| format!(" Selected method is {}.", quoted(s))).unwrap_or_default(),
    );
    errors::throw_new(t, "java/lang/AbstractMethodError", Some(&message))
}

fn vtable_entry(receiver: KlassRef, index: usize) -> MethodRef {
    receiver.vtable.get().expect("an object's class is linked")[index]
}

/// `None` when the class does not implement the interface at all.
fn itable_entry(resolved: MethodRef, receiver: KlassRef) -> Option<Option<MethodRef>> {
    let index = resolved.itable_index.load(Ordering::Relaxed) as usize;
    let row = tables::itable(receiver).iter().find(|row| row.interface == resolved.holder)?;
    Some(row.methods[index])
}

/// The class that a member reference names. A safepoint.
pub fn named_class(t: &JavaThread, holder: KlassRef, index: u16) -> JResult<KlassRef> {
    resolve_class(t, holder, member(holder, index).class_index)
}

fn member(holder: KlassRef, index: u16) -> MemberRef {
    let member = holder.inst().file.constant_pool.member(index);
    member.unwrap_or_else(|| panic!("constant {index} of {holder:?} is no member reference"))
}

fn access_word(flags: classfile::AccessFlags) -> &'static str {
    match (flags.is_private(), flags.is_protected()) {
        (true, _) => "private ",
        (_, true) => "protected ",
        _ => "",
    }
}

/// Throws the throwable of the entry's first resolution again (JVMS 5.4.3).
fn rethrow(t: &JavaThread, holder: KlassRef, index: u16) -> JResult<()> {
    match holder.inst().pool.error(index as u32) {
        Some(slot) if !slot.is_null() => Err(errors::throw_again(t, slot)),
        _ => Ok(()),
    }
}

/// Keeps a `LinkageError` for the next resolution of the entry; other throwables are not results.
fn keep(t: &JavaThread, holder: KlassRef, index: u16, thrown: Throw) -> Throw {
    if errors::pending_is(t, "java/lang/LinkageError") {
        let slot = holder.inst().pool.error_slot(index as u32, &holder.holder.roots);
        t.store_root(slot, t.pending.get());
    }
    thrown
}
