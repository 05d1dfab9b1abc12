//! Holders of classes in the test VM: each has some classes and some slots, and is unloaded when nothing uses it.

use super::{Classes, TestThread, TestVm, array_base};
use gc::object::layout::{HolderId, KlassLayout, LayoutTable, ReferenceKind};
use gc::object::{ARRAY_BASE_MIN, KlassId, OBJECT_BYTES_MIN, ObjectRef, RootSlot};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// One holder.
pub struct TestHolder {
    pub id: HolderId,
    /// Null, or once set.
    pub slots: Vec<RootSlot>,
    next: AtomicUsize,
    pub classes: HeldClasses,
}

impl TestHolder {
    /// A slot that was not set yet, for the caller to set.
    pub fn next_slot(&self) -> Option<&RootSlot> {
        self.slots.get(self.next.fetch_add(1, Ordering::Relaxed))
    }
}

/// Its classes.
#[derive(Clone, Copy)]
pub struct HeldClasses {
    /// Two reference slots.
    pub node: KlassId,
    /// None.
    pub plain: KlassId,
    pub bytes: KlassId,
    pub refs: KlassId,
}

/// All that were not unloaded.
#[derive(Default)]
pub struct TestHolders {
    made: AtomicU32,
    loaded: Mutex<BTreeMap<u32, Arc<TestHolder>>>,
    /// How often each is in use.
    in_use: Mutex<BTreeMap<u32, usize>>,
    /// In use from the end of the pause on that asks next.
    soon_in_use: Mutex<Option<HolderId>>,
    /// How often collectors had this VM unload.
    pub unloadings: AtomicUsize,
}

impl TestHolders {
    /// A holder that is in use.
    pub fn make(&self, vm: &TestVm, slots: usize) -> Arc<TestHolder> {
        let mut loaded = self.loaded.lock().unwrap();
        let id = HolderId(self.made.load(Ordering::Relaxed) + 1);
        let classes = HeldClasses::register(&vm.classes, vm.heap.layouts(), id);
        let slots = (0..slots).map(|_| RootSlot::null()).collect();
        let holder = Arc::new(TestHolder { id, slots, next: AtomicUsize::new(0), classes });
        self.made.store(id.0, Ordering::Relaxed);
        loaded.insert(id.0, holder.clone());
        self.enter(id);
        holder
    }

    /// It is in use once more.
    pub fn enter(&self, id: HolderId) {
        *self.in_use.lock().unwrap().entry(id.0).or_default() += 1;
    }

    /// It is in use once less.
    pub fn leave(&self, id: HolderId) {
        let mut in_use = self.in_use.lock().unwrap();
        let count = in_use.get_mut(&id.0).expect("a holder in use");
        *count -= 1;
        in_use.retain(|_, count| *count > 0);
    }

    /// It is in use once more when the next marking has begun.
    pub fn enter_soon(&self, id: HolderId) {
        *self.soon_in_use.lock().unwrap() = Some(id);
    }

    /// The holder of a class, which must live.
    pub fn of(&self, layouts: &LayoutTable, klass: KlassId) -> Option<Arc<TestHolder>> {
        assert!(
            !layouts.is_retired(klass),
            "{klass:?} is unloaded, and a thread has an object of it"
        );
        match layouts.holder(klass) {
            HolderId::PERMANENT => None,
            id => Some(self.get(id)),
        }
    }

    pub fn get(&self, id: HolderId) -> Arc<TestHolder> {
        let found = self.loaded.lock().unwrap().get(&id.0).cloned();
        found.unwrap_or_else(|| panic!("{id:?} was unloaded"))
    }

    /// The ids of all.
    pub fn loaded(&self) -> Vec<u32> {
        self.loaded.lock().unwrap().keys().copied().collect()
    }

    pub fn limit(&self) -> u32 {
        // No id is handed out while one is being made.
        let _loaded = self.loaded.lock().unwrap();
        self.made.load(Ordering::Relaxed) + 1
    }

    pub fn visit_all(&self, visit: &mut dyn FnMut(&RootSlot)) {
        let loaded: Vec<_> = self.loaded.lock().unwrap().values().cloned().collect();
        loaded.iter().flat_map(|holder| &holder.slots).for_each(visit);
    }

