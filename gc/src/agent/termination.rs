//! The end of distributed tracing: the agents' four flags and the VM's polls (section 3.4.2).

use super::protocol::Flags;

/// An agent's memory of its flags between two polls.
#[derive(Default)]
pub struct FlagWatch {
    /// The first three flags as they were after the last event.
    last: Flags,
    changed: bool,
}

impl FlagWatch {
    /// To be called after every event with the flags as they are: remembers a difference.
    pub fn note(&mut self, now: Flags) {
        self.changed |= now != self.last;
        self.last = now;
    }

    /// The answer to a poll. In one step with the reading of `now`.
    pub fn poll(&mut self, now: Flags) -> Flags {
        self.note(now);
        Flags { changed: std::mem::take(&mut self.changed), ..now }
    }
}

/// The VM's side: agents are polled one after the other, round and round.
pub struct Termination {
    agents: usize,
    /// Quiet answers in a row.
    quiet: usize,
}

impl Termination {
    pub fn new(agents: usize) -> Termination {
        Termination { agents, quiet: 0 }
    }

    /// Takes the next agent's answer. True when tracing is over: the last two rounds were quiet.
    ///
    /// Between an agent's two quiet answers it was idle all the time (`changed`). The last answer
    /// of the first round came before the first of the second, so there is a moment at which all
    /// were idle, and no message was under way then, since an unacknowledged one shows in its
    /// sender's flags.
    pub fn observe(&mut self, flags: Flags) -> bool {
        self.quiet = if flags.is_quiet() { self.quiet + 1 } else { 0 };
        self.quiet >= 2 * self.agents
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::agent::Ghosts;
    use crate::hit::EntryIndex;
    use loom::sync::{Arc, Mutex};

    /// An agent whose objects are tokens: each entry received is passed on to agent `entry % 3` as
    /// `entry - 1`.
    struct Model {
        roots: Vec<EntryIndex>,
        ghosts: Ghosts,
        watch: FlagWatch,
    }

    impl Model {
        fn flags(&self) -> Flags {
            Flags {
                tracing_in_progress: false,
                roots_not_empty: !self.roots.is_empty(),
                ghost_not_empty: !self.ghosts.is_empty(),
                changed: false,
            }
        }

        fn event<R>(&mut self, f: impl FnOnce(&mut Model) -> R) -> R {
            let result = f(self);
            let now = self.flags();
            self.watch.note(now);
            result
        }
    }

    fn work(me: usize, agents: &[Mutex<Model>]) {
        let batch = agents[me].lock().unwrap().event(|a| {
            for entry in std::mem::take(&mut a.roots) {
                if entry.0 > 1 {
                    a.ghosts.push((entry.0 % 3) as usize, EntryIndex(entry.0 - 1));
                }
            }
            a.ghosts.next_batch(true)
        });
        if let Some((peer, entries)) = batch {
            // The receiver takes the entries and only then acknowledges: two events, with a gap.
            agents[peer].lock().unwrap().event(|a| a.roots.extend(entries));
            agents[me].lock().unwrap().event(|a| assert!(a.ghosts.acknowledge(peer)));
        }
    }

    /// Whenever the VM believes that tracing is over, no token is left anywhere.
    #[test]
    fn the_end_is_never_seen_too_early() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(|| {
            let agent = || {
                let (roots, watch) = (Vec::new(), FlagWatch::default());
                Mutex::new(Model { roots, ghosts: Ghosts::new(3, 1024), watch })
            };
            let agents = Arc::new([agent(), agent(), agent()]);
            // It is sent from agent 0 as 3 to agent 1, as 2 to agent 0, as 1 to agent 2.
            agents[0].lock().unwrap().event(|a| a.roots.push(EntryIndex(4)));
            let threads: Vec<_> = (0..3)
                .map(|me| {
                    let agents = agents.clone();
                    loom::thread::spawn(move || (0..2).for_each(|_| work(me, &*agents)))
                })
                .collect();
            let mut end = Termination::new(3);
            let mut polls = (0..9).map(|i| i % 3);
            let is_over = polls.any(|i| {
                let mut agent = agents[i].lock().unwrap();
                let now = agent.flags();
                let flags = agent.watch.poll(now);
                end.observe(flags)
            });
            if is_over {
                for agent in agents.iter() {
                    let agent = agent.lock().unwrap();
                    assert!(agent.roots.is_empty() && agent.ghosts.is_empty(), "too early");
                }
            }
            threads.into_iter().for_each(|t| t.join().unwrap());
        });
    }
}
