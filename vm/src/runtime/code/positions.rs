//! Which instruction of which method each part of a body was made from: for the fault profile, which asks for
//! addresses at which there is no call. Bodies have it only while there is a profile.

use super::safepoints::{Place, index_of};
use crate::runtime::MethodRef;

/// Those of one body.
pub struct Positions {
    /// Where a part of the code begins, and its node. Sorted; a part ends where the next one begins.
    parts: Box<[(u32, u32)]>,
    nodes: Box<[Node]>,
    methods: Box<[MethodRef]>,
}

/// An instruction, and the call that it was inlined into.
#[derive(Clone, Copy)]
struct Node {
    /// [`NONE`] in the outermost method.
    outer: u32,
    method: u16,
    bci: u16,
}

/// Collects positions while a method is translated.
#[derive(Default)]
pub struct NewPositions {
    nodes: Vec<Node>,
    methods: Vec<MethodRef>,
}

impl NewPositions {
    /// The number of an instruction; `outer` is that of the call that it was inlined into.
    pub fn add(&mut self, outer: Option<u32>, method: MethodRef, bci: u16) -> u32 {
        let method = index_of(&mut self.methods, method);
        self.nodes.push(Node { outer: outer.unwrap_or(NONE), method, bci });
        self.nodes.len() as u32 - 1
    }

    /// With the parts of the code, in order: begin, end, and number of the instruction.
    pub fn pack(self, located: impl Iterator<Item = (u32, u32, u32)>) -> Positions {
        let mut parts: Vec<(u32, u32)> = Vec::new();
        let mut end_before = 0;
        for (start, end, node) in located {
            if start > end_before {
                parts.push((end_before, NONE));
            }
            parts.push((start, node));
            end_before = end;
        }
        parts.push((end_before, NONE));
        parts.dedup_by_key(|part| part.1);
        let (nodes, methods) = (self.nodes.into(), self.methods.into());
        Positions { parts: parts.into(), nodes, methods }
    }
}

impl Positions {
    /// The places that the instruction at an offset stands for, innermost first; none where it is not known.
    pub fn at(&self, offset: u32) -> impl Iterator<Item = Place> {
        let behind = self.parts.partition_point(|(start, _)| *start <= offset);
        let mut next = behind.checked_sub(1).map_or(NONE, |index| self.parts[index].1);
        std::iter::from_fn(move || {
            let node = *self.nodes.get(next as usize)?;
            next = node.outer;
            Some(Place { method: self.methods[node.method as usize], bci: node.bci })
        })
    }
}

const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_by_offset_with_what_they_are_inlined_into() {
        // The methods are not looked at.
        let node = |outer, bci| Node { outer, method: 0, bci };
        let new = NewPositions {
            nodes: vec![node(NONE, 4), node(0, 1), node(1, 9), node(NONE, 7)],
            methods: Vec::new(),
        };
        let located = [(8, 16, 0), (16, 20, 2), (20, 24, 2), (30, 40, 3)];
        let packed = new.pack(located.into_iter());
        assert_eq!(packed.parts.len(), 6, "parts of one instruction are one");
        let chain = |offset: u32| {
            let behind = packed.parts.partition_point(|(start, _)| *start <= offset);
            let mut bcis = Vec::new();
            let mut next = packed.parts[behind - 1].1;
            while let Some(node) = packed.nodes.get(next as usize) {
                bcis.push(node.bci);
                next = node.outer;
            }
            bcis
        };
        for (offset, bcis) in [
            (0, &[][..]),
            (8, &[4]),
            (15, &[4]),
            (16, &[9, 1, 4]),
            (23, &[9, 1, 4]),
            (24, &[]),
            (39, &[7]),
            (40, &[]),
        ] {
            assert_eq!(chain(offset), bcis, "{offset}");
        }
    }
}
