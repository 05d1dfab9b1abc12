//! Where the servers of a fleet are, and where a replacement for a lost one is looked for.

use std::fmt;

use crate::ServerAddress;

/// Where a server is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Location {
    /// It is a process that was started for this fleet.
    Started,
    /// It was running before, at an address; it may have several sessions of one fleet.
    At(ServerAddress),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Started => f.write_str("a new process"),
            Location::At(address) => address.fmt(f),
        }
    }
}

/// Where the servers of a fleet with two copies of everything are, and where another one could be.
pub(crate) struct Placement<'a> {
    /// By server: where it was at first.
    pub first: &'a [Location],
    pub spares: &'a [ServerAddress],
    /// By server: where it is now; `None`: its seat is empty.
    pub now: &'a [Option<Location>],
}

impl Placement<'_> {
    /// Where to look for a server that takes the empty seat of `server`, in this order: the first place of the lost
    /// one; spare servers, the unused ones first; the other servers of the fleet, which have a second session then.
    /// Never a place that holds the other copy of some of the seat's pages, except that a user who named an address
    /// twice gets what they asked for.
    pub fn candidates(&self, server: usize) -> Vec<Location> {
        let servers = self.now.len();
        // The next server has the mirror of its pages, and it has the mirror of the previous one's.
        let neighbours = [(server + 1) % servers, (server + servers - 1) % servers];
        let has_other_copy = |location: &Location| {
            neighbours.iter().any(|other| self.now[*other].as_ref() == Some(location))
        };
        let was_put_there = |location: &Location| {
            let is_there = |other: &&usize| self.now[**other].as_ref() == Some(location);
            neighbours.iter().filter(is_there).all(|other| self.first[*other] == *location)
        };
        let own = &self.first[server];
        let mut found = Vec::new();
        if *own == Location::Started || !has_other_copy(own) || was_put_there(own) {
            found.push(own.clone());
        }
        let is_used = |location: &Location| self.now.iter().flatten().any(|used| used == location);
        let spares = || self.spares.iter().cloned().map(Location::At);
        let others = self.now.iter().flatten().filter(|location| **location != Location::Started);
        let unused = spares().filter(|location| !is_used(location));
        for location in unused.chain(others.cloned()) {
            if !has_other_copy(&location) && !found.contains(&location) {
                found.push(location);
            }
        }
        found
    }

    /// How many of the servers are at this location.
    pub fn sessions_at(&self, location: &Location) -> u64 {
        match location {
            Location::Started => 0,
            Location::At(_) => {
                self.now.iter().filter(|now| now.as_ref() == Some(location)).count() as u64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> Location {
        Location::At(address(port))
    }

    fn address(port: u16) -> ServerAddress {
        ServerAddress::Tcp { host: "localhost".into(), port }
    }

    #[track_caller]
    fn check(now: &[Option<u16>], spares: &[u16], server: usize, expected: &[u16]) {
        let first: Vec<_> = (0..now.len() as u16).map(at).collect();
        let now: Vec<_> = now.iter().map(|port| port.map(at)).collect();
        let spares: Vec<_> = spares.iter().copied().map(address).collect();
        let placement = Placement { first: &first, spares: &spares, now: &now };
        let expected: Vec<_> = expected.iter().copied().map(at).collect();
        assert_eq!(placement.candidates(server), expected);
    }

    #[test]
    fn the_first_place_comes_first_then_spares_then_who_has_no_other_copy() {
        check(&[Some(0), None], &[], 1, &[1]);
        check(&[Some(0), None, Some(2)], &[], 1, &[1]);
        check(&[Some(0), None, Some(2), Some(3)], &[], 1, &[1, 3]);
        check(&[Some(0), None, Some(2), Some(3)], &[9, 8], 1, &[1, 9, 8, 3]);
        check(&[None, Some(1), Some(2), Some(3), Some(4)], &[], 0, &[0, 2, 3]);
    }

    #[test]
    fn a_spare_that_is_used_is_one_of_the_others() {
        // It has the other copy.
        check(&[Some(9), None, Some(2)], &[9, 8], 1, &[1, 8]);
        check(&[Some(0), None, Some(2), Some(9)], &[9, 8], 1, &[1, 8, 9]);
        // The lost one's place has one.
        check(&[Some(0), None, Some(1), Some(3)], &[], 1, &[3]);
    }

    #[test]
    fn who_names_an_address_twice_gets_it() {
        let (first, now) = ([at(0), at(0)], [None, Some(at(0))]);
        let placement = Placement { first: &first, spares: &[], now: &now };
        assert_eq!(placement.candidates(0), [at(0)]);
        assert_eq!(placement.sessions_at(&at(0)), 1);
    }

    #[test]
    fn what_was_started_is_started_again() {
        let (first, now) =
            ([Location::Started, Location::Started], [None, Some(Location::Started)]);
        let placement = Placement { first: &first, spares: &[], now: &now };
        assert_eq!(placement.candidates(0), [Location::Started]);
        assert_eq!(placement.sessions_at(&Location::Started), 0);
    }
}
