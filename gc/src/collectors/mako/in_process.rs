//! Agents in the VM's own process (`-XX:-MakoOffloadTracing`): the ablation of offloaded tracing.
//!
//! They are the same state machines that memory servers run, one for each server, and trace the same objects in the
//! same order; but they read the heap as the program does, through local memory, and fetch the pages that are not
//! resident. Their bits are in ordinary memory. Nothing has to be written back for them. They work in rounds, each on
//! a thread of its own until it has nothing to do, and exchange messages in between; when there are none, tracing is
//! over.

use crate::agent::protocol::{Mesh, Notice, Reply, Request};
use crate::agent::tables::TableBytes;
use crate::agent::{Agent, AgentMemory, Message};
use crate::collectors::sessions::{Told, peer, stop_vm};
use crate::core::heap_core::HeapCore;
use crate::hit::HitGeometry;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use swap::{ThreadClass, activity, during};

/// The agents of a heap, by server. Used by the collector's thread.
pub struct InProcess {
    core: Arc<HeapCore>,
    agents: Mutex<Vec<Agent>>,
    memories: Vec<AgentMemory>,
    told: Mutex<Vec<Told>>,
    /// By agent: its tables, when it last said so.
    tables: Mutex<Vec<TableBytes>>,
}

impl InProcess {
    pub fn new(core: Arc<HeapCore>, geometry: HitGeometry) -> InProcess {
        let memory = |server| {
            let (paged, far) = (geometry.paged_bytes(), geometry.far_bytes());
            let memory = AgentMemory::of_heap(core.clone(), paged, far);
            memory.unwrap_or_else(|error| fail(server, &error.to_string()))
        };
        let memories: Vec<_> = (0..geometry.servers()).map(memory).collect();
        let agents = memories.iter().enumerate().map(|(me, memory)| Agent::new(me, memory.clone()));
        let in_process = InProcess {
            agents: Mutex::new(agents.collect()),
            told: Mutex::new(vec![Told::default(); memories.len()]),
            tables: Mutex::new(vec![TableBytes::default(); memories.len()]),
            memories,
            core,
        };
        for server in 0..in_process.memories.len() {
            in_process.expect_ok(server, Request::Configure(geometry));
        }
        in_process
    }

    pub fn ask(&self, server: usize, request: Request) -> Reply {
        match self.agents.lock()[server].request(request) {
            Reply::Failed(why) => fail(server, &why),
            reply => reply,
        }
    }

    pub fn expect_ok(&self, server: usize, request: Request) {
        match self.ask(server, request) {
            Reply::Ok => {}
            other => fail(server, &format!("{other:?}")),
        }
    }

    /// As [`Sessions::finish_tracing`](crate::collectors::sessions::Sessions::finish_tracing).
    pub fn finish_tracing(&self, server: usize) {
        match self.ask(server, Request::FinishTracing) {
            Reply::Finished(tables) => self.tables.lock()[server] = tables,
            other => fail(server, &format!("{other:?}")),
        }
    }

    /// The memory of all agents' tables as they last said, by name, bytes: ordinary memory of this process.
    pub fn table_bytes(&self) -> Vec<(&'static str, usize)> {
        let tables = self.tables.lock();
        let used = tables.iter().flat_map(TableBytes::used);
        used.map(|(table, bytes)| (table.name(), bytes as usize)).collect()
    }

    /// Tells the agents of layouts that they do not know.
    pub fn send_layouts(&self) {
        for (server, told) in self.told.lock().iter_mut().enumerate() {
            let send = |request: &Request| {
                self.expect_ok(server, request.clone());
                Ok(())
            };
            told.tell(&self.core, send).expect("an agent of this process is not lost");
        }
    }

    /// Traces until all is traced. It may take faults, and reaches no safepoint.
    pub fn run(&self) {
        let mut agents = self.agents.lock();
        loop {
            let messages = round(&mut agents);
            if messages.is_empty() {
                return;
            }
            for (from, to, message) in messages {
                agents[to].receive(from, message);
            }
        }
    }

    /// Reads words of an agent's own memory.
    pub fn read(&self, server: usize, at: usize, words: &mut [u64]) {
        for (i, word) in words.iter_mut().enumerate() {
            *word = self.memories[server].word(at + i * 8).load(Ordering::Relaxed);
        }
    }

    /// Writes words of an agent's own memory.
    pub fn write(&self, server: usize, at: usize, words: &[u64]) {
        for (i, word) in words.iter().enumerate() {
            self.memories[server].word(at + i * 8).store(*word, Ordering::Relaxed);
        }
    }
}

/// Each agent works until it has nothing to do. Returns their messages to each other: sender, receiver, message.
fn round(agents: &mut [Agent]) -> Vec<(usize, usize, Mesh)> {
    let work = |(me, agent): (usize, &mut Agent)| {
        let mut messages = Vec::new();
        let mut is_busy = true;
        while is_busy {
            is_busy = agent.step();
            while let Some(message) = agent.next_message() {
                is_busy = true;
                match message {
                    Message::ToAgent { server, message } => messages.push((me, server, message)),
                    Message::ToVm(Notice::Failed(why)) => fail(me, &why),
                    Message::ToVm(notice) => fail(me, &format!("{notice:?}")),
                }
            }
        }
        messages
    };
    let mut agents = agents.iter_mut().enumerate();
    let mine = agents.next();
    let caller_is = activity();
    std::thread::scope(|scope| {
        let on_thread = |agent| {
            let run = move || {
                swap::set_thread_class(ThreadClass::Gc);
                let _same = during(caller_is);
                work(agent)
            };
            let spawned =
                std::thread::Builder::new().name("Mako tracer".into()).spawn_scoped(scope, run);
            spawned.expect("a thread for an agent")
        };
        let others: Vec<_> = agents.map(on_thread).collect();
        let mut messages: Vec<_> = mine.into_iter().flat_map(work).collect();
        for other in others {
            messages.extend(other.join().expect("an agent does not panic"));
        }
        messages
    })
}

fn fail(server: usize, why: &str) -> ! {
    stop_vm(&format!("the agent of {} in this process: {why}", peer(server)))
}
