//! Connections that have not said yet who they are.
//!
//! Anybody can connect, say nothing, and keep a place until the handshake has taken too long. So places are no use to
//! who keeps them: when there is none for a new connection the one that has waited longest gives way, and an address
//! has some of the places only. Who knows the token is through in a millisecond.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Arc, Mutex};

use crate::wire::conversation::lock;

/// The handshakes under way. Any thread; nothing here blocks.
#[derive(Default)]
pub struct Strangers {
    places: Mutex<Places>,
}

#[derive(Default)]
struct Places {
    /// The oldest first.
    taken: VecDeque<Place>,
    next_number: u64,
}

struct Place {
    number: u64,
    from: IpAddr,
    /// Another descriptor of the connection.
    stream: TcpStream,
}

/// A place, until this is dropped.
pub struct Admission {
    strangers: Arc<Strangers>,
    number: u64,
}

impl Strangers {
    /// A place for a new connection. Ends another one if there is none; returns where that came from, too.
    pub fn admit(
        self: &Arc<Strangers>,
        from: IpAddr,
        stream: &TcpStream,
    ) -> io::Result<(Admission, Option<IpAddr>)> {
        let (from, stream) = (from.to_canonical(), stream.try_clone()?);
        let mut places = lock(&self.places);
        let gives_way = gives_way(places.taken.iter().map(|place| place.from), from);
        let ended = gives_way.and_then(|at| places.taken.remove(at));
        let number = places.next_number;
        places.next_number += 1;
        places.taken.push_back(Place { number, from, stream });
        drop(places);
        if let Some(ended) = &ended {
            // Its thread finds the connection closed. If it is closed already, all the better.
            let _ = ended.stream.shutdown(Shutdown::Both);
        }
        let admission = Admission { strangers: self.clone(), number };
        Ok((admission, ended.map(|place| place.from)))
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        lock(&self.strangers.places).taken.retain(|place| place.number != self.number);
    }
}

/// Which of the places, the oldest first, is for a new connection from this address.
fn gives_way(taken: impl ExactSizeIterator<Item = IpAddr> + Clone, from: IpAddr) -> Option<usize> {
    let of_address = taken.clone().filter(|other| *other == from).count();
    if of_address >= PLACES_OF_ADDRESS {
        return taken.clone().position(|other| other == from);
    }
    (taken.len() >= PLACES).then_some(0)
}

/// Connections that may be in their handshake at the same time: each has a thread.
const PLACES: usize = 128;
/// Of these, connections from one address. All servers of a machine may connect to each other at once.
const PLACES_OF_ADDRESS: usize = 96;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(last: usize) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, last as u8))
    }

    #[test]
    fn the_oldest_gives_way_and_an_address_has_some_of_the_places() {
        let taken = |counts: &[(usize, usize)]| -> Vec<IpAddr> {
            let each = |(of, count): &(usize, usize)| vec![address(*of); *count];
            counts.iter().flat_map(each).collect()
        };
        let gives_way = |taken: &Vec<IpAddr>, from| super::gives_way(taken.iter().copied(), from);
        let few = taken(&[(1, 3), (2, PLACES_OF_ADDRESS), (3, 2)]);
        assert_eq!(gives_way(&few, address(1)), None);
        assert_eq!(gives_way(&few, address(2)), Some(3), "its own oldest");
        let full = taken(&[(1, PLACES - PLACES_OF_ADDRESS), (2, PLACES_OF_ADDRESS)]);
        assert_eq!(gives_way(&full, address(3)), Some(0));
        assert_eq!(gives_way(&full, address(2)), Some(PLACES - PLACES_OF_ADDRESS));
    }
}
