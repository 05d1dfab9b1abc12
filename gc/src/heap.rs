//! The heap as the VM sees it: one collector chosen at run time, behind one type.

use crate::barrier::BarrierSet;
use crate::binding::VmBinding;
use crate::layout::{LayoutTable, ReferenceFields};
use crate::mutator::{Mutator, WorldStopped};
use crate::object::{KlassId, ObjectRef};
use crate::options::HeapOptions;
use crate::safepoint::Safepoints;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Why an allocation did not succeed after the collector had done what it could.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocFailure {
    /// The heap is full of live objects: `OutOfMemoryError: Java heap space`.
    HeapFull,
    /// No array of that size can ever fit: `OutOfMemoryError: Requested array size exceeds VM limit`.
    TooLarge,
}

/// Why a collection is asked for; printed in logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectCause {
    SystemGc,
    AllocationFailure,
    Zeal,
}

/// The managed heap of one VM.
pub struct Heap {
    layouts: Arc<LayoutTable>,
    barriers: Box<dyn BarrierSet>,
    binding: OnceLock<Arc<dyn VmBinding>>,
    reference_fields: OnceLock<ReferenceFields>,
    safepoints: Safepoints,
    max_bytes: usize,
    base: usize,
    top: AtomicUsize,
}

impl Heap {
    /// Reserves the heap, starts or contacts memory servers and collector threads. Errors are messages for
    /// the command line (a budget that is too small, userfaultfd denied, no memory server).
    pub fn new(options: &HeapOptions) -> Result<Arc<Heap>, HeapError> {
        let bytes = options.max_bytes;
        // SAFETY: a fresh anonymous mapping.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(HeapError::Reserve { bytes });
        }
        Ok(Arc::new(Heap {
            layouts: Arc::new(LayoutTable::new()),
            barriers: Box::new(crate::collectors::epsilon::PlainBarriers),
            binding: OnceLock::new(),
            reference_fields: OnceLock::new(),
            safepoints: Safepoints::new(),
            max_bytes: bytes,
            base: base as usize,
            top: AtomicUsize::new(base as usize),
        }))
    }

    /// Names the VM, once, before the first mutator attaches.
    pub fn bind(&self, binding: Arc<dyn VmBinding>) {
        assert!(self.binding.set(binding).is_ok(), "heap bound twice");
    }

    /// Tells where `java.lang.ref.Reference` keeps its fields, once, before the first reference object exists.
    pub fn set_reference_fields(&self, fields: ReferenceFields) {
        assert!(self.reference_fields.set(fields).is_ok(), "reference fields set twice");
    }

    /// Where the VM registers classes and everybody looks them up.
    pub fn layouts(&self) -> &LayoutTable {
        &self.layouts
    }

    #[inline]
    pub fn barriers(&self) -> &dyn BarrierSet {
        &*self.barriers
    }

    /// Makes a thread a mutator, in the running state. The block must not move until `detach`.
    pub fn attach(&self, m: &Mutator) {
        self.safepoints.attach(m, |_| ());
    }

    /// Ends a thread's life as a mutator; it must be running and hold no plain address.
    pub fn detach(&self, m: &Mutator) {
        self.safepoints.detach(m, |_| ());
    }

    /// Allocates a zeroed object with its header filled (klass, collector word, `length` for arrays).
    /// `bytes` is the aligned size. **May collect: every plain address that the caller holds outside a root
    /// is invalid afterwards**, also on failure.
    #[inline]
    pub fn allocate(
        &self,
        m: &Mutator,
        klass: KlassId,
        bytes: usize,
        length: Option<u32>,
    ) -> Result<ObjectRef, AllocFailure> {
        debug_assert!(m.is_running() && bytes % 8 == 0, "allocate {bytes} of {klass:?}");
        let at = self.top.fetch_add(bytes, Ordering::Relaxed);
        if bytes > self.max_bytes || at + bytes > self.base + self.max_bytes {
            self.top.fetch_sub(bytes, Ordering::Relaxed);
            return Err(AllocFailure::HeapFull);
        }
        let object = ObjectRef::from_address(at);
        object.klass_word().store(klass.0, Ordering::Relaxed);
        if let Some(length) = length {
            object.set_array_length(length);
        }
        Ok(object)
    }

    /// Runs a full cycle and returns when it is done. The caller is running; a safepoint for it.
    pub fn collect(&self, _m: &Mutator, _cause: CollectCause) {}

    /// Stops at a requested safepoint until it is over. Call when `poll_requested`. Plain addresses outside
    /// roots are invalid afterwards.
    #[cold]
    pub fn safepoint(&self, m: &Mutator) {
        self.safepoints.poll_slow(m);
    }

    /// From running to safe: the thread promises to touch no heap word until `leave_safe`.
    #[inline]
    pub fn enter_safe(&self, m: &Mutator) {
        debug_assert!(m.is_running());
        self.safepoints.enter_safe(m);
    }

    /// From safe to running; blocks while the world is stopped.
    #[inline]
    pub fn leave_safe(&self, m: &Mutator) {
        debug_assert!(!m.is_running());
        self.safepoints.leave_safe(m);
    }

    /// Runs `f` with every other mutator stopped. The caller is a running mutator (`Some`), whose frames must
    /// be walkable, or no mutator at all.
    pub fn stop_world(&self, m: Option<&Mutator>, f: &mut dyn FnMut(&WorldStopped)) {
        self.safepoints.stop_world(m, f);
    }

    /// Keeps an object where it is until `unpin` (JNI critical sections). Counted per object's region.
    pub fn pin(&self, _object: ObjectRef) {}

    pub fn unpin(&self, _object: ObjectRef) {}

    pub fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Bytes in regions that hold objects.
    pub fn used_bytes(&self) -> usize {
        self.top.load(Ordering::Relaxed) - self.base
    }

    /// Bytes of regions taken from the system.
    pub fn committed_bytes(&self) -> usize {
        self.used_bytes()
    }

    /// Whether `address` lies in the heap's object space.
    pub fn contains(&self, address: usize) -> bool {
        (self.base..self.base + self.max_bytes).contains(&address)
    }
}

/// Why a heap could not be made.
#[derive(Debug)]
pub enum HeapError {
    Reserve { bytes: usize },
}

impl std::fmt::Display for HeapError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HeapError::Reserve { bytes } => {
                write!(f, "Could not reserve enough space for {}KB object heap", bytes / 1024)
            }
        }
    }
}

impl std::error::Error for HeapError {}
