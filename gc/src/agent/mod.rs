//! The agent: the collector's part on a memory server (Mako, sections 3.2 and 3.4).
//!
//! An [`Agent`] is a state machine without I/O: requests of the VM, messages of other agents and
//! steps of work go in, messages come out. [`AgentService`] puts one behind `rdma`'s channels, with
//! a thread that does the steps; the tests drive several in one thread, with every delay and order
//! that a seed can generate.
//!
//! **What an agent may trust.** Objects whose allocation bit is in the snapshot, their headers and
//! entries: the VM writes them before it sends roots, and they do not change during the cycle.
//! Slots of such objects change while the agent reads, one whole word at a time; a slot may hold an
//! index newer than the snapshot, whose entry and object may not have arrived. Such an index has no
//! bit in the snapshot, and the agent ignores it.
//!
//! **Termination.** `tracing_in_progress`, `roots_not_empty`, `ghost_not_empty` are computed, never
//! stored, so they cannot disagree with what they describe; after each event the agent compares
//! them with what they were before and remembers a difference in `changed`. A poll takes all four
//! and clears `changed` in one step of the state machine. All flags of all agents clear in two
//! rounds of polls in a row proves the end: at the moment between the two rounds every agent was
//! idle (it was at both polls, and nothing changed in between) and no message was under way (its
//! sender's `ghost_not_empty` would have been set).
//!
//! **Cycles that are given up.** When another server is lost, the VM gives the cycle up and begins the next one
//! when another server has taken its place. `BeginTracing` makes an agent forget all; messages of
//! older cycles may still arrive and mean nothing.

mod bits;
mod evacuator;
mod ghosts;
mod memory;
mod objects;
pub mod parts;
pub mod protocol;
pub mod region_map;
mod region_tracer;
mod seen_classes;
mod service;
mod strings;
pub mod tables;
mod termination;
mod trace_order;
mod tracer;
pub mod wire;

pub use evacuator::Evacuated;
pub use ghosts::Ghosts;
pub use memory::AgentMemory;
pub use service::{AgentService, Links};
pub use termination::Termination;
pub use trace_order::LARGE_BYTES;

use evacuator::{Copies, evacuate};
use objects::Objects;
use protocol::{DISCOVERED_MAX, ENTRIES_MAX, Evacuation, Flags, Mesh, Notice, Reply, Request};
use region_tracer::RegionTracer;
use std::collections::VecDeque;
use strings::Strings;
use tables::{Meter, Table, TableBytes};
use termination::FlagWatch;
use tracer::Tracer;

/// One memory server's agent. One thread at a time.
pub struct Agent {
    memory: AgentMemory,
    /// Number of this server.
    me: usize,
    /// `None` until the VM has sent the geometry.
    heap: Option<Box<dyn Work>>,
    /// The error that was found in the heap: it is not worked on any more.
    failed: Option<String>,
    /// Messages to be sent, oldest first.
    outbox: VecDeque<Message>,
}

/// Something to be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    ToAgent { server: usize, message: Mesh },
    ToVm(Notice),
}

/// The work of an agent, of which there are two kinds: for a heap with an indirection table ([`Heap`]), and for one
/// whose regions are traced one by one ([`RegionTracer`]). An error means that the VM, another agent or
/// the heap is broken.
trait Work: Send {
    fn request(&mut self, request: Request) -> Result<Reply, String>;

    /// Takes a message of agent `from`; returns the answer, if any.
    fn receive(&mut self, from: usize, message: Mesh) -> Result<Option<Message>, String>;

    /// Works for a moment; false when there is nothing to do.
    fn step(&mut self, outbox: &mut VecDeque<Message>) -> Result<bool, String>;
}

/// Work on a heap with an indirection table.
struct Heap {
    objects: Objects,
    tracer: Tracer,
    ghosts: Ghosts,
    /// Number of the cycle, 0 before the first one. Messages of earlier ones are ignored; later ones cannot be.
    cycle: u32,
    /// Agents that are only reached by way of the VM.
    by_vm: Vec<u32>,
    watch: FlagWatch,
    jobs: VecDeque<Job>,
    strings: Strings,
    /// The objects that were copied ahead and are not settled yet.
    copies: Vec<Copies>,
    /// The most memory that these have had since the tables were last measured, bytes.
    copies_bytes_max: usize,
    meter: Meter,
}

