//! What a client writes back and drops, where the caches of the hosts are not coherent.
//!
//! Memory that several hosts share may be coherent in a small part only ([`Coherence::Limited`]). Then a host sees what
//! another one wrote only if the writer has written the line of its cache back *before* it says so in a coherent word,
//! and the reader has dropped its old copy *after* it read that word. So a line has one user at a time, and the words
//! that say whose it is are coherent ones. What is in which part is said at [`super::heap::Heap`].
//!
//! | line | who uses it | written back before | dropped after |
//! |---|---|---|---|
//! | a slab as its owner knows it ([`super::slab::Slab`]) | the owner | it is detached or released | it is taken |
//! | links of free blocks in the owner's list | the owner | the slab is released or gets another class | it is taken |
//! | the link in a block that others free | who frees it, then the owner | the change that lists it | it is collected |
//! | what a client does ([`super::holding::Holding`]) | the client | the identity is free | it is leased |
//! | what is in a block (`Allocator::flush`) | the program | another client has the block | the same |
//!
//! Blocks are whole lines, so no line has parts of two blocks.
//!
//! A client that dies leaves its host and the host's caches behind: what it has not written back is seen by a
//! recoverer on that host, and by no other. Recovery writes back what it leaves.
//!
//! This is the protocol of cxlalloc (ASPLOS 2026), section 3.2.2, for slabs whose free blocks are linked. There the
//! owner of a slab is in memory that is not coherent, and a stale owner is proven harmless; here it is in the coherent
//! word, and nothing stale is ever read.

use super::arena::Owner;
use super::slab::{Links, Local};
use crate::PoolError;
use crate::crash::crash_point;
use crate::flaw::flawed;
use crate::sync::{own, put};
use std::arch::x86_64::{__cpuid_count, _mm_clflush, _mm_mfence};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which memory of a heap the hardware keeps coherent between the caches of all that use it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coherence {
    /// All of it: processes of one host, or of hosts whose devices keep it coherent.
    Full,
    /// The part before [`Heap::coherent_bytes`](super::heap::Heap::coherent_bytes).
    Limited,
}

/// What a process did to keep its caches right.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Flushes {
    /// Lines that were written back and dropped.
    pub lines: u64,
    /// Fences after them.
    pub fences: u64,
}

/// Bytes of a line of a cache.
pub(super) const LINE_BYTES: u64 = 64;

#[derive(Default)]
struct Counts {
    lines: AtomicU64,
    fences: AtomicU64,
}

/// The caches of this host, as far as a heap needs to know of them. Any thread may use it.
#[derive(Clone)]
pub(super) struct Caches {
    coherence: Coherence,
    /// Whether lines can be flushed without waiting for each.
    is_optimized: bool,
    counts: Arc<Counts>,
}

impl Caches {
    pub(super) fn new(coherence: Coherence) -> Caches {
        // Structured extended features: bit 23 of EBX.
        let is_optimized =
            coherence == Coherence::Limited && __cpuid_count(7, 0).ebx >> 23 & 1 == 1;
        Caches { coherence, is_optimized, counts: Arc::default() }
    }

    #[inline(always)]
    pub(super) fn coherence(&self) -> Coherence {
        self.coherence
    }

    #[inline(always)]
    pub(super) fn are_coherent(&self) -> bool {
        self.coherence == Coherence::Full
    }

    /// Writes the lines of a range back and drops them. It takes effect at the next [`Caches::fence`].
    pub(super) fn flush(&self, first: *const u8, bytes: u64) {
        #[cfg(all(test, not(loom)))]
        crate::private_caches::flush(first as usize, bytes as usize);
        let begin = first as u64 & !(LINE_BYTES - 1);
        let lines = (first as u64 + bytes - begin).div_ceil(LINE_BYTES);
        for line in (0..lines).map(|n| (begin + n * LINE_BYTES) as *const u8) {
            // SAFETY: an instruction of every x86-64, or one that the CPU has said it has. It changes no memory that
            // anybody could see, whatever the address is, and a line of which a byte is mapped is mapped.
            unsafe {
                if self.is_optimized {
                    std::arch::asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags));
                } else {
                    _mm_clflush(line);
                }
            }
        }
        self.counts.lines.fetch_add(lines, Ordering::Relaxed);
    }

    /// The same for a value, and a fence; nothing if all caches are coherent.
    pub(super) fn flush_value<T>(&self, value: &T) {
        if !self.are_coherent() {
            self.flush(std::ptr::from_ref(value).cast(), size_of::<T>() as u64);
            self.fence();
        }
    }

    /// What was flushed is in memory before anything that this thread stores from now on, and what it loads from now on
    /// is read after that.
    pub(super) fn fence(&self) {
        // SAFETY: an instruction of every x86-64.
        unsafe { _mm_mfence() };
        self.counts.fences.fetch_add(1, Ordering::Relaxed);
    }

    /// What this process has done so far.
    pub(super) fn flushes(&self) -> Flushes {
        let [lines, fences] =
            [&self.counts.lines, &self.counts.fences].map(|count| count.load(Ordering::Relaxed));
        Flushes { lines, fences }
    }
}

