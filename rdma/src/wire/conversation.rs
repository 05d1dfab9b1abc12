//! What is said on one channel, over any transport: numbers calls, brings replies to the threads that wait for them,
//! hands the rest to the service, and ends once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::wire::channel::{MESSAGE_BYTES_MAX, Service};
use crate::wire::frame::{Frame, FrameKind};
use crate::{PeerId, RdmaError};
use base::Patience;

/// The state that the receiving thread and the callers of one channel share.
pub struct Conversation {
    pub peer: PeerId,
    /// Cleared once when the peer is found dead; read by all threads, also by the segment of the
    /// same server. Relaxed.
    alive: Arc<AtomicBool>,
    /// Set once when this end is closed; ends the receiving thread.
    closing: AtomicBool,
    calls: Mutex<Calls>,
    /// Whether the receiving thread has ended.
    ended: Mutex<bool>,
    /// Notified when it has.
    end: Condvar,
}

/// Calls in flight, by number.
#[derive(Default)]
struct Calls {
    last: u64,
    waiting: HashMap<u64, SyncSender<Vec<u8>>>,
}

impl Conversation {
    pub fn new(peer: PeerId) -> Conversation {
        Conversation {
            peer,
            alive: Arc::new(AtomicBool::new(true)),
            closing: AtomicBool::new(false),
            calls: Mutex::default(),
            ended: Mutex::default(),
            end: Condvar::new(),
        }
    }

    /// False once the peer was found dead.
    pub fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Relaxed)
    }

    /// Turns false when the peer is found dead.
    pub fn alive(&self) -> Arc<AtomicBool> {
        self.alive.clone()
    }

    /// Neither closed nor lost.
    pub fn is_open(&self) -> bool {
        self.is_alive() && !self.is_closing()
    }

    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// From now on the end of the connection is no accident.
    pub fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
    }

    /// From now on the peer counts as dead, also for the segment of the same server.
    pub fn lose(&self) {
        self.alive.store(false, Ordering::Relaxed);
    }

    /// The limits of everything that is sent.
    pub fn check(&self, payload: &[u8]) -> Result<(), RdmaError> {
        if payload.len() > MESSAGE_BYTES_MAX {
            return Err(RdmaError::MessageTooLong { bytes: payload.len() });
        }
        if self.is_open() { Ok(()) } else { Err(RdmaError::PeerLost(self.peer)) }
    }

    /// Sends a request, by `send` with the number of the call, and waits for its reply.
    pub fn call(
        &self,
        timeout: Duration,
        send: impl FnOnce(u64) -> Result<(), RdmaError>,
    ) -> Result<Vec<u8>, RdmaError> {
        let mut patience = Patience::new(timeout);
        let (reply, replied) = sync_channel(1);
        let number = {
            let mut calls = lock(&self.calls);
            calls.last += 1;
            let number = calls.last;
            calls.waiting.insert(number, reply);
            number
        };
        let result = send(number).and_then(|()| {
            while let Some(step) = patience.step() {
                match replied.recv_timeout(step) {
                    Ok(reply) => return Ok(reply),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(RdmaError::PeerLost(self.peer));
                    }
                }
            }
            Err(RdmaError::Deadline { peer: self.peer, after: timeout })
        });
        lock(&self.calls).waiting.remove(&number);
        result
    }

    /// A frame came in. What the service replies is sent by `reply`, with the number of the call. `Err` names the
    /// error in the frame.
    pub fn dispatch(
        &self,
        frame: Frame,
        service: &dyn Service,
        reply: impl FnOnce(u64, &[u8]) -> Result<(), RdmaError>,
    ) -> Result<(), &'static str> {
        match frame.kind {
            FrameKind::Notice => service.on_notice(self.peer, &frame.payload),
            FrameKind::Reply => {
                // A reply that no thread waits for comes after its deadline.
                if let Some(waiting) = lock(&self.calls).waiting.remove(&frame.call) {
                    let _ = waiting.send(frame.payload);
                }
            }
            FrameKind::Request => {
                let answer = service.on_request(self.peer, &frame.payload);
                if let Err(error) = reply(frame.call, &answer) {
                    // The caller runs into its own deadline.
                    log::warn!("reply to {} lost: {error}", self.peer);
                }
            }
            FrameKind::Opening => return Err("a handshake message after the handshake"),
        }
        Ok(())
    }

    /// The receiving thread ends: calls in flight fail, and the service is notified unless this side
    /// closed the channel.
    pub fn end(&self, cause: &RdmaError, service: &dyn Service) {
        let is_accident = !self.is_closing();
        if is_accident {
            self.lose();
        }
        // Dropping the senders of calls in flight wakes them.
        lock(&self.calls).waiting.clear();
        if is_accident {
            service.on_peer_lost(self.peer, cause);
        }
        *lock(&self.ended) = true;
        self.end.notify_all();
    }

    /// Waits until the receiving thread has ended.
    pub fn wait_ended(&self) {
        let ended = self.end.wait_while(lock(&self.ended), |ended| !*ended);
        drop(ended.unwrap_or_else(PoisonError::into_inner));
    }
}

