//! Names of objects, which all clients know.
//!
//! A name is a shared cell that refers to an object with the name and a reference to what is named. Cells are taken in
//! order, and keep their name: so two clients that give the same name at a time come to the same cell.

use super::client::{NAMES, RefClient};
use super::reader::Reader;
use super::reference::Ref;
use crate::PoolError;
use crate::detect::{Marked, Word};
use crate::sync::{Ordering, own};

/// The cell of a name, as a reader found it.
enum Place {
    /// It has the name.
    Named(u64, Marked),
    /// The first one without a name.
    Empty(u64, Marked),
    /// All have other names.
    None,
}

impl<'a> RefClient<'a> {
    /// Bytes of a name at most.
    pub const NAME_MAX: usize = 255;

    /// Names that a layer has at most. A name that was forgotten keeps its place.
    pub const NAMES_MAX: usize = NAMES as usize;

    /// Gives an object a name, and returns a counted reference to what has the name now: that object, or another one
    /// that was given the name before. The name keeps the object until it is forgotten, also when all clients have
    /// ended. Any number of clients may do this at a time. Lock-free.
    pub fn name(&self, name: &[u8], object: &Ref) -> Result<Ref<'_>, PoolError> {
        self.check(object)?;
        let mut new = [Some(self.named_object(name, Some(object))?), None];
        loop {
            let reader = self.read()?;
            let (at, seen) = match self.place(&reader, name)? {
                Place::None => return Err(PoolError::Names { max: NAMES }),
                Place::Empty(at, seen) => (at, seen),
                Place::Named(at, seen) => match self.target(&reader, seen.value)? {
                    Some(found) => return Ok(found),
                    None => (at, seen),
                },
            };
            let value = new[0].as_ref().map_or(0, Ref::object);
            let swapped = self.swap((at, seen, value), &mut new, [seen.value, 0], (0, [0; 2]))?;
            if swapped.is_ok() {
                return self.share(object);
            }
        }
    }

    /// A counted reference to the object of this name. `None`: there is none. Lock-free.
    pub fn named(&self, name: &[u8]) -> Result<Option<Ref<'_>>, PoolError> {
        check(name)?;
        let reader = self.read()?;
        match self.place(&reader, name)? {
            Place::Named(_, seen) => self.target(&reader, seen.value),
            _ => Ok(None),
        }
    }

    /// Takes the name away from this object. False: it is not the object's.
    pub fn forget(&self, name: &[u8], object: &Ref) -> Result<bool, PoolError> {
        self.check(object)?;
        let mut new = [Some(self.named_object(name, None)?), None];
        loop {
            let reader = self.read()?;
            let Place::Named(at, seen) = self.place(&reader, name)? else { return Ok(false) };
            let target = reader.peek(seen.value).follow(0)?;
            if target.is_none_or(|target| target.object() != object.object()) {
                return Ok(false);
            }
            let value = new[0].as_ref().map_or(0, Ref::object);
            if self.swap((at, seen, value), &mut new, [seen.value, 0], (0, [0; 2]))?.is_ok() {
                drop(reader);
                self.unlinked(0)?;
                return Ok(true);
            }
        }
    }

    /// The names that objects have now.
    pub fn names(&self) -> Result<Vec<Vec<u8>>, PoolError> {
        let (reader, mut names) = (self.read()?, Vec::new());
        for word in self.name_cells()? {
            let object = reader.value(word)?;
            if object == 0 {
                break;
            }
            let peek = reader.peek(object);
            if peek.follow(0)?.is_some() {
                names.push(self.name_of(object)?);
            }
        }
        Ok(names)
    }

    fn name_cells(&self) -> Result<&'a [Word], PoolError> {
        self.heap().pool().words(self.names_at(), NAMES as usize)
    }

    /// An object with a name, for a cell. One without a target may be larger than it needs to be: in a full heap there
    /// are blocks of other sizes, perhaps, as when all entries of a map were removed just now.
    fn named_object(&self, name: &[u8], target: Option<&Ref>) -> Result<Ref<'_>, PoolError> {
        check(name)?;
        let mut bytes = 1 + name.len() as u64;
        let object = loop {
            match self.alloc_open(bytes, 1) {
                Err(PoolError::NoMemory { .. }) if target.is_none() && bytes < LARGEST => {
                    bytes = (bytes + bytes / 4).next_multiple_of(16) + 16;
                }
                made => break made?,
            }
        };
        let bytes: Vec<u8> =
            std::iter::once(name.len() as u8).chain(name.iter().copied()).collect();
        for (word, chunk) in object.data()?.iter().zip(bytes.chunks(8)) {
            let mut padded = [0; 8];
            padded[..chunk.len()].copy_from_slice(chunk);
            word.store(u64::from_le_bytes(padded), Ordering::Relaxed);
        }
        self.set(&object, 0, target)?;
        Ok(object)
    }

    fn name_of(&self, object: u64) -> Result<Vec<u8>, PoolError> {
        let words = self.data(object)?.iter().take((RefClient::NAME_MAX + 1) / 8);
        let bytes: Vec<u8> = words.flat_map(|word| own(word).to_le_bytes()).collect();
        let (length, name) = bytes.split_first().ok_or(PoolError::Kind { object })?;
        let name = name.get(..usize::from(*length)).ok_or(PoolError::Kind { object })?;
        Ok(name.to_vec())
    }

    fn place(&self, reader: &Reader, name: &[u8]) -> Result<Place, PoolError> {
        for (n, word) in self.name_cells()?.iter().enumerate() {
            let (at, seen) = (self.names_at() + 16 * n as u64, reader.marked(word)?);
            if seen.value == 0 {
                return Ok(Place::Empty(at, seen));
            }
            if self.name_of(seen.value)? == name {
                return Ok(Place::Named(at, seen));
            }
        }
        Ok(Place::None)
    }

    /// What an object with a name refers to, counted.
    fn target(&self, reader: &Reader, object: u64) -> Result<Option<Ref<'_>>, PoolError> {
        let target = reader.peek(object).follow(0)?;
        match target {
            // The reader keeps the object, which has the reference.
            Some(target) => self.attach(target.object()),
            None => Ok(None),
        }
    }
}

/// Bytes that a name without a target takes at most.
const LARGEST: u64 = 1 << 20;

fn check(name: &[u8]) -> Result<(), PoolError> {
    let (bytes, max) = (name.len() as u64, RefClient::NAME_MAX as u64);
    if bytes <= max { Ok(()) } else { Err(PoolError::Key { bytes, max }) }
}