    pub fn visit_in_use(&self, visit: &mut dyn FnMut(HolderId)) {
        let in_use: Vec<_> = self.in_use.lock().unwrap().keys().copied().collect();
        in_use.into_iter().map(HolderId).for_each(visit);
        if let Some(id) = self.soon_in_use.lock().unwrap().take() {
            self.enter(id);
        }
    }

    pub fn unload(&self, layouts: &LayoutTable, is_alive: &dyn Fn(HolderId) -> bool) {
        self.unloadings.fetch_add(1, Ordering::Relaxed);
        assert!(is_alive(HolderId::PERMANENT));
        let used = self.in_use.lock().unwrap();
        self.loaded.lock().unwrap().retain(|id, holder| {
            let lives = is_alive(HolderId(*id));
            assert!(lives || !used.contains_key(id), "holder {id} is in use, and found dead");
            if !lives {
                holder.classes.all().into_iter().for_each(|klass| layouts.retire(klass));
            }
            lives
        });
    }
}

impl HeldClasses {
    fn register(classes: &Classes, layouts: &LayoutTable, holder: HolderId) -> HeldClasses {
        let refs = [classes.slot(0) as u32, classes.slot(1) as u32];
        let node_bytes = classes.node_bytes(2) as u32;
        let instance =
            |bytes, refs| KlassLayout::Instance { bytes, refs, kind: ReferenceKind::Strong };
        let register = |layout| layouts.register_of(holder, layout);
        HeldClasses {
            node: register(instance(node_bytes, refs.into())),
            plain: register(instance(PLAIN_BYTES as u32, [].into())),
            bytes: register(KlassLayout::PrimitiveArray {
                base: ARRAY_BASE_MIN as u32,
                log2_bytes: 0,
            }),
            refs: register(KlassLayout::ObjectArray { base: array_base(classes.slot_bytes) }),
        }
    }

    pub fn all(self) -> [KlassId; 4] {
        [self.node, self.plain, self.bytes, self.refs]
    }
}

impl TestThread {
    /// A mirror of a class. The holder of the class must be in use.
    pub fn new_mirror(&self, vm: &TestVm, klass: KlassId) -> ObjectRef {
        let (classes, bytes) = (&vm.classes, vm.classes.mirror_bytes());
        let mirror = vm.heap.allocate(&self.m, classes.mirrors, bytes, None).unwrap();
        let set = |at: usize, value: u32| {
            // SAFETY: an aligned field of a new mirror, which no other thread knows.
            unsafe { AtomicU32::from_ptr((mirror.address() + at) as *mut u32) }
                .store(value, Ordering::Relaxed);
        };
        let [static_refs_at, bytes_at, klass_id_at] = classes.mirror_fields();
        set(static_refs_at, 1);
        set(bytes_at, bytes as u32);
        set(klass_id_at, klass.0);
        mirror
    }

    /// An object of one of the classes of `HeldClasses`, chosen by number. Arrays have few elements, or none.
    pub fn new_held(&self, vm: &TestVm, classes: HeldClasses, number: usize) -> (ObjectRef, usize) {
        let length = number / 4 % 3;
        let (klass, bytes, length, slots) = match number % 4 {
            0 => (classes.node, vm.classes.node_bytes(2), None, 2),
            1 => (classes.plain, PLAIN_BYTES, None, 0),
            2 => (classes.bytes, ARRAY_BASE_MIN.next_multiple_of(8), Some(0), 0),
            _ => (classes.refs, vm.classes.node_bytes(length), Some(length as u32), length),
        };
        (vm.heap.allocate(&self.m, klass, bytes, length).unwrap(), slots)
    }
}

const PLAIN_BYTES: usize = OBJECT_BYTES_MIN;

/// `UNLOADING_SEED`, else a random one.
pub fn seed() -> u64 {
    let given = std::env::var("UNLOADING_SEED").ok();
    given.map_or_else(|| rand::random::<u64>() >> 1, |text| text.parse().expect("a number"))
}
