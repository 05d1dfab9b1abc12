//! Real processes: what happens when one of them is killed.
//!
//! This program is its own memory server (`--fd N`, as `memory-server` is started) and its own VM
//! (`--vm`).

use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rdma::server::{self, Session};
use rdma::spawn::{Fleet, FleetOptions};
use rdma::{PeerId, RdmaError, Service};

fn main() {
    let args: Vec<String> = env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("--fd") => {
            let fd = args[2].parse().unwrap();
            server::serve(fd, Some(1 << 40), |session| Arc::new(Adder(session))).unwrap();
        }
        Some("--vm") => be_a_vm(),
        Some("--listen") => {
            let Err(error) = server::listen(&args[2].parse().unwrap(), &[]);
            panic!("{error}");
        }
        _ => {
            agents_see_what_was_written_and_talk_to_each_other();
            a_killed_server_is_noticed_within_a_second();
            servers_die_with_a_killed_vm();
            a_dropped_fleet_leaves_no_process();
            running_servers_serve_several_vms_in_turn();
            a_missing_program_and_too_large_a_heap_are_errors();
            println!("processes: ok");
        }
    }
}

fn agents_see_what_was_written_and_talk_to_each_other() {
    let (lost, _) = channel();
    let fleet = fleet(3, lost);
    for server in 0..3 {
        fleet.segment(server).write(1 << 30, &[u64::from(server) + 10]).unwrap();
    }
    // Each asked server asks the two others for their word and adds its own.
    for server in 0..3 {
        let sum = fleet.channel(server).call(b"sum", Duration::from_secs(10)).unwrap();
        assert_eq!(sum, 33_u64.to_le_bytes());
    }
    // What an agent stores is read without its help.
    let mut word = [0];
    fleet.segment(1).read(4096, &mut word).unwrap();
    assert_eq!(word[0], 33);
    let started = Instant::now();
    for _ in 0..2000 {
        fleet.channel(0).call(b"ping", Duration::from_secs(10)).unwrap();
    }
    println!("round trip of a call: {:?}", started.elapsed() / 2000);
}

fn a_killed_server_is_noticed_within_a_second() {
    let (lost, losses) = channel();
    let fleet = fleet(2, lost);
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

fn servers_die_with_a_killed_vm() {
    let mut vm = Command::new(env::current_exe().unwrap())
        .arg("--vm")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(vm.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pids: Vec<u32> = line.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.len(), 2);
    assert!(pids.iter().all(|pid| is_running(*pid)));
    vm.kill().unwrap();
    vm.wait().unwrap();
    let killed = Instant::now();
    while pids.iter().any(|pid| is_running(*pid)) {
        assert!(killed.elapsed() < Duration::from_secs(1), "a server outlives its VM");
        thread::sleep(Duration::from_millis(5));
    }
}

fn a_dropped_fleet_leaves_no_process() {
    let (lost, losses) = channel();
    let fleet = fleet(2, lost);
    let pids = [fleet.pid(0).unwrap(), fleet.pid(1).unwrap()];
    let segment = fleet.segment(0).clone();
    let channel = fleet.channel(0).clone();
    drop(fleet);
    assert!(pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()), "reaped");
    assert!(channel.send(b"x").is_err());
    segment.write(0, &[1]).expect("memory outlives its server while somebody holds it");
    assert!(losses.try_recv().is_err(), "no loss is reported for an orderly end");
}

fn running_servers_serve_several_vms_in_turn() {
    let names = [0, 1].map(|n| format!("unix:farheap-test-{}-{n}", std::process::id()));
    let mut servers = names.each_ref().map(|name| {
        Command::new(env::current_exe().unwrap()).args(["--listen", name]).spawn().unwrap()
    });
    for round in 0..2 {
        let (lost, losses) = channel();
        let connect = names.iter().map(|name| name.parse().unwrap()).collect();
        let options = FleetOptions { connect, program: None, ..options(9) };
        let fleet = loop {
            match Fleet::start(options.clone(), Arc::new(Losses(lost.clone()))) {
                Err(RdmaError::Start { reason, .. }) if reason.contains("nobody at") => {
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
    for mut server in servers {
        let _ = server.kill();
        server.wait().unwrap();
    }
}

fn a_missing_program_and_too_large_a_heap_are_errors() {
    let (lost, _) = channel();
    let service = Arc::new(Losses(lost));
    let mut options = options(1);
    options.program = Some("/nonexistent/memory-server".into());
    let Err(error) = Fleet::start(options.clone(), service.clone()) else { panic!("started") };
    assert!(error.to_string().contains("/nonexistent/memory-server"), "{error}");
    options.program = Some(env::current_exe().unwrap());
    options.far_bytes = 1 << 41;
    let Err(error) = Fleet::start(options, service) else { panic!("started") };
    assert!(error.to_string().contains("share of the far space"), "{error}");
}

fn be_a_vm() {
    let (lost, _losses) = channel();
    let fleet = fleet(2, lost);
    println!("{} {}", fleet.pid(0).unwrap(), fleet.pid(1).unwrap());
    thread::sleep(Duration::from_secs(60));
}

/// An agent: knows "ping", "word" and "sum".
struct Adder(Arc<Session>);

impl Service for Adder {
    fn on_request(&self, _from: PeerId, request: &[u8]) -> Vec<u8> {
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

/// The VM's side: reports who was lost.
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

fn options(servers: u16) -> FleetOptions {
    let program = Some(env::current_exe().unwrap());
    FleetOptions { servers, far_bytes: 4 << 30, program, ..FleetOptions::default() }
}

fn fleet(servers: u16, lost: Sender<PeerId>) -> Fleet {
    Fleet::start(options(servers), Arc::new(Losses(lost))).unwrap()
}

fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
}

/// Zombies of a dead parent count as ended.
fn is_running(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}
