//! The VM's side of the agents: requests, notices, and the end of everything when a server fails.
//!
//! What agents say is checked against what they were asked, and the VM ends with a line that names the server if it
//! cannot be: places outside of what a server was given, answers that nobody asked for, tables without end. What is in
//! the heap's pages is not checked: the servers hold the heap, and who holds it can change it.

use super::snapshot::Snapshot;
use crate::agent::protocol::{
    Discovered, ENTRIES_MAX, Evacuation, Flags, LAYOUTS_MAX, Notice, Referents, Reply, Request,
};
use crate::agent::{Evacuated, Termination};
use crate::heap_core::HeapCore;
use crate::hit::{EntryIndex, HitGeometry, RegionId, TABLET_ENTRIES, TABLET_WORDS};
use crate::object::KlassId;
use parking_lot::{Condvar, Mutex};
use rdma::{PeerId, RdmaError, Service};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Receives what agents send unasked.
#[derive(Default)]
pub struct Inbox {
    notices: Mutex<VecDeque<(PeerId, Notice)>>,
    arrived: Condvar,
}

impl Service for Inbox {
    fn on_request(&self, from: PeerId, _request: &[u8]) -> Vec<u8> {
        stop_vm(&format!("{from} sent a request, which agents never do"))
    }

    fn on_notice(&self, from: PeerId, notice: &[u8]) {
        match Notice::decode(notice) {
            Ok(Notice::Failed(why)) => stop_vm(&format!("{from}: {why}")),
            Ok(notice) => {
                let mut notices = self.notices.lock();
                if notices.len() == NOTICES_MAX {
                    stop_vm(&format!("{from} sent more notices than it was asked for"));
                }
                notices.push_back((from, notice));
                self.arrived.notify_all();
            }
            Err(why) => stop_vm(&format!("{from} sent a malformed notice: {}", why.0)),
        }
    }

    fn on_peer_lost(&self, from: PeerId, cause: &RdmaError) {
        stop_vm(&format!("{from} is lost: {cause}"))
    }
}

/// All agents of a heap. Used by the collector's thread only.
pub struct Agents {
    core: Arc<HeapCore>,
    geometry: HitGeometry,
    inbox: Arc<Inbox>,
    /// Layouts with ids below this have been sent.
    layouts_sent: Mutex<u32>,
    fields_sent: Mutex<bool>,
    /// Evacuations that servers are at work on.
    at_agents: Mutex<Vec<Evacuation>>,
}

impl Agents {
    /// Tells the agents the geometry.
    pub fn new(core: Arc<HeapCore>, geometry: HitGeometry, inbox: Arc<Inbox>) -> Agents {
        let (layouts_sent, fields_sent) = (Mutex::new(1), Mutex::new(false));
        let at_agents = Mutex::default();
        let agents = Agents { core, geometry, inbox, layouts_sent, fields_sent, at_agents };
        agents.ask_all(&Request::Configure(geometry));
        agents
    }

    pub fn count(&self) -> usize {
        self.geometry.servers()
    }

    /// Clears the marks of the last cycle.
    pub fn begin_tracing(&self, keep_soft_from_ms: i64) {
        self.ask_all(&Request::BeginTracing);
        let referents = Referents::Discover { keep_soft_from_ms };
        self.ask_all(&Request::TreatReferences(referents));
    }

    pub fn follow_referents(&self) {
        self.ask_all(&Request::TreatReferences(Referents::Follow));
    }

    /// Sends the layouts registered since the last time, before anything is traced that may need
    /// them.
    pub fn send_layouts(&self) {
        let mut first = self.layouts_sent.lock();
        let count = self.core.layouts.count();
        while *first < count {
            let end = count.min(*first + LAYOUTS_MAX as u32);
            let layout = |id| self.core.layouts.find(KlassId(id)).cloned();
            // An id may be taken and its layout not yet set; nothing in the snapshot is of that
            // class.
            let layouts: Vec<_> = (*first..end).map_while(layout).collect();
            if layouts.is_empty() {
                break;
            }
            let sent = layouts.len() as u32;
            self.ask_all(&Request::Layouts { first: *first, layouts });
            *first += sent;
        }
        let mut fields_sent = self.fields_sent.lock();
        if !*fields_sent && let Some(fields) = self.core.reference_fields() {
            self.ask_all(&Request::ReferenceFields(*fields));
            *fields_sent = true;
        }
    }

