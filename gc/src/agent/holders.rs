//! The holders of the classes of the objects that an agent has scanned in one cycle.
//!
//! The VM asks for them when tracing is over, and sends what they hold as further roots.

use crate::object::KlassId;
use crate::object::layout::HolderId;
use std::collections::HashSet;

/// See the module text.
pub struct SeenHolders {
    /// By the number's last bits, the one noted last: a shortcut for most objects.
    recent: [HolderId; RECENT],
    seen: HashSet<Seen>,
    /// Of these, those that the VM has not taken.
    untaken: Vec<Seen>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Seen {
    Holder(HolderId),
    /// A mirror stands for it. The VM knows its holder.
    Class(KlassId),
}

impl Default for SeenHolders {
    fn default() -> SeenHolders {
        let (seen, untaken) = (HashSet::new(), Vec::new());
        SeenHolders { recent: [HolderId::PERMANENT; RECENT], seen, untaken }
    }
}

impl SeenHolders {
    /// An object has a class of this holder.
    #[inline]
    pub fn note(&mut self, holder: HolderId) {
        if holder != HolderId::PERMANENT {
            let recent = &mut self.recent[holder.0 as usize % RECENT];
            if std::mem::replace(recent, holder) != holder {
                self.add(Seen::Holder(holder));
            }
        }
    }

    /// A mirror stands for a class, whose holder is known unless the class is newer than the layouts.
    pub fn note_mirrored(&mut self, klass: KlassId, holder: Option<HolderId>) {
        match holder {
            Some(holder) => self.note(holder),
            None => self.add(Seen::Class(klass)),
        }
    }

    fn add(&mut self, one: Seen) {
        if self.seen.insert(one) {
            self.untaken.push(one);
        }
    }

    /// At most `limit` of those that were not taken, and whether there are more.
    pub fn take(&mut self, limit: usize) -> (Vec<HolderId>, Vec<KlassId>, bool) {
        let rest = self.untaken.len().saturating_sub(limit);
        let (mut holders, mut classes) = (Vec::new(), Vec::new());
        for one in self.untaken.drain(rest..) {
            match one {
                Seen::Holder(holder) => holders.push(holder),
                Seen::Class(klass) => classes.push(klass),
            }
        }
        (holders, classes, !self.untaken.is_empty())
    }

    pub fn bytes(&self) -> usize {
        (self.seen.capacity() + self.untaken.capacity()) * size_of::<Seen>()
    }
}

const RECENT: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_taken_once_and_the_permanent_one_never() {
        let mut seen = SeenHolders::default();
        for id in [0, 4, 4, 5, 4 + RECENT as u32, 4, 0, 6] {
            seen.note(HolderId(id));
        }
        seen.note_mirrored(KlassId(9), None);
        seen.note_mirrored(KlassId(2), Some(HolderId(5)));
        let apart = HolderId(4 + RECENT as u32);
        let (some, classes, more) = seen.take(2);
        assert_eq!((some, classes, more), (vec![HolderId(6)], vec![KlassId(9)], true));
        let (rest, classes, more) = seen.take(2);
        assert_eq!((rest, classes, more), (vec![HolderId(5), apart], vec![], true));
        assert_eq!(seen.take(2), (vec![HolderId(4)], vec![], false));
        seen.note(HolderId(4));
        assert_eq!(seen.take(2), (vec![], vec![], false));
    }
}
