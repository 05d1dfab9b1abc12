//! A C program under `far-run`: each way to use a far range, and what is left when a process dies.
//!
//! Needs a C compiler, and the release `memory-server` and `libfarheap_preload.so` (`make build`).

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const LOCAL_BYTES: u64 = 2 << 20;

/// The compiled program.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program.c");
        let name = format!("program-{}", std::process::id());
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(&program).arg(source);
        assert!(cc.status().expect("a C compiler").success());
        program
    })
}

fn far_run(arguments: &[&str]) -> Command {
    let path = Path::new(env!("CARGO_BIN_EXE_far-run"));
    for needed in ["memory-server", "libfarheap_preload.so"] {
        assert!(path.with_file_name(needed).is_file(), "{needed} is missing: make build");
    }
    let mut command = Command::new(path);
    command.args(["--local-memory", "2m", "--memory-servers", "2"]).args(arguments);
    command
}

/// `None` where userfaultfd is not allowed.
fn output(mut command: Command) -> Option<Output> {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("userfaultfd is not usable") {
        eprintln!("skipped: {stderr}");
        return None;
    }
    Some(output)
}

fn assert_ok(output: &Output) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(stderr, "");
    assert_eq!(output.stdout, b"ok\n");
    assert_eq!(output.status.code(), Some(42));
}

fn counter(stats: &str, name: &str) -> u64 {
    let (_, rest) = stats.split_once(&format!("\"{name}\": ")).expect("the counter is there");
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap();
    rest[..digits].parse().unwrap()
}

#[test]
fn a_program_does_the_same_in_local_and_in_far_memory() {
    assert_ok(&Command::new(program()).output().unwrap());
    let file = program().with_extension("stats");
    let mut command = far_run(&["--range", "16m", "--stats"]);
    command.arg(&file).arg("--").arg(program());
    let Some(output) = output(command) else { return };
    assert_ok(&output);
    let stats = fs::read_to_string(&file).unwrap();
    assert!(counter(&stats, "fetch_faults") > 1000, "{stats}");
    assert!(counter(&stats, "resident_bytes_max") <= LOCAL_BYTES, "{stats}");
    assert_eq!(counter(&stats, "local_bytes"), LOCAL_BYTES);
}

#[test]
fn what_is_too_small_or_no_java_heap_stays_local() {
    for range in ["1g", "heap"] {
        let mut command = far_run(&["--verbose", "--range", range, "--"]);
        command.arg(program());
        // The program looks for the variables, which are set while nothing is remote.
        let stderr = String::from_utf8(command.output().unwrap().stderr).unwrap();
        assert!(stderr.contains("getenv") && !stderr.contains("are remote"), "{range}: {stderr}");
    }
}

#[test]
fn a_shell_in_between_does_not_matter() {
    let mut command = far_run(&["--range", "16m", "--", "sh", "-c"]);
    command.arg(format!("true; {}; exit $?", program().display()));
    let Some(output) = output(command) else { return };
    assert_ok(&output);
}

#[test]
fn what_cannot_be_run_has_the_shells_codes() {
    let code = |arguments: &[&str]| far_run(arguments).output().unwrap().status.code();
    assert_eq!(code(&["--", "/no/such/program"]), Some(127));
    assert_eq!(code(&["--", "/"]), Some(126));
    assert_eq!(code(&["--local-memory", "0%", "--", "true"]), Some(2));
    assert_eq!(code(&["--", "true"]), Some(0));
}

/// The program in a loop over its range; killed when dropped.
struct Running {
    child: Child,
    servers: Vec<u32>,
}

impl Running {
    /// `None` where userfaultfd is not allowed.
    fn start() -> Option<Running> {
        let mut command = far_run(&["--range", "16m", "--"]);
        command.arg(program()).arg("wait").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line != "waiting\n" {
            eprintln!("skipped: {:?}", read(child.stderr.take().unwrap()));
            child.wait().unwrap();
            return None;
        }
        let servers = servers_of(child.id());
        assert_eq!(servers.len(), 2);
        Some(Running { child, servers })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(mut from: impl Read) -> String {
    let mut text = String::new();
    from.read_to_string(&mut text).unwrap();
    text
}

fn servers_of(pid: u32) -> Vec<u32> {
    let mut servers = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten() {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        servers.extend(children.split_whitespace().map(|pid| pid.parse::<u32>().unwrap()));
    }
    servers
}

fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.contains("memory-server") && !stat.contains(") Z ")
}

#[test]
fn a_killed_program_leaves_no_server() {
    let Some(mut running) = Running::start() else { return };
    assert!(running.servers.iter().all(|pid| is_alive(*pid)));
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    let start = Instant::now();
    while running.servers.iter().any(|pid| is_alive(*pid)) {
        assert!(start.elapsed() < Duration::from_secs(5), "a server lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_lost_server_ends_the_program_with_one_line() {
    let Some(mut running) = Running::start() else { return };
    let kill = Command::new("kill").arg("-9").arg(running.servers[0].to_string()).status();
    assert!(kill.unwrap().success());
    assert_eq!(running.child.wait().unwrap().code(), Some(1));
    let stderr = read(running.child.stderr.take().unwrap());
    assert!(stderr.starts_with("farheap: ") && stderr.lines().count() == 1, "{stderr:?}");
    assert!(stderr.contains("memory server"), "{stderr:?}");
}
