//! The process that listens: it lets clients in, and starts a process for each session.
//!
//! It holds no memory for any VM, and knows of a session only its id, its mesh key and its process. A
//! stranger occupies one thread for at most [`HANDSHAKE_TIMEOUT`], and is disconnected before that when
//! others want in ([`PendingHandshakes`]). Running sessions need no thread of it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::process::{SESSIONS_MAX, ServerProcess};
use crate::tcp::HANDSHAKE_TIMEOUT;
use crate::tcp::admission::{Admission, PendingHandshakes};
use crate::tcp::handshake::{Refusal, Visitor};
use crate::tcp::socket::TcpSocket;
use crate::wire::address::is_loopback;
use crate::wire::control_socket::ControlSocket;
use crate::wire::conversation::lock;
use crate::wire::opening::{Nonce, Opening, Purpose, SessionId};
use crate::wire::token::{Token, random};
use crate::{RdmaError, ServerAddress};

/// The state that all threads of the listening process share.
pub struct Listener {
    socket: TcpListener,
    token: Token,
    program: PathBuf,
    arguments: Vec<String>,
    sessions: Mutex<HashMap<SessionId, Session>>,
    /// Handshakes in progress.
    pending: Arc<PendingHandshakes>,
}

struct Session {
    /// Connections are handed over on this socket.
    socket: Arc<ControlSocket>,
    mesh_key: Nonce,
    process: ServerProcess,
}

impl Listener {
    /// Listens at `host:port`. An address that others than this machine can reach needs a token.
    pub fn bind(
        host: &str,
        port: u16,
        token: Token,
        arguments: &[String],
    ) -> Result<Listener, RdmaError> {
        let failed = |reason: String| {
            let address = ServerAddress::Tcp { host: host.into(), port }.to_string();
            RdmaError::Listen { address, reason }
        };
        let addresses = ServerAddress::resolve(host, port);
        let addresses = addresses.map_err(|error| failed(error.to_string()))?;
        if token.is_none() && !addresses.iter().all(is_loopback) {
            return Err(failed(
                "other machines can reach this address, which requires --token-file".into(),
            ));
        }
        let socket = TcpListener::bind(&addresses[..]);
        let socket = socket.map_err(|error| failed(error.to_string()))?;
        Listener::over(socket, token, arguments)
    }

    /// Takes over a socket that listens already. Only for loopback, or with a token.
    pub fn over(
        socket: TcpListener,
        token: Token,
        arguments: &[String],
    ) -> Result<Listener, RdmaError> {
        let program = std::env::current_exe()
            .map_err(|source| RdmaError::Os { what: "finding the path of this program", source })?;
        Ok(Listener {
            socket,
            token,
            program,
            arguments: arguments.to_vec(),
            sessions: Mutex::default(),
            pending: Arc::default(),
        })
    }

    /// Where it listens, with the port that the system chose if it was 0.
    pub fn address(&self) -> Result<SocketAddr, RdmaError> {
        self.socket.local_addr().map_err(|source| RdmaError::Os { what: "own address", source })
    }

    /// Lets clients in for ever.
    pub fn run(self) -> Result<Infallible, RdmaError> {
        let listener = Arc::new(self);
        loop {
            let (stream, from) = match listener.socket.accept() {
                Ok(connection) => connection,
                Err(error) => {
                    // Often the client's fault, or too many open files: neither is permanent.
                    log::warn!("accepting a connection: {error}");
                    thread::sleep(ACCEPT_PAUSE);
                    continue;
                }
            };
            let admission = match listener.pending.admit(from.ip(), &stream) {
                Ok((admission, None)) => admission,
                Ok((admission, Some(ended))) => {
                    log::warn!("the silent connection from {ended} is closed to accept {from}");
                    admission
                }
                Err(error) => {
                    log::warn!("{from}: {error}");
                    thread::sleep(ACCEPT_PAUSE);
                    continue;
                }
            };
            let host = listener.clone();
            let receive = move || {
                let visited = TcpSocket::new(stream.into())
                    .map_err(Refusal::Failed)
                    .and_then(|socket| host.receive(socket, admission));
                match visited {
                    Ok(()) => {}
                    Err(Refusal::Stranger(broken)) => {
                        log::warn!("{from}: not a Farheap peer: {broken}")
                    }
                    Err(Refusal::Told(reason)) => log::warn!("{from}: refused: {reason}"),
                    Err(Refusal::Failed(error)) => log::warn!("{from}: {error}"),
                }
            };
            let thread = thread::Builder::new().name("handshake".into()).spawn(receive);
            if let Err(error) = thread {
                log::warn!("cannot start a thread for a connection: {error}");
                thread::sleep(ACCEPT_PAUSE);
            }
        }
    }

