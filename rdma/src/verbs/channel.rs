//! A channel over a queue pair: SEND and RECEIVE.
//!
//! A frame, the same as over TCP (`tcp/frame.rs`), travels in one or more messages of [`SLOT_BYTES`]; each begins a
//! message of its own. A sender has [`SEND_SLOTS`] buffers, and waits for the oldest to be acknowledged when all
//! are in use. A receiver has posted [`RECEIVE_SLOTS`] buffers to the device, and gives each back when it is
//! emptied; while none is posted, senders' devices try again and again, until the sender's deadline.
//!
//! The TCP connection that made the pair stays, without a byte on it: its end is the sign that the peer is lost,
//! which a queue pair shows only to senders. It comes at once with the end of a process, and after
//! `PEER_TIMEOUT` with that of a machine.

use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rdma_sys::{ibv_send_flags, ibv_send_wr, ibv_wr_opcode};

use crate::tcp::frame::{self, FrameHeader, HEADER_BYTES};
use crate::tcp::socket::{Cut, TcpSocket, Until};
use crate::verbs::backoff::Backoff;
use crate::verbs::buffer::Buffer;
use crate::verbs::connect::connect;
use crate::verbs::device::Device;
use crate::verbs::queue::{QueueOptions, QueuePair};
use crate::wire::conversation::{Conversation, SEND_TIMEOUT, lock};
use crate::wire::frame::{Frame, FrameKind};
use crate::wire::frame_channel::{FrameChannel, FrameTransport, Unsent};
use crate::{PeerId, RdmaError};

/// One end of a channel over a queue pair.
pub type QueueChannel = FrameChannel<QueueFrames>;

/// The queue pair of one end, and its buffers.
pub struct QueueFrames {
    socket: Arc<TcpSocket>,
    /// Dropped before the buffers.
    queue: QueuePair,
    /// Held while a frame is sent, so that frames do not mix.
    sender: Mutex<Sender>,
    incoming: Buffer,
}

/// The messages in flight. Message number n lies in slot n modulo their number.
struct Sender {
    outgoing: Buffer,
    posted: u64,
    acknowledged: u64,
}

impl QueueChannel {
    /// Makes an end over a TCP connection on which the other side does the same. Blocks until both are ready. It
    /// can send at once; it receives after its start.
    pub fn open(
        device: &Arc<Device>,
        peer: PeerId,
        socket: Arc<TcpSocket>,
        until: Until<'_>,
    ) -> Result<QueueChannel, RdmaError> {
        let (sends, receives) = (SEND_SLOTS as u32, RECEIVE_SLOTS as u32);
        let queue = QueuePair::new(device, QueueOptions { sends, receives, is_served: false })?;
        let frames = QueueFrames {
            socket,
            queue,
            sender: Mutex::new(Sender {
                outgoing: Buffer::new(device, SEND_SLOTS * SLOT_BYTES)?,
                posted: 0,
                acknowledged: 0,
            }),
            incoming: Buffer::new(device, RECEIVE_SLOTS * SLOT_BYTES)?,
        };
        for slot in 0..RECEIVE_SLOTS {
            frames.offer(slot).map_err(|()| RdmaError::PeerLost(peer))?;
        }
        connect(&frames.socket, &frames.queue, until)?;
        Ok(FrameChannel::new(peer, frames, Assembly::default()))
    }
}

