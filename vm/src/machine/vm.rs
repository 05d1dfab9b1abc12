//! The VM: one value that owns everything.

use crate::loading::known::Known;
use crate::options::Options;
use crate::runtime::headers::array_base;
use crate::runtime::klass::{Klass, KlassRef};
use crate::runtime::loader::LoaderData;
use base::since_epoch;
use gc::heap::Heap;
use gc::object::{KLASS_ID_MAX, KlassId, RootSlot};
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// One virtual machine. Leaked when it starts: everything names it as `&'static Vm`.
pub struct Vm {
    pub options: Options,
    pub heap: Arc<Heap>,
    /// Width of a reference slot in the heap, 4 or 8 bytes: the collector's.
    pub slot_bytes: usize,
    pub klasses: KlassTable,
    pub boot_loader: &'static LoaderData,
    pub holders: crate::loading::holders::Holders,
    pub unloading: super::unload::Unloading,
    pub constraints: crate::loading::constraints::Constraints,
    pub image: crate::boot::image::ClassImage,
    /// `--patch-module`; from when the boot libraries are open.
    pub module_patches: OnceLock<crate::boot::patches::ModulePatches>,
    /// `-Xbootclasspath/a`; from when the boot libraries are open.
    pub appended: OnceLock<crate::boot::append::AppendedPath>,
    pub known: Known,
    pub strings: crate::loading::strings::StringTable,
    pub globals: crate::ffi::globals::GlobalRefs,
    /// The structure that native code gets as `JavaVM *`; made on the first request.
    pub java_vm: OnceLock<Box<crate::jni::invoke::JavaVm>>,
    pub natives: crate::ffi::natives::Natives,
    pub threads: crate::threads::Threads,
    pub modules: crate::loading::modules::Modules,
    pub jvm: crate::jvm::JvmState,
    pub jit: crate::jit::Jit,
    pub agents: crate::agents::Agents,
    pub recorder: crate::recorder::Recorder,
    pub diagnostics: crate::diagnostics::Diagnostics,
    /// Head of the list of references for the reference handler thread.
    pub pending_references: RootSlot,
    /// An `OutOfMemoryError` for when there is no room even for that.
    pub spare_out_of_memory: RootSlot,
    pub class_memory: crate::loading::class_memory::ClassMemory,
    pub first_out_of_memory: crate::loading::out_of_memory::FirstTime,
    /// The phase of start-up: see [`Vm::init_level`].
    pub init_level: AtomicU8,
    pub started: std::time::Instant,
}

impl Vm {
    /// Byte offset of an element of a reference array.
    #[inline]
    pub fn element_offset(&self, index: usize) -> usize {
        array_base(self.slot_bytes) + index * self.slot_bytes
    }

    /// The phase of start-up: 0 before `System.initPhase1` returned, then 1, 2, 3 after each phase.
    #[inline]
    pub fn init_level(&self) -> u8 {
        self.init_level.load(Ordering::Relaxed)
    }

    /// CPUs that this process may use.
    pub fn processors(&self) -> usize {
        match self.options.processors {
            0 => self.options.resources.cpus(),
            chosen => chosen,
        }
    }

    /// Classes that all loaders have defined.
    pub fn loaded_classes(&self) -> usize {
        self.holders.defined_classes()
    }

    /// As `loaded_classes`, with those that were unloaded.
    pub fn classes_ever_loaded(&self) -> usize {
        self.loaded_classes() + self.unloading.classes() as usize
    }

    /// Milliseconds since 1970 at which the VM was started.
    pub fn started_at_ms(&self) -> i64 {
        since_epoch().saturating_sub(self.started.elapsed()).as_millis() as i64
    }

    /// Seconds since the VM was made.
    pub fn uptime_s(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }
}

/// All classes by id. Lock-free to read.
pub struct KlassTable {
    table: Box<[AtomicPtr<Klass>]>,
    /// Classes that were made so far. Relaxed: only its uniqueness counts.
    made: AtomicU32,
}

impl KlassTable {
    pub fn new() -> KlassTable {
        // Zeroed memory from the system: pages that no class needs are never touched.
        let layout =
            std::alloc::Layout::array::<AtomicPtr<Klass>>(TABLE).expect("a table that fits");
        // SAFETY: an AtomicPtr of zero bytes is a null pointer, and the layout is that of the slice.
        let table = unsafe {
            let memory = std::alloc::alloc_zeroed(layout).cast::<AtomicPtr<Klass>>();
            assert!(!memory.is_null(), "no memory for the class table");
            Box::from_raw(std::ptr::slice_from_raw_parts_mut(memory, TABLE))
        };
        KlassTable { table, made: AtomicU32::new(0) }
    }

    /// The class of an id that an object header or mirror holds.
    #[inline]
    pub fn get(&self, id: KlassId) -> KlassRef {
        self.find(id).unwrap_or_else(|| panic!("no class has the id {id:?}"))
    }

    #[inline]
    pub fn find(&self, id: KlassId) -> Option<KlassRef> {
        // SAFETY: entries are KlassRefs set by `publish`, which live until they are reclaimed, long after
        // `withdraw`.
        unsafe { self.table.get(id.0 as usize)?.load(Ordering::Acquire).as_ref() }
    }

    /// Address of the first entry: compiled code reads the table itself.
    pub fn base(&self) -> *const AtomicPtr<Klass> {
        self.table.as_ptr()
    }

    /// The number of a class that is being made.
    pub fn next_serial(&self) -> u32 {
        self.made.fetch_add(1, Ordering::Relaxed)
    }

    pub fn publish(&self, klass: KlassRef) {
        let old = self.table[klass.id.0 as usize]
            .swap(std::ptr::from_ref(klass).cast_mut(), Ordering::AcqRel);
        assert!(old.is_null(), "{:?} published twice", klass.id);
    }

    /// A class is gone. World stopped.
    pub fn withdraw(&self, id: KlassId) {
        self.table[id.0 as usize].store(std::ptr::null_mut(), Ordering::Release);
    }

    /// Every class there is, arrays and primitives too.
    pub fn iter(&self, count: u32) -> impl Iterator<Item = KlassRef> + '_ {
        (1..count).filter_map(|id| self.find(KlassId(id)))
    }
}

impl Default for KlassTable {
    fn default() -> Self {
        KlassTable::new()
    }
}

const TABLE: usize = 1 << 20;
const _: () = assert!(TABLE <= KLASS_ID_MAX as usize + 1);
