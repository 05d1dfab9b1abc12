//! The VM's side of the agents of any collector: which ones are present, what each knows, requests and answers,
//! losses.
//!
//! Without a second copy of the heap, a lost server is the end of the VM. With one ([`Lost`]) the collector gives
//! up the work of the agents, and begins again: with the agents if another server is in the place of the lost one
//! soon ([`Sessions::meet`]), and else without any. An agent that does not answer for
//! [`agent_timeout`](crate::options::HeapOptions::agent_timeout) counts as lost then.

use crate::agent::parts;
use crate::agent::protocol::{Flags, LAYOUTS_BYTES, LAYOUTS_MAX, Reply, Request, layout_bytes};
use crate::agent::tables::TableBytes;
use crate::core::heap_core::HeapCore;
use crate::object::KlassId;
use crate::object::layout::{HolderId, KlassLayout};
use crate::options::CollectorKind;
use parking_lot::Mutex;
use rdma::spawn::{Fleet, Link};
use rdma::{PeerId, RdmaError, SeatState, Segment};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A memory server was lost, and with it the state of its agent. The heap is whole.
#[derive(Debug)]
pub struct Lost;

/// The agents of a heap. Used by the collector's thread, and by another one in a pause that the first takes no part in.
pub struct Sessions {
    core: Arc<HeapCore>,
    fleet: Arc<Fleet>,
    /// The first request to an agent: the sizes of everything.
    geometry: Request,
    /// By server. Those of one cycle are of the same processes from its beginning to its end.
    sessions: Mutex<Vec<Session>>,
    /// The number of servers that had been lost when [`meet`](Self::meet) last waited in vain. Only its caller looks
    /// at it.
    waited_losses: AtomicU32,
}

/// One agent: one process.
#[derive(Clone)]
struct Session {
    link: Link,
    /// It knows the geometry.
    is_met: bool,
    told: Told,
    /// Its tables, when it last said so.
    tables: TableBytes,
}

/// The layouts that an agent knows.
#[derive(Clone, Copy)]
pub struct Told {
    /// Layouts with ids below this have been sent.
    layouts: u32,
    fields: bool,
    strings: bool,
}

impl Default for Told {
    /// Nothing; there is no layout 0.
    fn default() -> Told {
        Told { layouts: 1, fields: false, strings: false }
    }
}

impl Told {
    /// Sends the layouts that have been registered since.
    pub fn tell(
        &mut self,
        core: &HeapCore,
        send: impl Fn(&Request) -> Result<(), Lost>,
    ) -> Result<(), Lost> {
        let count = core.layouts.count();
        while self.layouts < count {
            let (first, end) = (self.layouts, count.min(self.layouts + LAYOUTS_MAX as u32));
            let layout = |id| {
                let layout = core.layouts.find(KlassId(id))?.clone();
                Some((core.layouts.holder(KlassId(id)), layout))
            };
            // A message holds a limited number of bytes; a class has all slots of those above it.
            let mut bytes = 0;
            let fits = |(_, layout): &(HolderId, KlassLayout)| {
                bytes += layout_bytes(layout);
                bytes <= LAYOUTS_BYTES || bytes == layout_bytes(layout)
            };
            // An id may be taken and its layout not yet set; nothing in the snapshot is of that
            // class.
            let layouts: Vec<_> = (first..end).map_while(layout).take_while(fits).collect();
            if layouts.is_empty() {
                break;
            }
            let sent = layouts.len() as u32;
            send(&Request::Layouts { first, layouts })?;
            self.layouts += sent;
        }
        if !self.fields
            && let Some(fields) = core.reference_fields()
        {
            send(&Request::ReferenceFields(*fields))?;
            self.fields = true;
        }
        // Semeru's agents move nothing.
        if !self.strings
            && core.options.collector == CollectorKind::Mako
            && let Some(KlassId(klass)) = core.strings.klass()
        {
            send(&Request::Strings { klass })?;
            self.strings = true;
        }
        Ok(())
    }
}

impl Sessions {
    /// No agent is met yet.
    pub fn new(core: Arc<HeapCore>, geometry: Request) -> Sessions {
        let fleet = core.space.fleet().expect("a collector with agents has memory servers").clone();
        let (sessions, waited_losses) = (Mutex::default(), AtomicU32::new(0));
        Sessions { core, fleet, geometry, sessions, waited_losses }
    }

