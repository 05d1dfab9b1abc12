//! Two copies of each page in running servers: one of these is killed, and is not started again.
//!
//! Needs the release `vm` and `memory-server` beside the test runner's folder (`make build`) and a JDK.

#[path = "support/programs.rs"]
mod programs;

use bench::harness::scratch::Scratch;
use bench::java::jdk::Jdk;
use bench::java::vm::{Setting, Vm};
use programs::program;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// Keeps changing a list of some MB, collects unless asked not to, and prints in each round a summary of the list;
/// ends by itself, or at a line of input.
const ROUNDS: &str = r#"
public class Rounds {
    public static void main(String[] args) throws java.io.IOException {
        int rounds = Integer.parseInt(args[0]);
        Object[][] kept = new Object[12][];
        for (int round = 0; round < rounds && System.in.available() == 0; round++) {
            for (int i = 0; i < kept.length; i++) {
                Object[] row = new Object[8192];
                for (int j = 0; j < row.length; j++) {
                    row[j] = new int[] {round, i, j};
                }
                kept[i] = row;
            }
            long sum = 0;
            for (Object[] row : kept) {
                for (Object cell : row) {
                    sum += ((int[]) cell)[0] + ((int[]) cell)[2];
                }
            }
            if (args.length == 1 && round % 8 == 7) {
                System.gc();
            }
            System.out.println("round " + round + " " + sum);
        }
    }
}
"#;

/// The line that a round should print.
fn line_of(round: u64) -> String {
    format!("round {round} {}", 12 * (8192 * 8191 / 2 + 8192 * round))
}

const LIMIT: Duration = Duration::from_secs(90);
/// A busy machine takes seconds for work of milliseconds; a thread that waits for a server waits for a minute.
const END_LIMIT: Duration = Duration::from_secs(20);
/// More rounds than there is time for.
const ENDLESS: u32 = 1_000_000;

/// A listening memory server; killed when dropped.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(at: &str, options: &[&str]) -> Server {
        let mut command = Command::new(program("memory-server"));
        command.args(["--listen", at]).args(options).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut stderr = BufReader::new(process.stderr.take().unwrap());
        let address = match at.strip_prefix("unix:") {
            Some(name) => {
                await_listener(name);
                at.to_string()
            }
            None => {
                let mut line = String::new();
                stderr.read_line(&mut line).unwrap();
                let address = line.trim().strip_prefix("memory-server: waiting for VMs at ");
                address.unwrap_or_else(|| panic!("{line:?}")).to_string()
            }
        };
        // Its output must not block it.
        thread::spawn(move || stderr.lines().map_while(Result::ok).count());
        Server { process, address }
    }

    /// With the sessions that it has.
    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// One that listens under a name says nothing.
