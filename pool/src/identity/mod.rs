//! Identities: numbers under which processes change the pool, one client each.
//!
//! A client leases a number from 1 on. The lease is one word ([`Lease`]) that every step changes by one
//! compare-and-swap, so at any moment a process may die and leave a state that others understand:
//!
//! ```text
//!                 claim                 sign, hold
//!        +------------------> Claiming ------------> Held <----- acts
//!        |                       |                   |  |
//!      Free <--- revoke ---------+                   |  | found dead
//!        ^ ^                                         |  v
//!        | +--------------- leave ------------------ +  Recovering <--+ its recoverer found dead:
//!        +------------------ free -------------------------+    |     | another one takes over
//!                                                               +-----+
//! ```
//!
//! 1. **Claim.** The word has the number of the claiming process. The process then *signs*: it writes its time of
//!    birth beside the word, without which its number would mean another process later. Only then it holds the lease.
//! 2. **Revoke.** A process that dies between the two would be known by its number alone. It has done nothing under
//!    the identity, so anybody may revoke the claim, of a living one too: that one notices, and claims again.
//! 3. **Death.** The holder is dead if no process of its number was born when it was (`Processes`). A client that is
//!    stopped, or hangs, is alive. To recover it nevertheless, fence it first ([`ClientTable::process_of`] names it).
//!    Nor is it recovered while other processes have memory of it ([`Client::share`](crate::Client::share)).
//! 4. **Take-over.** A recoverer is a client too. It writes its identity into the lease of the dead. If it dies, its
//!    own lease says so, and another one takes over both.
//!
//! Invariants:
//!
//! * A signature belongs to the holder. A claimer that was revoked, and wakes much later, must not write its own over
//!   that of the next one: it reads the old signature *before* it reads that the lease is still its own, and replaces
//!   only what it read.
//! * No value of a lease comes twice: its era grows with each claim and each take-over. So a recoverer that slept
//!   takes nothing from one that is alive.
//! * The lease of a recoverer is not freed while another lease names it. Its own recoverer sweeps first
//!   ([`ClientTable::sweep`]), and a client that leaves has nothing to recover.

pub(crate) mod lease;
pub(crate) mod process;

use crate::PoolError;
use crate::crash::crash_point;
use crate::flaw::flawed;
use crate::sync::{AtomicU64, Ordering};
use lease::{ERA_MAX, Lease, State};
use process::{Process, Processes};

/// One identity, in a cache line of its own:
///
/// ```text
///   0        8            16                 64
///   +--------+------------+------------------+
///   | lease  | signature  | unused           |
///   +--------+------------+------------------+
///              63        32 31         0
///              +-----------+-----------+
///              | era, low  | birth     |
///              +-----------+-----------+
/// ```
///
/// Both words are written by compare-and-swap only, by those that the protocol allows.
#[repr(C, align(64))]
#[derive(Default)]
pub(crate) struct Slot {
    lease: AtomicU64,
    /// Who has signed, and in which era of the lease. Read between two equal reads of the lease.
    signature: AtomicU64,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Slot>() == 64 && std::mem::offset_of!(Slot, signature) == 8);

// SAFETY: two atomic words.
#[cfg(not(loom))]
unsafe impl crate::segment::Shared for Slot {}

/// An identity, from 1 on. 0 in a word means nobody.
pub(crate) type ClientId = u16;

/// All identities of a pool. Any thread may use it; nothing blocks.
#[derive(Clone, Copy)]
pub(crate) struct ClientTable<'a> {
    /// By identity; the first is unused.
    slots: &'a [Slot],
    #[cfg(test)]
    pub(crate) flaw: Option<crate::flaw::Flaw>,
}

/// A lease that this process got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Held {
    pub id: ClientId,
    pub lease: Lease,
}

/// How a claim of one identity ended.
enum Claim {
    Held(Held),
    Revoked,
    /// It is not free.
    Taken,
}

