//! The memory of performance counters, version 2.0 (`perfMemory.hpp`), in the machine's byte order:
//!
//! ```text
//! prologue   ca fe c0 c0  u1 byte order (1: little-endian)  u1 2  u1 0  u1 accessible
//!            i4 bytes used  i4 bytes without room  i8 time of the last entry  i4 first entry  i4 entries
//! entry      i4 length  i4 offset of the name  i4 elements, 0: one number  u1 type  u1 1: supported  u1 units
//!            u1 variability  i4 offset of the data  name "\0"  data
//! ```
//!
//! Entries are aligned to 8 bytes, and so are numbers. An entry stays where it is, and what it counts.

use memmap2::MmapMut;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU8, Ordering};
use std::time::Instant;

/// Memory with counters; lives as long as the process.
pub struct Region {
    /// Address of the first byte; the memory is never given back.
    base: usize,
    bytes: usize,
    made: Instant,
    /// Where the next entry begins.
    end: Mutex<usize>,
}

/// What a counter counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Units {
    None = 1,
    Bytes = 2,
    Ticks = 3,
    Events = 4,
    Text = 5,
    Hertz = 6,
}

/// How a counter changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Variability {
    Constant = 1,
    Monotonic = 2,
    Variable = 3,
}

impl Region {
    /// Writes the prologue into zeroed memory, at least [`PROLOGUE_BYTES`] of it.
    pub fn new(map: MmapMut) -> Region {
        let map: &'static mut MmapMut = Box::leak(Box::new(map));
        let memory: &mut [u8] = map;
        assert!(memory.len() > PROLOGUE_BYTES, "{} bytes for performance counters", memory.len());
        memory[..4].copy_from_slice(&[0xca, 0xfe, 0xc0, 0xc0]);
        memory[4] = u8::from(cfg!(target_endian = "little"));
        memory[5] = 2;
        let region = Region {
            base: memory.as_mut_ptr() as usize,
            bytes: memory.len(),
            made: Instant::now(),
            end: Mutex::new(PROLOGUE_BYTES),
        };
        region.int(USED).store(PROLOGUE_BYTES as i32, Ordering::Relaxed);
        region.int(FIRST).store(PROLOGUE_BYTES as i32, Ordering::Relaxed);
        region
    }

    /// All of the memory.
    pub fn memory(&self) -> (*mut u8, usize) {
        (self.base as *mut u8, self.bytes)
    }

    /// Readers may look.
    pub fn open(&self) {
        // SAFETY: a byte of the prologue, in memory that is never given back.
        let accessible = unsafe { &*((self.base + ACCESSIBLE) as *const AtomicU8) };
        accessible.store(1, Ordering::Release);
    }

    /// A number. `None`: there is no room left.
    pub fn long(
        &self,
        name: &str,
        units: Units,
        variability: Variability,
        value: i64,
    ) -> Option<&'static AtomicI64> {
        let data = &value.to_ne_bytes();
        let at = self.add(name, b'J', units, variability, 0, data)?;
        // SAFETY: eight aligned bytes of this entry alone, in memory that is never given back.
        Some(unsafe { &*(at as *const AtomicI64) })
    }

    /// Bytes, of which `data` are the first: their address. `None`: there is no room left.
    pub fn bytes(
        &self,
        name: &str,
        units: Units,
        variability: Variability,
        data: &[u8],
    ) -> Option<*mut u8> {
        let at = self.add(name, b'B', units, variability, data.len(), data)?;
        Some(at as *mut u8)
    }

    /// A text that does not change.
    pub fn text(&self, name: &str, text: &str) {
        let data = [&text.as_bytes()[..floor(text, TEXT_BYTES_MAX)], b"\0"].concat();
        self.bytes(name, Units::Text, Variability::Constant, &data);
    }

    /// Address of the data of a new entry.
    fn add(
        &self,
        name: &str,
        kind: u8,
        units: Units,
        variability: Variability,
        elements: usize,
        data: &[u8],
    ) -> Option<usize> {
        let data_at = (ENTRY_BYTES + name.len() + 1).next_multiple_of(8);
        let length = (data_at + data.len()).next_multiple_of(8);
        let mut end = self.end.lock();
        let start = *end;
        if length > self.bytes - start {
            self.int(OVERFLOW).fetch_add(length as i32, Ordering::Relaxed);
            return None;
        }
        let mut entry = vec![0; length];
        let head = [length as i32, ENTRY_BYTES as i32, elements as i32];
        for (to, value) in entry.chunks_exact_mut(4).zip(head) {
            to.copy_from_slice(&value.to_ne_bytes());
        }
        entry[12..16].copy_from_slice(&[kind, SUPPORTED, units as u8, variability as u8]);
        entry[16..ENTRY_BYTES].copy_from_slice(&(data_at as i32).to_ne_bytes());
        entry[ENTRY_BYTES..][..name.len()].copy_from_slice(name.as_bytes());
        entry[data_at..][..data.len()].copy_from_slice(data);
        // SAFETY: inside the memory, behind all entries; the lock is held.
        unsafe {
            let to = (self.base + start) as *mut u8;
            std::ptr::copy_nonoverlapping(entry.as_ptr(), to, length);
        }
        *end += length;
        // SAFETY: as `int`, for a number of eight bytes.
        let changed = unsafe { &*((self.base + CHANGED) as *const AtomicI64) };
        changed.store(self.made.elapsed().as_nanos() as i64, Ordering::Relaxed);
        self.int(USED).store(*end as i32, Ordering::Relaxed);
        self.int(ENTRIES).fetch_add(1, Ordering::Release);
        Some(self.base + start + data_at)
    }

    /// A number of the prologue.
    fn int(&self, offset: usize) -> &AtomicI32 {
        // SAFETY: aligned, inside the prologue, in memory that is never given back.
        unsafe { &*((self.base + offset) as *const AtomicI32) }
    }
}

