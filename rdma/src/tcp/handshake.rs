//! The first four messages of every connection: the proofs of identity, and the connection's purpose.
//!
//! ```text
//! client                                              listener
//!   Knock { nonce c, purpose }             -->
//!                                          <--        Challenge { nonce s }
//!   Proof { H(key, client, t, sealed),     -->        compared in constant time
//!           sealed }
//!                                          <--        Accepted { H(key, server, t, sealed, session), session }
//! ```
//! `t` is the transcript: the first two messages as sent, version and purpose included. Both nonces are
//! random, so nothing that was recorded proves anything later; the two hashes name the side, so
//! nothing can be reflected. `sealed` is the mesh key of a new session, added bit by bit to
//! H(key, seal, t): a mask that is used once and that only holders of the token know.
//!
//! The client proves itself first; a listener reveals to a stranger nothing but that it is a listener.

use crate::RdmaError;
use crate::wire::opening::{Nonce, Opening, Purpose, SessionId};
use std::time::{Duration, Instant};

use crate::tcp::frame::{Broken, receive_opening, send_opening};
use crate::tcp::socket::{Cut, TcpSocket, Until};
use crate::tcp::{HANDSHAKE_TIMEOUT, TURNED_AWAY_TIMEOUT};
use crate::wire::token::{Token, random};

