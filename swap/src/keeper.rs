//! Where there are two copies of every page: the threads that put another memory server in the place of a lost one.
//!
//! A lost server's seat is empty (`rdma::Seats`); reads and writes of every thread continue with
//! the other copy. Two threads do the rest:
//!
//! * The *search* looks for a server that takes an empty seat ([`Fleet::replace`]), again and again for as long as
//!   there is none. The program continues with one copy meanwhile; its operator is notified at once and every
//!   minute ([`Loss::Missing`]), or has it end after a time ([`KeeperOptions::end_after`]). Connecting to a
//!   machine that does not answer takes long, so no thread waits for this one, also not at the end.
//! * The *repair* has everything copied that a seat taken by a new server should hold ([`Pager::repair`]), and
//!   declares it whole.
//!
//! If the new one is lost too, its seat is empty again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use base::die;
use rdma::spawn::Fleet;
use rdma::{RdmaError, SeatState, Seats};

use crate::{Pager, SwapError};

/// The events that the keeper reports.
#[derive(Clone, Copy, Debug)]
pub enum Loss<'a> {
    /// A server is lost; another one is looked for.
    Noticed { server: u16 },
    /// No server has taken its place for `time`; `why` is the reason.
    Missing { server: u16, time: Duration, why: &'a RdmaError },
    /// Another process is in its place and has nothing yet.
    Replaced { server: u16 },
    /// There are two copies of everything again: bytes that were copied for it, time since a new server took the
    /// place.
    Repaired { server: u16, bytes: u64, time: Duration },
}

/// The callback for losses, called on the keeper's threads.
pub type LossReport = Box<dyn Fn(Loss<'_>) + Send + Sync>;

/// Options of a keeper.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct KeeperOptions {
    /// How long a seat may be empty before the process ends; `None`: for ever.
    pub end_after: Option<Duration>,
}

/// The keeper of one pager and its servers. Dropping it ends the repair, and waits for no other thread.
pub struct Keeper {
    shared: Arc<Shared>,
    repaired_bytes: Arc<AtomicU64>,
    repair: Option<JoinHandle<()>>,
}

/// The state that both threads share. Neither pager nor fleet, which the search may outlive.
struct Shared {
    seats: Arc<Seats>,
    options: KeeperOptions,
    report: LossReport,
    /// Set once by drop.
    stop: AtomicBool,
}

/// The losses that were survived so far.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct SurvivalStats {
    /// Memory servers that were lost.
    pub servers_lost: u64,
    /// Servers that have no complete replacement now: there is one copy of what they should hold.
    pub servers_missing: u64,
    /// Bytes copied to those that took their places.
    pub repaired_bytes: u64,
    /// Reads of the second copy since the first was missing.
    pub mirror_reads: u64,
}

impl Keeper {
    /// Starts the threads; `None` when there is one copy only, so that nothing can be replaced.
    pub fn start(
        fleet: Arc<Fleet>,
        pager: Arc<Pager>,
        options: KeeperOptions,
        report: LossReport,
    ) -> Result<Option<Keeper>, SwapError> {
        let Some(seats) = fleet.seats().cloned() else { return Ok(None) };
        let stop = AtomicBool::new(false);
        let shared = Arc::new(Shared { seats, options, report, stop });
        let repaired_bytes = Arc::new(AtomicU64::new(0));
        let repair =
            Repair { shared: shared.clone(), pager, repaired_bytes: repaired_bytes.clone() };
        let repair = spawn("farheap repair", move || repair.run())?;
        let mut keeper = Keeper { shared: shared.clone(), repaired_bytes, repair: Some(repair) };
        let fleet = Arc::downgrade(&fleet);
        let mut search = Search { shared, fleet, vacant: BTreeMap::new() };
        if let Err(error) = spawn("farheap keeper", move || search.run()) {
            keeper.stop();
            return Err(error);
        }
        Ok(Some(keeper))
    }

    /// The losses that were survived so far.
    pub fn stats(&self) -> SurvivalStats {
        let seats = &self.shared.seats;
        SurvivalStats {
            servers_lost: seats.losses().into(),
            servers_missing: seats.missing() as u64,
            repaired_bytes: self.repaired_bytes.load(Ordering::Relaxed),
            mirror_reads: seats.mirror_reads(),
        }
    }

