//! The VM's side of tracing on the memory servers: rounds of regions, and the objects that agents find in them.
//!
//! A round is one marking. Each region of its snapshot is sent to its server on its own: its entrances are added to
//! the marks that the pause has made (roots and young objects refer to these objects), its dirty pages are written,
//! the marks are written beside it as roots, and the agent is sent the region. So the first regions are traced while
//! others are still written. Humongous regions stay with the VM: such an object lives if it is a root, and each of its
//! referents is an entrance of another region.
//!
//! The answers of agents are checked: an impossible one ends the VM with a line that names the server. The contents of
//! their bitmaps are not, no more than the heap's pages: a server that holds the heap can change it.

use crate::agent::protocol::{ENTRIES_MAX, Notice, Request};
use crate::agent::region_map::RegionMap;
use crate::collectors::g1::elsewhere::{Elsewhere, Lost, Tracing};
use crate::collectors::sessions::{Sessions, peer, stop_vm};
use crate::core::heap_core::HeapCore;
use crate::memory::mark_bitmap::BYTES_PER_WORD;
use crate::memory::region::RegionUse;
use crate::object::ObjectRef;
use crate::object::geometry::RegionId;
use base::Patience;
use parking_lot::Mutex;
use rdma::{PeerId, RdmaError, Service};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use swap::PageRange;

/// Receives the messages of agents that are no replies; they only report that something is broken.
pub struct Inbox;

impl Service for Inbox {
    fn on_request(&self, from: PeerId, _request: &[u8]) -> Vec<u8> {
        stop_vm(&format!("{from} sent a request, which agents never do"))
    }

    fn on_notice(&self, from: PeerId, notice: &[u8]) {
        match Notice::decode(notice) {
            Ok(Notice::Failed(why)) => stop_vm(&format!("{from}: {why}")),
            Ok(other) => stop_vm(&format!("{from} sent {other:?}, which the VM did not request")),
            Err(why) => stop_vm(&format!("{from} sent a malformed notice: {}", why.0)),
        }
    }

    fn on_peer_lost(&self, from: PeerId, cause: &RdmaError) {
        stop_vm(&format!("{from} is lost: {cause}"))
    }
}

/// The agents of a heap, at work for its markings. See [`Elsewhere`] for the callers of its methods.
pub struct Agents {
    core: Arc<HeapCore>,
    map: RegionMap,
    sessions: Sessions,
    /// The running round. Only the marker thread looks at it.
    round: Mutex<Option<Round>>,
}

/// The regions that a round has handed out.
struct Round {
    began: Instant,
    /// By region: bytes that are traced, 0 where nothing is.
    tops: Vec<usize>,
}

impl Agents {
    pub fn new(core: Arc<HeapCore>, map: RegionMap) -> Agents {
        let sessions = Sessions::new(core.clone(), Request::ConfigureRegions(map));
        sessions.meet(|| false);
        Agents { core, map, sessions, round: Mutex::new(None) }
    }

    /// Hands out all regions of the snapshot.
    fn begin_round(&self, tracing: &Tracing<'_>) -> Result<Round, Lost> {
        let mut round = Round { began: Instant::now(), tops: vec![0; self.map.regions()] };
        let begun = tracing.inside(|| {
            self.sessions.send_layouts()?;
            self.sessions.ask_all(&Request::BeginRound)
        });
        let (mut flushed, mut roots) = (0, 0);
        if let Some(begun) = begun {
            begun?;
            for (id, region) in self.core.regions.iter() {
                let top = tracing.tables.snapshot_bytes(id);
                let words = match (top, region.usage()) {
                    (0, _) => continue,
                    (_, RegionUse::Objects) => tracing.inside(|| add_entrances(tracing, id, top)),
                    _ => tracing.inside(|| add_entrances(tracing, id, 8)),
                };
                let Some(words) = words else { break };
                if region.usage() != RegionUse::Objects {
                    continue;
                }
                roots += words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
                flushed += self.hand_out(tracing, id, top, &words)?;
                round.tops[id.index()] = top;
            }
        }
        let count = |name, amount| self.core.stats.count(name, amount);
        count("tracing_rounds", 1);
        count("tracing_regions", round.tops.iter().filter(|top| **top > 0).count() as u64);
        count("tracing_roots", roots);
        count("tracing_flushed_pages", flushed);
        Ok(round)
    }

