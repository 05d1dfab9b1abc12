//! A seeded network inside one process, for tests: the same traits, while the seed decides what
//! arrives when.
//!
//! **Messages.** Nothing is delivered by itself. [`SimNetwork::step`] delivers the message that is due next; a
//! test calls it until nothing is in flight, and a [`Channel::call`] calls it until its reply has arrived. On
//! one thread the same seed gives the same run, message for message.
//!
//! **Memory** ([`SimNetwork::remote`], `segment.rs`). READ and WRITE take real time, since real threads wait for them,
//! mostly in a page fault. The seed decides what each operation of a segment meets; which thread's operation is
//! the next one, the machine decides.
//!
//! The guarantees of a channel and of a segment hold in the simulation too: order within a channel and direction, no
//! loss, one delivery at a time per channel and direction; data that has arrived when an operation returns, and words
//! that do not tear. Beyond that, anything:
//!
//! | what | messages | READ and WRITE |
//! |---|---|---|
//! | delay | random; now and then a hundred times as much | the same |
//! | bandwidth | of each direction of a channel | of each segment, both directions together |
//! | order | none between channels | of the words of an operation: any |
//! | loss | sent again: comes late, and all that follows it | sent again; if only the answer was lost, done twice |
//! | partition ([`SimNetwork::cut`]) | waits until it is healed | waits; after ten seconds an error |
//! | death ([`SimNetwork::kill`]) | cut off at a random place | an error |
//!
//! **Real servers** (`disturbed.rs`) can be put behind the same network: whole programs run over it.
//!
//! Two things are worse than any transport, on request, to see how others take them: duplicates of messages, and writes
//! that are answered and not done.

mod disturbed;
mod random;
mod segment;
pub(crate) mod throttle;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::wire::channel::{Channel, MESSAGE_BYTES_MAX, Service};
use crate::{PeerId, RdmaError, Segment, ShmSegment, SlowWire, Throttled};

pub use disturbed::Disturbance;
use random::Random;
use segment::SimSegment;

/// The effects of the network on messages.
#[derive(Clone, Copy, Debug)]
pub struct SimOptions {
    /// Seed of all random decisions.
    pub seed: u64,
    /// Usual delays are between 0 and this many units. A unit is [`UNIT_NS`] where time is real.
    pub delay_max: u64,
    /// How many of a hundred notices and requests arrive twice.
    pub duplicate_percent: u64,
    /// How many of a hundred packets are lost; at most 90.
    pub loss_percent: u64,
    /// How many bytes travel in a unit of time; 0: any number.
    pub bandwidth: u64,
    /// How many of a thousand WRITEs are answered and not carried out.
    pub forget_per_mille: u64,
}

/// Real time that a unit of delay takes, in nanoseconds, where threads wait for memory.
pub const UNIT_NS: u64 = 100;

impl SimOptions {
    /// Delays, and nothing else.
    pub fn seeded(seed: u64) -> SimOptions {
        SimOptions {
            seed,
            delay_max: 100,
            duplicate_percent: 0,
            loss_percent: 0,
            bandwidth: 0,
            forget_per_mille: 0,
        }
    }
}

/// The network and the processes on it. Clones are the same network.
#[derive(Clone)]
pub struct SimNetwork {
    shared: Arc<Shared>,
}

impl SimNetwork {
    /// An empty network.
    pub fn new(options: SimOptions) -> SimNetwork {
        assert!(options.loss_percent <= 90, "a network that loses {} %", options.loss_percent);
        let random = Random::new(options.seed);
        let state = State { random, ..State::default() };
        let shared = Shared { options, state: Mutex::new(state), changed: Condvar::new() };
        SimNetwork { shared: Arc::new(shared) }
    }

    /// Adds a process with its service, before it is connected.
    pub fn attach(&self, process: PeerId, service: Arc<dyn Service>) {
        self.shared.lock().services.insert(process, service);
    }

