//! An agent behind `rdma`'s channels.
//!
//! Receiving threads only lock the agent, put a message in and unlock; they never send, so they
//! always drain their rings and no two agents can block each other. One worker thread does the
//! steps and sends the resulting messages.

use super::parts::{self, Assembly};
use super::protocol::{Mesh, Notice, Relayed, Reply, Request};
use super::wire::Malformed;
use super::{Agent, AgentMemory, Message};
use parking_lot::{Condvar, Mutex, MutexGuard};
use rdma::server::Session;
use rdma::{Channel, PeerId, RdmaError, Service};
use std::sync::Arc;

/// The channels that take an agent's messages.
pub trait Links: Send + Sync {
    /// The channel to a peer, if there is one.
    fn channel(&self, peer: PeerId) -> Option<Arc<dyn Channel>>;
}

impl Links for Session {
    fn channel(&self, peer: PeerId) -> Option<Arc<dyn Channel>> {
        self.peer(peer)
    }
}

/// The service of a memory server that runs an agent.
pub struct AgentService {
    agent: Mutex<Agent>,
    /// Requests of the VM that come in parts.
    parts: Mutex<Assembly>,
    /// The worker waits on it for something to do.
    work: Condvar,
}

impl AgentService {
    /// The agent of a session, as `rdma::server::serve` wants it. Its worker runs until the process
    /// ends.
    pub fn start(session: Arc<Session>) -> Arc<AgentService> {
        let PeerId::Server(me) = session.me() else { panic!("an agent in the VM's process") };
        let memory = AgentMemory::new(session.segment().clone());
        AgentService::start_with(me, memory, session)
    }

    /// The same over any channels.
    pub fn start_with(me: u16, memory: AgentMemory, links: Arc<dyn Links>) -> Arc<AgentService> {
        let agent = Mutex::new(Agent::new(me.into(), memory));
        let service =
            Arc::new(AgentService { agent, parts: Mutex::default(), work: Condvar::new() });
        let worker = service.clone();
        let name = format!("agent {me}");
        let spawned = std::thread::Builder::new().name(name).spawn(move || worker.work(&*links));
        spawned.expect("a memory server can start a second thread");
        service
    }

    fn work(&self, links: &dyn Links) {
        let mut agent = self.agent.lock();
        loop {
            let mut worked = agent.step();
            while let Some(message) = agent.next_message() {
                // Without the lock something may arrive, whose notification would be missed.
                worked = true;
                MutexGuard::unlocked_fair(&mut agent, || send(links, message));
            }
            if worked {
                MutexGuard::bump(&mut agent);
            } else {
                self.work.wait(&mut agent);
            }
        }
    }
}

impl Service for AgentService {
    fn on_request(&self, from: PeerId, request: &[u8]) -> Vec<u8> {
        let reply = match self.assembled(from, request) {
            // The rest follows.
            Ok(None) => Reply::Ok,
            Ok(Some(request)) => self.agent.lock().request(request),
            Err(why) => Reply::Failed(format!("{from} sent a malformed request: {}", why.0)),
        };
        self.work.notify_one();
        reply.encode()
    }

    fn on_notice(&self, from: PeerId, notice: &[u8]) {
        let message = match from {
            PeerId::Server(peer) => Mesh::decode(notice).map(|message| (peer.into(), message)),
            PeerId::Vm => Relayed::decode(notice).map(|r| (r.from as usize, r.message)),
        };
        match message {
            Ok((peer, message)) => self.agent.lock().receive(peer, message),
            Err(why) => {
                self.agent.lock().fail(format!("{from} sent a malformed notice: {}", why.0));
            }
        }
        self.work.notify_one();
    }

    /// Nothing to do: when the VM is lost the process ends, and when another server is lost the VM
    /// ends, or gives the cycle up.
    fn on_peer_lost(&self, _from: PeerId, _cause: &RdmaError) {}
}

impl AgentService {
    /// A request that is complete.
    fn assembled(&self, from: PeerId, request: &[u8]) -> Result<Option<Request>, Malformed> {
        if from != PeerId::Vm {
            return Err(Malformed("only the VM asks"));
        }
        let whole = self.parts.lock().take(request)?;
        whole.map(|whole| Request::decode(&whole)).transpose()
    }
}

