//! A channel of frames: the part that is the same over every transport.
//!
//! A transport supplies [`FrameTransport`]: how one frame is sent, how the next one is received, and how the
//! connection ends. The rest is in this file: limits and errors of sending, the receiving thread, and the end of a
//! channel. Calls and their replies are in `conversation.rs`.
//!
//! Each end has one receiving thread. It takes one frame after the other: requests and notices are handed to the
//! service, replies to the call that waits for them. It ends with the connection, with a frame that no correct peer
//! sends, or when this end is closed; then the other end sees a lost peer.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::wire::channel::{Channel, Service};
use crate::wire::conversation::{Conversation, SEND_TIMEOUT, lock};
use crate::wire::frame::{Frame, FrameKind};
use crate::{PeerId, RdmaError};

/// A channel as its owner sees it: it is started once, and closed.
pub trait Connection: Channel {
    /// Starts the receiving thread. Once per channel.
    fn start(&self, service: Arc<dyn Service>) -> Result<(), RdmaError>;

    /// Ends this side: nothing is sent or received any more, and the other end sees a lost peer.
    fn close(&self);

    /// Waits until the peer is lost.
    fn wait_closed(&self);

    /// Turns false when the peer is found dead.
    fn alive(&self) -> Arc<AtomicBool>;
}

/// The part of a channel that depends on the transport. All methods but [`FrameTransport::receive`] may be called
/// from any thread.
pub trait FrameTransport: Send + Sync + 'static {
    /// The state that the receiving thread alone uses.
    type Incoming: Send;

    /// Whether closing the channel ends the segment of the same server too, because that has connections which end
    /// with this one.
    const ENDS_SEGMENT: bool;

    /// Sends one frame, whose payload is within the limit, whole or not at all; else it ends the connection. Blocks
    /// for at most `timeout` before the frame is begun, and while the conversation is open.
    fn send(
        &self,
        kind: FrameKind,
        call: u64,
        payload: &[u8],
        timeout: Duration,
        conversation: &Conversation,
    ) -> Result<(), Unsent>;

    /// Waits for the next frame; on the receiving thread. `None`: the connection ended, or this end is closing. `Err`
    /// names what no correct peer sends.
    fn receive(
        &self,
        incoming: &mut Self::Incoming,
        conversation: &Conversation,
    ) -> Result<Option<Frame>, &'static str>;

    /// Before an orderly end: waits a moment until frames that were sent have arrived, where the end of the
    /// connection would lose them.
    fn flush(&self, _conversation: &Conversation) {}

    /// Ends the connection: both ends see it, and `receive` returns soon.
    fn shutdown(&self);

    /// Waits until the peer is lost.
    fn wait_closed(&self, conversation: &Conversation) {
        conversation.wait_ended();
    }
}

/// Why a frame was not sent.
#[derive(Debug)]
pub enum Unsent {
    /// The peer took nothing in time. Later frames may be sent.
    Late,
    /// The connection has ended.
    Lost,
}

/// One end of a channel. Dropping it closes the channel; the other end sees a lost peer.
pub struct FrameChannel<T: FrameTransport> {
    shared: Arc<Shared<T>>,
    /// Until the channel is started.
    incoming: Mutex<Option<T::Incoming>>,
    receiver: Mutex<Option<JoinHandle<()>>>,
}

/// The state that the receiving thread and the callers share.
struct Shared<T> {
    conversation: Conversation,
    transport: T,
}

impl<T: FrameTransport> FrameChannel<T> {
    /// Prepares an end. It can send at once; it receives after [`Connection::start`].
    pub fn new(peer: PeerId, transport: T, incoming: T::Incoming) -> FrameChannel<T> {
        let shared = Shared { conversation: Conversation::new(peer), transport };
        FrameChannel {
            shared: Arc::new(shared),
            incoming: Mutex::new(Some(incoming)),
            receiver: Mutex::default(),
        }
    }
}

impl<T: FrameTransport> Channel for FrameChannel<T> {
    fn peer(&self) -> PeerId {
        self.shared.conversation.peer
    }

    fn send(&self, notice: &[u8]) -> Result<(), RdmaError> {
        self.shared.send(FrameKind::Notice, 0, notice, SEND_TIMEOUT)
    }

    fn call(&self, request: &[u8], timeout: Duration) -> Result<Vec<u8>, RdmaError> {
        let send = |number| self.shared.send(FrameKind::Request, number, request, timeout);
        self.shared.conversation.call(timeout, send)
    }

    fn is_alive(&self) -> bool {
        self.shared.conversation.is_alive()
    }
}

impl<T: FrameTransport> Connection for FrameChannel<T> {
    fn start(&self, service: Arc<dyn Service>) -> Result<(), RdmaError> {
        let incoming = lock(&self.incoming).take().expect("a channel is started once");
        let shared = self.shared.clone();
        let thread = thread::Builder::new()
            .name(format!("rdma {}", self.peer()))
            .spawn(move || shared.receive(incoming, &*service))
            .map_err(|source| RdmaError::Os { what: "starting a receiving thread", source })?;
        *lock(&self.receiver) = Some(thread);
        Ok(())
    }

    fn close(&self) {
        let Shared { conversation, transport } = &*self.shared;
        let was_open = conversation.is_open();
        conversation.close();
        if was_open {
            transport.flush(conversation);
        }
        if T::ENDS_SEGMENT {
            conversation.lose();
        }
        transport.shutdown();
    }

    fn wait_closed(&self) {
        self.shared.transport.wait_closed(&self.shared.conversation);
    }

    fn alive(&self) -> Arc<AtomicBool> {
        self.shared.conversation.alive()
    }
}

impl<T: FrameTransport> Drop for FrameChannel<T> {
    fn drop(&mut self) {
        self.close();
        let Some(thread) = lock(&self.receiver).take() else { return };
        // The last owner of a channel may be a service method, which runs on that very thread.
        if thread.thread().id() != thread::current().id() {
            // A receiving thread that panicked has printed why; the process aborts on panic anyway.
            let _ = thread.join();
        }
    }
}

impl<T: FrameTransport> Shared<T> {
    fn send(
        &self,
        kind: FrameKind,
        call: u64,
        payload: &[u8],
        timeout: Duration,
    ) -> Result<(), RdmaError> {
        let conversation = &self.conversation;
        conversation.check(payload)?;
        let sent = self.transport.send(kind, call, payload, timeout, conversation);
        let peer = conversation.peer;
        sent.map_err(|unsent| match unsent {
            Unsent::Late => RdmaError::Deadline { peer, after: timeout },
            Unsent::Lost => RdmaError::PeerLost(peer),
        })
    }

    /// The receiving thread.
    fn receive(&self, mut incoming: T::Incoming, service: &dyn Service) {
        let (conversation, peer) = (&self.conversation, self.conversation.peer);
        let reply = |call, reply: &[u8]| self.send(FrameKind::Reply, call, reply, SEND_TIMEOUT);
        let lost = loop {
            let handled = match self.transport.receive(&mut incoming, conversation) {
                Ok(Some(frame)) => conversation.dispatch(frame, service, reply),
                Ok(None) => break RdmaError::PeerLost(peer),
                Err(what) => Err(what),
            };
            if let Err(what) = handled {
                break RdmaError::Malformed { peer, what };
            }
            if conversation.is_closing() {
                break RdmaError::PeerLost(peer);
            }
        };
        // Also after a malformed frame: the session of a peer that sends one ends with its channel.
        self.transport.shutdown();
        conversation.end(&lost, service);
    }
}
