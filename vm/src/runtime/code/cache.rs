//! Memory for code, and which body an address belongs to.
//!
//! The cache is one stretch of memory, mapped twice: once writable, once executable, so that no page is ever both.
//! Room is given out in [`ALIGNMENT`] steps, first fit. Bodies are found by address in a sorted list; stack walks
//! look them up in it, also while other threads add bodies.
//!
//! A body is removed only in a stopped world in which no frame of it is on any stack. Between reading a method's code
//! address and calling it there is no safepoint, so no other thread can hold one either.

use super::body::Body;
use super::installed::Installed;
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// The code of one VM.
pub struct CodeCache {
    bytes: usize,
    /// `None` when the system refuses the memory. Mapped when the first body comes.
    memory: OnceLock<Option<Memory>>,
    space: Mutex<Space>,
    /// With their first addresses, in order of these. Compiler threads write, all threads read.
    bodies: RwLock<Vec<(usize, &'static Installed)>>,
    /// Stretches without code: first addresses, and lengths.
    reserved: Mutex<BTreeMap<usize, usize>>,
    next_id: AtomicU32,
    used: AtomicUsize,
}

/// Why a body was not installed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoRoom {
    /// No free stretch is long enough.
    Full,
    /// There is no memory that may be executed.
    NoMemory,
}

struct Memory {
    writable: *mut u8,
    executable: *const u8,
}

// SAFETY: the mappings stay for the life of the VM; the parts to write are assigned under the lock of `space`.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// Which parts are free: start and length of the free stretches, as offsets.
struct Space {
    free: BTreeMap<usize, usize>,
}

const ALIGNMENT: usize = 64;

impl CodeCache {
    pub fn new(bytes: usize) -> CodeCache {
        let bytes = bytes.max(MIN_BYTES).next_multiple_of(PAGE);
        CodeCache {
            bytes,
            memory: OnceLock::new(),
            space: Mutex::new(Space { free: BTreeMap::from([(0, bytes)]) }),
            bodies: RwLock::default(),
            reserved: Mutex::default(),
            next_id: AtomicU32::new(1),
            used: AtomicUsize::new(0),
        }
    }

    /// Puts a body in its place. No method calls it yet.
    pub fn install(&self, mut body: Body) -> Result<&'static Installed, NoRoom> {
        let bytes = body.code.len();
        let length = bytes.next_multiple_of(ALIGNMENT);
        let (memory, offset) = self.take(length)?;
        // SAFETY: the stretch was free and is ours now; the code fits.
        unsafe {
            let to = memory.writable.add(offset);
            std::ptr::copy_nonoverlapping(body.code.as_ptr(), to, bytes);
        }
        body.code = Vec::new();
        let installed: &'static Installed = Box::leak(Box::new(Installed {
            body,
            id: self.next_id.fetch_add(1, Ordering::Relaxed),
            start: memory.executable as usize + offset,
            bytes,
            next: AtomicPtr::new(std::ptr::null_mut()),
        }));
        let mut bodies = self.bodies.write();
        let at = bodies.partition_point(|(start, _)| *start < installed.start);
        bodies.insert(at, (installed.start, installed));
        Ok(installed)
    }

    /// A free stretch of this length.
    fn take(&self, length: usize) -> Result<(&Memory, usize), NoRoom> {
        let memory = self.memory.get_or_init(|| Memory::map(self.bytes));
        let memory = memory.as_ref().ok_or(NoRoom::NoMemory)?;
        let offset = self.space.lock().take(length).ok_or(NoRoom::Full)?;
        self.used.fetch_add(length, Ordering::Relaxed);
        Ok((memory, offset))
    }

    /// Takes room of at least `bytes` bytes, and puts no code there. Its address, for [`release`](Self::release). Any
    /// thread.
    pub fn reserve(&self, bytes: usize) -> Result<usize, NoRoom> {
        let length = bytes.max(1).checked_next_multiple_of(ALIGNMENT).ok_or(NoRoom::Full)?;
        let (memory, offset) = self.take(length)?;
        let address = memory.executable as usize + offset;
        self.reserved.lock().insert(address, length);
        Ok(address)
    }

    /// The bytes of room that was reserved at an address.
    pub fn reserved_at(&self, address: usize) -> Option<usize> {
        self.reserved.lock().get(&address).copied()
    }

    /// Gives back room that was reserved. False: none was, at this address. Any thread.
    pub fn release(&self, address: usize) -> bool {
        let Some(length) = self.reserved.lock().remove(&address) else { return false };
        let memory = self.memory.get().and_then(Option::as_ref).expect("room was reserved");
        self.space.lock().give_back(address - memory.executable as usize, length);
        self.used.fetch_sub(length, Ordering::Relaxed);
        true
    }

    /// Whether an address is that of an instruction here. Async-signal-safe.
    pub fn covers(&self, pc: usize) -> bool {
        let memory = self.memory.get().and_then(Option::as_ref);
        memory.is_some_and(|memory| pc.wrapping_sub(memory.executable as usize) < self.bytes)
    }

    /// The body that a return address lies in.
    pub fn find(&self, return_address: usize) -> Option<&'static Installed> {
        found(&self.bodies.read(), return_address)
    }

    /// The body whose code begins at an address, if any.
    pub fn at(&self, start: usize) -> Option<&'static Installed> {
        // One byte behind, as a return address would be.
        self.find(start + 1)
    }

    /// As `find`, for a report of a crash: `None` also if the list is being changed.
    pub fn try_find(&self, return_address: usize) -> Option<&'static Installed> {
        found(&self.bodies.try_read()?, return_address)
    }

    /// Frees bodies and their memory.
    ///
    /// # Safety
    /// Each is given once. The world is stopped, no frame of the bodies is on a stack, and nothing names them any more.
    pub unsafe fn remove(&self, removed: &[&'static Installed]) {
        let starts: FxHashSet<usize> = removed.iter().map(|installed| installed.start).collect();
        self.bodies.write().retain(|(start, _)| !starts.contains(start));
        for installed in removed {
            // SAFETY: by the contract, and the list does not name it any more.
            unsafe { self.free(installed) };
        }
    }

    /// # Safety
    /// As `remove`; the body is not in the list.
    unsafe fn free(&self, installed: &'static Installed) {
        let memory = self.memory.get().and_then(Option::as_ref).expect("a body was installed");
        let offset = installed.start - memory.executable as usize;
        let length = installed.bytes.next_multiple_of(ALIGNMENT);
        // SAFETY: the stretch belongs to the body until it is given back below. Stray calls trap (int3).
        unsafe { std::ptr::write_bytes(memory.writable.add(offset), 0xcc, length) };
        // SAFETY: `install` leaked the box; by the contract this is the last reference.
        drop(unsafe { Box::from_raw(std::ptr::from_ref(installed).cast_mut()) });
        self.space.lock().give_back(offset, length);
        self.used.fetch_sub(length, Ordering::Relaxed);
    }

    /// Every body there is.
    pub fn bodies(&self) -> Vec<&'static Installed> {
        self.bodies.read().iter().map(|(_, installed)| *installed).collect()
    }

    pub fn used_bytes(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    pub fn capacity_bytes(&self) -> usize {
        self.bytes
    }
}

