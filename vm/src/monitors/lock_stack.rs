//! The objects that a thread has locked without a monitor, in the order in which it locked them.
//!
//! An object's header says only that it is locked; the thread that has the object here is the owner. An object that
//! its owner has entered more than once in a row is here as often. One that is entered again after another object
//! has been locked gets a monitor, so all places of an object are neighbours.

use gc::object::ObjectRef;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Changed by its thread, and by a collector that moves objects while the thread is stopped. Other threads may
/// search it ([`contains`](Self::contains)): what they find may be out of date, but each word is one that was there.
#[repr(C)]
pub struct LockStack {
    /// Bytes from the start of this struct to the first unused place: compiled code adds it to an address.
    top: AtomicU32,
    /// Below the first place, so that compiled code may look there when the stack is empty. Never an object.
    bottom: AtomicUsize,
    places: [AtomicUsize; PLACES],
}

impl LockStack {
    /// Byte offsets within the struct, for compiled code.
    pub const TOP_OFFSET: usize = offset_of!(LockStack, top);
    /// `top` when no place is left.
    pub const FULL: u32 = (FIRST + PLACES * PLACE_BYTES) as u32;
    pub const PLACE_BYTES: usize = PLACE_BYTES;

    fn used(&self) -> usize {
        (self.top.load(Ordering::Relaxed) as usize - FIRST) / PLACE_BYTES
    }

    fn set_used(&self, used: usize) {
        self.top.store((FIRST + used * PLACE_BYTES) as u32, Ordering::Relaxed);
    }

    fn place(&self, index: usize) -> ObjectRef {
        ObjectRef::from_address(self.places[index].load(Ordering::Relaxed))
    }

    #[inline]
    pub fn is_full(&self) -> bool {
        self.top.load(Ordering::Relaxed) == LockStack::FULL
    }

    pub fn is_empty(&self) -> bool {
        self.used() == 0
    }

    /// The object that was locked last, or null.
    #[inline]
    pub fn last(&self) -> ObjectRef {
        self.used().checked_sub(1).map_or(ObjectRef::NULL, |last| self.place(last))
    }

    /// The object that was locked before the last, or null.
    #[inline]
    pub fn last_but_one(&self) -> ObjectRef {
        self.used().checked_sub(2).map_or(ObjectRef::NULL, |at| self.place(at))
    }

    /// Gives up the last place, which there is. Own thread.
    #[inline]
    pub fn pop(&self) {
        self.set_used(self.used() - 1);
    }

    /// Own thread. Panics when the stack is full.
    #[inline]
    pub fn push(&self, object: ObjectRef) {
        let used = self.used();
        self.places[used].store(object.address(), Ordering::Relaxed);
        self.set_used(used + 1);
    }

    /// How many places `object` has. Own thread.
    pub fn count(&self, object: ObjectRef) -> u32 {
        (0..self.used()).filter(|index| self.place(*index) == object).count() as u32
    }

    /// Gives up the last place of `object`, which has one. Own thread.
    pub fn remove(&self, object: ObjectRef) {
        let used = self.used();
        let at = (0..used).rev().find(|index| self.place(*index) == object);
        let at =
            at.unwrap_or_else(|| panic!("{object:?} is not on the lock stack of {used} places"));
        for index in at..used - 1 {
            self.places[index].store(self.place(index + 1).address(), Ordering::Relaxed);
        }
        self.set_used(used - 1);
    }

    /// Gives up all places of `object`; returns their number. Own thread.
    pub fn remove_all(&self, object: ObjectRef) -> u32 {
        let used = self.used();
        let mut kept = 0;
        for index in 0..used {
            let place = self.place(index);
            if place != object {
                self.places[kept].store(place.address(), Ordering::Relaxed);
                kept += 1;
            }
        }
        self.set_used(kept);
        (used - kept) as u32
    }

    /// Whether `object` has a place. Any thread: see the struct.
    pub fn contains(&self, object: ObjectRef) -> bool {
        (0..self.used()).any(|index| self.place(index) == object)
    }

    /// All places, for a collector that moves objects. The thread is stopped.
    pub fn visit(&self, visit: &mut dyn FnMut(&mut ObjectRef)) {
        for index in 0..self.used() {
            let mut object = self.place(index);
            visit(&mut object);
            self.places[index].store(object.address(), Ordering::Relaxed);
        }
    }
}

impl Default for LockStack {
    fn default() -> Self {
        LockStack {
            top: AtomicU32::new(FIRST as u32),
            bottom: AtomicUsize::new(0),
            places: [const { AtomicUsize::new(0) }; PLACES],
        }
    }
}

/// Locks that a thread holds at a time without monitors. Programs rarely nest deeper.
const PLACES: usize = 12;
const PLACE_BYTES: usize = size_of::<AtomicUsize>();
const FIRST: usize = offset_of!(LockStack, places);
const _: () = assert!(FIRST == offset_of!(LockStack, bottom) + PLACE_BYTES);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_given_up_in_any_order() {
        let stack = LockStack::default();
        let [a, b, c] = [8, 16, 24].map(ObjectRef::from_address);
        assert!(stack.is_empty() && stack.last().is_null());
        for object in [a, a, b, c] {
            stack.push(object);
        }
        assert_eq!((stack.count(a), stack.count(b), stack.last()), (2, 1, c));
        stack.remove(b);
        assert!(!stack.contains(b) && stack.last() == c);
        stack.remove(a);
        assert_eq!((stack.count(a), stack.last()), (1, c));
        stack.push(c);
        assert_eq!(stack.remove_all(c), 2);
        assert_eq!((stack.remove_all(c), stack.last()), (0, a));
        stack.visit(&mut |object| *object = b);
        assert!(stack.contains(b) && !stack.contains(a));
        stack.remove(b);
        assert!(stack.is_empty());
        (0..PLACES).for_each(|_| stack.push(a));
        assert!(stack.is_full());
    }
}
