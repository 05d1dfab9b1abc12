//! The holders of classes and the loaders of one VM, and their roots.

use crate::machine::JavaThread;
use crate::runtime::holder::State;
use crate::runtime::{ClassHolder, KlassRef, LoaderData, object};
use gc::object::layout::HolderId;
use gc::object::{ObjectRef, RootSlot};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

/// See the module text. No lock of it is held across a safepoint.
pub struct Holders {
    pub boot_loader: &'static LoaderData,
    /// By id. The boot loader first.
    loaders: RwLock<BTreeMap<u32, &'static LoaderData>>,
    /// All but the permanent one, by id.
    by_id: RwLock<FxHashMap<HolderId, &'static ClassHolder>>,
    /// The next id, of a loader and a holder. Only its uniqueness counts (relaxed).
    next: AtomicU32,
    /// Taken by those who make the data of a loader.
    making: Mutex<()>,
}

impl Holders {
    /// With the boot loader.
    pub fn new() -> Holders {
        let holder = Box::leak(Box::new(ClassHolder::new(HolderId::PERMANENT)));
        let boot_loader: &'static LoaderData = Box::leak(Box::new(LoaderData::new(0, holder)));
        Holders {
            boot_loader,
            loaders: RwLock::new(BTreeMap::from([(0, boot_loader)])),
            by_id: RwLock::default(),
            next: AtomicU32::new(1),
            making: Mutex::default(),
        }
    }

    /// The data of a `ClassLoader` object; null is the boot loader. Made on first use. No safepoint.
    pub fn of_loader(&self, t: &JavaThread, loader: ObjectRef) -> &'static LoaderData {
        if loader.is_null() {
            return self.boot_loader;
        }
        let offset = t.vm.known.fields.loader_id();
        let known = |id: i32| self.loaders.read()[&(id as u32)];
        let id: i32 = object::get(loader, offset);
        if id != 0 {
            return known(id);
        }
        let _making = self.making.lock();
        let id: i32 = object::get(loader, offset);
        if id != 0 {
            return known(id);
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let is_built_in = is_built_in(t, loader);
        let holder = match is_built_in {
            true => self.boot_loader.holder,
            false => Box::leak(Box::new(ClassHolder::new(HolderId(id)))),
        };
        let data: &'static LoaderData = Box::leak(Box::new(LoaderData::new(id, holder)));
        if !is_built_in {
            assert!(holder.loader.set(data).is_ok(), "{holder:?} has two loaders");
            self.by_id.write().insert(holder.id, holder);
        }
        t.store_root(&data.object, loader);
        self.loaders.write().insert(id, data);
        object::put(loader, offset, id as i32);
        data
    }