    /// The end at `here` of the channel to `there`. Both ends exist from the first time that either
    /// is asked for.
    pub fn channel(&self, here: PeerId, there: PeerId) -> Arc<dyn Channel> {
        assert!(here != there, "{here} needs no channel to itself");
        let mut state = self.shared.lock();
        state.links.entry((here, there)).or_default();
        state.links.entry((there, here)).or_default();
        Arc::new(SimChannel { shared: self.shared.clone(), here, there })
    }

    /// Memory of a process, which dies with it.
    pub fn segment(&self, process: PeerId, bytes: u64) -> Result<Arc<ShmSegment>, RdmaError> {
        let segment = Arc::new(ShmSegment::create(process, bytes)?);
        self.shared.lock().segments.push((process, segment.clone()));
        Ok(segment)
    }

    /// That memory as `here` reaches it over the network: slower, by detours, and not at all while the two are cut
    /// off from each other.
    pub fn remote(&self, here: PeerId, memory: &Arc<ShmSegment>) -> Arc<dyn Segment> {
        let options = self.shared.options;
        let cut = self.shared.lock().cut(here, memory.server()).clone();
        let segment = Arc::new(SimSegment::new(memory.clone(), memory.server(), options, cut));
        match options.bandwidth {
            0 => segment,
            bytes => {
                let bandwidth = bytes.saturating_mul(1_000_000_000 / UNIT_NS);
                Arc::new(Throttled::new(segment, SlowWire::new(Duration::ZERO, bandwidth)))
            }
        }
    }

    /// Cuts two processes off from each other: nothing passes between them, and neither learns of it.
    pub fn cut(&self, one: PeerId, other: PeerId) {
        self.shared.lock().cut(one, other).store(true, Ordering::Relaxed);
    }

    /// Ends what [`SimNetwork::cut`] began. Messages that were sent meanwhile are on their way again.
    pub fn heal(&self, one: PeerId, other: PeerId) {
        self.shared.lock().cut(one, other).store(false, Ordering::Relaxed);
        self.shared.changed.notify_all();
    }

    /// Delivers the message that is due next. False: none can be delivered now.
    pub fn step(&self) -> bool {
        self.shared.step()
    }

    /// Steps until nothing is in flight. Returns the number of steps; panics after `steps_max`.
    pub fn run(&self, steps_max: usize) -> usize {
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps <= steps_max, "the network is still busy after {steps_max} steps");
        }
        steps
    }

    /// Kills a process, as kill -9 would: some of its last messages are lost, nothing reaches it,
    /// its memory is lost. Processes connected with it are notified as by a message.
    pub fn kill(&self, process: PeerId) {
        let mut state = self.shared.lock();
        state.dead.push(process);
        for (_, segment) in state.segments.iter().filter(|(owner, _)| *owner == process) {
            segment.mark_dead();
        }
        let links: Vec<_> = state.links.keys().copied().collect();
        for (from, to) in links {
            if to == process {
                state.link(from, to).queue.clear();
            } else if from == process {
                let sent = state.link(from, to).queue.len() as u64;
                let kept = state.random.below(sent + 1) as usize;
                state.link(from, to).queue.truncate(kept);
                let due = state.clock + state.random.below(self.shared.options.delay_max + 1);
                state.enqueue(from, to, due, Content::Lost);
            }
        }
        self.shared.changed.notify_all();
    }

    /// The time of the simulation's clock, in units of delay.
    pub fn clock(&self) -> u64 {
        self.shared.lock().clock
    }
}

struct SimChannel {
    shared: Arc<Shared>,
    here: PeerId,
    there: PeerId,
}

impl Channel for SimChannel {
    fn peer(&self) -> PeerId {
        self.there
    }

    fn send(&self, notice: &[u8]) -> Result<(), RdmaError> {
        self.shared.send(self.here, self.there, Content::Notice(notice.to_vec()))
    }

