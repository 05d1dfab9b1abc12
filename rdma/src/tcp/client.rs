//! The VM's side: connecting to one server over TCP.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::process::ServerProcess;
use crate::tcp::channel::TcpChannel;
use crate::tcp::data_connection::TcpDataConnection;
use crate::tcp::frame::{receive_opening, send_opening};
use crate::tcp::handshake::enter;
use crate::tcp::page_frame::FRAME_WORDS_MAX;
use crate::tcp::remote_segment::{DataConnection, RemoteSegment, RemoteSegmentParts};
use crate::tcp::socket::{TcpSocket, Until};
use crate::tcp::upgrade::{OpenUpgrade, Upgrade};
use crate::tcp::{CONNECT_TIMEOUT, HANDSHAKE_TIMEOUT, LINES_MAX};
use crate::wire::address::is_loopback;
use crate::wire::control_socket::ControlSocket;
use crate::wire::frame_channel::Connection;
use crate::wire::opening::{Nonce, Opening, Purpose, START_TIMEOUT, SessionId};
use crate::wire::token::Token;
use crate::{PeerId, RdmaError, ServerAddress};

/// A session with one server that has not yet welcomed us.
pub struct TcpClient {
    host: String,
    port: u16,
    token: Token,
    session: SessionId,
    control: Arc<TcpSocket>,
    /// The transport of pages and messages instead of TCP.
    upgrade: Option<Arc<dyn Upgrade>>,
}

impl TcpClient {
    /// Connects and begins a session, whose pages and messages are sent over TCP, or over the transport that it is
    /// upgraded to.
    pub fn connect(
        host: &str,
        port: u16,
        token: &Token,
        mesh_key: &Nonce,
        upgrade: Option<OpenUpgrade>,
    ) -> Result<TcpClient, RdmaError> {
        let dial = || dial(host, port, token);
        let (control, session) = enter(dial, Purpose::Session, token, mesh_key)?;
        let upgrade = upgrade.map(|open| open(control.local_ip()?)).transpose()?;
        let (host, token) = (host.to_string(), token.clone());
        Ok(TcpClient { host, port, token, session, control: Arc::new(control), upgrade })
    }

    /// Starts a server on this machine that listens on a port of the system's choice and that only we
    /// can use, and begins a session.
    pub fn spawn(
        server: u16,
        program: &Path,
        mesh_key: &Nonce,
        upgrade: Option<OpenUpgrade>,
    ) -> Result<(TcpClient, ServerProcess), RdmaError> {
        let (socket, theirs) = ControlSocket::pair()?;
        let process = ServerProcess::start(server, program, Vec::new(), theirs.into())?;
        let os = |what| move |source| RdmaError::Os { what, source };
        let listener = TcpListener::bind("127.0.0.1:0").map_err(os("listening on loopback"))?;
        let port = listener.local_addr().map_err(os("listening on loopback"))?.port();
        let secret: Nonce = crate::wire::token::random()?;
        let listen = Opening::Listen { token: secret.to_vec() };
        socket.send(&listen.encode(), &[listener.as_fd()])?;
        // Closed in this process before we connect: should the server end, no process is left to listen.
        drop(listener);
        let token = Token::from(secret);
        let member = TcpClient::connect("127.0.0.1", port, &token, mesh_key, upgrade)?;
        Ok((member, process))
    }

    /// Sends the server its place in the fleet: one of `servers`, of which it is to know `peers`, by number.
    /// See [`Opening::Hello`] for the bytes.
    pub fn introduce(
        &self,
        server: u16,
        far_bytes: u64,
        share_bytes: u64,
        servers: u16,
        peers: &[(u16, &TcpClient)],
    ) -> Result<(), RdmaError> {
        let told = peers.iter().filter(|(peer, _)| *peer != server).count() as u16;
        self.send(&Opening::Hello { server, servers, far_bytes, share_bytes, peers: told })?;
        for (peer, other) in peers {
            let peer = *peer;
            let (session, host, port) = (other.session, other.host.clone(), other.port);
            match peer.cmp(&server) {
                std::cmp::Ordering::Less => self.send(&Opening::Expect { peer })?,
                std::cmp::Ordering::Equal => {}
                std::cmp::Ordering::Greater => {
                    self.send(&Opening::Dial { peer, session, host, port })?;
                }
            }
        }
        if self.upgrade.is_some() {
            self.send(&Opening::Verbs)?;
        }
        self.send(&Opening::Start)
    }

