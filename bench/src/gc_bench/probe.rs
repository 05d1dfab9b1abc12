//! The thread that looks at pauses from inside of a program (`Probe.java`).

use std::io;
use std::path::Path;

use crate::gc_bench::trace::Span;
use crate::java::jdk::Jdk;

/// The class that starts the thread and then the program.
pub const MAIN: &str = "Probe";
/// The property that names the file for its notes.
pub const PROPERTY: &str = "farheap.probe";

/// Compiles it into `classes`.
pub fn compile(jdk: &Jdk, classes: &Path) -> io::Result<()> {
    let source = classes.join("Probe.java");
    std::fs::write(&source, SOURCE)?;
    jdk.compile(&[source], classes)
}

/// Notes of a run that was started at `started_ms`, milliseconds since 1970, and how many there was no place for.
/// `None` if they are not as they should be.
pub fn notes(text: &str, started_ms: u64) -> Option<(Vec<Span>, u64)> {
    let mut lines = text.lines();
    let mut head = lines.next()?.split(' ');
    let began_ms: u64 = head.next()?.parse().ok()?;
    let left_out = head.nth(1)?.parse().ok()?;
    let offset_ms = began_ms.saturating_sub(started_ms) as f64;
    let span = |line: &str| {
        let (at, late) = line.split_once(' ')?;
        let us = |text: &str| Some(text.parse::<u32>().ok()? as f64 / 1e3);
        Some(Span { at_ms: offset_ms + us(at)?, ms: us(late)? })
    };
    Some((lines.map(span).collect::<Option<Vec<Span>>>()?, left_out))
}

const SOURCE: &str = include_str!("Probe.java");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::process::{self, End};
    use crate::harness::scratch::Scratch;
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    #[test]
    fn notes_count_from_the_start_of_the_process() {
        let (spans, left_out) = notes("1500 99 7\n2000 500\n4000 1250\n", 1000).unwrap();
        let expected = [Span { at_ms: 502.0, ms: 0.5 }, Span { at_ms: 504.0, ms: 1.25 }];
        assert_eq!((spans.as_slice(), left_out), (&expected[..], 7));
        assert_eq!(notes("1500 99 0\n2000\n", 1000), None);
        assert_eq!(notes("", 1000), None);
    }

    /// A program that is stopped for 300 ms from outside: the thread must see it, and the program's own end
    /// must be that of a program that was started without it.
    #[test]
    fn a_stopped_program_is_noticed_and_its_exit_code_kept() {
        let scratch = Scratch::new("probe").unwrap();
        let (jdk, classes) = (Jdk::find().unwrap(), scratch.folder("classes").unwrap());
        compile(&jdk, &classes).unwrap();
        let source = classes.join("Late.java");
        let program = r#"class Late {
            public static void main(String[] args) throws Exception {
                String self = "" + ProcessHandle.current().pid();
                String script = "kill -STOP " + self + "; sleep 0.3; kill -CONT " + self;
                Thread.sleep(100);
                new ProcessBuilder("sh", "-c", script).start();
                Thread.sleep(600);
                System.out.println(args[0]);
                System.exit(7);
            }
        }"#;
        std::fs::write(&source, program).unwrap();
        jdk.compile(&[source], &classes).unwrap();
        let file = scratch.path().join("notes");
        let mut java = jdk.java();
        java.arg(format!("-D{PROPERTY}={}", file.display())).arg("-cp").arg(&classes);
        java.args([MAIN, "Late", "word"]);
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        let folder = scratch.folder("run").unwrap();
        let run = process::run(java, &folder, b"", Duration::from_secs(60)).unwrap();
        let stderr = String::from_utf8_lossy(&run.stderr);
        assert_eq!((run.end, run.stdout.as_slice()), (End::Exit(7), &b"word\n"[..]), "{stderr}");
        let (notes, left_out) = notes(&std::fs::read_to_string(&file).unwrap(), started).unwrap();
        let longest = notes.iter().max_by(|a, b| a.ms.total_cmp(&b.ms)).unwrap();
        assert_eq!(left_out, 0);
        assert!(longest.ms > 250.0 && longest.at_ms < 30_000.0, "{longest:?}");
    }
}
