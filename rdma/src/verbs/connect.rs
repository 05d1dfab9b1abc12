//! How two queue pairs find each other: over a TCP connection on which both sides proved their identity.
//!
//! ```text
//! both      Queue { address }       its own
//! both      Welcome                 after it has connected to the other's: now it receives
//! ```
//! A side that cannot continue sends `Refused { reason }` instead. A queue pair takes packets of its peer only;
//! an attacker that knows the numbers and can forge packets can change the heap, as over TCP.

use crate::RdmaError;
use crate::tcp::frame::{receive_opening, send_opening};
use crate::tcp::socket::{TcpSocket, Until};
use crate::verbs::queue::QueuePair;
use crate::wire::opening::Opening;

/// Connects a queue pair to the one that the other side offers.
pub fn connect(socket: &TcpSocket, queue: &QueuePair, until: Until<'_>) -> Result<(), RdmaError> {
    send(socket, &Opening::Queue(queue.address()), until)?;
    let Opening::Queue(peer) = receive(socket, until)? else { return Err(out_of_order()) };
    queue.connect(&peer)?;
    send(socket, &Opening::Welcome, until)?;
    match receive(socket, until)? {
        Opening::Welcome => Ok(()),
        _ => Err(out_of_order()),
    }
}

fn send(socket: &TcpSocket, message: &Opening, until: Until<'_>) -> Result<(), RdmaError> {
    let sent = send_opening(socket, message, until);
    sent.map_err(|cut| RdmaError::Refused(format!("no queue pair: {}", cut.explain())))
}

/// The next message, unless it is a refusal.
fn receive(socket: &TcpSocket, until: Until<'_>) -> Result<Opening, RdmaError> {
    match receive_opening(socket, until) {
        Ok(Opening::Refused { reason }) => Err(RdmaError::Refused(reason)),
        Ok(message) => Ok(message),
        Err(broken) => Err(RdmaError::Refused(format!("no queue pair: {broken}"))),
    }
}

fn out_of_order() -> RdmaError {
    RdmaError::Refused("no queue pair: message out of order".into())
}
