//! Before and after `fork`.

use crate::seats;

const REGISTER: libc::c_long = libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED as libc::c_long;
const BARRIER: libc::c_long = libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED as libc::c_long;

/// Has all threads of this process pass a barrier, or allows that. False: the kernel does not know it.
fn membarrier(command: libc::c_long) -> bool {
    // SAFETY: no memory is involved.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Called once, before the program's own handlers are: so ours is the last one before `fork`, and the first one after
/// it, and those of others may allocate.
pub fn start() {
    if !membarrier(REGISTER) {
        seats::set_fenced();
    }
    // SAFETY: the functions are there as long as the library, which is never unloaded.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}

extern "C" fn prepare() {
    let barrier = || {
        if !membarrier(BARRIER) {
            seats::set_fenced();
        }
    };
    seats::close_gate(barrier);
}

extern "C" fn parent() {
    seats::open_gate();
}

extern "C" fn child() {
    if !membarrier(REGISTER) {
        seats::set_fenced();
    }
    seats::inherit();
}