    fn call(&self, request: &[u8], timeout: Duration) -> Result<Vec<u8>, RdmaError> {
        let deadline = Instant::now() + timeout;
        let number = {
            let mut state = self.shared.lock();
            state.last_call += 1;
            state.last_call
        };
        let request = Content::Request(number, request.to_vec());
        self.shared.send(self.here, self.there, request)?;
        loop {
            let moved = self.shared.step();
            let mut state = self.shared.lock();
            if let Some(reply) = state.replies.remove(&number) {
                return Ok(reply);
            }
            if state.dead.contains(&self.there) || state.dead.contains(&self.here) {
                return Err(RdmaError::PeerLost(self.there));
            }
            let stuck = !moved && state.delivering == 0;
            if stuck || Instant::now() >= deadline {
                return Err(RdmaError::Deadline { peer: self.there, after: timeout });
            }
            if !moved {
                // Another thread is delivering, perhaps our request.
                let wait = self.shared.changed.wait_timeout(state, Duration::from_millis(1));
                drop(wait);
            }
        }
    }

    fn is_alive(&self) -> bool {
        !self.shared.lock().dead.contains(&self.there)
    }
}

struct Shared {
    options: SimOptions,
    state: Mutex<State>,
    /// Notified after every delivery.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    random: Random,
    clock: u64,
    /// By sender and receiver.
    links: BTreeMap<(PeerId, PeerId), Link>,
    services: BTreeMap<PeerId, Arc<dyn Service>>,
    segments: Vec<(PeerId, Arc<ShmSegment>)>,
    /// Whether two processes are cut off from each other, the smaller one first. Written by the test, read by every
    /// sender; relaxed: it says nothing about anything else.
    cuts: BTreeMap<(PeerId, PeerId), Arc<AtomicBool>>,
    dead: Vec<PeerId>,
    last_call: u64,
    replies: BTreeMap<u64, Vec<u8>>,
    /// Deliveries in progress now, on any thread.
    delivering: usize,
}

/// One direction of a channel.
#[derive(Default)]
struct Link {
    queue: VecDeque<Message>,
    /// The receiver is inside its service for this link.
    busy: bool,
    /// When it has carried everything that was sent so far, in units of time.
    free_at: u64,
}

struct Message {
    due: u64,
    content: Content,
}

#[derive(Clone)]
enum Content {
    Notice(Vec<u8>),
    Request(u64, Vec<u8>),
    Reply(u64, Vec<u8>),
    Lost,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, from: PeerId, to: PeerId, content: Content) -> Result<(), RdmaError> {
        let bytes = match &content {
            Content::Notice(bytes) | Content::Request(_, bytes) | Content::Reply(_, bytes) => {
                bytes.len()
            }
            Content::Lost => 0,
        };
        if bytes > MESSAGE_BYTES_MAX {
            return Err(RdmaError::MessageTooLong { bytes });
        }
        let mut state = self.lock();
        if state.dead.contains(&to) || state.dead.contains(&from) {
            return Err(RdmaError::PeerLost(to));
        }
        let is_reply = matches!(content, Content::Reply(..));
        let twice = !is_reply && state.random.below(100) < self.options.duplicate_percent;
        for content in std::iter::repeat_n(content, 1 + usize::from(twice)) {
            let carried = state.carry(from, to, bytes as u64, self.options.bandwidth);
            let due = carried + state.random.passage(&self.options);
            state.enqueue(from, to, due, content);
        }
        Ok(())
    }

    fn step(&self) -> bool {
        let mut state = self.lock();
        let cuts = &state.cuts;
        let ready = |((key, link), index): (((PeerId, PeerId), &Link), usize)| {
            let is_cut = cuts.get(&ordered(key)).is_some_and(|cut| cut.load(Ordering::Relaxed));
            let head = link.queue.front().filter(|_| !link.busy && !is_cut)?;
            Some((head.due, index))
        };
        let links = state.links.iter().map(|(key, link)| (*key, link)).zip(0..);
        let Some((due, index)) = links.filter_map(ready).min() else { return false };
        let key = *state.links.keys().nth(index).expect("just found there");
        let (from, to) = key;
        state.clock = state.clock.max(due);
        let link = state.link(from, to);
        let message = link.queue.pop_front().expect("just found there");
        if let Content::Reply(number, bytes) = message.content {
            state.replies.insert(number, bytes);
            self.changed.notify_all();
            return true;
        }
        link.busy = true;
        state.delivering += 1;
        let service = state.services.get(&to).cloned();
        drop(state);
        let service = service.unwrap_or_else(|| panic!("{to} has no service"));
        match message.content {
            Content::Notice(bytes) => service.on_notice(from, &bytes),
            Content::Request(number, bytes) => {
                let reply = service.on_request(from, &bytes);
                // The caller may be dead by now.
                let _ = self.send(to, from, Content::Reply(number, reply));
            }
            Content::Lost => service.on_peer_lost(from, &RdmaError::PeerLost(from)),
            Content::Reply(..) => unreachable!("handled above"),
        }
        let mut state = self.lock();
        state.link(from, to).busy = false;
        state.delivering -= 1;
        self.changed.notify_all();
        true
    }
}

