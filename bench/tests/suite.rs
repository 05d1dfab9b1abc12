//! The programs that compiled code is judged by, at a small size: the same checksums as on HotSpot, under the plain
//! collector and under the one that moves everything, interpreted at first and compiled from the start.

#[path = "support/programs.rs"]
mod programs;

use std::path::Path;
use std::time::Duration;

use bench::harness::pool;
use bench::java::jdk::Jdk;
use bench::java::suite::{Amount, Suite};
use bench::java::vm::{Setting, Vm};
use programs::program;

#[test]
fn checksums_are_those_of_hotspot() {
    let jdk = Jdk::find().unwrap();
    let vm = Vm::find(Some(program("vm"))).unwrap();
    let workloads = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads");
    let suite = Suite::compile(&workloads, &jdk).unwrap();
    assert!(suite.programs.len() >= 16, "{:?}", suite.programs);
    let settings =
        [("serial", "100%", None), ("mako", "25%", None), ("serial", "100%", Some("-Xcomp"))].map(
            |(collector, local_memory, option)| Setting {
                collector: collector.into(),
                local_memory: local_memory.into(),
                memory_servers: 1,
                options: ["-Xmx64m"].into_iter().chain(option).map(String::from).collect(),
            },
        );
    let amount = Amount { iterations: 2, size: 3, without_collection: false };
    let limit = Duration::from_secs(100);
    let judge = |program: &String| {
        let mut java = jdk.java();
        java.arg("-Xmx64m");
        let expected =
            suite.run(java, program, amount, limit).map_err(|e| format!("HotSpot: {e}"))?;
        for setting in &settings {
            let run = suite.run(vm.command(setting, &jdk), program, amount, limit);
            let checksum = run.map_err(|e| format!("{setting}: {e}"))?.checksum;
            if checksum != expected.checksum {
                return Err(format!(
                    "{setting}: checksum {checksum}, expected {}",
                    expected.checksum
                ));
            }
        }
        Ok(())
    };
    let mut failed = Vec::new();
    pool::run(
        &suite.programs,
        pool::default_threads(),
        judge,
        |program, result: Result<(), String>| {
            failed.extend(result.err().map(|why| format!("{program}: {why}")));
        },
    );
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
