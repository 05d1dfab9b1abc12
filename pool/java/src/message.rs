//! Objects of the pool that Java sees by a buffer: messages of channels, and values of maps.

use crate::core::Core;
use crate::failure::Failure;
use crate::window::Pages;
use pool::Ref;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, MutexGuard};

/// An object with a buffer over its bytes. Any thread may use it; they take turns.
pub struct Message {
    held: Mutex<Option<Held>>,
    /// What a buffer of Java is over. It is unmapped with the message, when no such buffer is left.
    pages: Mutex<Option<Pages>>,
    address: *mut u8,
    length: usize,
    kind: Kind,
    /// Keeps the window.
    _core: Arc<Core>,
}

// SAFETY: the address is that of memory for buffers of Java, and used by them only.
unsafe impl Send for Message {}
// SAFETY: the same.
unsafe impl Sync for Message {}

/// What a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// To be written, and sent by the end that made it.
    Made,
    /// Received through a channel. It may be sent on.
    Received,
    /// The value of a map.
    Value,
}

/// The reference to the object of a message.
pub struct Held {
    /// Dropped by its owner only.
    reference: ManuallyDrop<Ref<'static>>,
    owner: Arc<dyn Owner>,
}

// SAFETY: the reference is its owner's client's, and used under the owner's lock.
unsafe impl Send for Held {}

/// What has the client that counts a message. It keeps the client until the reference is released.
pub trait Owner: Send + Sync {
    /// Releases a reference of its client. Waits for other operations of this client.
    fn release(&self, reference: Ref<'static>) -> Result<(), Failure>;
}

impl Held {
    pub fn new(reference: Ref<'static>, owner: Arc<dyn Owner>) -> Held {
        Held { reference: ManuallyDrop::new(reference), owner }
    }

    pub fn reference(&self) -> &Ref<'static> {
        &self.reference
    }

    /// Whether this is the owner.
    pub fn is_of<T>(&self, owner: &T) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.owner), owner)
    }

    pub fn release(mut self) -> Result<(), Failure> {
        // SAFETY: it is taken once, as `self` ends here.
        let reference = unsafe { ManuallyDrop::take(&mut self.reference) };
        self.owner.release(reference)
    }
}

impl Message {
    /// A message that is seen in the window of the pool.
    pub fn seen(
        held: Held,
        core: Arc<Core>,
        at: u64,
        length: usize,
        kind: Kind,
    ) -> Result<Message, Failure> {
        let address = match core.window().at(at, length as u64) {
            Ok(address) => address,
            Err(error) => {
                held.release()?;
                return Err(error.into());
            }
        };
        let (held, pages) = (Mutex::new(Some(held)), Mutex::new(None));
        Ok(Message { held, pages, address, length, kind, _core: core })
    }

    /// A message that is written in pages of its own.
    pub fn made(held: Held, core: Arc<Core>, pages: Pages, length: usize) -> Message {
        let address = pages.address();
        let (held, pages) = (Mutex::new(Some(held)), Mutex::new(Some(pages)));
        Message { held, pages, address, length, kind: Kind::Made, _core: core }
    }

    pub fn address(&self) -> *mut u8 {
        self.address
    }

    pub fn length(&self) -> usize {
        self.length
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The reference. `None`: it is released.
    pub fn held(&self) -> Result<MutexGuard<'_, Option<Held>>, Failure> {
        self.held.lock().map_err(|_| Failure::internal("a panic met this buffer"))
    }

    /// Takes the pool's memory away from a buffer that could write it.
    pub fn cut(&self) -> Result<(), Failure> {
        let pages = self.pages.lock();
        let mut pages = pages.map_err(|_| Failure::internal("a panic met this buffer"))?;
        pages.as_mut().map_or(Ok(()), Pages::cut)
    }

    /// Releases the memory: the pool's has gone from the addresses before, or cannot be written by them. May be called
    /// again.
    pub fn release(&self) -> Result<(), Failure> {
        let mut held = self.held()?;
        if held.is_some() {
            self.cut()?;
        }
        held.take().map_or(Ok(()), Held::release)
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        // If it fails, the memory is released when this process has ended.
        let _ = self.release();
    }
}
