//! The attach mechanism of HotSpot on Linux, by which `jcmd`, `jstack`, `jmap` and `jinfo` reach a VM.
//!
//! 1. A tool makes the file `.attach_pidN` in the VM's working folder or in `/tmp`, where N is the VM's process id as
//!    the VM itself sees it, and sends SIGQUIT.
//! 2. The VM finds the file ([`take_request`]), makes the socket `/tmp/.java_pidN`, and starts a thread that answers on
//!    it. Both files must belong to the user of the VM, or to root.
//! 3. The tool connects, sends a request, and reads the answer up to the end of the connection:
//!
//! ```text
//! request   "1\0" name "\0" argument "\0" argument "\0" argument "\0"
//! answer    code "\n" output                                  code 0: it was done
//! ```
//!
//! The socket stays until the process ends. All of this belongs to the process: the first VM that listens has it.

use super::operations::{self, Operation};
use crate::machine::JavaThread;
use crate::runtime::JResult;
use crate::threads::start::start_daemon;
use parking_lot::Mutex;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Removes what a dead process with our id has left, and listens if tools are not to ask first. A safepoint.
pub fn start(t: &JavaThread) -> JResult<()> {
    let options = &t.vm.options;
    if options.disable_attach {
        return Ok(());
    }
    if LISTENER.lock().is_none() {
        let _ = fs::remove_file(socket_path());
    }
    // Where the program has the signals, no tool can ask with SIGQUIT.
    if options.start_attach || options.reduce_signals {
        listen(t)?;
    }
    Ok(())
}

/// Whether SIGQUIT has come from a tool that wants to attach: then the VM listens. A safepoint.
pub fn take_request(t: &JavaThread) -> JResult<bool> {
    if t.vm.options.disable_attach || !is_asked() {
        return Ok(false);
    }
    listen(t)?;
    Ok(true)
}

/// Whether there is a request file of a user who may attach.
fn is_asked() -> bool {
    let name = format!(".attach_pid{}", std::process::id());
    let folders = [Path::new(""), Path::new(TEMPORARY)];
    let owner = |folder: &Path| fs::symlink_metadata(folder.join(&name)).ok().map(|m| m.uid());
    folders.into_iter().find_map(owner).is_some_and(may_attach)
}

fn may_attach(user: u32) -> bool {
    // SAFETY: plain query.
    user == 0 || user == unsafe { libc::geteuid() }
}

/// Makes the socket and starts the thread, unless both are there. A socket that cannot be made is no error of the
/// program's: the tool finds none, and gives up.
fn listen(t: &JavaThread) -> JResult<()> {
    let mut listener = LISTENER.lock();
    if let Some(old) = &*listener {
        if socket_path().exists() {
            return Ok(());
        }
        // Somebody has removed the file. The thread ends, as its `accept` fails.
        // SAFETY: the descriptor is open as long as `old` lives.
        unsafe { libc::shutdown(old.as_raw_fd(), libc::SHUT_RDWR) };
    } else {
        // SAFETY: the handler may run at any time from now on.
        unsafe { libc::atexit(remove_socket) };
    }
    *listener = open().ok().map(Arc::new);
    let is_open = listener.is_some();
    drop(listener);
    if !is_open {
        return Ok(());
    }
    let started = start_daemon(t, "Attach Listener", serve);
    if started.is_err() {
        *LISTENER.lock() = None;
        let _ = fs::remove_file(socket_path());
    }
    started
}

/// The socket appears under its name when it is ready, and with its permissions.
fn open() -> io::Result<UnixListener> {
    let path = socket_path();
    let unready = path.with_extension("tmp");
    let _ = fs::remove_file(&unready);
    let listener = UnixListener::bind(&unready)?;
    fs::set_permissions(&unready, fs::Permissions::from_mode(0o600))?;
    fs::rename(&unready, &path)?;
    Ok(listener)
}

fn socket_path() -> PathBuf {
    Path::new(TEMPORARY).join(format!(".java_pid{}", std::process::id()))
}

/// The process ends. Never blocks.
pub extern "C" fn remove_socket() {
    // Not where a thread holds the lock: it must not block the end of the process.
    if LISTENER.try_lock().is_some_and(|listener| listener.is_some()) {
        let _ = fs::remove_file(socket_path());
    }
}

