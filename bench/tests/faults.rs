//! The runner of `make bench-faults` on little memory: every part measures the accesses that it claims to.

#[path = "support/programs.rs"]
mod programs;

use std::process::Command;

use bench::harness::scratch::Scratch;
use programs::program;
use serde_json::Value;

const ACCESSES: u64 = 1000;

fn runner() -> Command {
    let mut command = Command::new(program("gc-bench"));
    command.arg("faults");
    command
}

#[test]
fn every_part_measures() {
    let scratch = Scratch::new("faults").unwrap();
    let file = scratch.path().join("measured.json");
    let mut command = runner();
    command.args(["--mib", "16", "--threads", "1,2", "--rounds", "1", "--no-kernel-swap"]);
    command.args(["--accesses", &ACCESSES.to_string(), "--json"]).arg(&file);
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    // 1: measured, and some target is missed, which on so little memory says nothing.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{} {stderr}", output.status);
    let measured: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let mut parts = Vec::new();
    for row in measured.as_array().unwrap() {
        let (part, threads) = (row["part"].as_str().unwrap(), row["threads"].as_u64().unwrap());
        let report = &row["rounds"][0];
        parts.push((part, threads));
        match part {
            "scan" | "local-scan" => assert_eq!(report["bytes"], 16 << 20, "{row}"),
            _ => {
                assert_eq!(report["count"], ACCESSES * threads, "{row}");
                let [p50, p99] = ["p50_us", "p99_us"].map(|key| report[key].as_f64().unwrap());
                assert!(p50 > 0.1 && p50 <= p99, "{row}");
            }
        }
        assert!(report["seconds"].as_f64().unwrap() > 0.0, "{row}");
    }
    let parts_of_each = ["bare-fault", "read", "write", "local-scan", "scan"];
    let of_threads = |threads| parts_of_each.map(|part| (part, threads));
    let mut expected = vec![("bare-ring", 1)];
    expected.extend([1, 2].into_iter().flat_map(of_threads));
    expected.sort_unstable();
    parts.sort_unstable();
    assert_eq!(parts, expected);
}

#[test]
fn impossible_amounts_are_refused() {
    for wrong in [["--mib", "0"], ["--threads", "0"], ["--local", "100"], ["--rounds", "0"]] {
        let output = runner().args(wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(!output.stderr.is_empty(), "{wrong:?}");
    }
}