impl Owner<'_> {
    /// Before the client gives up a slab: others see what it knows of it.
    pub(super) fn write_slab_back(&self, number: u32) -> Result<(), PoolError> {
        if !flawed!(self.arena, KeptSlab) {
            self.arena.caches.flush_value(self.slab(number)?);
        }
        Ok(())
    }

    /// Before the client forgets the list of free blocks of a slab of its own: where its cache has links.
    pub(super) fn note_links(&self, number: u32, local: Local) -> Result<(), PoolError> {
        if !self.arena.caches.are_coherent() {
            let noted = &self.slab(number)?.links;
            put(noted, Links::from_bits(own(noted)).with(local).bits());
            crash_point!("caches.links_noted");
        }
        Ok(())
    }

    /// Before the client gives up a slab, or has blocks of another class in it: no link stays in its cache, where it
    /// would replace what comes there later.
    pub(super) fn write_links_back(&self, number: u32) -> Result<(), PoolError> {
        if self.arena.caches.are_coherent() || flawed!(self.arena, KeptLinks) {
            return Ok(());
        }
        let noted = &self.slab(number)?.links;
        let Links { class, count } = Links::from_bits(own(noted));
        if count == 0 {
            return Ok(());
        }
        let of = self.arena.classes.get((class as usize).wrapping_sub(1));
        let of = of.ok_or_else(|| self.damaged("the class of a slab", class))?;
        for block in 0..count.min(of.blocks) {
            let offset = self.arena.offset(number, block * (of.bytes / 8) as u32);
            if let Some(word) = self.arena.memory.word(offset) {
                self.arena.caches.flush(std::ptr::from_ref(word).cast(), 8);
            }
        }
        self.arena.caches.fence();
        put(noted, 0);
        crash_point!("caches.links_written");
        Ok(())
    }

    /// Before the client lists a block for the owner of its slab.
    pub(super) fn write_link_back(&self, offset: u64) {
        if !flawed!(self.arena, KeptLink) {
            self.flush_link(offset);
        }
    }

    /// After the client has taken a slab: what others knew of it, and the links that they have written.
    pub(super) fn refresh_slab(&self, number: u32) -> Result<(), PoolError> {
        let slab = self.slab(number)?;
        if !flawed!(self.arena, OldSlab) {
            self.arena.caches.flush_value(slab);
        }
        self.refresh_list(number, Local::from_bits(own(&slab.local)))
    }

    /// After the client has got a list of free blocks: the links that others have written.
    pub(super) fn refresh_list(&self, number: u32, local: Local) -> Result<(), PoolError> {
        if self.arena.caches.are_coherent() || flawed!(self.arena, OldLinks) {
            return Ok(());
        }
        let (mut next, mut left) = (local.head(), local.virgin().saturating_sub(local.used()));
        while next != 0 && left > 0 {
            let offset = self.arena.offset(number, next - 1);
            self.flush_link(offset);
            let link = self.link(number, offset);
            next = link.ok_or_else(|| self.damaged("a free block", offset))?;
            left -= 1;
        }
        Ok(())
    }

    /// Before the identity is free.
    pub(super) fn write_holding_back(&self) {
        if !flawed!(self.arena, KeptHolding) {
            self.flush_holding();
        }
    }

    /// After the identity was leased.
    pub(super) fn refresh_holding(&self) {
        if !flawed!(self.arena, OldHolding) {
            self.flush_holding();
        }
    }

    fn flush_holding(&self) {
        self.arena.caches.flush_value(self.holding);
    }

    fn flush_link(&self, offset: u64) {
        if let Some(word) = self.arena.memory.word(offset) {
            self.arena.caches.flush_value(word);
        }
    }
}
