//! The server's side: which blocks of its segment are registered.
//!
//! **A hole in registered memory.** The device has the addresses of the pinned pages. If the kernel took such a
//! page out of the file, the device would keep using it, and the agent see another one. So pinned memory is
//! zeroed by stores, and only the rest is given back to the system.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::RdmaError;
use crate::memory::atomic_words::WORD_BYTES;
use crate::memory::mapping::SharedMapping;
use crate::memory::segment::Registered;
use crate::verbs::device::{Device, Registration};
use crate::verbs::remote_keys::BLOCK_BYTES;
use crate::wire::conversation::lock;

/// The registered blocks of one segment. Belongs to the segment, which passes its mapping to every call, and
/// drops this before the mapping.
pub struct RegisteredBlocks {
    device: Arc<Device>,
    /// Held while a block is registered, and while a hole is made: a page must not be freed between its pinning
    /// and the moment that we know of it.
    blocks: Mutex<HashMap<u64, Registration>>,
}

impl RegisteredBlocks {
    /// None yet.
    pub fn new(device: &Arc<Device>) -> RegisteredBlocks {
        RegisteredBlocks { device: device.clone(), blocks: Mutex::default() }
    }

    /// Registers the block of `bytes` at `offset`, if it is not; returns its key. Offsets in the segment are the
    /// addresses that the other side uses.
    ///
    /// # Safety
    /// The range is inside of `mapping`, which is the same in every call, and outlives this value.
    unsafe fn register_block(
        &self,
        mapping: &SharedMapping,
        offset: u64,
        bytes: u64,
    ) -> Result<u32, RdmaError> {
        let block = offset / BLOCK_BYTES;
        let mut blocks = lock(&self.blocks);
        if let Some(registration) = blocks.get(&block) {
            return Ok(registration.remote_key());
        }
        let start = mapping.base().wrapping_add(offset as usize);
        // SAFETY: inside the mapping, which outlives the registration; agents use it by atomic accesses.
        let made = unsafe { self.device.register(start, bytes as usize, offset, true) }?;
        let key = made.remote_key();
        blocks.insert(block, made);
        Ok(key)
    }
}

impl Registered for RegisteredBlocks {
    unsafe fn register(
        &self,
        mapping: &SharedMapping,
        offset: u64,
        bytes: u64,
    ) -> Option<Result<u32, RdmaError>> {
        let rest = (mapping.bytes() as u64).checked_sub(offset).filter(|rest| *rest > 0)?;
        if !offset.is_multiple_of(BLOCK_BYTES) || bytes != rest.min(BLOCK_BYTES) {
            return None;
        }
        // SAFETY: just checked to be inside; the caller vouches for the rest.
        Some(unsafe { self.register_block(mapping, offset, bytes) })
    }

    fn punch(&self, mapping: &SharedMapping, offset: usize, bytes: usize) -> Result<(), RdmaError> {
        let blocks = lock(&self.blocks);
        let (mut at, end) = (offset, offset + bytes);
        while at < end {
            let block = at as u64 / BLOCK_BYTES;
            let next = end.min(((block + 1) * BLOCK_BYTES) as usize);
            if blocks.contains_key(&block) {
                let start = mapping.base().wrapping_add(at).cast::<u64>();
                // SAFETY: inside the mapping (the segment checked the range), aligned to a page; others access it
                // atomically.
                unsafe { zero_words(start, (next - at) / WORD_BYTES) };
            } else {
                mapping.punch(at, next - at)?;
            }
            at = next;
        }
        Ok(())
    }
}

/// Makes words zero one by one, each with one atomic store.
///
/// # Safety
/// As for the target of [`copy_words`](crate::copy_words).
unsafe fn zero_words(start: *mut u64, words: usize) {
    for i in 0..words {
        // SAFETY: i < words, and the caller vouches for that many aligned words.
        unsafe { AtomicU64::from_ptr(start.add(i)).store(0, Ordering::Relaxed) };
    }
}

/// Why this process, by its limit of locked memory, does not take a share of `share_bytes`; `None`: it does.
pub fn lock_refusal(share_bytes: u64) -> Option<String> {
    let allowed = raise_lock_limit()?;
    if allowed >= share_bytes + SLACK_BYTES || may_lock_all() {
        return None;
    }
    Some(format!(
        "verbs lock its share of the remote memory, {share_bytes} bytes, in memory, and its limit of locked memory \
         is {allowed} bytes (`ulimit -l`)"
    ))
}

/// Raises the limit on locked memory as far as this process may, and returns it, in bytes. `None`: the system does not
/// say.
pub fn raise_lock_limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one struct.
    if unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) } != 0 {
        return None;
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the kernel reads one struct.
    unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &limit) };
    Some(limit.rlim_max)
}

/// Whether limits on locked memory do not concern this process.
fn may_lock_all() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    bits.is_some_and(|bits| bits >> CAP_IPC_LOCK & 1 == 1)
}

/// Buffers, queues, and blocks at the borders of the memory that it owns.
const SLACK_BYTES: u64 = 16 << 20;
const CAP_IPC_LOCK: u32 = 14;
