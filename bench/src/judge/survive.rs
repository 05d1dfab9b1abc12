//! `make survive`: runs of one program, in each of which a memory server is killed.
//!
//! With two copies of each page (`--replicas 2`) every run must end with the right answer; with one, a run that
//! lost a server must end by itself with exit code 1, one line that names the server, and within five
//! seconds.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::harness::progress::Progress;
use crate::harness::scratch::Scratch;
use crate::java::jdk::Jdk;
use crate::java::vm::{Setting, Vm};
use crate::judge::server_loss::{self, Survival};

/// Kill a memory server at a random moment of each run, and check how the program ends
#[derive(Args)]
pub struct Options {
    /// The program's arguments
    #[arg(default_values_t = ["50000".to_string(), "320".to_string()])]
    arguments: Vec<String>,
    /// The VM's executable [default: `vm` beside this program]
    #[arg(long)]
    vm: Option<PathBuf>,
    /// Number of runs of each collector
    #[arg(long, default_value_t = 30)]
    runs: u64,
    /// The seed of the first run; the next one has the next number
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long, value_delimiter = ',', default_value = "serial,mako")]
    gc: Vec<String>,
    #[arg(long, default_value_t = 2)]
    replicas: u32,
    #[arg(long, default_value_t = 2)]
    memory_servers: u32,
    #[arg(long, default_value = "25%")]
    local_memory: String,
    #[arg(long, default_value = "32m")]
    heap: String,
    /// More options for the VM (repeat for several)
    #[arg(long, allow_hyphen_values = true)]
    vm_option: Vec<String>,
    /// Inject network faults too: each run's seed decides which messages to the servers are late, lost and sent again
    #[arg(long)]
    disturb: bool,
    #[arg(long, default_value = "workloads/graph/GraphChurn.java")]
    program: PathBuf,
    /// Time limit of a run, in seconds
    #[arg(long, default_value_t = 120)]
    timeout: u64,
}

/// How the runs of one collector ended.
#[derive(Default)]
struct Row {
    right: u64,
    /// Those in which nothing was killed, since the program was over.
    undisturbed: u64,
    clean: u64,
    failed: Vec<u64>,
    /// The longest time from a kill to the end of a VM without a second copy.
    slowest_exit: Duration,
}

/// Runs the program again and again; true if no run failed.
pub fn run(options: &Options) -> io::Result<bool> {
    let jdk = Jdk::find()?;
    let vm = Vm::find(options.vm.clone())?;
    let scratch = Scratch::new("survive")?;
    let classes = scratch.folder("classes")?;
    jdk.compile(std::slice::from_ref(&options.program), &classes)?;
    let class = options.program.file_stem().unwrap_or_default();
    let limit = Duration::from_secs(options.timeout);
    let mut rows = Vec::new();
    let mut progress = Progress::new(options.gc.len() * options.runs as usize);
    for collector in &options.gc {
        let command = |disturbance: Option<u64>| {
            let own = [format!("-Xmx{}", options.heap), "-Xlog:gc*".into()];
            let disturbance = disturbance.map(|seed| format!("-XX:FarDisturbance={seed}"));
            let replicas = ["--replicas".into(), options.replicas.to_string()];
            let setting = Setting {
                collector: collector.clone(),
                local_memory: options.local_memory.clone(),
                memory_servers: options.memory_servers,
                options: own
                    .into_iter()
                    .chain(replicas)
                    .chain(disturbance)
                    .chain(options.vm_option.clone())
                    .collect(),
            };
            let mut command = vm.command(&setting, &jdk);
            command.arg("-cp").arg(&classes).arg(class).args(&options.arguments);
            command
        };
        let expected = server_loss::run(command(None), None, limit)?;
        if expected.code != Some(0) {
            return Err(io::Error::other(format!("without a kill: {expected:?}")));
        }
        let mut row = Row::default();
        for seed in options.seed..options.seed + options.runs {
            let command = command(options.disturb.then_some(seed));
            let run = server_loss::run(command, Some((seed, &expected)), limit)?;
            let verdict = row.judge(seed, &run, &expected, options.replicas);
            if let Err(why) = &verdict {
                progress.message(&format!("{collector}, seed {seed}: {why}"));
            }
            progress.step(verdict.is_ok(), collector);
        }
        rows.push((collector, row));
    }
    progress.finish();
    println!("collector  right  of these undisturbed  clean exits  slowest  failed seeds");
    for (collector, row) in &rows {
        let Row { right, undisturbed, clean, failed, slowest_exit } = row;
        let slowest = slowest_exit.as_secs_f64();
        println!("{collector:9} {right:6} {undisturbed:22} {clean:12} {slowest:6.2} s  {failed:?}");
    }
    Ok(rows.iter().all(|(_, row)| row.failed.is_empty()))
}

impl Row {
    fn judge(
        &mut self,
        seed: u64,
        run: &Survival,
        expected: &Survival,
        replicas: u32,
    ) -> Result<(), String> {
        let is_right = run.code == Some(0) && run.output == expected.output;
        let is_clean = |after: Duration| {
            let said = run.farewell();
            let names = |line: &&str| line.contains("memory server");
            run.code == Some(1) && said.len() == 1 && said.iter().all(names) && after <= EXIT_MAX
        };
        match &run.killed {
            _ if is_right => {
                self.right += 1;
                self.undisturbed += u64::from(run.killed.is_none());
                Ok(())
            }
            Some((_, after)) if replicas == 1 && is_clean(*after) => {
                self.clean += 1;
                self.slowest_exit = self.slowest_exit.max(*after);
                Ok(())
            }
            killed => {
                self.failed.push(seed);
                let tail = |lines: &[String]| lines[lines.len().saturating_sub(5)..].join("\n");
                Err(format!(
                    "exit {:?}, killed {killed:?}\n{}\n{}\n{}",
                    run.code,
                    tail(&run.log),
                    tail(&run.output),
                    run.errors
                ))
            }
        }
    }
}

/// How soon a VM that cannot continue must have ended.
const EXIT_MAX: Duration = Duration::from_secs(5);
