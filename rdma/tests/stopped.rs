//! A VM that is stopped while it waits does not take its servers for dead when it goes on; and calls take the latency
//! that is injected.
//!
//! This program is VM (`--vm TRANSPORT`) and memory server (`--fd N`) too.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rdma::server::{self, Session};
use rdma::spawn::{Fleet, FleetOptions};
use rdma::{PeerId, RdmaError, Service, Transport};

fn main() {
    let arguments: Vec<String> = env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("--fd") => {
            let fd = arguments[2].parse().unwrap();
            let _ = server::serve(fd, None, |_: Arc<Session>| Arc::new(Slow));
        }
        Some("--vm") => vm(arguments[2].parse().unwrap()),
        _ => {
            for transport in ["shm", "tcp"] {
                is_patient(transport);
                has_latency(transport.parse().unwrap());
            }
            println!("stopped: ok");
        }
    }
}

/// An agent that needs a while for its answers, or none for those that are wanted at once.
struct Slow;

impl Service for Slow {
    fn on_request(&self, _from: PeerId, request: &[u8]) -> Vec<u8> {
        if request == b"slowly" {
            thread::sleep(Duration::from_millis(200));
        }
        request.to_vec()
    }

    fn on_notice(&self, _from: PeerId, _notice: &[u8]) {}

    fn on_peer_lost(&self, _from: PeerId, _cause: &RdmaError) {}
}

fn fleet(transport: Transport, latency: Duration) -> Fleet {
    let program = Some(env::current_exe().unwrap());
    let options =
        FleetOptions { transport, program, latency, far_bytes: 1 << 20, ..FleetOptions::default() };
    Fleet::start(options, Arc::new(Slow)).unwrap()
}

/// Calls again and again, with little time for each answer, and much more than is needed.
fn vm(transport: Transport) {
    let fleet = fleet(transport, Duration::ZERO);
    let channel = fleet.channel(0);
    for _ in 0..ROUNDS {
        println!("calling");
        let reply = channel.call(b"slowly", CALL_TIMEOUT).unwrap();
        assert_eq!(reply, b"slowly");
    }
    println!("done");
}

fn is_patient(transport: &str) {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--vm", transport]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let pid = child.id() as i32;
    // SAFETY: no memory is involved; the child was not waited for, so the number is its own.
    let signal = |signal| assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
    let mut line = String::new();
    for _ in 0..ROUNDS {
        line.clear();
        lines.read_line(&mut line).unwrap();
        if line != "calling\n" {
            break;
        }
        // In the middle of the call.
        thread::sleep(Duration::from_millis(100));
        signal(libc::SIGSTOP);
        thread::sleep(2 * CALL_TIMEOUT);
        signal(libc::SIGCONT);
    }
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && rest == "done\n", "{transport}: {line}{rest}{stderr}");
}

fn has_latency(transport: Transport) {
    let time = |latency: Duration| {
        let fleet = fleet(transport, latency);
        let channel = fleet.channel(0);
        let began = Instant::now();
        (0..10).for_each(|_| drop(channel.call(b"at once", CALL_TIMEOUT).unwrap()));
        began.elapsed()
    };
    let latency = Duration::from_millis(20);
    let (without, with) = (time(Duration::ZERO), time(latency));
    println!("{transport:?}: ten calls take {without:?}, with a latency of {latency:?} {with:?}");
    assert!(with >= 10 * latency, "{with:?}");
}

const ROUNDS: usize = 4;
const CALL_TIMEOUT: Duration = Duration::from_millis(1500);
