//! A TCP connection, without any blocking call but `poll`. Sending and receiving are
//! async-signal-safe.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use crate::RdmaError;
use crate::tcp::PEER_TIMEOUT;
use base::now_ns;
use base::waiting_ns;

/// One connection. Closed when dropped.
#[derive(Debug)]
pub struct TcpSocket(OwnedFd);

/// How long an operation may take.
#[derive(Clone, Copy)]
pub struct Until<'a> {
    /// On the clock of [`waiting_ns`].
    pub deadline_ns: u64,
    /// How long to try again and again before sleeping.
    pub spin_ns: u64,
    /// Looked at every 100 ms while sleeping.
    pub go_on: &'a dyn Fn() -> bool,
}

/// Why bytes did not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The other side ended the connection.
    Closed,
    /// The deadline passed.
    Late,
    /// `go_on` said no.
    Stopped,
    /// The operating system's error number.
    Failed(i32),
}

impl<'a> Until<'a> {
    /// `timeout` from now, without spinning.
    pub fn after(timeout: Duration) -> Until<'a> {
        let deadline_ns = waiting_ns().saturating_add(timeout.as_nanos() as u64);
        Until { deadline_ns, spin_ns: 0, go_on: &|| true }
    }

    /// However long it takes.
    pub fn forever() -> Until<'a> {
        Until { deadline_ns: u64::MAX, spin_ns: 0, go_on: &|| true }
    }
}

impl TcpSocket {
    /// Connects to one address, for at most `timeout`.
    pub fn connect(address: &SocketAddr, timeout: Duration) -> Result<TcpSocket, RdmaError> {
        let stream = TcpStream::connect_timeout(address, timeout);
        let stream = stream.map_err(|source| RdmaError::Os { what: "connecting", source })?;
        TcpSocket::new(stream.into())
    }

    /// Takes over a connected socket: it sends without delay, and notices a vanished machine within
    /// [`PEER_TIMEOUT`].
    pub fn new(fd: OwnedFd) -> Result<TcpSocket, RdmaError> {
        let socket = TcpSocket(fd);
        // SAFETY: no memory is involved; the call also checks whether the descriptor exists.
        let rc = unsafe { libc::fcntl(socket.raw(), libc::F_SETFL, libc::O_NONBLOCK) };
        if rc != 0 {
            return Err(RdmaError::last_os("preparing a connection"));
        }
        let seconds = PEER_TIMEOUT.as_secs() as i32;
        // Idle for a third of the time, then two questions; the user timeout also ends the
        // connection when data is not acknowledged, which keepalive does not look at.
        for (level, option, value) in [
            (libc::IPPROTO_TCP, libc::TCP_NODELAY, 1),
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
            (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, seconds / 3),
            (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, seconds / 3),
            (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 2),
            (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, seconds * 1000),
        ] {
            let length = size_of::<i32>() as libc::socklen_t;
            let pointer = (&raw const value).cast();
            // SAFETY: the kernel reads one integer.
            let rc = unsafe { libc::setsockopt(socket.raw(), level, option, pointer, length) };
            if rc != 0 {
                return Err(RdmaError::last_os("preparing a connection"));
            }
        }
        Ok(socket)
    }

    /// The address of this end.
    pub fn local_ip(&self) -> Result<IpAddr, RdmaError> {
        // A copy of the descriptor, so that closing it closes nothing.
        let copy = self.0.try_clone().map(TcpStream::from);
        let address = copy.and_then(|stream| stream.local_addr());
        let address = address.map_err(|source| RdmaError::Os { what: "own address", source })?;
        Ok(address.ip().to_canonical())
    }

    /// Fills the buffer.
    pub fn receive(&self, into: &mut [u8], until: Until<'_>) -> Result<(), Cut> {
        self.receive_some(into, into.len(), until).map(|_| ())
    }

