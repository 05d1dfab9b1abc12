//! Rooted references for native code: VM functions in Rust and JNI alike.
//!
//! A plain [`ObjectRef`] is only good until the next safepoint: any allocation, Java call, class loading,
//! blocking, or transition to native. Code that needs a reference across one keeps a [`Handle`], which is a
//! word of the thread's handle arena that the collector updates. A local JNI reference is a handle: the same
//! word.
//!
//! Handles live until the [`HandleScope`] in which they were made is dropped. Every native method call and
//! every `JVM_*` function runs inside one; loops that make handles open their own.

use gc::object::ObjectRef;
use std::cell::{Cell, UnsafeCell};

/// A rooted reference, possibly null. Own thread only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Handle(*const Cell<ObjectRef>);

impl Handle {
    #[inline]
    pub fn get(self) -> ObjectRef {
        // SAFETY: the cell lives until its scope ends, and handles do not outlive their scope (module rule).
        unsafe { (*self.0).get() }
    }

    #[inline]
    pub fn set(self, object: ObjectRef) {
        // SAFETY: as in `get`.
        unsafe { (*self.0).set(object) }
    }

    #[inline]
    pub fn is_null(self) -> bool {
        self.get().is_null()
    }

    /// The word's address: a local reference in JNI's terms.
    #[inline]
    pub fn address(self) -> usize {
        self.0 as usize
    }

    /// The handle of a local JNI reference, or of an argument slot of the interpreter. The caller vouches
    /// that a root lies there.
    #[inline]
    pub fn from_address(address: usize) -> Handle {
        Handle(address as *const Cell<ObjectRef>)
    }
}

/// The handles of one thread, in chunks that never move.
pub struct HandleArena {
    /// Boxed: a chunk must not move when the list grows.
    #[allow(clippy::vec_box)]
    chunks: UnsafeCell<Vec<Box<[Cell<ObjectRef>; CHUNK]>>>,
    /// Number of handles in use.
    top: Cell<usize>,
}

impl HandleArena {
    pub fn new() -> HandleArena {
        HandleArena { chunks: UnsafeCell::new(Vec::new()), top: Cell::new(0) }
    }

    #[inline]
    pub fn push(&self, object: ObjectRef) -> Handle {
        let top = self.top.get();
        assert!(top < LIMIT, "more than {LIMIT} local references in one thread");
        // SAFETY: only the owning thread, or a collector while it is stopped, touches the chunk list.
        let chunks = unsafe { &mut *self.chunks.get() };
        if top / CHUNK == chunks.len() {
            chunks.push(Box::new([const { Cell::new(ObjectRef::NULL) }; CHUNK]));
        }
        let cell = &chunks[top / CHUNK][top % CHUNK];
        cell.set(object);
        self.top.set(top + 1);
        Handle(cell)
    }

    #[inline]
    pub fn mark(&self) -> usize {
        self.top.get()
    }

    /// Ends all handles made since `mark`.
    #[inline]
    pub fn release(&self, mark: usize) {
        debug_assert!(mark <= self.top.get());
        self.top.set(mark);
    }

    /// Ends the empty handles at the end of the arena, down to `base`: only where native code alone has made
    /// handles since.
    pub fn pop_empty(&self, base: usize) {
        // SAFETY: as in `push`.
        let chunks = unsafe { &*self.chunks.get() };
        let is_empty = |at: usize| chunks[at / CHUNK][at % CHUNK].get().is_null();
        while self.top.get() > base && is_empty(self.top.get() - 1) {
            self.top.set(self.top.get() - 1);
        }
    }

    /// Every handle, for the collector; the owning thread is stopped or the caller.
    pub fn visit(&self, visit: &mut dyn FnMut(&mut ObjectRef)) {
        let top = self.top.get();
        // SAFETY: as in `push`.
        let chunks = unsafe { &*self.chunks.get() };
        for cell in chunks.iter().flat_map(|chunk| chunk.iter()).take(top) {
            let mut object = cell.get();
            if !object.is_null() {
                visit(&mut object);
                cell.set(object);
            }
        }
    }
}

impl Default for HandleArena {
    fn default() -> Self {
        HandleArena::new()
    }
}

/// Ends the handles that were made during its life.
pub struct HandleScope<'t> {
    arena: &'t HandleArena,
    mark: usize,
}

impl<'t> HandleScope<'t> {
    #[inline]
    pub fn new(arena: &'t HandleArena) -> HandleScope<'t> {
        HandleScope { arena, mark: arena.mark() }
    }
}

impl Drop for HandleScope<'_> {
    #[inline]
    fn drop(&mut self) {
        self.arena.release(self.mark)
    }
}

const CHUNK: usize = 256;
const LIMIT: usize = 1 << 22;
