//! A memory server is killed in some runs of a program, at moments that seeds choose: `make survive` does so longer.

#[path = "support/programs.rs"]
mod programs;

use std::path::Path;
use std::time::Duration;

use bench::harness::scratch::Scratch;
use bench::java::jdk::Jdk;
use bench::java::vm::{Setting, Vm};
use bench::judge::server_loss::{self, Survival};
use programs::program;

struct Program {
    jdk: Jdk,
    vm: Vm,
    classes: Scratch,
}

impl Program {
    fn compile() -> Program {
        let jdk = Jdk::find().unwrap();
        let vm = Vm::find(Some(program("vm"))).unwrap();
        let classes = Scratch::new("survive").unwrap();
        let source =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads/graph/GraphChurn.java");
        jdk.compile(&[source], classes.path()).unwrap();
        Program { jdk, vm, classes }
    }

    /// Kills as the seed says, if there is one; with an even one the network is bad too.
    fn run(&self, collector: &str, replicas: u32, disturb: Option<(u64, &Survival)>) -> Survival {
        let replicas = replicas.to_string();
        let options = ["-Xmx16m", "-Xlog:gc*", "--replicas", &replicas];
        let bad = disturb.filter(|(seed, _)| seed % 2 == 0);
        let network = bad.map(|(seed, _)| format!("-XX:FarDisturbance={seed}"));
        let setting = Setting {
            collector: collector.into(),
            local_memory: "25%".into(),
            memory_servers: 2,
            options: options.map(String::from).into_iter().chain(network).collect(),
        };
        let mut command = self.vm.command(&setting, &self.jdk);
        command.arg("-cp").arg(self.classes.path()).args(["GraphChurn", "20000", "80"]);
        server_loss::run(command, disturb, Duration::from_secs(60)).unwrap()
    }
}

#[test]
fn a_lost_server_changes_no_answer() {
    let program = Program::compile();
    for collector in ["serial", "mako"] {
        let expected = program.run(collector, 2, None);
        assert_eq!(expected.code, Some(0), "{expected:?}");
        for seed in 1..=4 {
            let run = program.run(collector, 2, Some((seed, &expected)));
            let context = || format!("{collector}, seed {seed}: {run:?}");
            assert_eq!(run.code, Some(0), "{}", context());
            assert_eq!(run.output, expected.output, "{}", context());
        }
    }
}

#[test]
fn without_a_second_copy_the_vm_ends_at_once_with_one_line() {
    let program = Program::compile();
    for collector in ["serial", "mako"] {
        let expected = program.run(collector, 1, None);
        for seed in 1..=2 {
            let run = program.run(collector, 1, Some((seed, &expected)));
            let context = || format!("{collector}, seed {seed}: {run:?}");
            // The kill may come too late.
            if run.code == Some(0) {
                assert_eq!(run.output, expected.output, "{}", context());
                continue;
            }
            assert_eq!(run.code, Some(1), "{}", context());
            let said = run.farewell();
            assert!(said.len() == 1 && said[0].contains("memory server"), "{}", context());
            assert!(run.killed.as_ref().unwrap().1 < Duration::from_secs(5), "{}", context());
        }
    }
}
