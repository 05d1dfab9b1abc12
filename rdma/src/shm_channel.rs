//! A channel over two rings in shared memory.
//!
//! Each end has one receiving thread. It takes frames from the incoming ring; requests and notices
//! go to the service, replies to the call that waits for them. When nothing arrives it looks every
//! 100 ms whether the control socket still has a peer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::channel::{Channel, MESSAGE_BYTES_MAX, Service};
use crate::mapping::SharedMapping;
use crate::ring::{
    Consumer, Frame, FrameKind, PEER_CHECK_INTERVAL, Producer, RING_SHARED_BYTES, wake_consumer,
};
use crate::socket::ControlSocket;
use crate::{PeerId, RdmaError};

/// Which of the two rings this end writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    First = 0,
    Second = 1,
}

/// What one end of a channel is made from; nothing is received before [`ShmChannel::open`] and
/// [`ShmChannel::start`].
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
    /// Taken by `start`, joined by drop.
    receiver: Mutex<Receiver>,
}

impl ShmChannel {
    /// Prepares an end. It can send at once; it receives after [`ShmChannel::start`].
    pub fn open(peer: PeerId, endpoint: Endpoint) -> ShmChannel {
        let (outgoing, incoming) = match endpoint.side {
            Side::First => (0, RING_SHARED_BYTES),
            Side::Second => (RING_SHARED_BYTES, 0),
        };
        let shared = Shared {
            peer,
            socket: endpoint.socket,
            alive: Arc::new(AtomicBool::new(true)),
            closing: AtomicBool::new(false),
            outgoing: Mutex::new(Producer::new(endpoint.rings.clone(), outgoing)),
            rings: endpoint.rings.clone(),
            incoming,
            calls: Mutex::new(Calls::default()),
        };
        let consumer = Consumer::new(endpoint.rings, incoming);
        let receiver = Mutex::new(Receiver { idle: Some(consumer), thread: None });
        ShmChannel { shared: Arc::new(shared), receiver }
    }

    /// Starts the receiving thread. Once per channel.
    pub fn start(&self, service: Arc<dyn Service>) -> Result<(), RdmaError> {
        let mut receiver = lock(&self.receiver);
        let consumer = receiver.idle.take().expect("a channel is started once");
        let shared = self.shared.clone();
        let thread = thread::Builder::new()
            .name(format!("rdma {}", shared.peer))
            .spawn(move || shared.receive(consumer, &*service))
            .map_err(|source| RdmaError::Os { what: "starting a receiving thread", source })?;
        receiver.thread = Some(thread);
        Ok(())
    }

    /// Turns false when the peer is found dead.
    pub fn alive(&self) -> Arc<AtomicBool> {
        self.shared.alive.clone()
    }

    /// Ends this side: nothing is sent or received any more, and the other end sees a lost peer.
    pub fn close(&self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        self.shared.socket.shutdown();
        wake_consumer(&self.shared.rings, self.shared.incoming);
    }

    /// Waits until the peer is gone.
    pub fn wait_closed(&self) {
        self.shared.socket.wait_closed();
    }
}

impl Channel for ShmChannel {
    fn peer(&self) -> PeerId {
        self.shared.peer
    }

    fn send(&self, notice: &[u8]) -> Result<(), RdmaError> {
        self.shared.push(FrameKind::Notice, 0, notice, SEND_TIMEOUT)
    }

    fn call(&self, request: &[u8], timeout: Duration) -> Result<Vec<u8>, RdmaError> {
        self.shared.call(request, timeout)
    }

    fn is_alive(&self) -> bool {
        self.shared.alive.load(Ordering::Relaxed)
    }
}

impl Drop for ShmChannel {
    fn drop(&mut self) {
        self.close();
        let Some(thread) = lock(&self.receiver).thread.take() else { return };
        // The last owner may be a service method, which runs on that very thread.
        if thread.thread().id() != thread::current().id() {
            // A receiving thread that panicked has printed why; the process aborts on panic anyway.
            let _ = thread.join();
        }
    }
}

