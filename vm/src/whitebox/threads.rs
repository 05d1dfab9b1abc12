//! Stacks of threads.

use crate::ffi::registry::{Arguments, Native, NativeEntry, entry};
use crate::machine::JavaThread;
use crate::runtime::JResult;
use crate::threads::{dump, requests};

pub const ENTRIES: &[NativeEntry] = &[
    entry("handshakeWalkStack", "", Native::Direct(walk_stacks)),
    entry("asyncHandshakeWalkStack", "", Native::Direct(ask_for_stack)),
];

/// `handshakeWalkStack(thread, all)`: prints the stack of the thread, or of all threads. How many there were: none if
/// the thread is not alive. The stack of another thread is only walked while all stand still.
fn walk_stacks(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let is_all = args.boolean(2);
    let (mut walked, mut text) = (0, String::new());
    t.vm.heap.stop_world(Some(&t.mutator), &mut |_| {
        t.vm.threads.for_each(&mut |thread| {
            let object = thread.thread_object.get();
            // The collector keeps both up to date: a handle, and an argument.
            if !object.is_null() && (is_all || object == args.object(1)) {
                walked += 1;
                text += &dump::stack(t, thread);
            }
        });
    });
    t.safely(|| base::print_part(format_args!("{text}")));
    Ok(walked)
}

/// `asyncHandshakeWalkStack(thread)`: the thread prints its stack when it can.
fn ask_for_stack(t: &JavaThread, args: Arguments) -> JResult<u64> {
    if !args.object(1).is_null() {
        requests::show_stack(t, args.object(1));
    }
    Ok(0)
}