/// A task for a group.
enum Job {
    CopyAhead(Evacuation),
    Evacuate(Evacuation),
}

impl Agent {
    /// An agent of server `me`, which must be configured by the VM before anything else.
    pub fn new(me: usize, memory: AgentMemory) -> Agent {
        Agent { memory, me, heap: None, failed: None, outbox: VecDeque::new() }
    }

    /// Answers a request of the VM.
    pub fn request(&mut self, request: Request) -> Reply {
        if let Some(why) = &self.failed {
            return Reply::Failed(why.clone());
        }
        let reply = match (&mut self.heap, request) {
            (None, Request::Configure(geometry)) => {
                Objects::new(self.memory.clone(), geometry, self.me).map(|objects| {
                    self.heap = Some(Box::new(Heap::new(objects)));
                    Reply::Ok
                })
            }
            (None, Request::ConfigureRegions(map)) => {
                Objects::new(self.memory.clone(), map, self.me).map(|objects| {
                    self.heap = Some(Box::new(RegionTracer::new(objects)));
                    Reply::Ok
                })
            }
            (Some(_), Request::Configure(_) | Request::ConfigureRegions(_)) => {
                Err("the geometry came twice".into())
            }
            (None, request) => Err(format!("{request:?} before the geometry")),
            (Some(heap), request) => heap.request(request),
        };
        reply.unwrap_or_else(Reply::Failed)
    }

    /// Takes a message of another agent.
    pub fn receive(&mut self, from: usize, message: Mesh) {
        let result = match &mut self.heap {
            // Of a cycle that was given up before this agent took a lost one's place.
            None => Ok(None),
            Some(heap) => heap.receive(from, message),
        };
        match result {
            Ok(Some(answer)) => self.outbox.push_back(answer),
            Ok(None) => {}
            Err(why) => self.outbox.push_back(Message::ToVm(Notice::Failed(why))),
        }
    }

    /// Works for a moment. False when there is nothing to do until the next request or message.
    pub fn step(&mut self) -> bool {
        let Some(heap) = &mut self.heap else { return false };
        match heap.step(&mut self.outbox) {
            Ok(worked) => worked,
            Err(why) => {
                // The VM stops when it receives this, by the notice or as an answer.
                self.heap = None;
                self.failed = Some(why.clone());
                self.outbox.push_back(Message::ToVm(Notice::Failed(why)));
                false
            }
        }
    }

    /// Reports something that a peer did wrong.
    pub fn fail(&mut self, why: String) {
        self.outbox.push_back(Message::ToVm(Notice::Failed(why)));
    }

    /// The next message to be sent.
    pub fn next_message(&mut self) -> Option<Message> {
        self.outbox.pop_front()
    }
}

impl Heap {
    fn new(objects: Objects) -> Heap {
        Heap {
            tracer: Tracer::new(&objects),
            ghosts: Ghosts::new(objects.geometry.servers(), usize::MAX),
            objects,
            cycle: 0,
            by_vm: Vec::new(),
            watch: FlagWatch::default(),
            jobs: VecDeque::new(),
            strings: Strings::default(),
            copies: Vec::new(),
            copies_bytes_max: 0,
            meter: Meter::default(),
        }
    }
}