/// No code of this crate panics while holding a lock, so a poisoned one is as good as any.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long a full ring may stay full, and a peer may take no bytes.
pub const SEND_TIMEOUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::sync::atomic::AtomicUsize;
    use std::thread;
    use std::time::Instant;

    use super::*;
    use crate::Transport;
    use crate::fleet::upgrade;
    use crate::shm::channel::{Endpoint, ShmChannel};
    use crate::tcp::channel::TcpChannel;
    use crate::tcp::frame;
    use crate::tcp::socket::{TcpSocket, Until};
    use crate::wire::channel::Channel;
    use crate::wire::frame_channel::Connection;

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

    /// Verbs where there is a device.
    fn transports() -> impl Iterator<Item = Transport> {
        let verbs = upgrade::is_tested().then_some(Transport::Verbs);
        [Transport::Shm, Transport::Tcp].into_iter().chain(verbs)
    }

    type End = Arc<dyn Connection>;

    fn pair(transport: Transport, a: Arc<Mirror>, b: Arc<Mirror>) -> (End, End) {
        let (server, vm) = (PeerId::Server(0), PeerId::Vm);
        let (first, second): (End, End) = match transport {
            Transport::Shm => {
                let (first, second) = Endpoint::pair().unwrap();
                let first = ShmChannel::open(server, first);
                (Arc::new(first), Arc::new(ShmChannel::open(vm, second)))
            }
            Transport::Tcp => {
                let (first, second) = sockets();
                let first = TcpChannel::open(server, first);
                (Arc::new(first), Arc::new(TcpChannel::open(vm, second)))
            }
            Transport::Verbs => {
                let (first, second) = sockets();
                let open = |peer, socket: Arc<TcpSocket>| {
                    let upgrade = upgrade::open(socket.local_ip().unwrap()).unwrap();
                    upgrade.channel(peer, socket, Until::after(SEND_TIMEOUT)).unwrap()
                };
                thread::scope(|scope| {
                    let second = scope.spawn(move || open(vm, second));
                    (open(server, first), second.join().unwrap())
                })
            }
        };
        first.start(a).unwrap();
        second.start(b).unwrap();
        (first, second)
    }

    fn sockets() -> (Arc<TcpSocket>, Arc<TcpSocket>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (other, _) = listener.accept().unwrap();
        let own = |stream: TcpStream| Arc::new(TcpSocket::new(stream.into()).unwrap());
        (own(one), own(other))
    }

    #[test]
    fn calls_go_both_ways_at_once() {
        for transport in transports() {
            let (a, b) = pair(transport, Arc::default(), Arc::default());
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
    }

    #[test]
    fn notices_arrive_before_the_call_that_follows_them() {
        for transport in transports() {
            let service = Arc::new(Mirror::default());
            let (a, _b) = pair(transport, Arc::default(), service.clone());
            for n in 1..=2000 {
                a.send(&[0; 100]).unwrap();
                if n % 100 == 0 {
                    a.call(b"", Duration::from_secs(10)).unwrap();
                    assert_eq!(service.notices.load(Ordering::SeqCst), n);
                }
            }
        }
    }

    #[test]
    fn a_late_reply_is_a_deadline_and_harms_no_later_call() {
        for transport in transports() {
            let slow = Mirror { delay: Duration::from_millis(100), ..Mirror::default() };
            let (a, _b) = pair(transport, Arc::default(), Arc::new(slow));
            let late = a.call(b"late", Duration::from_millis(5));
            assert!(matches!(late, Err(RdmaError::Deadline { .. })));
            assert_eq!(a.call(b"ab", Duration::from_secs(10)).unwrap(), b"ba");
            let long = a.call(&vec![0; MESSAGE_BYTES_MAX + 1], Duration::from_secs(1));
            assert!(matches!(long, Err(RdmaError::MessageTooLong { .. })));
        }
    }

    #[test]
    fn a_closed_end_is_reported_once_and_calls_in_flight_fail() {
        for transport in transports() {
            let here = Arc::new(Mirror::default());
            let slow = Mirror { delay: Duration::from_secs(1), ..Mirror::default() };
            let (a, b) = pair(transport, here.clone(), Arc::new(slow));
            thread::scope(|scope| {
                let call = scope.spawn(|| a.call(b"x", Duration::from_secs(10)));
                thread::sleep(Duration::from_millis(50));
                let started = Instant::now();
                b.close();
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

    #[test]
    fn a_closed_end_ends_the_segment_unless_that_is_mapped_memory() {
        for transport in transports() {
            let (a, _b) = pair(transport, Arc::default(), Arc::default());
            let alive = a.alive();
            a.close();
            let is_mapped = matches!(transport, Transport::Shm);
            assert_eq!(alive.load(Ordering::Relaxed), is_mapped, "{transport:?}");
        }
    }

    /// So a server ends with its VM, whatever its agent is doing.
    #[test]
    fn in_shared_memory_a_lost_peer_is_seen_while_the_service_is_busy() {
        let slow = Mirror { delay: Duration::from_secs(1), ..Mirror::default() };
        let (a, b) = pair(Transport::Shm, Arc::default(), Arc::new(slow));
        thread::scope(|scope| {
            scope.spawn(|| a.call(b"x", Duration::from_secs(10)));
            thread::sleep(Duration::from_millis(50));
            let started = Instant::now();
            a.close();
            b.wait_closed();
            assert!(started.elapsed() < Duration::from_millis(500), "{:?}", started.elapsed());
        });
    }

    /// More than all buffers hold, to a peer that takes nothing for a while.
    #[test]
    fn what_a_slow_peer_does_not_take_waits_and_arrives() {
        for transport in transports() {
            let slow = Mirror { delay: Duration::from_millis(200), ..Mirror::default() };
            let slow = Arc::new(slow);
            let (a, _b) = pair(transport, Arc::default(), slow.clone());
            thread::scope(|scope| {
                scope.spawn(|| a.call(b"ab", Duration::from_secs(20)).unwrap());
                thread::sleep(Duration::from_millis(20));
                for n in 0..400 {
                    a.send(&vec![n as u8; 20_000]).unwrap();
                }
            });
            let long: Vec<u8> = (0..MESSAGE_BYTES_MAX).map(|n| (n % 251) as u8).collect();
            let mut back = a.call(&long, Duration::from_secs(20)).unwrap();
            back.reverse();
            assert!(back == long, "{transport:?}");
            assert_eq!(slow.notices.load(Ordering::SeqCst), 400, "{transport:?}");
        }
    }

    /// For all that a peer may send: the channel ends, its service is notified once, and nothing panics.
    #[test]
    fn a_hostile_tcp_peer_gets_the_channel_closed_and_nothing_else() {
        let request = frame::encode(FrameKind::Request, 1, b"ab");
        let changed = |at: usize, byte: u8| {
            let mut bytes = request.clone();
            bytes[at] = byte;
            bytes
        };
        let attacks = [
            b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n".to_vec(),
            changed(7, 0x7f),
            changed(8, 9),
            changed(12, request[12] ^ 1),
            frame::encode(FrameKind::Opening, 0, b"farheap"),
            request[..30.min(request.len() - 1)].to_vec(),
            request[..10].to_vec(),
        ];
        for (n, attack) in attacks.iter().enumerate() {
            let (ours, theirs) = sockets();
            let here = Arc::new(Mirror::default());
            let channel = TcpChannel::open(PeerId::Server(0), ours);
            channel.start(here.clone()).unwrap();
            theirs.send(attack, Until::after(SEND_TIMEOUT)).unwrap();
            theirs.shutdown();
            channel.wait_closed();
            assert!(!channel.is_alive(), "attack {n}");
            assert_eq!(here.lost.load(Ordering::SeqCst), 1, "attack {n}");
        }
    }
}
