//! Classes that go (JLS 12.7).
//!
//! 1. At the end of a marking, the world stopped, the collector says which holders it has not found. They are *dead*:
//!    no object, mirror, frame or root leads to their classes, so nobody can come across one again by running Java
//!    code. Here they are taken out of all tables, and code that names them is removed.
//! 2. A compiler thread that began before may still look at them. A dead holder is *reclaimed*, its memory freed, when
//!    these compiles have ended, by the thread that ends a later collection.
//!
//! Then a class with the same layout may get its id: dead objects of the class may lie in the heap for long, and walks
//! over it need their layouts.

use super::Vm;
use crate::ffi::natives::Natives;
use crate::jit::{self, compilations::Ticket};
use crate::loading::modules::NamedModule;
use crate::runtime::code::quick;
use crate::runtime::{ClassHolder, KlassRef, LoaderData};
use classfile::symbol;
use gc::object::layout::HolderId;
use gc::object::log::{LogLevel, LogLine};
use gc::threads::mutator::WorldStopped;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The state of unloading of one VM.
#[derive(Default)]
pub struct Unloading {
    dying: Mutex<Vec<Dying>>,
    /// Classes from class files that were unloaded so far. Relaxed: a figure.
    classes: AtomicU64,
    /// Classes have died, or may have, since names were swept last.
    names_are_due: AtomicBool,
    /// Threads that look at classes which nothing else may keep: nothing is reclaimed meanwhile.
    holds: AtomicUsize,
}

/// See [`Unloading::hold`].
pub struct Hold<'a>(&'a Unloading);

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.0.holds.fetch_sub(1, Ordering::Release);
    }
}

/// A dead holder that is not reclaimed.
struct Dying {
    holder: &'static ClassHolder,
    modules: Vec<&'static NamedModule>,
    /// Compiles that had begun by then may look at it; none if it has no class.
    ticket: Option<Ticket>,
    /// Installed code named it when that was looked for last.
    is_named: bool,
}

impl Unloading {
    /// Classes that die from now on are not reclaimed before the result is dropped.
    pub fn hold(&self) -> Hold<'_> {
        self.holds.fetch_add(1, Ordering::AcqRel);
        Hold(self)
    }

    /// Classes that were unloaded so far, as HotSpot counts them: without array types. Any thread.
    pub fn classes(&self) -> u64 {
        self.classes.load(Ordering::Relaxed)
    }
}

/// Step 1 of the module text.
pub fn unload(vm: &'static Vm, world: &WorldStopped, is_alive: &dyn Fn(HolderId) -> bool) {
    vm.unloading.names_are_due.store(true, Ordering::Relaxed);
    let dead = vm.holders.take_dead(is_alive);
    if dead.is_empty() {
        return;
    }
    if let Some(profile) = &vm.diagnostics.fault_profile {
        profile.before_code_goes(vm);
    }
    let logs = vm.options.log.wants_unloaded_classes();
    for holder in &dead {
        let classes = holder.classes.lock();
        let are_boot = classes.first().is_some_and(|klass| klass.loader.is_boot());
        vm.class_memory.give_back(holder.file_bytes(), holder.charges(), are_boot);
        for klass in classes.iter() {
            vm.klasses.withdraw(klass.id);
            vm.heap.layouts().retire(klass.id);
            if logs {
                log(vm, klass);
            }
        }
        let count = classes.iter().filter(|klass| klass.instance().is_some()).count();
        vm.unloading.classes.fetch_add(count as u64, Ordering::Relaxed);
    }
    // Hidden classes go while their loader stays.
    let hidden = dead.iter().filter(|holder| holder.loader.get().is_none());
    let loaders = hidden.filter_map(|holder| Some(holder.classes.lock().first()?.loader));
    let loaders: FxHashMap<u32, &LoaderData> = loaders.map(|loader| (loader.id, loader)).collect();
    for loader in loaders.values() {
        loader.defined.write().retain(|klass| !klass.holder.is_dead());
    }
    vm.class_memory.set_threshold(vm);
    let ticket = jit::unload::unload(vm, world);
    vm.recorder.forget_unloaded();
    forget(vm, dead, Some(ticket));
    let named = jit::unload::named_dead_holders(vm, world);
    for each in vm.unloading.dying.lock().iter_mut() {
        each.is_named = named.contains(&each.holder.id);
    }
}