impl Work for Heap {
    fn request(&mut self, request: Request) -> Result<Reply, String> {
        match request {
            Request::Layouts { first, layouts } => self.objects.add_layouts(first, layouts)?,
            Request::ReferenceFields(fields) => self.objects.fields = Some(fields),
            Request::Strings { klass } => self.strings.look_for(klass),
            Request::BeginTracing { cycle, by_vm, ghost_buffer, order } => {
                self.begin_tracing(cycle, by_vm, ghost_buffer as usize)?;
                self.tracer.keep_order(&self.objects, order);
            }
            Request::Roots(entries) => self.tracer.add_roots(&entries),
            Request::Poll => {
                let visited = self.tracer.visited();
                return Ok(Reply::Flags { flags: self.poll(), visited });
            }
            Request::TreatReferences(referents) => self.tracer.referents = referents,
            Request::TakeDiscovered => {
                let references = self.tracer.take_discovered(DISCOVERED_MAX);
                let more = self.tracer.has_discovered();
                return Ok(Reply::Discovered { references, more });
            }
            Request::FinishTracing => {
                if self.flags() != Flags::default() {
                    return Err("tracing ends before it has finished".into());
                }
                self.tracer.publish(&self.objects);
                // Later in a cycle the program waits.
                if !self.tracer.is_finished() {
                    self.measure();
                }
                self.tracer.keep_late();
                return Ok(Reply::Finished(self.meter.found()));
            }
            Request::TakeMarked => {
                let (entries, more, complete) = self.tracer.take_late(ENTRIES_MAX);
                return Ok(Reply::Marked { entries, more, complete });
            }
            Request::TakeClasses => {
                let (classes, more) = self.tracer.classes.take(ENTRIES_MAX);
                return Ok(Reply::Classes { classes, more });
            }
            Request::CopyAhead(job) => self.add(Job::CopyAhead(job))?,
            Request::Evacuate(job) => self.add(Job::Evacuate(job))?,
            other => return Err(format!("{other:?} of an agent with a table")),
        }
        self.note();
        Ok(Reply::Ok)
    }

    fn receive(&mut self, from: usize, message: Mesh) -> Result<Option<Message>, String> {
        if self.cycle == 0 || message.cycle() < self.cycle {
            return Ok(None);
        }
        self.check_cycle(message.cycle())?;
        let answer = match message {
            Mesh::Ghosts { cycle, entries } => {
                if !entries.iter().all(|entry| self.objects.is_mine(entry.tablet())) {
                    return Err(format!("server {from} sent entries of another server"));
                }
                self.tracer.add_roots(&entries);
                Some(self.to_agent(from, Mesh::Acknowledge { cycle }))
            }
            Mesh::Acknowledge { .. } => {
                if !self.ghosts.acknowledge(from) {
                    return Err(format!("server {from} acknowledged what was never sent"));
                }
                None
            }
        };
        self.note();
        Ok(answer)
    }

    fn step(&mut self, outbox: &mut VecDeque<Message>) -> Result<bool, String> {
        if let Some(job) = self.jobs.pop_front() {
            let notice = self.do_job(job)?;
            let entries = self.strings.take();
            if !entries.is_empty() {
                outbox.push_back(Message::ToVm(Notice::Strings(entries)));
            }
            outbox.push_back(Message::ToVm(notice));
            return Ok(true);
        }
        self.tracer.step(&self.objects, &mut self.ghosts, STEP_SLOTS)?;
        let is_busy = self.tracer.is_tracing() || self.tracer.has_roots();
        let batch = self.ghosts.next_batch(!is_busy);
        let sends = batch.is_some();
        if let Some((server, entries)) = batch {
            let message = Mesh::Ghosts { cycle: self.cycle, entries };
            outbox.push_back(self.to_agent(server, message));
        }
        self.note();
        Ok(is_busy || sends)
    }
}

impl Heap {
    fn add(&mut self, job: Job) -> Result<(), String> {
        if self.jobs.len() + self.copies.len() == self.objects.geometry.regions() {
            return Err("more evacuations than regions".into());
        }
        self.jobs.push_back(job);
        Ok(())
    }