    /// Gives a region to its server; returns how many pages were written for it.
    fn hand_out(
        &self,
        tracing: &Tracing<'_>,
        id: RegionId,
        top: usize,
        roots: &[u64],
    ) -> Result<u64, Lost> {
        let server = self.map.server(id);
        let pager = self.core.space.pager().expect("with servers there is a pager");
        // Everything that was in the region when the snapshot was taken, or is newer.
        let objects = PageRange::of_bytes(self.map.region_offset(id), top);
        // In this order, since a thread that touches an untouched page makes it dirty.
        pager.settle(&[objects]);
        let flushed = pager.write_back(objects);
        self.sessions.write(server, self.map.roots_offset(id), roots)?;
        let request = Request::TraceRegions { regions: vec![id], tops: vec![(top / 8) as u32] };
        tracing.inside(|| self.sessions.expect_ok(server, &request)).unwrap_or(Ok(()))?;
        Ok(flushed as u64)
    }

    /// Hands out more objects, and adds their regions to `touched`.
    fn send_grey(
        &self,
        tracing: &Tracing<'_>,
        round: &Round,
        grey: &[ObjectRef],
        touched: &mut BTreeSet<RegionId>,
    ) -> Result<(), Lost> {
        self.core.stats.count("tracing_roots_logged", grey.len() as u64);
        let mut by_server = vec![Vec::new(); self.sessions.count()];
        for object in grey {
            let id = tracing.tables.region_of(*object);
            if round.tops[id.index()] > 0 {
                let offset = self.core.geometry.offset(object.address());
                by_server[self.map.server(id)].push(offset as u64);
                touched.insert(id);
            }
        }
        for (server, offsets) in by_server.iter().enumerate() {
            for part in offsets.chunks(ENTRIES_MAX) {
                let request = Request::TraceObjects(part.to_vec());
                tracing.inside(|| self.sessions.expect_ok(server, &request)).unwrap_or(Ok(()))?;
            }
        }
        Ok(())
    }

    /// Waits until no agent has anything left; objects that threads log meanwhile are handed out too.
    fn await_agents(
        &self,
        tracing: &Tracing<'_>,
        round: &Round,
        touched: &mut BTreeSet<RegionId>,
    ) -> Result<(), Lost> {
        loop {
            // Agents send each other nothing: one that is idle once stays so.
            for server in 0..self.sessions.count() {
                self.await_agent(tracing, server)?;
            }
            if tracing.gate.is_none() {
                return Ok(());
            }
            let logged = tracing.tables.logged.take();
            let marks = tracing.tables.marks();
            let is_new = |object: &ObjectRef| marks.mark(*object);
            let grey = tracing.inside(|| logged.into_iter().filter(is_new).collect::<Vec<_>>());
            let grey = grey.unwrap_or_default();
            if grey.is_empty() {
                return Ok(());
            }
            self.send_grey(tracing, round, &grey, touched)?;
        }
    }

