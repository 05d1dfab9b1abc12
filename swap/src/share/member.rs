//! One member of a pool: its slot, and the thread that manages its budget.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::PoolOptions;
use super::demand::Load;
use super::file::{PoolFile, no_size};
use super::shares::{Claim, fair_shares};
use super::table::{SLOTS, Slot, Table};
use crate::{PAGE_BYTES, Pager, PagerOptions, SwapError};

/// A slot of a pool with the first part of its memory. Dropping it gives that back.
pub struct Membership {
    options: PoolOptions,
    file: PoolFile,
    slot: usize,
    pool_pages: usize,
    claim: Claim,
    /// The limit of this member according to the file. The pager's limit is at no time above it.
    limit: usize,
    members: usize,
    /// It takes no more before this moment: others may have to bring their limits into a new file.
    waits_until: Option<Instant>,
}

/// A membership with its pager. Dropping it ends the thread, and gives the memory back after its reference to the pager
/// was dropped: it should be the last one.
pub struct PoolMember {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Membership>>,
    /// When the thread has ended. Behind `shared`, which has the pager.
    membership: Option<Membership>,
}

struct Shared {
    pager: Arc<Pager>,
    name: String,
    pool_pages: usize,
    members: AtomicUsize,
    stop: Mutex<bool>,
    stopped: Condvar,
}

/// A pool as one of its members sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolStatus {
    pub name: String,
    /// How large the pool is.
    pub bytes: usize,
    /// How many share it, this one included.
    pub members: usize,
}

/// The changes that a member reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PoolChange {
    /// Its budget is another one by a sixteenth at least, or the number of members is.
    Budget { pages: usize, members: usize },
    /// The pool cannot be read, and why; the budget stays as it is, or less. Reported once until it works again.
    Trouble(String),
}

/// The callback for changes, called on the member's thread.
pub type PoolReport = Box<dyn Fn(PoolChange) + Send>;

impl Membership {
    /// Joins a pool, to have at most `most_bytes` of it, and waits until others have made room for the least that a
    /// pager needs. Blocks for at most [`JOIN_TIMEOUT`], unless the pool is idle for some tenths of a second at most.
    pub fn join(options: &PoolOptions, most_bytes: usize) -> Result<Membership, SwapError> {
        let most = most_bytes / PAGE_BYTES;
        let least = (PagerOptions::BUDGET_BYTES_MIN / PAGE_BYTES).min(most);
        // All that it may have, until its need is known.
        let claim = Claim { least, most, demand: most };
        let join = || {
            let mut member = Membership::enter(options, claim, 0)?;
            let deadline = Instant::now() + JOIN_TIMEOUT;
            loop {
                member.step(None)?;
                if member.limit >= least {
                    return Ok(member);
                }
                if Instant::now() > deadline {
                    let others = member.members - 1;
                    return Err(format!(
                        "its {others} member(s) have not released memory for this one within {JOIN_TIMEOUT:?}"
                    ));
                }
                thread::sleep(BUSY_INTERVAL);
            }
        };
        join().map_err(|reason| SwapError::Pool { name: options.name.clone(), reason })
    }

    /// The first budget.
    pub fn budget_bytes(&self) -> usize {
        self.limit * PAGE_BYTES
    }

    /// Manages the budget of a pager that was made with the first one ([`Self::budget_bytes`]) and
    /// [`PagerOptions::budget_changes`], on a thread of its own.
    pub fn serve(self, pager: Arc<Pager>, report: PoolReport) -> Result<PoolMember, SwapError> {
        let shared = Arc::new(Shared {
            pager,
            name: self.options.name.clone(),
            pool_pages: self.pool_pages,
            members: AtomicUsize::new(self.members),
            stop: Mutex::new(false),
            stopped: Condvar::new(),
        });
        let theirs = shared.clone();
        let thread = thread::Builder::new()
            .name("farheap pool".into())
            .spawn(move || theirs.run(self, &report))
            .map_err(|source| SwapError::Os { what: "starting the pool's thread", source })?;
        Ok(PoolMember { shared, thread: Some(thread), membership: None })
    }

