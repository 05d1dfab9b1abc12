//! A VM that is stopped while it waits, for replies or for pages, does not take its servers for dead when it
//! continues; and calls take the latency that is injected.
//!
//! This program is VM (`--calls TRANSPORT`, `--pages TRANSPORT`) and memory server (`--fd N`) too.

use std::env;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
        Some("--calls") => calls(arguments[2].parse().unwrap()),
        Some("--pages") => pages(arguments[2].parse().unwrap()),
        _ => {
            // Most of the time both are asleep.
            let with_pages = thread::spawn(|| is_patient_with_pages("tcp"));
            for transport in ["shm", "tcp"] {
                is_patient(transport);
                has_latency(transport.parse().unwrap());
            }
            with_pages.join().unwrap();
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
    let options = FleetOptions {
        transport,
        program,
        latency,
        lines: 1,
        far_bytes: 1 << 20,
        ..FleetOptions::default()
    };
    Fleet::start(options, Arc::new(Slow)).unwrap()
}

/// Calls again and again, with little time for each answer, and much more than is needed.
fn calls(transport: Transport) {
    let fleet = fleet(transport, Duration::ZERO);
    let channel = fleet.channel(0);
    for _ in 0..ROUNDS {
        println!("calling");
        let reply = channel.call(b"slowly", CALL_TIMEOUT).unwrap();
        assert_eq!(reply, b"slowly");
    }
    println!("done");
}

/// Reads and writes pages, with more threads than connections, until standard input ends.
fn pages(transport: Transport) {
    let fleet = fleet(transport, Duration::ZERO);
    let segment = &*fleet.segment(0);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..4 {
            let is_over = &is_over;
            scope.spawn(move || {
                let (mut words, offset) = (vec![number; 1 << 15], number << 18);
                while !is_over.load(Ordering::Relaxed) {
                    segment.write(offset, &words).unwrap();
                    segment.read(offset, &mut words).unwrap();
                    assert!(words.iter().all(|word| *word == number));
                }
            });
        }
        println!("reading");
        io::stdin().read_to_end(&mut Vec::new()).unwrap();
        is_over.store(true, Ordering::Relaxed);
    });
    println!("done");
}

/// A VM in a process of its own, and the lines that it prints.
struct Vm {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Vm {
    fn start(what: &str, transport: &str) -> Vm {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args([what, transport]).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Vm { child, lines }
    }

    /// The next line that it prints.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    fn stop(&self, time: Duration) {
        // SAFETY: no memory is involved; the child was not waited for, so the number is its own.
        let signal = |signal| assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
        signal(libc::SIGSTOP);
        thread::sleep(time);
        signal(libc::SIGCONT);
    }

    /// Waits for its end, which must be a good one.
    fn end(mut self) {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        let output = self.child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && rest == "done\n", "{rest}{stderr}");
    }
}

/// The threads that wait for the connection of another one find, when the process continues, that they have waited
/// for longer than a server may take.
fn is_patient_with_pages(transport: &str) {
    let mut vm = Vm::start("--pages", transport);
    assert_eq!(vm.line(), "reading\n");
    thread::sleep(Duration::from_millis(200));
    vm.stop(PAGE_TIMEOUT + Duration::from_millis(500));
    thread::sleep(Duration::from_millis(500));
    vm.end();
}

fn is_patient(transport: &str) {
    let mut vm = Vm::start("--calls", transport);
    for _ in 0..ROUNDS {
        assert_eq!(vm.line(), "calling\n", "{transport}");
        // In the middle of the call.
        thread::sleep(Duration::from_millis(100));
        vm.stop(2 * CALL_TIMEOUT);
    }
    vm.end();
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
/// As the transport has it: how long a page may take.
const PAGE_TIMEOUT: Duration = Duration::from_secs(10);
