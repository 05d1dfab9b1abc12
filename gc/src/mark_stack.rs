//! Objects whose slots wait to be scanned, in local memory.
//!
//! Depth-first order touches far memory at random: nearly every object is a fault. So over far memory there is
//! one stack for each region, and a region is scanned until nothing in it is pending; then comes the one with
//! most pending objects. Each visit pays for a region's pages once. Local memory has one stack.

use crate::geometry::Geometry;
use crate::object::ObjectRef;

/// See the module text. Grows with what is pending, at most one word for each live object.
pub struct MarkStack {
    geometry: Geometry,
    stacks: Vec<Vec<ObjectRef>>,
    current: usize,
}

impl MarkStack {
    pub fn new(geometry: Geometry, is_far: bool) -> MarkStack {
        let stacks = if is_far { geometry.regions } else { 1 };
        MarkStack { geometry, stacks: vec![Vec::new(); stacks], current: 0 }
    }

    #[inline]
    pub fn push(&mut self, object: ObjectRef) {
        let index = match self.stacks.len() {
            1 => 0,
            _ => self.geometry.region_of(object).index(),
        };
        self.stacks[index].push(object);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_pushed_is_popped_region_by_region() {
        let geometry = Geometry { base: 1 << 30, ..Geometry::choose(1 << 20, None).unwrap() };
        let mut stack = MarkStack::new(geometry, true);
        let object = |i: usize| ObjectRef::from_address(geometry.base + i * 16);
        let far = (1 << 18) / 16;
        (0..10).for_each(|i| stack.push(object(i)));
        (0..5).for_each(|i| stack.push(object(far + i)));
        let popped: Vec<_> = std::iter::from_fn(|| stack.pop()).collect();
        let expected: Vec<_> = (0..10).rev().chain((far..far + 5).rev()).map(object).collect();
        assert_eq!(popped, expected);
    }
}
