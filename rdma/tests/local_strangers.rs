//! Input over a Unix socket and through shared memory from code other than the crate's own, while a VM works with the
//! same server: every such session ends, and nothing of it is left.
//!
//! This program is its own memory server (`--fd N`, `--listen ADDRESS`).

use std::env;
use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rdma::Token;
use rdma::server;
use rdma::spawn::{Fleet, FleetOptions};

#[allow(dead_code)]
mod protocol;

use protocol::{HELLO, Quiet, START, Stopping, VERSION, opening};

fn main() {
    let args: Vec<String> = env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("--fd") => {
            let fd = args[2].parse().unwrap();
            let served = server::serve(fd, Some(1 << 40), |_| Arc::new(Quiet::default()));
            // Bad clients are the subject of this test: no message.
            std::process::exit(i32::from(served.is_err()));
        }
        Some("--listen") => {
            let address = args[2].parse().unwrap();
            let Err(error) = server::listen(&address, Token::none(), &[], |_| ());
            panic!("{error}");
        }
        _ => {
            a_vm_notices_nothing();
            sessions_outlive_those_that_cannot_be_started();
            println!("local strangers: ok");
        }
    }
}

fn a_vm_notices_nothing() {
    let server = Server::start();
    let quiet = Arc::new(Quiet::default());
    let fleet = server.connect(&quiet);
    let before = server.holdings();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let stopping = Stopping(&stop);
        let worker = scope.spawn(|| {
            let mut rounds = 0;
            while !stop.load(Ordering::Relaxed) {
                rounds += 1;
                fleet.segment(0).write(4096, &[rounds; 512]).unwrap();
                let mut words = [0; 512];
                fleet.segment(0).read(4096, &mut words).unwrap();
                assert_eq!(words, [rounds; 512]);
                fleet.channel(0).call(b"x", Duration::from_secs(5)).unwrap();
            }
            rounds
        });
        for (n, messages) in attacks().into_iter().enumerate() {
            let stranger = Stranger::new(&server);
            for (bytes, files) in &messages {
                stranger.send(bytes, files);
            }
            assert!(stranger.is_ended(), "attack {n}: {messages:?}");
        }
        attacks_through_rings(&server);
        drop(stopping);
        println!("{} rounds under attack", worker.join().unwrap());
    });
    assert_eq!(quiet.lost.load(Ordering::Relaxed), 0);
    // Finished sessions are reaped when the next one comes; the last one stays until then.
    let until = Instant::now() + Duration::from_secs(5);
    loop {
        drop(server.connect(&quiet));
        thread::sleep(Duration::from_millis(50));
        let after = server.holdings();
        if server.sessions() == 1 && after.0 <= before.0 + 4 && after.1 <= before.1 + 1 {
            break;
        }
        assert!(Instant::now() < until, "{before:?} became {after:?}, {}", server.sessions());
    }
}

/// The program's file is missing, as during an upgrade; or the server may open no more files.
fn sessions_outlive_those_that_cannot_be_started() {
    let copy = env::temp_dir().join(format!("farheap-local-strangers-{}", std::process::id()));
    std::fs::copy(env::current_exe().unwrap(), &copy).unwrap();
    let mut server = Server::start_program(&copy, "copy");
    let quiet = Arc::new(Quiet::default());
    let fleet = server.connect(&quiet);
    std::fs::remove_file(&copy).unwrap();
    let connect = vec![format!("unix:{}", server.name).parse().unwrap()];
    let options = FleetOptions { connect, far_bytes: 1 << 20, ..FleetOptions::default() };
    assert!(Fleet::start(options, quiet.clone()).is_err(), "there is no program");
    let files = server.limit_files(0);
    let stranger = Stranger::new(&server);
    thread::sleep(Duration::from_millis(300));
    server.limit_files(files);
    assert!(stranger.is_ended());
    assert!(server.process.try_wait().unwrap().is_none(), "the server has ended");
    fleet.segment(0).write(4096, &[7; 512]).unwrap();
    let mut words = [0; 512];
    fleet.segment(0).read(4096, &mut words).unwrap();
    assert_eq!(words, [7; 512]);
    fleet.channel(0).call(b"x", Duration::from_secs(5)).unwrap();
}

