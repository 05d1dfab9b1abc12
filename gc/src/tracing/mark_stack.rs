//! Objects whose slots wait to be scanned, in local memory.
//!
//! Depth-first order touches far memory at random: nearly every object is a fault. So over far memory there is
//! one stack for each zone, a region or, where regions are small, some neighbours; and a zone is scanned until
//! nothing in it is pending; then comes the one with most pending objects. Each visit pays for a zone's pages once.
//! Local memory is one zone, and so is all memory with `-XX:-TraceInZones`.

use crate::object::ObjectRef;
use crate::object::geometry::Geometry;

/// See the module text. Grows with the number of pending objects, at most one word for each live object.
pub struct MarkStack {
    zones: Zones,
    stacks: Vec<Vec<ObjectRef>>,
    current: usize,
}

impl MarkStack {
    pub fn new(zones: Zones) -> MarkStack {
        MarkStack { zones, stacks: vec![Vec::new(); zones.count()], current: 0 }
    }

    #[inline]
    pub fn push(&mut self, object: ObjectRef) {
        self.stacks[self.zones.of(object)].push(object);
    }

    pub fn push_all(&mut self, objects: impl IntoIterator<Item = ObjectRef>) {
        objects.into_iter().for_each(|object| self.push(object));
    }

    #[inline]
    pub fn pop(&mut self) -> Option<ObjectRef> {
        self.stacks[self.current].pop().or_else(|| self.pop_elsewhere())
    }

    /// Moves up to `count` objects of one region to `batch`; whether there were any.
    pub fn pop_batch(&mut self, count: usize, batch: &mut Vec<ObjectRef>) -> bool {
        if self.stacks[self.current].is_empty() {
            self.turn_to_largest();
        }
        let stack = &mut self.stacks[self.current];
        let rest = stack.len().saturating_sub(count);
        let any = !stack.is_empty();
        batch.extend(stack.drain(rest..));
        any
    }

    fn turn_to_largest(&mut self) {
        let largest = (0..self.stacks.len()).max_by_key(|i| self.stacks[*i].len());
        self.current = largest.expect("there is at least one stack");
    }

    fn pop_elsewhere(&mut self) -> Option<ObjectRef> {
        self.turn_to_largest();
        self.stacks[self.current].pop()
    }
}

/// The parts of the heap that are traced one after the other.
#[derive(Clone, Copy)]
pub struct Zones {
    geometry: Geometry,
    shift: u32,
}

impl Zones {
    /// Of far memory.
    pub fn new(geometry: Geometry) -> Zones {
        let wish = (geometry.heap_bytes() / ZONES_WISHED).next_power_of_two();
        let shift = wish.trailing_zeros().min(ZONE_SHIFT_MAX).max(geometry.region_shift);
        Zones { geometry, shift }
    }

    /// All of the heap is one.
    pub fn one(geometry: Geometry) -> Zones {
        Zones { geometry, shift: usize::BITS - 1 }
    }

    pub fn count(&self) -> usize {
        ((self.geometry.heap_bytes() - 1) >> self.shift) + 1
    }

    #[inline]
    pub fn of(&self, object: ObjectRef) -> usize {
        self.geometry.offset(object.address()) >> self.shift
    }
}

const ZONES_WISHED: usize = 64;
/// Larger ones, of 16 MiB, would be more than is wanted in local memory at once.
const ZONE_SHIFT_MAX: u32 = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_regions_are_traced_together() {
        let of = |heap, region| {
            let geometry = Geometry::choose(heap, Some(region)).unwrap();
            Zones::new(Geometry { base: 1 << 40, ..geometry }).count()
        };
        assert_eq!(of(256 << 20, 256 << 10), 64);
        assert_eq!(of(256 << 20, 16 << 20), 16);
        assert_eq!(of(32 << 30, 8 << 20), 2048);
        assert_eq!(of(3 << 20, 1 << 20), 3);
    }

    #[test]
    fn everything_that_is_pushed_is_popped_region_by_region() {
        let geometry = Geometry { base: 1 << 30, ..Geometry::choose(1 << 20, None).unwrap() };
        let mut stack = MarkStack::new(Zones::new(geometry));
        let object = |i: usize| ObjectRef::from_address(geometry.base + i * 16);
        let far = (1 << 18) / 16;
        (0..10).for_each(|i| stack.push(object(i)));
        (0..5).for_each(|i| stack.push(object(far + i)));
        assert!(stack.stacks.len() > 1);
        assert_eq!(MarkStack::new(Zones::one(geometry)).stacks.len(), 1);
        let popped: Vec<_> = std::iter::from_fn(|| stack.pop()).collect();
        let expected: Vec<_> = (0..10).rev().chain((far..far + 5).rev()).map(object).collect();
        assert_eq!(popped, expected);
    }
}