fn send(links: &dyn Links, message: Message) {
    let (peer, bytes) = match message {
        Message::ToAgent { server, message } => (PeerId::Server(server as u16), message.encode()),
        Message::ToVm(notice) => (PeerId::Vm, notice.encode()),
    };
    let sent = match links.channel(peer) {
        Some(channel) => match parts::split(&bytes).try_for_each(|part| channel.send(&part)) {
            // The VM misses the peer itself.
            Ok(()) | Err(RdmaError::PeerLost(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
        },
        None => Err(format!("there is no channel to {peer}")),
    };
    // Without this message the cycle cannot end, so the VM must be notified; if that fails, the VM itself is lost.
    if let (Err(why), true) = (sent, peer != PeerId::Vm)
        && let Some(vm) = links.channel(PeerId::Vm)
    {
        let _vm_is_gone = vm.send(&Notice::Failed(why).encode());
    }
}

#[cfg(test)]
mod tests {
    use super::super::protocol::Evacuation;
    use super::*;
    use crate::hit::{EntryWidth, HitGeometry, RegionId, TabletId};
    use rdma::ShmSegment;
    use std::sync::OnceLock;
    use std::time::{Duration, Instant};

    /// The way to a VM that asks for an evacuation while the first notice is being sent to it.
    #[derive(Default)]
    struct HastyVm {
        agent: OnceLock<Arc<AgentService>>,
        notices: Mutex<Vec<Notice>>,
    }

    impl Channel for HastyVm {
        fn peer(&self) -> PeerId {
            PeerId::Vm
        }

        fn send(&self, notice: &[u8]) -> Result<(), RdmaError> {
            let mut notices = self.notices.lock();
            notices.push(Notice::decode(notice).unwrap());
            if notices.len() == 1 && self.agent.get().is_some() {
                let (group, from, tablets) = (7, vec![], vec![]);
                let job = Evacuation { group, from, to: RegionId(0), start: 0, end: 0, tablets };
                self.agent.wait().on_request(PeerId::Vm, &Request::Evacuate(job).encode());
            }
            Ok(())
        }

        fn call(&self, _request: &[u8], _timeout: Duration) -> Result<Vec<u8>, RdmaError> {
            unreachable!("agents ask nothing")
        }

        fn is_alive(&self) -> bool {
            true
        }
    }

    struct ToVm(Arc<HastyVm>);

    impl Links for ToVm {
        fn channel(&self, _peer: PeerId) -> Option<Arc<dyn Channel>> {
            Some(self.0.clone())
        }
    }

    /// The only agent of a heap, and its VM.
    fn start(geometry: &HitGeometry) -> (Arc<HastyVm>, Arc<AgentService>) {
        let segment = ShmSegment::create(PeerId::Server(0), geometry.far_bytes() as u64).unwrap();
        let vm = Arc::new(HastyVm::default());
        let links = Arc::new(ToVm(vm.clone()));
        let agent = AgentService::start_with(0, AgentMemory::new(Arc::new(segment)), links);
        (vm, agent)
    }

    /// Returns when the VM has received the notices that it waits for.
    fn await_notices(vm: &HastyVm, is_there: impl Fn(&[Notice]) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !is_there(&vm.notices.lock()) {
            assert!(Instant::now() < deadline, "the evacuation was slept through");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_request_that_comes_while_something_is_sent_is_not_slept_through() {
        let geometry = HitGeometry::new(8, 16, 1, EntryWidth::Narrow).unwrap();
        let (vm, agent) = start(&geometry);
        agent.on_request(PeerId::Vm, &Request::Configure(geometry).encode());
        assert!(vm.agent.set(agent.clone()).is_ok());
        // Makes the agent complain, which is the first notice.
        agent.on_notice(PeerId::Vm, b"");
        await_notices(&vm, |notices| notices.len() >= 2);
        assert!(matches!(vm.notices.lock()[1], Notice::Evacuated { group: 7, .. }));
    }

    #[test]
    fn an_evacuation_that_is_longer_than_a_frame_arrives() {
        let geometry = HitGeometry::new(128, 24, 1, EntryWidth::Narrow).unwrap();
        let (vm, agent) = start(&geometry);
        let ask = |request: Request| {
            let bytes = request.encode();
            let replies = parts::split(&bytes).map(|part| agent.on_request(PeerId::Vm, &part));
            replies.map(|reply| assert_eq!(Reply::decode(&reply), Ok(Reply::Ok))).count()
        };
        assert_eq!(ask(Request::Configure(geometry)), 1);
        let tablets: Vec<_> = (0..geometry.tablets() as u32).map(TabletId).collect();
        assert!(tablets.len() * 4 > rdma::MESSAGE_BYTES_MAX / 2, "{} tablets", tablets.len());
        let tablets = tablets.repeat(1 + rdma::MESSAGE_BYTES_MAX / tablets.len() / 4);
        let job = Evacuation { group: 9, from: vec![], to: RegionId(0), start: 0, end: 0, tablets };
        assert_eq!(ask(Request::Evacuate(job)), 3);
        let is_done = |notice: &Notice| matches!(notice, Notice::Evacuated { group: 9, .. });
        await_notices(&vm, |notices| notices.iter().any(is_done));
    }
}
