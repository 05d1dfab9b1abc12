//! The Java frames of a thread that has crashed: as [`walk`](super::walk), but nothing is taken for granted.
//!
//! The thread may be anywhere, also in compiled code that has called nobody, and what it has on its stacks may be
//! damaged. So the number of frames is limited, no lock is waited for, and what makes no sense ends the walk. Pointers
//! that lead nowhere are faults, which the caller survives.

use super::activation::Activation;
use super::enter;
use super::frame::REPLACED;
use crate::machine::JavaThread;
use crate::runtime::MethodRef;
use crate::runtime::code::safepoints::Safepoint;

/// A frame. Valid as long as the process.
#[derive(Clone, Copy)]
pub struct CrashedFrame {
    pub method: MethodRef,
    /// `None` where it is not known, and in native methods.
    pub bci: Option<u16>,
    pub kind: Kind,
}

#[derive(Clone, Copy)]
pub enum Kind {
    /// Of the interpreter, or of a native method.
    Interpreted,
    /// Code number `id`, which begins at `start`, at `pc`.
    Compiled { id: u32, start: usize, pc: usize },
    /// In the code of the next frame of kind `Compiled`.
    Inlined,
}

/// Calls `visit` with the frames of the current thread, the innermost first. `innermost` is the innermost frame of
/// compiled code, if there is one inside of all those that have called the VM properly: address, frame pointer, and
/// whether the address is behind a call. Async-signal-safe.
pub fn for_each(
    t: &JavaThread,
    innermost: Option<(usize, usize, bool)>,
    visit: &mut dyn FnMut(CrashedFrame),
) {
    let anchor = (t.jit.exit_pc.get(), t.jit.exit_fp.get(), true);
    let (mut frame, mut activation) = (t.top_frame.get().cast_const(), t.jit.activation.get());
    let mut compiled = innermost.unwrap_or(anchor);
    let mut left = FRAMES;
    loop {
        // SAFETY: activations lie on the thread's stack as long as it does not return through them.
        while let Some(present) = unsafe { activation.as_ref() }
            && std::ptr::eq(present.caller_frame, frame)
            && left > 0
        {
            walk_code(t, compiled, &mut left, visit);
            let Activation { previous, exit_pc, exit_fp, .. } = *present;
            (activation, compiled) = (previous, (exit_pc, exit_fp, true));
        }
        // SAFETY: frames are linked down to null, and stay while the thread does not return from them.
        let Some(present) = (unsafe { frame.as_ref() }).filter(|_| left > 0) else { return };
        left -= 1;
        if present.flags & REPLACED == 0 {
            let (method, bci) = (present.method, present.bci());
            visit(CrashedFrame { method, bci, kind: Kind::Interpreted });
        }
        frame = present.previous.cast_const();
    }
}

/// The frames of one stretch of compiled code.
fn walk_code(
    t: &JavaThread,
    (mut pc, mut fp, mut is_return): (usize, usize, bool),
    left: &mut usize,
    visit: &mut dyn FnMut(CrashedFrame),
) {
    while pc != 0 && pc != enter::outermost_return() && *left > 0 {
        // A call may be the last instruction: only behind one, the address belongs to the code before it.
        let Some(code) = t.vm.jit.cache.try_find(pc + usize::from(!is_return)) else { return };
        let offset = (pc - code.start) as u32;
        let body = &code.body;
        let safepoint = body.safepoints.at(offset);
        let mut places = safepoint.into_iter().flat_map(Safepoint::places);
        let outer = places.next().map(|place| place.bci);
        for place in places.rev() {
            visit(CrashedFrame { method: place.method, bci: Some(place.bci), kind: Kind::Inlined });
        }
        let kind = Kind::Compiled { id: code.id, start: code.start, pc };
        visit(CrashedFrame { method: body.method, bci: outer, kind });
        *left -= 1;
        if !fp.is_multiple_of(8) || t.vm.heap.contains(fp) {
            return;
        }
        // SAFETY: compiled code keeps frame pointers: the word above the saved one is the return address.
        unsafe {
            let words = std::ptr::with_exposed_provenance::<usize>(fp);
            (fp, pc) = (*words, *words.add(1));
        }
        is_return = true;
    }
}

/// The most frames of a walk.
const FRAMES: usize = 1024;
