//! The native frames of this thread, by the unwinding tables of the code.

use super::memory;
use super::symbols::Mapping;
use libc::{c_int, c_void};

/// The innermost frames, the last call first.
pub struct NativeFrames {
    frames: [NativeFrame; FRAMES],
    count: usize,
}

#[derive(Clone, Copy, Default)]
pub struct NativeFrame {
    pub pc: usize,
    /// The frame pointer.
    pub fp: usize,
    /// Whether `pc` is behind a call, and not where a signal came.
    pub is_return: bool,
}

impl NativeFrames {
    /// From the place at which a signal has interrupted the thread; `None`: from the caller. Unwinding ends at code
    /// without tables, as compiled Java code is, whose innermost frame is the last one.
    pub fn walk(interrupted: Option<&libc::ucontext_t>) -> NativeFrames {
        let mut frames = NativeFrames { frames: [NativeFrame::default(); FRAMES], count: 0 };
        let first = interrupted.map(first);
        let mut walk = Walk { frames: &mut frames, from: first.map(|frame| frame.pc) };
        // SAFETY: the function gets `walk` as its argument, while this call lasts.
        unsafe { _Unwind_Backtrace(add, (&raw mut walk).cast()) };
        if let Some(first) = first
            && frames.count == 0
        {
            frames.push(first);
        }
        frames.step_out_of_nowhere(interrupted);
        frames
    }

    pub fn iter(&self) -> impl Iterator<Item = &NativeFrame> {
        self.frames[..self.count].iter()
    }

    /// A call of an address that is not code leaves the return address on top of the stack.
    fn step_out_of_nowhere(&mut self, interrupted: Option<&libc::ucontext_t>) {
        let Some(context) = interrupted.filter(|_| self.count == 1) else { return };
        if Mapping::of(self.frames[0].pc).is_some_and(|mapping| mapping.is_executable) {
            return;
        }
        let stack = context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize;
        if let Some(pc) = memory::word(stack) {
            self.push(NativeFrame { pc, fp: self.frames[0].fp, is_return: true });
        }
    }

    fn push(&mut self, frame: NativeFrame) {
        if self.count < FRAMES {
            self.frames[self.count] = frame;
            self.count += 1;
        }
    }
}

/// From the place `from`, at which a signal has interrupted the thread, outwards to the first frame that is wanted;
/// else the last one that unwinding tables lead to. In the signal's handler.
pub fn find(from: usize, is_wanted: &dyn Fn(usize) -> bool) -> Option<NativeFrame> {
    let mut search = Search { from: Some(from), is_wanted, last: None };
    // SAFETY: the function gets `search` as its argument, while this call lasts.
    unsafe { _Unwind_Backtrace(step, (&raw mut search).cast()) };
    search.last
}

struct Search<'s> {
    /// Frames inside of this one are the signal handler's.
    from: Option<usize>,
    is_wanted: &'s dyn Fn(usize) -> bool,
    last: Option<NativeFrame>,
}

extern "C" fn step(context: *mut c_void, search: *mut c_void) -> c_int {
    // SAFETY: `find` passes it, and waits for this function.
    let search = unsafe { &mut *search.cast::<Search<'_>>() };
    let frame = frame_of(context);
    match search.from {
        Some(from) if from != frame.pc => return CONTINUE,
        _ => search.from = None,
    }
    search.last = Some(frame);
    if (search.is_wanted)(frame.pc) { STOP } else { CONTINUE }
}

/// The frame at which the unwinder is.
fn frame_of(context: *mut c_void) -> NativeFrame {
    let mut is_before = 0;
    // SAFETY: the unwinder's own context.
    let (pc, fp) =
        unsafe { (_Unwind_GetIPInfo(context, &mut is_before), _Unwind_GetGR(context, RBP)) };
    NativeFrame { pc, fp, is_return: is_before == 0 }
}

fn first(context: &libc::ucontext_t) -> NativeFrame {
    let registers = &context.uc_mcontext.gregs;
    NativeFrame {
        pc: registers[libc::REG_RIP as usize] as usize,
        fp: registers[libc::REG_RBP as usize] as usize,
        is_return: false,
    }
}

struct Walk<'f> {
    frames: &'f mut NativeFrames,
    /// Frames inside of this one are the signal handler's.
    from: Option<usize>,
}

extern "C" fn add(context: *mut c_void, walk: *mut c_void) -> c_int {
    // SAFETY: `NativeFrames::walk` passes it, and waits for this function.
    let walk = unsafe { &mut *walk.cast::<Walk<'_>>() };
    let frame = frame_of(context);
    match walk.from {
        Some(from) if from != frame.pc => return CONTINUE,
        _ => walk.from = None,
    }
    walk.frames.push(frame);
    if walk.frames.count == FRAMES { STOP } else { CONTINUE }
}

/// The most frames of a walk.
const FRAMES: usize = 96;
/// Number of the register in unwinding tables.
const RBP: c_int = 6;
const CONTINUE: c_int = 0;
/// `_URC_NORMAL_STOP`
const STOP: c_int = 4;

unsafe extern "C" {
    fn _Unwind_Backtrace(
        visit: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIPInfo(context: *mut c_void, is_before: *mut c_int) -> usize;
    fn _Unwind_GetGR(context: *mut c_void, register: c_int) -> usize;
}

#[cfg(test)]
mod tests {
    use super::super::symbols::Place;
    use super::*;

    /// A test may be inlined into what runs tests.
    #[inline(never)]
    fn walker() -> Vec<String> {
        let frames = NativeFrames::walk(None);
        let names = frames.iter().map(|f| Place { pc: f.pc, is_return: f.is_return }.to_string());
        names.collect()
    }

    #[test]
    fn a_walk_meets_the_caller() {
        let names = walker();
        assert!(names.iter().any(|name| name.contains("tests::walker")), "{names:?}");
    }
}
