//! Access control (JVMS 5.4.4).

use super::nest;
use crate::machine::JavaThread;
use crate::runtime::{JResult, KlassKind, KlassRef};
use classfile::AccessFlags;

/// Whether code of `from` may name the class `to`.
pub fn can_access_class(t: &JavaThread, from: KlassRef, to: KlassRef) -> bool {
    let mut to = to;
    while let KlassKind::ObjectArray { component } = to.kind {
        to = component;
    }
    if from == to || to.instance().is_none() || from.same_package(to) {
        return true;
    }
    if to.flags.is_public() && t.vm.modules.can_access(from, to) {
        return true;
    }
    is_magic(t, from)
}

/// Whether code of `from` may use a member with these flags, declared by `holder` and named through
/// `referenced`. May resolve nest hosts: a safepoint.
pub fn can_access_member(
    t: &JavaThread,
    from: KlassRef,
    referenced: KlassRef,
    holder: KlassRef,
    flags: AccessFlags,
) -> JResult<bool> {
    if flags.is_public() || from == holder {
        return Ok(true);
    }
    if flags.is_private() {
        return Ok(nest::are_mates(t, from, holder)? || is_magic(t, from));
    }
    if from.same_package(holder) {
        return Ok(true);
    }
    if flags.is_protected() && from.is_subtype_of(holder) {
        let related = flags.is_static()
            || referenced.is_subtype_of(from)
            || from.is_subtype_of(referenced)
            || referenced.is_interface();
        if related {
            return Ok(true);
        }
    }
    Ok(is_magic(t, from))
}

/// Generated reflection accessors may do everything (`jdk.internal.reflect.MagicAccessorImpl`).
pub(super) fn is_magic(t: &JavaThread, klass: KlassRef) -> bool {
    t.vm.init_level() >= 1 && klass.is_subtype_of(t.vm.known.classes.magic_accessor())
}