struct Receiver {
    idle: Option<Consumer>,
    thread: Option<JoinHandle<()>>,
}

/// What the receiving thread and the callers share.
struct Shared {
    peer: PeerId,
    socket: ControlSocket,
    /// Cleared once by the receiving thread; read by everybody, also by the segment of the same
    /// server. Relaxed.
    alive: Arc<AtomicBool>,
    /// Set once when this end is dropped; ends the receiving thread.
    closing: AtomicBool,
    outgoing: Mutex<Producer>,
    rings: Arc<SharedMapping>,
    /// Where in `rings` the ring that we read begins.
    incoming: usize,
    calls: Mutex<Calls>,
}

/// Calls in flight, by number.
#[derive(Default)]
struct Calls {
    last: u64,
    waiting: HashMap<u64, SyncSender<Vec<u8>>>,
}

impl Shared {
    fn push(
        &self,
        kind: FrameKind,
        call: u64,
        payload: &[u8],
        timeout: Duration,
    ) -> Result<(), RdmaError> {
        if payload.len() > MESSAGE_BYTES_MAX {
            return Err(RdmaError::MessageTooLong { bytes: payload.len() });
        }
        let go_on = || self.is_open();
        let deadline = Instant::now() + timeout;
        let sent = go_on() && lock(&self.outgoing).push(kind, call, payload, deadline, go_on);
        match sent {
            true => Ok(()),
            false if !go_on() => Err(RdmaError::PeerLost(self.peer)),
            false => Err(RdmaError::Deadline { peer: self.peer, after: timeout }),
        }
    }

    fn call(&self, request: &[u8], timeout: Duration) -> Result<Vec<u8>, RdmaError> {
        let started = Instant::now();
        let (reply, replied) = sync_channel(1);
        let number = {
            let mut calls = lock(&self.calls);
            calls.last += 1;
            let number = calls.last;
            calls.waiting.insert(number, reply);
            number
        };
        let result = self.push(FrameKind::Request, number, request, timeout).and_then(|()| {
            let left = timeout.saturating_sub(started.elapsed());
            replied.recv_timeout(left).map_err(|error| match error {
                RecvTimeoutError::Timeout => {
                    RdmaError::Deadline { peer: self.peer, after: timeout }
                }
                RecvTimeoutError::Disconnected => RdmaError::PeerLost(self.peer),
            })
        });
        lock(&self.calls).waiting.remove(&number);
        result
    }

    /// The receiving thread.
    fn receive(&self, mut consumer: Consumer, service: &dyn Service) {
        let lost = loop {
            // Looked at before the ring, so that what a dying peer sent last is still delivered.
            let closed = self.socket.is_closed();
            let wait = if closed { Duration::ZERO } else { PEER_CHECK_INTERVAL };
            match consumer.pop(wait) {
                Ok(Some(frame)) => self.dispatch(frame, service),
                Ok(None) if closed => break RdmaError::PeerLost(self.peer),
                Ok(None) => {}
                Err(what) => break RdmaError::Malformed { peer: self.peer, what },
            }
            if self.closing.load(Ordering::Relaxed) {
                break RdmaError::PeerLost(self.peer);
            }
        };
        if self.closing.load(Ordering::SeqCst) {
            self.calls_fail();
            return;
        }
        self.alive.store(false, Ordering::Relaxed);
        self.calls_fail();
        service.on_peer_lost(self.peer, &lost);
    }

    /// Ends all calls in flight: dropping their senders wakes them.
    fn calls_fail(&self) {
        lock(&self.calls).waiting.clear();
    }

    fn dispatch(&self, frame: Frame, service: &dyn Service) {
        match frame.kind {
            FrameKind::Notice => service.on_notice(self.peer, &frame.payload),
            FrameKind::Reply => {
                // A reply that nobody waits for comes after its deadline.
                if let Some(waiting) = lock(&self.calls).waiting.remove(&frame.call) {
                    let _ = waiting.send(frame.payload);
                }
            }
            FrameKind::Request => {
                let reply = service.on_request(self.peer, &frame.payload);
                if let Err(error) = self.push(FrameKind::Reply, frame.call, &reply, SEND_TIMEOUT) {
                    // The caller runs into its own deadline.
                    log::warn!("reply to {} lost: {error}", self.peer);
                }
            }
        }
    }