/// Messages with files, of sessions that never begin.
fn attacks() -> Vec<Vec<(Vec<u8>, Vec<OwnedFd>)>> {
    let message = |tag: u8, fields: &[&[u8]]| opening(VERSION, tag, fields);
    let hello = |server: u16, servers: u16, bytes: u64| {
        let numbers = [server.to_le_bytes(), servers.to_le_bytes()].concat();
        let peers = servers.saturating_sub(1).to_le_bytes();
        message(HELLO, &[&numbers, &bytes.to_le_bytes(), &bytes.to_le_bytes(), &peers])
    };
    // Of three servers, with `peers` to be named.
    let of_three = |peers: u16| {
        let bytes = (1_u64 << 20).to_le_bytes();
        let fields = [&[0, 0, 3, 0][..], &bytes, &bytes, &peers.to_le_bytes()];
        (message(HELLO, &fields), vec![rings()])
    };
    let told = |n: u16| (message(2, &[&n.to_le_bytes(), &[0]]), vec![rings(), rings()]);
    let good = || (hello(0, 1, 1 << 20), vec![rings()]);
    let start = || (message(START, &[]), Vec::new());
    let piece = |offset: u64, place: u64, bytes: u64| {
        message(18, &[&[offset, place, bytes].map(u64::to_le_bytes).concat()])
    };
    let file = || memory(1 << 20, true);
    let peer = |peer: u16, side: u8| message(2, &[&peer.to_le_bytes(), &[side]]);
    vec![
        vec![(b"GET / HTTP/1.1\r\n\r\n".to_vec(), vec![])],
        vec![(vec![0xff; 4096], vec![])],
        vec![(vec![0; 100_000], vec![])],
        vec![(opening(VERSION + 1, HELLO, &[]), vec![rings()])],
        vec![start()],
        vec![(hello(0, 1, 1 << 20), vec![])],
        vec![(hello(1, 1, 1 << 20), vec![rings()])],
        vec![(hello(0, 0, 1 << 20), vec![rings()])],
        vec![(hello(0, u16::MAX, 1 << 20), vec![rings()])],
        vec![(hello(0, 1, 12345), vec![rings()])],
        vec![(hello(0, 1, 1 << 20), vec![File::open("/dev/null").unwrap().into()])],
        vec![(hello(0, 1, 1 << 20), vec![memory(4096, true)])],
        vec![(hello(0, 1, 1 << 20), vec![memory(RINGS_BYTES, false)])],
        vec![(hello(0, 1, 1 << 20), (0..20).map(|_| rings()).collect())],
        vec![good(), good()],
        vec![good(), (peer(0, 0), vec![]), start()],
        // Fewer or more peers than were announced, and an announcement that cannot be.
        vec![of_three(2), start()],
        vec![of_three(2), told(1), start()],
        vec![of_three(0), told(1), start()],
        vec![of_three(1), told(1), start()],
        vec![of_three(3), start()],
        vec![good(), (peer(1, 0), vec![rings(), rings()]), start()],
        vec![(hello(0, 3, 1 << 20), vec![rings()]), (peer(1, 0), vec![rings(), rings()]), start()],
        vec![(hello(0, 2, 1 << 20), vec![rings()]), (peer(1, 7), vec![rings(), rings()])],
        vec![(hello(0, 2, 1 << 20), vec![rings()]), (peer(1, 0), vec![rings()]), start()],
        // More than the server offers.
        vec![(hello(0, 1, 1 << 41), vec![rings()]), start()],
        // Pieces of a pool: before the rest, without its file, with a gap, of nothing, behind the end, not in the file.
        vec![(piece(0, 0, 4096), vec![file()]), good(), start()],
        vec![good(), (piece(0, 0, 4096), vec![]), start()],
        vec![good(), (piece(4096, 0, 4096), vec![file()]), start()],
        vec![good(), (piece(0, 0, 4096), vec![file()]), (piece(8192, 0, 4096), vec![]), start()],
        vec![good(), (piece(0, 0, 0), vec![file()]), start()],
        vec![good(), (piece(0, 8, 4096), vec![file()]), start()],
        vec![good(), (piece(0, 0, (1 << 20) + 4096), vec![file()]), start()],
        vec![good(), (piece(0, 0, u64::MAX - 4095), vec![file()]), start()],
        vec![good(), (piece(0, 1 << 20, 4096), vec![file()]), start()],
        vec![good(), (piece(0, u64::MAX - 4095, 4096), vec![file()]), start()],
        vec![good(), (piece(0, 0, 4096), vec![File::open("/dev/null").unwrap().into()]), start()],
        // For a listener's own processes only.
        vec![(message(12, &[b"a token of my own"]), vec![])],
        vec![(message(13, &[&[0; 32]]), vec![])],
        vec![(message(14, &[&[0, 0]]), vec![rings()])],
    ]
}

