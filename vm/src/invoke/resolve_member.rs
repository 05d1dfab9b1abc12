//! Finding the field or method that a `MemberName` names (class, name, type, reference kind).

use super::member_name::{self, Dispatch, IS_CONSTRUCTOR, IS_FIELD, IS_METHOD, kind_of};
use super::types;
use crate::loading::messages::{joint_location, of_method};
use crate::loading::{access, constraints, errors, link, resolve, strings};
use crate::machine::JavaThread;
use crate::runtime::method::Intrinsic;
use crate::runtime::{Handle, JResult, KlassRef, MethodRef};
use classfile::symbol::{Scope, Symbol};
use classfile::{AccessFlags, ref_kind};

/// On whose behalf a member name is resolved.
#[derive(Clone, Copy)]
pub struct Caller {
    pub klass: KlassRef,
    /// Whether its loader must agree with that of the member on the classes in the descriptor (JVMS 5.3.4).
    pub is_constrained: bool,
}

/// Resolves a member name in place. The access rights are those of `caller`; `None` for all rights. `Ok(false)`:
/// the member name is not complete, or names a primitive class. A safepoint.
pub fn resolve(t: &JavaThread, member: Handle, caller: Option<Caller>) -> JResult<bool> {
    let known = &t.vm.known.fields;
    if !t.load_ref(member.get(), known.member_method()).is_null() {
        return Ok(true);
    }
    let clazz = t.load_ref(member.get(), known.member_class());
    let name = t.load_ref(member.get(), known.member_name());
    let ty = t.load_ref(member.get(), known.member_type());
    if clazz.is_null() || name.is_null() || ty.is_null() {
        return Ok(false);
    }
    let mut referenced = t.klass_of_mirror(clazz);
    if referenced.is_primitive() {
        return Ok(false);
    }
    if referenced.is_array() {
        referenced = t.vm.known.classes.object();
    }
    let _names = Scope::new();
    let name = Symbol::intern(&strings::to_modified_utf8(t, name));
    let Some(descriptor) = types::descriptor_of(t, ty) else { return Ok(false) };
    link::link(t, referenced)?;
    let flags: i32 = crate::runtime::object::get(member.get(), known.member_flags());
    let kind = kind_of(flags);
    match flags & (IS_METHOD | IS_CONSTRUCTOR | IS_FIELD) {
        IS_FIELD => {
            let is_setter = matches!(kind, ref_kind::PUT_FIELD | ref_kind::PUT_STATIC);
            resolve_field(t, member, referenced, name, descriptor, caller, is_setter)?;
        }
        IS_METHOD | IS_CONSTRUCTOR => {
            let method = find_method(t, referenced, name, descriptor, caller, kind)?;
            let dispatch = match kind {
                ref_kind::INVOKE_SPECIAL | ref_kind::NEW_INVOKE_SPECIAL => Dispatch::Direct,
                _ if method.intrinsic != Intrinsic::None => Dispatch::Direct,
                _ => Dispatch::of(method, referenced),
            };
            member_name::set_method(t, member, method, dispatch, referenced)?;
        }
        _ => {
            let message = "unrecognized MemberName format";
            return errors::fail(t, "java/lang/InternalError", message);
        }
    }
    Ok(true)
}

fn resolve_field(
    t: &JavaThread,
    member: Handle,
    referenced: KlassRef,
    name: Symbol,
    descriptor: Symbol,
    caller: Option<Caller>,
    is_setter: bool,
) -> JResult<()> {
    let Some(field) = referenced.find_field(name, descriptor) else {
        return errors::fail(t, "java/lang/NoSuchFieldError", &name.text());
    };
    let flags = field.info.access_flags;
    if let Some(Caller { klass: caller, is_constrained }) = caller {
        if !access::can_access_member(t, caller, referenced, field.holder, flags)? {
            let text = format!("field {}.{}", field.holder.java_name(), field.name());
            return no_access(t, caller, field.holder, flags, &text);
        }
        if is_constrained {
            constraints::check_field(t, caller, field)?;
        }
    }
    member_name::set_field(t, member.get(), field, is_setter);
    Ok(())
}

fn find_method(
    t: &JavaThread,
    referenced: KlassRef,
    name: Symbol,
    descriptor: Symbol,
    caller: Option<Caller>,
    kind: u8,
) -> JResult<MethodRef> {
    let is_interface = match kind {
        ref_kind::INVOKE_INTERFACE => true,
        ref_kind::INVOKE_VIRTUAL => false,
        _ => referenced.is_interface(),
    };
    let method = resolve::lookup_method(t, referenced, name, descriptor, is_interface)?;
    let flags = method.flags();
    if let Some(Caller { klass: caller, is_constrained }) = caller {
        if !access::can_access_member(t, caller, referenced, method.holder, flags)? {
            let text = format!("method {}", of_method(method));
            return no_access(t, caller, method.holder, flags, &text);
        }
        if is_constrained && method.intrinsic == Intrinsic::None {
            constraints::check_method(t, caller, referenced, method)?;
        }
    }
    let wants_static = kind == ref_kind::INVOKE_STATIC;
    if method.is_static() != wants_static {
        let expected = if wants_static { "Expected static" } else { "Expecting non-static" };
        let message = format!("{expected} method {}", of_method(method));
        return errors::fail(t, "java/lang/IncompatibleClassChangeError", &message);
    }
    let is_direct = matches!(kind, ref_kind::INVOKE_SPECIAL | ref_kind::NEW_INVOKE_SPECIAL);
    if is_direct && method.is_abstract() {
        return errors::fail(t, "java/lang/AbstractMethodError", &of_method(method));
    }
    Ok(method)
}

fn no_access<T>(
    t: &JavaThread,
    caller: KlassRef,
    holder: KlassRef,
    flags: AccessFlags,
    text: &str,
) -> JResult<T> {
    let word = match (flags.is_private(), flags.is_protected()) {
        (true, _) => "private ",
        (_, true) => "protected ",
        _ => "",
    };
    let message = format!(
        "class {} tried to access {word}{text} ({})",
        caller.java_name(),
        joint_location(t, caller, holder),
    );
    errors::fail(t, "java/lang/IllegalAccessError", &message)
}