/// The body of the thread.
fn serve(t: &JavaThread) -> JResult<()> {
    let Some(listener) = LISTENER.lock().clone() else {
        return Ok(());
    };
    loop {
        match t.safely(|| listener.accept()) {
            Ok((stream, _)) => {
                let _scope = t.scope();
                // A tool that goes away, or sends nonsense, gets no answer.
                let _ = answer(t, stream);
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(()),
            // The process has no descriptor left, for instance.
            Err(_) => t.safely(|| std::thread::sleep(RETRY)),
        }
    }
}

fn answer(t: &JavaThread, mut stream: UnixStream) -> io::Result<()> {
    if !may_attach(peer(&stream)?) {
        return Ok(());
    }
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = t.safely(|| read(&mut stream))?;
    let (code, output) = match request {
        Request::OtherVersion => (BAD_VERSION, String::new()),
        Request::Operation(operation) => operations::run(t, &operation),
    };
    t.safely(|| stream.write_all(format!("{code}\n{output}").as_bytes()))
}

/// The user at the other end.
fn peer(stream: &UnixStream) -> io::Result<u32> {
    let mut credentials = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the buffer has the length that is passed.
    let failed = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &mut length,
        )
    };
    if failed == 0 { Ok(credentials.uid) } else { Err(io::Error::last_os_error()) }
}

#[derive(Debug, PartialEq, Eq)]
enum Request {
    Operation(Operation),
    OtherVersion,
}

/// Reads a request, up to its last NUL.
fn read(stream: &mut impl Read) -> io::Result<Request> {
    let malformed = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    let mut words = 0;
    while words < WORDS {
        stream.read_exact(&mut byte)?;
        words += usize::from(byte[0] == 0);
        bytes.push(byte[0]);
        if bytes.len() > REQUEST_BYTES_MAX {
            return Err(malformed("a request that is too long"));
        }
    }
    let text = String::from_utf8(bytes).map_err(|_| malformed("a request that is no UTF-8"))?;
    let mut words = text.split_terminator('\0').map(String::from);
    let mut next = || words.next().unwrap_or_default();
    if next() != VERSION {
        return Ok(Request::OtherVersion);
    }
    Ok(Request::Operation(Operation { name: next(), arguments: [next(), next(), next()] }))
}

/// Of this process. Locked for a moment only.
static LISTENER: Mutex<Option<Arc<UnixListener>>> = Mutex::new(None);

/// The folder is part of the protocol, whatever `java.io.tmpdir` is.
const TEMPORARY: &str = "/tmp";
const VERSION: &str = "1";
/// Version, name, and three arguments.
const WORDS: usize = 5;
/// HotSpot allows 1,024 for each argument.
const REQUEST_BYTES_MAX: usize = 8 << 10;
const BAD_VERSION: i32 = 101;
/// How long a tool may take to send its request, and the VM to hand on a part of its answer.
const PATIENCE: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    fn read_bytes(bytes: &[u8]) -> Result<Request, io::ErrorKind> {
        read(&mut &bytes[..]).map_err(|error| error.kind())
    }

    #[test]
    fn requests_have_a_version_a_name_and_three_arguments() {
        let arguments = ["Thread.print -l".into(), String::new(), String::new()];
        let operation = Operation { name: "jcmd".into(), arguments };
        let request = b"1\0jcmd\0Thread.print -l\0\0\0";
        assert_eq!(read_bytes(request), Ok(Request::Operation(operation)));
        for length in 0..request.len() {
            assert_eq!(read_bytes(&request[..length]), Err(io::ErrorKind::UnexpectedEof));
        }
    }

    #[test]
    fn other_requests_are_refused() {
        assert_eq!(read_bytes(b"2\0jcmd\0\0\0\0"), Ok(Request::OtherVersion));
        let long = [b"1\0".as_slice(), &[b'x'; REQUEST_BYTES_MAX]].concat();
        assert_eq!(read_bytes(&long), Err(io::ErrorKind::InvalidData));
        assert_eq!(read_bytes(b"1\0\xff\0\0\0\0"), Err(io::ErrorKind::InvalidData));
    }
}
