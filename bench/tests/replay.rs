//! `-XX:PageTrace` and `gc-bench replay`: page accesses of a program, recorded and taken through policies.
//!
//! Needs the release programs beside the test runner's folder (`make build`), a JDK, and `userfaultfd`.

#[path = "support/programs.rs"]
mod programs;

use bench::harness::scratch::Scratch;
use bench::java::jdk::Jdk;
use bench::java::vm::{Setting, Vm};
use programs::program;
use std::process::Command;

/// Walks over 40 MB of arrays again and again, which 16 MB do not hold.
const WALKS: &str = r#"
public class Walks {
    public static void main(String[] args) {
        int[][] rows = new int[10_000][1000];
        long sum = 0;
        for (int round = 0; round < 6; round++) {
            for (int[] row : rows) {
                row[round] += round;
                sum += row[5] + row[999];
            }
        }
        System.out.println(sum);
    }
}
"#;

#[test]
fn accesses_are_recorded_and_replayed() {
    let (jdk, scratch) = (Jdk::find().unwrap(), Scratch::new("replay").unwrap());
    jdk.compile_text("Walks", WALKS, scratch.path()).unwrap();
    for collector in ["g1", "mako"] {
        let file = scratch.path().join(collector);
        let setting = Setting {
            collector: collector.into(),
            local_memory: "16m".into(),
            memory_servers: 2,
            options: vec!["-Xmx64m".into(), format!("-XX:PageTrace={}", file.display())],
        };
        let mut command = Vm::find(Some(program("vm"))).unwrap().command(&setting, &jdk);
        let output = command.arg("-cp").arg(scratch.path()).arg("Walks").output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{collector}: {stderr}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "50000", "{collector}");
        let mut replay = Command::new(program("gc-bench"));
        replay.args(["replay", "--local-memory", "16m", "--policies", "lru,fifo,pager"]).arg(&file);
        let output = replay.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
        let figure = |line: &str| -> f64 {
            let found = text.lines().find(|its| its.starts_with(line));
            let rest = found.unwrap_or_else(|| panic!("{collector}: no {line} in {text}"))
                [line.len()..]
                .trim();
            rest.split(' ').next().unwrap().parse().unwrap()
        };
        assert!(text.contains("told 16 MiB"), "{text}");
        // Five walks over 10,000 pages, 4,096 of which stay at best, and those of the collector.
        let optimum = figure("optimum, thousands");
        assert!((20.0..60.0).contains(&optimum), "{collector}: {text}");
        for policy in ["lru", "fifo", "pager "] {
            assert!((1.0..3.0).contains(&figure(policy)), "{collector}: {text}");
        }
    }
    let mut replay = Command::new(program("gc-bench"));
    let output = replay.arg("replay").arg(scratch.path().join("Walks.class")).output().unwrap();
    assert!(!output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("no trace of page accesses"), "{stderr}");
}

#[test]
fn a_trace_needs_servers_that_share_their_memory() {
    let scratch = Scratch::new("replay").unwrap();
    let refused = |options: &[&str]| {
        let mut command = Command::new(program("vm"));
        command.arg("run").arg(format!("-XX:PageTrace={}", scratch.path().join("t").display()));
        let output = command.args(options).arg("-version").output().unwrap();
        assert!(!output.status.success(), "{options:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let local = refused(&["-XX:LocalMemory=100%", "--gc", "g1"]);
    assert!(local.contains("PageTrace requires memory servers"), "{local}");
    let far = refused(&["--local-memory", "25%", "--transport", "tcp"]);
    assert!(far.contains("servers share their memory"), "{far}");
}
