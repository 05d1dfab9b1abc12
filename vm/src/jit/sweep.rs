//! Freeing code that no thread runs any more.
//!
//! Bodies that were replaced are freed when enough of them have come together. When the cache is full, all methods
//! return to the interpreter: those that are still hot are soon compiled again, into a cache that is empty otherwise.

use super::compile;
use crate::frames::activation;
use crate::machine::Vm;
use crate::runtime::code::installed::Installed;
use rustc_hash::FxHashSet;
use std::sync::atomic::Ordering;

/// Frees the bodies that can be freed. Stops the world; not on a thread of the VM.
pub fn sweep(vm: &'static Vm) {
    vm.heap.stop_world(None, &mut |_| {
        let _publishing = vm.jit.publishing.lock();
        let mut on_stacks: FxHashSet<usize> = FxHashSet::default();
        vm.threads.for_each(&mut |thread| {
            activation::for_each_frame(thread, &mut |frame| {
                on_stacks.insert(frame.code.start);
            });
        });
        if vm.jit.is_full.swap(false, Ordering::Relaxed) {
            let mut retired = vm.jit.retired.lock();
            retired.clear();
            for body in vm.jit.cache.bodies() {
                compile::unpublish(vm, body);
                retired.push(body);
            }
        }
        let mut retired = vm.jit.retired.lock();
        retired.retain(|body: &&'static Installed| {
            if on_stacks.contains(&body.start) {
                return true;
            }
            compile::unpublish(vm, body);
            // SAFETY: the world is stopped, no frame is left, and nothing leads to the body any more.
            unsafe { vm.jit.cache.remove(body) };
            false
        });
    });
}
