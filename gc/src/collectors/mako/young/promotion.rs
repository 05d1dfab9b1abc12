//! Where a worker of a minor collection promotes objects to: memory of old regions, and entries.

use crate::collectors::mako::Shared;
use crate::collectors::mako::allocation::Allocator;
use crate::hit::{EntryClaim, EntryIndex};
use crate::object::geometry::RegionId;
use swap::PageRange;

/// One worker's memory and entries, by server: an object and its entry are on the same one.
pub struct Promoter<'a> {
    shared: &'a Shared,
    allocator: &'a Allocator,
    servers: Vec<Server>,
    /// The server of objects that have no entry yet.
    present: Option<usize>,
    reserve: usize,
}

#[derive(Default)]
struct Server {
    lot: Option<Lot>,
    /// Of tablets that serve the lot's region.
    claim: Option<EntryClaim>,
}

/// A piece of a region.
struct Lot {
    region: RegionId,
    top: usize,
    end: usize,
}

/// Room for an object.
#[derive(Clone, Copy)]
pub struct Place {
    pub address: usize,
    pub entry: EntryIndex,
    /// The entry was the object's before.
    is_early: bool,
    /// Of the worker's piece, and not beside it.
    in_lot: bool,
}

impl<'a> Promoter<'a> {
    /// `reserve` regions of each server stay free.
    pub fn new(shared: &'a Shared, allocator: &'a Allocator, reserve: usize) -> Promoter<'a> {
        let servers = shared.entries.geometry.servers();
        let servers = (0..servers).map(|_| Server::default()).collect();
        Promoter { shared, allocator, servers, present: None, reserve }
    }

    /// Room for an object of `bytes` bytes, and its entry, which is `early` if it has one; `None` if there is no
    /// memory. May fetch pages of entries.
    pub fn allocate(&mut self, bytes: usize, early: EntryIndex) -> Option<Place> {
        if early.is_null() {
            let (server, address, in_lot) = self.memory(bytes, None)?;
            let entry = self.entry(server, address)?;
            return Some(Place { address, entry, is_early: false, in_lot });
        }
        let geometry = &self.shared.entries.geometry;
        let server = geometry.tablet_server(early.tablet());
        let (_, address, in_lot) = self.memory(bytes, Some(server))?;
        let region = self.shared.core.geometry.region_at(address);
        self.allocator.lock().tablets[region.index()].note(early.tablet());
        Some(Place { address, entry: early, is_early: true, in_lot })
    }

    /// Takes back what was allocated last.
    pub fn undo(&mut self, place: Place, bytes: usize) {
        let region = self.shared.core.geometry.region_at(place.address);
        let server = &mut self.servers[self.shared.entries.geometry.region_server(region)];
        if place.in_lot {
            let lot = server.lot.as_mut().expect("the object was allocated from it");
            assert_eq!(lot.top, place.address + bytes, "something was allocated since");
            lot.top = place.address;
        }
        if !place.is_early {
            self.retire(Some(EntryClaim::of(place.entry)));
        }
    }

    /// Gives everything back that is left.
    pub fn finish(mut self) {
        for server in std::mem::take(&mut self.servers) {
            self.retire(server.claim);
            server.lot.into_iter().for_each(|lot| self.give_up(lot));
        }
    }

    /// The rest is free again, if no other worker has taken the memory behind it. Otherwise it is garbage: regions
    /// need not be walkable.
    fn give_up(&self, lot: Lot) {
        let core = &self.shared.core;
        let _state = self.allocator.lock();
        let region = core.regions.region(lot.region);
        let start = core.geometry.region_start(lot.region);
        if start + region.top() == lot.end {
            region.set_top(lot.top - start);
        }
    }

    fn retire(&self, claim: Option<EntryClaim>) {
        if let Some(claim) = claim.filter(|claim| !claim.is_empty()) {
            self.shared.entries.tablet(claim.tablet()).retire(&claim);
        }
    }

    /// Memory for an object: the server, the address, whether it is part of the worker's lot.
    fn memory(&mut self, bytes: usize, on: Option<usize>) -> Option<(usize, usize, bool)> {
        if let Some(server) = on.or(self.present)
            && let Some(lot) = &mut self.servers[server].lot
            && lot.end - lot.top >= bytes
        {
            lot.top += bytes;
            return Some((server, lot.top - bytes, true));
        }
        let core = &self.shared.core;
        let wish = LOT_BYTES.min(core.geometry.region_bytes() / 8);
        let is_beside = bytes > wish / 4;
        let mut state = self.allocator.lock();
        let least = if is_beside { bytes } else { wish.min(bytes.max(LOT_BYTES_MIN)) };
        let wish = if is_beside { bytes } else { wish };
        let (region, start, length) = state.chunk(self.shared, least, wish, on, self.reserve)?;
        self.allocator.pacer.pay(length);
        self.allocator.look_ahead(&state);
        let server = state.geometry().region_server(region);
        if let Some(claim) = self.servers[server].claim.filter(|_| !is_beside) {
            state.tablets[region.index()].note(claim.tablet());
        }
        drop(state);
        self.shared.pager().populate(PageRange::of_bytes(core.geometry.offset(start), length));
        if is_beside {
            return Some((server, start, false));
        }
        let lot = Lot { region, top: start + bytes, end: start + length };
        let old = self.servers[server].lot.replace(lot);
        old.into_iter().for_each(|lot| self.give_up(lot));
        if on.is_none() {
            self.present = Some(server);
        }
        Some((server, start, true))
    }

    /// A free entry for an object that is being promoted to this address.
    fn entry(&mut self, server: usize, address: usize) -> Option<EntryIndex> {
        let region = self.shared.core.geometry.region_at(address);
        let lot = self.servers[server].lot.as_ref().map(|lot| lot.region);
        if lot != Some(region) {
            // Beside the lot: the tablet serves this region too.
            if let Some(claim) = self.servers[server].claim.filter(|claim| !claim.is_empty()) {
                self.allocator.lock().tablets[region.index()].note(claim.tablet());
            }
        }
        loop {
            let claim = &mut self.servers[server].claim;
            if let Some(entry) = claim.as_mut().and_then(EntryClaim::take) {
                return Some(entry);
            }
            let new = self.allocator.claim_for(region)?;
            *claim = Some(new);
            // The next objects of the lot get their entries from this tablet, too.
            if let Some(lot) = lot.filter(|lot| *lot != region) {
                self.allocator.lock().tablets[lot.index()].note(new.tablet());
            }
        }
    }
}

/// Memory that a worker takes at once.
const LOT_BYTES: usize = 64 << 10;
const LOT_BYTES_MIN: usize = 4 << 10;