    /// Waits until the server is ready. Returns the channel to it.
    pub fn await_welcome(&self, server: u16) -> Result<Arc<dyn Connection>, RdmaError> {
        // A server waits this long for its peers.
        let until = Until::after(2 * START_TIMEOUT + CONNECT_TIMEOUT + HANDSHAKE_TIMEOUT);
        welcome(&self.control, until)?;
        let (peer, control) = (PeerId::Server(server), self.control.clone());
        match &self.upgrade {
            Some(upgrade) => upgrade.channel(peer, control, Until::after(START_TIMEOUT)),
            None => Ok(Arc::new(TcpChannel::open(peer, control))),
        }
    }

    /// Makes the data connections.
    pub fn open_segment(
        &self,
        server: u16,
        far_bytes: u64,
        lines: u16,
        checksums: bool,
        alive: Arc<AtomicBool>,
    ) -> Result<RemoteSegment, RdmaError> {
        let (host, port, token) = (self.host.clone(), self.port, self.token.clone());
        let session = self.session;
        let upgrade = self.upgrade.as_ref().map(|upgrade| upgrade.data(far_bytes));
        let dial = move |number| -> Result<Box<dyn DataConnection>, RdmaError> {
            let dial = || dial(&host, port, &token);
            let (socket, _) = enter(dial, Purpose::Line { session, number }, &token, &[0; 32])?;
            // The session answers after it is done with the line's last connection.
            welcome(&socket, Until::after(HANDSHAKE_TIMEOUT))?;
            match &upgrade {
                Some(upgrade) => upgrade(socket, Until::after(HANDSHAKE_TIMEOUT)),
                None => Ok(Box::new(TcpDataConnection::new(socket, FRAME_WORDS_MAX, checksums))),
            }
        };
        RemoteSegment::open(RemoteSegmentParts {
            server: PeerId::Server(server),
            bytes: far_bytes,
            lines: lines.clamp(1, LINES_MAX),
            dial: Box::new(dial),
            control: self.control.clone(),
            alive,
        })
    }

    fn send(&self, message: &Opening) -> Result<(), RdmaError> {
        let sent = send_opening(&self.control, message, Until::after(START_TIMEOUT));
        sent.map_err(|cut| RdmaError::Refused(cut.explain().to_string()))
    }
}

/// Connects to the first of a host's addresses that answers. `check` may refuse an address.
pub fn dial_any(
    host: &str,
    port: u16,
    check: impl Fn(&SocketAddr) -> Result<(), RdmaError>,
) -> Result<TcpSocket, RdmaError> {
    let mut last = None;
    for address in ServerAddress::resolve(host, port)? {
        check(&address)?;
        match TcpSocket::connect(&address, CONNECT_TIMEOUT) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| RdmaError::Os {
        what: "connecting",
        source: io::ErrorKind::AddrNotAvailable.into(),
    }))
}

/// Connects to a server; without a token only on this machine.
fn dial(host: &str, port: u16, token: &Token) -> Result<TcpSocket, RdmaError> {
    dial_any(host, port, |address| {
        if token.is_none() && !is_loopback(address) {
            let reason = "a server on another machine requires --token-file";
            return Err(RdmaError::Refused(reason.into()));
        }
        Ok(())
    })
}

fn welcome(socket: &TcpSocket, until: Until<'_>) -> Result<(), RdmaError> {
    match receive_opening(socket, until) {
        Ok(Opening::Welcome) => Ok(()),
        Ok(Opening::Refused { reason }) => Err(RdmaError::Refused(reason)),
        Ok(_) => Err(RdmaError::Refused("it sent the wrong message".into())),
        Err(broken) => Err(RdmaError::Refused(format!("it did not become ready: {broken}"))),
    }
}
