//! The VM's side of Mako's agents: requests, notices, and what happens when a server fails; [`Sessions`] has the parts
//! that are the same for any agents. An agent that reports that it is tracing when no agent has traced anything for
//! long counts as lost.
//!
//! The messages of agents are checked against the requests, and the VM ends with a line that names the server if one
//! is impossible: places outside of the server's share, answers without a request, tables without end. The contents of
//! the heap's pages are not checked: the servers hold the heap, and can change it.

use super::in_process::InProcess;
use super::snapshot::{Snapshot, TabletSnapshot};
use super::touches::Touches;
use crate::agent::parts::Assembly;
use crate::agent::protocol::{
    Discovered, ENTRIES_MAX, Evacuation, Mesh, MoveOrder, Notice, Referents, Relayed, Reply,
    Request,
};
use crate::agent::{Evacuated, Termination};
pub use crate::collectors::sessions::Lost;
use crate::collectors::sessions::{Sessions, peer, stop_vm};
use crate::core::heap_core::HeapCore;
use crate::hit::{EntryIndex, HitGeometry, RegionId, TABLET_ENTRIES};
use crate::object::{KlassId, RootSlot};
use crate::options::MakoOptions;
use crate::tracing::holders::Holders;
use base::Patience;
use parking_lot::{Condvar, Mutex};
use rdma::spawn::Fleet;
use rdma::{PeerId, RdmaError, Segment, Service};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use swap::PageRange;

/// Receives the messages of agents that are no replies.
#[derive(Default)]
pub struct Inbox {
    notices: Mutex<VecDeque<(PeerId, Notice)>>,
    /// Notices that come in parts, by sender.
    parts: Mutex<HashMap<PeerId, Assembly>>,
    arrived: Condvar,
    /// Where messages are passed on to. Set before the first cycle.
    fleet: OnceLock<Weak<Fleet>>,
    /// The cycle that all agents have begun, 0 for none: messages of no other are passed on. Written by the
    /// collector's thread, read by receiving threads. Sequentially consistent, and only a shortcut: agents
    /// ignore old messages.
    cycle: AtomicU32,
}

impl Inbox {
    /// Passes a message on. One to a lost server is dropped, as are those before it: the cycle is given up.
    fn relay(&self, from: PeerId, to: u32, message: Mesh) {
        let PeerId::Server(sender) = from else { stop_vm("a message of the VM to itself") };
        let Some(fleet) = self.fleet.get().and_then(Weak::upgrade) else { return };
        if message.cycle() != self.cycle.load(Ordering::SeqCst) {
            return;
        }
        if to >= u32::from(fleet.servers()) {
            stop_vm(&format!("{from} sent a message for server {to}"));
        }
        let relayed = Relayed { from: sender.into(), message };
        match fleet.channel(to as u16).send(&relayed.encode()) {
            Ok(()) | Err(RdmaError::PeerLost(_)) => {}
            Err(error) => stop_vm(&error.to_string()),
        }
    }
}

impl Service for Inbox {
    fn on_request(&self, from: PeerId, _request: &[u8]) -> Vec<u8> {
        stop_vm(&format!("{from} sent a request, which agents never do"))
    }

