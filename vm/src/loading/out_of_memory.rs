//! `OutOfMemoryError`, and what options ask for at the first one: commands, the end of the process.

use super::errors;
use crate::machine::JavaThread;
use crate::runtime::Throw;
use crate::runtime::commands::Commands;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a VM has run out of memory before.
#[derive(Default)]
pub struct FirstTime {
    /// Written by the threads that run out of memory; the first one does what options ask for. Relaxed: it guards
    /// nothing else.
    is_over: AtomicBool,
}

/// Throws an `OutOfMemoryError` with this message. Where the heap has no room even for that, one made at start-up is
/// thrown. A safepoint.
#[cold]
pub fn throw(t: &JavaThread, message: &str) -> Throw {
    t.note_out_of_memory(message);
    report(t, message);
    if t.making_out_of_memory.replace(true) {
        let spare = t.load_root(&t.vm.spare_out_of_memory);
        if spare.is_null() {
            end_before_start(t);
        }
        return t.throw_object(spare);
    }
    let thrown = errors::throw_new(t, "java/lang/OutOfMemoryError", Some(message));
    t.making_out_of_memory.set(false);
    thrown
}

/// Ends the process: there was no room in the heap before the VM could even make an error.
fn end_before_start(t: &JavaThread) -> ! {
    let (max, region) = (t.vm.heap.max_bytes() >> 10, t.vm.heap.totals().region_bytes >> 10);
    base::say(format_args!(
        "Error occurred during initialization of VM\n\
         The heap is too small to start the VM: {max}k, in regions of {region}k"
    ));
    // SAFETY: ends the process.
    unsafe { libc::_exit(1) }
}

/// The first time, what the options ask for, in the order of `java` and with its words. Other threads continue while
/// commands run.
fn report(t: &JavaThread, message: &str) {
    let options = &t.vm.options;
    let asks = options.exit_on_out_of_memory
        || options.crash_on_out_of_memory
        || !options.on_out_of_memory.is_empty();
    if !asks || t.vm.first_out_of_memory.is_over.swap(true, Ordering::Relaxed) {
        return;
    }
    t.safely(|| {
        let commands = Commands::new("OnOutOfMemoryError", &options.on_out_of_memory);
        if !commands.is_empty() {
            base::print(format_args!("#\n# java.lang.OutOfMemoryError: {message}"));
            commands.run();
        }
        end_if_asked(t, message);
    });
}

/// The end of the process, if the options ask for one, without running anything else of the program.
fn end_if_asked(t: &JavaThread, message: &str) {
    let options = &t.vm.options;
    if options.crash_on_out_of_memory {
        base::print(format_args!("Aborting due to java.lang.OutOfMemoryError: {message}"));
        t.crash(&format!("OutOfMemory encountered: {message}"));
    }
    if options.exit_on_out_of_memory {
        base::print(format_args!("Terminating due to java.lang.OutOfMemoryError: {message}"));
        t.end_process(3);
    }
}
