//! A channel over two rings in shared memory.
//!
//! Each end has one receiving thread. It takes frames from the incoming ring; requests and notices
//! are handed to the service, replies to the call that waits for them. When nothing arrives it
//! looks every 100 ms whether the control socket still has a peer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::memory::mapping::SharedMapping;
use crate::shm::ring::{Consumer, PEER_CHECK_INTERVAL, Producer, RING_SHARED_BYTES, wake_consumer};
use crate::wire::channel::Service;
use crate::wire::control_socket::ControlSocket;
use crate::wire::conversation::{Connection, Conversation, Transmit, lock};
use crate::wire::frame::FrameKind;
use crate::wire::opening::Side;
use crate::wire::receiving_thread::ReceivingThread;
use crate::{PeerId, RdmaError};

/// The parts that one end of a channel is made from; nothing is received before
/// [`ShmChannel::open`] and [`ShmChannel::start`].
pub struct Endpoint {
    pub socket: ControlSocket,
    pub rings: Arc<SharedMapping>,
    pub side: Side,
}

impl Endpoint {
    /// Bytes of shared memory that a channel needs.
    pub const SHARED_BYTES: usize = 2 * RING_SHARED_BYTES;

    /// Both ends of a new channel.
    pub fn pair() -> Result<(Endpoint, Endpoint), RdmaError> {
        let (first, second) = ControlSocket::pair()?;
        let rings = Arc::new(SharedMapping::create(c"farheap-rings", Endpoint::SHARED_BYTES)?);
        Ok((
            Endpoint { socket: first, rings: rings.clone(), side: Side::First },
            Endpoint { socket: second, rings, side: Side::Second },
        ))
    }
}

/// One end of a channel. Dropping it closes the channel; the other end sees a lost peer.
pub struct ShmChannel {
    shared: Arc<Shared>,
    /// Until the channel is started.
    consumer: Mutex<Option<Consumer>>,
    receiver: ReceivingThread,
}

impl ShmChannel {
    /// Prepares an end. It can send at once; it receives after [`ShmChannel::start`].
    pub fn open(peer: PeerId, endpoint: Endpoint) -> ShmChannel {
        let (outgoing, incoming) = match endpoint.side {
            Side::First => (0, RING_SHARED_BYTES),
            Side::Second => (RING_SHARED_BYTES, 0),
        };
        let shared = Shared {
            conversation: Conversation::new(peer),
            socket: endpoint.socket,
            outgoing: Mutex::new(Producer::new(endpoint.rings.clone(), outgoing)),
            rings: endpoint.rings.clone(),
            incoming,
        };
        let consumer = Mutex::new(Some(Consumer::new(endpoint.rings, incoming)));
        ShmChannel { shared: Arc::new(shared), consumer, receiver: ReceivingThread::default() }
    }
}

impl Transmit for ShmChannel {
    fn conversation(&self) -> &Conversation {
        &self.shared.conversation
    }

    fn push(
        &self,
        kind: FrameKind,
        call: u64,
        payload: &[u8],
        timeout: Duration,
    ) -> Result<(), RdmaError> {
        self.shared.push(kind, call, payload, timeout)
    }
}

impl Connection for ShmChannel {
    fn start(&self, service: Arc<dyn Service>) -> Result<(), RdmaError> {
        let consumer = lock(&self.consumer).take().expect("a channel is started once");
        let shared = self.shared.clone();
        let peer = shared.conversation.peer;
        self.receiver.start(peer, move || shared.receive(consumer, &*service))
    }

    fn close(&self) {
        self.shared.conversation.close();
        self.shared.socket.shutdown();
        wake_consumer(&self.shared.rings, self.shared.incoming);
    }

    fn wait_closed(&self) {
        self.shared.socket.wait_closed();
    }
}

impl Drop for ShmChannel {
    fn drop(&mut self) {
        self.close();
        self.receiver.join();
    }
}

/// The state that the receiving thread and the callers share.
struct Shared {
    conversation: Conversation,
    socket: ControlSocket,
    outgoing: Mutex<Producer>,
    rings: Arc<SharedMapping>,
    /// Where in `rings` the ring that we read begins.
    incoming: usize,
}

impl Shared {
    fn push(
        &self,
        kind: FrameKind,
        call: u64,
        payload: &[u8],
        timeout: Duration,
    ) -> Result<(), RdmaError> {
        self.conversation.check(payload)?;
        let peer = self.conversation.peer;
        let go_on = || self.conversation.is_open();
        let sent = lock(&self.outgoing).push(kind, call, payload, timeout, go_on);
        match sent {
            true => Ok(()),
            false if !go_on() => Err(RdmaError::PeerLost(peer)),
            false => Err(RdmaError::Deadline { peer, after: timeout }),
        }
    }

    /// The receiving thread.
    fn receive(&self, mut consumer: Consumer, service: &dyn Service) {
        let (conversation, peer) = (&self.conversation, self.conversation.peer);
        let push: &dyn Fn(_, _, &[u8], _) -> _ =
            &|kind, call, payload, timeout| self.push(kind, call, payload, timeout);
        let lost = loop {
            // Looked at before the ring, so that the last messages of a dying peer are still delivered.
            let closed = self.socket.is_closed();
            let wait = if closed { Duration::ZERO } else { PEER_CHECK_INTERVAL };
            let handled = match consumer.pop(wait) {
                Ok(Some(frame)) => conversation.dispatch(frame, service, push),
                Ok(None) if closed => break RdmaError::PeerLost(peer),
                Ok(None) => Ok(()),
                Err(what) => Err(what),
            };
            if let Err(what) = handled {
                break RdmaError::Malformed { peer, what };
            }
            if conversation.is_closing() {
                break RdmaError::PeerLost(peer);
            }
        };
        // A session whose VM wrote nonsense ends with its channel, as over TCP.
        self.socket.shutdown();
        conversation.end(&lost, service);
    }
}
