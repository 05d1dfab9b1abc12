//! Real processes, over shared memory and over TCP: the effects when one of them is killed.
//!
//! This program is its own memory server (`--fd N`, as `memory-server` is started) and its own VM
//! (`--vm TRANSPORT`). With `--only verbs` it tries that transport, which needs an RDMA device.

use std::env;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use pool::{Manager, Pool};
use rdma::server::{self, Session};
use rdma::spawn::{Fleet, FleetOptions};
use rdma::{
    PeerId, PoolOptions, PoolSegment, RdmaError, Read, Segment, Service, Token, Transport, Write,
};

fn main() {
    let args: Vec<String> = env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("--fd") => {
            let fd = args[2].parse().unwrap();
            server::serve(fd, Some(1 << 40), |session| Arc::new(Adder(session))).unwrap();
        }
        Some("--vm") => be_a_vm(args[2].parse().unwrap()),
        Some("--vm-without-room") => be_a_vm_without_room(Path::new(&args[2])),
        Some("--vm-in-pool") => be_a_vm_in_a_pool(Path::new(&args[2])),
        Some("--listen") => {
            let token =
                args.get(3).map_or(Token::none(), |file| Token::read(file.as_ref()).unwrap());
            let address = args[2].parse().unwrap();
            let Err(error) = server::listen(&address, token, &[], |at| println!("{at}"));
            panic!("{error}");
        }
        only => {
            let only: Option<Transport> =
                (only == Some("--only")).then(|| args[2].parse().unwrap());
            let all = only.map_or(vec![Transport::Shm, Transport::Tcp], |only| vec![only]);
            for transport in all {
                println!("{transport:?}");
                agents_see_what_was_written_and_talk_to_each_other(transport);
                batches_of_all_sizes_arrive(transport);
                many_threads_share_a_segment(transport);
                a_message_sent_after_a_write_is_received_after_it(transport);
                a_killed_server_is_noticed_within_a_second(transport);
                servers_have_no_files_of_the_vm(transport);
                servers_die_with_a_killed_vm(transport);
                a_dropped_fleet_leaves_no_process(transport);
                a_missing_program_and_too_large_a_heap_are_errors(transport);
                injected_latency_is_added(transport);
            }
            if only.is_none() {
                agents_beside_a_pool_share_its_memory();
                nobody_gets_the_memory_of_an_agent_that_outlives_its_vm();
                an_agent_in_a_full_file_system_says_so();
            }
            running_servers_serve_several_vms_in_turn(only == Some(Transport::Verbs));
            println!("processes: ok");
        }
    }
}

fn agents_see_what_was_written_and_talk_to_each_other(transport: Transport) {
    let (lost, _) = channel();
    let fleet = fleet(transport, 3, lost);
    for server in 0..3 {
        fleet.segment(server).write(1 << 30, &[u64::from(server) + 10]).unwrap();
    }
    // Each asked server asks the two others for their word and adds its own.
    for server in 0..3 {
        let sum = fleet.channel(server).call(b"sum", Duration::from_secs(10)).unwrap();
        assert_eq!(sum, 33_u64.to_le_bytes());
    }
    // Words that an agent stores are read without its help.
    let mut word = [0];
    fleet.segment(1).read(4096, &mut word).unwrap();
    assert_eq!(word[0], 33);
    let started = Instant::now();
    for _ in 0..2000 {
        fleet.channel(0).call(b"ping", Duration::from_secs(10)).unwrap();
    }
    println!("round trip of a call: {:?}", started.elapsed() / 2000);
    let mut page = [0; 512];
    let mut times: Vec<Duration> = (0..4000_u64)
        .map(|n| {
            let started = Instant::now();
            fleet.segment(0).read((n % 64) * 4096, &mut page).unwrap();
            started.elapsed()
        })
        .collect();
    times.sort();
    println!("READ of a page: p50 {:?}, p99 {:?}", times[2000], times[3960]);
}