    fn is_open(&self) -> bool {
        self.alive.load(Ordering::Relaxed) && !self.closing.load(Ordering::Relaxed)
    }
}

/// Nothing here panics while holding a lock, so a poisoned one is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long a full ring may stay full.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Replies with the request reversed; counts the rest.
    #[derive(Default)]
    struct Mirror {
        notices: AtomicUsize,
        lost: AtomicUsize,
        delay: Duration,
    }

    impl Service for Mirror {
        fn on_request(&self, _from: PeerId, request: &[u8]) -> Vec<u8> {
            thread::sleep(self.delay);
            request.iter().rev().copied().collect()
        }

        fn on_notice(&self, _from: PeerId, _notice: &[u8]) {
            self.notices.fetch_add(1, Ordering::SeqCst);
        }

        fn on_peer_lost(&self, _from: PeerId, _cause: &RdmaError) {
            self.lost.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn pair(a: Arc<Mirror>, b: Arc<Mirror>) -> (ShmChannel, ShmChannel) {
        let (first, second) = Endpoint::pair().unwrap();
        let (first, second) =
            (ShmChannel::open(PeerId::Server(0), first), ShmChannel::open(PeerId::Vm, second));
        first.start(a).unwrap();
        second.start(b).unwrap();
        (first, second)
    }

    #[test]
    fn calls_go_both_ways_at_once() {
        let (a, b) = pair(Arc::default(), Arc::default());
        thread::scope(|scope| {
            for end in [&a, &b] {
                for t in 0..3_u8 {
                    scope.spawn(move || {
                        for n in 0..500_u32 {
                            let request = [t, n as u8, (n >> 8) as u8];
                            let reply = end.call(&request, Duration::from_secs(10)).unwrap();
                            assert_eq!(reply, [(n >> 8) as u8, n as u8, t]);
                        }
                    });
                }
            }
        });
    }

    #[test]
    fn notices_arrive_before_the_call_that_follows_them() {
        let service = Arc::new(Mirror::default());
        let (a, _b) = pair(Arc::default(), service.clone());
        for n in 1..=2000 {
            a.send(&[0; 100]).unwrap();
            if n % 100 == 0 {
                a.call(b"", Duration::from_secs(10)).unwrap();
                assert_eq!(service.notices.load(Ordering::SeqCst), n);
            }
        }
    }

    #[test]
    fn a_late_reply_is_a_deadline_and_harms_no_later_call() {
        let slow = Mirror { delay: Duration::from_millis(100), ..Mirror::default() };
        let (a, _b) = pair(Arc::default(), Arc::new(slow));
        let late = a.call(b"late", Duration::from_millis(5));
        assert!(matches!(late, Err(RdmaError::Deadline { .. })));
        assert_eq!(a.call(b"ab", Duration::from_secs(10)).unwrap(), b"ba");
        let long = a.call(&vec![0; MESSAGE_BYTES_MAX + 1], Duration::from_secs(1));
        assert!(matches!(long, Err(RdmaError::MessageTooLong { .. })));
    }

    #[test]
    fn a_closed_end_is_reported_once_and_calls_in_flight_fail() {
        let here = Arc::new(Mirror::default());
        let slow = Mirror { delay: Duration::from_secs(1), ..Mirror::default() };
        let (a, b) = pair(here.clone(), Arc::new(slow));
        thread::scope(|scope| {
            let call = scope.spawn(|| a.call(b"x", Duration::from_secs(10)));
            thread::sleep(Duration::from_millis(50));
            let started = Instant::now();
            b.shared.socket.shutdown();
            let failed = call.join().unwrap();
            assert!(matches!(failed, Err(RdmaError::PeerLost(PeerId::Server(0)))));
            assert!(started.elapsed() < Duration::from_secs(1));
        });
        assert!(!a.is_alive() && a.send(b"x").is_err());
        while here.lost.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
    }
}
