//! Method handles, dynamic call sites and dynamic constants (JVMS 5.4.3.5, 5.4.3.6, `java.lang.invoke`).
//!
//! The library does most of it in Java: it builds trees of `LambdaForm`s and compiles them to hidden classes. The
//! VM's part, by file:
//! * [`member_name`]: `MemberName`, the library's pointer to a field or method. [`resolve_member`]: finding the
//!   member that it names. [`natives`]: the natives of `MethodHandleNatives`.
//! * [`link`]: calls up into the library to link `invokedynamic`, `invokeExact` and constants. Each call answers
//!   with an *adapter*, a static method to call in place, and an *appendix*, an extra last argument of it.
//! * In this module: the five methods that are calls in themselves. `invokeBasic` calls the target of the handle's
//!   `LambdaForm`; `linkTo*` call the target of their last argument, a `MemberName`. Neither copies arguments.

pub mod link;
pub mod member_name;
pub mod natives;
pub mod resolve_member;
pub mod types;

pub use link::{link_call_site, link_method, resolve_constant, resolve_object};

use crate::loading::{errors, member, resolve};
use crate::machine::JavaThread;
use crate::runtime::method::Intrinsic;
use crate::runtime::{JResult, MethodRef};
use gc::object::ObjectRef;

/// The method that `invokeBasic` of a method handle calls. No safepoint.
pub fn basic_target(t: &JavaThread, method_handle: ObjectRef) -> MethodRef {
    member::form_entry(t, method_handle).expect("a lambda form that is called has been prepared")
}

/// The method that `linkTo*` calls. `first` is its first argument, the receiver if there is one. A safepoint only
/// if it throws.
pub fn link_target(
    t: &JavaThread,
    intrinsic: Intrinsic,
    member: ObjectRef,
    first: ObjectRef,
) -> JResult<MethodRef> {
    let Some(target) = member::method_of(t, member) else {
        return errors::fail(t, "java/lang/InternalError", "linker without a resolved method");
    };
    let has_receiver = intrinsic != Intrinsic::LinkToStatic;
    if has_receiver && first.is_null() {
        return Err(errors::null_pointer(t));
    }
    let selected = match intrinsic {
        Intrinsic::LinkToVirtual if target.holder.is_interface() => {
            resolve::select_interface(t, target, t.klass_of(first))?
        }
        Intrinsic::LinkToVirtual => resolve::select_virtual(target, t.klass_of(first)),
        Intrinsic::LinkToInterface => select_interface(t, target, first)?,
        Intrinsic::LinkToNative => {
            return errors::fail(t, "java/lang/UnsupportedOperationException", "linkToNative");
        }
        _ => target,
    };
    match selected.intrinsic {
        Intrinsic::InvokeBasic => Ok(basic_target(t, first)),
        _ => Ok(selected),
    }
}

/// As `link_target`, by the number of an `Intrinsic`; `None` where that throws. No safepoint.
pub fn try_link_target(
    t: &JavaThread,
    intrinsic: u8,
    member: ObjectRef,
    first: ObjectRef,
) -> Option<MethodRef> {
    if member.is_null() {
        return None;
    }
    let target = member::method_of(t, member)?;
    if intrinsic != Intrinsic::LinkToStatic as u8 && first.is_null() {
        return None;
    }
    let is = |other: Intrinsic| intrinsic == other as u8;
    let selected = if is(Intrinsic::LinkToNative) {
        return None;
    } else if is(Intrinsic::LinkToVirtual) && !target.holder.is_interface() {
        resolve::select_virtual(target, t.klass_of(first))
    } else if is(Intrinsic::LinkToVirtual) || is(Intrinsic::LinkToInterface) {
        resolve::try_select_interface(target, t.klass_of(first))?
    } else {
        target
    };
    match selected.intrinsic {
        Intrinsic::InvokeBasic => Some(basic_target(t, first)),
        _ => Some(selected),
    }
}

/// As for `invokeinterface`, remembered by class.
fn select_interface(t: &JavaThread, target: MethodRef, first: ObjectRef) -> JResult<MethodRef> {
    let klass = t.klass_of(first);
    if let Some(known) = t.java_stack.selected(target, klass.id) {
        return Ok(known);
    }
    let selected = resolve::select_interface(t, target, klass)?;
    t.java_stack.remember_selection(target, klass.id, selected);
    Ok(selected)
}