fn batches_of_all_sizes_arrive(transport: Transport) {
    let (lost, _) = channel();
    let fleet = fleet_with(FleetOptions { checksums: true, ..options(transport, 1) }, lost);
    let segment = fleet.segment(0);
    // One page more than 256 KiB; ranges of odd lengths; more ranges than a request holds.
    for (ranges, words) in [(1, 512), (64, 512), (65, 512), (300, 3), (2, 100_000), (1, 32_769)] {
        let pattern = |range: usize| -> Vec<u64> {
            (0..words).map(|word| (range * 1_000_003 + word * 7 + words) as u64).collect()
        };
        let offset = |range: usize| ((range * 2 + 1) * words * 8) as u64;
        let sources: Vec<Vec<u64>> = (0..ranges).map(pattern).collect();
        let writes: Vec<Write> = sources
            .iter()
            .enumerate()
            .map(|(n, source)| Write { offset: offset(n), from: source.as_ptr(), words })
            .collect();
        // SAFETY: the sources live during the call.
        unsafe { segment.write_batch(&writes) }.unwrap();
        let mut targets = vec![vec![0_u64; words]; ranges];
        let reads: Vec<Read> = targets
            .iter_mut()
            .enumerate()
            .map(|(n, target)| Read { offset: offset(n), into: target.as_mut_ptr(), words })
            .collect();
        // SAFETY: the targets live during the call.
        unsafe { segment.read_batch(&reads) }.unwrap();
        assert!(sources == targets, "{ranges} ranges of {words} words");
    }
    segment.write(1 << 20, &[7; 1024]).unwrap();
    segment.punch(1 << 20, 4096).unwrap();
    let mut words = [1; 513];
    segment.read(1 << 20, &mut words).unwrap();
    assert!(words[..512].iter().all(|word| *word == 0) && words[512] == 7, "a hole is zero");
    for (offset, words) in [(4 << 30, 1), ((4 << 30) - 8, 2), (4, 1)] {
        let refused = segment.read(offset, &mut vec![0; words]);
        assert!(matches!(refused, Err(RdmaError::OutOfSegment { .. })), "{offset}");
    }
}

/// More threads than there are data connections, each with pages of its own.
fn many_threads_share_a_segment(transport: Transport) {
    let (lost, _) = channel();
    let fleet = fleet_with(FleetOptions { lines: 2, ..options(transport, 1) }, lost);
    thread::scope(|scope| {
        for t in 0..8_u64 {
            let segment = fleet.segment(0);
            scope.spawn(move || {
                let mut words = [0; 512];
                for n in 0..200_u64 {
                    let offset = (t * 64 + n % 64) * 4096;
                    segment.write(offset, &[t << 32 | n; 512]).unwrap();
                    segment.read(offset, &mut words).unwrap();
                    assert!(words.iter().all(|word| *word == t << 32 | n));
                }
            });
        }
    });
}

fn a_message_sent_after_a_write_is_received_after_it(transport: Transport) {
    let (lost, _) = channel();
    let fleet = fleet(transport, 1, lost);
    for n in 1..500_u64 {
        fleet.segment(0).write(1 << 30, &[n]).unwrap();
        let word = fleet.channel(0).call(b"word", Duration::from_secs(10)).unwrap();
        assert_eq!(word, n.to_le_bytes());
    }
}

fn injected_latency_is_added(transport: Transport) {
    let (lost, _) = channel();
    let latency = Duration::from_millis(3);
    let fleet = fleet_with(FleetOptions { latency, ..options(transport, 1) }, lost);
    let started = Instant::now();
    fleet.segment(0).write(0, &[1]).unwrap();
    assert!(started.elapsed() >= latency);
}

fn a_killed_server_is_noticed_within_a_second(transport: Transport) {
    let (lost, losses) = channel();
    let fleet = fleet(transport, 2, lost);
    let killed = Instant::now();
    kill(fleet.pid(1).unwrap());
    let peer = losses.recv_timeout(Duration::from_secs(1)).expect("noticed within a second");
    println!("a killed server is noticed after {:?}", killed.elapsed());
    assert_eq!(peer, PeerId::Server(1));
    let call = fleet.channel(1).call(b"ping", Duration::from_secs(5));
    assert!(matches!(call, Err(RdmaError::PeerLost(PeerId::Server(1)))));
    assert!(fleet.segment(1).write(0, &[1]).is_err());
    fleet.channel(0).call(b"ping", Duration::from_secs(10)).expect("the other one lives");
}

