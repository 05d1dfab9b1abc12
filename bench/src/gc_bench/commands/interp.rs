//! How fast the interpreter is: `make bench-interp`.
//!
//! Hello world is compared with HotSpot's interpreter without its class archive; javac on one file
//! and four micro programs with Zero, the JDK's portable interpreter. The VMs take turns within
//! each round, so that a slow minute of the machine hits all of them. Medians and spreads are of
//! wall-clock times; outputs must be the same.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;

use crate::harness::process::{self, End};
use crate::harness::scratch::Scratch;
use crate::java::jdk::{self, Jdk};
use crate::java::vm::{Setting, Vm};
use crate::java::zero::Zero;

/// Compare our interpreter with HotSpot's (hello world) and with Zero (the rest)
#[derive(Args)]
pub struct Options {
    /// The collector of our VM
    #[arg(long, default_value = "serial")]
    gc: String,
    #[arg(long, default_value = "100%")]
    local_memory: String,
    /// Rounds; each runs every program once on each VM
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    #[arg(long, default_value = "256m")]
    heap: String,
    /// The folder of the workloads
    #[arg(long, default_value = "workloads")]
    workloads: PathBuf,
    /// More options for our VM (repeat for several)
    #[arg(long, allow_hyphen_values = true)]
    vm_option: Vec<String>,
}

struct Program {
    name: &'static str,
    /// The arguments after the VM's options.
    command_line: Vec<String>,
    /// Compared with Zero, else with HotSpot's interpreter.
    against_zero: bool,
    ours_ms: Vec<f64>,
    theirs_ms: Vec<f64>,
}

/// Measures in turn with `vm`, else the one beside this program; true if both targets are met.
pub fn run(options: &Options, vm: Option<PathBuf>) -> io::Result<bool> {
    let jdk = Jdk::find()?;
    let vm = Vm::find(vm)?;
    let zero = Zero::prepare(&jdk)?;
    let setting = Setting {
        collector: options.gc.clone(),
        local_memory: options.local_memory.clone(),
        memory_servers: 1,
        options: [vec!["-Xint".to_string()], options.vm_option.clone()].concat(),
    };
    let scratch = Scratch::new("bench-interp")?;
    let classes = scratch.folder("classes")?;
    jdk.compile(&jdk::sources(&options.workloads.join("micro"))?, &classes)?;
    let mut programs = programs(&classes, &options.workloads.canonicalize()?);
    println!("JDK {}, {} rounds, {setting}", jdk.version, options.rounds);
    for round in 0..options.rounds {
        for program in &mut programs {
            let mut theirs = if program.against_zero {
                zero.java(&jdk)
            } else {
                let mut java = jdk.java();
                java.args(["-Xshare:off", "-Xint"]);
                java
            };
            let mut ours = vm.command(&setting, &jdk);
            for command in [&mut theirs, &mut ours] {
                command.arg(format!("-Xmx{}", options.heap)).args(&program.command_line);
            }
            // The two alternate in being first.
            let (a, b) = if round % 2 == 0 {
                let a = measure(theirs, program.name)?;
                (a, measure(ours, program.name)?)
            } else {
                let b = measure(ours, program.name)?;
                (measure(theirs, program.name)?, b)
            };
            if a.1 != b.1 {
                return Err(io::Error::other(format!("{}: the outputs differ", program.name)));
            }
            program.theirs_ms.push(a.0);
            program.ours_ms.push(b.0);
            eprintln!(
                "round {} {:12} {:8.0} ms, ours {:8.0} ms",
                round + 1,
                program.name,
                a.0,
                b.0
            );
        }
    }
    Ok(report(&mut programs))
}

fn programs(classes: &Path, workloads: &Path) -> Vec<Program> {
    let path = classes.display().to_string();
    let micro = |class: &str| vec!["-cp".to_string(), path.clone(), class.to_string()];
    let source = workloads.join("graph/GraphChurn.java").display().to_string();
    let javac =
        ["-m", "jdk.compiler/com.sun.tools.javac.Main", "-d", ".", &source].map(str::to_string);
    [
        ("hello", micro("Startup"), false),
        ("javac", javac.to_vec(), true),
        ("fib", micro("Fib"), true),
        ("sieve", micro("Sieve"), true),
        ("map merge", micro("MapMerge"), true),
        ("matmul", micro("MatMul"), true),
    ]
    .map(|(name, command_line, against_zero)| Program {
        name,
        command_line,
        against_zero,
        ours_ms: Vec::new(),
        theirs_ms: Vec::new(),
    })
    .into()
}

/// Milliseconds, and the output.
fn measure(command: Command, name: &str) -> io::Result<(f64, Vec<u8>)> {
    let scratch = Scratch::new("measure")?;
    let run = process::run(command, scratch.path(), b"", Duration::from_secs(300))?;
    if run.end != End::Exit(0) {
        let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
        return Err(io::Error::other(format!("{name}: {}\n{stderr}", run.end)));
    }
    Ok((run.wall.as_secs_f64() * 1e3, run.stdout))
}

/// Prints the table. True if both targets are met.
fn report(programs: &mut [Program]) -> bool {
    println!(
        "{:12} {:>10} {:>18} {:>18} {:>7}",
        "program", "compared", "their ms", "our ms", "ratio"
    );
    let mut hello = 0.0;
    let mut logarithms = Vec::new();
    for program in programs {
        let theirs = Sample::of(&mut program.theirs_ms);
        let ours = Sample::of(&mut program.ours_ms);
        let ratio = ours.median / theirs.median;
        let other = if program.against_zero { "Zero" } else { "HotSpot" };
        println!("{:12} {other:>10} {theirs:>18} {ours:>18} {ratio:7.2}", program.name);
        if program.against_zero {
            logarithms.push(ratio.ln());
        } else {
            hello = ratio;
        }
    }
    let geomean = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
    println!("hello world: {hello:.2} (at most {HELLO_TARGET})");
    println!("geometric mean against Zero: {geomean:.2} (at most {ZERO_TARGET})");
    hello <= HELLO_TARGET && geomean <= ZERO_TARGET
}

struct Sample {
    median: f64,
    least: f64,
    most: f64,
}

impl Sample {
    fn of(values: &mut [f64]) -> Sample {
        values.sort_by(f64::total_cmp);
        let (least, most) = (values[0], values[values.len() - 1]);
        Sample { median: values[values.len() / 2], least, most }
    }
}

impl std::fmt::Display for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = format!("{:.0} ({:.0}-{:.0})", self.median, self.least, self.most);
        f.pad(&text)
    }
}

const HELLO_TARGET: f64 = 2.0;
const ZERO_TARGET: f64 = 1.5;
