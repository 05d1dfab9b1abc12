//! Real memory servers behind the simulated network.
//!
//! Pages and messages between the VM and one server process take as long, come as late and are sent again as in the
//! simulation; the decisions of a seed for an operation, or for a message, depend on nothing but its number. The
//! placement of processes is real, and so are threads, processes and their ends. Messages between servers are left
//! alone.

use std::sync::Arc;
use std::time::Duration;

use super::SimOptions;
use super::random::Draws;
use super::segment::{SimSegment, pause};
use crate::wire::channel::{Channel, Service};
use crate::{PeerId, RdmaError, Segment};

/// The way between the VM and one server.
pub struct Disturbance {
    server: PeerId,
    options: SimOptions,
    /// Of messages, in either direction.
    draws: Draws,
}

impl Disturbance {
    /// The way to a server, on which the seed of the options decides; no two have the same draws.
    pub fn new(server: PeerId, options: SimOptions) -> Arc<Disturbance> {
        let number = match server {
            PeerId::Vm => 0,
            PeerId::Server(server) => 1 + u64::from(server),
        };
        let seed = options.seed.wrapping_add(number.wrapping_mul(SEEDS_APART));
        let options = SimOptions { seed, ..options };
        Arc::new(Disturbance { server, options, draws: Draws::new(!seed) })
    }

    /// The server's memory at the end of this way.
    pub fn segment(&self, memory: Arc<dyn Segment>) -> Arc<dyn Segment> {
        Arc::new(SimSegment::new(memory, self.server, self.options, Arc::default()))
    }

    /// The channel to the server by this way.
    pub fn channel(self: &Arc<Disturbance>, inner: Arc<dyn Channel>) -> Arc<dyn Channel> {
        Arc::new(DisturbedChannel { inner, way: self.clone() })
    }

    /// The service that receives the server's messages at this end of the way.
    pub fn service(self: &Arc<Disturbance>, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(DisturbedService { inner, way: self.clone() })
    }

    /// Takes the time of one message. Blocks.
    fn travel(&self) {
        pause(self.draws.next().passage(&self.options));
    }
}

struct DisturbedChannel {
    inner: Arc<dyn Channel>,
    way: Arc<Disturbance>,
}

impl Channel for DisturbedChannel {
    fn peer(&self) -> PeerId {
        self.inner.peer()
    }

    fn send(&self, notice: &[u8]) -> Result<(), RdmaError> {
        self.way.travel();
        self.inner.send(notice)
    }

    fn call(&self, request: &[u8], timeout: Duration) -> Result<Vec<u8>, RdmaError> {
        self.way.travel();
        let reply = self.inner.call(request, timeout)?;
        self.way.travel();
        Ok(reply)
    }

    fn is_alive(&self) -> bool {
        self.inner.is_alive()
    }
}

/// A channel has one thread that delivers: so a late message holds up those that follow, and none of other servers.
struct DisturbedService {
    inner: Arc<dyn Service>,
    way: Arc<Disturbance>,
}

impl Service for DisturbedService {
    fn on_request(&self, from: PeerId, request: &[u8]) -> Vec<u8> {
        self.way.travel();
        let reply = self.inner.on_request(from, request);
        self.way.travel();
        reply
    }

    fn on_notice(&self, from: PeerId, notice: &[u8]) {
        self.way.travel();
        self.inner.on_notice(from, notice);
    }

    fn on_peer_lost(&self, from: PeerId, cause: &RdmaError) {
        self.way.travel();
        self.inner.on_peer_lost(from, cause);
    }
}

/// An odd number with no pattern in its bits.
const SEEDS_APART: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShmSegment;
    use std::sync::Mutex;
    use std::time::Instant;

    const SERVER: PeerId = PeerId::Server(1);

    /// Both ends of a channel: notices are kept, requests are echoed.
    #[derive(Default)]
    struct Ends {
        seen: Mutex<Vec<u8>>,
    }

    impl Channel for Ends {
        fn peer(&self) -> PeerId {
            SERVER
        }

        fn send(&self, notice: &[u8]) -> Result<(), RdmaError> {
            self.seen.lock().unwrap().extend(notice);
            Ok(())
        }

        fn call(&self, request: &[u8], _timeout: Duration) -> Result<Vec<u8>, RdmaError> {
            Ok(request.to_vec())
        }

        fn is_alive(&self) -> bool {
            true
        }
    }

    impl Service for Ends {
        fn on_request(&self, _from: PeerId, request: &[u8]) -> Vec<u8> {
            request.to_vec()
        }

        fn on_notice(&self, _from: PeerId, notice: &[u8]) {
            self.seen.lock().unwrap().extend(notice);
        }

        fn on_peer_lost(&self, _from: PeerId, _cause: &RdmaError) {}
    }

    #[test]
    fn messages_come_late_once_and_in_their_order() {
        let options = SimOptions { delay_max: 1000, loss_percent: 20, ..SimOptions::seeded(1) };
        let way = Disturbance::new(SERVER, options);
        let ends = Arc::new(Ends::default());
        let (channel, service) = (way.channel(ends.clone()), way.service(ends.clone()));
        let start = Instant::now();
        for n in 0..50 {
            channel.send(&[n]).unwrap();
            assert_eq!(channel.call(&[n, n], Duration::from_secs(1)).unwrap(), [n, n]);
            service.on_notice(SERVER, &[n]);
            assert_eq!(service.on_request(SERVER, &[n]), [n]);
        }
        let all: Vec<u8> = (0..50).flat_map(|n| [n, n]).collect();
        assert_eq!(*ends.seen.lock().unwrap(), all);
        // 300 ways of 50 us each in the mean, if none were lost.
        assert!(start.elapsed() > Duration::from_millis(10), "{:?}", start.elapsed());
    }

    #[test]
    fn memory_behind_a_disturbed_way_is_the_same_memory() {
        let memory = Arc::new(ShmSegment::create(SERVER, 1 << 16).unwrap());
        let options = SimOptions { loss_percent: 10, ..SimOptions::seeded(2) };
        let far = Disturbance::new(SERVER, options).segment(memory.clone());
        for n in 0..100 {
            far.write(n * 8, &[n + 1]).unwrap();
            assert_eq!(memory.load(n * 8), n + 1);
        }
        memory.mark_dead();
        assert!(matches!(far.read(0, &mut [0]), Err(RdmaError::PeerLost(SERVER))));
    }
}