/// Not even those that are not closed when another program is started.
fn servers_have_no_files_of_the_vm(transport: Transport) {
    let mut pipe = [0; 2];
    // SAFETY: there is room for two descriptors.
    assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
    let link = |process: &str, fd: &str| std::fs::read_link(format!("/proc/{process}/fd/{fd}"));
    let ours = link("self", &pipe[0].to_string()).unwrap();
    let (lost, _) = channel();
    let fleet = fleet(transport, 1, lost);
    let server = fleet.pid(0).unwrap().to_string();
    for file in std::fs::read_dir(format!("/proc/{server}/fd")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        // It may be closed by now.
        assert_ne!(link(&server, &name).ok().as_ref(), Some(&ours), "descriptor {name}");
    }
    // SAFETY: both are ours, and no thread uses them.
    pipe.into_iter().for_each(|fd| assert_eq!(unsafe { libc::close(fd) }, 0));
}

fn servers_die_with_a_killed_vm(transport: Transport) {
    let mut vm = Command::new(env::current_exe().unwrap())
        .args(["--vm", name_of(transport)])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(vm.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pids: Vec<u32> = line.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    // Over TCP each server also has a process for the session.
    assert_eq!(pids.len(), if transport == Transport::Shm { 2 } else { 4 });
    assert!(pids.iter().all(|pid| is_running(*pid)));
    vm.kill().unwrap();
    vm.wait().unwrap();
    let killed = Instant::now();
    while pids.iter().any(|pid| is_running(*pid)) {
        assert!(killed.elapsed() < Duration::from_secs(1), "a server outlives its VM");
        thread::sleep(Duration::from_millis(5));
    }
}

fn a_dropped_fleet_leaves_no_process(transport: Transport) {
    let (lost, losses) = channel();
    let fleet = fleet(transport, 2, lost);
    let pids = [fleet.pid(0).unwrap(), fleet.pid(1).unwrap()];
    let segment = fleet.segment(0).clone();
    let channel = fleet.channel(0).clone();
    drop(fleet);
    assert!(pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()), "reaped");
    assert!(channel.send(b"x").is_err());
    let written = segment.write(0, &[1]);
    match transport {
        Transport::Shm => written.expect("memory outlives its server while a process holds it"),
        Transport::Tcp | Transport::Verbs => {
            assert!(matches!(written, Err(RdmaError::PeerLost(PeerId::Server(0)))))
        }
    }
    assert!(losses.try_recv().is_err(), "no loss is reported for an orderly end");
}

/// Four at the same time: two under abstract names, two over TCP or verbs with a token.
fn running_servers_serve_several_vms_in_turn(over_verbs: bool) {
    let names = [0, 1].map(|n| format!("unix:farheap-test-{}-{n}", std::process::id()));
    let mut servers = names.each_ref().map(|name| {
        Command::new(env::current_exe().unwrap()).args(["--listen", name]).spawn().unwrap()
    });
    serve_several_vms_in_turn(&names, &mut servers, Token::none());

    let file = env::temp_dir().join(format!("farheap-test-token-{}", std::process::id()));
    std::fs::write(&file, "a token that everybody has\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let mut servers = [0, 1].map(|_| {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--listen", "localhost:0"]).arg(&file).stdout(Stdio::piped());
        command.spawn().unwrap()
    });
    let addresses = servers.each_mut().map(|server| {
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        format!("{}{}", if over_verbs { "verbs:" } else { "" }, line.trim())
    });
    let token = Token::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    serve_several_vms_in_turn(&addresses, &mut servers, token);
}

fn serve_several_vms_in_turn(names: &[String; 2], servers: &mut [Child; 2], token: Token) {
    for round in 0..2 {
        let (lost, losses) = channel();
        let connect = names.iter().map(|name| name.parse().unwrap()).collect();
        let token = token.clone();
        let options = FleetOptions { connect, token, program: None, ..options(Transport::Shm, 9) };
        let fleet = loop {
            match Fleet::start(options.clone(), Arc::new(Losses(lost.clone()))) {
                Err(RdmaError::Start { reason, .. }) if reason.contains("no server listens at") => {
                    thread::sleep(Duration::from_millis(5));
                }
                fleet => break fleet.unwrap(),
            }
        };
        assert_eq!((fleet.servers(), fleet.pid(0)), (2, None));
        let word = fleet.channel(1).call(b"word", Duration::from_secs(10)).unwrap();
        assert_eq!(word, [0; 8], "every VM gets fresh memory");
        fleet.segment(0).write(1 << 30, &[3]).unwrap();
        fleet.segment(1).write(1 << 30, &[4]).unwrap();
        let sum = fleet.channel(0).call(b"sum", Duration::from_secs(10)).unwrap();
        assert_eq!(sum, 7_u64.to_le_bytes());
        if round == 1 {
            servers[1].kill().unwrap();
            let peer = losses.recv_timeout(Duration::from_secs(1));
            assert_eq!(peer, Ok(PeerId::Server(1)), "its session dies with the listener");
        }
    }
    for server in servers {
        let _ = server.kill();
        server.wait().unwrap();
    }
}

