//! Freeing code that no thread runs any more.
//!
//! Bodies that were replaced are freed when enough of them have come together. When the cache is full, all methods
//! return to the interpreter: those that are still hot are soon compiled again, into a cache that is empty otherwise.

use super::compile;
use crate::frames::activation;
use crate::machine::Vm;
use crate::runtime::code::installed::Installed;
use gc::threads::mutator::WorldStopped;
use parking_lot::MutexGuard;
use rustc_hash::FxHashSet;
use std::sync::atomic::Ordering;

/// Frees the bodies that can be freed. Stops the world; not on a thread of the VM.
pub fn sweep(vm: &'static Vm) {
    vm.heap.stop_world(None, &mut |world| {
        let publishing = vm.jit.publishing.lock();
        let unwanted = match vm.jit.is_full.swap(false, Ordering::Relaxed) {
            true => vm.jit.cache.bodies(),
            false => vm.jit.retired.lock().clone(),
        };
        free(vm, world, &publishing, unwanted);
    });
}

/// Nothing enters these bodies any more. Frees those of which no frame is left; the others are retired, and freed
/// later.
pub(super) fn free(
    vm: &'static Vm,
    _world: &WorldStopped,
    _publishing: &MutexGuard<'_, ()>,
    unwanted: Vec<&'static Installed>,
) {
    if unwanted.is_empty() {
        return;
    }
    if let Some(profile) = &vm.diagnostics.fault_profile {
        profile.before_code_goes(vm);
    }
    let mut on_stacks: FxHashSet<usize> = FxHashSet::default();
    vm.threads.for_each(&mut |thread| {
        activation::for_each_frame(thread, &mut |frame| {
            on_stacks.insert(frame.code.start);
        });
    });
    unwanted.iter().for_each(|body| compile::unpublish(vm, body));
    let is_running = |body: &&'static Installed| on_stacks.contains(&body.start);
    let (running, unused): (Vec<_>, Vec<_>) = unwanted.iter().copied().partition(is_running);
    let is_dead = |body: &&Installed| body.body.method.holder.holder.is_dead();
    assert!(!running.iter().any(is_dead), "a frame of a class that is unloaded");
    let starts: FxHashSet<usize> = unwanted.iter().map(|body| body.start).collect();
    let mut retired = vm.jit.retired.lock();
    retired.retain(|body| !starts.contains(&body.start));
    retired.extend(running);
    // SAFETY: the world is stopped, no frame of these is left, and nothing leads to them any more: neither their
    // methods, nor the list of those to be freed.
    unsafe { vm.jit.cache.remove(&unused) };
}
