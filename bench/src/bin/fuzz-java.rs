//! Random programs on our VM and on HotSpot: `make fuzz-java`.
//!
//! A seed stands for one program, for ever; seeds are counted up from `--seed`. Every program must print the same and
//! end the same way in all modes of our VM as on HotSpot. One that does not is kept under `--out`, with what it
//! printed.

use std::io;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::Mutex;
use std::time::Duration;

use bench::compiler::Compiler;
use bench::fuzz::judge::{self, Judge, Mismatch, Mode};
use bench::fuzz::program::Program;
use bench::fuzz::reduce;
use bench::jdk::Jdk;
use bench::pool;
use bench::progress::Progress;
use bench::scratch::Scratch;
use bench::vm::Vm;
use clap::Parser;

/// Compares random programs on our VM with HotSpot.
#[derive(Parser)]
struct Options {
    /// The seed of the first program
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long, default_value_t = 100)]
    programs: u64,
    /// Of our VM: xint, default, xcomp, or NAME=OPTIONS such as 'zeal=-Xint -XX:GcZeal=1000'
    #[arg(long, value_delimiter = ',', default_value = "xint,default,xcomp")]
    modes: Vec<String>,
    /// Where programs that differ are kept
    #[arg(long, default_value = "fuzz-failures")]
    out: PathBuf,
    /// Make what differs as small as possible; takes minutes for each
    #[arg(long)]
    reduce: bool,
    /// Print the program of the first seed and end
    #[arg(long)]
    print: bool,
    /// Programs in one process
    #[arg(long, default_value_t = 10)]
    batch: usize,
    /// Processes at a time
    #[arg(long, default_value_t = pool::default_threads())]
    jobs: usize,
    /// Seconds that one program may take
    #[arg(long, default_value_t = 30)]
    timeout: u64,
    #[arg(long, default_value = "256m")]
    heap: String,
    /// The VM's executable [default: `vm` beside this program]
    #[arg(long)]
    vm: Option<PathBuf>,
}

fn main() {
    match real_main(&Options::parse()) {
        Ok(true) => {}
        Ok(false) => exit(1),
        Err(error) => {
            eprintln!("fuzz-java: {error}");
            exit(2);
        }
    }
}

fn real_main(options: &Options) -> io::Result<bool> {
    if options.print {
        print!("{}", program(options.seed).source());
        return Ok(true);
    }
    let modes: io::Result<Vec<Mode>> = options.modes.iter().map(|text| Mode::parse(text)).collect();
    let judge = Judge {
        jdk: Jdk::find()?,
        vm: Vm::find(options.vm.clone())?,
        modes: modes?,
        heap: options.heap.clone(),
        limit: Duration::from_secs(options.timeout),
    };
    let compiler = Compiler::start(&judge.jdk)?;
    let seeds: Vec<u64> = (options.seed..options.seed + options.programs).collect();
    let batches: Vec<&[u64]> = seeds.chunks(options.batch.max(1)).collect();
    let mut progress = Progress::new(batches.len());
    let (mut different, mut broken) = (0, 0);
    let printing = Mutex::new(());
    let work = |seeds: &&[u64]| run_batch(&judge, &compiler, seeds, options);
    pool::run(&batches, options.jobs, work, |seeds, result| {
        let _guard = printing.lock();
        let label = format!("seeds {} to {}", seeds[0], seeds[seeds.len() - 1]);
        progress.step(result.as_ref().is_ok_and(Vec::is_empty), &label);
        match result {
            Ok(mismatches) => {
                different += mismatches.len();
                mismatches
                    .iter()
                    .for_each(|m| progress.message(&format!("DIFFERENT {}", m.summary())));
            }
            Err(error) => {
                broken += 1;
                progress.message(&format!("{label}: {error}"));
            }
        }
    });
    progress.finish();
    let modes: Vec<&str> = judge.modes.iter().map(|mode| mode.name.as_str()).collect();
    println!(
        "{} programs in modes {}: {different} differences, {broken} batches not judged",
        options.programs,
        modes.join(", ")
    );
    if different > 0 {
        println!("they are kept in {}", options.out.display());
    }
    Ok(different == 0 && broken == 0)
}

fn program(seed: u64) -> Program {
    Program::generate(&format!("F{seed}"), seed)
}

fn run_batch(
    judge: &Judge,
    compiler: &Compiler,
    seeds: &[u64],
    options: &Options,
) -> io::Result<Vec<Mismatch>> {
    let programs: Vec<Program> = seeds.iter().map(|seed| program(*seed)).collect();
    let names: Vec<String> = programs.iter().map(|program| program.name.clone()).collect();
    let scratch = Scratch::new("fuzz")?;
    let classes = scratch.folder("classes")?;
    reduce::compile(compiler, &programs.iter().collect::<Vec<_>>(), scratch.path(), &classes)?;
    let found = judge.compare(&names, &classes)?;
    for mismatch in &found {
        let program = programs.iter().find(|program| program.name == mismatch.program);
        keep(judge, compiler, mismatch, program.expect("it was in the batch"), &classes, options)?;
    }
    Ok(found)
}

/// Writes the program, its classes and both outputs to a folder of its own.
fn keep(
    judge: &Judge,
    compiler: &Compiler,
    mismatch: &Mismatch,
    program: &Program,
    classes: &Path,
    options: &Options,
) -> io::Result<()> {
    let folder = options.out.join(format!("{}-{}", mismatch.program, mismatch.mode));
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(format!("{}.java", program.name)), program.source())?;
    std::fs::write(folder.join("expected.txt"), &mismatch.expected.stdout)?;
    std::fs::write(folder.join("actual.txt"), &mismatch.actual.stdout)?;
    std::fs::write(folder.join("stderr.txt"), &mismatch.stderr)?;
    judge::copy_classes(classes, &folder.join("classes"), |_| true)?;
    let mode = judge.modes.iter().find(|mode| mode.name == mismatch.mode);
    let mode = mode.expect("it was found in this mode");
    let mut words = mismatch.after.clone();
    words.push(mismatch.program.clone());
    let repeat = judge.command_line(mode, &words);
    std::fs::write(folder.join("repeat.txt"), format!("{}\n\n{repeat}\n", mismatch.summary()))?;
    if options.reduce && mismatch.after.is_empty() {
        let small = reduce::reduce(judge, compiler, program, mode)?;
        let into = folder.join("reduced");
        std::fs::create_dir_all(&into)?;
        reduce::compile(compiler, &[&small], &into, &into)?;
    }
    Ok(())
}
