//! `java.lang.invoke.MemberName`: the library's pointer to a field or method.
//!
//! ```text
//! flags   31    28 27            24 23        22 21            20               19..16   15..0
//!        +--------+----------------+------------+---------------+----------------+--------+-----------+
//!        |        | reference kind |            | trusted final | caller sensitive | kind | modifiers |
//!        +--------+----------------+------------+---------------+----------------+--------+-----------+
//! ```
//!
//! `vmindex` is a field's offset; for methods the vtable or itable index, or [`NO_DISPATCH`]. A method is named by
//! `method.vmtarget`: class id in the upper, slot in the lower half. The heap holds no native pointers.

use crate::java::reflect;
use crate::loading::allocate;
use crate::machine::JavaThread;
use crate::runtime::method::NOT_VIRTUAL;
use crate::runtime::{FieldRef, Handle, JResult, KlassRef, MethodRef, object};
use classfile::ref_kind;
use gc::object::ObjectRef;
use std::sync::atomic::Ordering;

pub const IS_METHOD: i32 = 0x0001_0000;
pub const IS_CONSTRUCTOR: i32 = 0x0002_0000;
pub const IS_FIELD: i32 = 0x0004_0000;
const CALLER_SENSITIVE: i32 = 0x0010_0000;
const TRUSTED_FINAL: i32 = 0x0020_0000;
const KIND_SHIFT: i32 = 24;

/// `vmindex` of methods that are called directly.
const NO_DISPATCH: i64 = -2;

/// Modifiers that reflection shows.
const FIELD_MODIFIERS: i32 = 0x50df;
const METHOD_MODIFIERS: i32 = 0x1dff;

/// The reference kind in a member name's flags; 0 when unset.
pub fn kind_of(flags: i32) -> u8 {
    (flags >> KIND_SHIFT) as u8 & 0xf
}

/// The offset of a resolved field. No safepoint.
pub fn field_offset(t: &JavaThread, member: ObjectRef) -> i64 {
    object::get(member, t.vm.known.fields.member_vmindex())
}

/// The dispatch of calls of a method that was found through a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dispatch {
    Direct,
    Vtable,
    Itable,
}

impl Dispatch {
    /// The dispatch that a method needs when it was found through `referenced`.
    pub fn of(method: MethodRef, referenced: KlassRef) -> Dispatch {
        let flags = method.flags();
        let is_direct = flags.is_static()
            || flags.is_private()
            || flags.is_final()
            || method.is_initializer()
            || method.holder.flags.is_final();
        if is_direct {
            Dispatch::Direct
        } else if method.holder.is_interface() && referenced.is_interface() {
            Dispatch::Itable
        } else {
            Dispatch::Vtable
        }
    }
}

/// Makes a member name point to a method, found through `referenced`. A safepoint.
pub fn set_method(
    t: &JavaThread,
    member: Handle,
    method: MethodRef,
    dispatch: Dispatch,
    referenced: KlassRef,
) -> JResult<()> {
    let known = &t.vm.known.fields;
    let resolved = allocate::new_instance(t, t.vm.known.classes.resolved_method_name())?;
    t.store_ref(resolved, known.resolved_vmholder(), t.mirror(method.holder));
    let target = (method.holder.id.0 as i64) << 32 | method.slot as i64;
    object::put(resolved, known.resolved_vmtarget(), target);

    let is_miranda = dispatch == Dispatch::Vtable && method.holder.is_interface();
    let (kind, vmindex) = match dispatch {
        Dispatch::Itable => {
            (ref_kind::INVOKE_INTERFACE, method.itable_index.load(Ordering::Acquire))
        }
        Dispatch::Vtable if is_miranda => (ref_kind::INVOKE_VIRTUAL, 0),
        Dispatch::Vtable => (ref_kind::INVOKE_VIRTUAL, method.vtable_index.load(Ordering::Acquire)),
        Dispatch::Direct if method.is_static() => (ref_kind::INVOKE_STATIC, NOT_VIRTUAL),
        Dispatch::Direct => (ref_kind::INVOKE_SPECIAL, NOT_VIRTUAL),
    };
    let vmindex = if dispatch == Dispatch::Direct { NO_DISPATCH } else { vmindex as i64 };
    let member_kind = if method.is_initializer() { IS_CONSTRUCTOR } else { IS_METHOD };
    let mut flags = method.flags().bits() as i32 & METHOD_MODIFIERS;
    flags |= member_kind | (kind as i32) << KIND_SHIFT;
    if method.is_caller_sensitive() {
        flags |= CALLER_SENSITIVE;
    }
    let clazz = if is_miranda { referenced } else { method.holder };
    let member = member.get();
    object::put(member, known.member_flags(), flags);
    object::put(member, known.member_vmindex(), vmindex);
    t.store_ref(member, known.member_class(), t.mirror(clazz));
    t.store_ref(member, known.member_method(), resolved);
    Ok(())
}

/// Makes a member name point to a field. No safepoint.
pub fn set_field(t: &JavaThread, member: ObjectRef, field: FieldRef, is_setter: bool) {
    let known = &t.vm.known.fields;
    let kind = match (field.is_static(), is_setter) {
        (false, false) => ref_kind::GET_FIELD,
        (true, false) => ref_kind::GET_STATIC,
        (false, true) => ref_kind::PUT_FIELD,
        (true, true) => ref_kind::PUT_STATIC,
    };
    if is_setter {
        field.expose();
    }
    let mut flags = field.info.access_flags.bits() as i32 & FIELD_MODIFIERS;
    flags |= IS_FIELD | (kind as i32) << KIND_SHIFT;
    if reflect::is_trusted_final(field) {
        flags |= TRUSTED_FINAL;
    }
    object::put(member, known.member_flags(), flags);
    object::put(member, known.member_vmindex(), field.offset as i64);
    t.store_ref(member, known.member_method(), ObjectRef::NULL);
    t.store_ref(member, known.member_class(), t.mirror(field.holder));
}
