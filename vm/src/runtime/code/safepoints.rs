//! The calls of a body at which a collection, a stack walk or an exception may meet its frame.
//!
//! There are many, and most are never met. So each takes 16 bytes and its part of lists that all share.

use crate::runtime::MethodRef;

/// Those of one body.
pub struct Safepoints {
    /// Sorted by `return_offset`.
    points: Box<[Point]>,
    roots: Box<[u16]>,
    /// Index of the method, and bci.
    places: Box<[(u16, u16)]>,
    locks: Box<[(u16, u16)]>,
    methods: Box<[MethodRef]>,
}

/// Where a safepoint's parts of the lists end; they begin where those of the one before end.
struct Point {
    return_offset: u32,
    roots: u32,
    places: u32,
    locks: u32,
}

/// A safepoint before it is packed.
pub struct NewSafepoint {
    /// Of the instruction behind the call, from the start of the code.
    pub return_offset: u32,
    /// Live root slots.
    pub roots: Vec<u16>,
    /// The methods that the frame stands for: the compiled method first, then those inlined into it.
    pub places: Vec<Place>,
    /// Objects that are locked: root slot, and which of `places` holds it, outermost lock first.
    pub locks: Vec<(u16, u16)>,
}

/// One of a body's. See [`NewSafepoint`].
#[derive(Clone, Copy)]
pub struct Safepoint<'b> {
    roots: &'b [u16],
    places: &'b [(u16, u16)],
    locks: &'b [(u16, u16)],
    methods: &'b [MethodRef],
}

/// A place in a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub method: MethodRef,
    pub bci: u16,
}

impl Safepoints {
    pub fn pack(mut new: Vec<NewSafepoint>) -> Safepoints {
        new.sort_by_key(|safepoint| safepoint.return_offset);
        let (mut points, mut methods) = (Vec::new(), Vec::new());
        let (mut roots, mut places, mut locks) = (Vec::new(), Vec::new(), Vec::new());
        for safepoint in new {
            roots.extend(safepoint.roots);
            locks.extend(safepoint.locks);
            let index = |place: &Place| (index_of(&mut methods, place.method), place.bci);
            places.extend(safepoint.places.iter().map(index));
            points.push(Point {
                return_offset: safepoint.return_offset,
                roots: roots.len() as u32,
                places: places.len() as u32,
                locks: locks.len() as u32,
            });
        }
        Safepoints {
            points: points.into(),
            roots: roots.into(),
            places: places.into(),
            locks: locks.into(),
            methods: methods.into(),
        }
    }

    /// The call that returns to this offset. Async-signal-safe.
    pub fn at(&self, return_offset: u32) -> Option<Safepoint<'_>> {
        let found = self.points.binary_search_by_key(&return_offset, |point| point.return_offset);
        let index = found.ok()?;
        let end = &self.points[index];
        let start = match index {
            0 => &Point { return_offset: 0, roots: 0, places: 0, locks: 0 },
            _ => &self.points[index - 1],
        };
        Some(Safepoint {
            roots: &self.roots[start.roots as usize..end.roots as usize],
            places: &self.places[start.places as usize..end.places as usize],
            locks: &self.locks[start.locks as usize..end.locks as usize],
            methods: &self.methods,
        })
    }
}

impl<'b> Safepoint<'b> {
    pub fn roots(self) -> &'b [u16] {
        self.roots
    }

    pub fn locks(self) -> &'b [(u16, u16)] {
        self.locks
    }

    /// The methods that the frame stands for, outermost first: none at a side exit.
    pub fn places(
        self,
    ) -> impl ExactSizeIterator<Item = Place> + DoubleEndedIterator<Item = Place> + use<'b> {
        let methods = self.methods;
        let place = |&(method, bci): &(u16, u16)| Place { method: methods[method as usize], bci };
        self.places.iter().map(place)
    }
}

/// The index of a method in a table of those that a body names.
pub fn index_of(methods: &mut Vec<MethodRef>, method: MethodRef) -> u16 {
    let known = methods.iter().rposition(|known| std::ptr::eq(*known, method));
    let index = known.unwrap_or_else(|| {
        methods.push(method);
        methods.len() - 1
    });
    u16::try_from(index).expect("fewer methods than bytes of bytecode")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_by_offset() {
        let new = |return_offset, roots: &[u16], locks: &[(u16, u16)]| NewSafepoint {
            return_offset,
            roots: roots.to_vec(),
            places: Vec::new(),
            locks: locks.to_vec(),
        };
        let packed = Safepoints::pack(vec![
            new(40, &[3], &[(3, 0), (1, 1)]),
            new(8, &[1, 2], &[]),
            new(20, &[], &[]),
        ]);
        let found = |offset| packed.at(offset).map(|found| (found.roots(), found.locks().len()));
        let expected: [Option<(&[u16], usize)>; 4] =
            [Some((&[1, 2], 0)), Some((&[], 0)), Some((&[3], 2)), None];
        assert_eq!([8, 20, 40, 21].map(found), expected);
    }
}
