//! Which new connections are admitted to the handshake.
//!
//! Any process can connect, send nothing, and keep a slot until the handshake has taken too long. So keeping one is
//! of no use: when there is no slot for a new connection, the one that has waited longest gives way, and each
//! address has some of the slots only. A client that knows the token is through in a millisecond.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Arc, Mutex};

use crate::wire::conversation::lock;

/// The handshakes in progress. Any thread; no method blocks.
#[derive(Default)]
pub struct PendingHandshakes {
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    /// The oldest first.
    taken: VecDeque<Slot>,
    next_number: u64,
}

/// A connection that has not proved its identity yet.
struct Slot {
    number: u64,
    from: IpAddr,
    /// Another descriptor of the connection.
    stream: TcpStream,
}

/// A slot, until this is dropped.
pub struct Admission {
    pending: Arc<PendingHandshakes>,
    number: u64,
}

impl PendingHandshakes {
    /// A slot for a new connection. Ends another one if there is none; returns where that came from, too.
    pub fn admit(
        self: &Arc<PendingHandshakes>,
        from: IpAddr,
        stream: &TcpStream,
    ) -> io::Result<(Admission, Option<IpAddr>)> {
        let (from, stream) = (from.to_canonical(), stream.try_clone()?);
        let mut slots = lock(&self.slots);
        let gives_way = gives_way(slots.taken.iter().map(|slot| slot.from), from);
        let ended = gives_way.and_then(|at| slots.taken.remove(at));
        let number = slots.next_number;
        slots.next_number += 1;
        slots.taken.push_back(Slot { number, from, stream });
        drop(slots);
        if let Some(ended) = &ended {
            // Its thread finds the connection closed. If it is closed already, all the better.
            let _ = ended.stream.shutdown(Shutdown::Both);
        }
        let admission = Admission { pending: self.clone(), number };
        Ok((admission, ended.map(|slot| slot.from)))
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        lock(&self.pending.slots).taken.retain(|slot| slot.number != self.number);
    }
}

/// Which of the slots, the oldest first, is for a new connection from this address.
fn gives_way(taken: impl ExactSizeIterator<Item = IpAddr> + Clone, from: IpAddr) -> Option<usize> {
    let of_address = taken.clone().filter(|other| *other == from).count();
    if of_address >= SLOTS_OF_ADDRESS {
        return taken.clone().position(|other| other == from);
    }
    (taken.len() >= SLOTS_MAX).then_some(0)
}

/// Connections that may be in their handshake at the same time: each has a thread.
const SLOTS_MAX: usize = 128;
/// Of these, connections from one address. All servers of a machine may connect to each other at once.
const SLOTS_OF_ADDRESS: usize = 96;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(last: usize) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, last as u8))
    }

    #[test]
    fn the_oldest_gives_way_and_an_address_has_some_of_the_slots() {
        let taken = |counts: &[(usize, usize)]| -> Vec<IpAddr> {
            let each = |(of, count): &(usize, usize)| vec![address(*of); *count];
            counts.iter().flat_map(each).collect()
        };
        let gives_way = |taken: &Vec<IpAddr>, from| super::gives_way(taken.iter().copied(), from);
        let few = taken(&[(1, 3), (2, SLOTS_OF_ADDRESS), (3, 2)]);
        assert_eq!(gives_way(&few, address(1)), None);
        assert_eq!(gives_way(&few, address(2)), Some(3), "its own oldest");
        let full = taken(&[(1, SLOTS_MAX - SLOTS_OF_ADDRESS), (2, SLOTS_OF_ADDRESS)]);
        assert_eq!(gives_way(&full, address(3)), Some(0));
        assert_eq!(gives_way(&full, address(2)), Some(SLOTS_MAX - SLOTS_OF_ADDRESS));
    }
}