    /// A holder for a hidden class alone. Nobody sees it before it is settled.
    pub fn of_hidden_class(&self) -> &'static ClassHolder {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        Box::leak(Box::new(ClassHolder::new(HolderId(id))))
    }

    /// From now on the holder of a class lives as long as something needs its classes. The class has its mirror, which
    /// something keeps. No safepoint.
    pub fn settle(&self, t: &JavaThread, klass: KlassRef) {
        let holder = klass.holder;
        if holder.is_permanent() || holder.state() != State::New {
            return;
        }
        match holder.loader.get() {
            Some(loader) => {
                let object = t.load_root(&loader.object);
                t.store_ref(object, t.vm.known.fields.loader_anchor(), t.mirror(klass));
            }
            None => _ = self.by_id.write().insert(holder.id, holder),
        }
        holder.set_state(State::Settled);
    }

    /// The id of the next loader or holder; ids ascend. Any thread.
    pub fn next_id(&self) -> u32 {
        self.next.load(Ordering::Relaxed)
    }

    /// All loaders that there are.
    pub fn loaders(&self) -> Vec<&'static LoaderData> {
        self.loaders.read().values().copied().collect()
    }

    /// Classes that all loaders have defined.
    pub fn defined_classes(&self) -> usize {
        self.loaders.read().values().map(|loader| loader.defined.read().len()).sum()
    }

    /// The roots that are strong whatever a marking finds. `judges`: a marking begins that will say which holders are
    /// dead.
    pub fn visit_permanent(&self, judges: bool, visit: &mut dyn FnMut(&RootSlot)) {
        self.boot_loader.holder.roots.lock().visit(visit);
        for loader in self.loaders.read().values().filter(|loader| loader.holder.is_permanent()) {
            visit(&loader.object);
        }
        for holder in self.by_id.read().values() {
            match holder.state() {
                State::New => holder.roots.lock().visit(visit),
                State::Settled if judges => holder.set_state(State::Judged),
                _ => {}
            }
        }
    }

    /// The roots of the settled holders, which `visit_permanent` leaves out.
    pub fn visit_settled(&self, visit: &mut dyn FnMut(&RootSlot)) {
        let by_id = self.by_id.read();
        by_id.values().filter(|h| h.state() != State::New).for_each(|h| visit_roots(h, visit));
    }

    /// The roots of one holder, if it is settled. Any thread.
    pub fn visit_of(&self, holder: HolderId, visit: &mut dyn FnMut(&RootSlot)) {
        let holder = self.by_id.read().get(&holder).copied();
        if let Some(holder) = holder.filter(|holder| holder.state() != State::New) {
            visit_roots(holder, visit);
        }
    }

    /// The loaders that have no class yet.
    pub fn visit_weak(&self, visit: &mut dyn FnMut(&RootSlot)) {
        for holder in self.by_id.read().values().filter(|h| h.state() == State::New) {
            holder.loader.get().inspect(|loader| visit(&loader.object));
        }
    }

    /// Takes the holders that the marking that ends has judged and not found, and makes them dead. World stopped.
    pub fn take_dead(&self, is_alive: &dyn Fn(HolderId) -> bool) -> Vec<&'static ClassHolder> {
        self.take(|holder| holder.state() == State::Judged && !is_alive(holder.id))
    }

    /// Takes the loaders without a class whose object a collection has found dead. Any thread.
    pub fn take_emptied(&self) -> Vec<&'static ClassHolder> {
        let is_emptied = |holder: &ClassHolder| {
            let loader = holder.loader.get();
            holder.state() == State::New && loader.is_some_and(|loader| loader.object.is_null())
        };
        // None is half made: those that make them have the lock, or are not in the table.
        let Some(_making) = self.making.try_lock() else { return Vec::new() };
        if !self.by_id.read().values().any(|holder| is_emptied(holder)) {
            return Vec::new();
        }
        self.take(is_emptied)
    }

    /// Takes those out of the tables, and makes them dead.
    fn take(&self, is_wanted: impl Fn(&ClassHolder) -> bool) -> Vec<&'static ClassHolder> {
        let mut by_id = self.by_id.write();
        let mut loaders = self.loaders.write();
        let wanted = by_id.extract_if(|_, holder| is_wanted(holder));
        let taken: Vec<_> = wanted.map(|(_, holder)| holder).collect();
        for holder in &taken {
            holder.set_state(State::Dead);
            holder.loader.get().inspect(|loader| _ = loaders.remove(&loader.id));
        }
        taken
    }
}

impl Default for Holders {
    fn default() -> Holders {
        Holders::new()
    }
}

/// A class names another one for good, as a constant or a supertype: it keeps the holder of that. `false`: the other
/// class is dead, which cannot be where something keeps it so far. No safepoint.
pub fn depend(t: &JavaThread, holder: &ClassHolder, on: KlassRef) -> bool {
    if on.holder.is_dead() {
        return false;
    }
    let mirror = t.mirror(on);
    // Some collectors may have stopped the thread there.
    if on.holder.is_dead() {
        return false;
    }
    if holder.must_keep(on.holder) {
        let slot = holder.roots.lock().take();
        t.store_root(slot, mirror);
    }
    true
}

fn visit_roots(holder: &ClassHolder, visit: &mut dyn FnMut(&RootSlot)) {
    holder.roots.lock().visit(visit);
    holder.loader.get().inspect(|loader| visit(&loader.object));
}

/// The platform and application loaders, which live as long as the VM.
fn is_built_in(t: &JavaThread, loader: ObjectRef) -> bool {
    let klass = t.klass_of(loader);
    let names: [&[u8]; 2] = [
        b"jdk/internal/loader/ClassLoaders$PlatformClassLoader",
        b"jdk/internal/loader/ClassLoaders$AppClassLoader",
    ];
    klass.loader.is_boot() && names.contains(&klass.name.bytes())
}
