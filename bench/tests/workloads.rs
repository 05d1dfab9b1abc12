//! The workloads of this project at their smallest: on our VM, under the plain collector and under the one that moves
//! everything with a quarter of the heap local, they give the result of the manifest, or that of HotSpot.

#[path = "support/programs.rs"]
mod programs;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use bench::gc_bench::manifest::{Manifest, Size, Suite, Workload};
use bench::harness::pool;
use bench::harness::process::{self, End};
use bench::harness::scratch::Scratch;
use bench::java::jdk::{self, Jdk};
use bench::java::vm::{Setting, Vm};
use programs::program;

#[test]
fn small_runs_give_the_right_results() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads");
    let manifest = Manifest::read(&folder.join("manifest.toml")).unwrap();
    let jdk = Jdk::find().unwrap();
    let vm = Vm::find(Some(program("vm"))).unwrap();
    let scratch = Scratch::new("workloads").unwrap();
    let classes = scratch.folder("classes").unwrap();
    let of_ours = |workload: &&Workload| matches!(workload.suite, Suite::Papers | Suite::Studies);
    let workloads: Vec<&Workload> = manifest.workloads.iter().filter(of_ours).collect();
    assert!(workloads.len() >= 21, "{} workloads", workloads.len());
    let mut sources: Vec<PathBuf> = Vec::new();
    for part in ["harness", "papers", "studies"] {
        sources.extend(jdk::sources(&folder.join(part)).unwrap());
    }
    jdk.compile(&sources, &classes).unwrap();
    let settings = [("serial", "100%"), ("mako", "25%")].map(|(collector, local_memory)| Setting {
        collector: collector.into(),
        local_memory: local_memory.into(),
        memory_servers: 1,
        options: Vec::new(),
    });
    let judge = |workload: &&Workload| -> Result<(), String> {
        let sizing = workload.sizing(Size::Tiny).map_err(|e| e.to_string())?;
        let run = |command: Command, who: &str| {
            result(workload, command, &classes).map_err(|e| format!("{who}: {e}"))
        };
        let expected = match &sizing.output {
            Some(output) => output.clone(),
            None => run(jdk.java(), "HotSpot")?.0,
        };
        for setting in &settings {
            let (actual, text) = run(vm.command(setting, &jdk), &setting.to_string())?;
            if actual != expected {
                return Err(format!("{setting}: result {actual}, expected {expected}:\n{text}"));
            }
        }
        Ok(())
    };
    let mut failed = Vec::new();
    pool::run(&workloads, pool::default_threads(), judge, |workload, result| {
        failed.extend(result.err().map(|why| format!("{}: {why}", workload.name)));
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// The output of the workload on `command`, a VM with its own options: the hash of its result, and the text.
fn result(
    workload: &Workload,
    mut command: Command,
    classes: &Path,
) -> Result<(String, String), String> {
    let sizing = workload.sizing(Size::Tiny).map_err(|e| e.to_string())?;
    command.arg(format!("-Xmx{}", sizing.heap)).args(&workload.options).arg("-cp").arg(classes);
    command.arg(&workload.main).args(sizing.arguments.split_whitespace());
    // Several run at a time.
    let run = Scratch::new("workload")
        .and_then(|scratch| process::run(command, scratch.path(), b"", Duration::from_secs(200)))
        .map_err(|error| error.to_string())?;
    match run.end {
        End::Exit(0) => {
            let text = String::from_utf8_lossy(&run.stdout).into_owned();
            Ok((workload.judged.hash(&run.stdout), text))
        }
        end => Err(format!("{end}\n{}", String::from_utf8_lossy(&run.stderr))),
    }
}
