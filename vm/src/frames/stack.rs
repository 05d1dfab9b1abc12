//! The Java stack of one thread.

use super::frame::Frame;
use crate::runtime::MethodRef;
use gc::object::{KlassId, ObjectRef};
use std::cell::{Cell, UnsafeCell};

/// Memory for frames, with a limit that raises `StackOverflowError`, and the interpreter's other state of each
/// thread. Own thread, or a collector while that thread is stopped.
pub struct JavaStack {
    base: *mut u64,
    bytes: usize,
    /// No frame may reach beyond it. Raised to the end of the memory while an overflow is being reported.
    limit: Cell<*mut u64>,
    /// Lowest address to which the native stack may grow; 0 before it was asked for.
    native_limit: Cell<usize>,
    /// Lowest address that compiled code may reach before it calls the VM again: see
    /// [`enter_code`](Self::enter_code).
    code_limit: Cell<usize>,
    /// Monitors that interpreted code has entered and not yet left, outermost first.
    pub(crate) monitors: UnsafeCell<Vec<HeldMonitor>>,
    selections: Box<[Cell<Selection>; SELECTIONS]>,
}

/// A monitor held by a `monitorenter`.
pub(crate) struct HeldMonitor {
    pub frame: *mut Frame,
    pub object: ObjectRef,
}

/// A method selection that was made before.
#[derive(Clone, Copy)]
struct Selection {
    resolved: Option<MethodRef>,
    receiver: KlassId,
    selected: Option<MethodRef>,
}

/// Reserve for the constructor of a `StackOverflowError` and its stack trace, bytes.
const RESERVE: usize = 64 << 10;
/// Bytes of the native stack that native code may need between two checks of it.
const NATIVE_RESERVE: usize = 192 << 10;
/// How many times a Java stack's size its thread may use of its native stack, all in all: a call between compiled code
/// and the interpreter takes more of it than one between compiled methods.
pub const NATIVE_PER_JAVA: usize = 8;
/// The smallest Java stack, bytes.
const MIN_BYTES: usize = 128 << 10;
const SELECTIONS: usize = 1024;
const PAGE: usize = 4096;

impl JavaStack {
    /// Of the lowest address that compiled code may reach.
    pub(crate) const CODE_LIMIT_OFFSET: usize = std::mem::offset_of!(JavaStack, code_limit);

