//! A channel over one TCP connection.
//!
//! Senders take turns. A frame that was begun is finished, or the connection ends: a stream cannot be taken up in the
//! middle of a frame. The receiving thread does not spin: that made calls three times slower on two cores (35 to 55
//! instead of 11 us).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::PeerId;
use crate::tcp::frame::{self, Broken};
use crate::tcp::socket::{Cut, TcpSocket, Until};
use crate::wire::conversation::{Conversation, SEND_TIMEOUT, lock};
use crate::wire::frame::{Frame, FrameKind};
use crate::wire::frame_channel::{FrameChannel, FrameTransport, Unsent};

/// One end of a channel over TCP.
pub type TcpChannel = FrameChannel<TcpFrames>;

/// The control connection of one end.
pub struct TcpFrames {
    socket: Arc<TcpSocket>,
    /// Held while a frame is written, so that frames do not mix.
    sending: Mutex<()>,
}

impl TcpChannel {
    /// Prepares an end, as [`FrameChannel::new`].
    pub fn open(peer: PeerId, socket: Arc<TcpSocket>) -> TcpChannel {
        FrameChannel::new(peer, TcpFrames { socket, sending: Mutex::default() }, ())
    }
}

impl FrameTransport for TcpFrames {
    type Incoming = ();

    const ENDS_SEGMENT: bool = true;

    fn send(
        &self,
        kind: FrameKind,
        call: u64,
        payload: &[u8],
        timeout: Duration,
        conversation: &Conversation,
    ) -> Result<(), Unsent> {
        let bytes = frame::encode(kind, call, payload);
        let go_on = || conversation.is_open();
        let soon = Until { go_on: &go_on, ..Until::after(timeout) };
        let _turn = lock(&self.sending);
        let sent = match self.socket.wait(libc::POLLOUT, soon) {
            Err(Cut::Late) => return Err(Unsent::Late),
            Err(cut) => Err(cut),
            Ok(()) => {
                self.socket.send(&bytes, Until { go_on: &go_on, ..Until::after(SEND_TIMEOUT) })
            }
        };
        sent.map_err(|_| {
            // Part of a frame may be on its way. The receiving thread reports the loss.
            self.socket.shutdown();
            Unsent::Lost
        })
    }

    fn receive(
        &self,
        _incoming: &mut (),
        _conversation: &Conversation,
    ) -> Result<Option<Frame>, &'static str> {
        match frame::receive(&self.socket, Until::forever()) {
            Ok(frame) => Ok(Some(frame)),
            Err(Broken::Malformed(what)) => Err(what),
            Err(Broken::Cut(_)) => Ok(None),
        }
    }

    fn shutdown(&self) {
        self.socket.shutdown();
    }
}
