//! Names of objects, which all clients know.

use super::client::RefClient;
use super::reference::Ref;
use crate::PoolError;

impl RefClient<'_> {
    /// Bytes of a name at most.
    pub const NAME_MAX: usize = 255;

    /// Names that a layer has at most. A name that was forgotten keeps its place.
    pub const NAMES_MAX: usize = 64;

    /// Gives an object a name, and returns a counted reference to what has the name now: that object, or another one
    /// that was given the name before. The name keeps the object until it is forgotten, also when all clients have
    /// ended. Any number of clients may do this at a time. Lock-free.
    pub fn name(&self, name: &[u8], object: &Ref) -> Result<Ref<'_>, PoolError> {
        let _ = (name, object);
        todo!()
    }

    /// A counted reference to the object of this name. `None`: there is none. Lock-free.
    pub fn named(&self, name: &[u8]) -> Result<Option<Ref<'_>>, PoolError> {
        let _ = name;
        todo!()
    }

    /// Takes the name away from this object. False: it is not the object's.
    pub fn forget(&self, name: &[u8], object: &Ref) -> Result<bool, PoolError> {
        let _ = (name, object);
        todo!()
    }

    /// The names that objects have now.
    pub fn names(&self) -> Result<Vec<Vec<u8>>, PoolError> {
        todo!()
    }
}