    pub fn count(&self) -> usize {
        self.fleet.servers().into()
    }

    /// Meets the agents that took the places of lost ones. False: there is not one for each server, or one lacks a
    /// part of the memory that its server should hold, so that no agent can be used. Waits for a moment after a
    /// loss, so no world may be stopped; not beyond the time when `is_stopping`.
    pub fn meet(&self, is_stopping: impl Fn() -> bool) -> bool {
        loop {
            if !self.await_whole(&is_stopping) {
                return false;
            }
            let meet = |server: usize| {
                let link = self.fleet.link(server as u16);
                let known = self.sessions.lock().get(server).cloned();
                if known.is_some_and(|s| s.is_met && s.link.incarnation == link.incarnation) {
                    return Ok(());
                }
                let (told, tables) = (Told::default(), TableBytes::default());
                let new = Session { link, is_met: false, told, tables };
                let mut sessions = self.sessions.lock();
                match sessions.get_mut(server) {
                    Some(session) => *session = new,
                    None => sessions.push(new),
                }
                drop(sessions);
                self.expect_ok(server, &self.geometry)?;
                self.sessions.lock()[server].is_met = true;
                Ok::<(), Lost>(())
            };
            // Each further attempt is another server lost.
            if (0..self.count()).try_for_each(meet).is_ok() {
                return true;
            }
        }
    }

    /// Waits for the replacement of servers lost since the last time, and no longer than a start and a short copy
    /// take.
    fn await_whole(&self, is_stopping: impl Fn() -> bool) -> bool {
        let Some(seats) = self.fleet.seats() else { return true };
        let losses = seats.losses();
        let has_waited = self.waited_losses.load(Ordering::Relaxed) == losses;
        let is_whole = self.fleet.await_whole(WHOLE_TIMEOUT, || has_waited || is_stopping());
        if !is_whole {
            self.waited_losses.store(losses, Ordering::Relaxed);
        }
        is_whole
    }

    /// Whether a server's agent has a heap to read. One that took a lost one's place has none at first.
    pub fn is_met(&self, server: usize) -> bool {
        self.sessions.lock().get(server).is_some_and(|session| session.is_met)
    }

    /// By server: whether its agent took a lost one's place.
    pub fn replaced(&self) -> Vec<bool> {
        self.sessions.lock().iter().map(|session| session.link.incarnation > 0).collect()
    }

    /// Sends the layouts registered since the last time, before anything is traced that may need
    /// them.
    pub fn send_layouts(&self) -> Result<(), Lost> {
        (0..self.count()).try_for_each(|server| self.send_layouts_to(server))
    }

    fn send_layouts_to(&self, server: usize) -> Result<(), Lost> {
        let mut told = self.session(server).told;
        told.tell(&self.core, |request| self.expect_ok(server, request))?;
        self.sessions.lock()[server].told = told;
        Ok(())
    }

    fn session(&self, server: usize) -> Session {
        self.sessions.lock()[server].clone()
    }

    /// The memory of a server's agent.
    pub fn segment(&self, server: usize) -> Arc<dyn Segment> {
        self.session(server).link.segment
    }

    pub fn is_lost(&self, server: usize) -> bool {
        let Some(seats) = self.fleet.seats() else { return false };
        let seen = seats.look(server);
        let incarnation = self.session(server).link.incarnation;
        seen.incarnation() != incarnation || seen.state() == SeatState::Empty
    }

    /// An operation failed. Ends the VM unless there is another copy of all pages of the server.
    pub fn lost(&self, server: usize, error: &RdmaError) -> Lost {
        let is_loss = matches!(error, RdmaError::PeerLost(_) | RdmaError::Deadline { .. });
        if self.fleet.seats().is_none() || !is_loss {
            stop_vm(&error.to_string());
        }
        if matches!(error, RdmaError::Deadline { .. }) {
            base::say(format_args!("farheap: {error}; it counts as lost"));
        }
        self.fleet.give_up(server as u16, self.session(server).link.incarnation);
        Lost
    }

    /// Reads words of an agent's memory.
    pub fn read(&self, server: usize, at: usize, words: &mut [u64]) -> Result<(), Lost> {
        let result = self.segment(server).read(at as u64, words);
        result.map_err(|error| self.lost(server, &error))
    }