fn a_missing_program_and_too_large_a_heap_are_errors(transport: Transport) {
    let (lost, _) = channel();
    let service = Arc::new(Losses(lost));
    let mut options = options(transport, 1);
    options.program = Some("/nonexistent/memory-server".into());
    let Err(error) = Fleet::start(options.clone(), service.clone()) else { panic!("started") };
    assert!(error.to_string().contains("/nonexistent/memory-server"), "{error}");
    options.program = Some(env::current_exe().unwrap());
    options.far_bytes = 1 << 41;
    let Err(error) = Fleet::start(options, service) else { panic!("started") };
    assert!(error.to_string().contains("share of the remote memory"), "{error}");
}

/// In shared memory; removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = PathBuf::from(format!("/dev/shm/farheap-processes-{name}-{}", process::id()));
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// More than a piece, so that the word that agents look at is in the last one.
const POOLED_BYTES: u64 = (1 << 30) + 4096;

fn pool_in(folder: &Path) -> Result<Arc<PoolSegment>, RdmaError> {
    let path = folder.join("pool");
    let options = PoolOptions { path, pool_bytes: None, far_bytes: POOLED_BYTES, is_shared: true };
    PoolSegment::open(&options).map(Arc::new)
}

fn agents_beside_a_pool_share_its_memory() {
    let folder = Folder::new("share");
    let pool = pool_in(&folder.0).unwrap();
    let (lost, losses) = channel();
    let of_pool = |pool| FleetOptions { pool: Some(pool), ..options(Transport::Shm, 2) };
    let fleet = fleet_with(of_pool(pool.clone()), lost.clone());
    let word = |segment: &dyn Segment, at: u64| {
        let mut word = [0];
        segment.read(at, &mut word).unwrap();
        word[0]
    };
    // What the VM writes for one agent, all see.
    fleet.segment(0).write(1 << 30, &[5]).unwrap();
    let sum = fleet.channel(1).call(b"sum", Duration::from_secs(10)).unwrap();
    assert_eq!(sum, 10_u64.to_le_bytes());
    let seen = [0, 1].map(|server| word(&*fleet.segment(server), 4096));
    assert_eq!((seen, word(&*pool, 4096)), ([10; 2], 10));
    // Behind the pool each has its own.
    fleet.segment(0).write(2 << 30, &[7]).unwrap();
    assert_eq!([0, 1].map(|server| word(&*fleet.segment(server), 2 << 30)), [7, 0]);
    let held: Vec<_> = (0..2).map(|server| fleet.held_bytes(server).unwrap()).collect();
    // A hole that was read takes a page.
    assert!((1..1 << 20).contains(&held[0]) && held[1] <= 4096, "{held:?}");
    // One that is killed takes no page with it.
    kill(fleet.pid(1).unwrap());
    assert_eq!(losses.recv_timeout(Duration::from_secs(1)), Ok(PeerId::Server(1)));
    assert_eq!(word(&*fleet.segment(1), 1 << 30), 5);
    let pids = [0, 1].map(|server| fleet.pid(server).unwrap());
    let is_free = pool.close(Duration::from_secs(5), || fleet.end());
    assert!(is_free && !pids.iter().any(|pid| is_running(*pid)));
    assert!(losses.try_recv().is_err(), "no loss is reported for an orderly end");
    drop((fleet, pool));
    // Dropped, it is free, too: twice the memory is not there.
    for _ in 0..3 {
        let fleet = fleet_with(of_pool(pool_in(&folder.0).unwrap()), lost.clone());
        assert_eq!(word(&*fleet.segment(0), 1 << 30), 0, "it is zero");
        fleet.channel(0).call(b"sum", Duration::from_secs(10)).unwrap();
    }
    assert!(losses.try_recv().is_err());
}

