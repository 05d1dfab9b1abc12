//! What holds classes: the unit in which they are unloaded.
//!
//! A loader's classes come and go together, and a hidden class that is not strong (`Lookup.defineHiddenClass`) by
//! itself. The classes of the boot, platform and application loaders never go: they share one permanent holder.
//!
//! A collector finds a holder alive by an object of one of its classes, or by a mirror of one (see
//! [`gc::threads::binding::VmBinding::unload`]). A loader has a field that refers to a mirror of its own, so that the
//! loader keeps its classes, too. Until a loader defines its first class that mirror is missing: such a holder is not
//! [`State::Settled`] yet, its roots count as permanent, and its loader is a weak root.

use super::klass::KlassRef;
use super::loader::LoaderData;
use super::root_table::RootTable;
use gc::object::layout::HolderId;
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// See the module text. Metadata names it as `&'static`, which it is until it is reclaimed.
pub struct ClassHolder {
    pub id: HolderId,
    /// The loader that holds its classes by this holder; none for the hidden class that has one of its own, and for
    /// the permanent holder.
    pub loader: OnceLock<&'static LoaderData>,
    /// Roots of its classes: mirrors, resolved constants, and the like. Alive as long as the holder.
    pub roots: Mutex<RootTable>,
    /// Its classes, array types too. Of the permanent holder none.
    pub classes: Mutex<Vec<KlassRef>>,
    /// The holders that this one keeps alive by a root.
    kept: Mutex<FxHashSet<HolderId>>,
    /// Bytes of the class files of its classes, and of their descriptions.
    file_bytes: AtomicUsize,
    /// How often bytes were counted: classes, with those whose definition failed.
    charges: AtomicUsize,
    state: AtomicU8,
}

/// The life of a holder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum State {
    /// Has no class that a marking could meet.
    New,
    /// Has classes. Since the last marking began, if there is one.
    Settled,
    /// Had classes when the last marking began: it is dead if that does not find it.
    Judged,
    /// A marking has not found it. Nothing but other dead holders, and code that is being compiled, names its classes.
    Dead,
}

impl ClassHolder {
    pub fn new(id: HolderId) -> ClassHolder {
        ClassHolder {
            id,
            loader: OnceLock::new(),
            roots: Mutex::default(),
            classes: Mutex::default(),
            kept: Mutex::default(),
            file_bytes: AtomicUsize::new(0),
            charges: AtomicUsize::new(0),
            state: AtomicU8::new(State::New as u8),
        }
    }

    /// Whether its classes never go.
    #[inline]
    pub fn is_permanent(&self) -> bool {
        self.id == HolderId::PERMANENT
    }

    /// Whether it is that of a hidden class alone.
    pub fn is_of_one_class(&self) -> bool {
        !self.is_permanent() && self.loader.get().is_none()
    }

    pub fn state(&self) -> State {
        match self.state.load(Ordering::Acquire) {
            0 => State::New,
            1 => State::Settled,
            2 => State::Judged,
            _ => State::Dead,
        }
    }

    /// Mutators settle a new holder; the others are for the collecting thread, in pauses.
    pub fn set_state(&self, state: State) {
        self.state.store(state as u8, Ordering::Release);
    }

    /// Any thread. A compiler thread may meet classes of dead holders.
    pub fn is_dead(&self) -> bool {
        self.state() == State::Dead
    }

    /// Bytes that were counted for its classes.
    pub fn file_bytes(&self) -> usize {
        self.file_bytes.load(Ordering::Relaxed)
    }

    /// For how many classes they were counted.
    pub fn charges(&self) -> usize {
        self.charges.load(Ordering::Relaxed)
    }

    /// Notes bytes that were counted for one more class. Relaxed: figures.
    pub fn charge(&self, bytes: usize) {
        self.file_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.charges.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes one more class.
    pub fn add(&self, klass: KlassRef) {
        if !self.is_permanent() {
            self.classes.lock().push(klass);
        }
    }

    /// Whether a root has to be made for this holder to keep the other one: asked once for each.
    pub fn must_keep(&self, other: &ClassHolder) -> bool {
        !other.is_permanent() && self.id != other.id && self.kept.lock().insert(other.id)
    }
}

impl PartialEq for ClassHolder {
    fn eq(&self, other: &ClassHolder) -> bool {
        std::ptr::eq(self, other)
    }
}

impl std::fmt::Debug for ClassHolder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "holder {}", self.id.0)
    }
}