/// After any collection, the world running or stopped: reclaims what can be.
pub fn after_collection(vm: &'static Vm) {
    let emptied = vm.holders.take_emptied();
    if !emptied.is_empty() {
        forget(vm, emptied, None);
    }
    reclaim_ready(vm);
    if vm.unloading.names_are_due.swap(false, Ordering::Relaxed) {
        symbol::sweep();
    }
}

/// Reclaims the dead holders that nothing looks at any more.
fn reclaim_ready(vm: &Vm) {
    // Without waiting: a pause may have begun on a thread that another one waits for.
    let Some(mut dying) = vm.unloading.dying.try_lock() else { return };
    if dying.is_empty() || vm.unloading.holds.load(Ordering::Acquire) > 0 {
        return;
    }
    let is_ready = |each: &mut Dying| {
        !each.is_named && each.ticket.is_none_or(|ticket| vm.jit.is_past(ticket))
    };
    let ready: Vec<Dying> = dying.extract_if(.., is_ready).collect();
    drop(dying);
    for each in ready {
        // SAFETY: the holder is dead, and the compiler says that no code, and no thread of its, names its classes.
        unsafe { reclaim(vm, each) }
    }
}

/// Takes dead holders out of the tables of loaders and modules.
fn forget(vm: &Vm, dead: Vec<&'static ClassHolder>, ticket: Option<Ticket>) {
    let loaders: FxHashSet<u32> =
        dead.iter().filter_map(|holder| holder.loader.get()).map(|loader| loader.id).collect();
    let mut modules = Vec::new();
    if !loaders.is_empty() {
        vm.constraints.forget(&loaders);
        modules = vm.modules.forget(&loaders);
    }
    let mut dying = vm.unloading.dying.lock();
    for holder in dead {
        let own = |module: &mut &NamedModule| holder.loader.get() == Some(&module.loader);
        let modules = modules.extract_if(.., own).collect();
        dying.push(Dying { holder, modules, ticket, is_named: false });
    }
}

/// Frees everything that belongs to a holder.
///
/// # Safety
/// The holder is dead, and nothing names it or its classes, methods, fields, roots and modules any more.
unsafe fn reclaim(vm: &Vm, dying: Dying) {
    let Dying { holder, modules, .. } = dying;
    // SAFETY: everything was made by `Box::leak`, and is named by nothing but what is freed here, by the contract;
    // dropping a class does not look at others.
    unsafe {
        for klass in std::mem::take(&mut *holder.classes.lock()) {
            for method in klass.methods() {
                quick::free(method);
                Natives::free(method);
                drop(boxed(*method));
            }
            klass.fields().iter().for_each(|field| drop(boxed(*field)));
            vm.heap.layouts().release(klass.id);
            drop(boxed(klass));
        }
        modules.into_iter().for_each(|module| drop(boxed(module)));
        holder.loader.get().inspect(|loader| drop(boxed(**loader)));
        drop(boxed(holder));
    }
}

/// The box that was leaked as this reference.
///
/// # Safety
/// `Box::leak` made the reference, and it is the last one.
unsafe fn boxed<T>(leaked: &'static T) -> Box<T> {
    // SAFETY: the contract.
    unsafe { Box::from_raw(std::ptr::from_ref(leaked).cast_mut()) }
}

fn log(vm: &Vm, klass: KlassRef) {
    let address = std::ptr::from_ref(klass);
    let message = format!("unloading class {} {address:#018p}", klass.java_name());
    let line = LogLine { level: LogLevel::Info, tags: "class,unload", message: &message };
    vm.options.log.line(line);
}