    /// Takes a slot with a limit that is had already.
    fn enter(options: &PoolOptions, claim: Claim, limit: usize) -> Result<Membership, String> {
        loop {
            let file = PoolFile::open(options)?;
            let locked = file.lock(LOCK_TIMEOUT)?;
            if file.is_removed() {
                // Its last member left between the two.
                continue;
            }
            let mut table = match (locked.read()?, options.bytes) {
                (Some(table), _) => table,
                (None, Some(bytes)) => Table::new(bytes / PAGE_BYTES),
                (None, None) => return Err(no_size(options)),
            };
            locked.bury(&mut table, None)?;
            let wanted = options.bytes.map(|bytes| bytes / PAGE_BYTES);
            let others = table.members().count();
            match wanted {
                Some(pages) if pages != table.pages && others > 0 => {
                    return Err(format!(
                        "it has {} bytes, not {} ({others} member(s); omit the size to join them)",
                        table.pages * PAGE_BYTES,
                        pages * PAGE_BYTES
                    ));
                }
                // All its members have ended.
                Some(pages) => table.pages = pages,
                None if others == 0 => {
                    return Err(no_size(options));
                }
                None => {}
            }
            let least: usize = table.members().map(|(_, slot)| slot.claim.least).sum();
            if least + claim.least > table.pages {
                let pages = table.pages;
                return Err(format!(
                    "its {pages} pages are too few for more than its {others} member(s)"
                ));
            }
            let mut free = (0..SLOTS).filter(|n| table.slots[*n].is_none());
            let slot = loop {
                let Some(slot) = free.next() else {
                    return Err(format!("it has {others} members, the maximum"));
                };
                if file.take_slot(slot)? {
                    break slot;
                }
            };
            table.slots[slot] = Some(Slot { pid: std::process::id(), claim, limit, resident: 0 });
            table.changes += 1;
            locked.write(&table)?;
            drop(locked);
            let (options, pool_pages) = (options.clone(), table.pages);
            let members = others + 1;
            let waits_until = None;
            return Ok(Membership {
                options,
                file,
                slot,
                pool_pages,
                claim,
                limit,
                members,
                waits_until,
            });
        }
    }

    /// Moves the limit towards the fair share, and the pager's budget with it. Returns whether it has reached it.
    fn step(&mut self, pager: Option<&Pager>) -> Result<bool, String> {
        let locked = self.file.lock(LOCK_TIMEOUT)?;
        if self.file.is_removed() {
            drop(locked);
            let bytes = Some(self.pool_pages * PAGE_BYTES);
            let options = PoolOptions { bytes, ..self.options.clone() };
            *self = Membership::enter(&options, self.claim, self.limit)?;
            self.waits_until = Some(Instant::now() + 2 * LOOK_INTERVAL);
            return Ok(false);
        }
        let before = locked.read()?.ok_or("its file was truncated")?;
        let mut table = before.clone();
        locked.bury(&mut table, Some(self.slot))?;
        let own = table.slots[self.slot].as_mut().filter(|slot| slot.pid == std::process::id());
        let own = own.ok_or("another process changed its file")?;
        own.claim = self.claim;
        let claims: Vec<Claim> = table.members().map(|(_, slot)| slot.claim).collect();
        let place = table.members().take_while(|(n, _)| *n != self.slot).count();
        let share = fair_shares(table.pages, &claims)[place];
        let had = self.limit;
        match pager {
            Some(pager) if share <= self.limit => {
                pager.set_budget(share);
                self.limit = pager.limit_pages().min(had);
            }
            _ if self.waits_until.is_some_and(|until| Instant::now() < until) => {}
            _ => self.limit = share.min(had + table.free()),
        }
        let own = table.slots[self.slot].as_mut().expect("it was there");
        (own.limit, own.resident) = (self.limit, pager.map_or(0, Pager::resident_pages));
        let told = before.slots[self.slot].map_or(0, |slot| slot.claim.demand);
        let is_news = told.abs_diff(self.claim.demand) > told / NEWS;
        table.changes += u64::from(is_news || self.limit < had);
        self.members = claims.len();
        if table != before {
            locked.write(&table)?;
        }
        drop(locked);
        if let Some(pager) = pager.filter(|_| self.limit > had) {
            pager.set_budget(self.limit);
        }
        Ok(self.limit == share)
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        // A failure here is put right by the next member that looks: this slot's lock ends with the file.
        let Ok(locked) = self.file.lock(LOCK_TIMEOUT) else { return };
        let Ok(Some(mut table)) = locked.read() else { return };
        table.slots[self.slot] = None;
        table.changes += 1;
        let _ = locked.bury(&mut table, Some(self.slot));
        let _ = locked.write(&table);
        if table.members().next().is_none() && !self.file.is_removed() {
            locked.remove();
        }
    }
}

