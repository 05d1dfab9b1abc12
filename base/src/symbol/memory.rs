//! Memory of names: small pieces of chunks, which are used again by names of about the same length.

use rustc_hash::FxHashMap;
use std::ptr::NonNull;

/// A name in memory: its length in two bytes, its bytes, a NUL. Lengths of class files fit (JVMS 4.4.7); longer ones
/// have [`LONG`] there and eight bytes more.
#[derive(Default)]
pub(super) struct NameMemory {
    /// What is left of the last chunk.
    rest: &'static mut [u8],
    /// Free pieces, by their length in units.
    free: FxHashMap<usize, Vec<Piece>>,
}

/// The start of a name that nobody reads.
struct Piece(NonNull<u8>);

// SAFETY: a piece is memory that belongs to the one who has the piece.
unsafe impl Send for Piece {}
// SAFETY: as above; a shared reference to a piece gives no access to the memory.
unsafe impl Sync for Piece {}

impl NameMemory {
    /// A copy of the bytes with a NUL behind it: the start of the name.
    pub fn store(&mut self, bytes: &[u8]) -> NonNull<u8> {
        let head = Head::of(bytes.len());
        let units = head.units();
        let reused = self.free.get_mut(&units).and_then(Vec::pop);
        let start = reused.map_or_else(|| self.carve(units * UNIT), |piece| piece.0);
        // SAFETY: the piece has room for the head, the bytes and the NUL, by `units`, and is ours alone.
        unsafe {
            head.write(start);
            let text = start.add(head.bytes());
            text.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
            text.add(bytes.len()).write(0);
        }
        start
    }

    /// Takes back the memory of a name. It is overwritten: one who still reads it shall not find what was there.
    ///
    /// # Safety
    /// `store` gave the start, it was not given back since, and nobody reads the name any more.
    pub unsafe fn give_back(&mut self, start: NonNull<u8>) {
        // SAFETY: the contract: a name is there, and is ours alone now.
        let units = unsafe {
            let head = Head::read(start);
            start.add(head.bytes()).write_bytes(POISON, head.length);
            head.units()
        };
        self.free.entry(units).or_default().push(Piece(start));
    }

    fn carve(&mut self, needed: usize) -> NonNull<u8> {
        if self.rest.len() < needed {
            self.rest = vec![0; needed.max(CHUNK)].leak();
        }
        let (piece, rest) = std::mem::take(&mut self.rest).split_at_mut(needed);
        self.rest = rest;
        NonNull::from(piece).cast()
    }
}

/// The bytes of the name that begins there.
///
/// # Safety
/// [`NameMemory::store`] gave the start, and it is not given back while the result is in use.
#[inline]
pub(super) unsafe fn bytes<'a>(start: NonNull<u8>) -> &'a [u8] {
    // SAFETY: the contract: a name with its head is there, and does not change.
    unsafe {
        let head = Head::read(start);
        std::slice::from_raw_parts(start.add(head.bytes()).as_ptr(), head.length)
    }
}

/// What stands before the bytes.
#[derive(Clone, Copy)]
struct Head {
    length: usize,
}

impl Head {
    fn of(length: usize) -> Head {
        Head { length }
    }

    fn is_long(self) -> bool {
        self.length >= usize::from(LONG)
    }

    /// Bytes of the head itself.
    fn bytes(self) -> usize {
        if self.is_long() { SHORT_HEAD + size_of::<usize>() } else { SHORT_HEAD }
    }

    /// What a name with this head takes.
    fn units(self) -> usize {
        (self.bytes() + self.length + 1).div_ceil(UNIT)
    }

    /// # Safety
    /// There is room for it.
    unsafe fn write(self, start: NonNull<u8>) {
        // SAFETY: the contract.
        unsafe {
            if self.is_long() {
                start.cast().write_unaligned(LONG);
                start.add(SHORT_HEAD).cast().write_unaligned(self.length);
            } else {
                start.cast().write_unaligned(self.length as u16);
            }
        }
    }

    /// # Safety
    /// `write` was called there.
    #[inline]
    unsafe fn read(start: NonNull<u8>) -> Head {
        // SAFETY: the contract.
        unsafe {
            match start.cast().read_unaligned() {
                LONG => Head::of(start.add(SHORT_HEAD).cast().read_unaligned()),
                length => Head::of(length.into()),
            }
        }
    }
}

/// Stands for a length that does not fit.
const LONG: u16 = u16::MAX;
const SHORT_HEAD: usize = size_of::<u16>();
/// Lengths of pieces are multiples of this.
const UNIT: usize = 8;
/// Bytes that are taken from the allocator at a time.
const CHUNK: usize = 1 << 16;
const POISON: u8 = b'?';