    /// Adds roots, each at its server.
    pub fn send_roots(&self, entries: &[EntryIndex]) {
        let mut by_server = vec![Vec::new(); self.count()];
        for entry in entries.iter().filter(|e| !e.is_null()) {
            by_server[self.geometry.tablet_server(entry.tablet())].push(*entry);
        }
        for (server, entries) in by_server.iter().enumerate() {
            for batch in entries.chunks(ENTRIES_MAX) {
                self.expect_ok(server, &Request::Roots(batch.to_vec()));
            }
        }
    }

    /// Polls until tracing is over. `hurry` when mutators wait.
    pub fn await_end_of_tracing(&self, hurry: bool) {
        let mut termination = Termination::new(self.count());
        let pause_max = if hurry { PAUSE_MIN } else { PAUSE_MAX };
        let mut pause = PAUSE_MIN;
        loop {
            let mut all_quiet = true;
            for server in 0..self.count() {
                let flags = self.poll(server);
                all_quiet &= flags.is_quiet();
                if termination.observe(flags) {
                    return;
                }
            }
            if !all_quiet {
                std::thread::sleep(pause);
                pause = (pause * 2).min(pause_max);
            }
        }
    }

    fn poll(&self, server: usize) -> Flags {
        match self.ask(server, &Request::Poll) {
            Reply::Flags(flags) => flags,
            other => stop_vm(&format!("{} answered a poll with {other:?}", peer(server))),
        }
    }

    /// Reference objects discovered so far; all of them are marked in the snapshot.
    pub fn take_discovered(&self, snapshot: &Snapshot) -> Vec<Discovered> {
        let mut all = Vec::new();
        for server in 0..self.count() {
            let mut left = self.geometry.tablets_per_server() * TABLET_ENTRIES;
            loop {
                match self.ask(server, &Request::TakeDiscovered) {
                    Reply::Discovered { references, more } => {
                        let is_sound = |d: &Discovered| {
                            snapshot.is_marked(d.reference)
                                && self.geometry.tablet_server(d.reference.tablet()) == server
                        };
                        let is_endless = references.len() > left || more && references.is_empty();
                        if is_endless || !references.iter().all(is_sound) {
                            stop_vm(&format!("{} found references where none are", peer(server)));
                        }
                        left -= references.len();
                        all.extend(references);
                        if !more {
                            break;
                        }
                    }
                    other => stop_vm(&format!("{} answered {other:?}", peer(server))),
                }
            }
        }
        all
    }

    /// Makes the agents count what lives where, and reads it: bytes by region.
    pub fn finish_tracing(&self) -> Vec<u64> {
        self.ask_all(&Request::FinishTracing);
        let mut live = vec![0; self.geometry.regions()];
        let per_server = self.geometry.regions_per_server();
        for (server, part) in live.chunks_mut(per_server).enumerate() {
            let first = RegionId((server * per_server) as u32);
            self.read(server, self.geometry.live_bytes_offset(first), part);
            if part.iter().any(|bytes| *bytes > self.geometry.heap_bytes() as u64) {
                stop_vm(&format!("{} counted more alive than the heap has", peer(server)));
            }
        }
        live
    }

    /// Writes the allocation bits of a snapshot to the servers.
    pub fn write_snapshot(&self, snapshot: &Snapshot) {
        for tablet in snapshot.tablets() {
            let server = self.geometry.tablet_server(tablet.id);
            let at = self.geometry.alloc_bits_offset(tablet.id);
            let written = self.segment(server).write(at as u64, &tablet.allocated);
            written.unwrap_or_else(|e| stop_vm(&e.to_string()));
        }
    }

