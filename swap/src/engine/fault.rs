//! The signal handler: from a faulting address to the far space that serves it.
//!
//! Faults are synchronous: the interrupted code was touching far memory, so it holds none of the
//! pager's locks and is not inside the allocator. Other signals are blocked while the handler runs.

use std::io;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::SwapError;
use crate::engine::FarSpace;
use crate::page_trace::TracedSpace;
use crate::stats::fault_profile::Interrupted;

/// A far space that has faults.
pub enum Served {
    Paged(Arc<FarSpace>),
    Traced(Arc<TracedSpace>),
}

impl Served {
    fn base(&self) -> usize {
        match self {
            Served::Paged(space) => space.base(),
            Served::Traced(space) => space.base(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Served::Paged(space) => space.bytes(),
            Served::Traced(space) => space.bytes(),
        }
    }

    fn fault(&self, offset: usize, write: bool, interrupted: Interrupted) {
        match self {
            Served::Paged(space) => space.fault(offset, write, interrupted),
            Served::Traced(space) => space.fault(offset, write),
        }
    }
}

/// Keeps a far space known to the handler; dropping it ends that. No thread may touch the range then.
pub struct Registration {
    slot: &'static Slot,
    /// The handler uses it as long as it is registered.
    _space: Box<Served>,
}

impl Registration {
    /// Begins to serve the faults of a far space.
    pub fn new(space: Served) -> Result<Registration, SwapError> {
        install_handler()?;
        let space = Box::new(space);
        for slot in &REGISTRY {
            let pointer = ptr::from_ref(&*space).cast_mut();
            let taken = slot.space.compare_exchange(
                ptr::null_mut(),
                pointer,
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            if taken.is_ok() {
                slot.start.store(space.base(), Ordering::Release);
                slot.end.store(space.base() + space.bytes(), Ordering::Release);
                return Ok(Registration { slot, _space: space });
            }
        }
        Err(SwapError::Options(format!("more than {PAGERS_MAX} pagers in one process")))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.slot.end.store(0, Ordering::Release);
        self.slot.space.store(ptr::null_mut(), Ordering::Release);
    }
}

/// One far space of this process. Written when pagers are created and dropped, read by the handler.
/// A handler only follows `space` for an address between `start` and `end`, and no thread touches
/// those unless the pager lives.
struct Slot {
    start: AtomicUsize,
    /// Zero while the slot is free or not ready.
    end: AtomicUsize,
    space: AtomicPtr<Served>,
}

extern "C" fn on_sigbus(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the thread's errno, and the kernel's description of the signal; both valid in a
    // handler.
    let (errno, code, address) = unsafe {
        let errno = libc::__errno_location();
        (errno, (*info).si_code, (*info).si_addr().addr())
    };
    // SAFETY: as above.
    let saved = unsafe { *errno };
    match find(address) {
        Some(space) if code == libc::BUS_ADRERR => {
            // SAFETY: the kernel passes a ucontext to handlers installed with SA_SIGINFO.
            let (write, interrupted) =
                unsafe { (is_write(context.cast()), interrupted(context.cast())) };
            space.fault(address - space.base(), write, interrupted);
        }
        _ => pass_on(signal, info, context),
    }
    // SAFETY: as above.
    unsafe { *errno = saved };
}

fn find(address: usize) -> Option<&'static Served> {
    for slot in &REGISTRY {
        let end = slot.end.load(Ordering::Acquire);
        if address < end && address >= slot.start.load(Ordering::Acquire) {
            // SAFETY: the address is inside a registered range, so its pager lives (see Slot).
            return unsafe { slot.space.load(Ordering::Acquire).as_ref() };
        }
    }
    None
}

/// Was the faulting access a write? Bit 1 of the CPU's page-fault error code.
///
/// # Safety
/// `context` is the one that the kernel passed to the handler.
#[cfg(target_arch = "x86_64")]
unsafe fn is_write(context: *const libc::ucontext_t) -> bool {
    // SAFETY: promised by the caller.
    unsafe { (*context).uc_mcontext.gregs[libc::REG_ERR as usize] & 2 != 0 }
}

/// Where the access was.
///
/// # Safety
/// `context` is the one that the kernel passed to the handler.
#[cfg(target_arch = "x86_64")]
unsafe fn interrupted(context: *const libc::ucontext_t) -> Interrupted {
    // SAFETY: promised by the caller.
    let registers = unsafe { &(*context).uc_mcontext.gregs };
    let [pc, fp, sp] =
        [libc::REG_RIP, libc::REG_RBP, libc::REG_RSP].map(|name| registers[name as usize] as usize);
    Interrupted { pc, fp, sp }
}

/// Not ours: the handler that was installed before gets it.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let Some(previous) = PREVIOUS.get() else { return };
    match previous.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: all-zero is a valid sigaction: the default. The instruction faults again and
            // ends the process.
            unsafe {
                let default = mem::zeroed::<libc::sigaction>();
                libc::sigaction(signal, &default, ptr::null_mut());
            }
        }
        handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: a handler installed with SA_SIGINFO has this type.
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: a handler installed without SA_SIGINFO has this type.
            let handler: extern "C" fn(i32) = unsafe { mem::transmute(handler) };
            handler(signal);
        }
    }
}

fn install_handler() -> Result<(), SwapError> {
    let mut result = Ok(());
    PREVIOUS.get_or_init(|| {
        // SAFETY: all-zero is a valid sigaction.
        let (mut new, mut old) = unsafe { mem::zeroed::<(libc::sigaction, libc::sigaction)>() };
        // SAFETY: reads the present action; nothing is installed before PREVIOUS can hold it.
        unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), &mut old) };
        new.sa_sigaction = on_sigbus as *const () as usize;
        new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        // SAFETY: the handler has the type that SA_SIGINFO asks for, and is async-signal-safe.
        let rc = unsafe {
            libc::sigfillset(&mut new.sa_mask);
            for fault in [libc::SIGSEGV, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP] {
                libc::sigdelset(&mut new.sa_mask, fault);
            }
            libc::sigaction(libc::SIGBUS, &new, ptr::null_mut())
        };
        if rc != 0 {
            let source = io::Error::last_os_error();
            result = Err(SwapError::Os { what: "installing the fault handler", source });
        }
        old
    });
    result
}

/// Pagers in one process at a time.
const PAGERS_MAX: usize = 64;

static REGISTRY: [Slot; PAGERS_MAX] = [const {
    Slot {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        space: AtomicPtr::new(ptr::null_mut()),
    }
}; PAGERS_MAX];

/// The action before ours; set once, with our handler.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();
