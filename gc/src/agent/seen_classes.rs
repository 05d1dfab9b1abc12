//! The classes that can be unloaded of the objects that an agent has scanned in one cycle, and those that mirrors
//! stand for.
//!
//! The VM asks for them when tracing is over: what holds them is alive, and it sends what that holds as further roots.
//! It is the VM that knows what holds a class, since another class may get the id of one that is gone.

use crate::object::KlassId;
use std::collections::HashSet;

/// See the module text.
pub struct SeenClasses {
    /// By the id's last bits, the one noted last: a shortcut for most objects.
    recent: [KlassId; RECENT],
    seen: HashSet<KlassId>,
    /// Of these, those that the VM has not taken.
    untaken: Vec<KlassId>,
}

impl Default for SeenClasses {
    fn default() -> SeenClasses {
        let (seen, untaken) = (HashSet::new(), Vec::new());
        // No class has the id 0.
        SeenClasses { recent: [KlassId(0); RECENT], seen, untaken }
    }
}

impl SeenClasses {
    /// A class that can be unloaded, or may be one.
    #[inline]
    pub fn note(&mut self, klass: KlassId) {
        let recent = &mut self.recent[klass.0 as usize % RECENT];
        if std::mem::replace(recent, klass) != klass && self.seen.insert(klass) {
            self.untaken.push(klass);
        }
    }

    /// At most `limit` of those that were not taken, and whether there are more.
    pub fn take(&mut self, limit: usize) -> (Vec<KlassId>, bool) {
        let rest = self.untaken.len().saturating_sub(limit);
        let taken = self.untaken.split_off(rest);
        (taken, !self.untaken.is_empty())
    }

    pub fn bytes(&self) -> usize {
        (self.seen.capacity() + self.untaken.capacity()) * size_of::<KlassId>()
    }
}

/// A power of two.
const RECENT: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_taken_once() {
        let mut seen = SeenClasses::default();
        for id in [4, 4, 5, 4, 68, 4, 6] {
            seen.note(KlassId(id));
        }
        assert_eq!(seen.take(2), (vec![KlassId(68), KlassId(6)], true));
        assert_eq!(seen.take(2), (vec![KlassId(4), KlassId(5)], false));
        seen.note(KlassId(4));
        assert_eq!(seen.take(2), (vec![], false));
    }
}