/// Sessions that begin as they should, and then find something impossible in their ring.
fn attacks_through_rings(server: &Server) {
    // Place in the first ring, and value: head; tail; a first frame and the head behind it.
    let attacks: [&[(u64, u64)]; 6] = [
        &[(0, u64::MAX)],
        &[(0, 8)],
        &[(64, 1 << 40)],
        &[(4096, 9 << 32), (0, 16)],
        &[(4096, 1 << 32 | 300_000), (0, 1 << 19)],
        &[(64, u64::MAX - 7), (0, 4088)],
    ];
    for (n, words) in attacks.into_iter().enumerate() {
        let stranger = Stranger::new(server);
        let (rings, shared) = (rings(), 1_u64 << 20);
        let ours = File::from(rings.try_clone().unwrap());
        let far = [&[0, 0, 1, 0][..], &shared.to_le_bytes(), &[0, 0]].concat();
        stranger.send(&opening(VERSION, HELLO, &[&far]), &[rings]);
        stranger.send(&opening(VERSION, START, &[]), &[]);
        for (at, word) in words {
            use std::os::unix::fs::FileExt;
            ours.write_all_at(&word.to_ne_bytes(), *at).unwrap();
        }
        assert!(stranger.is_ended(), "attack {n} through a ring");
    }
}

/// A connection that does not follow the protocol.
struct Stranger(OwnedFd);

impl Stranger {
    fn new(server: &Server) -> Stranger {
        // SAFETY: no memory is involved; the descriptor is new and has no other owner.
        let socket = unsafe {
            let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
            OwnedFd::from_raw_fd(libc::socket(libc::AF_UNIX, kind, 0))
        };
        // SAFETY: all-zero is a valid address; the first byte stays zero: an abstract name.
        let mut address = unsafe { std::mem::zeroed::<libc::sockaddr_un>() };
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        for (into, from) in address.sun_path[1..].iter_mut().zip(server.name.as_bytes()) {
            *into = *from as libc::c_char;
        }
        let length = std::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + server.name.len();
        let pointer = (&raw const address).cast();
        // SAFETY: the address is valid for the length given.
        let rc = unsafe { libc::connect(socket.as_raw_fd(), pointer, length as u32) };
        assert_eq!(rc, 0, "{}", std::io::Error::last_os_error());
        Stranger(socket)
    }

    /// Sends a message with files. The server may have closed it already.
    fn send(&self, bytes: &[u8], files: &[OwnedFd]) {
        let raw: Vec<RawFd> = files.iter().map(AsRawFd::as_raw_fd).collect();
        let mut iov = libc::iovec { iov_base: bytes.as_ptr() as *mut _, iov_len: bytes.len() };
        let mut space = [0_u64; 64];
        // SAFETY: all-zero is a valid header; it then describes live buffers, and the control space holds one
        // message with 32 descriptors.
        unsafe {
            let mut header = std::mem::zeroed::<libc::msghdr>();
            header.msg_iov = &mut iov;
            header.msg_iovlen = 1;
            if !raw.is_empty() {
                assert!(raw.len() <= 32);
                let fd_bytes = size_of_val(raw.as_slice()) as u32;
                header.msg_control = space.as_mut_ptr().cast();
                header.msg_controllen = libc::CMSG_SPACE(fd_bytes) as _;
                let control = libc::CMSG_FIRSTHDR(&header);
                (*control).cmsg_level = libc::SOL_SOCKET;
                (*control).cmsg_type = libc::SCM_RIGHTS;
                (*control).cmsg_len = libc::CMSG_LEN(fd_bytes) as _;
                let data = libc::CMSG_DATA(control).cast::<u8>();
                data.copy_from(raw.as_ptr().cast(), fd_bytes as usize);
            }
            libc::sendmsg(self.0.as_raw_fd(), &header, libc::MSG_NOSIGNAL);
        }
    }