    /// Writes words of an agent's memory.
    pub fn write(&self, server: usize, at: usize, words: &[u64]) -> Result<(), Lost> {
        let result = self.segment(server).write(at as u64, words);
        result.map_err(|error| self.lost(server, &error))
    }

    /// Reads words of an agent's memory at several places, which travel together.
    pub fn read_all(&self, server: usize, parts: &mut [(u64, &mut [u64])]) -> Result<(), Lost> {
        let result = self.segment(server).read_all(parts);
        result.map_err(|error| self.lost(server, &error))
    }

    /// Writes words of an agent's memory at several places, which travel together.
    pub fn write_all(&self, server: usize, parts: &[(u64, &[u64])]) -> Result<(), Lost> {
        let result = self.segment(server).write_all(parts);
        result.map_err(|error| self.lost(server, &error))
    }

    pub fn ask(&self, server: usize, request: &Request) -> Result<Reply, Lost> {
        let channel = self.session(server).link.channel;
        let request = request.encode();
        let mut parts = parts::split(&request).peekable();
        loop {
            let part = parts.next().expect("a request has a last part");
            let reply = channel.call(&part, self.timeout());
            let reply = reply.map_err(|error| self.lost(server, &error))?;
            match Reply::decode(&reply) {
                Ok(Reply::Failed(why)) => stop_vm(&format!("{}: {why}", peer(server))),
                Ok(Reply::Ok) if parts.peek().is_some() => {}
                Ok(reply) if parts.peek().is_none() => return Ok(reply),
                Ok(reply) => stop_vm(&format!("{} answered a part: {reply:?}", peer(server))),
                Err(why) => stop_vm(&format!("{} sent a malformed reply: {}", peer(server), why.0)),
            }
        }
    }

    pub fn ask_all(&self, request: &Request) -> Result<(), Lost> {
        (0..self.count()).try_for_each(|server| self.expect_ok(server, request))
    }

    pub fn expect_ok(&self, server: usize, request: &Request) -> Result<(), Lost> {
        match self.ask(server, request)? {
            Reply::Ok => Ok(()),
            other => stop_vm(&format!("{} answered {other:?}", peer(server))),
        }
    }

    /// Has an agent write the results of tracing to where they are read.
    pub fn finish_tracing(&self, server: usize) -> Result<(), Lost> {
        match self.ask(server, &Request::FinishTracing)? {
            Reply::Finished(tables) => self.sessions.lock()[server].tables = tables,
            other => stop_vm(&format!("{} answered {other:?}", peer(server))),
        }
        Ok(())
    }

    /// The memory of all agents' tables as they last said, by name, bytes.
    pub fn table_bytes(&self) -> Vec<(&'static str, usize)> {
        let sessions = self.sessions.lock();
        let used = sessions.iter().flat_map(|session| session.tables.used());
        used.map(|(table, bytes)| (table.name(), bytes as usize)).collect()
    }

    /// How long an agent may take to answer.
    pub fn timeout(&self) -> Duration {
        self.core.options.agent_timeout
    }

    /// An agent reports that it is busy, but no agent has traced anything for long.
    pub fn stuck(&self, server: usize) -> Lost {
        let (peer, timeout) = (peer(server), self.timeout());
        let what =
            format!("{peer} reports that it is tracing, but has traced nothing for {timeout:?}");
        if self.fleet.seats().is_none() {
            stop_vm(&what);
        }
        base::say(format_args!("farheap: {what}; it counts as lost"));
        self.fleet.give_up(server as u16, self.session(server).link.incarnation);
        Lost
    }

    /// An agent's flags, sampled and reset, and how much it has traced.
    pub fn poll(&self, server: usize) -> Result<(Flags, u64), Lost> {
        match self.ask(server, &Request::Poll)? {
            Reply::Flags { flags, visited } => Ok((flags, visited)),
            other => stop_vm(&format!("{} answered a poll with {other:?}", peer(server))),
        }
    }
}

pub fn peer(server: usize) -> PeerId {
    PeerId::Server(server as u16)
}

/// Part of the heap is lost or cannot be trusted any more.
pub fn stop_vm(why: &str) -> ! {
    base::die(format_args!("{why}"))
}

/// Agents work without pages that have to travel, so it is better to wait for them for a moment than to do their work
/// in this process.
const WHOLE_TIMEOUT: Duration = Duration::from_secs(1);
