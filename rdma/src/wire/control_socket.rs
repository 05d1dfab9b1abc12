//! Control sockets: they carry the few messages of the start, with file descriptors, and then only
//! stay open: their end of file shows that the peer died.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::RdmaError;

/// The bytes of a message, and the descriptors that came with it.
pub type Received = (Vec<u8>, Vec<OwnedFd>);

/// One end of a Unix socket that keeps message boundaries.
#[derive(Debug)]
pub struct ControlSocket(OwnedFd);

impl ControlSocket {
    /// Two connected ends.
    pub fn pair() -> Result<(ControlSocket, ControlSocket), RdmaError> {
        let mut fds = [0; 2];
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        // SAFETY: the kernel writes two descriptors into the array.
        if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) } != 0 {
            return Err(RdmaError::last_os("socketpair"));
        }
        // SAFETY: both are new and have no other owner.
        let own = |fd| ControlSocket(unsafe { OwnedFd::from_raw_fd(fd) });
        Ok((own(fds[0]), own(fds[1])))
    }

    /// Waits for connections under an abstract name: it is in no file system and ends with the process.
    pub fn listen(name: &str) -> Result<ControlSocket, RdmaError> {
        let socket = ControlSocket::unconnected()?;
        let (address, length) = abstract_address(name)?;
        let pointer = (&raw const address).cast();
        // SAFETY: the address is valid for the length given.
        if unsafe { libc::bind(socket.raw(), pointer, length) } != 0 {
            return Err(RdmaError::last_os("binding a socket to a name"));
        }
        // SAFETY: no memory is involved.
        if unsafe { libc::listen(socket.raw(), 16) } != 0 {
            return Err(RdmaError::last_os("listening on a socket"));
        }
        Ok(socket)
    }

    /// The next connection to a listening socket, from a process of the same user.
    pub fn accept(&self) -> Result<ControlSocket, RdmaError> {
        let none = std::ptr::null_mut::<libc::sockaddr>();
        loop {
            let length = std::ptr::null_mut();
            // SAFETY: no address is asked for.
            let fd = unsafe { libc::accept4(self.raw(), none, length, libc::SOCK_CLOEXEC) };
            if fd < 0 {
                return Err(RdmaError::last_os("accepting a connection"));
            }
            // SAFETY: it is new and has no other owner.
            let socket = ControlSocket(unsafe { OwnedFd::from_raw_fd(fd) });
            // SAFETY: no memory is involved.
            if socket.peer_user()? == unsafe { libc::geteuid() } {
                return Ok(socket);
            }
            log::warn!("a connection from another user was refused");
        }
    }

    /// Connects to a socket that listens under an abstract name.
    pub fn connect(name: &str) -> Result<ControlSocket, RdmaError> {
        let socket = ControlSocket::unconnected()?;
        let (address, length) = abstract_address(name)?;
        let pointer = (&raw const address).cast();
        // SAFETY: the address is valid for the length given.
        if unsafe { libc::connect(socket.raw(), pointer, length) } != 0 {
            return Err(RdmaError::last_os("connecting"));
        }
        Ok(socket)
    }

    fn unconnected() -> Result<ControlSocket, RdmaError> {
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        // SAFETY: no memory is involved.
        let fd = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
        if fd < 0 {
            return Err(RdmaError::last_os("socket"));
        }
        // SAFETY: it is new and has no other owner.
        Ok(ControlSocket(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    fn peer_user(&self) -> Result<libc::uid_t, RdmaError> {
        let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let mut length = size_of::<libc::ucred>() as libc::socklen_t;
        let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        let pointer = (&raw mut peer).cast();
        // SAFETY: the kernel writes at most `length` bytes.
        if unsafe { libc::getsockopt(self.raw(), level, option, pointer, &mut length) } != 0 {
            return Err(RdmaError::last_os("reading the user of a peer"));
        }
        Ok(peer.uid)
    }

    /// Sends one message with descriptors (at most [`FDS_MAX`]).
    pub fn send(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), RdmaError> {
        assert!(bytes.len() <= CONTROL_BYTES_MAX && fds.len() <= FDS_MAX);
        let raw: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
        let mut iov = libc::iovec { iov_base: bytes.as_ptr() as *mut _, iov_len: bytes.len() };
        let mut space = ControlSpace::default();
        // SAFETY: all-zero is a valid msghdr.
        let mut header = unsafe { std::mem::zeroed::<libc::msghdr>() };
        header.msg_iov = &mut iov;
        header.msg_iovlen = 1;
        if !raw.is_empty() {
            let fd_bytes = size_of_val(raw.as_slice());
            header.msg_control = space.0.as_mut_ptr().cast();
            // SAFETY: pure arithmetic.
            header.msg_controllen = unsafe { libc::CMSG_SPACE(fd_bytes as u32) } as _;
            // SAFETY: the control space holds one header and FDS_MAX descriptors.
            unsafe {
                let control = libc::CMSG_FIRSTHDR(&header);
                (*control).cmsg_level = libc::SOL_SOCKET;
                (*control).cmsg_type = libc::SCM_RIGHTS;
                (*control).cmsg_len = libc::CMSG_LEN(fd_bytes as u32) as _;
                libc::CMSG_DATA(control).cast::<u8>().copy_from(raw.as_ptr().cast(), fd_bytes);
            }
        }
        // SAFETY: the header describes live buffers.
        if unsafe { libc::sendmsg(self.raw(), &header, libc::MSG_NOSIGNAL) } < 0 {
            return Err(RdmaError::last_os("sending on a control socket"));
        }
        Ok(())
    }

    /// Receives one message. `Ok(None)`: the peer closed its end. No message in time is an error.
    pub fn receive(&self, timeout: Duration) -> Result<Option<Received>, RdmaError> {
        if !self.poll(libc::POLLIN, Some(timeout)) {
            let source = io::Error::from(io::ErrorKind::TimedOut);
            return Err(RdmaError::Os { what: "waiting on a control socket", source });
        }
        let mut bytes = vec![0; CONTROL_BYTES_MAX];
        let mut iov = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let mut space = ControlSpace::default();
        // SAFETY: all-zero is a valid msghdr.
        let mut header = unsafe { std::mem::zeroed::<libc::msghdr>() };
        header.msg_iov = &mut iov;
        header.msg_iovlen = 1;
        header.msg_control = space.0.as_mut_ptr().cast();
        header.msg_controllen = size_of::<ControlSpace>() as _;
        // SAFETY: the header describes live, writable buffers.
        let received = unsafe { libc::recvmsg(self.raw(), &mut header, libc::MSG_CMSG_CLOEXEC) };
        if received < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::ConnectionReset {
                return Ok(None);
            }
            return Err(RdmaError::Os { what: "receiving on a control socket", source: error });
        }
        let mut fds = Vec::new();
        // SAFETY: the kernel filled the control space; the macros stay inside msg_controllen. Each
        // descriptor is new and ours.
        unsafe {
            let mut control = libc::CMSG_FIRSTHDR(&header);
            while !control.is_null() {
                let is_fds = (*control).cmsg_type == libc::SCM_RIGHTS;
                if (*control).cmsg_level == libc::SOL_SOCKET && is_fds {
                    let bytes = (*control).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                    let data = libc::CMSG_DATA(control).cast::<RawFd>();
                    for i in 0..bytes / size_of::<RawFd>() {
                        fds.push(OwnedFd::from_raw_fd(data.add(i).read_unaligned()));
                    }
                }
                control = libc::CMSG_NXTHDR(&header, control);
            }
        }
        let is_cut = header.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0;
        if is_cut || fds.len() > FDS_MAX {
            let source = io::Error::from(io::ErrorKind::InvalidData);
            return Err(RdmaError::Os { what: "a control message that is too long", source });
        }
        if received == 0 {
            return Ok(None);
        }
        bytes.truncate(received as usize);
        Ok(Some((bytes, fds)))
    }

    /// As [`ControlSocket::send`], but gives up when the peer does not make room in time.
    pub fn send_within(
        &self,
        bytes: &[u8],
        fds: &[BorrowedFd<'_>],
        timeout: Duration,
    ) -> Result<(), RdmaError> {
        if !self.poll(libc::POLLOUT, Some(timeout)) {
            let source = io::Error::from(io::ErrorKind::TimedOut);
            return Err(RdmaError::Os { what: "sending on a control socket", source });
        }
        self.send(bytes, fds)
    }

    /// Waits until there is a message, or the peer closed its end.
    pub fn wait_readable(&self) {
        while !self.poll(libc::POLLIN, None) {}
    }

    /// Has the peer closed its end, or died?
    pub fn is_closed(&self) -> bool {
        self.poll(libc::POLLRDHUP, Some(Duration::ZERO))
    }

    /// Waits until the peer closes its end or dies.
    pub fn wait_closed(&self) {
        while !self.poll(libc::POLLRDHUP, None) {}
    }

    /// Notifies the peer that we are leaving, even if other processes still have copies of this end.
    pub fn shutdown(&self) {
        // SAFETY: no memory is involved.
        unsafe { libc::shutdown(self.raw(), libc::SHUT_RDWR) };
    }

    fn poll(&self, events: i16, timeout: Option<Duration>) -> bool {
        let mut poll = libc::pollfd { fd: self.raw(), events, revents: 0 };
        let ms = timeout.map_or(-1, |t| i32::try_from(t.as_millis()).unwrap_or(i32::MAX));
        // SAFETY: the kernel reads and writes one pollfd.
        unsafe { libc::poll(&mut poll, 1, ms) > 0 }
    }

    fn raw(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for ControlSocket {
    fn from(fd: OwnedFd) -> ControlSocket {
        ControlSocket(fd)
    }
}

impl From<ControlSocket> for OwnedFd {
    fn from(socket: ControlSocket) -> OwnedFd {
        socket.0
    }
}

fn abstract_address(name: &str) -> Result<(libc::sockaddr_un, libc::socklen_t), RdmaError> {
    // SAFETY: all-zero is a valid address; its first byte stays zero, which makes the name abstract.
    let mut address = unsafe { std::mem::zeroed::<libc::sockaddr_un>() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let name = name.as_bytes();
    if name.is_empty() || name.len() >= address.sun_path.len() {
        let source = io::Error::from(io::ErrorKind::InvalidInput);
        return Err(RdmaError::Os { what: "name of a socket", source });
    }
    for (into, from) in address.sun_path[1..].iter_mut().zip(name) {
        *into = *from as libc::c_char;
    }
    let length = std::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    Ok((address, length as libc::socklen_t))
}

/// Room for the descriptors of one message, aligned as a cmsghdr must be.
#[derive(Default)]
struct ControlSpace([u64; 8]);

/// The most descriptors in one message.
pub const FDS_MAX: usize = 4;
/// The longest control message in bytes.
pub const CONTROL_BYTES_MAX: usize = 4096;

const _: () = assert!(size_of::<ControlSpace>() >= 16 + 8 * FDS_MAX);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_travel_and_the_end_is_seen() {
        let (a, b) = ControlSocket::pair().unwrap();
        let (c, d) = ControlSocket::pair().unwrap();
        a.send(b"take this", &[c.as_fd()]).unwrap();
        drop(c);
        let (bytes, mut fds) = b.receive(Duration::from_secs(1)).unwrap().unwrap();
        assert_eq!((bytes.as_slice(), fds.len()), (&b"take this"[..], 1));
        assert!(!d.is_closed());
        let c = ControlSocket::from(fds.pop().unwrap());
        c.send(b"x", &[]).unwrap();
        drop(c);
        assert_eq!(d.receive(Duration::from_secs(1)).unwrap().unwrap().0, b"x");
        assert!(d.is_closed());
        assert!(d.receive(Duration::from_secs(1)).unwrap().is_none());
        assert!(b.receive(Duration::from_millis(1)).is_err(), "a silent peer is not a closed one");
    }
}
