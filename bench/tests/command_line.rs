//! How `vm run` reacts to its environment: readers that have closed their pipe, requested stack sizes.
//!
//! Needs the release `vm` beside the test runner's folder (`make build`) and a JDK.

#[path = "support/programs.rs"]
mod programs;

use bench::harness::scratch::Scratch;
use bench::java::jdk::Jdk;
use programs::program;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Ends with 7 once it is asked to, after a thread whose handler of uncaught exceptions throws another one.
const LISTENER: &str = r#"
public class Listener {
    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        System.in.read();
        Thread failing = new Thread(() -> { throw new IllegalStateException(); });
        failing.setUncaughtExceptionHandler((thread, thrown) -> { throw new IllegalStateException(); });
        failing.start();
        failing.join();
        System.exit(7);
    }
}
"#;

/// Prints how deep the main thread gets, and a thread for whose stack as much was asked.
const DEPTH: &str = r#"
public class Depth {
    static int depth;

    static int descend(int n) {
        depth++;
        return n + descend(n + 1);
    }

    static int measure() {
        depth = 0;
        try {
            descend(0);
        } catch (StackOverflowError expected) {
            return depth;
        }
        throw new AssertionError();
    }

    public static void main(String[] args) throws Exception {
        // Compiled from here on.
        Thread warm = new Thread(null, Depth::measure, "warm", 64L << 20);
        warm.start();
        warm.join();
        int[] other = new int[1];
        Thread thread = new Thread(null, () -> other[0] = measure(), "other", 512L << 20);
        thread.start();
        thread.join();
        System.out.println(measure() + " " + other[0]);
    }
}
"#;

/// The command that runs a class of this source; its files are in the scratch folder.
fn command(scratch: &Scratch, name: &str, source: &str) -> Command {
    let jdk = Jdk::find().unwrap();
    let classes = scratch.folder("classes").unwrap();
    jdk.compile_text(name, source, &classes).unwrap();
    let mut command = Command::new(program("vm"));
    command.args(["run", "-Xmx64m", "-Xss512m", "-cp"]).arg(classes).arg(name);
    command
}

/// The exit code; the process is killed after a minute.
fn ended(mut child: Child) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let _ = child.wait();
    panic!("it did not end");
}

#[test]
fn a_vm_goes_on_when_nobody_reads_what_it_says() {
    let scratch = Scratch::new("unread").unwrap();
    let mut command = command(&scratch, "Listener", LISTENER);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    drop(child.stderr.take());
    let killed = Command::new("kill").args(["-QUIT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    std::thread::sleep(Duration::from_millis(500));
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert_eq!(ended(child), Some(7));
}

#[test]
fn the_main_thread_has_the_stack_that_was_asked_for() {
    let scratch = Scratch::new("deep").unwrap();
    let output = command(&scratch, "Depth", DEPTH).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let depths: Vec<u64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let [main, other] = depths[..] else {
        panic!("{text} {}", String::from_utf8_lossy(&output.stderr));
    };
    assert!(main > 1_000_000 && main * 10 > other * 9, "main {main}, another thread {other}");
}

/// To print the sample, nothing is downloaded, compiled or run.
#[test]
fn jdk_tests_are_listed_without_preparation() {
    let cache = Scratch::new("jdk-tests-list").unwrap();
    let list = |arguments: &[&str]| {
        let mut command = Command::new(program("judge"));
        command.args(["jdk-tests", "--list"]).args(arguments);
        let output = command.env("XDG_CACHE_HOME", cache.path()).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(list(&["jdk/java/lang"]), (false, String::new()), "nothing was downloaded");
    let folder = cache.path().join("farheap");
    let sources = folder.join("jdk-test-sources");
    for name in ["A", "B", "C", "Helper"] {
        let source = sources.join(format!("test/jdk/java/lang/{name}.java"));
        std::fs::create_dir_all(source.parent().unwrap()).unwrap();
        let text = if name == "Helper" { "class Helper {}" } else { "/* @test */ class T {}" };
        std::fs::write(source, text).unwrap();
    }
    std::fs::write(sources.join("VERSION"), "17.0.0").unwrap();
    let all = ["A", "B", "C"].map(|name| format!("jdk/java/lang/{name}.java\n")).concat();
    assert_eq!(list(&["jdk/java/lang"]), (true, all.clone()));
    let (_, drawn) = list(&["jdk/java/lang", "--number", "2", "--seed", "7"]);
    assert_eq!(list(&["jdk/java/lang", "--number", "2", "--seed", "7"]), (true, drawn.clone()));
    assert!(drawn.lines().count() == 2 && drawn.lines().all(|line| all.contains(line)), "{drawn}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}
