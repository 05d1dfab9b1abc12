//! Looking at objects without counting them.

use super::client::RefClient;
use super::holder::Memory;
use super::reference::Ref;
use crate::PoolError;
use crate::crash::is_dead;
use crate::detect::{Marked, Word};
use crate::sync::AtomicU64;

/// While it lives, no object is freed that is found through it (hazard eras, section 5.4). Nor is any other that lived
/// in an era from the one in which the client began to look, with this reader or another one, to that of its last load.
/// Objects that were made in later eras, or died in earlier ones, are freed all the same: so a reader that hangs keeps
/// only what lived with it. One that loads for a long time keeps all that dies meanwhile: it should end soon. Loading a
/// reference is three loads, two of them of words of the layer; in a new era also one store and a fence.
pub struct Reader<'c> {
    client: &'c RefClient<'c>,
}

/// An object that a reader looks at. It may have lost its last reference meanwhile; its memory is whole.
#[derive(Clone, Copy)]
pub struct Peek<'r, 'c> {
    reader: &'r Reader<'c>,
    object: u64,
}

impl<'c> Reader<'c> {
    /// For a client that is this one.
    #[inline(always)]
    pub(crate) fn check(&self, client: &RefClient) -> Result<(), PoolError> {
        let own = std::ptr::from_ref(self.client).cast::<()>();
        if std::ptr::eq(own, std::ptr::from_ref(client).cast()) {
            Ok(())
        } else {
            Err(PoolError::OtherClient { object: 0 })
        }
    }

    /// The client.
    pub(crate) fn client(&self) -> &'c RefClient<'c> {
        self.client
    }

    /// Loads a shared cell: what it refers to is not freed while the reader lives.
    #[inline(always)]
    pub(crate) fn value(&self, word: &Word) -> Result<u64, PoolError> {
        self.client.holder().look_by(|| word.value())
    }

    /// The same with the tag of its last change.
    #[inline(always)]
    pub(crate) fn marked(&self, word: &Word) -> Result<Marked, PoolError> {
        self.client.holder().look_by(|| word.load())
    }

    /// An object that was found in a shared cell by this reader.
    pub(super) fn peek(&self, object: u64) -> Peek<'_, 'c> {
        Peek { reader: self, object }
    }

    #[inline]
    pub(super) fn new(client: &'c RefClient<'_>) -> Result<Reader<'c>, PoolError> {
        if client.looking.get() == 0 {
            client.holder().begin_looking()?;
        }
        client.looking.set(client.looking.get() + 1);
        Ok(Reader { client })
    }

    /// Looks at an object that the client counts. The reference must be the same client's.
    pub fn of<'r>(&'r self, object: &'r Ref) -> Result<Peek<'r, 'c>, PoolError> {
        self.client.check(object)?;
        Ok(Peek { reader: self, object: object.object() })
    }

    /// Looks at what a persistent root refers to. `None`: nothing.
    pub fn persistent(&self, n: u64) -> Result<Option<Peek<'_, 'c>>, PoolError> {
        self.load(self.client.persistent(n)?)
    }

    /// Begins anew: what was replaced before may be freed. Nothing that was looked at before may be used any more. It
    /// does nothing while the client has another reader.
    pub fn renew(&mut self) -> Result<(), PoolError> {
        if self.client.looking.get() == 1 {
            self.client.holder().renew_looking()?;
        }
        Ok(())
    }

    fn load(&self, cell: u64) -> Result<Option<Peek<'_, 'c>>, PoolError> {
        let object = self.client.holder().look(cell)?;
        Ok((object != 0).then_some(Peek { reader: self, object }))
    }
}

impl Drop for Reader<'_> {
    #[inline]
    fn drop(&mut self) {
        if is_dead() {
            return;
        }
        self.client.looking.set(self.client.looking.get() - 1);
        if self.client.looking.get() == 0 {
            self.client.holder().end_looking();
        }
    }
}

impl<'r, 'c> Peek<'r, 'c> {
    /// Where the object is.
    pub fn object(&self) -> u64 {
        self.object
    }

    /// Looks at what the n-th embedded reference refers to now. `None`: nothing.
    pub fn follow(&self, n: u32) -> Result<Option<Peek<'r, 'c>>, PoolError> {
        let client = self.reader.client;
        let count = client.embedded(self.object)?;
        if u64::from(n) >= count {
            return Err(PoolError::NoReference { index: n.into(), count });
        }
        self.reader.load(client.holder().memory.embedded(self.object, n.into()))
    }

    /// The words of the object behind its references.
    pub fn data(&self) -> Result<&'r [AtomicU64], PoolError> {
        self.reader.client.data(self.object)
    }

    /// Counts the object. `None`: it has lost its last reference.
    pub fn share(&self) -> Result<Option<Ref<'c>>, PoolError> {
        self.reader.client.attach(self.object)
    }
}