impl FrameTransport for QueueFrames {
    type Incoming = Assembly;

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
        let mut sender = lock(&self.sender);
        for (number, message) in bytes.chunks(SLOT_BYTES).enumerate() {
            let limit = if number == 0 { timeout } else { SEND_TIMEOUT };
            let until = Until { go_on: &go_on, ..Until::after(limit) };
            match sender.send(&self.queue, message, until) {
                Ok(()) => {}
                Err(Cut::Late) if number == 0 => return Err(Unsent::Late),
                Err(_) => {
                    // Part of a frame may have arrived. The receiving thread reports the loss.
                    self.socket.shutdown();
                    return Err(Unsent::Lost);
                }
            }
        }
        Ok(())
    }

    fn receive(
        &self,
        assembly: &mut Assembly,
        _conversation: &Conversation,
    ) -> Result<Option<Frame>, &'static str> {
        let mut is_idle = false;
        loop {
            // While there are messages, no events are requested. Whether the peer is alive is checked before the
            // queue, so that the last messages of a dying one are still delivered.
            if is_idle && self.queue.arm().is_err() {
                return Ok(None);
            }
            let ended = is_idle && self.has_ended();
            loop {
                let done = match self.queue.poll_received() {
                    Ok(Some(done)) => done,
                    Ok(None) => break,
                    Err(_) => return Ok(None),
                };
                let slot = done.id as usize;
                let start = self.incoming.at(slot * SLOT_BYTES);
                // SAFETY: the device has written `done.bytes` bytes of the slot, at most all of it, and has
                // given it back.
                let message = unsafe { std::slice::from_raw_parts(start, done.bytes) };
                let frame = assembly.add(message)?;
                if self.offer(slot).is_err() {
                    return Ok(None);
                }
                if frame.is_some() {
                    return Ok(frame);
                }
            }
            if ended {
                return Ok(None);
            }
            if is_idle {
                self.sleep();
            }
            is_idle = !is_idle;
        }
    }

    /// The messages in flight arrive, if the peer is alive to take them.
    fn flush(&self, conversation: &Conversation) {
        let mut sender = lock(&self.sender);
        let alive = || conversation.is_alive();
        let until = Until { go_on: &alive, ..Until::after(CLOSE_TIMEOUT) };
        // It ends, regardless of errors.
        let _ = sender.await_fewer(&self.queue, 1, until);
    }

    fn shutdown(&self) {
        self.socket.shutdown();
    }
}

impl QueueFrames {
    /// Gives a receive buffer to the device.
    fn offer(&self, slot: usize) -> Result<(), ()> {
        let element = self.incoming.element(slot * SLOT_BYTES, SLOT_BYTES);
        // SAFETY: the slot was emptied, and is not looked at before something came in; the queue is dropped
        // before it.
        unsafe { self.queue.post_receive(slot as u64, element) }.map_err(|_| ())
    }

    /// Whether the TCP connection has ended, or is readable, which is the same: no side sends on it.
    fn has_ended(&self) -> bool {
        let mut fds = [poll_fd(self.socket.as_fd().as_raw_fd())];
        poll(&mut fds, 0);
        fds[0].revents != 0
    }

    /// Until something came in, or the connection ended.
    fn sleep(&self) {
        let socket = self.socket.as_fd().as_raw_fd();
        poll(&mut [poll_fd(self.queue.event_fd()), poll_fd(socket)], CHECK_MS);
    }
}

impl Sender {
    /// Posts one message of at most [`SLOT_BYTES`]; waits for a slot.
    fn send(&mut self, queue: &QueuePair, message: &[u8], until: Until<'_>) -> Result<(), Cut> {
        self.await_fewer(queue, SEND_SLOTS as u64, until)?;
        let at = (self.posted % SEND_SLOTS as u64) as usize * SLOT_BYTES;
        // SAFETY: the slot is ours until it is posted: its previous message is acknowledged.
        unsafe { ptr::copy_nonoverlapping(message.as_ptr(), self.outgoing.at(at), message.len()) };
        let mut element = self.outgoing.element(at, message.len());
        // SAFETY: plain numbers and pointers, for which zero is a value.
        let mut request = unsafe { std::mem::zeroed::<ibv_send_wr>() };
        (request.sg_list, request.num_sge) = (&raw mut element, 1);
        request.opcode = ibv_wr_opcode::IBV_WR_SEND;
        request.send_flags = ibv_send_flags::IBV_SEND_SIGNALED.0;
        // SAFETY: the provider copies request and element; the slot stays as it is until it is acknowledged, or the
        // queue pair is dropped, which it is before the buffer.
        unsafe { queue.post(&mut request) }.map_err(|_| Cut::Closed)?;
        self.posted += 1;
        Ok(())
    }

