//! Ghost buffers: entries of other servers' objects that this agent met (section 3.4.2).
//!
//! At most one batch per peer is under way. It counts as *not empty* until the peer has
//! acknowledged it, and a peer acknowledges only after the entries are among its own roots; so at
//! every moment each entry is visible in the flags of at least one agent.

use super::protocol::ENTRIES_MAX;
use crate::hit::EntryIndex;

/// The ghost buffers of one agent, by peer.
pub struct Ghosts {
    buffers: Vec<Buffer>,
    /// A batch of fewer entries waits for more, as long as there is something else to do.
    batch_min: usize,
}

#[derive(Default)]
struct Buffer {
    waiting: Vec<EntryIndex>,
    is_under_way: bool,
}

impl Ghosts {
    /// Buffers for `servers` servers, of `batch_min` entries each.
    pub fn new(servers: usize, batch_min: usize) -> Ghosts {
        Ghosts { buffers: (0..servers).map(|_| Buffer::default()).collect(), batch_min }
    }

    #[inline]
    pub fn push(&mut self, server: usize, entry: EntryIndex) {
        self.buffers[server].waiting.push(entry);
    }

    /// The next batch for some peer, if one can be sent. Small batches are sent only when `eager`, that is
    /// when the agent has nothing else to do.
    pub fn next_batch(&mut self, eager: bool) -> Option<(usize, Vec<EntryIndex>)> {
        let least = if eager { 1 } else { self.batch_min };
        let ready = |b: &Buffer| !b.is_under_way && b.waiting.len() >= least;
        let peer = self.buffers.iter().position(ready)?;
        let buffer = &mut self.buffers[peer];
        buffer.is_under_way = true;
        let rest = buffer.waiting.len().saturating_sub(ENTRIES_MAX);
        Some((peer, buffer.waiting.split_off(rest)))
    }

    /// The peer has taken the batch that was under way. False when none was.
    pub fn acknowledge(&mut self, peer: usize) -> bool {
        self.buffers.get_mut(peer).is_some_and(|b| std::mem::take(&mut b.is_under_way))
    }

    /// Memory of the buffers.
    pub fn bytes(&self) -> usize {
        let waiting = |buffer: &Buffer| buffer.waiting.capacity() * size_of::<EntryIndex>();
        self.buffers.iter().map(waiting).sum()
    }

    /// Nothing waits, nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.buffers.iter().all(|b| b.waiting.is_empty() && !b.is_under_way)
    }
}
