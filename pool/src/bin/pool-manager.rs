//! Recovers the dead clients of a pool, while all others work.

use pool::{Manager, Pool, PoolError, Recovered};
use std::ffi::OsString;
use std::io::{Write, stderr, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

const USAGE: &str = "\
Usage: pool-manager [--interval MILLISECONDS] [--once] POOL

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
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        say(&mut stdout(), USAGE);
        return ExitCode::SUCCESS;
    }
    let options = match parse(arguments) {
        Ok(options) => options,
        Err(wrong) => {
            say(&mut stderr(), &format!("pool-manager: {wrong}\n{USAGE}"));
            return ExitCode::from(2);
        }
    };
    match manage(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&mut stderr(), &format!("pool-manager: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

/// It goes on recovering if nobody listens any more.
fn say(to: &mut impl Write, text: &str) {
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}

/// Looks for dead clients, once or until it is killed.
fn manage(options: &Options) -> Result<(), PoolError> {
    let pool = Pool::open(&options.path)?;
    let (mut manager, mut last_error) = (None, None);
    loop {
        match pass(&pool, &mut manager) {
            Ok(done) => {
                if done.clients > 0 {
                    let Recovered { clients, changes } = done;
                    let text = format!("recovered {clients} clients, {changes} changes\n");
                    say(&mut stdout(), &text);
                }
                last_error = None;
            }
            Err(error) if options.is_once => return Err(error),
            // The others were recovered. It may be different the next time.
            Err(error) => {
                let error = error.to_string();
                if last_error.as_ref() != Some(&error) {
                    say(&mut stderr(), &format!("pool-manager: {error}\n"));
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

fn parse(arguments: Vec<OsString>) -> Result<Options, String> {
    let (mut path, mut interval, mut is_once) = (None, 100, false);
    let mut rest = arguments.into_iter();
    while let Some(argument) = rest.next() {
        // A path may be any bytes.
        match &*argument.to_string_lossy() {
            "--once" => is_once = true,
            "--interval" => {
                let value = rest.next().ok_or("--interval needs a number")?;
                let value = value.to_string_lossy();
                let number = value.parse().ok().filter(|number| (1..=3_600_000).contains(number));
                interval = number.ok_or_else(|| format!("{value:?} is no interval"))?;
            }
            option if option.starts_with('-') => return Err(format!("unknown option {option}")),
            _ if path.is_some() => return Err("more than one pool".into()),
            _ => path = Some(PathBuf::from(argument)),
        }
    }
    let path = path.ok_or("which pool?")?;
    Ok(Options { path, interval: Duration::from_millis(interval), is_once })
}