    /// Reads the mark bits of a snapshot's tablets.
    pub fn read_marks(&self, snapshot: &mut Snapshot) {
        for tablet in snapshot.tablets_mut() {
            let server = self.geometry.tablet_server(tablet.id);
            let mut marks = [0; TABLET_WORDS];
            self.read(server, self.geometry.mark_bits_offset(tablet.id), &mut marks);
            tablet.marked = marks;
        }
    }

    /// Hands a group to its server; [`await_evacuated`](Self::await_evacuated) says when it is
    /// done.
    pub fn evacuate(&self, job: Evacuation) {
        // The answer may be quicker than the reply.
        self.at_agents.lock().push(job.clone());
        self.expect_ok(self.geometry.region_server(job.to), &Request::Evacuate(job));
    }

    /// The next group that is done: its number, the heap offset behind its last object, objects
    /// moved.
    pub fn await_evacuated(&self) -> (u32, Evacuated) {
        let deadline = Instant::now() + TIMEOUT;
        let mut notices = self.inbox.notices.lock();
        loop {
            if let Some((from, notice)) = notices.pop_front() {
                match notice {
                    Notice::Evacuated { group, top, objects, tablets } => {
                        let evacuated = Evacuated { top, objects, tablets };
                        self.accept(from, group, &evacuated);
                        return (group, evacuated);
                    }
                    Notice::Failed(why) => stop_vm(&format!("{from}: {why}")),
                }
            }
            if self.inbox.arrived.wait_until(&mut notices, deadline).timed_out() {
                stop_vm(&format!("no memory server finished an evacuation within {TIMEOUT:?}"));
            }
        }
    }

    /// Crosses a group off that this server was asked for.
    fn accept(&self, from: PeerId, group: u32, evacuated: &Evacuated) {
        let mut at_agents = self.at_agents.lock();
        let is_it = |job: &Evacuation| {
            job.group == group && peer(self.geometry.region_server(job.to)) == from
        };
        let Some(place) = at_agents.iter().position(is_it) else {
            stop_vm(&format!("{from} evacuated group {group}, which it was not asked for"));
        };
        let job = at_agents.swap_remove(place);
        if let Err(why) = evacuated.check(&job, &self.geometry) {
            stop_vm(&format!("{from} evacuated group {group}: {why}"));
        }
    }

    fn segment(&self, server: usize) -> Arc<dyn rdma::Segment> {
        self.core.space.fleet().expect("Mako has memory servers").segment(server as u16)
    }

    fn read(&self, server: usize, at: usize, words: &mut [u64]) {
        let result = self.segment(server).read(at as u64, words);
        result.unwrap_or_else(|e| stop_vm(&e.to_string()));
    }

    fn ask(&self, server: usize, request: &Request) -> Reply {
        let fleet = self.core.space.fleet().expect("Mako has memory servers");
        let reply = fleet.channel(server as u16).call(&request.encode(), TIMEOUT);
        let reply = reply.unwrap_or_else(|e| stop_vm(&e.to_string()));
        match Reply::decode(&reply) {
            Ok(Reply::Failed(why)) => stop_vm(&format!("{}: {why}", peer(server))),
            Ok(reply) => reply,
            Err(why) => stop_vm(&format!("{} answered nonsense: {}", peer(server), why.0)),
        }
    }

    fn ask_all(&self, request: &Request) {
        (0..self.count()).for_each(|server| self.expect_ok(server, request));
    }

    fn expect_ok(&self, server: usize, request: &Request) {
        match self.ask(server, request) {
            Reply::Ok => {}
            other => stop_vm(&format!("{} answered {other:?}", peer(server))),
        }
    }
}

fn peer(server: usize) -> PeerId {
    PeerId::Server(server as u16)
}

/// Part of the heap is gone or cannot be trusted any more.
fn stop_vm(why: &str) -> ! {
    rdma::die(format_args!("{why}"))
}

/// A server that has not answered for so long counts as dead.
const TIMEOUT: Duration = Duration::from_secs(30);
/// An agent has one evacuation at a time; so many servers there cannot be.
const NOTICES_MAX: usize = 4096;
const PAUSE_MIN: Duration = Duration::from_micros(50);
const PAUSE_MAX: Duration = Duration::from_millis(2);