impl State {
    fn link(&mut self, from: PeerId, to: PeerId) -> &mut Link {
        self.links.get_mut(&(from, to)).expect("channels are made before they are used")
    }

    fn cut(&mut self, one: PeerId, other: PeerId) -> &Arc<AtomicBool> {
        self.cuts.entry(ordered((one, other))).or_default()
    }

    /// When a link has carried `bytes` more.
    fn carry(&mut self, from: PeerId, to: PeerId, bytes: u64, bandwidth: u64) -> u64 {
        let clock = self.clock;
        let link = self.link(from, to);
        link.free_at = link.free_at.max(clock);
        if bandwidth > 0 {
            link.free_at += bytes.div_ceil(bandwidth);
        }
        link.free_at
    }

    /// Puts a message behind those that were sent before it.
    fn enqueue(&mut self, from: PeerId, to: PeerId, due: u64, content: Content) {
        let queue = &mut self.link(from, to).queue;
        let due = queue.back().map_or(due, |last| last.due.max(due));
        queue.push_back(Message { due, content });
    }
}

/// The key of state that two processes share.
fn ordered((one, other): (PeerId, PeerId)) -> (PeerId, PeerId) {
    (one.min(other), one.max(other))
}

/// After how many of the longest usual delays a packet that was lost is sent again.
const RETRY_DELAYS: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    /// Records the messages that it gets; a request is passed on to the next server until there is none.
    struct Scribe {
        network: SimNetwork,
        me: PeerId,
        log: Arc<Mutex<Vec<String>>>,
    }

    impl Scribe {
        fn note(&self, what: String) {
            self.log.lock().unwrap().push(format!("{} {what}", self.me));
        }
    }

    impl Service for Scribe {
        fn on_request(&self, _from: PeerId, request: &[u8]) -> Vec<u8> {
            self.note(format!("asked {request:?}"));
            let PeerId::Server(n @ 0..2) = self.me else { return request.to_vec() };
            let next = self.network.channel(self.me, PeerId::Server(n + 1));
            let mut reply = next.call(request, Duration::from_secs(5)).unwrap_or_default();
            reply.push(n as u8);
            reply
        }

        fn on_notice(&self, from: PeerId, notice: &[u8]) {
            self.note(format!("told by {from} {notice:?}"));
        }

        fn on_peer_lost(&self, from: PeerId, _cause: &RdmaError) {
            self.note(format!("lost {from}"));
        }
    }

    fn network(options: SimOptions) -> (SimNetwork, Arc<Mutex<Vec<String>>>) {
        let network = SimNetwork::new(options);
        let log = Arc::new(Mutex::new(Vec::new()));
        for me in [PeerId::Vm, PeerId::Server(0), PeerId::Server(1), PeerId::Server(2)] {
            let scribe = Scribe { network: network.clone(), me, log: log.clone() };
            network.attach(me, Arc::new(scribe));
        }
        (network, log)
    }

    fn to(network: &SimNetwork, n: u16) -> Arc<dyn Channel> {
        network.channel(PeerId::Vm, PeerId::Server(n))
    }

    fn one_run(seed: u64) -> Vec<String> {
        let (network, log) = network(SimOptions::seeded(seed));
        for n in 0..20 {
            to(&network, n % 3).send(&[n as u8]).unwrap();
        }
        let reply = to(&network, 0).call(b"x", Duration::from_secs(5)).unwrap();
        assert_eq!(reply, [b'x', 1, 0]);
        network.run(1000);
        let log = log.lock().unwrap();
        log.clone()
    }

    #[test]
    fn a_seed_repeats_and_seeds_differ() {
        assert_eq!(one_run(7), one_run(7));
        assert_ne!(one_run(7), one_run(8));
    }

    #[test]
    fn every_channel_keeps_its_order() {
        for seed in 0..50 {
            let log = one_run(seed);
            for server in 0..3_u8 {
                let told = format!("memory server {server} told");
                let seen: Vec<_> = log.iter().filter(|line| line.starts_with(&told)).collect();
                let all: Vec<_> = (0..20_u8).filter(|n| n % 3 == server).collect();
                assert_eq!(seen.len(), all.len());
                assert!(seen.iter().zip(all).all(|(line, n)| line.ends_with(&format!("[{n}]"))));
            }
        }
    }

    #[test]
    fn a_killed_process_is_reported_and_its_memory_is_gone() {
        let (network, log) = network(SimOptions::seeded(1));
        let memory = network.segment(PeerId::Server(0), 4096).unwrap();
        let channel = to(&network, 0);
        channel.send(b"never read").unwrap();
        network.kill(PeerId::Server(0));
        assert!(!channel.is_alive() && channel.send(b"x").is_err());
        assert!(crate::Segment::write(&*memory, 0, &[1]).is_err());
        network.run(10);
        assert_eq!(*log.lock().unwrap(), ["the VM lost memory server 0"]);
    }

    #[test]
    fn duplicates_come_when_asked_for() {
        let options = SimOptions { duplicate_percent: 50, ..SimOptions::seeded(3) };
        let (network, log) = network(options);
        for _ in 0..100 {
            to(&network, 1).send(b"x").unwrap();
        }
        network.run(1000);
        assert!((120..180).contains(&log.lock().unwrap().len()));
    }

    #[test]
    fn a_lost_message_comes_late_and_in_its_turn() {
        let options = SimOptions { loss_percent: 50, ..SimOptions::seeded(4) };
        let (network, log) = network(options);
        for n in 0..100 {
            to(&network, 1).send(&[n]).unwrap();
        }
        assert_eq!(network.run(1000), 100);
        let told = |n: u8| format!("memory server 1 told by the VM [{n}]");
        assert_eq!(*log.lock().unwrap(), (0..100).map(told).collect::<Vec<_>>());
        assert!(network.clock() > 4 * 100, "{}", network.clock());
    }

    #[test]
    fn a_narrow_network_takes_its_time() {
        let options = SimOptions { bandwidth: 10, delay_max: 0, ..SimOptions::seeded(5) };
        let (network, _) = network(options);
        for _ in 0..5 {
            to(&network, 1).send(&[0; 1000]).unwrap();
            to(&network, 2).send(&[0; 1000]).unwrap();
        }
        network.run(1000);
        assert_eq!(network.clock(), 500, "both channels at a time");
    }

    #[test]
    fn a_partition_stops_messages_until_it_is_healed() {
        let (network, log) = network(SimOptions::seeded(6));
        let (vm, server) = (PeerId::Vm, PeerId::Server(1));
        network.cut(server, vm);
        to(&network, 1).send(b"x").unwrap();
        to(&network, 2).send(b"x").unwrap();
        assert_eq!(network.run(10), 1, "others continue");
        let late = to(&network, 1).call(b"y", Duration::from_secs(5));
        assert!(matches!(late, Err(RdmaError::Deadline { .. })));
        network.heal(vm, server);
        network.run(10);
        assert!(log.lock().unwrap().contains(&"memory server 1 told by the VM [120]".into()));
    }
}
