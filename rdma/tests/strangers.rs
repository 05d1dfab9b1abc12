//! Input over TCP from code other than the crate's own: hostile clients of a memory server, while a
//! VM works with it, and hostile servers of a VM.
//!
//! This program is its own memory server (`--fd N`, `--listen ADDRESS TOKENFILE`).

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rdma::server;
use rdma::spawn::{Fleet, FleetOptions};
use rdma::{PeerId, RdmaError, Token};

mod protocol;

use protocol::{
    HELLO, Quiet, REFUSED, START, Stopping, VERSION, WELCOME, frame, knock, opening, page_request,
    purpose,
};

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
            let token = Token::read(args[3].as_ref()).unwrap();
            let address = args[2].parse().unwrap();
            let Err(error) = server::listen(&address, token, &[], |at| println!("{at}"));
            panic!("{error}");
        }
        _ => {
            addresses_that_others_can_reach_need_a_token();
            idle_strangers_keep_nobody_out();
            a_vm_that_is_turned_away_tries_again();
            a_vm_notices_nothing_of_strangers();
            hostile_servers_are_errors();
            a_broken_data_connection_is_replaced();
            a_vm_that_vanishes_gives_its_memory_back();
            every_thread_gets_its_turn();
            println!("strangers: ok");
        }
    }
}

fn addresses_that_others_can_reach_need_a_token() {
    let address = "0.0.0.0:0".parse().unwrap();
    let refused = server::listen(&address, Token::none(), &[], |_| ()).err().unwrap();
    assert!(
        matches!(&refused, RdmaError::Listen { reason, .. } if reason.contains("--token-file"))
    );
    // An address for documentation: no connection is made before the missing token is reported.
    let refused = connect("192.0.2.1:7411", Token::none()).err().unwrap();
    assert!(refused.to_string().contains("--token-file"), "{refused}");
    let mixed = FleetOptions {
        connect: vec!["unix:x".parse().unwrap(), "localhost:1".parse().unwrap()],
        far_bytes: 1 << 20,
        ..FleetOptions::default()
    };
    let refused = Fleet::start(mixed, Arc::new(Quiet::default())).err().unwrap();
    assert!(refused.to_string().contains("mixed"), "{refused}");
}

/// Connections that say nothing, more than a listener has places for, and then a VM.
fn idle_strangers_keep_nobody_out() {
    let server = Server::start();
    let silent: Vec<TcpStream> = (0..300).map(|_| server.connect()).collect();
    let started = Instant::now();
    let fleet = connect(&server.address, server.token()).unwrap();
    fleet.segment(0).write(0, &[7; 512]).unwrap();
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    drop((fleet, silent));
}

/// A proxy in front of the server closes the first connections.
fn a_vm_that_is_turned_away_tries_again() {
    let server = Server::start();
    let door = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = door.local_addr().unwrap().to_string();
    let behind = server.address.clone();
    let turned_away = Arc::new(AtomicUsize::new(0));
    let count = turned_away.clone();
    thread::spawn(move || {
        for stream in door.incoming().take(100) {
            let Ok(client) = stream else { return };
            if count.fetch_add(1, Ordering::SeqCst) < 4 {
                continue;
            }
            let server = TcpStream::connect(&behind).unwrap();
            for (mut from, mut to) in [
                (client.try_clone().unwrap(), server.try_clone().unwrap()),
                (server.try_clone().unwrap(), client.try_clone().unwrap()),
            ] {
                thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(std::net::Shutdown::Write);
                });
            }
        }
    });
    let fleet = connect(&address, server.token()).unwrap();
    fleet.segment(0).write(0, &[7; 512]).unwrap();
    assert!(turned_away.load(Ordering::SeqCst) > 4);
    drop(fleet);
}

fn a_vm_notices_nothing_of_strangers() {
    let server = Server::start();
    let quiet = Arc::new(Quiet::default());
    let fleet = connect_with(&server.address, server.token(), quiet.clone()).unwrap();
    let stop = AtomicBool::new(false);
    let rounds = AtomicU64::new(0);
    thread::scope(|scope| {
        let stopping = Stopping(&stop);
        let worker = scope.spawn(|| {
            let mut slowest = Duration::ZERO;
            while !stop.load(Ordering::Relaxed) {
                let n = rounds.fetch_add(1, Ordering::Relaxed);
                let started = Instant::now();
                fleet.segment(0).write(n % 64 * 4096, &[n; 512]).unwrap();
                let mut words = [0; 512];
                fleet.segment(0).read(n % 64 * 4096, &mut words).unwrap();
                assert_eq!(words, [n; 512]);
                fleet.channel(0).call(b"x", Duration::from_secs(5)).unwrap();
                slowest = slowest.max(started.elapsed());
            }
            slowest
        });
        attack(&server);
        drop(stopping);
        let slowest = worker.join().unwrap();
        println!("{} rounds under attack, the slowest {slowest:?}", rounds.load(Ordering::Relaxed));
        assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    });
    assert_eq!(quiet.lost.load(Ordering::Relaxed), 0);
}

