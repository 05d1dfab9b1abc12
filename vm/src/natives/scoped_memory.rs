//! The natives of `jdk.internal.misc.ScopedMemoryAccess`: closing memory scopes that other threads may be using.

use crate::ffi::registry::{Arguments, Native, NativeTable, entry};
use crate::frames::walk;
use crate::machine::JavaThread;
use crate::runtime::{JResult, MethodRef};
use classfile::MethodMarks;
use gc::object::ObjectRef;

pub static SCOPED_MEMORY: NativeTable = NativeTable {
    class: "jdk/internal/misc/ScopedMemoryAccess",
    entries: &[
        entry("registerNatives", "()V", Native::Direct(nothing)),
        entry("closeScope0", "", Native::Direct(close_scope)),
    ],
};

fn nothing(_t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(0)
}

/// `closeScope0(Scope scope, Scope.ScopedAccessError exception)`: whether no thread is inside of an access that
/// checked the scope already. The scope is marked closed, so none can begin.
fn close_scope(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let scope = args.handle(1);
    let mut is_free = true;
    t.vm.heap.stop_world(Some(&t.mutator), &mut |_| {
        let scope = scope.get();
        t.vm.threads.for_each(&mut |thread| is_free &= !uses(thread, scope));
    });
    Ok(is_free as u64)
}

fn uses(thread: &JavaThread, scope: ObjectRef) -> bool {
    let is_scoped = |method: MethodRef| method.marks.contains(MethodMarks::SCOPED);
    walk::frames(thread).any(|visited| is_scoped(visited.method()) && visited.may_hold(scope))
}
