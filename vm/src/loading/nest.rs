//! Nests (JVMS 5.4.4, JEP 181): classes that share private access.

use super::{lookup, resolve};
use crate::machine::JavaThread;
use crate::runtime::{JResult, KlassRef};

/// The nest host of a class; the class itself when it names none or a wrong one. Resolves the host: a
/// safepoint. Errors other than a missing or unwilling host are thrown.
pub fn host(t: &JavaThread, klass: KlassRef) -> JResult<KlassRef> {
    let Some(instance) = klass.instance() else {
        return Ok(klass);
    };
    if let Some(host) = instance.nest_host.get() {
        return Ok(host);
    }
    let found = match instance.file.nest_host {
        None => klass,
        Some(index) => match resolve::resolve_class(t, klass, index) {
            Ok(host) if host != klass && lists(host, klass) => host,
            Ok(_) => klass,
            Err(thrown) if is_serious(t) => return Err(thrown),
            Err(thrown) => {
                t.take_pending(thrown);
                klass
            }
        },
    };
    Ok(instance.nest_host.get_or_init(|| found))
}

/// Whether two classes are in one nest. A safepoint.
pub fn are_mates(t: &JavaThread, one: KlassRef, other: KlassRef) -> JResult<bool> {
    if one == other {
        return Ok(true);
    }
    Ok(host(t, one)? == host(t, other)?)
}

/// Whether the host names the class among its members, in the same package.
fn lists(host: KlassRef, member: KlassRef) -> bool {
    let Some(instance) = host.instance() else {
        return false;
    };
    let file = &instance.file;
    let names = |index: &u16| file.constant_pool.class_name(*index) == Some(member.name);
    host.same_package(member) && file.nest_members.iter().any(names)
}

/// Errors of the machine are not swallowed.
fn is_serious(t: &JavaThread) -> bool {
    let known = lookup::find_loaded(
        t.vm.boot_loader,
        classfile::symbol::Symbol::of("java/lang/VirtualMachineError"),
    );
    let pending = t.pending.get();
    known.is_some_and(|klass| t.klass_of(pending).is_subtype_of(klass))
}