    /// Waits until fewer than `limit` messages are in flight.
    fn await_fewer(&mut self, queue: &QueuePair, limit: u64, until: Until<'_>) -> Result<(), Cut> {
        let mut backoff = Backoff::new();
        loop {
            while queue.poll_sent().map_err(|_| Cut::Closed)?.is_some() {
                self.acknowledged += 1;
            }
            if self.posted - self.acknowledged < limit {
                return Ok(());
            }
            backoff.wait(until)?;
        }
    }
}

/// A frame whose messages are coming in.
#[derive(Default)]
pub struct Assembly {
    header: Option<FrameHeader>,
    payload: Vec<u8>,
}

impl Assembly {
    /// The next message. Returns the frame that it completes; `Err` names the error.
    fn add(&mut self, message: &[u8]) -> Result<Option<Frame>, &'static str> {
        let rest = match &self.header {
            Some(_) => message,
            None => {
                let (head, rest) = message
                    .split_first_chunk::<HEADER_BYTES>()
                    .ok_or("a message without a header")?;
                self.header = Some(FrameHeader::decode(head)?);
                rest
            }
        };
        let header = self.header.take().expect("it was just put there");
        if self.payload.len() + rest.len() > header.bytes {
            return Err("a message of the wrong length");
        }
        self.payload.extend_from_slice(rest);
        if self.payload.len() == header.bytes {
            let payload = std::mem::take(&mut self.payload);
            return header.complete(payload).map(Some);
        }
        if message.len() != SLOT_BYTES {
            return Err("a message of the wrong length");
        }
        self.header = Some(header);
        Ok(None)
    }
}

fn poll_fd(fd: i32) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN | libc::POLLRDHUP, revents: 0 }
}

/// Waits for one of them. After an interruption the caller finds nothing.
fn poll(fds: &mut [libc::pollfd], ms: i32) {
    // SAFETY: the kernel reads and writes the slice.
    unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, ms) };
}

/// Most messages of agents and VM fit into one.
const SLOT_BYTES: usize = 8 << 10;
const SEND_SLOTS: usize = 16;
const RECEIVE_SLOTS: usize = 32;
/// How often a sleeper looks at the queue though nothing woke it.
const CHECK_MS: i32 = 100;
/// How long an orderly end waits for messages in flight.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_of_their_messages_and_nonsense_is_refused() {
        for bytes in [0, 1, SLOT_BYTES - HEADER_BYTES, SLOT_BYTES - HEADER_BYTES + 1, 100_000] {
            let payload: Vec<u8> = (0..bytes).map(|n| n as u8).collect();
            let sent = frame::encode(FrameKind::Request, 7, &payload);
            let mut assembly = Assembly::default();
            let messages: Vec<&[u8]> = sent.chunks(SLOT_BYTES).collect();
            for _ in 0..2 {
                for (n, message) in messages.iter().enumerate() {
                    let frame = assembly.add(message).unwrap();
                    let expected =
                        Frame { kind: FrameKind::Request, call: 7, payload: payload.clone() };
                    let is_last = n + 1 == messages.len();
                    assert_eq!(frame, is_last.then_some(expected), "{bytes} bytes");
                }
            }
        }
        let long = frame::encode(FrameKind::Notice, 0, &[1; 20_000]);
        let messages: Vec<&[u8]> = long.chunks(SLOT_BYTES).collect();
        let refused = |messages: &[&[u8]]| {
            let mut assembly = Assembly::default();
            messages.iter().any(|message| assembly.add(message).is_err())
        };
        assert!(refused(&[b"short"]));
        assert!(refused(&[messages[0], messages[0], messages[0]]), "longer than it said");
        assert!(refused(&[messages[0], &messages[1][1..]]), "cut in the middle");
        assert!(refused(&[messages[0], messages[1], &messages[2][1..]]), "cut at the end");
        let mut wrong = long[..SLOT_BYTES].to_vec();
        wrong[100] ^= 1;
        assert!(refused(&[&wrong, messages[1], messages[2]]), "a wrong checksum");
    }
}