/// The agents of this VM are no children of it: of shells, which the kernel kills in their place.
fn be_a_vm_in_a_pool(folder: &Path) {
    let (lost, _losses) = channel();
    let pool = pool_in(folder).unwrap();
    let program = Some(folder.join("agent"));
    let options = FleetOptions { pool: Some(pool), program, ..options(Transport::Shm, 2) };
    let fleet = fleet_with(options, lost);
    fleet.segment(0).write(1 << 30, &[5]).unwrap();
    fleet.channel(0).call(b"sum", Duration::from_secs(10)).unwrap();
    println!("ready");
    thread::sleep(Duration::from_secs(60));
}

/// Processes that are killed when dropped.
struct Orphans(Vec<u32>);

impl Orphans {
    /// Whether there are any.
    fn signal(&self, signal: &str) -> bool {
        let pids = self.0.iter().map(u32::to_string);
        let mut kill = Command::new("kill");
        kill.arg(signal).args(pids).stderr(Stdio::null()).status().unwrap().success()
    }
}

impl Drop for Orphans {
    fn drop(&mut self) {
        self.signal("-9");
    }
}

fn nobody_gets_the_memory_of_an_agent_that_outlives_its_vm() {
    let folder = Folder::new("outlive");
    let (script, pids) = (folder.0.join("agent"), folder.0.join("pids"));
    let this = env::current_exe().unwrap();
    let [this, list] = [&this, &pids].map(|path| path.display());
    // In a session of its own: the kernel continues stopped processes of a group that is left alone.
    let text = format!("#!/bin/sh\nsetsid \"{this}\" \"$@\" &\necho $! >> \"{list}\"\nwait\n");
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut vm = Command::new(env::current_exe().unwrap())
        .arg("--vm-in-pool")
        .arg(&folder.0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(vm.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let pids = std::fs::read_to_string(pids).unwrap();
    let orphans = Orphans(pids.lines().map(|pid| pid.parse().unwrap()).collect());
    assert_eq!(orphans.0.len(), 2);
    // Stopped, they do not see that the VM is gone.
    assert!(orphans.signal("-STOP"));
    vm.kill().unwrap();
    vm.wait().unwrap();
    let pool = Pool::open(&folder.0.join("pool")).unwrap();
    let recovered = || Manager::new(&pool).unwrap().pass().unwrap().clients;
    assert_eq!((recovered(), pool.outlived().unwrap()), (0, 1));
    let refused = pool_in(&folder.0).expect_err("there is no memory").to_string();
    assert!(refused.contains("no room for"), "{refused}");
    assert!(orphans.0.iter().all(|pid| is_running(*pid)));
    // When they go on, they see it, and end.
    assert!(orphans.signal("-CONT"));
    let next = pool_in(&folder.0).unwrap();
    assert!(!orphans.0.iter().any(|pid| is_running(*pid)));
    let mut word = [1];
    next.read(1 << 30, &mut word).unwrap();
    assert_eq!((word, pool.outlived().unwrap()), ([0], 0));
}

/// Mounted in a namespace of its own.
fn an_agent_in_a_full_file_system_says_so() {
    let folder = Folder::new("full");
    let (this, place) = (env::current_exe().unwrap(), folder.0.display());
    let mount = format!("mount -t tmpfs -o size=3m none '{place}' || exit 77");
    let text = format!("{mount}; exec '{}' --vm-without-room '{place}'", this.display());
    let output = Command::new("unshare").args(["-Urm", "sh", "-c", &text]).output();
    let output = match output {
        Ok(output) if output.status.code() != Some(77) => output,
        _ => return println!("skipped: this user may not mount a file system"),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    // The agent's last line.
    assert!(said.contains("memory of the pool cannot be had: its file system is full"), "{said}");
}

fn be_a_vm_without_room(folder: &Path) {
    let (lost, losses) = channel();
    let pool = Some(pool_in(folder).unwrap());
    let fleet = fleet_with(FleetOptions { pool, ..options(Transport::Shm, 1) }, lost);
    let call = |request: &[u8]| fleet.channel(0).call(request, Duration::from_secs(10));
    let said = String::from_utf8(call(b"fill").unwrap()).unwrap();
    assert!(said.contains("memory of the pool: No space left on device"), "{said}");
    // So may the VM's own page.
    let written = fleet.segment(0).write(512 << 20, &[1]);
    assert!(matches!(written, Err(RdmaError::Os { what: "memory of the pool", .. })));
    call(b"ping").expect("nothing was touched");
    assert!(matches!(call(b"touch"), Err(RdmaError::PeerLost(_))));
    assert_eq!(losses.recv_timeout(Duration::from_secs(1)), Ok(PeerId::Server(0)));
}

fn be_a_vm(transport: Transport) {
    let (lost, _losses) = channel();
    let fleet = fleet(transport, 2, lost);
    let servers = [fleet.pid(0).unwrap(), fleet.pid(1).unwrap()];
    let sessions = servers.iter().flat_map(|pid| children_of(*pid));
    let all: Vec<String> = servers.iter().map(u32::to_string).chain(sessions).collect();
    println!("{}", all.join(" "));
    thread::sleep(Duration::from_secs(60));
}

fn name_of(transport: Transport) -> &'static str {
    match transport {
        Transport::Shm => "shm",
        Transport::Tcp => "tcp",
        Transport::Verbs => "verbs",
    }
}

/// An agent: knows "ping", "word" and "sum", and, in a small pool, "fill" and "touch".
struct Adder(Arc<Session>);

impl Adder {
    /// Reserves the far space, and says why it cannot.
    fn fill(&self) -> Vec<u8> {
        let segment = self.0.segment();
        let reserve = |part: u64| segment.reserve(part << 18, 1 << 18);
        let error = (0..POOLED_BYTES >> 18).find_map(|part| reserve(part).err());
        error.expect("the pool is larger than its file system").to_string().into_bytes()
    }

    /// Reads holes, which need no memory in a file on a disk.
    fn touch(&self) -> Vec<u8> {
        let words = (0..POOLED_BYTES).step_by(4096).map(|at| self.0.segment().load(at));
        words.sum::<u64>().to_le_bytes().to_vec()
    }
}

impl Service for Adder {
    fn on_request(&self, _from: PeerId, request: &[u8]) -> Vec<u8> {
        match request {
            b"fill" => return self.fill(),
            b"touch" => return self.touch(),
            _ => {}
        }
        let mut word = self.0.segment().load(1 << 30);
        if request == b"sum" {
            for server in 0..self.0.servers() {
                let Some(peer) = self.0.peer(PeerId::Server(server)) else { continue };
                let theirs = peer.call(b"word", Duration::from_secs(10)).unwrap();
                word += u64::from_le_bytes(theirs.try_into().unwrap());
            }
            self.0.segment().store(4096, word);
        }
        word.to_le_bytes().to_vec()
    }

    fn on_notice(&self, _from: PeerId, _notice: &[u8]) {}

    fn on_peer_lost(&self, _from: PeerId, _cause: &RdmaError) {}
}

/// The VM's side: reports the lost peers.
struct Losses(Sender<PeerId>);

impl Service for Losses {
    fn on_request(&self, _from: PeerId, _request: &[u8]) -> Vec<u8> {
        Vec::new()
    }

    fn on_notice(&self, _from: PeerId, _notice: &[u8]) {}

    fn on_peer_lost(&self, from: PeerId, _cause: &RdmaError) {
        let _ = self.0.send(from);
    }
}

fn options(transport: Transport, servers: u16) -> FleetOptions {
    let program = Some(env::current_exe().unwrap());
    FleetOptions { transport, servers, far_bytes: 4 << 30, program, ..FleetOptions::default() }
}

fn fleet(transport: Transport, servers: u16, lost: Sender<PeerId>) -> Fleet {
    fleet_with(options(transport, servers), lost)
}

fn fleet_with(options: FleetOptions, lost: Sender<PeerId>) -> Fleet {
    Fleet::start(options, Arc::new(Losses(lost))).unwrap()
}

fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
}

/// Zombies of a dead parent count as ended.
fn is_running(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

fn children_of(pid: u32) -> Vec<String> {
    let mut children = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let text = std::fs::read_to_string(task.unwrap().path().join("children"));
        children.extend(text.unwrap_or_default().split_whitespace().map(str::to_string));
    }
    children
}
