//! The thread that puts another memory server in the place of a lost one, where there are two copies of
//! every page.
//!
//! A lost server's seat is empty (`rdma::Seats`); reads and writes go on with the other copy, whoever
//! makes them. The keeper starts a new process, or connects again to the address of the old one, until
//! somebody is there; has everything copied that the seat should hold ([`Pager::repair`]); and declares it whole.
//! If the new one is lost too, it begins again. A seat that stays empty for [`REPLACE_TIMEOUT`] ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rdma::spawn::Fleet;
use rdma::{SeatState, Seats, die};

use crate::{Pager, SwapError};

/// What the keeper tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// A server is gone; another one is looked for.
    Noticed { server: u16 },
    /// Another process is in its place and has nothing yet.
    Replaced { server: u16 },
    /// There are two copies of everything again: bytes that were copied for it, time since the loss was noticed.
    Repaired { server: u16, bytes: u64, time: Duration },
}

/// Who hears of losses, on the keeper's thread.
pub type LossReport = Box<dyn Fn(Loss) + Send>;

/// The keeper of one pager and its servers. Dropping it ends the thread, after the start of a server that may be
/// on.
pub struct Keeper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    fleet: Arc<Fleet>,
    pager: Arc<Pager>,
    seats: Arc<Seats>,
    /// Set once by drop.
    stop: AtomicBool,
    /// Bytes copied so far. Relaxed, a count.
    repaired_bytes: AtomicU64,
}

/// What was survived so far.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct SurvivalStats {
    /// Memory servers that were lost.
    pub servers_lost: u64,
    /// Bytes copied to those that took their places.
    pub repaired_bytes: u64,
    /// Reads that went to the second copy since the first was not there.
    pub mirror_reads: u64,
}

impl Keeper {
    /// Starts the thread; `None` when there is one copy only, so that nothing can be replaced.
    pub fn start(
        fleet: Arc<Fleet>,
        pager: Arc<Pager>,
        report: LossReport,
    ) -> Result<Option<Keeper>, SwapError> {
        let Some(seats) = fleet.seats().cloned() else { return Ok(None) };
        let (stop, repaired_bytes) = (AtomicBool::new(false), AtomicU64::new(0));
        let shared = Arc::new(Shared { fleet, pager, seats, stop, repaired_bytes });
        let theirs = shared.clone();
        let thread = thread::Builder::new()
            .name("farheap keeper".into())
            .spawn(move || theirs.run(&report))
            .map_err(|source| SwapError::Os { what: "starting the keeper", source })?;
        Ok(Some(Keeper { shared, thread: Some(thread) }))
    }

    /// What was survived so far.
    pub fn stats(&self) -> SurvivalStats {
        let Shared { seats, repaired_bytes, .. } = &*self.shared;
        SurvivalStats {
            servers_lost: seats.losses().into(),
            repaired_bytes: repaired_bytes.load(Ordering::Relaxed),
            mirror_reads: seats.mirror_reads(),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.seats.wake();
        if let Some(thread) = self.thread.take() {
            // A panic ends the process.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self, report: &LossReport) {
        while !self.is_stopping() {
            let losses = self.seats.losses();
            let is_empty = |server: &u16| self.state(*server) == SeatState::Empty;
            match (0..self.fleet.servers()).find(is_empty) {
                Some(server) => self.restore(server, report),
                None => self.seats.await_loss(losses, CHECK_INTERVAL),
            }
        }
    }

    fn restore(&self, server: u16, report: &LossReport) {
        self.seats.die_if_lost(server.into());
        report(Loss::Noticed { server });
        let began = Instant::now();
        let mut pause = PAUSE_MIN;
        while !self.is_stopping() {
            match self.fleet.replace(server) {
                Ok(incarnation) => {
                    report(Loss::Replaced { server });
                    let bytes = self.pager.repair(&|| !self.is_stopping());
                    self.repaired_bytes.fetch_add(bytes, Ordering::Relaxed);
                    if self.is_stopping() {
                        return;
                    }
                    if self.seats.complete(server.into(), incarnation) {
                        return report(Loss::Repaired { server, bytes, time: began.elapsed() });
                    }
                }
                Err(error) if began.elapsed() > REPLACE_TIMEOUT => {
                    die(format_args!("memory server {server} is lost and not replaced: {error}"));
                }
                Err(_) => {}
            }
            thread::sleep(pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn state(&self, server: u16) -> SeatState {
        self.seats.look(server.into()).state()
    }

    fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

/// A lost wake-up costs no more than this.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);
/// Between two attempts to replace a server.
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// How long there may be one copy only because nobody takes a lost server's place.
pub const REPLACE_TIMEOUT: Duration = Duration::from_secs(60);
