//! The part of the profile that runs in the fault handler.

use super::ring::Ring;
use crate::diagnostics::crash::native_frames;
use crate::frames::interrupted::{self, Innermost};
use crate::machine::JavaThread;
use std::sync::Arc;
use swap::{Activity, FaultObserver, ObservedFault, ThreadClass};

/// Puts samples into the ring: async-signal-safe.
pub struct Recorder(pub Arc<Ring>);

/// What touched a page: a byte of the sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Root(u8);

impl FaultObserver for Recorder {
    fn observe(&self, fault: &ObservedFault) {
        let thread = match fault.class {
            ThreadClass::Mutator => JavaThread::try_current(),
            // Frames of the thread that happens to collect have nothing to do with it.
            ThreadClass::Gc => None,
        };
        let at = fault.interrupted;
        let is_code = |pc: usize| thread.is_some_and(|t| t.vm.jit.cache.covers(pc));
        // VM code that compiled code has called may have left no record of the call.
        let is_in_vm = thread.is_some_and(interrupted::is_compiled) && !is_code(at.pc);
        let innermost = match is_in_vm {
            false => Some(Innermost { pc: at.pc, fp: at.fp, is_return: false }),
            true => native_frames::find(at.pc, &is_code).map(|found| Innermost {
                pc: found.pc,
                fp: found.fp,
                is_return: found.is_return,
            }),
        };
        let root = Root::of(fault, is_in_vm);
        let Some(mut filling) = self.0.begin(root.0, fault.weight) else { return };
        if let Some(t) = thread {
            interrupted::for_each(t, innermost, at.sp, &mut |word| filling.push(word));
        }
    }
}

impl Root {
    fn of(fault: &ObservedFault, is_in_vm: bool) -> Root {
        let activity = match (fault.class, fault.activity) {
            (ThreadClass::Mutator, _) => PROGRAM,
            (ThreadClass::Gc, activity) => activity as u8,
        };
        Root(activity | if is_in_vm { IN_VM } else { 0 })
    }

    pub fn from_byte(byte: u8) -> Root {
        Root(byte)
    }

    /// Compiled code of the program had called the VM.
    pub fn is_in_vm(self) -> bool {
        self.0 & IN_VM != 0
    }

    /// The outermost frame.
    pub fn name(self) -> &'static str {
        let byte = self.0 & !IN_VM;
        match Activity::ALL.into_iter().find(|activity| *activity as u8 == byte) {
            None => "program",
            Some(Activity::Tracing) => "tracing",
            Some(Activity::Evacuation) => "evacuation",
            Some(Activity::MinorCollection) => "minor collection",
            Some(Activity::Other) => "collector",
        }
    }
}

const PROGRAM: u8 = 0x7f;
const IN_VM: u8 = 0x80;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn roots_say_what_touched_the_page() {
        let of = |class, activity, is_in_vm| {
            let interrupted = swap::Interrupted::default();
            Root::of(&ObservedFault { interrupted, class, activity, weight: 1 }, is_in_vm)
        };
        let program = of(ThreadClass::Mutator, Activity::Tracing, false);
        assert_eq!((program.name(), program.is_in_vm()), ("program", false));
        let in_vm = of(ThreadClass::Mutator, Activity::Other, true);
        assert_eq!((in_vm.name(), in_vm.is_in_vm()), ("program", true));
        assert_eq!(Root::from_byte(in_vm.0), in_vm);
        let names = Activity::ALL.map(|activity| of(ThreadClass::Gc, activity, false).name());
        assert_eq!(BTreeSet::from(names).len(), names.len());
        assert_eq!(names[1..], ["tracing", "evacuation", "minor collection"]);
    }
}
