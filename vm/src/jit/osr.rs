//! Entering compiled code in the middle of a method: at a loop that the interpreter has executed many rounds of.

use super::{Jit, policy};
use crate::frames::activation::{self, Entered};
use crate::frames::frame::{Frame, MONITORS, REPLACED};
use crate::interpreter::monitors;
use crate::machine::JavaThread;
use std::sync::atomic::Ordering;

impl Jit {
    /// The interpreter has jumped back to the present instruction of the top frame, some steps of jumps after the
    /// last call of this. `None`: nothing has happened. Unless compiled code has left, the frame is still on the
    /// stack, and [`REPLACED`]. A safepoint.
    ///
    /// # Safety
    /// `frame` is the top frame, saved, at the target of a jump.
    pub unsafe fn at_back_edge(&self, t: &JavaThread, frame: *mut Frame) -> Option<Entered> {
        // SAFETY: by the contract.
        let (method, bci) = unsafe { ((*frame).method, (*frame).bci()?) };
        let jit = &method.jit;
        let step = self.back_edge_step;
        let jumps = jit.back_edges.load(Ordering::Relaxed).saturating_add(step);
        jit.back_edges.store(jumps, Ordering::Relaxed);
        let left = jit.countdown.load(Ordering::Relaxed);
        if left > 1 && left < i32::MAX {
            jit.countdown
                .store((left - step.div_ceil(JUMPS_PER_CALL) as i32).max(1), Ordering::Relaxed);
        }
        if jumps < policy::loop_threshold(t.vm, method) {
            return None;
        }
        // SAFETY: by the contract.
        unsafe {
            let holds_monitors = (*frame).flags & MONITORS != 0 && monitors::holds_any(t, frame);
            if holds_monitors || (*frame).sp != (*frame).stack_base() {
                return None;
            }
            // The loop's code may call this method, and that its loop again.
            if !t.java_stack.has_native_room() {
                return None;
            }
            if jit.find_loop(bci).is_none() {
                policy::hot_loop(t, method, bci);
            }
            let code = jit.find_loop(bci)?;
            (*frame).flags |= REPLACED;
            Some(activation::call_loop(t, method, code.start as *const u8, (*frame).locals))
        }
    }
}

/// Jumps backwards that count like one call.
const JUMPS_PER_CALL: u32 = 16;
