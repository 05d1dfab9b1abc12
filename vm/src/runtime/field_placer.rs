//! Offsets of fields in objects and mirrors. Pure computation.
//!
//! The fields of a superclass stay where they are. A class places its own ones by falling size: in the gaps that
//! alignment left, its superclass's too, and behind. Static fields lie in the mirror behind the fields of
//! `java.lang.Class`, references first and together, because the collector finds them by start and count
//! ([`gc::object::layout::KlassLayout::Mirror`]).

use classfile::BasicType;

/// Places a class's fields in order of size. `types` as declared; the result has an offset for each.
#[derive(Clone, Debug)]
pub struct FieldPlacer {
    end: u32,
    /// Unused bytes before `end`: start and length.
    gaps: Vec<(u32, u32)>,
}

impl FieldPlacer {
    /// The first field begins at `end`. A subclass's fields are placed with a copy of its superclass's placer, so they
    /// fill its gaps.
    pub fn new(end: u32) -> FieldPlacer {
        FieldPlacer { end, gaps: Vec::new() }
    }

    /// Offsets of these fields, by falling size, in declaration order within one size.
    pub fn place(&mut self, types: &[BasicType], slot_bytes: u32) -> Vec<u32> {
        let size = |ty: &BasicType| ty.bytes().map_or(slot_bytes, |bytes| bytes as u32);
        let mut offsets = vec![0; types.len()];
        for wanted in [8, 4, 2, 1] {
            for (index, ty) in types.iter().enumerate().filter(|(_, ty)| size(ty) == wanted) {
                debug_assert!(*ty != BasicType::Void);
                offsets[index] = self.place_one(wanted);
            }
        }
        offsets
    }

    /// A place for `bytes` bytes, aligned to them.
    pub fn place_one(&mut self, bytes: u32) -> u32 {
        let fits = |&(start, length): &(u32, u32)| {
            let at = start.next_multiple_of(bytes);
            at + bytes <= start + length
        };
        if let Some(index) = self.gaps.iter().position(fits) {
            let (start, length) = self.gaps.swap_remove(index);
            let at = start.next_multiple_of(bytes);
            self.add_gap(start, at);
            self.add_gap(at + bytes, start + length);
            return at;
        }
        let at = self.end.next_multiple_of(bytes);
        self.add_gap(self.end, at);
        self.end = at + bytes;
        at
    }

    /// The end of the fields, not aligned.
    pub fn end(&self) -> u32 {
        self.end
    }

    fn add_gap(&mut self, start: u32, end: u32) {
        if start < end {
            self.gaps.push((start, end - start));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use BasicType::*;

    #[test]
    fn fills_the_gap_before_longs() {
        let mut placer = FieldPlacer::new(12);
        let offsets = placer.place(&[Byte, Long, Int, Object], 8);
        assert_eq!(offsets, [32, 16, 12, 24]);
        assert_eq!(placer.end(), 33);
    }

    #[test]
    fn four_byte_references_need_no_gap() {
        let mut placer = FieldPlacer::new(12);
        assert_eq!(placer.place(&[Object, Array], 4), [12, 16]);
        assert_eq!(placer.end(), 20);
    }

    #[test]
    fn a_subclass_fills_the_gaps_of_its_superclass() {
        let mut parent = FieldPlacer::new(8);
        assert_eq!(parent.place(&[Byte, Int], 4), [12, 8]);
        assert_eq!(parent.place(&[Long], 4), [16]);
        let mut child = parent.clone();
        assert_eq!(child.place(&[Short, Byte, Int], 4), [14, 13, 24]);
        assert_eq!((parent.end(), child.end()), (24, 28));
    }

    #[test]
    fn no_two_fields_overlap() {
        let all = [Boolean, Long, Short, Object, Byte, Double, Char, Int, Float, Array, Byte];
        for slot in [4, 8] {
            for start in 12..24 {
                let offsets = FieldPlacer::new(start).place(&all, slot);
                let mut used = [false; 128];
                for (ty, at) in all.iter().zip(&offsets) {
                    let bytes = ty.bytes().unwrap_or(slot as usize) as u32;
                    assert!(at % bytes == 0 && *at >= start);
                    for byte in *at..at + bytes {
                        assert!(!std::mem::replace(&mut used[byte as usize], true));
                    }
                }
            }
        }
    }
}
