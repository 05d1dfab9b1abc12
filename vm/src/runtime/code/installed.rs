//! Compiled code in its place.

use super::body::Body;
use super::safepoints::Safepoint;
use std::sync::atomic::AtomicPtr;

/// A body whose code is in the cache.
pub struct Installed {
    pub body: Body,
    /// Its own number, as `-XX:+PrintCompilation` shows it.
    pub id: u32,
    /// Address of the first instruction.
    pub start: usize,
    /// Of code.
    pub bytes: usize,
    /// The next one in the method's list of bodies entered at loops.
    pub next: AtomicPtr<Installed>,
}

impl Installed {
    pub fn end(&self) -> usize {
        self.start + self.bytes
    }

    /// Whether a call in the code returns to this address; a call may be the last instruction.
    pub fn contains(&self, return_address: usize) -> bool {
        self.start < return_address && return_address <= self.end()
    }

    /// The description of the call that returns to `pc`.
    pub fn safepoint(&self, pc: usize) -> Safepoint<'_> {
        let offset = (pc - self.start) as u32;
        let found = self.body.safepoints.at(offset);
        found.unwrap_or_else(|| panic!("no safepoint at {offset} of {:?}", self.body.method))
    }
}
