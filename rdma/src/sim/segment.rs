//! A server's memory over the simulated network.
//!
//! An operation travels to the server, is carried out, and travels back. Each way takes a delay, waits while the
//! network is cut, and may lose the packet; then the whole begins again, as over a connection that broke: so a WRITE
//! may be carried out twice, but never after it returned. The words of a range are moved in two parts, the later one
//! first, now and then with a pause between them.
//!
//! Faults are served from a signal handler: no lock, no allocation. The seed's decisions for an operation depend on
//! nothing but its number.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::random::{Draws, Random};
use super::{RETRY_DELAYS, SimOptions, UNIT_NS};
use crate::memory::atomic_words::WORD_BYTES;
use crate::memory::segment::{Read, Write};
use crate::sim::throttle::sleep_until;
use crate::{PeerId, RdmaError, Segment};
use base::now_ns;
use base::waiting_ns;

pub struct SimSegment {
    memory: Arc<dyn Segment>,
    server: PeerId,
    options: SimOptions,
    draws: Draws,
    /// Nothing passes. See `State::cuts`.
    cut: Arc<AtomicBool>,
}

impl SimSegment {
    /// The memory of a server; nothing passes while `cut` is true.
    pub fn new(
        memory: Arc<dyn Segment>,
        server: PeerId,
        options: SimOptions,
        cut: Arc<AtomicBool>,
    ) -> SimSegment {
        SimSegment { memory, server, options, draws: Draws::new(options.seed), cut }
    }

    /// Carries out an operation, as often as it takes until an answer comes back.
    fn carry(
        &self,
        execute: impl Fn(&mut Random) -> Result<(), RdmaError>,
    ) -> Result<(), RdmaError> {
        let mut random = self.draws.next();
        let deadline_ns = waiting_ns() + DEADLINE.as_nanos() as u64;
        loop {
            if self.travel(&mut random, deadline_ns)? {
                execute(&mut random)?;
                if self.travel(&mut random, deadline_ns)? {
                    return Ok(());
                }
            }
            pause(RETRY_DELAYS * self.options.delay_max);
        }
    }

    /// One way; false if the packet is lost.
    fn travel(&self, random: &mut Random, deadline_ns: u64) -> Result<bool, RdmaError> {
        pause(random.delay(self.options.delay_max));
        while self.cut.load(Ordering::Relaxed) && self.memory.is_alive() {
            if waiting_ns() >= deadline_ns {
                break;
            }
            sleep_until(now_ns() + CUT_NAP_NS);
        }
        if !self.memory.is_alive() {
            return Err(RdmaError::PeerLost(self.server));
        }
        if waiting_ns() >= deadline_ns {
            return Err(RdmaError::Deadline { peer: self.server, after: DEADLINE });
        }
        Ok(random.below(100) >= self.options.loss_percent)
    }
}

impl Segment for SimSegment {
    fn bytes(&self) -> u64 {
        self.memory.bytes()
    }

    unsafe fn read_batch(&self, reads: &[Read]) -> Result<(), RdmaError> {
        self.carry(|random| {
            for read in reads {
                let Read { offset, into, words } = *read;
                in_two_parts(words, random, |start, words| {
                    let offset = offset + (start * WORD_BYTES) as u64;
                    let part = Read { offset, into: into.wrapping_add(start), words };
                    // SAFETY: a part of a range that the caller vouches for.
                    unsafe { self.memory.read_batch(&[part]) }
                })?;
            }
            Ok(())
        })
    }

    unsafe fn write_batch(&self, writes: &[Write]) -> Result<(), RdmaError> {
        self.carry(|random| {
            if random.below(1000) < self.options.forget_per_mille {
                return Ok(());
            }
            for write in writes {
                let Write { offset, from, words } = *write;
                in_two_parts(words, random, |start, words| {
                    let offset = offset + (start * WORD_BYTES) as u64;
                    let part = Write { offset, from: from.wrapping_add(start), words };
                    // SAFETY: a part of a range that the caller vouches for.
                    unsafe { self.memory.write_batch(&[part]) }
                })?;
            }
            Ok(())
        })
    }

