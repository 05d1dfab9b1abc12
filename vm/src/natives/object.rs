//! The natives of `java.lang.Object` (`getClass` is libjava's).

use crate::ffi::registry::{Arguments, Native, NativeTable, entry};
use crate::java::objects::is_cloneable;
use crate::loading::{allocate, errors};
use crate::machine::JavaThread;
use crate::monitors::monitor::identity_hash;
use crate::runtime::JResult;
use crate::threads::monitor;
use gc::object::ObjectRef;

pub static OBJECT: NativeTable = NativeTable {
    class: "java/lang/Object",
    entries: &[
        entry("hashCode", "()I", Native::Direct(hash_code)),
        entry("getClass", "()Ljava/lang/Class;", Native::Direct(class)),
        entry("clone", "()Ljava/lang/Object;", Native::Direct(clone)),
        entry("wait", "(J)V", Native::Direct(wait)),
        entry("notify", "()V", Native::Direct(notify)),
        entry("notifyAll", "()V", Native::Direct(notify_all)),
    ],
};

fn hash_code(t: &JavaThread, args: Arguments) -> JResult<u64> {
    Ok(hash(t, args.object(0)))
}

/// The identity hash code as a result word; 0 for null.
pub(super) fn hash(t: &JavaThread, object: ObjectRef) -> u64 {
    if object.is_null() { 0 } else { identity_hash(t, object) as u64 }
}

fn class(t: &JavaThread, args: Arguments) -> JResult<u64> {
    Ok(t.mirror(t.klass_of(args.object(0))).address() as u64)
}

fn clone(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let klass = t.klass_of(args.object(0));
    if !is_cloneable(klass) {
        return errors::fail(t, "java/lang/CloneNotSupportedException", &klass.java_name());
    }
    Ok(allocate::clone(t, args.object(0))?.address() as u64)
}

fn wait(t: &JavaThread, args: Arguments) -> JResult<u64> {
    monitor::wait(t, args.handle(0), args.long(1))?;
    Ok(0)
}

fn notify(t: &JavaThread, args: Arguments) -> JResult<u64> {
    monitor::notify(t, args.object(0), false)?;
    Ok(0)
}

fn notify_all(t: &JavaThread, args: Arguments) -> JResult<u64> {
    monitor::notify(t, args.object(0), true)?;
    Ok(0)
}