    /// Fills at least the first `least` bytes of the buffer, and more if more has arrived. Returns how many.
    pub fn receive_some(
        &self,
        into: &mut [u8],
        least: usize,
        until: Until<'_>,
    ) -> Result<usize, Cut> {
        let mut done = 0;
        let mut spin_end_ns = None;
        while done < least {
            let rest = &mut into[done..];
            // SAFETY: the rest of the buffer is writable for its length.
            let n = unsafe { libc::recv(self.raw(), rest.as_mut_ptr().cast(), rest.len(), 0) };
            match n {
                1.. => {
                    done += n as usize;
                    spin_end_ns = None;
                }
                0 => return Err(Cut::Closed),
                _ => self.pause(libc::POLLIN, until, &mut spin_end_ns)?,
            }
        }
        Ok(done)
    }

    /// Sends the whole buffer.
    pub fn send(&self, from: &[u8], until: Until<'_>) -> Result<(), Cut> {
        let mut done = 0;
        let mut spin_end_ns = None;
        while done < from.len() {
            let rest = &from[done..];
            let flags = libc::MSG_NOSIGNAL;
            // SAFETY: the rest of the buffer is readable for its length.
            let n = unsafe { libc::send(self.raw(), rest.as_ptr().cast(), rest.len(), flags) };
            match n {
                0.. => done += n as usize,
                _ => self.pause(libc::POLLOUT, until, &mut spin_end_ns)?,
            }
        }
        Ok(())
    }

    /// Waits until something can be received or sent (`POLLIN`, `POLLOUT`), or the connection ended.
    pub fn wait(&self, events: i16, until: Until<'_>) -> Result<(), Cut> {
        loop {
            if !(until.go_on)() {
                return Err(Cut::Stopped);
            }
            let left_ns = until.deadline_ns.saturating_sub(waiting_ns());
            if left_ns == 0 {
                return Err(Cut::Late);
            }
            let ms = left_ns.div_ceil(1_000_000).min(CHECK_MS);
            let mut poll = libc::pollfd { fd: self.raw(), events, revents: 0 };
            // SAFETY: the kernel reads and writes one pollfd.
            let ready = unsafe { libc::poll(&mut poll, 1, ms as i32) };
            match ready {
                1.. => return Ok(()),
                0 => {}
                _ => match last_errno() {
                    libc::EINTR => {}
                    errno => return Err(Cut::Failed(errno)),
                },
            }
        }
    }

    /// Ends the connection in both directions, even if other processes have copies of it. Async-signal-safe.
    pub fn shutdown(&self) {
        // SAFETY: no memory is involved.
        unsafe { libc::shutdown(self.raw(), libc::SHUT_RDWR) };
    }

    /// After a system call that moved nothing: returns when it should be tried again.
    fn pause(
        &self,
        events: i16,
        until: Until<'_>,
        spin_end_ns: &mut Option<u64>,
    ) -> Result<(), Cut> {
        match last_errno() {
            libc::EINTR => return Ok(()),
            libc::EAGAIN => {}
            libc::ECONNRESET | libc::EPIPE => return Err(Cut::Closed),
            errno => return Err(Cut::Failed(errno)),
        }
        let now = now_ns();
        let spin_end = *spin_end_ns.get_or_insert(now + until.spin_ns);
        if now < spin_end {
            std::hint::spin_loop();
            return Ok(());
        }
        self.wait(events, until)
    }

    fn raw(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

impl AsFd for TcpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Cut {
    /// For messages to people.
    pub fn explain(self) -> io::Error {
        match self {
            Cut::Closed => io::ErrorKind::ConnectionReset.into(),
            Cut::Late => io::ErrorKind::TimedOut.into(),
            Cut::Stopped => io::ErrorKind::Interrupted.into(),
            Cut::Failed(errno) => io::Error::from_raw_os_error(errno),
        }
    }
}

fn last_errno() -> i32 {
    // SAFETY: the thread's own errno.
    unsafe { *libc::__errno_location() }
}

/// How often a sleeper looks at its other conditions, in milliseconds.
const CHECK_MS: u64 = 100;