fn found(
    bodies: &[(usize, &'static Installed)],
    return_address: usize,
) -> Option<&'static Installed> {
    let behind = bodies.partition_point(|(start, _)| *start < return_address);
    let (_, installed) = bodies[..behind].last()?;
    installed.contains(return_address).then_some(*installed)
}

impl Memory {
    fn map(bytes: usize) -> Option<Memory> {
        // SAFETY: fresh anonymous memory, mapped a second time. It has no file, so that profilers look for its names
        // in the map that they are given.
        unsafe {
            let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let writable = libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0);
            if writable == libc::MAP_FAILED {
                return None;
            }
            // Of a length of 0: the same memory at another address.
            let executable = libc::mremap(writable, 0, bytes, libc::MREMAP_MAYMOVE);
            if executable == libc::MAP_FAILED {
                libc::munmap(writable, bytes);
                return None;
            }
            if libc::mprotect(executable, bytes, libc::PROT_READ | libc::PROT_EXEC) != 0 {
                libc::munmap(writable, bytes);
                libc::munmap(executable, bytes);
                return None;
            }
            Some(Memory { writable: writable.cast(), executable: executable.cast() })
        }
    }
}

impl Space {
    fn take(&mut self, length: usize) -> Option<usize> {
        let (&offset, &free) = self.free.iter().find(|(_, free)| **free >= length)?;
        self.free.remove(&offset);
        if free > length {
            self.free.insert(offset + length, free - length);
        }
        Some(offset)
    }

    fn give_back(&mut self, mut offset: usize, mut length: usize) {
        if let Some(behind) = self.free.remove(&(offset + length)) {
            length += behind;
        }
        if let Some((&before, &free)) = self.free.range(..offset).next_back()
            && before + free == offset
        {
            self.free.remove(&before);
            offset = before;
            length += free;
        }
        self.free.insert(offset, length);
    }
}

const PAGE: usize = 4096;
const MIN_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_room_is_used_until_it_is_given_back() {
        let cache = CodeCache::new(MIN_BYTES);
        let address = cache.reserve(1).expect("the cache is empty");
        assert!(cache.covers(address) && cache.find(address + 1).is_none());
        assert_eq!(cache.used_bytes(), ALIGNMENT);
        assert_eq!(cache.reserved_at(address), Some(ALIGNMENT));
        assert_eq!(cache.reserve(MIN_BYTES), Err(NoRoom::Full));
        assert_eq!(cache.reserve(usize::MAX), Err(NoRoom::Full));
        assert!(cache.release(address) && !cache.release(address));
        assert_eq!(cache.used_bytes(), 0);
        assert_eq!(cache.reserve(MIN_BYTES), Ok(address));
    }

    #[test]
    fn freed_stretches_grow_together() {
        let mut space = Space { free: BTreeMap::from([(0, 1024)]) };
        assert_eq!(space.take(256), Some(0));
        assert_eq!(space.take(256), Some(256));
        assert_eq!(space.take(256), Some(512));
        assert_eq!(space.take(512), None);
        space.give_back(0, 256);
        space.give_back(512, 256);
        assert_eq!(space.free, BTreeMap::from([(0, 256), (512, 512)]));
        assert_eq!(space.take(128), Some(0));
        space.give_back(256, 256);
        assert_eq!(space.free, BTreeMap::from([(128, 896)]));
        space.give_back(0, 128);
        assert_eq!(space.take(1024), Some(0));
    }
}
