//! `make demo`: one real program whose heap is mostly remote, and its cost.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;

use clap::Args;
use serde_json::Value;

use crate::harness::scratch::Scratch;
use crate::java::jdk::Jdk;
use crate::java::vm::{Setting, Vm};

/// Run a search engine with most of its heap on memory servers
#[derive(Args)]
pub struct Options {
    /// Pages to index, rounds of ranking [default: the program's own]
    arguments: Vec<String>,
    #[arg(long, default_value = "mako")]
    gc: String,
    #[arg(long, default_value = "25%")]
    local_memory: String,
    #[arg(long, default_value_t = 2)]
    memory_servers: u32,
    #[arg(long, default_value = "256m")]
    heap: String,
    #[arg(long, default_value = "workloads/demo/LinkRank.java")]
    program: PathBuf,
}

/// Runs the program on `vm`, else on the one beside this program; true if it ends well.
pub fn run(options: &Options, vm: Option<PathBuf>) -> io::Result<bool> {
    let jdk = Jdk::find()?;
    let vm = Vm::find(vm)?;
    let scratch = Scratch::new("demo")?;
    let classes = scratch.folder("classes")?;
    jdk.compile(std::slice::from_ref(&options.program), &classes)?;
    let stats = scratch.path().join("stats.json");
    let setting = Setting {
        collector: options.gc.clone(),
        local_memory: options.local_memory.clone(),
        memory_servers: options.memory_servers,
        options: vec![format!("-Xmx{}", options.heap)],
    };
    let class = options.program.file_stem().unwrap_or_default();
    let mut command = vm.command(&setting, &jdk);
    command.arg("--stats").arg(&stats).arg("-cp").arg(&classes).arg(class);
    command.args(&options.arguments).stdin(Stdio::null());
    println!(
        "{}, heap {}, {} local memory, {} memory servers, JDK {}",
        options.gc, options.heap, options.local_memory, options.memory_servers, jdk.version
    );
    let start = Instant::now();
    let status = command.status()?;
    println!("\n{status}, {:.1} s", start.elapsed().as_secs_f64());
    if status.success() {
        summary(&serde_json::from_str(&std::fs::read_to_string(&stats)?)?);
    }
    Ok(status.success())
}

/// Prints the most informative of the counters that `--stats` wrote.
fn summary(stats: &Value) {
    let heap = &stats["heap"];
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let megabytes = |value: &Value| number(value) / (1 << 20) as f64;
    let pager = &heap["pager"];
    println!(
        "heap       {:.0} MB used of {:.0} MB, {:.0} MB allocated",
        megabytes(&heap["used_bytes"]),
        megabytes(&heap["max_bytes"]),
        megabytes(&heap["allocated_bytes"])
    );
    if pager.is_object() {
        println!(
            "local      {:.0} MB of {:.0} MB allowed",
            megabytes(&pager["resident_bytes"]),
            megabytes(&pager["budget_bytes"])
        );
        println!(
            "faults     {:.0} that fetched ({:.0} by the program, {:.0} by the collector)",
            number(&pager["fetch_faults"]),
            number(&pager["fetch_faults_mutator"]),
            number(&pager["fetch_faults_gc"])
        );
        println!(
            "moved      {:.0} MB fetched, {:.0} MB written back",
            megabytes(&pager["fetched_bytes"]),
            megabytes(&pager["written_bytes"])
        );
    }
    let none = Vec::new();
    let pauses = heap["pauses"].as_array().unwrap_or(&none);
    let mut times: Vec<f64> = pauses.iter().map(|pause| number(&pause["pause_us"]) / 1e3).collect();
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2).copied().unwrap_or(0.0);
    let longest = times.last().copied().unwrap_or(0.0);
    println!(
        "collector  {:.0} cycles, {} pauses: median {median:.1} ms, longest {longest:.1} ms, \
         together {:.0} ms",
        number(&heap["cycles"]),
        times.len(),
        times.iter().fold(0.0, |sum, time| sum + time)
    );
}