    fn on_notice(&self, from: PeerId, notice: &[u8]) {
        let mut parts = self.parts.lock();
        let whole = match parts.entry(from).or_default().take(notice) {
            Ok(Some(whole)) => whole,
            Ok(None) => return,
            Err(why) => stop_vm(&format!("{from} sent a malformed notice: {}", why.0)),
        };
        drop(parts);
        match Notice::decode(&whole) {
            Ok(Notice::Failed(why)) => stop_vm(&format!("{from}: {why}")),
            Ok(Notice::Relay { to, message }) => self.relay(from, to, message),
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

/// The results of tracing other than marks.
pub struct Found {
    pub discovered: Vec<Discovered>,
    /// By region: bytes that live.
    pub live: Vec<u64>,
    /// By region: jumps of tracing.
    pub jumps: Vec<u64>,
}

/// All agents of a heap. Used by the collector's thread only.
pub struct Agents {
    geometry: HitGeometry,
    inbox: Arc<Inbox>,
    fleet: Arc<Fleet>,
    sessions: Sessions,
    core: Arc<HeapCore>,
    /// Those that trace, if it is not those of the servers. Made when they are needed.
    in_process: OnceLock<InProcess>,
    /// Some server has no agent, so this cycle uses none. Written by the collector's thread before a
    /// cycle, read by it.
    is_alone: AtomicBool,
    options: MakoOptions,
    /// By server: the pages that it owns, in all copies.
    stores: Vec<Arc<dyn Segment>>,
    /// Cycles begun so far.
    cycles: AtomicU32,
    /// Groups so far; names them, so that no answer is taken for that to another request.
    jobs: AtomicU32,
    /// The groups that servers are at work on.
    at_agents: Mutex<Vec<Job>>,
}

/// The work of an agent on a group.
struct Job {
    evacuation: Evacuation,
    work: Work,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Copies it ahead.
    Copy,
    /// Evacuates objects that it may have copied ahead.
    Evacuate { copied: bool },
}

/// How a group left its agent.
pub enum Outcome {
    /// It is copied, and has not left yet.
    Copied,
    Evacuated(Evacuated),
    /// The agent is lost, and its work with it.
    Lost,
}

impl Agents {
    /// Tells the agents the geometry.
    pub fn new(core: Arc<HeapCore>, geometry: HitGeometry, inbox: Arc<Inbox>) -> Agents {
        let fleet = core.space.fleet().expect("Mako has memory servers").clone();
        let is_first = inbox.fleet.set(Arc::downgrade(&fleet)).is_ok();
        assert!(is_first, "an inbox belongs to one heap");
        let options = core.options.mako;
        let agents = Agents {
            stores: fleet.segments(),
            in_process: OnceLock::new(),
            is_alone: AtomicBool::new(false),
            options,
            sessions: Sessions::new(core.clone(), Request::Configure(geometry)),
            core,
            geometry,
            inbox,
            fleet,
            cycles: AtomicU32::new(0),
            jobs: AtomicU32::new(0),
            at_agents: Mutex::default(),
        };
        agents.meet(|| false);
        agents
    }

    pub fn count(&self) -> usize {
        self.geometry.servers()
    }

    /// As [`Sessions::meet`]. A cycle is for the agents that were present at its beginning; if one is missing, this
    /// process does their work.
    pub fn meet(&self, is_stopping: impl Fn() -> bool) {
        let is_alone = !self.sessions.meet(is_stopping);
        self.is_alone.store(is_alone, Ordering::Relaxed);
        if is_alone {
            self.core.stats.count("cycles_without_agents", 1);
        }
    }

    /// Whether the servers' agents trace in this cycle.
    pub fn servers_trace(&self) -> bool {
        self.options.offload_tracing && !self.is_alone.load(Ordering::Relaxed)
    }

    /// Whether the servers' agents evacuate in this cycle.
    pub fn servers_evacuate(&self) -> bool {
        self.options.offload_evacuation && !self.is_alone.load(Ordering::Relaxed)
    }

    /// Those of this process, if they trace in this cycle.
    fn in_process(&self) -> Option<&InProcess> {
        let make = || InProcess::new(self.core.clone(), self.geometry);
        (!self.servers_trace()).then(|| self.in_process.get_or_init(make))
    }

    /// Clears the marks of the last cycle.
    pub fn begin_tracing(&self, keep_soft_from_ms: i64, has_touches: bool) -> Result<(), Lost> {
        let cycle = self.cycles.fetch_add(1, Ordering::Relaxed) + 1;
        let replaced = self.servers_trace().then(|| self.sessions.replaced());
        let ghost_buffer = self.options.ghost_buffer as u32;
        let is_ordered = self.options.moves_in_trace_order() && self.servers_trace();
        let order = match (is_ordered, has_touches) {
            (false, _) => MoveOrder::Address,
            (true, false) => MoveOrder::Trace,
            (true, true) => MoveOrder::TouchedFirst,
        };
        for server in 0..self.count() {
            let is_apart = |other: &usize| {
                let is_without_channel = replaced.as_ref().is_some_and(|r| r[server] || r[*other]);
                *other != server && is_without_channel
            };
            let by_vm = (0..self.count()).filter(is_apart).map(|other| other as u32).collect();
            let request = Request::BeginTracing { cycle, by_vm, ghost_buffer, order };
            self.expect_ok(server, request)?;
        }
        // Of groups that were given up: their strings may have died.
        self.inbox.notices.lock().retain(|(_, notice)| !matches!(notice, Notice::Strings(_)));
        self.inbox.cycle.store(cycle, Ordering::SeqCst);
        self.treat_references(Referents::Discover { keep_soft_from_ms })
    }

    /// The agents' work in this cycle is not wanted any more.
    pub fn give_up_cycle(&self) {
        self.inbox.cycle.store(0, Ordering::SeqCst);
    }

    pub fn follow_referents(&self) -> Result<(), Lost> {
        self.treat_references(Referents::Follow)
    }

    fn treat_references(&self, referents: Referents) -> Result<(), Lost> {
        let tell = |server| self.expect_ok(server, Request::TreatReferences(referents));
        (0..self.count()).try_for_each(tell)
    }

    /// As [`Sessions::send_layouts`]: to those that trace, and those that move.
    pub fn send_layouts(&self) -> Result<(), Lost> {
        self.in_process().into_iter().for_each(InProcess::send_layouts);
        match self.servers_trace() || self.servers_evacuate() {
            true => self.sessions.send_layouts(),
            false => Ok(()),
        }
    }

    /// Adds roots, each at its server.
    pub fn send_roots(&self, entries: &[EntryIndex]) -> Result<(), Lost> {
        let mut by_server = vec![Vec::new(); self.count()];
        for entry in entries.iter().filter(|e| !e.is_null()) {
            by_server[self.geometry.tablet_server(entry.tablet())].push(*entry);
        }
        for (server, entries) in by_server.iter().enumerate() {
            for batch in entries.chunks(ENTRIES_MAX) {
                self.expect_ok(server, Request::Roots(batch.to_vec()))?;
            }
        }
        Ok(())
    }

    /// Polls until tracing is over. `hurry` when mutators wait.
    pub fn await_end_of_tracing(&self, hurry: bool) -> Result<(), Lost> {
        if let Some(agents) = self.in_process() {
            agents.run();
            return Ok(());
        }
        let mut termination = Termination::new(self.count());
        let mut pause = self.options.polling_period;
        let pause_max = if hurry { pause } else { self.options.polling_period_max.max(pause) };
        let mut visited = vec![0; self.count()];
        let mut patience = Patience::new(self.sessions.timeout());
        loop {
            let mut busy = None;
            for (server, visited) in visited.iter_mut().enumerate() {
                let (flags, now) = self.sessions.poll(server)?;
                if termination.observe(flags) {
                    return Ok(());
                }
                if !flags.is_quiet() {
                    busy = busy.or(Some(server));
                }
                // Others may be waiting for the work of one of them.
                if std::mem::replace(visited, now) != now {
                    patience = Patience::new(self.sessions.timeout());
                }
            }
            if let Some(server) = busy {
                if patience.step().is_none() {
                    return Err(self.sessions.stuck(server));
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(pause_max);
            }
        }
    }

    /// Reads the marks and the other results of tracing. Tracing is over, for now.
    pub fn take_found(&self, snapshot: &mut Snapshot) -> Result<Found, Lost> {
        self.read_marks(snapshot)?;
        let discovered = self.take_discovered(snapshot)?;
        let (live, jumps) = self.finish_tracing()?;
        Ok(Found { discovered, live, jumps })
    }

    /// Reads the results of tracing since then: adds the marks to the snapshot's, and the rest to `found`. Tracing is
    /// over, for now. The program waits, so unchanged tables are not read again.
    pub fn find_more(&self, snapshot: &mut Snapshot, found: &mut Found) -> Result<(), Lost> {
        if !self.take_marked(snapshot)? {
            self.read_marks(snapshot)?;
        }
        found.discovered.extend(self.take_discovered(snapshot)?);
        (found.live, found.jumps) = self.finish_tracing()?;
        Ok(())
    }

    /// Adds the entries that have been marked since tracing was finished. False if there were too many to be sent one
    /// by one.
    fn take_marked(&self, snapshot: &mut Snapshot) -> Result<bool, Lost> {
        for server in 0..self.count() {
            let mut left = self.geometry.tablets_per_server() * TABLET_ENTRIES;
            loop {
                match self.ask(server, Request::TakeMarked)? {
                    Reply::Marked { complete: false, .. } => return Ok(false),
                    Reply::Marked { entries, more, .. } => {
                        let is_endless = entries.len() > left || more && entries.is_empty();
                        left = left.saturating_sub(entries.len());
                        let mut mark = |entry: &EntryIndex| {
                            (entry.tablet().0 as usize) < self.geometry.tablets()
                                && self.geometry.tablet_server(entry.tablet()) == server
                                && snapshot.mark(*entry)
                        };
                        if is_endless || !entries.iter().all(&mut mark) {
                            stop_vm(&format!("{} marked entries that do not exist", peer(server)));
                        }
                        if !more {
                            break;
                        }
                    }
                    other => stop_vm(&format!("{} answered {other:?}", peer(server))),
                }
            }
        }
        Ok(true)
    }

    /// Reference objects discovered so far; all of them are marked in the snapshot.
    fn take_discovered(&self, snapshot: &Snapshot) -> Result<Vec<Discovered>, Lost> {
        let mut all = Vec::new();
        for server in 0..self.count() {
            let mut left = self.geometry.tablets_per_server() * TABLET_ENTRIES;
            loop {
                match self.ask(server, Request::TakeDiscovered)? {
                    Reply::Discovered { references, more } => {
                        let is_sound = |d: &Discovered| {
                            snapshot.is_marked(d.reference)
                                && self.geometry.tablet_server(d.reference.tablet()) == server
                                && (d.referent.tablet().0 as usize) < self.geometry.tablets()
                        };
                        let is_endless = references.len() > left || more && references.is_empty();
                        if is_endless || !references.iter().all(is_sound) {
                            stop_vm(&format!(
                                "{} reported references that it does not have",
                                peer(server)
                            ));
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
        Ok(all)
    }

    /// Notes the holders of the classes of the objects that were traced since the last time. Tracing is over, for now.
    pub fn take_holders(&self, holders: &Holders) -> Result<(), Lost> {
        let layouts = &self.core.layouts;
        for server in 0..self.count() {
            // Each is reported once.
            let mut left = layouts.count() as usize;
            loop {
                match self.ask(server, Request::TakeClasses)? {
                    Reply::Classes { classes, more } => {
                        let count = classes.len();
                        let is_known = |klass: &KlassId| layouts.find(*klass).is_some();
                        if count > left || more && count == 0 || !classes.iter().all(is_known) {
                            stop_vm(&format!(
                                "{} reported classes that do not exist",
                                peer(server)
                            ));
                        }
                        left -= count;
                        for klass in classes {
                            holders.note(layouts.holder(klass));
                        }
                        if !more {
                            break;
                        }
                    }
                    other => stop_vm(&format!("{} answered {other:?}", peer(server))),
                }
            }
        }
        Ok(())
    }

    /// Makes the agents count live objects, and reads the result: bytes by region, and jumps of tracing by region.
    fn finish_tracing(&self) -> Result<(Vec<u64>, Vec<u64>), Lost> {
        for server in 0..self.count() {
            match self.in_process() {
                Some(agents) => agents.finish_tracing(server),
                None => self.sessions.finish_tracing(server)?,
            }
        }
        let mut live = vec![0; self.geometry.regions()];
        let mut jumps = vec![0; self.geometry.regions()];
        let per_server = self.geometry.regions_per_server();
        for (server, part) in live.chunks_mut(per_server).enumerate() {
            let first = RegionId((server * per_server) as u32);
            self.read(server, self.geometry.live_bytes_offset(first), part)?;
            if part.iter().any(|bytes| *bytes > self.geometry.heap_bytes() as u64) {
                stop_vm(&format!("{} counted more live bytes than the heap has", peer(server)));
            }
            let jumps = &mut jumps[first.index()..][..part.len()];
            self.read(server, self.geometry.jumps_offset(first), jumps)?;
        }
        Ok((live, jumps))
    }

    /// The memory of the tables on servers, by name, bytes. Agents that do not trace report none.
    pub fn server_table_bytes(&self) -> Vec<(&'static str, usize)> {
        self.sessions.table_bytes()
    }

    /// The memory of the tables of agents in this process.
    pub fn own_table_bytes(&self) -> Vec<(&'static str, usize)> {
        self.in_process.get().map(InProcess::table_bytes).unwrap_or_default()
    }

    /// Writes the allocation bits of a snapshot to where those that trace find them.
    pub fn write_snapshot(&self, snapshot: &Snapshot) -> Result<(), Lost> {
        for server in 0..self.count() {
            let tablets = self.tablets_of(snapshot, server);
            let parts = tablets.map(|t| (self.geometry.alloc_bits_offset(t.id), &t.allocated[..]));
            self.write(server, parts)?;
        }
        Ok(())
    }

    /// Writes which objects of a snapshot's tablets the program has touched to where those that trace find it.
    pub fn write_touches(&self, snapshot: &Snapshot, touches: &Touches) -> Result<(), Lost> {
        for server in 0..self.count() {
            let bits: Vec<_> =
                self.tablets_of(snapshot, server).map(|t| (t.id, touches.of(t.id))).collect();
            let parts =
                bits.iter().map(|(t, bits)| (self.geometry.touch_bits_offset(*t), &bits[..]));
            self.write(server, parts)?;
        }
        Ok(())
    }

    /// Writes words to places in the memory of one that traces.
    fn write<'a>(
        &self,
        server: usize,
        parts: impl Iterator<Item = (usize, &'a [u64])>,
    ) -> Result<(), Lost> {
        match self.in_process() {
            Some(agents) => parts.for_each(|(at, words)| agents.write(server, at, words)),
            None => {
                let parts: Vec<_> = parts.map(|(at, words)| (at as u64, words)).collect();
                self.sessions.write_all(server, &parts)?;
            }
        }
        Ok(())
    }

    /// Reads the mark bits of a snapshot's tablets.
    fn read_marks(&self, snapshot: &mut Snapshot) -> Result<(), Lost> {
        for server in 0..self.count() {
            let tablets = snapshot.tablets_mut().iter_mut();
            let tablets = tablets.filter(|t| self.geometry.tablet_server(t.id) == server);
            let bits = |tablet: &TabletSnapshot| self.geometry.mark_bits_offset(tablet.id);
            match self.in_process() {
                Some(agents) => tablets.for_each(|t| agents.read(server, bits(t), &mut t.marked)),
                None => {
                    let parts = tablets.map(|t| (bits(t) as u64, &mut t.marked[..]));
                    self.sessions.read_all(server, &mut parts.collect::<Vec<_>>())?;
                }
            }
        }
        Ok(())
    }

    /// Writes the marks of a snapshot to the servers, whose agents move the marked objects, if others have traced.
    pub fn share_marks(&self, snapshot: &Snapshot) -> Result<(), Lost> {
        if self.servers_trace() || !self.servers_evacuate() {
            return Ok(());
        }
        for server in 0..self.count() {
            let bits = |t: &TabletSnapshot| self.geometry.mark_bits_offset(t.id) as u64;
            let tablets = self.tablets_of(snapshot, server);
            let parts: Vec<_> = tablets.map(|t| (bits(t), &t.marked[..])).collect();
            self.sessions.write_all(server, &parts)?;
        }
        Ok(())
    }

    /// The tablets of a snapshot that belong to a server.
    fn tablets_of<'a>(
        &self,
        snapshot: &'a Snapshot,
        server: usize,
    ) -> impl Iterator<Item = &'a TabletSnapshot> {
        snapshot.tablets().iter().filter(move |t| self.geometry.tablet_server(t.id) == server)
    }

    /// Asks one that traces.
    fn ask(&self, server: usize, request: Request) -> Result<Reply, Lost> {
        match self.in_process() {
            Some(agents) => Ok(agents.ask(server, request)),
            None => self.sessions.ask(server, &request),
        }
    }

    fn expect_ok(&self, server: usize, request: Request) -> Result<(), Lost> {
        match self.in_process() {
            Some(agents) => agents.expect_ok(server, request),
            None => self.sessions.expect_ok(server, &request)?,
        }
        Ok(())
    }

    /// Reads words of the memory of one that traces.
    fn read(&self, server: usize, at: usize, words: &mut [u64]) -> Result<(), Lost> {
        match self.in_process() {
            Some(agents) => agents.read(server, at, words),
            None => self.sessions.read(server, at, words)?,
        }
        Ok(())
    }

    /// A name for a group that no other one has.
    pub fn next_job(&self) -> u32 {
        self.jobs.fetch_add(1, Ordering::Relaxed)
    }

    /// Has the server of a group copy it. [`await_job`](Self::await_job) returns when it has.
    pub fn copy_ahead(&self, evacuation: Evacuation) -> Result<(), Lost> {
        self.hand(Work::Copy, evacuation.clone(), Request::CopyAhead(evacuation))
    }

    /// Hands a group to its server. [`await_job`](Self::await_job) returns when it is done.
    pub fn evacuate(&self, evacuation: Evacuation, copied: bool) -> Result<(), Lost> {
        self.hand(Work::Evacuate { copied }, evacuation.clone(), Request::Evacuate(evacuation))
    }

    fn hand(&self, work: Work, evacuation: Evacuation, request: Request) -> Result<(), Lost> {
        let (group, server) = (evacuation.group, self.geometry.region_server(evacuation.to));
        // A lost one may still be running, and would work on pages that the VM no longer writes to it.
        if self.sessions.is_lost(server) {
            return Err(Lost);
        }
        // The answer may be quicker than the reply.
        self.at_agents.lock().push(Job { evacuation, work });
        self.sessions.expect_ok(server, &request).inspect_err(|_| self.forget(group))?;
        Ok(())
    }

    /// The next group that is copied or done, or never will be: its place in `jobs`, which are the groups' names and
    /// servers.
    pub fn await_job(&self, jobs: &[(u32, usize)]) -> (usize, Outcome) {
        let mut patience = Patience::new(self.sessions.timeout());
        let mut notices = self.inbox.notices.lock();
        loop {
            while let Some((from, notice)) = notices.pop_front() {
                let (group, outcome) = match notice {
                    Notice::Copied { group } => (group, Outcome::Copied),
                    Notice::Evacuated { group, top, objects, tablets } => {
                        (group, Outcome::Evacuated(Evacuated { top, objects, tablets }))
                    }
                    Notice::Strings(entries) => {
                        self.note_strings(from, entries);
                        continue;
                    }
                    other => stop_vm(&format!("{from} sent {other:?}")),
                };
                if self.accept(from, group, &outcome)
                    && let Some(place) = jobs.iter().position(|(job, _)| *job == group)
                {
                    return (place, outcome);
                }
            }
            if let Some(place) = jobs.iter().position(|(_, server)| self.sessions.is_lost(*server))
            {
                self.forget(jobs[place].0);
                return (place, Outcome::Lost);
            }
            self.inbox.arrived.wait_for(&mut notices, LOSS_INTERVAL);
            if patience.step().is_none() {
                let (server, after) = (jobs[0].1, self.sessions.timeout());
                self.sessions.lost(server, &RdmaError::Deadline { peer: peer(server), after });
                self.forget(jobs[0].0);
                return (0, Outcome::Lost);
            }
        }
    }

    /// Strings are candidates for deduplication.
    fn note_strings(&self, from: PeerId, entries: Vec<EntryIndex>) {
        let tablets = self.geometry.tablets_per_server() as u32;
        let is_its = |entry: &EntryIndex| peer((entry.tablet().0 / tablets) as usize) == from;
        if !entries.iter().all(is_its) {
            stop_vm(&format!("{from} moved strings that are not its own"));
        }
        let slot = |entry: EntryIndex| {
            let slot = RootSlot::null();
            slot.word().store(entry.0.into(), Ordering::Relaxed);
            slot
        };
        self.core.strings.add(entries.into_iter().map(slot));
    }

    /// Crosses off the request to this server. False: the group was given up, since its server was found
    /// lost before its notice.
    fn accept(&self, from: PeerId, group: u32, outcome: &Outcome) -> bool {
        let mut at_agents = self.at_agents.lock();
        let is_it = |job: &Job| {
            let server = self.geometry.region_server(job.evacuation.to);
            let is_copied = matches!(outcome, Outcome::Copied);
            job.evacuation.group == group
                && peer(server) == from
                && is_copied == (job.work == Work::Copy)
        };
        let Some(place) = at_agents.iter().position(is_it) else {
            if self.fleet.seats().is_some() && group < self.jobs.load(Ordering::Relaxed) {
                return false;
            }
            stop_vm(&format!("{from} evacuated group {group}, which it was not asked for"));
        };
        let Job { evacuation, work } = at_agents.swap_remove(place);
        if let Outcome::Evacuated(evacuated) = outcome {
            let copied = work == Work::Evacuate { copied: true };
            if let Err(why) = evacuated.check(&evacuation, &self.geometry, copied) {
                stop_vm(&format!("{from} evacuated group {group}: {why}"));
            }
        }
        true
    }

    /// The group is given up.
    fn forget(&self, group: u32) {
        self.at_agents.lock().retain(|job| job.evacuation.group != group);
    }

    /// Copies the changes of a server's agent to its mirror. All or nothing.
    pub fn share(&self, server: usize, ranges: &[PageRange]) -> Result<(), Lost> {
        if self.fleet.seats().is_none() {
            return Ok(());
        }
        let mut copies = Vec::new();
        for range in ranges {
            let mut words = vec![0; range.bytes() / 8];
            self.sessions.read(server, range.start.offset(), &mut words)?;
            copies.push((range.start.offset() as u64, words));
        }
        for (at, words) in copies {
            let written = self.stores[server].write(at, &words);
            written.unwrap_or_else(|error| stop_vm(&error.to_string()));
        }
        Ok(())
    }
}

/// An agent has one evacuation at a time; there cannot be this many servers.
const NOTICES_MAX: usize = 4096;
/// How often a thread that waits for a notice checks whether its sender is still present.
const LOSS_INTERVAL: Duration = Duration::from_millis(10);