fn attack(server: &Server) {
    let key: &[u8] = TOKEN.trim().as_bytes();
    // Silent ones first: they wait while the others attack. One sends a byte now and then.
    let silent: Vec<TcpStream> = (0..20).map(|_| server.connect()).collect();
    let mut slow = server.connect();
    let started = Instant::now();

    // No handshake at all.
    let knock_bytes = frame(4, 0, &opening(VERSION, 6, &[&[0; 32], &purpose(1, &[0; 16], 0)]));
    let mut too_long = knock_bytes.clone();
    too_long[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut changed = knock_bytes.clone();
    changed[40] ^= 1;
    let attacks = [
        b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n".to_vec(),
        vec![0; 100_000],
        vec![0xff; 100_000],
        too_long,
        changed,
        frame(2, 1, b"a call before the handshake"),
        frame(4, 0, b"farheap"),
        frame(4, 0, &opening(VERSION, START, &[])),
        frame(4, 0, &opening(VERSION, 6, &[&[0; 32], &purpose(9, &[0; 16], 0)])),
        random_bytes(5000),
    ];
    for (n, bytes) in attacks.iter().enumerate() {
        let mut stream = server.connect();
        let _ = stream.write_all(bytes);
        assert!(is_ended(&mut stream), "attack {n} is answered");
    }
    // Cut short in the middle of a frame.
    for length in [1, 20, 24, 40, knock_bytes.len() - 1] {
        server.connect().write_all(&knock_bytes[..length]).unwrap();
    }

    // A client of another release gets that reason.
    let mut stream = server.connect();
    stream.write_all(&frame(4, 0, &opening(VERSION + 1, 6, &[&[0; 51]]))).unwrap();
    let (message, _) = protocol::receive(&mut stream).unwrap();
    assert_eq!(message.tag, REFUSED);
    assert!(String::from_utf8_lossy(&message.fields).contains("another version"));

    // Wrong tokens.
    for token in [Token::none(), Token::random().unwrap()] {
        let refused = connect(&server.address, token).err().unwrap();
        assert!(matches!(&refused, RdmaError::Start { .. }), "{refused}");
        assert!(refused.to_string().contains("wrong token"), "{refused}");
    }
    // The right token, but a session that was made up; and the key of a session that does not exist.
    for tag in [2, 3] {
        let answer = knock(&mut server.connect(), key, &purpose(tag, &[77; 16], 0)).unwrap();
        assert_eq!(answer.tag, REFUSED);
    }
    malicious_sessions(server, key);

    // One byte at a time does not make a handshake longer.
    while started.elapsed() < Duration::from_secs(4) {
        let _ = slow.write_all(b"F");
        thread::sleep(Duration::from_millis(300));
    }
    for mut stream in silent.into_iter().chain([slow]) {
        assert!(is_ended(&mut stream), "silence is not listened to for ever");
    }
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
}

/// Clients that have the token can only harm themselves.
fn malicious_sessions(server: &Server, key: &[u8]) {
    let begin = || {
        let mut control = server.connect();
        let accepted = knock(&mut control, key, &purpose(1, &[0; 16], 0)).unwrap();
        let session: protocol::Session = accepted.fields[32..].try_into().unwrap();
        (control, session)
    };
    // Impossible numbers, messages out of order, garbage.
    let hello = |server: u16, servers: u16, bytes: u64| {
        let numbers = [server.to_le_bytes(), servers.to_le_bytes()].concat();
        let peers = servers.saturating_sub(1).to_le_bytes();
        [&numbers[..], &bytes.to_le_bytes(), &bytes.to_le_bytes(), &peers].concat()
    };
    for (tag, fields) in [
        (HELLO, hello(1, 1, 1 << 20)),
        (HELLO, hello(0, 0, 1 << 20)),
        (HELLO, hello(0, 1, 12345)),
        (START, Vec::new()),
        (10, [&[0, 0][..], &[0; 16], &[0, 0], b"example.org"].concat()),
        (13, vec![0; 32]),
    ] {
        let (mut control, _) = begin();
        protocol::send(&mut control, tag, &[&fields]);
        assert!(is_ended(&mut control), "message {tag}");
    }
    // Peers that were announced and are not named, or named and not announced: it waits for none of them.
    let of_three = |peers: u16| {
        let bytes = (1_u64 << 20).to_le_bytes();
        [&[0, 0, 3, 0][..], &bytes, &bytes, &peers.to_le_bytes()].concat()
    };
    let dial = |peer: u16| [&peer.to_le_bytes()[..], &[0; 16], &[1, 0], b"127.0.0.1"].concat();
    for (peers, dials) in [(2, vec![]), (2, vec![1]), (0, vec![1]), (1, vec![1]), (3, vec![])] {
        let (mut control, _) = begin();
        protocol::send(&mut control, HELLO, &[&of_three(peers)]);
        dials.iter().for_each(|peer| _ = protocol::send(&mut control, 10, &[&dial(*peer)]));
        protocol::send(&mut control, START, &[]);
        assert!(is_ended(&mut control), "{peers} announced, {} named", dials.len());
    }
    // A heap that is too large is refused.
    let (mut control, _) = begin();
    protocol::send(&mut control, HELLO, &[&hello(0, 1, 1 << 41)]);
    protocol::send(&mut control, START, &[]);
    assert_eq!(protocol::receive(&mut control).unwrap().0.tag, REFUSED);

    // A session of its own, with requests for pages that no VM sends.
    let (mut control, session) = begin();
    protocol::send(&mut control, HELLO, &[&hello(0, 1, 1 << 20)]);
    protocol::send(&mut control, START, &[]);
    assert_eq!(protocol::receive(&mut control).unwrap().0.tag, WELCOME);
    let far = 1 << 20;
    for (n, bytes) in [
        page_request(1, 1, 0, &[far, 8]),
        page_request(1, 1, 0, &[far - 8, 16]),
        page_request(1, 1, 0, &[u64::MAX - 7, 8]),
        page_request(1, 1, 0, &[4, 8]),
        page_request(1, 1, 0, &[0, 1 << 19]),
        page_request(1, 0, 0, &[]),
        page_request(1, 65, 0, &[]),
        page_request(2, 1, 16, &[0, 8, 1, 2]),
        page_request(2, 1, 1 << 31, &[0, 1 << 31]),
        page_request(3, 1, 0, &[8, 8]),
        page_request(3, 1, 0, &[0, u64::MAX - 4095]),
        page_request(7, 1, 0, &[0, 8]),
        page_request(4, 1, 0, &[0, 1 << 18]),
        page_request(1, 1, 0, &[0, 8]).repeat(2),
        random_bytes(4096),
    ]
    .iter()
    .enumerate()
    {
        let mut line = server.connect();
        assert_eq!(knock(&mut line, key, &purpose(2, &session, 0)).unwrap().tag, 9, "{n}");
        assert_eq!(protocol::receive(&mut line).unwrap().0.tag, WELCOME, "{n}");
        let _ = line.write_all(bytes);
        assert!(is_ended(&mut line), "request {n}");
    }
    // A correct one is served all the same; a number of a connection that is too high is not.
    let mut line = server.connect();
    knock(&mut line, key, &purpose(2, &session, 0)).unwrap();
    assert_eq!(protocol::receive(&mut line).unwrap().0.tag, WELCOME);
    line.write_all(&page_request(1, 1, 0, &[0, 8])).unwrap();
    let mut reply = [0; 32];
    line.read_exact(&mut reply).unwrap();
    assert_eq!(&reply[..4], b"FARR");
    let mut line = server.connect();
    knock(&mut line, key, &purpose(2, &session, 64)).unwrap();
    assert!(is_ended(&mut line));
    // Frames that are none end the session.
    control.write_all(&random_bytes(1000)).unwrap();
    assert!(is_ended(&mut control));
}

/// The effect on a VM of a server that is none: an error that says so, at once or after a few seconds.
fn hostile_servers_are_errors() {
    let before_the_session: [(&str, Vec<u8>); 5] = [
        ("no memory server", b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
        ("no memory server", random_bytes(100)),
        ("no answer", Vec::new()),
        ("go away", frame(4, 0, &opening(VERSION, REFUSED, &[b"go away"]))),
        ("another version", frame(4, 0, &opening(VERSION + 1, 7, &[&[0; 32]]))),
    ];
    for (expected, bytes) in before_the_session {
        let address = serve_once(move |mut stream| {
            let _ = stream.write_all(&bytes);
            // Ends the connection in order, so that the bytes that were sent arrive.
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let error = connect(&address, Token::none()).err().unwrap();
        assert!(matches!(error, RdmaError::Start { server: 0, .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    // Only a server with the token is trusted.
    let address = serve_once(|mut stream| {
        protocol::receive(&mut stream);
        protocol::send(&mut stream, 7, &[&[0; 32]]);
        protocol::receive(&mut stream);
        protocol::send(&mut stream, 9, &[&[0; 48]]);
        is_ended(&mut stream);
    });
    let error = connect(&address, Token::none()).err().unwrap();
    assert!(error.to_string().contains("does not know the token"), "{error}");

    // Replies that answer nothing.
    let wrong: [fn(&mut [u8]); 3] =
        [|head| head[0] ^= 1, |head| head[8] ^= 1, |head| head[16] ^= 8];
    for (n, spoil) in wrong.into_iter().enumerate() {
        let server = FakeServer::start(move |_, reply| {
            spoil(reply);
            true
        });
        let fleet = connect(&server.address, Token::none()).unwrap();
        let error = fleet.segment(0).read(0, &mut [0; 512]).unwrap_err();
        assert!(
            matches!(error, RdmaError::Malformed { peer: PeerId::Server(0), .. }),
            "{n}: {error}"
        );
        assert!(!fleet.segment(0).is_alive(), "such a server is not asked again");
    }
    // Pages that always break on their way are an error in the end.
    let server = FakeServer::start(|_, reply| {
        reply[100] ^= 1;
        true
    });
    let options = FleetOptions { checksums: true, lines: 1, ..options(&server.address) };
    let fleet = Fleet::start(options, Arc::new(Quiet::default())).unwrap();
    let error = fleet.segment(0).read(0, &mut [0; 512]).unwrap_err();
    assert!(matches!(error, RdmaError::Deadline { .. }), "{error}");
}

/// The connection ends in the middle of an operation, three times; then all succeeds.
fn a_broken_data_connection_is_replaced() {
    for lines in [1, 4] {
        let server = FakeServer::start(|request, _| request >= 3);
        let options = FleetOptions { lines, ..options(&server.address) };
        let quiet = Arc::new(Quiet::default());
        let fleet = Fleet::start(options, quiet.clone()).unwrap();
        fleet.segment(0).write(4096, &[5; 512]).unwrap();
        let mut words = [1; 512];
        fleet.segment(0).read(4096, &mut words).unwrap();
        assert_eq!(words, [0; 512], "this server forgets");
        assert_eq!(server.state.requests.load(Ordering::SeqCst), 5);
        let opened = server.state.lines.load(Ordering::SeqCst);
        assert_eq!(opened, usize::from(lines) + 3, "the broken ones were replaced");
        assert_eq!(quiet.lost.load(Ordering::SeqCst), 0);
    }
}

/// Many threads share one data connection; none waits long for it while others use it again and again.
fn every_thread_gets_its_turn() {
    let server = Server::start();
    let options = FleetOptions { lines: 1, token: server.token(), ..options(&server.address) };
    let fleet = Fleet::start(options, Arc::new(Quiet::default())).unwrap();
    let until = Instant::now() + Duration::from_secs(3);
    let worker = &|n: u64| {
        let (mut turns, mut slowest) = (0, Duration::ZERO);
        while Instant::now() < until {
            let started = Instant::now();
            fleet.segment(0).write(n * 4096, &[n; 512]).unwrap();
            slowest = slowest.max(started.elapsed());
            turns += 1;
        }
        (turns, slowest)
    };
    let turns: Vec<(u64, Duration)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..8).map(|n| scope.spawn(move || worker(n))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    println!("turns and longest waits of 8 threads on one connection: {turns:?}");
    assert!(turns.iter().all(|(_, slowest)| *slowest < Duration::from_millis(400)), "{turns:?}");
}

fn a_vm_that_vanishes_gives_its_memory_back() {
    let server = Server::start();
    let fleet = connect(&server.address, server.token()).unwrap();
    fleet.segment(0).write(0, &[1; 512]).unwrap();
    assert_eq!(children_of(server.process.id()), 1);
    drop(fleet);
    let gone = Instant::now();
    while children_of(server.process.id()) > 0 {
        assert!(gone.elapsed() < Duration::from_secs(2), "its session continues");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A memory server in a process of its own.
struct Server {
    process: Child,
    address: String,
    token_file: PathBuf,
}

impl Server {
    fn start() -> Server {
        let token_file = env::temp_dir().join(format!("farheap-strangers-{}", std::process::id()));
        std::fs::write(&token_file, TOKEN).unwrap();
        std::fs::set_permissions(&token_file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--listen", "127.0.0.1:0"]).arg(&token_file).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Server { process, address: address.trim().into(), token_file }
    }

    fn token(&self) -> Token {
        Token::read(&self.token_file).unwrap()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_file(&self.token_file);
    }
}

/// A server in a thread. It does as it should, except that `spoil` may change a reply; if that
/// returns false, the connection ends instead.
struct FakeServer {
    address: String,
    state: Arc<FakeState>,
}

#[derive(Default)]
struct FakeState {
    /// Data connections made.
    lines: AtomicUsize,
    /// Requests for pages.
    requests: AtomicUsize,
}

type Spoil = dyn Fn(usize, &mut [u8]) -> bool + Send + Sync;

impl FakeServer {
    fn start(spoil: impl Fn(usize, &mut [u8]) -> bool + Send + Sync + 'static) -> FakeServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(FakeState::default());
        let (shared, spoil): (_, Arc<Spoil>) = (state.clone(), Arc::new(spoil));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (state, spoil) = (shared.clone(), spoil.clone());
                thread::spawn(move || state.serve(stream.unwrap(), &*spoil));
            }
        });
        FakeServer { address, state }
    }
}

impl FakeState {
    fn serve(&self, mut stream: TcpStream, spoil: &Spoil) -> Option<()> {
        let purpose = protocol::answer(&mut stream, b"", &[3; 16])?;
        if purpose[0] == 1 {
            while protocol::receive(&mut stream)?.0.tag != START {}
            protocol::send(&mut stream, WELCOME, &[]);
            is_ended(&mut stream);
            return Some(());
        }
        self.lines.fetch_add(1, Ordering::SeqCst);
        protocol::send(&mut stream, WELCOME, &[]);
        loop {
            let mut head = [0; 40];
            stream.read_exact(&mut head).ok()?;
            let is_read = head[4] == 1;
            let mut rest = vec![0; if is_read { 0 } else { 4096 }];
            stream.read_exact(&mut rest).ok()?;
            let payload = vec![0; if is_read { 4096 } else { 0 }];
            let crc = if head[5] == 0 { 0 } else { crc32c::crc32c(&payload) };
            let length = payload.len() as u32;
            let mut reply = [b"FARR", &[0; 4][..], &head[8..16], &length.to_le_bytes()].concat();
            reply.extend(crc.to_le_bytes());
            reply.extend(payload);
            if !spoil(self.requests.fetch_add(1, Ordering::SeqCst), &mut reply) {
                return None;
            }
            stream.write_all(&reply).ok()?;
        }
    }
}

fn options(address: &str) -> FleetOptions {
    let connect = vec![address.parse().unwrap()];
    FleetOptions { connect, far_bytes: 1 << 20, ..FleetOptions::default() }
}

fn connect(address: &str, token: Token) -> Result<Fleet, RdmaError> {
    connect_with(address, token, Arc::new(Quiet::default()))
}

fn connect_with(address: &str, token: Token, service: Arc<Quiet>) -> Result<Fleet, RdmaError> {
    Fleet::start(FleetOptions { token, ..options(address) }, service)
}

/// Serves one connection in a thread. Returns the address at which it listens.
fn serve_once(serve: impl FnOnce(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || serve(listener.accept().unwrap().0));
    address
}

/// Whether the other side ends the connection, within the time that reads may take.
fn is_ended(stream: &mut TcpStream) -> bool {
    let mut bytes = [0; 4096];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

fn random_bytes(count: usize) -> Vec<u8> {
    let mut random = 88_172_645_463_325_252_u64;
    let next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as u8
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Processes that are not zombies.
fn children_of(pid: u32) -> usize {
    let tasks = Path::new("/proc").join(pid.to_string()).join("task");
    let children = std::fs::read_dir(tasks).unwrap().flat_map(|task| {
        let text = std::fs::read_to_string(task.unwrap().path().join("children"));
        let text = text.unwrap_or_default();
        text.split_whitespace().map(str::to_string).collect::<Vec<_>>()
    });
    let is_running = |pid: &String| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
    };
    children.filter(is_running).count()
}

const TOKEN: &str = "a token that only some have\n";