/// [`knock`], over connections that `dial` makes: again when one is closed before it is answered, for
/// [`TURNED_AWAY_TIMEOUT`]. Blocks meanwhile. Returns the connection that was let in.
pub fn enter(
    dial: impl Fn() -> Result<TcpSocket, RdmaError>,
    purpose: Purpose,
    key: &Token,
    mesh_key: &Nonce,
) -> Result<(TcpSocket, SessionId), RdmaError> {
    let begin = Instant::now();
    let mut pause = PAUSE_MIN;
    let mut socket = dial()?;
    loop {
        match knock(&socket, purpose, key, mesh_key) {
            Ok(session) => return Ok((socket, session)),
            Err(RdmaError::TurnedAway) if begin.elapsed() + pause < TURNED_AWAY_TIMEOUT => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(PAUSE_MAX);
                socket = dial().map_err(|_nobody_listens| RdmaError::TurnedAway)?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// The client's side. `mesh_key` is sent along, sealed; it counts for new sessions only. Returns the id
/// of the session. Takes at most [`HANDSHAKE_TIMEOUT`].
pub fn knock(
    socket: &TcpSocket,
    purpose: Purpose,
    key: &Token,
    mesh_key: &Nonce,
) -> Result<SessionId, RdmaError> {
    let until = Until::after(HANDSHAKE_TIMEOUT);
    let knock = Opening::Knock { nonce: random()?, purpose };
    let closed = |cut: &Cut| {
        matches!(cut, Cut::Closed | Cut::Failed(libc::ECONNRESET) | Cut::Failed(libc::EPIPE))
    };
    match send_opening(socket, &knock, until) {
        Err(cut) if closed(&cut) => return Err(RdmaError::TurnedAway),
        sent => sent.map_err(|cut| RdmaError::Refused(Broken::Cut(cut).to_string()))?,
    }
    let challenge = match receive_opening(socket, until) {
        Err(Broken::Cut(cut)) if closed(&cut) => return Err(RdmaError::TurnedAway),
        challenge => answered(challenge)?,
    };
    if !matches!(challenge, Opening::Challenge { .. }) {
        return Err(unexpected());
    }
    let transcript = Transcript::new(&knock, &challenge);
    let sealed = transcript.seal(key, mesh_key);
    let hash = key.hash(&transcript.client(&sealed));
    send(socket, &Opening::Proof { hash, sealed }, until)?;
    match receive(socket, until)? {
        Opening::Accepted { hash, session } => {
            if !key.verify(&transcript.server(&sealed, &session), &hash) {
                return Err(RdmaError::Refused("it does not know the token".into()));
            }
            Ok(session)
        }
        _ => Err(unexpected()),
    }
}

/// A client that proved that it has the key, and still waits for an answer.
pub struct Visitor {
    socket: TcpSocket,
    pub purpose: Purpose,
    /// The mesh key for a new session.
    pub mesh_key: Nonce,
    key: Token,
    transcript: Transcript,
    sealed: Nonce,
}

/// Why a visitor was rejected.
#[derive(Debug)]
pub enum Refusal {
    /// It is not one of ours, or it has disconnected: no answer.
    Stranger(Broken),
    /// It got the reason.
    Told(&'static str),
    /// We cannot continue.
    Failed(RdmaError),
}

impl Visitor {
    /// The listener's side. `key_of` says which key counts for a purpose. Takes at most
    /// [`HANDSHAKE_TIMEOUT`].
    pub fn receive(
        socket: TcpSocket,
        key_of: impl FnOnce(&Purpose) -> Token,
    ) -> Result<Visitor, Refusal> {
        let until = Until::after(HANDSHAKE_TIMEOUT);
        let knock = match receive_opening(&socket, until) {
            Ok(knock) => knock,
            Err(Broken::Malformed(what)) if what == crate::wire::opening::WRONG_VERSION => {
                refuse(&socket, what);
                return Err(Refusal::Told(what));
            }
            Err(broken) => return Err(Refusal::Stranger(broken)),
        };
        let Opening::Knock { purpose, .. } = knock else {
            return Err(Refusal::Stranger(Broken::Malformed("no first handshake message")));
        };
        let key = key_of(&purpose);
        let challenge = Opening::Challenge { nonce: random().map_err(Refusal::Failed)? };
        let sent = send_opening(&socket, &challenge, until);
        sent.map_err(|cut| Refusal::Stranger(Broken::Cut(cut)))?;
        let proof = receive_opening(&socket, until).map_err(Refusal::Stranger)?;
        let Opening::Proof { hash, sealed } = proof else {
            return Err(Refusal::Stranger(Broken::Malformed("no proof of the token")));
        };
        let transcript = Transcript::new(&knock, &challenge);
        if !key.verify(&transcript.client(&sealed), &hash) {
            refuse(&socket, WRONG_TOKEN);
            return Err(Refusal::Told(WRONG_TOKEN));
        }
        // Sealing twice is opening.
        let mesh_key = transcript.seal(&key, &sealed);
        Ok(Visitor { socket, purpose, mesh_key, key, transcript, sealed })
    }

    /// Its connection.
    pub fn connection(&self) -> &TcpSocket {
        &self.socket
    }

    /// Lets it in. All that follows on it is for `session`.
    pub fn accept(self, session: SessionId) -> Result<TcpSocket, Refusal> {
        let hash = self.key.hash(&self.transcript.server(&self.sealed, &session));
        let accepted = Opening::Accepted { hash, session };
        let sent = send_opening(&self.socket, &accepted, Until::after(HANDSHAKE_TIMEOUT));
        sent.map_err(|cut| Refusal::Stranger(Broken::Cut(cut)))?;
        Ok(self.socket)
    }

    /// Rejects it.
    pub fn refuse(self, reason: &str) {
        refuse(&self.socket, reason);
    }
}

/// The first two messages, as sent.
struct Transcript([Vec<u8>; 2]);

impl Transcript {
    fn new(knock: &Opening, challenge: &Opening) -> Transcript {
        Transcript([knock.encode(), challenge.encode()])
    }

    fn client<'a>(&'a self, sealed: &'a Nonce) -> [&'a [u8]; 4] {
        [b"farheap client", &self.0[0], &self.0[1], sealed]
    }

    fn server<'a>(&'a self, sealed: &'a Nonce, session: &'a SessionId) -> [&'a [u8]; 5] {
        [b"farheap server", &self.0[0], &self.0[1], sealed, session]
    }

    fn seal(&self, key: &Token, text: &Nonce) -> Nonce {
        let mask = key.hash(&[b"farheap seal", &self.0[0], &self.0[1]]);
        std::array::from_fn(|i| mask[i] ^ text[i])
    }
}

fn send(socket: &TcpSocket, message: &Opening, until: Until<'_>) -> Result<(), RdmaError> {
    send_opening(socket, message, until)
        .map_err(|cut| RdmaError::Refused(Broken::Cut(cut).to_string()))
}

/// The next message, unless it is a refusal.
fn receive(socket: &TcpSocket, until: Until<'_>) -> Result<Opening, RdmaError> {
    answered(receive_opening(socket, until))
}

fn answered(answer: Result<Opening, Broken>) -> Result<Opening, RdmaError> {
    match answer {
        Ok(Opening::Refused { reason }) => Err(RdmaError::Refused(reason)),
        Ok(message) => Ok(message),
        Err(Broken::Malformed(what)) => {
            Err(RdmaError::Refused(format!("the peer is no memory server: {what}")))
        }
        Err(broken) => Err(RdmaError::Refused(format!("no answer: {broken}"))),
    }
}

/// Sends the reason, if the other side still listens.
pub fn refuse(socket: &TcpSocket, reason: &str) {
    let refused = Opening::Refused { reason: reason.into() };
    let _ = send_opening(socket, &refused, Until::after(HANDSHAKE_TIMEOUT));
}

fn unexpected() -> RdmaError {
    RdmaError::Refused("the peer is no memory server: message out of order".into())
}

/// Between two attempts of a client that is turned away.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// Sent for a wrong token, a missing one, and an unknown session.
pub const WRONG_TOKEN: &str = "wrong token; VM and memory server need the same token file";

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use super::*;

    /// Both ends of a connection.
    pub fn pair() -> (TcpSocket, TcpSocket) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (other, _) = listener.accept().unwrap();
        (TcpSocket::new(one.into()).unwrap(), TcpSocket::new(other.into()).unwrap())
    }

    fn shake(theirs: Token, ours: Token) -> (Result<SessionId, RdmaError>, Option<Nonce>) {
        let (client, server) = pair();
        let listener = thread::spawn(move || {
            let visitor = Visitor::receive(server, |_| ours).ok()?;
            let mesh_key = visitor.mesh_key;
            visitor.accept([9; 16]).ok()?;
            Some(mesh_key)
        });
        let result = knock(&client, Purpose::Session, &theirs, &[8; 32]);
        (result, listener.join().unwrap())
    }

    #[test]
    fn those_with_the_same_token_meet_and_others_do_not() {
        let token = Token::random().unwrap();
        let (session, mesh_key) = shake(token.clone(), token.clone());
        assert_eq!((session.unwrap(), mesh_key), ([9; 16], Some([8; 32])));
        assert_eq!(shake(Token::none(), Token::none()).1, Some([8; 32]));
        for (theirs, ours) in [
            (Token::random().unwrap(), token.clone()),
            (Token::none(), token.clone()),
            (token.clone(), Token::none()),
        ] {
            let (session, visitor) = shake(theirs, ours);
            assert!(visitor.is_none());
            let error = session.unwrap_err();
            assert!(error.to_string().contains("wrong token"), "{error}");
        }
    }

    #[test]
    fn a_listener_that_does_not_know_the_token_is_found_out() {
        let (client, server) = pair();
        let impostor = thread::spawn(move || {
            let until = Until::after(HANDSHAKE_TIMEOUT);
            receive_opening(&server, until).unwrap();
            send_opening(&server, &Opening::Challenge { nonce: [0; 32] }, until).unwrap();
            receive_opening(&server, until).unwrap();
            let accepted = Opening::Accepted { hash: [0; 32], session: [0; 16] };
            send_opening(&server, &accepted, until).unwrap();
        });
        let error = knock(&client, Purpose::Session, &Token::random().unwrap(), &[0; 32]);
        assert!(error.unwrap_err().to_string().contains("does not know the token"));
        impostor.join().unwrap();
    }

    #[test]
    fn a_recorded_proof_proves_nothing() {
        let token = Token::random().unwrap();
        let mut proof = None;
        let nonce = [1; 32];
        // The second visit repeats the first one's messages word for word.
        for visit in 0..2 {
            let (client, server) = pair();
            let token = token.clone();
            let key = token.clone();
            let listener = thread::spawn(move || Visitor::receive(server, |_| key).is_ok());
            let until = Until::after(HANDSHAKE_TIMEOUT);
            let knock = Opening::Knock { nonce, purpose: Purpose::Session };
            send_opening(&client, &knock, until).unwrap();
            let challenge = receive_opening(&client, until).unwrap();
            let transcript = Transcript::new(&knock, &challenge);
            let sealed = [0; 32];
            let hash = token.hash(&transcript.client(&sealed));
            let proof = proof.get_or_insert(Opening::Proof { hash, sealed });
            send_opening(&client, proof, until).unwrap();
            assert_eq!(listener.join().unwrap(), visit == 0);
        }
    }
}