impl PoolMember {
    /// The pool as it is now. Any thread.
    pub fn status(&self) -> PoolStatus {
        let Shared { name, pool_pages, members, .. } = &*self.shared;
        let (bytes, members) = (pool_pages * PAGE_BYTES, members.load(Relaxed));
        PoolStatus { name: name.clone(), bytes, members }
    }
}

impl Drop for PoolMember {
    fn drop(&mut self) {
        *self.shared.stop() = true;
        self.shared.stopped.notify_all();
        // Fields are dropped now in their order: the pager, if this is its last reference, and then others may
        // have its memory. Without a membership the thread panicked, of which the process ends.
        self.membership = self.thread.take().and_then(|thread| thread.join().ok());
    }
}

impl Shared {
    fn run(&self, mut member: Membership, report: &PoolReport) -> Membership {
        let pager = &*self.pager;
        let mut load = Load::new(pager);
        let (mut looked, mut is_there, mut seen) = (Instant::now(), false, None);
        let mut told = (member.limit, member.members);
        let mut is_in_trouble = false;
        loop {
            let is_due = looked.elapsed() >= LOOK_INTERVAL;
            if is_due {
                member.claim.demand = load.demand(pager, looked.elapsed());
                looked = Instant::now();
            }
            let changes = member.file.changes();
            if is_due || !is_there || changes != seen {
                seen = changes;
                let step = member.step(Some(pager));
                if let Err(why) = step.as_ref().map_err(String::clone)
                    && !is_in_trouble
                {
                    report(PoolChange::Trouble(why));
                }
                is_in_trouble = step.is_err();
                is_there = step.unwrap_or(true);
                self.members.store(member.members, Relaxed);
                let now = (pager.budget_pages(), member.members);
                if now.0.abs_diff(told.0) > told.0 / TOLD || now.1 != told.1 {
                    told = now;
                    report(PoolChange::Budget { pages: now.0, members: now.1 });
                }
            }
            let pause = if is_there { IDLE_INTERVAL } else { BUSY_INTERVAL };
            let waited = self.stopped.wait_timeout_while(self.stop(), pause, |stop| !*stop);
            if *waited.unwrap_or_else(PoisonError::into_inner).0 {
                return member;
            }
        }
    }

    fn stop(&self) -> MutexGuard<'_, bool> {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a new member waits for room.
const JOIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long others may have the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// Between two looks at the demand.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Between two checks of the count of changes.
const IDLE_INTERVAL: Duration = Duration::from_millis(100);
/// The same on the way to another budget.
const BUSY_INTERVAL: Duration = Duration::from_millis(10);
/// A demand that has changed by more than this part of it is published to the others.
const NEWS: usize = 64;
/// As a budget is reported.
const TOLD: usize = 16;
