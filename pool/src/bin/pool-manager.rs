//! Recovers the dead clients of a pool, while all others work.

use pool::{Manager, Pool, PoolError, Recovered};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

const USAGE: &str = "\
usage: pool-manager [--interval MILLISECONDS] [--once] POOL

Recovers the dead clients of the pool in this file or DAX device: finishes what they had begun, releases the references
and the memory that they held, and frees their identities. Living clients do not wait for it. It may be killed and
started again at any time, and several may run.

It knows blocks and counted objects only. Clients with a change open of anything else are left to their programs, and
so are all clients of a pool whose programs have said that they reclaim more themselves (Pool::set_own_reclaim).

  --interval MILLISECONDS  how often to look for dead clients: 1 to 3600000 (100)
  --once                   look once, and exit
";

struct Options {
    path: PathBuf,
    interval: Duration,
    is_once: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let options = match parse(arguments) {
        Ok(options) => options,
        Err(wrong) => {
            eprint!("pool-manager: {wrong}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match manage(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pool-manager: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Looks for dead clients, once or until it is killed.
fn manage(options: &Options) -> Result<(), PoolError> {
    let pool = Pool::open(&options.path)?;
    let (mut manager, mut last_error) = (None, None);
    loop {
        match pass(&pool, &mut manager) {
            Ok(done) => {
                if done.clients > 0 {
                    println!("recovered {} clients, {} changes", done.clients, done.changes);
                }
                last_error = None;
            }
            Err(error) if options.is_once => return Err(error),
            // The others were recovered. It may be different the next time.
            Err(error) => {
                let error = error.to_string();
                if last_error.as_ref() != Some(&error) {
                    eprintln!("pool-manager: {error}");
                }
                last_error = Some(error);
            }
        }
        if options.is_once {
            return Ok(());
        }
        sleep(options.interval);
    }
}

/// One look. While all identities are leased there is no manager.
fn pass<'a>(pool: &'a Pool, manager: &mut Option<Manager<'a>>) -> Result<Recovered, PoolError> {
    let manager = match manager {
        Some(manager) => manager,
        None => manager.insert(Manager::new(pool)?),
    };
    manager.pass()
}

fn parse(arguments: Vec<String>) -> Result<Options, String> {
    let (mut path, mut interval, mut is_once) = (None, 100, false);
    let mut rest = arguments.into_iter();
    while let Some(argument) = rest.next() {
        match &*argument {
            "--once" => is_once = true,
            "--interval" => {
                let value = rest.next().ok_or("--interval needs a number")?;
                let number = value.parse().ok().filter(|number| (1..=3_600_000).contains(number));
                interval = number.ok_or_else(|| format!("{value:?} is no interval"))?;
            }
            option if option.starts_with('-') => return Err(format!("unknown option {option}")),
            _ if path.is_some() => return Err("more than one pool".into()),
            name => path = Some(PathBuf::from(name)),
        }
    }
    let path = path.ok_or("which pool?")?;
    Ok(Options { path, interval: Duration::from_millis(interval), is_once })
}
