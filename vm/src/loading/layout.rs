//! Offsets of fields in objects and mirrors. Pure computation.
//!
//! Fields of a superclass come first and never move. A class places its own fields by falling size after
//! them and fills the gaps that alignment leaves with smaller ones. Static fields lie in the mirror behind
//! the fields of `java.lang.Class`, references first and together, because the collector finds them by
//! start and count ([`gc::object::layout::KlassLayout::Mirror`]).

use classfile::BasicType;

/// Places a class's fields in order of size. `types` as declared; the result has an offset for each.
pub struct FieldPlacer {
    end: u32,
    /// Unused bytes before `end`: start and length.
    gaps: Vec<(u32, u32)>,
}

impl FieldPlacer {
    /// `end` is where the superclass's fields end.
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

/// Fields that the VM adds to classes of the library, invisible to Java: class, name, type.
pub const INJECTED: &[(&str, &str, BasicType)] = &[
    ("java/lang/Class", "klass_id", BasicType::Int),
    ("java/lang/Class", "mirror_bytes", BasicType::Int),
    ("java/lang/Class", "static_refs", BasicType::Int),
    ("java/lang/Class", "protection_domain", BasicType::Object),
    ("java/lang/Class", "signers", BasicType::Array),
    ("java/lang/Class", "source", BasicType::Object),
    ("java/lang/ClassLoader", "loader_id", BasicType::Int),
    ("java/lang/Module", "module_id", BasicType::Int),
    ("java/lang/invoke/MemberName", "vmindex", BasicType::Long),
    ("java/lang/invoke/ResolvedMethodName", "vmholder", BasicType::Object),
    ("java/lang/invoke/ResolvedMethodName", "vmtarget", BasicType::Long),
    ("java/lang/StackFrameInfo", "version", BasicType::Short),
];

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