fn await_listener(name: &str) {
    let end = Instant::now() + Duration::from_secs(10);
    while !std::fs::read_to_string("/proc/net/unix").unwrap().contains(&format!("@{name}")) {
        assert!(Instant::now() < end, "no server listens at {name}");
        thread::sleep(Duration::from_millis(5));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Programs with their memory in running servers.
struct Programs {
    jdk: Jdk,
    scratch: Scratch,
}

impl Programs {
    fn compile(label: &str) -> Programs {
        let (jdk, scratch) = (Jdk::find().unwrap(), Scratch::new(label).unwrap());
        jdk.compile_text("Rounds", ROUNDS, scratch.path()).unwrap();
        Programs { jdk, scratch }
    }

    fn start(&self, collector: &str, servers: &[Server], rounds: u32, more: &[&str]) -> Program {
        let setting = Setting {
            collector: collector.into(),
            local_memory: "25%".into(),
            memory_servers: servers.len() as u32,
            options: vec!["-Xmx48m".into(), "--replicas".into(), "2".into()],
        };
        let mut command = Vm::find(Some(program("vm"))).unwrap().command(&setting, &self.jdk);
        servers.iter().for_each(|s| _ = command.args(["--memory-server", &s.address]));
        command.args(more).arg("-Xlog:gc*:stderr").arg("-cp").arg(self.scratch.path());
        command.args(["Rounds", &rounds.to_string()]);
        if collector == "semeru" {
            // Each collection of all would end a marking.
            command.arg("quiet");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = |stream: Box<dyn std::io::Read + Send>| {
            let (sender, receiver) = mpsc::channel();
            thread::spawn(move || {
                let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
                // The test does not listen any more.
                lines.try_for_each(|line| sender.send(line))
            });
            receiver
        };
        let output = lines(Box::new(child.stdout.take().unwrap()));
        let errors = lines(Box::new(child.stderr.take().unwrap()));
        Program { child, output, errors, said: Vec::new(), rounds: 0 }
    }
}

/// A running program; killed when dropped.
struct Program {
    child: Child,
    output: Receiver<String>,
    errors: Receiver<String>,
    /// On standard error, by line.
    said: Vec<String>,
    /// Rounds that have been right.
    rounds: u64,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Program {
    #[track_caller]
    fn await_rounds(&mut self, count: u64) {
        for _ in 0..count {
            let line = self.output.recv_timeout(LIMIT).unwrap_or_default();
            let expected = line_of(self.rounds);
            assert_eq!(line, expected, "{:#?}", self.errors());
            self.rounds += 1;
        }
    }

    fn errors(&mut self) -> &[String] {
        self.said.extend(self.errors.try_iter());
        &self.said
    }

    /// Goes on until it has said this on standard error.
    #[track_caller]
    fn await_word(&mut self, word: &str) {
        let end = Instant::now() + LIMIT;
        while !self.errors().iter().any(|line| line.contains(word)) {
            assert!(Instant::now() < end, "it never says {word:?}: {:#?}", self.said);
            self.await_rounds(1);
        }
    }

    /// Has it end after its round; else as [`rest`](Self::rest).
    fn end(&mut self) -> (ExitStatus, Duration) {
        // It may have ended by now.
        let _ = self.child.stdin.as_mut().unwrap().write_all(b"\n");
        self.rest()
    }

    /// Reads the rest, and says how it ended and how long after its last round.
    fn rest(&mut self) -> (ExitStatus, Duration) {
        while let Ok(line) = self.output.recv_timeout(LIMIT) {
            assert_eq!(line, line_of(self.rounds));
            self.rounds += 1;
        }
        let last = Instant::now();
        let status = self.child.wait().unwrap();
        self.said.extend(self.errors.iter());
        (status, last.elapsed())
    }

    /// The lines of the VM itself.
    fn warnings(&self) -> Vec<&str> {
        self.said.iter().filter_map(|line| line.strip_prefix("farheap: ")).collect()
    }
}

fn two(transport: &str) -> [Server; 2] {
    let name = |n: u32| match transport {
        "tcp" => "127.0.0.1:0".to_string(),
        _ => format!("unix:lost-{}-{transport}-{n}", std::process::id()),
    };
    [0, 1].map(|n| Server::start(&name(n), &[]))
}

/// The program goes on with one copy, and its end does not wait for the lost server. Returns its counters.
fn goes_on_alone(collector: &str, transport: &str) -> String {
    let programs = Programs::compile("alone");
    let mut servers = two(transport);
    let stats = programs.scratch.path().join("stats.json");
    let mut more = vec!["--stats", stats.to_str().unwrap()];
    if collector == "semeru" {
        // Much is old, and markings begin soon.
        more.extend(["-XX:MaxTenuringThreshold=0", "-XX:-G1UseAdaptiveIHOP"]);
        more.push("-XX:InitiatingHeapOccupancyPercent=1");
    }
    let mut program = programs.start(collector, &servers, ENDLESS, &more);
    program.await_rounds(4);
    servers[1].kill();
    program.await_word("no server has replaced memory server 1");
    // A collector waits for another server for up to a second.
    let end = Instant::now() + Duration::from_secs(3);
    while Instant::now() < end {
        program.await_rounds(1);
    }
    let (status, after) = program.end();
    assert!(status.success(), "{status}: {:#?}", program.said);
    assert!(after < END_LIMIT, "{collector}: the end took {after:?}");
    let warnings = program.warnings();
    assert!(warnings.len() == 2 && warnings[0].contains("server 1 is lost"), "{warnings:?}");
    let counters = std::fs::read_to_string(&stats).unwrap();
    assert!(count_of(&counters, "servers_missing") == 1, "{counters}");
    counters
}

/// A counter in the text of `--stats`.
fn count_of(stats: &str, name: &str) -> u64 {
    let (_, rest) = stats.split_once(&format!("\"{name}\":")).unwrap_or_else(|| panic!("{stats}"));
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

#[test]
fn collectors_of_this_process_go_on_with_one_copy() {
    goes_on_alone("serial", "unix");
    goes_on_alone("g1", "tcp");
    goes_on_alone("shenandoah", "unix");
    goes_on_alone("memliner-g1", "tcp");
    goes_on_alone("memliner-shenandoah", "unix");
}

#[test]
fn mako_goes_on_without_an_agent() {
    let counters = goes_on_alone("mako", "tcp");
    assert!(count_of(&counters, "cycles_without_agents") > 0, "{counters}");
    let counters = goes_on_alone("mako", "unix2");
    assert!(count_of(&counters, "cycles_without_agents") > 0, "{counters}");
}

#[test]
fn semeru_goes_on_without_an_agent() {
    let counters = goes_on_alone("semeru", "tcp");
    assert!(count_of(&counters, "markings_without_agents") > 0, "{counters}");
    let counters = goes_on_alone("semeru", "unix3");
    assert!(count_of(&counters, "markings_without_agents") > 0, "{counters}");
}

/// Programs that end just after a loss end as if nothing had happened.
#[test]
fn the_end_of_a_program_waits_for_no_server() {
    let programs = Programs::compile("ends");
    for (collector, rounds) in [("mako", 5), ("mako", 6), ("mako", 8), ("semeru", 6), ("serial", 6)]
    {
        let mut servers = two("tcp");
        let mut program = programs.start(collector, &servers, rounds, &[]);
        program.await_rounds(4);
        servers[0].kill();
        let (status, after) = program.rest();
        let context = || format!("{collector}, {status}, {after:?}: {:#?}", program.said);
        assert!(status.success() && program.rounds == u64::from(rounds), "{}", context());
        assert!(after < END_LIMIT, "{}", context());
    }
}

/// The spare has all pages soon: then the other server may fail too.
#[test]
fn a_spare_server_takes_the_place_of_a_lost_one() {
    let programs = Programs::compile("spare");
    for collector in ["mako", "serial"] {
        let (mut servers, spare) = (two("tcp"), Server::start("127.0.0.1:0", &[]));
        let more = ["--spare-memory-server", &spare.address];
        let mut program = programs.start(collector, &servers, ENDLESS, &more);
        program.await_rounds(4);
        servers[1].kill();
        program.await_word("Server 1 is repaired");
        servers[0].kill();
        program.await_word("no server has replaced memory server 0");
        let rounds = program.rounds;
        program.await_rounds(20);
        assert!(program.rounds > rounds);
        // And a new server at a lost one's address takes its place.
        servers[0] = Server::start(&servers[0].address.clone(), &[]);
        program.await_word("Server 0 is repaired");
        let (status, _) = program.end();
        assert!(status.success(), "{status}: {:#?}", program.said);
    }
}

/// Of four servers one has no other copy of what the lost one had, so it has a second session; unless it has no room.
#[test]
fn another_server_has_a_second_session_if_it_has_room() {
    let programs = Programs::compile("second");
    // Half of the heap at most is on one of four servers; two sessions need as much again.
    for (room, word) in [("96m", "Server 1 is repaired"), ("40m", "it offers 41943040 bytes")] {
        let start = |_| Server::start("127.0.0.1:0", &["--memory", room]);
        let mut servers: [Server; 4] = [0, 1, 2, 3].map(start);
        let mut program = programs.start("mako", &servers, ENDLESS, &[]);
        program.await_rounds(4);
        servers[1].kill();
        program.await_word(word);
        let (status, _) = program.end();
        assert!(status.success(), "{status}: {:#?}", program.said);
    }
}

#[test]
fn who_would_rather_end_than_go_on_with_one_copy_does() {
    let programs = Programs::compile("rather");
    let mut servers = two("tcp");
    let mut program = programs.start("serial", &servers, ENDLESS, &["--lost-server-timeout", "1"]);
    program.await_rounds(4);
    servers[0].kill();
    let (status, _) = program.rest();
    assert_eq!(status.code(), Some(1), "{:#?}", program.said);
    let warnings = program.warnings();
    let last = warnings.last().unwrap();
    assert!(
        last.contains("server 0 is lost, and no server has replaced it for 1 s"),
        "{:#?}",
        program.said
    );
}