    fn stop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.seats.wake();
        if let Some(thread) = self.repair.take() {
            // A panic ends the process.
            let _ = thread.join();
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, SwapError> {
    let thread = thread::Builder::new().name(name.into()).spawn(run);
    thread.map_err(|source| SwapError::Os { what: "starting a keeper's thread", source })
}

impl Shared {
    fn servers_in(&self, state: SeatState) -> impl Iterator<Item = u16> {
        (0..self.seats.count() as u16)
            .filter(move |server| self.seats.look((*server).into()).state() == state)
    }

    fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Sleeps, but not beyond the end by much.
    fn pause(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.is_stopping() && Instant::now() < end {
            thread::sleep(CHECK_INTERVAL.min(end.saturating_duration_since(Instant::now())));
        }
    }
}

/// The thread that looks for servers.
struct Search {
    shared: Arc<Shared>,
    fleet: Weak<Fleet>,
    /// The empty seats, by server.
    vacant: BTreeMap<u16, Vacancy>,
}

/// An empty seat.
struct Vacancy {
    since: Instant,
    /// When it was last reported.
    told: Option<Instant>,
}

impl Search {
    fn run(&mut self) {
        let mut pause = PAUSE_MIN;
        while !self.shared.is_stopping() {
            let losses = self.shared.seats.losses();
            if self.look() {
                pause = PAUSE_MIN;
            }
            let vacant: Vec<u16> = self.vacant.keys().copied().collect();
            for server in vacant {
                if self.shared.is_stopping() {
                    return;
                }
                self.fill(server);
            }
            if self.vacant.is_empty() {
                self.shared.seats.await_loss(losses, CHECK_INTERVAL);
            } else {
                self.shared.pause(pause);
                pause = (pause * 2).min(PAUSE_MAX);
            }
        }
    }

    /// Looks for empty seats; says whether there are new ones.
    fn look(&mut self) -> bool {
        let mut is_new = false;
        for server in self.shared.servers_in(SeatState::Empty).collect::<Vec<_>>() {
            self.vacant.entry(server).or_insert_with(|| {
                is_new = true;
                self.shared.seats.die_if_lost(server.into());
                (self.shared.report)(Loss::Noticed { server });
                Vacancy { since: Instant::now(), told: None }
            });
        }
        is_new
    }

    fn fill(&mut self, server: u16) {
        // The fleet is dropped: no server is needed any more.
        let Some(fleet) = self.fleet.upgrade() else { return };
        let vacancy = self.vacant.get_mut(&server).expect("its seat is empty");
        match fleet.replace(server) {
            Ok(_) => {
                self.vacant.remove(&server);
                (self.shared.report)(Loss::Replaced { server });
            }
            Err(why) => {
                let time = vacancy.since.elapsed();
                if self.shared.options.end_after.is_some_and(|end| time >= end) {
                    die(format_args!(
                        "memory server {server} is lost, and no server has replaced it for {} s: {why}",
                        time.as_secs()
                    ));
                }
                if vacancy.told.is_none_or(|told| told.elapsed() >= WARNING_INTERVAL) {
                    vacancy.told = Some(Instant::now());
                    (self.shared.report)(Loss::Missing { server, time, why: &why });
                }
            }
        }
    }
}

/// The thread that has things copied.
struct Repair {
    shared: Arc<Shared>,
    pager: Arc<Pager>,
    /// Relaxed, a count.
    repaired_bytes: Arc<AtomicU64>,
}

impl Repair {
    fn run(&self) {
        let Shared { seats, report, .. } = &*self.shared;
        while !self.shared.is_stopping() {
            let losses = seats.losses();
            let filling = self.shared.servers_in(SeatState::Filling);
            let filling: Vec<_> =
                filling.map(|server| (server, seats.look(server.into()))).collect();
            if filling.is_empty() {
                match seats.are_whole() {
                    true => seats.await_loss(losses, CHECK_INTERVAL),
                    false => self.shared.pause(FILLING_INTERVAL),
                }
                continue;
            }
            let began = Instant::now();
            let bytes = self.pager.repair(&|| !self.shared.is_stopping());
            self.repaired_bytes.fetch_add(bytes, Ordering::Relaxed);
            if self.shared.is_stopping() {
                return;
            }
            // A server that came meanwhile does not have everything yet.
            for (server, seen) in filling {
                if seats.complete(server.into(), seen.incarnation()) {
                    report(Loss::Repaired { server, bytes, time: began.elapsed() });
                }
            }
        }
    }
}

/// A lost wake-up costs no more than this, and the end of a thread waits no longer.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);
/// The longest that a seat that was taken waits for the copying to begin.
const FILLING_INTERVAL: Duration = Duration::from_millis(5);
/// Between two searches.
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Between two warnings.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);