    /// Whether the server ends the connection within some seconds.
    fn is_ended(&self) -> bool {
        let until = Instant::now() + Duration::from_secs(8);
        while Instant::now() < until {
            let fd = self.0.as_raw_fd();
            let mut poll = libc::pollfd { fd, events: libc::POLLRDHUP, revents: 0 };
            // SAFETY: the kernel reads and writes one pollfd.
            if unsafe { libc::poll(&mut poll, 1, 100) } > 0 {
                return true;
            }
        }
        false
    }
}

/// Memory as a VM sends it for the rings of its channel.
fn rings() -> OwnedFd {
    memory(RINGS_BYTES, true)
}

fn memory(bytes: usize, is_sealed: bool) -> OwnedFd {
    let name: &CStr = c"stranger";
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: the name is a C string; the descriptor is new and has no other owner.
    unsafe {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        let fd = OwnedFd::from_raw_fd(libc::memfd_create(name.as_ptr(), flags));
        assert_eq!(libc::ftruncate(fd.as_raw_fd(), bytes as libc::off_t), 0);
        if is_sealed {
            assert_eq!(libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals), 0);
        }
        fd
    }
}

/// A memory server in a process of its own.
struct Server {
    process: Child,
    name: String,
}

impl Server {
    fn start() -> Server {
        Server::start_program(&env::current_exe().unwrap(), "own")
    }

    fn start_program(program: &Path, name: &str) -> Server {
        let name = format!("farheap-local-strangers-{}-{name}", std::process::id());
        let mut command = Command::new(program);
        let process = command.args(["--listen", &format!("unix:{name}")]).spawn().unwrap();
        Server { process, name }
    }

    /// A VM. At first it may take a moment until the server listens.
    fn connect(&self, service: &Arc<Quiet>) -> Fleet {
        let connect = vec![format!("unix:{}", self.name).parse().unwrap()];
        let options = FleetOptions { connect, far_bytes: 1 << 20, ..FleetOptions::default() };
        for _ in 0..200 {
            if let Ok(fleet) = Fleet::start(options.clone(), service.clone()) {
                return fleet;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("no server listens");
    }

    /// From now on the process may open files with numbers below `files` only; the previous limit is returned.
    fn limit_files(&self, files: libc::rlim_t) -> libc::rlim_t {
        let pid = self.process.id() as libc::pid_t;
        let mut old = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: both limits are variables of this function.
        unsafe {
            assert_eq!(libc::prlimit(pid, libc::RLIMIT_NOFILE, std::ptr::null(), &mut old), 0);
            let new = libc::rlimit { rlim_cur: files, ..old };
            assert_eq!(libc::prlimit(pid, libc::RLIMIT_NOFILE, &new, std::ptr::null_mut()), 0);
        }
        old.rlim_cur
    }

    /// Open files and threads of the process that listens.
    fn holdings(&self) -> (usize, usize) {
        let count = |what: &str| {
            let folder = Path::new("/proc").join(self.process.id().to_string()).join(what);
            std::fs::read_dir(folder).unwrap().count()
        };
        (count("fd"), count("task"))
    }

    /// Its child processes that are no zombies.
    fn sessions(&self) -> usize {
        // Each was started by a thread of its own, which may have ended by now.
        let tasks = Path::new("/proc").join(self.process.id().to_string()).join("task");
        let children = std::fs::read_dir(tasks).unwrap().map(|task| {
            let children = task.unwrap().path().join("children");
            std::fs::read_to_string(children).unwrap_or_default()
        });
        let text = children.collect::<String>();
        let is_running = |pid: &&str| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
        };
        text.split_whitespace().filter(is_running).count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Two rings of 1 MiB with a page each.
const RINGS_BYTES: usize = 2 * (4096 + (1 << 20));
