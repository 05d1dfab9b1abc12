//! A channel over two rings in shared memory.
//!
//! The receiving thread takes frames from the incoming ring. When nothing arrives it looks every 100 ms whether the
//! control socket still has a peer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::memory::mapping::SharedMapping;
use crate::shm::ring::{Consumer, PEER_CHECK_INTERVAL, Producer, RING_SHARED_BYTES, wake_consumer};
use crate::wire::control_socket::ControlSocket;
use crate::wire::conversation::{Conversation, lock};
use crate::wire::frame::{Frame, FrameKind};
use crate::wire::frame_channel::{FrameChannel, FrameTransport, Unsent};
use crate::wire::opening::Side;
use crate::{PeerId, RdmaError};

/// The parts that one end of a channel is made from.
pub struct Endpoint {
    pub socket: ControlSocket,
    pub rings: Arc<SharedMapping>,
    pub side: Side,
}

impl Endpoint {
    /// Bytes of shared memory that a channel needs.
    pub const SHARED_BYTES: usize = 2 * RING_SHARED_BYTES;

    /// The memory of a new channel.
    pub fn new_rings() -> Result<Arc<SharedMapping>, RdmaError> {
        SharedMapping::create(c"farheap-rings", Endpoint::SHARED_BYTES).map(Arc::new)
    }

    /// Both ends of a new channel.
    pub fn pair() -> Result<(Endpoint, Endpoint), RdmaError> {
        let (first, second) = ControlSocket::pair()?;
        let rings = Endpoint::new_rings()?;
        Ok((
            Endpoint { socket: first, rings: rings.clone(), side: Side::First },
            Endpoint { socket: second, rings, side: Side::Second },
        ))
    }
}

/// One end of a channel over shared memory.
pub type ShmChannel = FrameChannel<RingPair>;

/// The rings of one end.
pub struct RingPair {
    socket: ControlSocket,
    outgoing: Mutex<Producer>,
    rings: Arc<SharedMapping>,
    /// Where in `rings` the ring that we read begins.
    incoming: usize,
}

impl ShmChannel {
    /// Prepares an end, as [`FrameChannel::new`].
    pub fn open(peer: PeerId, endpoint: Endpoint) -> ShmChannel {
        let Endpoint { socket, rings, side } = endpoint;
        let (outgoing, incoming) = match side {
            Side::First => (0, RING_SHARED_BYTES),
            Side::Second => (RING_SHARED_BYTES, 0),
        };
        let consumer = Consumer::new(rings.clone(), incoming);
        let outgoing = Mutex::new(Producer::new(rings.clone(), outgoing));
        FrameChannel::new(peer, RingPair { socket, outgoing, rings, incoming }, consumer)
    }
}

impl FrameTransport for RingPair {
    type Incoming = Consumer;

    /// The segment is mapped memory, which outlives the server's end.
    const ENDS_SEGMENT: bool = false;

    fn send(
        &self,
        kind: FrameKind,
        call: u64,
        payload: &[u8],
        timeout: Duration,
        conversation: &Conversation,
    ) -> Result<(), Unsent> {
        let go_on = || conversation.is_open();
        let sent = lock(&self.outgoing).push(kind, call, payload, timeout, go_on);
        match sent {
            true => Ok(()),
            false if !go_on() => Err(Unsent::Lost),
            false => Err(Unsent::Late),
        }
    }

    fn receive(
        &self,
        consumer: &mut Consumer,
        conversation: &Conversation,
    ) -> Result<Option<Frame>, &'static str> {
        loop {
            // Looked at before the ring, so that the last messages of a dying peer are still delivered.
            let closed = self.socket.is_closed();
            let wait = if closed { Duration::ZERO } else { PEER_CHECK_INTERVAL };
            match consumer.pop(wait)? {
                None if !closed && !conversation.is_closing() => {}
                frame => return Ok(frame),
            }
        }
    }

    fn shutdown(&self) {
        self.socket.shutdown();
        wake_consumer(&self.rings, self.incoming);
    }

    /// As soon as the control socket ends, also while the service is busy.
    fn wait_closed(&self, _conversation: &Conversation) {
        self.socket.wait_closed();
    }
}