    fn receive(&self, socket: TcpSocket, admission: Admission) -> Result<(), Refusal> {
        let visitor = Visitor::receive(socket, |purpose| self.key_of(purpose))?;
        // It is no stranger: no other client takes its place now.
        drop(admission);
        match visitor.purpose {
            Purpose::Session => self.begin(visitor),
            Purpose::Line { session, number } => {
                self.hand_over(visitor, session, Opening::Line { number })
            }
            Purpose::Mesh { session, from } => {
                self.hand_over(visitor, session, Opening::Mesh { from })
            }
        }
    }

    /// The token, or for a mesh connection the key that the VM made.
    fn key_of(&self, purpose: &Purpose) -> Token {
        match purpose {
            Purpose::Session | Purpose::Line { .. } => self.token.clone(),
            Purpose::Mesh { session, .. } => {
                let known = lock(&self.sessions).get(session).map(|session| session.mesh_key);
                // No process has the key of an unknown session.
                known.or_else(|| random().ok()).map_or(Token::none(), Token::from)
            }
        }
    }

    /// Starts a session.
    fn begin(&self, visitor: Visitor) -> Result<(), Refusal> {
        let mut sessions = lock(&self.sessions);
        sessions.retain(|_, session| !session.process.is_finished());
        if sessions.len() >= SESSIONS_MAX {
            drop(sessions);
            visitor.refuse(&format!("it serves {SESSIONS_MAX} VMs, the maximum"));
            return Err(Refusal::Told("too many VMs"));
        }
        let id = random().map_err(Refusal::Failed)?;
        let (socket, theirs) = ControlSocket::pair().map_err(Refusal::Failed)?;
        let arguments = self.arguments.clone();
        let process = ServerProcess::start(0, &self.program, arguments, theirs.into());
        let process = process.map_err(Refusal::Failed)?;
        let mesh_key = visitor.mesh_key;
        // The first message of the new process; it writes nothing on the connection before the VM does.
        let adopt = Opening::Adopt { mesh_key }.encode();
        let sent = socket.send(&adopt, &[visitor.connection().as_fd()]);
        sent.map_err(Refusal::Failed)?;
        // Known before the client has the id: others may connect as soon as it does.
        sessions.insert(id, Session { socket: Arc::new(socket), mesh_key, process });
        drop(sessions);
        visitor.accept(id).map(drop)
    }

    /// Lets a visitor in, and gives its connection to the process of its session.
    fn hand_over(
        &self,
        visitor: Visitor,
        session: SessionId,
        message: Opening,
    ) -> Result<(), Refusal> {
        let sessions = lock(&self.sessions);
        let found = sessions.get(&session).filter(|session| !session.process.is_finished());
        let found = found.map(|session| session.socket.clone());
        drop(sessions);
        let Some(process) = found else {
            visitor.refuse(NO_SESSION);
            return Err(Refusal::Told(NO_SESSION));
        };
        let socket = visitor.accept(session)?;
        let sent = process.send_within(&message.encode(), &[socket.as_fd()], HANDSHAKE_TIMEOUT);
        sent.map_err(Refusal::Failed)
    }
}

const NO_SESSION: &str = "no such session";
/// Before trying again after the system refused.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
