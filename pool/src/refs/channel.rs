//! References through rings, exactly once.
//!
//! The words of a ring are references: those between its two counts are the consumer's, and no other word has one. A
//! send moves the reference from a root of the producer to a word of the ring, and then counts it; a receive moves it
//! from the word to a root of the consumer. The count of references to the object does not change. The step of the
//! client names both places, and the count. So recovery finishes a send or a receive that was begun, and the reference
//! is in one place.
//!
//! CXL-SHM (section 5.2) attaches a reference for the queue and another one for the receiver, and releases two: four
//! changes of the count for each one that is sent.

use super::client::RefClient;
use super::holder::Memory;
use super::reference::Ref;
use crate::PoolError;
use crate::ring::{Consumer, Producer, Ring};
use crate::sync::own;

/// The end of a ring that sends references. Dropping it lets another client have it.
pub struct RefSender<'c> {
    client: &'c RefClient<'c>,
    producer: Producer<'c>,
}

/// The end that receives references. Dropping it lets another client have it.
pub struct RefReceiver<'c> {
    client: &'c RefClient<'c>,
    consumer: Consumer<'c>,
}

impl<'a> RefClient<'a> {
    /// Makes the client the sender of a ring whose words are references only. `None`: another client is, or one that
    /// is dead and was not recovered.
    pub fn sender<'c>(&'c self, ring: &Ring<'c>) -> Option<RefSender<'c>> {
        let producer = ring.producer(self.client())?;
        Some(RefSender { client: self, producer })
    }

    /// Makes the client the receiver, as for [`RefClient::sender`]. It receives what its predecessors did not.
    pub fn receiver<'c>(&'c self, ring: &Ring<'c>) -> Option<RefReceiver<'c>> {
        let consumer = ring.consumer(self.client())?;
        Some(RefReceiver { client: self, consumer })
    }
}

impl<'c> RefSender<'c> {
    /// Sends a reference: afterwards it is the ring's. It is given back if the ring is full. If the client dies, the
    /// reference was sent, or it is released. Does not block. No atomic instruction, unless the reference has copies.
    pub fn send<'r>(&mut self, reference: Ref<'r>) -> Result<Result<(), Ref<'r>>, PoolError> {
        self.client.check(&reference)?;
        self.client.settled()?;
        if self.producer.room(1)? == 0 {
            return Ok(Err(reference));
        }
        if self.client.has_received.replace(false) {
            // It answers, or calls again: the other side waits for it.
            self.producer.prepare();
        }
        let (root, object) = if reference.is_single() {
            reference.into_root()
        } else {
            // Another root, as the copies stay.
            self.client.share(&reference)?.into_root()
        };
        let to = self.producer.slot(0);
        let count = (self.producer.count_at(), self.producer.sent() + 1);
        self.client.holder().transfer(object, [root, to], count)?;
        self.producer.has_sent(1);
        self.client.give_root(root);
        Ok(Ok(()))
    }

    /// Sends another reference to an object that any client of this process has counted: that client keeps its own.
    /// False: the ring is full. Does not block. One compare-and-swap.
    pub fn send_shared(&mut self, reference: &Ref) -> Result<bool, PoolError> {
        let [own, other] = [self.client, reference.client()].map(|client| client.heap().pool());
        if own.segment().name() != other.segment().name() {
            return Err(PoolError::OtherClient { object: reference.object() });
        }
        if self.producer.room(1)? == 0 {
            return Ok(false);
        }
        let shared = self.client.attach(reference.object())?;
        let shared = shared.ok_or_else(|| self.client.holder().damaged("a count", 0))?;
        Ok(self.send(shared)?.is_ok())
    }
}

impl<'c> RefReceiver<'c> {
    /// Receives a reference. `None`: there is none now. Does not block. No atomic instruction.
    pub fn receive(&mut self) -> Result<Option<Ref<'c>>, PoolError> {
        let client = self.client;
        client.settled()?;
        if self.consumer.ready(1)? == 0 {
            return Ok(None);
        }
        let from = self.consumer.slot(0);
        let object = own(client.holder().memory.cell(from)?);
        // Refuses what can be no object before a root has it.
        client.holder().memory.header(object)?;
        let root = client.take_root()?;
        let count = (self.consumer.count_at(), self.consumer.received() + 1);
        client.holder().transfer(object, [from, root], count)?;
        self.consumer.has_received(1);
        client.has_received.set(true);
        Ok(Some(Ref::new(client, root, object, 0)))
    }
}