    fn await_agent(&self, tracing: &Tracing<'_>, server: usize) -> Result<(), Lost> {
        let (mut pause, pause_max) = match tracing.gate {
            Some(_) => (PAUSE_MIN, PAUSE_MAX),
            None => (PAUSE_MIN, PAUSE_MIN),
        };
        let (mut traced, mut patience) = (0, Patience::new(self.sessions.timeout()));
        while !tracing.is_aborted() {
            let (flags, visited) = self.sessions.poll(server)?;
            if !flags.tracing_in_progress && !flags.roots_not_empty {
                return Ok(());
            }
            if std::mem::replace(&mut traced, visited) != visited {
                patience = Patience::new(self.sessions.timeout());
            } else if patience.step().is_none() {
                return Err(self.sessions.stuck(server));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(pause_max);
        }
        Ok(())
    }

    /// Takes over the marks of the agents in these regions.
    fn read_marks(
        &self,
        tracing: &Tracing<'_>,
        round: &Round,
        regions: &BTreeSet<RegionId>,
    ) -> Result<(), Lost> {
        for id in regions {
            let mut marked = vec![0; round.tops[id.index()].div_ceil(BYTES_PER_WORD)];
            self.sessions.read(self.map.server(*id), self.map.marks_offset(*id), &mut marked)?;
            tracing.inside(|| {
                let words = tracing.tables.marks().region_words(*id);
                for (word, marked) in words.iter().zip(&marked) {
                    if *marked != 0 {
                        word.fetch_or(*marked, Ordering::Relaxed);
                    }
                }
            });
        }
        Ok(())
    }

    /// The round is over: counts the live objects of each region.
    fn finish(&self, tracing: &mut Tracing<'_>, round: &Round) -> Result<(), Lost> {
        (0..self.sessions.count()).try_for_each(|server| self.sessions.finish_tracing(server))?;
        for server in 0..self.sessions.count() {
            let mut live = vec![0; self.map.regions()];
            self.sessions.read(server, self.map.live_bytes_offset(RegionId(0)), &mut live)?;
            for (id, region) in
                self.core.regions.iter().filter(|(id, _)| self.map.server(*id) == server)
            {
                let top = round.tops[id.index()];
                if live[id.index()] > top as u64 {
                    stop_vm(&format!(
                        "{} counted more live bytes than the region has",
                        peer(server)
                    ));
                }
                tracing.live_bytes[id.index()] = live[id.index()] as usize;
                if region.usage() == RegionUse::HumongousStart {
                    let object = ObjectRef::from_address(self.core.geometry.region_start(id));
                    let lives = tracing.tables.marks().is_marked(object);
                    tracing.live_bytes[id.index()] = if lives { region.top() } else { 0 };
                }
            }
        }
        let us = round.began.elapsed().as_micros() as u64;
        self.core.stats.count("tracing_us", us);
        Ok(())
    }

    fn trace_some(
        &self,
        tracing: &mut Tracing<'_>,
        round: &Round,
        is_first: bool,
    ) -> Result<(), Lost> {
        let mut touched = BTreeSet::new();
        if is_first {
            let ids = (0..self.map.regions() as u32).map(RegionId);
            touched.extend(ids.filter(|id| round.tops[id.index()] > 0));
        } else {
            let grey = std::mem::take(&mut tracing.grey);
            self.send_grey(tracing, round, &grey, &mut touched)?;
        }
        self.await_agents(tracing, round, &mut touched)?;
        if tracing.is_aborted() {
            return Ok(());
        }
        self.read_marks(tracing, round, &touched)?;
        match tracing.gate {
            // For the size of the agents' tables, which takes a moment: in a pause they are not measured again.
            Some(_) => (0..self.sessions.count())
                .try_for_each(|server| self.sessions.finish_tracing(server)),
            None => self.finish(tracing, round),
        }
    }
}

impl Elsewhere for Agents {
    fn begin(&self, is_stopping: &dyn Fn() -> bool) -> bool {
        *self.round.lock() = None;
        let all_there = self.sessions.meet(is_stopping);
        if !all_there {
            self.core.stats.count("markings_without_agents", 1);
        }
        all_there
    }

    fn trace(&self, mut tracing: Tracing<'_>) -> Result<(), Lost> {
        let mut round = self.round.lock();
        let is_first = round.is_none();
        if is_first {
            *round = Some(self.begin_round(&tracing)?);
        }
        let round = round.as_ref().expect("begun above");
        self.trace_some(&mut tracing, round, is_first)
    }

    fn table_bytes(&self) -> Vec<(&'static str, usize)> {
        self.sessions.table_bytes()
    }

    fn abort(&self) {
        // A lost server reads nothing any more. The marker thread notices it by itself.
        for server in (0..self.sessions.count()).filter(|server| self.sessions.is_met(*server)) {
            let _is_lost = self.sessions.expect_ok(server, &Request::EndRound);
        }
    }
}

/// Makes the entrances of a region grey, as far as the snapshot goes; returns the marks that it has then.
fn add_entrances(tracing: &Tracing<'_>, id: RegionId, top: usize) -> Vec<u64> {
    let tables = tracing.tables;
    let entrances = tables.remembered.entrances().expect("kept for tracing elsewhere");
    let (marks, entrances) = (tables.marks().region_words(id), entrances.region_words(id));
    let words = marks.iter().zip(entrances).take(top.div_ceil(BYTES_PER_WORD));
    let add = |(mark, entrance): (&std::sync::atomic::AtomicU64, &std::sync::atomic::AtomicU64)| {
        let entrance = entrance.load(Ordering::Relaxed);
        match entrance {
            0 => mark.load(Ordering::Relaxed),
            _ => mark.fetch_or(entrance, Ordering::Relaxed) | entrance,
        }
    };
    words.map(add).collect()
}

const PAUSE_MIN: Duration = Duration::from_micros(50);
const PAUSE_MAX: Duration = Duration::from_millis(2);
