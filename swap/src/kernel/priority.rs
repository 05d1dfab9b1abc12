//! Threads that get a CPU before the program's threads, because these wait for them soon.
//!
//! Only a privileged process gets a larger share of the CPU; but any thread may ask (since Linux 6.12) for
//! its share in small slices, and is given a CPU as soon as it wakes then, since it does not keep it.

/// The calling thread is scheduled first from now on, for all its work: for a thread that works only when others are
/// about to wait for it, and not for long.
pub fn go_first() {
    take_small_slices();
    let _ = raise();
}

/// While this value lives, the calling thread is scheduled first; it must be dropped by the same thread.
///
/// For the moments in which others wait for a thread that has other work too.
#[must_use]
pub struct RaisedPriority {
    /// The niceness that it had before; `None` if it had to keep it.
    before: Option<i32>,
    /// It is a thread's.
    _thread: std::marker::PhantomData<*const ()>,
}

impl RaisedPriority {
    pub fn begin() -> RaisedPriority {
        let before = niceness();
        RaisedPriority { before: raise().then_some(before), _thread: std::marker::PhantomData }
    }
}

impl Drop for RaisedPriority {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // Every thread may increase its nice value.
            set_niceness(before);
        }
    }
}

/// Asks for the calling thread's share in small slices; where that is not had, nothing changes.
pub fn take_small_slices() {
    let mut attributes = SchedAttributes::default();
    let size = size_of::<SchedAttributes>() as u32;
    // SAFETY: the kernel writes as much as there is room for.
    let rc = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &mut attributes, size, 0) };
    if rc == 0 && attributes.policy == libc::SCHED_OTHER as u32 {
        let attributes = SchedAttributes { size, runtime_ns: SLICE_NS, ..attributes };
        // SAFETY: the kernel reads the structure, whose size is in it.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &attributes, 0) };
    }
}

/// All that it needs, or about three times the share of other threads. Whether either is granted.
fn raise() -> bool {
    [-20, -5].into_iter().any(set_niceness)
}

fn set_niceness(nice: i32) -> bool {
    // SAFETY: no memory is involved.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) == 0 }
}

/// Of the calling thread.
fn niceness() -> i32 {
    // SAFETY: no memory is involved. The call fails only for threads that do not exist.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
}

/// The kernel's `struct sched_attr`, in its first version.
#[repr(C)]
#[derive(Default)]
struct SchedAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

const _: () = assert!(size_of::<SchedAttributes>() == 48);

/// The least that the kernel grants, and as long as a batch of the evictor takes.
const SLICE_NS: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hurry_ends() {
        std::thread::spawn(|| {
            let before = niceness();
            let raised = RaisedPriority::begin();
            let is_raised = raised.before.is_some();
            assert_eq!(niceness() < before, is_raised);
            drop(raised);
            assert_eq!(niceness(), before);
            take_small_slices();
            assert_eq!(niceness(), before);
        })
        .join()
        .unwrap();
    }
}
