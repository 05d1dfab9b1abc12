//! The class histogram on SIGQUIT (`-XX:+PrintClassHistogram`), under every collector at 25 % local memory.
//!
//! Needs the release `vm` and `memory-server` beside the test runner's folder (`make build`) and a JDK.

#[path = "support/programs.rs"]
mod programs;

use bench::harness::scratch::Scratch;
use bench::java::jdk::Jdk;
use bench::java::vm::{Setting, Vm};
use gc::options::CollectorKind;
use programs::program;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Keeps 12,345 objects of its own class, drops as many, and waits until its input ends.
const KEEPER: &str = r#"
public class Keeper {
    static Keeper kept;
    Keeper next;

    Keeper(Keeper next) {
        this.next = next;
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 12345; i++) {
            new Keeper(kept);
            kept = new Keeper(kept);
        }
        System.out.println("ready");
        while (System.in.read() >= 0) {
        }
    }
}
"#;

/// How long a line may be waited for.
const LIMIT: Duration = Duration::from_secs(60);

/// A running VM; killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What `Keeper` prints on SIGQUIT, which it gets twice.
fn output(collector: &str, options: &[&str], classes: &Path, jdk: &Jdk) -> Vec<String> {
    let setting = Setting {
        collector: collector.into(),
        local_memory: "25%".into(),
        memory_servers: 2,
        options: ["-Xmx128m"].iter().chain(options).map(|option| option.to_string()).collect(),
    };
    let mut command: Command = Vm::find(Some(program("vm"))).unwrap().command(&setting, jdk);
    command.arg("-cp").arg(classes).arg("Keeper");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = Running(command.spawn().unwrap());
    let pid = running.0.id().to_string();
    let (stdout, (sender, receiver)) = (running.0.stdout.take().unwrap(), mpsc::channel());
    std::thread::spawn(move || {
        BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    let mut lines = std::iter::from_fn(|| receiver.recv_timeout(LIMIT).ok());
    assert_eq!(lines.next().as_deref(), Some("ready"), "{collector}");
    let last = if options.is_empty() { "\"Signal Dispatcher\"" } else { "Total " };
    let mut seen = Vec::new();
    for _ in 0..2 {
        assert!(Command::new("kill").args(["-QUIT", &pid]).status().unwrap().success());
        seen.extend(lines.by_ref().take_while(|line| !line.starts_with(last)));
    }
    drop(running.0.stdin.take());
    seen.extend(lines);
    assert!(running.0.wait().unwrap().success(), "{collector}");
    seen
}

#[test]
fn a_histogram_follows_the_thread_dump() {
    let (jdk, classes) = (Jdk::find().unwrap(), Scratch::new("histogram").unwrap());
    jdk.compile_text("Keeper", KEEPER, classes.path()).unwrap();
    for kind in CollectorKind::ALL {
        let name = kind.name();
        let seen = output(name, &["-XX:+PrintClassHistogram"], classes.path(), &jdk);
        let place = |text: &str| seen.iter().position(|line| line.starts_with(text)).unwrap();
        let heading = place(" num     #instances         #bytes  class name (module)");
        assert!(place("Full thread dump") < heading, "{name}");
        let rows = |class: &str| -> Vec<Vec<&str>> {
            let rows = seen.iter().map(|line| line.split_whitespace().collect::<Vec<_>>());
            rows.filter(|row| row.get(3) == Some(&class)).collect()
        };
        // Epsilon keeps the dropped ones, but nothing reaches them.
        let mine = rows("Keeper");
        assert_eq!(mine.len(), 2, "{name}: {seen:?}");
        assert!(mine.iter().all(|row| row.len() == 4 && row[1] == "12345"), "{name}: {mine:?}");
        let bytes: Vec<usize> = mine.iter().map(|row| row[2].parse().unwrap()).collect();
        assert!(bytes.iter().all(|bytes| (16..=24).contains(&(bytes / 12345))), "{name}: {mine:?}");
        for class in ["[B", "java.lang.String", "java.lang.Class", "[Ljava.lang.Object;"] {
            let rows = rows(class);
            let has_module = |row: &Vec<&str>| row[4].starts_with("(java.base@17");
            assert!(rows.len() == 2 && rows.iter().all(has_module), "{name}: {rows:?}");
        }
    }
}

#[test]
fn no_histogram_is_printed_without_the_option() {
    let (jdk, classes) = (Jdk::find().unwrap(), Scratch::new("no-histogram").unwrap());
    jdk.compile_text("Keeper", KEEPER, classes.path()).unwrap();
    let seen = output("serial", &[], classes.path(), &jdk);
    assert!(seen.iter().any(|line| line.starts_with("Full thread dump")));
    assert!(!seen.iter().any(|line| line.contains("#instances")), "{seen:?}");
}
