//! Lists of slabs that one client has. No other client sees them; its recoverer finds them half changed.

use super::arena::Owner;
use super::holding::{Link, List, Step};
use super::slab::{Links, Local};
use crate::PoolError;
use crate::crash::crash_point;
use crate::sync::{AtomicU64, own, put};

impl<'a> Owner<'a> {
    /// The client's list of slabs of the class; `class` is one more, and 0 for none.
    pub(super) fn list(&self, class: u64) -> Result<&'a AtomicU64, PoolError> {
        let holding = self.holding;
        let list = match class {
            0 => Some(&holding.empty),
            _ => holding.sized.get(class as usize - 1),
        };
        list.ok_or_else(|| self.damaged("the class of a slab", class))
    }

    /// Puts a slab that is in no list in front of this one. May be repeated: then the slab may be there already.
    pub(super) fn push(&self, list: &AtomicU64, number: u32) -> Result<(), PoolError> {
        let slab = self.slab(number)?;
        let begin = List::from_bits(own(list));
        if begin.first() != number + 1 {
            put(&slab.next, begin.first().into());
            crash_point!("alloc.push_begun");
            put(&slab.prev, 0);
            crash_point!("alloc.push_linked");
            if begin.first() != 0 {
                put(&self.slab(begin.first() - 1)?.prev, u64::from(number) + 1);
                crash_point!("alloc.push_joined");
            }
            put(list, begin.pushed(number).bits());
            crash_point!("alloc.pushed");
        }
        let local = Local::from_bits(own(&slab.local));
        put(&slab.local, local.listed(true).bits());
        crash_point!("alloc.listed");
        Ok(())
    }

    /// Takes a slab out of this list. May be repeated while the slab has the same links.
    pub(super) fn unlink(&self, list: &AtomicU64, number: u32) -> Result<(), PoolError> {
        let slab = self.slab(number)?;
        let local = Local::from_bits(own(&slab.local));
        if !local.is_listed() {
            return Ok(());
        }
        let begin = List::from_bits(own(list));
        let [prev, next] = [&slab.prev, &slab.next].map(|link| own(link) as Link);
        if next != 0 {
            put(&self.slab(next - 1)?.prev, prev.into());
            crash_point!("alloc.unlink_next");
        }
        if prev != 0 {
            put(&self.slab(prev - 1)?.next, next.into());
            crash_point!("alloc.unlink_prev");
            put(list, begin.popped(begin.first()).bits());
        } else if begin.first() == number + 1 {
            put(list, begin.popped(next).bits());
        }
        crash_point!("alloc.unlinked");
        put(&slab.local, local.listed(false).bits());
        crash_point!("alloc.unlisted");
        Ok(())
    }

    /// Puts a slab without used blocks into the list of empty ones.
    #[cold]
    pub(super) fn retire(&self, number: u32) -> Result<(), PoolError> {
        put(&self.holding.step, Step::Retire { slab: number }.bits());
        crash_point!("alloc.retire_begun");
        self.finish_retire(number)
    }

    /// The step `Retire` is open. Above its limit, the client gives an empty slab to the heap.
    pub(super) fn finish_retire(&self, number: u32) -> Result<(), PoolError> {
        let slab = self.slab(number)?;
        let local = Local::from_bits(own(&slab.local));
        if local.class() != 0 {
            self.unlink(self.list(local.class())?, number)?;
            self.note_links(number, local)?;
            put(&self.remote(number)?.class, 0);
            crash_point!("alloc.retire_unclassed");
            put(&slab.local, Local::of_class(0).bits());
            crash_point!("alloc.retired");
        }
        self.push(&self.holding.empty, number)?;
        self.close();
        let empty = List::from_bits(own(&self.holding.empty));
        if empty.count() > self.arena.limits.empty && empty.first() != 0 {
            self.release(empty.first() - 1)?;
        }
        Ok(())
    }

    /// Gives a class to the first slab of the list of empty ones.
    pub(super) fn take(&self, number: u32, class: usize) -> Result<(), PoolError> {
        put(&self.holding.step, Step::Take { slab: number, class: class as u32 }.bits());
        crash_point!("alloc.take_begun");
        self.finish_take(number, class)
    }

    /// The step `Take` is open.
    pub(super) fn finish_take(&self, number: u32, class: usize) -> Result<(), PoolError> {
        let slab = self.slab(number)?;
        let list = self.list(class as u64 + 1)?;
        let empty = List::from_bits(own(&self.holding.empty));
        if empty.first() == number + 1 {
            let next = own(&slab.next) as Link;
            if next != 0 {
                put(&self.slab(next - 1)?.prev, 0);
                crash_point!("alloc.take_joined");
            }
            put(&self.holding.empty, empty.popped(next).bits());
            crash_point!("alloc.take_popped");
        }
        if Links::from_bits(own(&slab.links)).class != class as u64 + 1 {
            self.write_links_back(number)?;
        }
        put(&self.remote(number)?.class, class as u64 + 1);
        crash_point!("alloc.take_classed");
        put(&slab.local, Local::of_class(class as u64 + 1).bits());
        crash_point!("alloc.take_sized");
        self.push(list, number)?;
        self.close();
        Ok(())
    }
}