impl<'a> ClientTable<'a> {
    pub(crate) fn new(slots: &'a [Slot]) -> ClientTable<'a> {
        ClientTable {
            slots,
            #[cfg(test)]
            flaw: None,
        }
    }

    /// All identities.
    pub(crate) fn ids(&self) -> impl Iterator<Item = ClientId> + use<> {
        1..=self.clients() as ClientId
    }

    pub(crate) fn clients(&self) -> usize {
        self.slots.len() - 1
    }

    /// Leases a free identity to this process. `None`: there is none.
    pub(crate) fn claim(&self, me: Process) -> Option<Held> {
        self.claim_from(1, me)
    }

    /// The same, from an identity on.
    pub(crate) fn claim_from(&self, first: ClientId, me: Process) -> Option<Held> {
        loop {
            let mut is_revoked = false;
            for id in self.ids().filter(|id| *id >= first) {
                match self.claim_one(id, me) {
                    Claim::Held(held) => return Some(held),
                    Claim::Revoked => is_revoked = true,
                    Claim::Taken => {}
                }
            }
            if !is_revoked {
                return None;
            }
        }
    }

    /// Whether as many identities as this are free now.
    #[cfg(not(loom))]
    pub(crate) fn has_free(&self, count: usize) -> bool {
        let is_free = |id: &ClientId| self.slots[usize::from(*id)].look().state() == State::Free;
        self.ids().filter(is_free).take(count).count() == count
    }

    /// How many identities are not free now.
    #[cfg(not(loom))]
    pub(crate) fn leased(&self) -> usize {
        let is_free = |id: &ClientId| self.slots[usize::from(*id)].look().state() == State::Free;
        self.ids().filter(|id| !is_free(id)).count()
    }

    /// Leases this identity to the process. `None`: it is not free, or the claim was revoked.
    #[cfg(not(loom))]
    pub(crate) fn claim_at(&self, id: ClientId, me: Process) -> Option<Held> {
        match self.claim_one(id, me) {
            Claim::Held(held) => Some(held),
            Claim::Revoked | Claim::Taken => None,
        }
    }

    fn claim_one(&self, id: ClientId, me: Process) -> Claim {
        let slot = &self.slots[usize::from(id)];
        let free = slot.look();
        if free.state() != State::Free || free.era() == ERA_MAX {
            return Claim::Taken;
        }
        let claiming = Lease::new(free.era() + 1, State::Claiming, me.pid);
        if !slot.turn(free, claiming) {
            return Claim::Taken;
        }
        crash_point!("identity.claimed");
        if !self.sign(slot, claiming, me.birth) {
            return Claim::Revoked;
        }
        crash_point!("identity.signed");
        let lease = claiming.turned(State::Held, me.pid);
        if !slot.turn(claiming, lease) {
            return Claim::Revoked;
        }
        crash_point!("identity.held");
        Claim::Held(Held { id, lease })
    }

    /// Signs a claim. False if it was revoked.
    fn sign(&self, slot: &Slot, claiming: Lease, birth: u32) -> bool {
        let signed = claiming.era() << 32 | u64::from(birth);
        loop {
            let old = slot.signature.load(Ordering::Acquire);
            // The order matters: as the lease is still ours now, `old` is of none that came after us.
            if slot.look() != claiming && !flawed!(self, BlindSignature) {
                return false;
            }
            let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
            if slot.signature.compare_exchange(old, signed, success, failure).is_ok() {
                return true;
            }
        }
    }

    /// Gives a lease back. False if it may not end: it is not the caller's any more, or the caller has begun a
    /// recovery that it did not finish. The holder has no change open.
    pub(crate) fn leave(&self, held: Held) -> bool {
        let is_mine = |id: &ClientId| self.is_recovered_by(*id, held.id).is_some();
        if self.ids().any(|id| is_mine(&id)) {
            return false;
        }
        let slot = &self.slots[usize::from(held.id)];
        let left = slot.turn(held.lease, held.lease.turned(State::Free, 0));
        crash_point!("identity.released");
        left
    }

    /// The process that holds an identity. `None`: there is none now.
    pub(crate) fn process_of(&self, id: ClientId) -> Result<Option<Process>, PoolError> {
        let lease = self.slots[usize::from(id)].look();
        match lease.state() {
            State::Held => self.holder(id, lease),
            _ => Ok(None),
        }
    }

    /// Whether the lease of this era is over, and its holder recovered if it died.
    pub(crate) fn is_over(&self, id: ClientId, era: u64) -> bool {
        let Some(slot) = self.slots.get(usize::from(id)) else { return false };
        let lease = slot.look();
        match lease.state() {
            State::Held => lease.era() != era,
            // Perhaps that of a later holder: then it is over a little later.
            State::Recovering => false,
            State::Free | State::Claiming => true,
        }
    }

    /// Makes the client `by` the recoverer of this identity if its holder is dead and `may_take` has no objection, or
    /// revokes a claim. `None`: there is nothing to recover now.
    pub(crate) fn take_over(
        &self,
        id: ClientId,
        by: ClientId,
        processes: &impl Processes,
        may_take: impl FnOnce() -> Result<(), PoolError>,
    ) -> Result<Option<Held>, PoolError> {
        let slot = &self.slots[usize::from(id)];
        let seen = slot.look();
        let is_orphan = match seen.state() {
            State::Free => false,
            State::Claiming => {
                slot.turn(seen, seen.turned(State::Free, 0));
                false
            }
            State::Held => self.is_dead(id, seen, processes)?,
            State::Recovering if seen.who() == u32::from(by) => true,
            State::Recovering => self.is_recoverer_dead(id, seen, processes)?,
        };
        if !is_orphan {
            return Ok(None);
        }
        if let Err(objection) = may_take() {
            // If others have recovered the dead meanwhile, it is about nobody.
            return if slot.look() == seen { Err(objection) } else { Ok(None) };
        }
        Ok(self.take(id, seen, by))
    }

    /// The dead client, those that it was recovering, those that these were recovering, and so on. No more are added to
    /// them, as they are dead.
    pub(crate) fn charges(&self, dead: ClientId) -> Vec<ClientId> {
        let (mut all, mut next) = (vec![dead], 0);
        while let Some(recoverer) = all.get(next).copied() {
            let own = |id: &ClientId| self.is_recovered_by(*id, recoverer).is_some();
            let new: Vec<_> = self.ids().filter(|id| !all.contains(id)).filter(own).collect();
            all.extend(new);
            next += 1;
        }
        all
    }

    /// Makes `by` the recoverer of all that the dead client was recovering. `by` is the recoverer of the dead.
    pub(crate) fn sweep(&self, dead: ClientId, by: ClientId) -> Vec<Held> {
        if flawed!(self, NoSweep) {
            return Vec::new();
        }
        let left = |id: ClientId| Some((id, self.is_recovered_by(id, dead)?));
        self.ids().filter_map(left).filter_map(|(id, seen)| self.take(id, seen, by)).collect()
    }

    /// Ends a recovery: the identity may be leased again. False if the caller is not its recoverer.
    pub(crate) fn free(&self, taken: Held) -> bool {
        let slot = &self.slots[usize::from(taken.id)];
        slot.turn(taken.lease, taken.lease.turned(State::Free, 0))
    }

    /// `None`: another client was faster.
    fn take(&self, id: ClientId, seen: Lease, by: ClientId) -> Option<Held> {
        let era = if flawed!(self, SameEra) { seen.era() } else { (seen.era() + 1).min(ERA_MAX) };
        let lease = Lease::new(era, State::Recovering, u32::from(by));
        let is_taken = self.slots[usize::from(id)].turn(seen, lease);
        crash_point!("recover.taken");
        is_taken.then_some(Held { id, lease })
    }

    /// The lease of `id`, if `by` is its recoverer.
    fn is_recovered_by(&self, id: ClientId, by: ClientId) -> Option<Lease> {
        let lease = self.slots[usize::from(id)].look();
        (lease.state() == State::Recovering && lease.who() == u32::from(by)).then_some(lease)
    }

    fn is_dead(
        &self,
        id: ClientId,
        held: Lease,
        processes: &impl Processes,
    ) -> Result<bool, PoolError> {
        match self.holder(id, held)? {
            // In this order: the dead gives its memory to nobody.
            Some(holder) => Ok(!processes.is_alive(holder)? && !processes.is_outlived(id)?),
            None => Ok(false),
        }
    }

    /// Who signed the lease. `None`: the lease has changed.
    fn holder(&self, id: ClientId, held: Lease) -> Result<Option<Process>, PoolError> {
        let slot = &self.slots[usize::from(id)];
        let signature = slot.signature.load(Ordering::Acquire);
        if slot.look() != held {
            return Ok(None);
        }
        if signature >> 32 != held.era() & u64::from(u32::MAX) {
            let what = "the signature";
            return Err(PoolError::Damaged { what, client: id, found: signature });
        }
        Ok(Some(Process { pid: held.who(), birth: signature as u32 }))
    }

    /// Whether the recoverer that the lease names is dead.
    fn is_recoverer_dead(
        &self,
        id: ClientId,
        seen: Lease,
        processes: &impl Processes,
    ) -> Result<bool, PoolError> {
        let damaged = PoolError::Damaged { what: "the lease", client: id, found: seen.bits() };
        let named =
            ClientId::try_from(seen.who()).ok().filter(|named| self.ids().any(|i| i == *named));
        let Some(recoverer) = named else { return Err(damaged) };
        let lease = self.slots[usize::from(recoverer)].look();
        match lease.state() {
            State::Held => self.is_dead(recoverer, lease, processes),
            // It was found dead before.
            State::Recovering => Ok(true),
            // It finished, and left, since we looked: or the invariant is broken.
            State::Free | State::Claiming => {
                if self.slots[usize::from(id)].look() == seen {
                    Err(damaged)
                } else {
                    Ok(false)
                }
            }
        }
    }
}

impl Slot {
    fn look(&self) -> Lease {
        Lease::from_bits(self.lease.load(Ordering::Acquire))
    }

    /// Release: what the last one wrote is seen by the next one.
    fn turn(&self, seen: Lease, next: Lease) -> bool {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        self.lease.compare_exchange(seen.bits(), next.bits(), success, failure).is_ok()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
