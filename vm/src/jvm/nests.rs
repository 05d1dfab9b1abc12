//! Nest hosts (JVMS 5.4.4).

use super::objects;
use crate::loading::resolve;
use crate::runtime::{JResult, JavaThread, KlassRef};

/// The host of the nest that a class belongs to; itself when it names none, or one that cannot be loaded or
/// does not name it as a member. Found once. A safepoint.
pub fn nest_host(t: &JavaThread, klass: KlassRef) -> JResult<KlassRef> {
    let Some(instance) = klass.instance() else {
        return Ok(klass);
    };
    if let Some(host) = instance.nest_host.get() {
        return Ok(host);
    }
    let Some(index) = instance.file.nest_host else {
        return Ok(instance.nest_host.get_or_init(|| klass));
    };
    let host = match resolve::resolve_class(t, klass, index) {
        Ok(host) => host,
        Err(thrown) => {
            let exception = t.take_pending(thrown);
            if objects::is_instance_of(t, exception, "java/lang/VirtualMachineError") {
                return Err(t.throw_object(exception));
            }
            return Ok(instance.nest_host.get_or_init(|| klass));
        }
    };
    let is_valid = host.same_package(klass) && names_member(host, klass);
    Ok(instance.nest_host.get_or_init(|| if is_valid { host } else { klass }))
}

fn names_member(host: KlassRef, member: KlassRef) -> bool {
    let Some(instance) = host.instance() else {
        return false;
    };
    let pool = &instance.file.constant_pool;
    instance.file.nest_members.iter().any(|index| pool.class_name(*index) == Some(member.name))
}