    /// Reserves `bytes` of address space. `None` when the system refuses.
    pub fn new(bytes: usize) -> Option<JavaStack> {
        let bytes = bytes.max(MIN_BYTES).checked_add(RESERVE)?.checked_next_multiple_of(PAGE)?;
        // SAFETY: a fresh anonymous mapping.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return None;
        }
        let base = base.cast::<u64>();
        Some(JavaStack {
            base,
            bytes,
            limit: Cell::new(base.wrapping_byte_add(bytes - RESERVE)),
            native_limit: Cell::new(0),
            code_limit: Cell::new(0),
            monitors: UnsafeCell::default(),
            selections: Box::new([const { Cell::new(Selection::NONE) }; SELECTIONS]),
        })
    }

    /// Its addresses.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.base as usize..self.base as usize + self.bytes
    }

    /// The lowest slot.
    #[inline]
    pub(crate) fn base(&self) -> *mut u64 {
        self.base
    }

    #[inline]
    pub(crate) fn limit(&self) -> *mut u64 {
        self.limit.get()
    }

    /// The objects that a frame's `monitorenter`s hold, the last first. Own thread, or one that is stopped.
    pub(crate) fn held_by(&self, frame: *const Frame) -> Vec<ObjectRef> {
        // SAFETY: the thread is the current one, or stopped.
        let held = unsafe { &*self.monitors.get() };
        let of_frame = held.iter().rev().filter(|monitor| monitor.frame.cast_const() == frame);
        of_frame.map(|monitor| monitor.object).collect()
    }

    /// Runs `report` with the reserve usable. `None` when it is in use already.
    pub(crate) fn with_reserve<T>(&self, report: impl FnOnce() -> T) -> Option<T> {
        let end = self.base.wrapping_byte_add(self.bytes);
        let limit = self.limit.replace(end);
        if limit == end {
            return None;
        }
        let native = self.native_limit.get();
        let code = self.code_limit.get();
        self.native_limit.set(native.saturating_sub(NATIVE_RESERVE / 2));
        self.code_limit.set(code.saturating_sub(NATIVE_RESERVE / 2));
        let result = report();
        self.code_limit.set(code);
        self.native_limit.set(native);
        self.limit.set(limit);
        Some(result)
    }

    /// Whether the native stack has room for another entry into the interpreter.
    #[inline]
    pub fn has_native_room(&self) -> bool {
        let here = here();
        here > self.native_end(here)
    }

    /// Runs compiled code; `left_at` is where compiled code called the VM before, or 0 if there is no outer call. All
    /// of it together may use as much of the native stack as the interpreter may of the Java stack. So it recurses
    /// about as deep as HotSpot's code does under the same `-Xss`, not many times as deep, and an overflow takes as
    /// long as in HotSpot.
    #[inline]
    pub(crate) fn enter_code<T>(&self, left_at: usize, run: impl FnOnce() -> T) -> T {
        let here = here();
        let room = match left_at {
            0 => self.bytes,
            _ => left_at.saturating_sub(self.code_limit.get()),
        };
        let own = here.saturating_sub(room).max(self.native_end(here));
        let outer = self.code_limit.replace(own);
        let result = run();
        self.code_limit.set(outer);
        result
    }

    /// The lowest address to which the native stack may grow from `here`.
    #[inline]
    fn native_end(&self, here: usize) -> usize {
        if self.native_limit.get() == 0 {
            let least = here.saturating_sub(NATIVE_PER_JAVA * self.bytes);
            self.native_limit.set(least.max(native_stack_end() + NATIVE_RESERVE));
        }
        self.native_limit.get()
    }

    /// The method that an earlier selection found.
    #[inline(always)]
    pub(crate) fn selected(&self, resolved: MethodRef, receiver: KlassId) -> Option<MethodRef> {
        let found = self.selections[selection_index(resolved, receiver)].get();
        match found.resolved {
            Some(method) if std::ptr::eq(method, resolved) && found.receiver == receiver => {
                found.selected
            }
            _ => None,
        }
    }

    pub(crate) fn remember_selection(
        &self,
        resolved: MethodRef,
        receiver: KlassId,
        selected: MethodRef,
    ) {
        self.selections[selection_index(resolved, receiver)].set(Selection {
            resolved: Some(resolved),
            receiver,
            selected: Some(selected),
        });
    }

    /// Forgets all selections. Own thread, or a collector while that thread is stopped.
    pub(super) fn forget_selections(&self) {
        self.selections.iter().for_each(|selection| selection.set(Selection::NONE));
    }
}

impl Selection {
    const NONE: Selection = Selection { resolved: None, receiver: KlassId(0), selected: None };
}

impl Drop for JavaStack {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`; the thread that used it has ended.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

/// About where the native stack is now.
#[inline(always)]
fn here() -> usize {
    let here = 0u8;
    std::ptr::from_ref(&here) as usize
}

#[inline(always)]
fn selection_index(resolved: MethodRef, receiver: KlassId) -> usize {
    let address = std::ptr::from_ref(resolved) as usize;
    ((address >> 4) ^ (address >> 14) ^ (receiver.0 as usize).wrapping_mul(37)) % SELECTIONS
}

/// The lowest address of this OS thread's stack.
fn native_stack_end() -> usize {
    // SAFETY: `attributes` is initialised by pthread_getattr_np before it is read, and destroyed.
    unsafe {
        let mut attributes = std::mem::zeroed::<libc::pthread_attr_t>();
        let failed = libc::pthread_getattr_np(libc::pthread_self(), &mut attributes);
        assert_eq!(failed, 0, "pthread_getattr_np");
        let (mut address, mut size) = (std::ptr::null_mut(), 0);
        libc::pthread_attr_getstack(&attributes, &mut address, &mut size);
        libc::pthread_attr_destroy(&mut attributes);
        address as usize
    }
}