/// The longest part of a text that has at most `most` bytes.
fn floor(text: &str, most: usize) -> usize {
    (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0)
}

const ACCESSIBLE: usize = 7;
const USED: usize = 8;
const OVERFLOW: usize = 12;
const CHANGED: usize = 16;
const FIRST: usize = 24;
const ENTRIES: usize = 28;
const PROLOGUE_BYTES: usize = 32;
const ENTRY_BYTES: usize = 20;
const SUPPORTED: u8 = 1;
/// `PerfMaxStringConstLength`
const TEXT_BYTES_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn region(bytes: usize) -> Region {
        Region::new(MmapMut::map_anon(bytes).unwrap())
    }

    fn bytes_of(region: &Region) -> &[u8] {
        let (start, length) = region.memory();
        // SAFETY: the region's own memory.
        unsafe { std::slice::from_raw_parts(start, length) }
    }

    #[test]
    fn entries_follow_one_another() {
        let region = region(4096);
        let number = region.long("a.number", Units::Events, Variability::Monotonic, 7).unwrap();
        region.text("a.text", "hello");
        number.store(-9, Ordering::Relaxed);
        region.open();
        let bytes = bytes_of(&region);
        let int = |at: usize| i32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!((bytes[5], bytes[6], bytes[7], int(ENTRIES), int(OVERFLOW)), (2, 0, 1, 2, 0));
        let mut at = int(FIRST);
        let mut seen = Vec::new();
        for _ in 0..int(ENTRIES) {
            let entry = &bytes[at..at + int(at)];
            let name = entry[int(at + 4)..].split(|byte| *byte == 0).next().unwrap();
            let data = &entry[int(at + 16)..];
            seen.push((String::from_utf8_lossy(name).into_owned(), entry[12], int(at + 8)));
            match entry[12] {
                b'J' => assert_eq!(data[..8], (-9_i64).to_ne_bytes()),
                _ => assert_eq!(data[..6], *b"hello\0"),
            }
            at += entry.len();
        }
        assert_eq!(seen, [("a.number".into(), b'J', 0), ("a.text".into(), b'B', 6)]);
        assert_eq!(at, int(USED));
    }

    #[test]
    fn an_entry_without_room_is_counted_and_refused() {
        let region = region(4096);
        let mut entries = 0;
        let add = || region.long("x", Units::None, Variability::Variable, 0);
        while add().is_some() {
            entries += 1;
        }
        assert!(entries > 100);
        assert_eq!(region.int(ENTRIES).load(Ordering::Relaxed), entries);
        assert!(region.int(OVERFLOW).load(Ordering::Relaxed) > 0);
        // A text that is too long is cut between two characters.
        assert_eq!(floor(&"é".repeat(600), TEXT_BYTES_MAX - 1), TEXT_BYTES_MAX - 2);
    }
}