    fn do_job(&mut self, job: Job) -> Result<Notice, String> {
        match job {
            Job::CopyAhead(job) => {
                let group = job.group;
                if self.copies.iter().any(|copies| copies.group() == group) {
                    return Err(format!("group {group} was added twice"));
                }
                let (order, strings) = (self.tracer.order(), &mut self.strings);
                self.copies.push(Copies::make(&self.objects, job, order, strings)?);
                let bytes = self.copies.iter().map(Copies::bytes).sum();
                self.copies_bytes_max = self.copies_bytes_max.max(bytes);
                Ok(Notice::Copied { group })
            }
            Job::Evacuate(job) => {
                let group = job.group;
                let copied = self.copies.iter().position(|copies| copies.group() == group);
                let Evacuated { top, objects, tablets } = match copied {
                    Some(at) => {
                        let evacuated =
                            self.copies[at].settle(&self.objects, &job, &mut self.strings)?;
                        if self.copies[at].are_done() {
                            self.copies.swap_remove(at);
                        }
                        evacuated
                    }
                    None => {
                        let (order, strings) = (self.tracer.order(), &mut self.strings);
                        evacuate(&self.objects, &job, order, strings)?
                    }
                };
                Ok(Notice::Evacuated { group, top, objects, tablets })
            }
        }
    }

    /// Measures the memory of all tables, unless it was done just now.
    fn measure(&mut self) {
        let Heap { objects, tracer, ghosts, copies_bytes_max, meter, .. } = self;
        meter.measure(|| {
            let g = &objects.geometry;
            let mut all = TableBytes::default();
            for (table, from, to) in [
                (Table::Entries, g.entries_at(), g.alloc_bits_at()),
                (Table::AllocationBits, g.alloc_bits_at(), g.mark_bits_at()),
                (Table::MarkBits, g.mark_bits_at(), g.touch_bits_at()),
                (Table::TouchedBits, g.touch_bits_at(), g.live_bytes_at()),
                (Table::RegionFigures, g.live_bytes_at(), g.far_bytes()),
            ] {
                all.add(table, objects.memory.taken_bytes(from, to - from));
            }
            all.add(Table::RegionFigures, tracer.count_bytes() as u64);
            all.add(Table::TraceOrder, tracer.order_bytes() as u64);
            all.add(Table::Forwarding, std::mem::take(copies_bytes_max) as u64);
            all.add(Table::Queues, (tracer.queue_bytes() + ghosts.bytes()) as u64);
            all
        });
    }

    fn to_agent(&self, server: usize, message: Mesh) -> Message {
        let to = server as u32;
        match self.by_vm.contains(&to) {
            true => Message::ToVm(Notice::Relay { to, message }),
            false => Message::ToAgent { server, message },
        }
    }

    fn begin_tracing(
        &mut self,
        cycle: u32,
        by_vm: Vec<u32>,
        ghost_buffer: usize,
    ) -> Result<(), String> {
        if cycle <= self.cycle || !self.jobs.is_empty() {
            return Err(format!("cycle {cycle} begins before cycle {} has ended", self.cycle));
        }
        // Of groups that were given up.
        self.copies.clear();
        let (from, to) =
            (self.objects.geometry.mark_bits_at(), self.objects.geometry.live_bytes_at());
        self.objects.memory.punch(from, to - from)?;
        self.tracer = Tracer::new(&self.objects);
        self.ghosts = Ghosts::new(self.objects.geometry.servers(), ghost_buffer);
        (self.cycle, self.by_vm) = (cycle, by_vm);
        Ok(())
    }

    fn check_cycle(&self, cycle: u32) -> Result<(), String> {
        if cycle == self.cycle {
            return Ok(());
        }
        Err(format!("a message of cycle {cycle} in cycle {}", self.cycle))
    }

    fn poll(&mut self) -> Flags {
        let now = self.flags();
        self.watch.poll(now)
    }

    /// The first three flags; `changed` is false.
    fn flags(&self) -> Flags {
        Flags {
            tracing_in_progress: self.tracer.is_tracing(),
            roots_not_empty: self.tracer.has_roots(),
            ghost_not_empty: !self.ghosts.is_empty(),
            changed: false,
        }
    }

    /// Called after every event.
    fn note(&mut self) {
        let now = self.flags();
        self.watch.note(now);
    }
}

/// Slots that one step visits: some tens of microseconds, so that polls are answered soon.
const STEP_SLOTS: usize = 2048;

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