    fn punch(&self, offset: u64, bytes: u64) -> Result<(), RdmaError> {
        self.carry(|_| self.memory.punch(offset, bytes))
    }

    fn is_alive(&self) -> bool {
        self.memory.is_alive()
    }

    fn abandon(&self) {
        self.memory.abandon();
    }
}

/// Moves the words from some random one on, then those before it: each part by its start and length.
fn in_two_parts(
    words: usize,
    random: &mut Random,
    part: impl Fn(usize, usize) -> Result<(), RdmaError>,
) -> Result<(), RdmaError> {
    let first = random.below(words as u64 + 1) as usize;
    part(first, words - first)?;
    if random.below(16) == 0 {
        // Lets other threads run, as the scheduler decides.
        pause(10);
    }
    part(0, first)
}

/// Takes `units` units of real time. Async-signal-safe.
pub fn pause(units: u64) {
    if units > 0 {
        sleep_until(now_ns() + units * UNIT_NS);
    }
}

/// How long an operation may take before its server counts as lost, as over TCP.
const DEADLINE: Duration = crate::tcp::PAGE_TIMEOUT;
/// How often an operation looks whether a partition is over.
const CUT_NAP_NS: u64 = 200_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShmSegment;
    use crate::sim::SimNetwork;
    use std::thread;

    const SERVER: PeerId = PeerId::Server(0);

    fn remote(options: SimOptions) -> (SimNetwork, Arc<ShmSegment>, Arc<dyn Segment>) {
        let network = SimNetwork::new(options);
        let memory = network.segment(SERVER, 1 << 16).unwrap();
        let remote = network.remote(PeerId::Vm, &memory);
        (network, memory, remote)
    }

    #[test]
    fn what_returned_has_arrived_whatever_the_network_does() {
        for seed in 0..20 {
            let worst = SimOptions { delay_max: 10, loss_percent: 30, ..SimOptions::seeded(seed) };
            let (_, memory, remote) = remote(worst);
            for n in 1..50 {
                let words: Vec<u64> = (0..n).map(|word| word + n * 1000).collect();
                remote.write(n * 512, &words).unwrap();
                assert_eq!(memory.load(n * 512 + (n - 1) * 8), n - 1 + n * 1000, "seed {seed}");
                let mut back = vec![0; n as usize];
                remote.read(n * 512, &mut back).unwrap();
                assert_eq!(back, words, "seed {seed}");
            }
            remote.punch(4096, 4096).unwrap();
            assert_eq!(memory.load(8 * 512), 0);
        }
    }

    #[test]
    fn a_partition_is_waited_out_and_a_death_is_an_error() {
        let (network, _, remote) = remote(SimOptions::seeded(1));
        network.cut(PeerId::Vm, SERVER);
        let began = now_ns();
        thread::scope(|scope| {
            scope.spawn(|| remote.write(0, &[1]).unwrap());
            thread::sleep(Duration::from_millis(50));
            network.heal(SERVER, PeerId::Vm);
        });
        assert!(now_ns() - began >= 50_000_000);
        network.kill(SERVER);
        assert!(matches!(remote.read(0, &mut [0]), Err(RdmaError::PeerLost(SERVER))));
        assert!(!remote.is_alive());
    }

    #[test]
    fn writes_are_forgotten_only_on_request() {
        let options = SimOptions { forget_per_mille: 1000, ..SimOptions::seeded(1) };
        let (_, memory, remote) = remote(options);
        remote.write(0, &[1]).unwrap();
        assert_eq!(memory.load(0), 0);
    }

    #[test]
    fn bandwidth_is_real_time_here() {
        // 1 byte in 100 ns: 10 MB in a second.
        let options = SimOptions { bandwidth: 1, delay_max: 0, ..SimOptions::seeded(1) };
        let (_, _, remote) = remote(options);
        let began = now_ns();
        remote.write(0, &[0; 4096]).unwrap();
        assert!(now_ns() - began >= 3_276_800);
    }
}
