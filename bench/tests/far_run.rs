//! HotSpot with its heap in far memory: the same answers, within the budget, and no far memory for children.
//!
//! Needs the release `far-run`, its library and `memory-server` beside the test runner's folder (`make build`), and
//! a JDK.

#[path = "support/programs.rs"]
mod programs;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use bench::harness::process::{self, End, Run};
use bench::harness::scratch::Scratch;
use bench::java::far_run::FarRun;
use bench::java::jdk::Jdk;
use bench::java::suite::{Amount, Suite};
use programs::program;

/// Reads and writes files from large arrays, starts a child, dereferences null in compiled code, fills the heap.
const BORDERS: &str = r#"
import java.nio.file.*;
import java.util.*;

public class Borders {
    int field = 1;

    public static void main(String[] args) throws Exception {
        byte[] bytes = new byte[5_000_000];
        new Random(1).nextBytes(bytes);
        Path file = Path.of("bytes");
        Files.write(file, bytes);
        System.out.println(Arrays.equals(bytes, Files.readAllBytes(file)));
        Process child = new ProcessBuilder("sh", "-c", "echo child:$LD_PRELOAD:$FARHEAP_RUN; cat").start();
        child.getOutputStream().write("input".getBytes());
        child.getOutputStream().close();
        System.out.println(new String(child.getInputStream().readAllBytes()) + child.waitFor());
        int nulls = 0;
        for (int i = 0; i < 300_000; i++) {
            Borders some = i % 3 == 0 ? null : new Borders();
            try {
                nulls += some.field - 1;
            } catch (NullPointerException e) {
                nulls++;
            }
        }
        System.out.println(nulls);
        List<byte[]> all = new ArrayList<>();
        try {
            while (true) {
                all.add(new byte[1 << 18]);
            }
        } catch (OutOfMemoryError e) {
            all.clear();
            System.out.println("full");
        }
        System.exit(9);
    }
}
"#;

fn far_run(jdk: &Jdk, collector: &str, options: &[&str]) -> Command {
    let far_run = FarRun::at(&program("far-run")).unwrap();
    let setting = bench::java::vm::Setting {
        collector: collector.to_string(),
        local_memory: "25%".to_string(),
        memory_servers: 2,
        options: options.iter().map(|option| option.to_string()).collect(),
    };
    far_run.command(&setting, jdk, None).unwrap()
}

fn compile(jdk: &Jdk, scratch: &Scratch) -> io::Result<PathBuf> {
    let classes = scratch.folder("classes")?;
    jdk.compile_text("Borders", BORDERS, &classes)?;
    Ok(classes)
}

fn borders(mut java: Command, classes: &Path, options: &[&str]) -> Run {
    java.arg("-Xmx64m").args(options).arg("-cp").arg(classes).arg("Borders");
    let scratch = Scratch::new("borders").unwrap();
    process::run(java, scratch.path(), b"", Duration::from_secs(300)).unwrap()
}

/// False, with the reason, where userfaultfd is not allowed.
fn is_possible(run: &Run) -> bool {
    let stderr = String::from_utf8_lossy(&run.stderr);
    let denied = stderr.contains("userfaultfd is not usable");
    if denied {
        eprintln!("skipped: {stderr}");
    }
    !denied
}

#[test]
fn answers_are_those_of_local_memory_under_every_collector() {
    let jdk = Jdk::find().unwrap();
    let scratch = Scratch::new("far-run").unwrap();
    let classes = compile(&jdk, &scratch).unwrap();
    for collector in FarRun::collectors() {
        let hotspot = FarRun::hotspot(&jdk, collector).unwrap();
        let expected = borders(hotspot, &classes, &[]);
        assert_eq!(expected.end, End::Exit(9), "{collector}");
        // References of 32 bits from address 0, from another one, and of 64 bits.
        for options in [&[][..], &["-XX:HeapBaseMinAddress=40g"], &["-XX:-UseCompressedOops"]] {
            let run = borders(far_run(&jdk, collector, &["--verbose"]), &classes, options);
            if !is_possible(&run) {
                return;
            }
            let stderr = String::from_utf8_lossy(&run.stderr);
            assert_eq!(run.end, End::Exit(9), "{collector} {options:?}: {stderr}");
            let (stdout, expected) =
                (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&expected.stdout));
            assert_eq!(stdout, expected, "{collector} {options:?}");
            assert!(stderr.contains("MiB at") && stderr.lines().count() == 1, "{stderr}");
        }
    }
}

#[test]
fn pages_come_ahead_as_the_prefetcher_says() {
    let jdk = Jdk::find().unwrap();
    let scratch = Scratch::new("prefetcher").unwrap();
    let classes = compile(&jdk, &scratch).unwrap();
    let stats = scratch.path().join("stats.json");
    for (prefetcher, is_ahead) in [("none", false), ("sequential", true)] {
        let options = ["--prefetcher", prefetcher, "--stats", stats.to_str().unwrap()];
        let run = borders(far_run(&jdk, "serial", &options), &classes, &[]);
        if !is_possible(&run) {
            return;
        }
        assert_eq!(run.end, End::Exit(9), "{}", String::from_utf8_lossy(&run.stderr));
        let counters = std::fs::read_to_string(&stats).unwrap();
        let counters: serde_json::Value = serde_json::from_str(&counters).unwrap();
        let [fetched, ahead] = ["fetch_faults", "ahead_pages"]
            .map(|name| counters["ranges"][0][name].as_u64().unwrap());
        assert!(fetched > 0 && (ahead > 0) == is_ahead, "{prefetcher}: {fetched}, {ahead}");
    }
    let refused = borders(far_run(&jdk, "serial", &["--prefetcher", "best"]), &classes, &[]);
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(stderr.contains("must be one of none, sequential, leap"), "{stderr}");
}

#[test]
fn programs_of_the_suite_have_their_checksums() {
    let jdk = Jdk::find().unwrap();
    let workloads = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads");
    let suite = Suite::compile(&workloads, &jdk).unwrap();
    let amount = Amount { iterations: 2, size: 20, without_collection: false };
    let limit = Duration::from_secs(300);
    for program in ["Trees", "Maps", "Json"] {
        let run = |mut command: Command| {
            command.args(["-Xms32m", "-Xmx32m"]);
            suite.run(command, program, amount, limit)
        };
        let expected = run(jdk.java()).unwrap().checksum;
        for collector in FarRun::collectors() {
            match run(far_run(&jdk, collector, &[])) {
                Err(what) if what.contains("userfaultfd is not usable") => {
                    return eprintln!("skipped: {what}");
                }
                found => assert_eq!(found.unwrap().checksum, expected, "{program} {collector}"),
            }
        }
    }
}

#[test]
fn a_collector_that_cannot_be_far_says_so_and_goes_on() {
    let jdk = Jdk::find().unwrap();
    let mut command = far_run(&jdk, "serial", &[]);
    command.args(["-XX:-UseSerialGC", "-XX:+UseZGC", "-Xmx64m", "-version"]);
    let output = command.output().unwrap();
    assert!(output.status.success());
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .contains("farheap: no heap of this JVM became remote")
    );
}
